/* walking.h - documents that are on their walk, as others may see them.
 *
 * A walk changes its flight, so nobody else looks into it.  What a walk knows of its document is
 * copied to a place of its thread instead: when it is extracted, and when a step has changed it.
 * From there it is noted if the walk takes long (slow.h).
 *
 * Threads: show and end are for the thread that walks; each_old for any.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/facts.h"

struct flight;
struct road;

struct walking_place {
    pthread_mutex_t mutex; /* guards the fields below */
    struct flight *flight; /* NULL: nobody walks; only what a walk does not change may be read */
    struct facts facts;    /* their texts live as long as the flight */
    bool noted;            /* as they are now */
};

void walking_init(struct walking_place *p);

/* The facts of the document are known, or are others.  Does nothing without a place. */
void walking_show(struct flight *f);
void walking_end(struct flight *f);

/* Calls `see` for each flight that began before, with its place locked. */
void walking_each_old(struct road *r, int64_t before_us,
                      void (*see)(void *arg, struct walking_place *p), void *arg);
