#include "core/probing/probing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/verdict.h"

_Static_assert((int)PROBING_TEXT == (int)VERDICT_MESSAGE_MOST, "a message fits a line");

void probing_init(struct probing *p, int64_t until_us)
{
    *p = (struct probing){ .until_us = until_us };
    require(pthread_mutex_init(&p->mutex, NULL) == 0);
}

void probing_done(struct probing *p)
{
    (void)pthread_mutex_destroy(&p->mutex);
}

void probing_begin(struct probing *p, const char *step)
{
    (void)pthread_mutex_lock(&p->mutex);
    p->at = step;
    (void)pthread_mutex_unlock(&p->mutex);
}

/* One line of valid text, whatever a server has said. */
static void probing_put(char to[static PROBING_TEXT], const char *text)
{
    struct verdict v;

    (void)verdict_say(&v, VERDICT_FAILED, "%s", text);
    memcpy(to, v.message, PROBING_TEXT);
}

static void probing_add(struct probing *p, const char *step, enum probing_result result,
                        const char *remedy, const char *text)
{
    (void)pthread_mutex_lock(&p->mutex);
    p->at = NULL;
    p->failed = p->failed || result == PROBING_FAILED;
    if (p->count < PROBING_LINES) {
        struct probing_line *l = &p->lines[p->count++];

        l->step = step;
        l->result = result;
        probing_put(l->text, text);
        probing_put(l->remedy, remedy);
    }
    (void)pthread_mutex_unlock(&p->mutex);
}

bool probing_pass(struct probing *p, const char *step, const char *fmt, ...)
{
    char text[PROBING_TEXT];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    probing_add(p, step, PROBING_PASSED, "", text);
    return true;
}

bool probing_fail(struct probing *p, const char *step, const char *remedy, const char *fmt, ...)
{
    char text[PROBING_TEXT];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    probing_add(p, step, PROBING_FAILED, remedy, text);
    return false;
}

void probing_leave(struct probing *p, const char *step, const char *fmt, ...)
{
    char text[PROBING_TEXT];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    probing_add(p, step, PROBING_LEFT_OUT, "", text);
}

int64_t probing_time(const struct probing *p, int64_t most_us)
{
    int64_t left = p->until_us - clock_mono_us();

    if (left > most_us)
        left = most_us;
    return left > CLOCK_MS ? left : CLOCK_MS;
}

const char *probing_name(const char *end, char to[static PROBING_NAME])
{
    (void)snprintf(to, PROBING_NAME, PROBING_FILE "%016llx%s", (unsigned long long)chance_u64(),
                   end);
    return to;
}

size_t probing_read(struct probing *p, struct probing_line *ret, const char **ret_at)
{
    (void)pthread_mutex_lock(&p->mutex);
    size_t count = p->count;

    memcpy(ret, p->lines, count * sizeof *ret);
    *ret_at = p->at;
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}
