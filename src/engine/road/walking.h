/* walking.h - documents that are on their walk, as others may see them.
 *
 * A walk changes its flight, so nobody else looks into it.  What a walk knows of its document is
 * copied to a place of its thread instead: when it is extracted, and when a step has changed it.
 * A walk that waits has no thread, so it takes its place along, to a list.  From there it is noted
 * if the walk takes long (slow.h).
 *
 * Threads: each_old is for any; the others for the thread that holds the flight.
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
    /* In the list of those that wait; under its mutex. */
    struct walking_place *before, *after;
};

struct walking_list {
    pthread_mutex_t mutex; /* taken before those of its places */
    struct walking_place *first;
};

void walking_init(struct walking_place *p);
void walking_list_init(struct walking_list *l);

/* The walk begins, or goes on after a wait; place: of its thread, NULL: none is free. */
void walking_begin(struct flight *f, struct walking_place *place);

/* The facts of the document are known, or are others.  Does nothing without a place. */
void walking_show(struct flight *f);
/* It gives its thread's place up, and is shown while it waits. */
void walking_wait(struct flight *f);
void walking_end(struct flight *f);

/* Calls `see` for each flight that began before, with its place locked. */
void walking_each_old(struct road *r, int64_t before_us,
                      void (*see)(void *arg, struct walking_place *p), void *arg);
