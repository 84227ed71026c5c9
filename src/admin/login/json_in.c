#include "admin/login/json_in.h"

#include "core/json_scan.h"

bool json_in_object(struct str bytes, json_t **ret, struct err *err)
{
    struct json_scan check = { 0 };
    json_error_t why;
    json_t *got;

    if (!json_scan_check(&check, bytes, err) || !json_scan_check_end(&check, err))
        return false;
    got = json_loadb(bytes.ptr, bytes.len, JSON_REJECT_DUPLICATES, &why);
    if (got == NULL)
        return err_set(err, ERR_PERMANENT, 0, "no JSON that can be used: %s", why.text);
    if (!json_is_object(got)) {
        json_decref(got);
        return err_set(err, ERR_PERMANENT, 0, "no JSON object");
    }
    *ret = got;
    return true;
}

struct str json_in_text(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);

    return json_is_string(v) ? str_mem(json_string_value(v), json_string_length(v))
                             : (struct str){ 0 };
}

void json_in_drop(json_t **json)
{
    json_decref(*json);
}
