#include "job/service_answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/job_type.h"
#include "core/json_scan.h"

void service_answer_drop(json_t **v)
{
    json_decref(*v);
}

json_t *service_answer_parse(struct str text, struct err *err)
{
    struct json_scan check = { 0 };

    if (!json_scan_check(&check, text, err) || !json_scan_check_end(&check, err))
        return NULL;
    return json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

/* A text as it stands, anything else as JSON. */
static void service_answer_take_state(const json_t *state, struct job_result *ret)
{
    struct err err = { 0 };
    char *text = json_is_string(state) ? NULL : json_dumps(state, JSON_ENCODE_ANY | JSON_COMPACT);
    struct str bytes =
        text != NULL ? str_of(text) : str_mem(json_string_value(state), json_string_length(state));

    if (buf_append(&ret->state, bytes, &err))
        ret->has_state = true;
    else
        job_fail(ret, "the state that the service answered is too large");
    free(text);
}

static void service_answer_take_error(const json_t *answer, struct job_result *ret)
{
    const json_t *error = json_object_get(answer, "error"),
                 *retry = json_object_get(answer, "retry");

    job_fail(ret, "%s", json_is_string(error) ? json_string_value(error) : "the service says so");
    ret->final = json_is_false(retry);
}

bool service_answer_has_failed(const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");

    return error != NULL && !json_is_null(error) && !json_is_false(error);
}

void service_answer_take(const json_t *answer, struct job_result *ret)
{
    const json_t *state = json_object_get(answer, "state"),
                 *moved = json_object_get(answer, "moved"),
                 *message = json_object_get(answer, "message");

    if (!json_is_object(answer))
        return;
    if (service_answer_has_failed(answer)) {
        service_answer_take_error(answer, ret);
        return;
    }
    if (!ret->ok)
        return;
    ret->more = json_is_true(json_object_get(answer, "more"));
    ret->moved = moved != NULL ? json_is_true(moved) : !ret->more;
    if (json_is_string(message))
        (void)snprintf(ret->message, sizeof ret->message, "%s", json_string_value(message));
    if (state != NULL && !json_is_null(state))
        service_answer_take_state(state, ret);
}
