/* pool.h - threads for calls that block: files, polls, large bodies.
 *
 * A job is embedded in its owner's object.  Threads are created on demand, up to `most`, and end
 * when idle for a minute.  Nothing is refused: owners bound what they submit (per system its
 * concurrency, and the engine a quarter of all threads).
 *
 * Threads: submit from any; run() on a pool thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct pool;

struct pool_job {
    struct pool_job *next;
    void (*run)(struct pool_job *job); /* may free or submit it again */
};

struct pool *pool_new(size_t most);
void pool_submit(struct pool *p, struct pool_job *job);
/* Jobs wait for which no thread is free: a job that could go on for long lets them pass. */
bool pool_is_short(struct pool *p);
/* Waits until every submitted job has run, and every job that those submit. */
void pool_free(struct pool *p);
