/* pickup_queue.h - the oldest files of a listing, oldest first.
 *
 * A listing of any length goes in; the PICKUP_QUEUE_MOST oldest files are kept.  Files of the same
 * time are in the order of their paths.
 *
 * Ownership: the queue owns its items until pickup_queue_take() gives one away.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PICKUP_QUEUE_MOST = 4096 };

struct pickup_item {
    int64_t time_ns;
    char *path;          /* free() it */
    const char *version; /* in the same block */
};

/* While items are put in: a heap with the youngest on top.  Sorted: in order, from `next`. */
struct pickup_queue {
    struct pickup_item *items;
    size_t count, room, next;
    bool sorted;
};

void pickup_queue_done(struct pickup_queue *q); /* also empties it for the next listing */

/* Whether a file of this time would be kept. */
bool pickup_queue_wants(const struct pickup_queue *q, int64_t time_ns, const char *path);
/* Only before pickup_queue_sort(). */
void pickup_queue_put(struct pickup_queue *q, int64_t time_ns, const char *path,
                      const char *version);
void pickup_queue_sort(struct pickup_queue *q);
/* The oldest one, after pickup_queue_sort(); false: the queue is empty. */
bool pickup_queue_take(struct pickup_queue *q, struct pickup_item *ret);
bool pickup_queue_is_empty(const struct pickup_queue *q);
