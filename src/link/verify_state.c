/* verify_state.c - the state of a pass between two runs, as JSON: an object with the numbers of
 * struct verify_state. */
#include <jansson.h>
#include <stddef.h>

#include "base/json.h"
#include "link/verifying.h"

static const struct {
    const char *key;
    size_t at;
} verify_numbers[] = {
    { "pass", offsetof(struct verify_state, pass) },
    { "most", offsetof(struct verify_state, most) },
    { "rows", offsetof(struct verify_state, rows) },
    { "again", offsetof(struct verify_state, again) },
    { "again_us", offsetof(struct verify_state, again_us) },
    { "attempts", offsetof(struct verify_state, attempts) },
    { "looks", offsetof(struct verify_state, looks) },
    { "surplus", offsetof(struct verify_state, surplus) },
    { "steady", offsetof(struct verify_state, steady) },
    { "paused_us", offsetof(struct verify_state, paused_us) },
    { "since_x", offsetof(struct verify_state, since_x) },
    { "until_x", offsetof(struct verify_state, until_x) },
    { "history", offsetof(struct verify_state, history) },
};

enum { VERIFY_NUMBERS = sizeof verify_numbers / sizeof *verify_numbers };

bool verify_state_read(struct str text, struct verify_state *ret, struct err *err)
{
    struct verify_state s = { 0 };
    bool ok = true;

    if (text.len > 0) {
        json_t *root = json_loadb(text.ptr, text.len, 0, NULL);

        for (size_t i = 0; i < VERIFY_NUMBERS && ok; i++) {
            const json_t *value = json_object_get(root, verify_numbers[i].key);

            ok = json_is_integer(value);
            *(int64_t *)(void *)((char *)&s + verify_numbers[i].at) = json_integer_value(value);
        }
        json_decref(root);
        ok = ok && s.pass >= 0 && s.rows >= 0;
    }
    if (!ok)
        return err_set(err, ERR_PERMANENT, 0, "it is not the state of a verification");
    *ret = s;
    return true;
}

void verify_state_write(const struct verify_state *s, struct buf *to)
{
    struct json_out j = { .to = to };

    json_open(&j, '{');
    for (size_t i = 0; i < VERIFY_NUMBERS; i++) {
        json_key(&j, verify_numbers[i].key);
        json_int(&j, *(const int64_t *)(const void *)((const char *)s + verify_numbers[i].at));
    }
    json_close(&j, '}');
}
