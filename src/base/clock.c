#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t clock_read_us(clockid_t which)
{
    struct timespec t;

    (void)clock_gettime(which, &t);
    return (int64_t)t.tv_sec * CLOCK_S + t.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return clock_read_us(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_cpu_us(void)
{
    return clock_read_us(CLOCK_THREAD_CPUTIME_ID);
}

void clock_sleep_us(int64_t us)
{
    struct timespec t = { .tv_sec = us / CLOCK_S, .tv_nsec = us % CLOCK_S * 1000 };

    if (us <= 0)
        return;
    while (nanosleep(&t, &t) < 0 && errno == EINTR) {
    }
}

static time_t seconds_of(int64_t us, int64_t *ret_rest)
{
    int64_t whole = us / CLOCK_S, rest = us % CLOCK_S;

    if (rest < 0) {
        rest += CLOCK_S;
        whole--;
    }
    *ret_rest = rest;
    return (time_t)whole;
}

/* Every log line has a time stamp: the part down to the second is cached per thread. */
const char *clock_utc_text(int64_t wall_us, char text[static CLOCK_TEXT])
{
    static _Thread_local char known[CLOCK_TEXT];
    static _Thread_local time_t known_s = -1;
    static _Thread_local size_t len;
    int64_t rest;
    time_t s = seconds_of(wall_us, &rest);
    struct tm tm;

    if (s != known_s || len == 0) {
        (void)gmtime_r(&s, &tm);
        len = strftime(known, sizeof known - 9, "%Y-%m-%dT%H:%M:%S", &tm);
        known_s = s;
    }
    memcpy(text, known, len);
    char *at = text + len;

    *at = '.';
    for (int i = 6; i > 0; i--, rest /= 10)
        at[i] = (char)('0' + rest % 10);
    at[7] = 'Z';
    at[8] = '\0';
    return text;
}

const char *clock_local_text(int64_t wall_us, char text[static CLOCK_TEXT])
{
    int64_t rest;
    time_t s = seconds_of(wall_us, &rest);
    struct tm tm;

    (void)localtime_r(&s, &tm);
    size_t n = strftime(text, CLOCK_TEXT, "%Y-%m-%d %H:%M:%S", &tm);
    long minutes = tm.tm_gmtoff / 60, off = minutes < 0 ? -minutes : minutes;

    (void)snprintf(text + n, CLOCK_TEXT - n, ".%03d %c%02ld:%02ld", (int)(rest / 1000),
                   minutes < 0 ? '-' : '+', off / 60, off % 60);
    return text;
}
