/* queue.c - the queues of deliveries, one for each pair of system and endpoint (settle.h). */
#include <stdio.h>

#include "base/auto.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/settle.h"

enum { NAME = 48 };

bool queue_for(struct store *s, int64_t system, int64_t endpoint, int64_t *ret, struct err *err)
{
    char name[NAME];
    int64_t word;

    (void)snprintf(name, sizeof name, "%lld/%lld", (long long)system, (long long)endpoint);
    if (!name_add(s, NAME_QUEUE, str_of(name), &word, err))
        return false;
    *ret = QUEUE_DELIVERIES + word;
    return true;
}

/* Reload the names if the queue is unknown: another node may have made it. */
static bool lane_name(struct store *s, int64_t queue, struct str *ret)
{
    struct err err = { 0 };

    return queue > QUEUE_DELIVERIES &&
           (name_of_kind(s, NAME_QUEUE, queue - QUEUE_DELIVERIES, ret) ||
            (names_load(s, &err) && name_of_kind(s, NAME_QUEUE, queue - QUEUE_DELIVERIES, ret)));
}

bool queue_target(struct store *s, int64_t queue, int64_t *ret_system, int64_t *ret_endpoint)
{
    struct str name, rest;
    int64_t system, endpoint;
    const char *slash;

    if (!lane_name(s, queue, &name) || (slash = memchr(name.ptr, '/', name.len)) == NULL)
        return false;
    rest = str_from(name, (size_t)(slash - name.ptr) + 1);
    name.len = (size_t)(slash - name.ptr);
    if (!str_to_i64(name, &system) || !str_to_i64(rest, &endpoint))
        return false;
    *ret_system = system;
    *ret_endpoint = endpoint;
    return true;
}

bool queues_with_work(struct store *s, int64_t above, int64_t *ret, size_t most, size_t *ret_count,
                      struct err *err)
{
    return store_ints(s, SQL_QUEUES_WITH_WORK, DB_ARGS(db_int(above), db_int(most)), ret, most,
                      ret_count, err);
}

static void read_depth(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct queue_depth *)to =
        (struct queue_depth){ .queue = db_get_int(row, QUEUE_DEPTHS_QUEUE),
                              .ready = db_get_int(row, QUEUE_DEPTHS_READY),
                              .later = db_get_int(row, QUEUE_DEPTHS_LATER) };
}

bool queue_depths(struct store *s, struct queue_depth *ret, size_t most, size_t *ret_count,
                  struct err *err)
{
    return store_collect(s, SQL_QUEUE_DEPTHS, DB_ARGS(db_int(QUEUE_DELIVERIES), db_int(most)),
                         ROWS_INTO(ret, most, NULL, read_depth), ret_count, err);
}
