/* trial_print.h - prints what a step made: bytes, parts, time and memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct trial;

struct trial_look {
    bool json;
    int64_t part; /* the bytes of this part alone; 0: all */
};

/* The bytes on stdout, the rest on stderr; as JSON, all in one line on stdout.  Returns the exit
 * status. */
int trial_print(const struct trial *t, const struct trial_look *look);
