/* check_job.c - rows of databases that should not be there, or should.
 *
 *     orders-are-clean:
 *       kind: check
 *       at: "0 6 * * *"
 *       database: orders
 *       checks:
 *         - { duplicates: customer, columns: [email] }
 *         - { orphans: order_line, columns: [order_id], in: orders }
 *         - { older: outbox, column: created_at, than: 2h, empty: [sent_at] }
 *         - { counts: customer, with: mirror }
 *
 * A run that has found something is done: people see a mishap `check_found` with examples, and the
 * alert of that name (job/check_alert.h) until a later run finds nothing.  A run in which something
 * could not be checked has failed; what it has found besides is told all the same.
 *
 * The state is what the last run has found, for people and for the alert.
 */
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "core/config.h"
#include "core/job_type.h"
#include "engine/engine.h"
#include "engine/tally/mishaps.h"
#include "job/check_alert.h"
#include "job/check_rule.h"
#include "job/checking.h"
#include "job/ports.h"

enum {
    CHECK_ARENA = 16 << 20, /* of one check */
    CHECK_LINE = 16 << 10,  /* what one says, at most */
    CHECK_SAY = CHECK_RULES_MOST * CHECK_LINE,
    CHECK_TOLD = 390,           /* of a mishap, and of an alert */
    CHECK_STATE = 40 << 10,     /* then examples are left out of the state, ... */
    CHECK_STATE_MOST = 60 << 10 /* ... and then all that each check has shown */
};

struct check_job {
    struct check_spec spec;
};

static bool check_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct check_job *j = ARENA_NEW(s->arena, struct check_job);

    *ret_self = j;
    return check_rule_read(s, &j->spec, err);
}

static void check_job_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

static bool check_job_check_state(void *self, struct str state, struct err *err)
{
    struct check_state s;

    (void)self;
    return check_state_read(state, &s, err);
}

/* ---- one run ---- */

struct check_run {
    const struct check_spec *spec;
    struct buf found, failed, looked; /* lines, with `; ` between them */
    struct buf checks;                /* of the state: a list in JSON */
    struct json_out json;
    size_t found_count, failed_count;
    bool again; /* what failed may not fail again */
    char message[JOB_MESSAGE_MOST + 1];
};

static void check_job_put(struct buf *to, struct str line)
{
    buf_puts(to, to->len > 0 ? "; " : "");
    buf_put(to, line);
}

