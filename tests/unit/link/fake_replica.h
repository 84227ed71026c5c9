/* fake_replica.h - what a store keeps of links (store/replica), in memory: its functions, for tests
 * without a store.  One link with one table.
 */
#pragma once

#include <string.h>

#include "base/clock.h"
#include "store/replica/conflict.h"
#include "store/replica/replica_order.h"
#include "store/replica/set_aside.h"

enum { FAKE_ASIDE = 100 };

static struct fake_aside {
    int64_t id, x, due_us, tries;
    size_t key_len;
    char key[50], why[100], kind[20];
    bool discarded;
} fake_aside[FAKE_ASIDE];
static size_t fake_aside_count;
static int64_t fake_orders[REPLICA_WISHES], fake_last_id; /* ids; 0: there is none */

static struct fake_aside *fake_aside_find(struct str key)
{
    for (size_t i = 0; i < fake_aside_count; i++)
        if (str_eq(str_mem(fake_aside[i].key, fake_aside[i].key_len), key))
            return &fake_aside[i];
    return NULL;
}

bool set_aside_open(struct store *s, struct str link, struct str table, int64_t *ret_open,
                    struct err *err)
{
    (void)s;
    (void)link;
    (void)table;
    (void)err;
    *ret_open = 0;
    for (size_t i = 0; i < fake_aside_count; i++)
        *ret_open += !fake_aside[i].discarded;
    return true;
}

bool set_aside_put(struct store *s, const struct set_aside *rows, size_t count, int64_t now_us,
                   int64_t *ret_open, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct fake_aside *at = fake_aside_find(rows[i].key);

        if (at == NULL) {
            at = &fake_aside[fake_aside_count++];
            *at = (struct fake_aside){ .id = ++fake_last_id };
        }
        at->key_len = rows[i].key.len;
        memcpy(at->key, rows[i].key.ptr, rows[i].key.len);
        (void)snprintf(at->why, sizeof at->why, "%.*s", STR_ARG(rows[i].why));
        (void)snprintf(at->kind, sizeof at->kind, "%.*s", STR_ARG(rows[i].kind));
        at->x = rows[i].x;
        at->due_us = now_us + (60 * (int64_t)CLOCK_S << at->tries);
        at->tries++;
        at->discarded = false;
    }
    return set_aside_open(s, STR(""), STR(""), ret_open, err);
}

bool set_aside_drop(struct store *s, struct str link, struct str table, const struct str *keys,
                    size_t count, int64_t *ret_open, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct fake_aside *at = fake_aside_find(keys[i]);

        if (at != NULL)
            *at = fake_aside[--fake_aside_count];
    }
    return set_aside_open(s, link, table, ret_open, err);
}

bool set_aside_drop_all(struct store *s, struct str link, struct str table, struct err *err)
{
    (void)s;
    (void)link;
    (void)table;
    (void)err;
    fake_aside_count = 0;
    return true;
}

bool set_aside_due(struct store *s, struct str link, struct str table, int64_t now_us, size_t most,
                   struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err)
{
    (void)s;
    (void)link;
    (void)table;
    (void)err;
    *ret_count = 0;
    for (size_t i = 0; i < fake_aside_count && *ret_count < most; i++)
        if (fake_aside[i].due_us <= now_us && !fake_aside[i].discarded)
            ret[(*ret_count)++] = (struct set_aside){
                .id = fake_aside[i].id,
                .key = arena_copy(a, str_mem(fake_aside[i].key, fake_aside[i].key_len)),
                .row = STR(""),
                .kind = str_of(fake_aside[i].kind),
                .x = fake_aside[i].x
            };
    return true;
}

bool set_aside_find(struct store *s, int64_t id, struct arena *a, bool *ret_has,
                    struct set_aside *ret, struct err *err)
{
    (void)s;
    (void)id;
    (void)a;
    (void)ret;
    (void)err;
    *ret_has = false;
    return true;
}

static size_t fake_conflicts; /* rows that have lost */
static void (*fake_loses)(struct str row);

bool conflict_put(struct store *s, const struct set_aside *rows, size_t count, int64_t at_us,
                  bool untold, struct err *err)
{
    (void)s;
    (void)at_us;
    (void)untold;
    (void)err;
    fake_conflicts += count;
    for (size_t i = 0; fake_loses != NULL && i < count; i++)
        fake_loses(rows[i].row);
    return true;
}

int64_t conflict_due(int64_t now_us, bool waits)
{
    return waits ? CONFLICT_FOREVER_US : now_us;
}

bool conflict_waits(const struct set_aside *row)
{
    return row->due_us == CONFLICT_FOREVER_US;
}

struct sha256 conflict_digest(const struct set_aside *row)
{
    return digest_of(row->row);
}

bool conflict_untold(struct store *s, struct str link, struct str table, size_t most,
                     struct arena *a, struct set_aside *ret, size_t *ret_count, struct err *err)
{
    (void)s;
    (void)link;
    (void)table;
    (void)most;
    (void)a;
    (void)ret;
    (void)err;
    *ret_count = 0;
    return true;
}

bool conflict_told(struct store *s, const struct set_aside *rows, size_t count, struct err *err)
{
    (void)s;
    (void)rows;
    (void)count;
    (void)err;
    return true;
}

bool conflict_settle(struct store *s, int64_t id, bool written, bool untold, struct str why,
                     struct err *err)
{
    (void)s;
    (void)id;
    (void)written;
    (void)untold;
    (void)why;
    (void)err;
    return true;
}

bool replica_order_get(struct store *s, enum replica_wish wish, struct str link, struct str table,
                       struct arena *a, bool *ret_has, struct replica_order *ret, struct err *err)
{
    (void)s;
    (void)link;
    (void)table;
    (void)a;
    (void)err;
    *ret_has = fake_orders[wish] != 0;
    *ret = (struct replica_order){ .id = fake_orders[wish], .wish = wish };
    return true;
}

bool replica_order_drop(struct store *s, int64_t id, struct err *err)
{
    (void)s;
    (void)err;
    for (int i = 0; i < REPLICA_WISHES; i++)
        if (fake_orders[i] == id)
            fake_orders[i] = 0;
    return true;
}
