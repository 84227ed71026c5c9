/* note_job.c - a line in the node's log: for trying schedules, and to be seen by whoever reads it.
 *
 *     every-hour: { kind: note, at: "@hourly", text: "an hour is over" }
 *
 * Its state is how many lines it has written.
 */
#include "base/clock.h"
#include "base/log.h"
#include "core/job_type.h"

struct note_job {
    struct str text;
};

static const struct option options[] = {
    OPTION("text", OPT_TEXT, "what it says"),
    { 0 },
};

static bool note_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct note_job *n = ARENA_NEW(s->arena, struct note_job);

    if (!settings_text(s, "text", &n->text, err))
        return false;
    *ret_self = n;
    return true;
}

static void note_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

static bool note_check_state(void *self, struct str state, struct err *err)
{
    int64_t count;

    (void)self;
    return str_to_i64(state, &count) ||
           err_set(err, ERR_PERMANENT, 0, "the state of a note is a number");
}

static void note_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    const struct note_job *n = self;
    char nominal[CLOCK_TEXT];
    int64_t count = 0;

    if (io->state.len > 0 && !str_to_i64(io->state, &count)) {
        ret->damaged = true;
        job_fail(ret, "the state of a note is a number");
        return;
    }
    log_event(LOG_INFO, "job.note", kv_str("job", io->job),
              kv_z("nominal", clock_utc_text(io->nominal_us, nominal)), kv_int("count", count + 1),
              kv_str("text", n->text.ptr != NULL ? n->text : STR("")));
    buf_printf(&ret->state, "%lld", (long long)(count + 1));
    ret->has_state = true;
    ret->moved = true;
    job_done(ret);
}

const struct job_type job_note = {
    .kind = { .name = "note",
              .help = "write a line to the log of the node, to try a schedule",
              .keys = options,
              .example = "every-hour: { kind: note, at: \"@hourly\", text: an hour is over }" },
    .repeatable = true,
    .make = note_make,
    .unmake = note_unmake,
    .run = note_job_run,
    .check_state = note_check_state,
};
