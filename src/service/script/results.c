#include "service/script/results.h"

#include <stdlib.h>

#include "base/alloc.h"

void script_results_done(struct script_results *r)
{
    buf_done(&r->bytes);
    free(r->ends);
    r->ends = NULL;
}

static bool script_several(const char *step, struct service_failure *ret_failure)
{
    return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                        "%s: there is more than one result; with `many: true` each becomes a "
                        "document of its own",
                        step);
}

bool script_results_add(struct script_results *r, struct str result,
                        struct service_failure *ret_failure)
{
    struct err err;

    if (!r->many && r->count == 1)
        return script_several(r->step, ret_failure);
    if (r->count == SCRIPT_RESULTS_MOST)
        return service_fail(ret_failure, DEAD_LIMIT, "%s: there are more than %d results", r->step,
                            SCRIPT_RESULTS_MOST);
    if (!buf_append(&r->bytes, result, &err))
        return service_fail(ret_failure, DEAD_LIMIT, "%s: the results are larger than %d bytes",
                            r->step, SERVICE_BYTES_MOST);
    if (r->count == r->room) {
        r->room = r->room == 0 ? 8 : 2 * r->room;
        r->ends = xrealloc(r->ends, r->room * sizeof *r->ends);
    }
    r->ends[r->count++] = r->bytes.len;
    return true;
}

bool script_results_give(const struct script_results *r, struct service_io *io,
                         struct service_failure *ret_failure)
{
    struct service_part head = { .parts = (int64_t)r->count };
    size_t from = 0;

    if (r->count == 0)
        return io->none(io, ret_failure);
    for (size_t i = 0; i < r->count; i++) {
        if (r->many && !io->part(io, &head, ret_failure))
            return false;
        if (!io->put(io, str_mem(r->bytes.ptr + from, r->ends[i] - from), ret_failure))
            return false;
        from = r->ends[i];
    }
    return true;
}

bool script_text(const struct settings *s, const char *key, struct str *ret, struct err *err)
{
    struct str text, file;

    if (!settings_text(s, key, &text, err) || !settings_file(s, "file", &file, err))
        return false;
    if ((text.ptr == NULL) == (file.ptr == NULL))
        return err_set(err, ERR_CONFIG, 0, "exactly one of `%s` and `file` is needed", key);
    if (text.ptr == NULL)
        text = file;
    if (memchr(text.ptr, '\0', text.len) != NULL)
        return err_set(err, ERR_CONFIG, 0, "`file` has a NUL byte: it is not a text");
    *ret = text;
    return true;
}

void script_line(struct buf *to, struct str message)
{
    bool is_text = str_is_utf8(message);
    size_t start = to->len;
    struct err err;

    for (size_t i = 0; i < message.len; i++) {
        unsigned char c = (unsigned char)message.ptr[i];
        char one = c < 0x20 || c == 0x7f || (c >= 0x80 && !is_text) ? ' ' : message.ptr[i];

        if (!buf_append(to, str_mem(&one, 1), &err))
            break;
    }
    while (to->len > start && to->ptr[to->len - 1] == ' ')
        to->ptr[--to->len] = '\0';
}
