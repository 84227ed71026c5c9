/* desk.h - a few threads for calls that block: the database, password hashes.
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

struct desk;

struct desk_job {
    struct desk_job *next;
    struct loop *loop;
    void (*run)(struct desk_job *job);
    struct loop_msg done; /* its fn is the owner's */
};

struct desk *desk_new(size_t threads, size_t queue_most);
bool desk_submit(struct desk *d, struct desk_job *job); /* false: full, or stopping */
void desk_free(struct desk *d); /* runs what is queued; done messages may still be posted */
