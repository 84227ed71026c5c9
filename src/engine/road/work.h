/* work.h - the workers: they walk flights and send what comes of it.
 *
 * Threads: work_main() is a worker; work_on() on any thread that may compute.
 */
#pragma once

struct flight;
struct outbox;

/* Extract, route and steps, then its deliveries are offered or its end is settled; of a delivery
 * that waited in the store only the last. */
void work_on(struct flight *f, struct outbox *out);

void *work_main(void *road);
