/* shout.c - small letters become capitals, and a mark follows.
 *
 *     - shout: "!!"
 */
#include <stdio.h>

#include "core/connector.h"

static const struct option options[] = {
    OPTION("mark", OPT_TEXT, "what stands behind it", .fallback = "!"),
    { 0 },
};

struct shout {
    struct str mark;
};

static bool shout_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct shout *self = ARENA_NEW(s->arena, struct shout);

    *ret_self = self;
    return settings_text(s, "mark", &self->mark, err);
}

static void shout_unmake(void *self)
{
    (void)self; /* all of it hangs on the arena */
}

static bool shout_run(void *arg, struct str in, const struct service_document *d, struct buf *out,
                      struct service_failure *ret_failure)
{
    const struct shout *self = arg;
    struct err err;

    (void)d;
    if (in.len + self->mark.len > SERVICE_BYTES_MOST ||
        !buf_reserve(out, in.len + self->mark.len, &err))
        return service_fail(ret_failure, DEAD_LIMIT, "shout: the result is too large");
    for (size_t i = 0; i < in.len; i++)
        buf_putc(out, in.ptr[i] >= 'a' && in.ptr[i] <= 'z' ? (char)(in.ptr[i] - 32) : in.ptr[i]);
    buf_put(out, self->mark);
    return true;
}

const struct service_type service_shout = {
    .kind = { .name = "shout",
              .help = "capital letters",
              .keys = options,
              .example = "- shout: \"!!\"" },
    .make = shout_make,
    .unmake = shout_unmake,
    .run = shout_run,
};
