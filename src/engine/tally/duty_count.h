/* duty_count.h - what a node does by itself again and again, counted: when it was done last, how
 * long that took, how often it failed.
 *
 * Threads: the owner locks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct duty_count {
    int64_t last_us; /* the end of the last time; wall clock, 0: not yet */
    int64_t took_us;
    int64_t runs, failures; /* since the start of the node */
    char error[200];        /* of the last time; empty: it went well */
};

/* It was done, and took so long; error NULL: it went well. */
void duty_count_note(struct duty_count *c, int64_t took_us, const char *error);
