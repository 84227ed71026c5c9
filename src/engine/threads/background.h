/* background.h - a few threads for calls that block: the database, password hashes.
 *
 * A job is embedded in its owner's object; it runs once on a desk thread and then
 * its done message runs on the loop it came from.  The queue is bounded: a full
 * desk refuses, and the owner answers 503.
 *
 * Threads: submit from any; run() on a desk thread, done on the loop.
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
    struct loop_msg done; /* its fn is the owner's */
};

struct background *background_new(size_t threads, size_t queue_most);
bool background_submit(struct background *d,
                       struct background_job *job); /* false: full, or stopping */
void background_free(
    struct background *d); /* runs what is queued; done messages may still be posted */
