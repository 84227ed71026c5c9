#include "core/pickup/pickup_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/require.h"

enum { QUEUE_ROOM_LEAST = 64 };

static int compare_age(int64_t time_ns, const char *path, const struct pickup_item *b)
{
    if (time_ns != b->time_ns)
        return time_ns < b->time_ns ? -1 : 1;
    return strcmp(path, b->path);
}

static int compare_items(const void *a, const void *b)
{
    const struct pickup_item *x = a;

    return compare_age(x->time_ns, x->path, b);
}

void pickup_queue_done(struct pickup_queue *q)
{
    for (size_t i = q->next; i < q->count; i++)
        free(q->items[i].path);
    free(q->items);
    *q = (struct pickup_queue){ 0 };
}

bool pickup_queue_is_empty(const struct pickup_queue *q)
{
    return q->next == q->count;
}

bool pickup_queue_wants(const struct pickup_queue *q, int64_t time_ns, const char *path)
{
    return q->count < PICKUP_QUEUE_MOST || compare_age(time_ns, path, &q->items[0]) < 0;
}

static void swap_items(struct pickup_item *a, struct pickup_item *b)
{
    struct pickup_item kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_up(struct pickup_item *items, size_t at)
{
    while (at > 0 && compare_items(&items[(at - 1) / 2], &items[at]) < 0) {
        swap_items(&items[(at - 1) / 2], &items[at]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct pickup_item *items, size_t count)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare_items(&items[child], &items[child + 1]) < 0)
            child++;
        if (compare_items(&items[at], &items[child]) >= 0)
            return;
        swap_items(&items[at], &items[child]);
    }
}

static struct pickup_item make_item(int64_t time_ns, const char *path, const char *version)
{
    size_t path_len = strlen(path), version_len = strlen(version);
    char *block = xmalloc(path_len + version_len + 2);

    memcpy(block, path, path_len + 1);
    memcpy(block + path_len + 1, version, version_len + 1);
    return (
        struct pickup_item){ .time_ns = time_ns, .path = block, .version = block + path_len + 1 };
}

void pickup_queue_put(struct pickup_queue *q, int64_t time_ns, const char *path,
                      const char *version)
{
    require(!q->sorted && q->next == 0);
    if (!pickup_queue_wants(q, time_ns, path))
        return;
    if (q->count == PICKUP_QUEUE_MOST) {
        free(q->items[0].path);
        q->items[0] = make_item(time_ns, path, version);
        sift_down(q->items, q->count);
        return;
    }
    if (q->count == q->room) {
        q->room = q->room > 0 ? q->room * 2 : QUEUE_ROOM_LEAST;
        q->items = xrealloc(q->items, q->room * sizeof *q->items);
    }
    q->items[q->count++] = make_item(time_ns, path, version);
    sift_up(q->items, q->count - 1);
}

void pickup_queue_sort(struct pickup_queue *q)
{
    if (q->count > 1)
        qsort(q->items, q->count, sizeof *q->items, compare_items);
    q->sorted = true;
}

bool pickup_queue_take(struct pickup_queue *q, struct pickup_item *ret)
{
    require(q->sorted);
    if (pickup_queue_is_empty(q))
        return false;
    *ret = q->items[q->next++];
    return true;
}
