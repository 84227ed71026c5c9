#include "engine/tally/duty_count.h"

#include <stdio.h>

#include "base/clock.h"

void duty_count_note(struct duty_count *c, int64_t took_us, const char *error)
{
    c->last_us = clock_wall_us();
    c->took_us = took_us;
    c->runs++;
    c->failures += error != NULL;
    (void)snprintf(c->error, sizeof c->error, "%s", error != NULL ? error : "");
}
