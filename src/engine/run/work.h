/* work.h - the workers: they walk flights and send their deliveries.
 *
 * Threads: work_main() is a worker.
 */
#pragma once

#include <stddef.h>

struct flight;
struct http_out_answer;
struct road;

/* Walks a flight on a thread of the pool, which may block: for large documents. */
void work_on_pool(struct flight *f);
/* Begins these walks, or goes on with those that waited; then their deliveries are offered, or they
 * are settled.  One that waits again is handed on. */
void work_go_on(struct road *r, struct flight **flights, size_t count);
/* The service of the step at which it waits has answered: f->called->verdict. */
void work_judge_answer(struct flight *f, const struct http_out_answer *answer);
/* The walk goes on, on a worker, or on the pool if it has to block. */
void work_answered(struct flight *f);
/* The node stops, and these walks wait: a chain.  Their documents go back to the store, due at
 * once, and it was no attempt. */
void work_put_back(struct road *r, struct flight *first);

void *work_main(void *road);
