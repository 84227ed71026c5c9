#include "core/job_type.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

struct str job_key(const struct job_io *io)
{
    char nominal[CLOCK_TEXT];
    const char *key = arena_printf(io->arena, "%.*s %s", STR_ARG(io->job),
                                   clock_utc_text(io->nominal_us, nominal));

    return str_of(io->backfill == 0
                      ? key
                      : arena_printf(io->arena, "%s backfill %lld", key, (long long)io->backfill));
}

void job_step(struct job_io *io, const char *what, int64_t took_us)
{
    struct str said = str_first(str_of(what), JOB_STEP_BYTES / 2);
    bool is_text = str_is_utf8(said); /* else a database would refuse it */
    size_t at = io->steps->len;

    if (at >= JOB_STEP_BYTES)
        return;
    buf_printf(io->steps, "%lld.%03lld ms  %.*s\n", (long long)(took_us / CLOCK_MS),
               (long long)(took_us % CLOCK_MS), STR_ARG(said));
    for (; at < io->steps->len && !is_text; at++)
        if ((unsigned char)io->steps->ptr[at] >= 0x80)
            io->steps->ptr[at] = '?';
}

void job_done(struct job_result *ret)
{
    ret->ok = true;
    ret->message[0] = '\0';
}

void job_fail(struct job_result *ret, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    ret->ok = false;
    (void)vsnprintf(ret->message, sizeof ret->message, format, args);
    va_end(args);
}

bool job_leave(struct job_io *io, struct str *ret_address, struct str *ret_secret)
{
    return io->leave != NULL && io->leave(io->leave_arg, ret_address, ret_secret);
}
