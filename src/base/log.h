/* log.h - one event, one line of JSON, typed fields.
 *
 *     log_event(LOG_WARN, "store.retry", kv_int("group", n), kv_z("why", err.text));
 *
 * Lines are formatted by the caller, put into a bounded ring, and written by the
 * log thread: a slow or full log disk blocks nothing.  When the ring
 * is full the line is dropped and counted; the count is logged when there is
 * room again, and is a metric.  A value is cut to 2 KiB, a line to 16 KiB.
 *
 * Event names are stable, `noun.verb`, and listed in docs/events.md.  There are
 * no format strings, so nothing can be injected; there is no kv_ for secrets.
 *
 * Threads: log_event() and log_stop() from any thread; log_start() from main.
 * Before log_start() and after log_stop() lines are written directly.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_field {
    const char *key;
    enum { LOG_T_END, LOG_T_INT, LOG_T_STR, LOG_T_BOOL } type;
    int64_t i;
    struct str s;
};

#define kv_int(k, v)  ((struct log_field){ .key = (k), .type = LOG_T_INT, .i = (int64_t)(v) })
#define kv_bool(k, v) ((struct log_field){ .key = (k), .type = LOG_T_BOOL, .i = (v) })
#define kv_str(k, v)  ((struct log_field){ .key = (k), .type = LOG_T_STR, .s = (v) })
#define kv_z(k, v)    kv_str(k, str_of(v))

#define log_event(level, name, ...)                                                  \
    do {                                                                             \
        if (log_wants(level))                                                        \
            log_emit((level), (name),                                                \
                     (const struct log_field[]){ __VA_ARGS__ __VA_OPT__(, ){ 0 } }); \
    } while (0)

void log_emit(enum log_level level, const char *name, const struct log_field *fields);

bool log_wants(enum log_level level);
void log_set_level(enum log_level level);

void log_start(int fd); /* lines go to fd from now on; the caller still owns it */
void log_stop(void);    /* writes the queued lines; waits at most a second */

uint64_t log_dropped(void); /* lines lost since the start */
