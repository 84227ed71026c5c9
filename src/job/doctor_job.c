/* doctor_job.c - the checks of `waybill doctor`: fails with what they found.
 *
 *     sound: { kind: doctor, at: "0 4 * * 0", timeout: 6h }
 *
 * What is wrong with a store does not mend itself, so a failed check is not repeated before its
 * next time.  Each check is a step of the run.
 */
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/job_type.h"
#include "job/ports.h"
#include "store/watch/check.h"

struct doctor_job {
    bool deep;
};

static const struct option options[] = {
    OPTION("deep", OPT_BOOL,
           "also read every stored stage of every document, as `waybill doctor --deep` does",
           .fallback = "false"),
    { 0 },
};

static bool doctor_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct doctor_job *j = ARENA_NEW(s->arena, struct doctor_job);

    *ret_self = j;
    return settings_bool(s, "deep", &j->deep, err);
}

static void doctor_job_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- a check ---- */

/* Its first line stands in the message of the run, all of it in the steps. */
static void doctor_job_note(struct job_io *io, const char *name, const char *found, int64_t took_us)
{
    AUTO(buf_done) struct buf line = BUF_INIT(CHECK_MESSAGE + 200);

    buf_printf(&line, "%s: %s", name, found[0] != '\0' ? found : "as it should be");
    job_step(io, line.ptr, took_us);
}

static void doctor_job_add(struct buf *findings, const char *name, const char *found)
{
    struct str line;

    (void)str_cut(str_of(found), '\n', &line);
    buf_printf(findings, "%s%s: %.*s", findings->len > 0 ? "; " : "", name,
               STR_ARG(str_first(line, 300)));
}

/* False: the store could not be asked. */
static bool doctor_job_check(const struct doctor_job *j, struct job_io *io, size_t i,
                             struct buf *findings, struct err *err)
{
    struct check_result *c = ARENA_NEW(io->arena, struct check_result);
    int64_t began_us = clock_mono_us();
    const char *found = "";
    struct err why = { 0 };

    if (check_run(io->ports->store, i, j->deep, c, &why)) {
        found = c->bad > 0 ? c->message : "";
    } else if (why.kind == ERR_PERMANENT) { /* damaged: the other checks still run */
        found = why.text;
    } else {
        *err = why;
        return err_context(err, "check %s", check_name(i));
    }
    doctor_job_note(io, check_name(i), found, clock_mono_us() - began_us);
    if (found[0] != '\0')
        doctor_job_add(findings, check_name(i), found);
    return true;
}

static void doctor_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    const struct doctor_job *j = self;
    AUTO(buf_done) struct buf findings = BUF_INIT(16 << 10);
    struct err err = { 0 };

    for (size_t i = 0; i < check_count(); i++) {
        if (call_is_over(io->call)) {
            job_fail(ret, "it was told to stop before the check %s", check_name(i));
            return;
        }
        if (!doctor_job_check(j, io, i, &findings, &err)) {
            job_fail(ret, "%s", err.text);
            return;
        }
    }
    ret->moved = true;
    job_done(ret);
    if (findings.len == 0)
        return;
    job_fail(ret, "%s", findings.ptr);
    ret->final = true;
}

const struct job_type job_doctor = {
    .kind = { .name = "doctor",
              .help = "check the store, as `waybill doctor` does; a run that finds something fails",
              .keys = options,
              .example = "sound: { kind: doctor, at: \"0 4 * * 0\", timeout: 6h }" },
    .make = doctor_job_make,
    .unmake = doctor_job_unmake,
    .run = doctor_job_run,
};
