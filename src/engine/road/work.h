/* work.h - the workers: they walk flights and send their deliveries.
 *
 * Threads: work_main() is a worker; work_on() on any thread that may compute.
 */
#pragma once

struct flight;
struct outbox;

/* Walks the flight, then offers its deliveries or settles it.  The flight of a stored delivery is
 * not walked, only offered. */
void work_on(struct flight *f, struct outbox *out);

void *work_main(void *road);
