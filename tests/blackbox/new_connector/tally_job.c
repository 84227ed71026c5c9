/* tally_job.c - counts in steps; how far it came is its state.
 *
 *     count: { kind: tally, by: 2, every: 1s }
 */
#include "core/job_type.h"

static const struct option options[] = {
    OPTION("by", OPT_INT, "how much it counts at once", .fallback = "1", .least = 1, .most = 1000),
    { 0 },
};

struct tally {
    int64_t by;
};

static bool tally_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct tally *self = ARENA_NEW(s->arena, struct tally);

    *ret_self = self;
    return settings_int(s, "by", &self->by, err);
}

static void tally_unmake(void *self)
{
    (void)self; /* all of it hangs on the arena */
}

static bool tally_check_state(void *self, struct str state, struct err *err)
{
    int64_t sum;

    (void)self;
    return str_to_i64(state, &sum) || err_set(err, ERR_PERMANENT, 0, "it is not a number");
}

static void tally_run(void *arg, struct job_io *io, struct job_result *ret)
{
    const struct tally *self = arg;
    int64_t sum = 0;

    (void)str_to_i64(io->state, &sum); /* the first time there is none */
    buf_put_int(&ret->state, sum + self->by);
    ret->has_state = true;
    ret->moved = true;
    job_done(ret);
}

const struct job_type job_tally = {
    .kind = { .name = "tally",
              .help = "count",
              .keys = options,
              .example = "count: { kind: tally, by: 2, every: 1s }" },
    .make = tally_make,
    .unmake = tally_unmake,
    .run = tally_run,
    .check_state = tally_check_state,
};