/* One entry of the state. */
static void check_job_keep(struct check_run *run, const struct check_rule *r,
                           const struct checked *k)
{
    struct json_out *j = &run->json;
    bool counts = r->kind == SOUGHT_ROWS;

    json_open(j, '{');
    json_key(j, "check");
    json_str(j, r->title);
    json_key(j, "count");
    json_int(j, k->found.count > k->most ? k->most : k->found.count);
    if (counts) {
        json_key(j, "other");
        json_int(j, k->other > k->most ? k->most : k->other);
    }
    json_key(j, "more");
    json_bool(j, k->found.count > k->most || (counts && k->other > k->most));
    json_key(j, "found");
    json_bool(j, k->outcome == CHECK_FOUND);
    json_key(j, "examples");
    json_open(j, '[');
    for (size_t i = 0; k->outcome == CHECK_FOUND && i < k->found.example_count; i++)
        if (run->checks.len < CHECK_STATE)
            json_str(j, k->found.examples[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void check_job_take(struct check_run *run, const struct check_rule *r,
                           const struct checked *k, struct job_io *io, int64_t took_us)
{
    AUTO(buf_done) struct buf line = BUF_INIT(CHECK_LINE);

    checked_say(r, k, &line);
    job_step(io, line.ptr, took_us);
    check_job_put(&run->looked, r->title);
    if (k->outcome == CHECK_FAILED) {
        run->failed_count++;
        run->again = run->again || k->err.kind == ERR_TRANSIENT || k->err.kind == ERR_UNCERTAIN;
        check_job_put(&run->failed, buf_view(&line));
        return;
    }
    check_job_keep(run, r, k);
    if (k->outcome != CHECK_FOUND)
        return;
    run->found_count++;
    check_job_put(&run->found, buf_view(&line));
}

/* False: it was told to stop. */
static bool check_job_go(struct check_run *run, struct job_io *io)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(CHECK_ARENA);
    struct checking c = {
        .spec = run->spec, .call = io->call, .now_us = io->claimed_us, .arena = &arena
    };
    bool over = false;

    json_open(&run->json, '[');
    for (size_t i = 0; i < run->spec->rule_count && !over; i++) {
        const struct check_rule *r = &run->spec->rules[i];
        int64_t began_us = clock_mono_us();
        struct checked k;

        arena_reset(&arena);
        checking_one(&c, r, &k);
        over = call_is_over(io->call);
        if (!over)
            check_job_take(run, r, &k, io, clock_mono_us() - began_us);
    }
    json_close(&run->json, ']');
    checking_done(&c);
    return !over;
}

/* ---- what became of it ---- */

static const char *check_job_plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* As much of it as a message of a run may have. */
static void check_job_cut(const struct buf *text, size_t most, char to[static JOB_MESSAGE_MOST + 1])
{
    (void)snprintf(to, JOB_MESSAGE_MOST + 1, "%.*s", STR_ARG(str_first(buf_view(text), most)));
}

static void check_job_put_found(const struct check_run *run, struct buf *to)
{
    buf_printf(to, "%zu of %zu check%s found something: %s", run->found_count,
               run->spec->rule_count, check_job_plural(run->spec->rule_count), run->found.ptr);
}

static void check_job_put_failed(const struct check_run *run, struct buf *to)
{
    buf_printf(to, "%zu of %zu check%s could not be made: %s", run->failed_count,
               run->spec->rule_count, check_job_plural(run->spec->rule_count), run->failed.ptr);
}

static void check_job_put_fine(const struct check_run *run, struct buf *to)
{
    buf_printf(to, "%zu check%s, nothing found: %s", run->spec->rule_count,
               check_job_plural(run->spec->rule_count), run->looked.ptr);
}

static void check_job_tell(const struct job_io *io, const struct buf *found)
{
    char message[JOB_MESSAGE_MOST + 1];

    check_job_cut(found, CHECK_TOLD, message);
    mishaps_note(engine_mishaps(io->ports->engine), "check_found", "job", io->job, message);
}

static void check_job_end(struct check_run *run, struct job_io *io, struct job_result *ret)
{
    AUTO(buf_done) struct buf found = BUF_INIT(2 * CHECK_SAY), text = BUF_INIT(4 * CHECK_SAY);

    if (run->found_count > 0) {
        check_job_put_found(run, &found);
        check_job_tell(io, &found);
    }
    if (run->failed_count > 0)
        check_job_put_failed(run, &text);
    else if (run->found_count == 0)
        check_job_put_fine(run, &text);
    if (run->failed_count > 0 && run->found_count > 0)
        buf_puts(&text, ". ");
    buf_put(&text, buf_view(&found));
    ret->moved = run->found_count > 0;
    ret->ok = run->failed_count == 0;
    ret->final = !ret->ok && !run->again;
    check_job_cut(&text, JOB_MESSAGE_MOST, ret->message);
    if (!ret->ok)
        return;
    check_job_cut(&found, CHECK_TOLD, run->message);
    check_state_write(run->found_count, run->message,
                      run->checks.len <= CHECK_STATE_MOST ? buf_view(&run->checks) : STR("[]"),
                      &ret->state);
    ret->has_state = true;
}

static void check_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    const struct check_job *j = self;
    struct check_run run = { .spec = &j->spec,
                             .found = BUF_INIT(CHECK_SAY),
                             .failed = BUF_INIT(CHECK_SAY),
                             .looked = BUF_INIT(CHECK_SAY),
                             .checks = BUF_INIT(CHECK_SAY) };

    run.json.to = &run.checks;
    if (check_job_go(&run, io))
        check_job_end(&run, io, ret);
    else
        job_fail(ret, "it was told to stop before all was checked");
    buf_done(&run.found);
    buf_done(&run.failed);
    buf_done(&run.looked);
    buf_done(&run.checks);
}

const struct job_type job_check = {
    .kind = { .name = CONFIG_KIND_CHECK,
              .help = "look into databases for what should not be there: duplicates, orphans, rows "
                      "that are too old, numbers of rows that differ",
              .keys = check_rule_options,
              .check = check_rule_check,
              .example = "clean: { kind: check, at: \"0 6 * * *\", database: orders, checks: [ { "
                         "duplicates: customer, columns: [email] } ] }" },
    .make = check_job_make,
    .unmake = check_job_unmake,
    .run = check_job_run,
    .check_state = check_job_check_state,
};
