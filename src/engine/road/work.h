/* work.h - the workers: they walk flights and send their deliveries.
 *
 * Threads: work_main() is a worker; work_on() on any thread that may compute.
 */
#pragma once

struct flight;
struct outbox;

/* Walks the flight, then offers its deliveries or settles it.  The flight of a stored delivery is
 * not walked, only offered.  A walk that waits is handed on. */
void work_on(struct flight *f, struct outbox *out);

/* The same on a thread of the pool, which may block: for large documents. */
void work_on_pool(struct flight *f);

void *work_main(void *road);
