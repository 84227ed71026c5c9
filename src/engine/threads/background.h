/* background.h - a few threads for calls that block: the database, password hashes.
 *
 * A job is embedded in its owner's object.  It runs once on a thread of the background pool, then
 * its done message runs on the loop it came from.  The queue is bounded: when it is full the submit
 * fails, and the owner answers 503.
 *
 * Threads: submit from any; run() on a background thread, done on the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

struct background;

struct background_job {
    struct background_job *next;
    struct loop *loop;
    void (*run)(struct background_job *job);
    struct loop_msg done; /* the owner sets its fn */
};

struct background *background_new(size_t threads, size_t queue_most);
bool background_submit(struct background *d,
                       struct background_job *job); /* false: full, or stopping */
void background_free(
    struct background *d); /* runs what is queued; done messages may still be posted */
