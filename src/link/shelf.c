#include "link/shelf.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { SHELF_MOST = 8, SHELF_ARENA = 16 << 20, SHELF_ARENA_USED = 8 << 20 };

#define SHELF_LASTS_US  (60 * CLOCK_S)
#define SHELF_SHAPES_US (60 * CLOCK_S)

struct shelf {
    pthread_mutex_t mutex;
    struct shelf_database *idle; /* the one used last comes first */
    size_t count;
};

struct shelf *shelf_new(void)
{
    struct shelf *s = NEW(struct shelf);

    (void)pthread_mutex_init(&s->mutex, NULL);
    return s;
}

static void shelf_close(struct shelf_database *d)
{
    if (d == NULL)
        return;
    d->type->close(d->db);
    arena_done(&d->arena);
    free(d);
}

static void shelf_close_all(struct shelf_database *list)
{
    for (struct shelf_database *next; list != NULL; list = next) {
        next = list->next;
        shelf_close(list);
    }
}

void shelf_free(struct shelf *s)
{
    if (s == NULL)
        return;
    shelf_close_all(s->idle);
    (void)pthread_mutex_destroy(&s->mutex);
    free(s);
}

/* ---- taking ---- */

static struct sha256 shelf_key(const struct link_end *end)
{
    const struct str parts[] = { str_of(end->type->kind.name), end->address.name,
                                 end->address.dsn, end->address.path };
    struct digest d = digest_start();

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        digest_add(&d, parts[i]);
        digest_add(&d, str_mem("", 1));
    }
    return digest_end(&d);
}

/* Takes what waits too long off the list, and the one with this key.  The lock is held. */
static struct shelf_database *shelf_find(struct shelf *s, const struct sha256 *key,
                                         struct shelf_database **ret_old)
{
    int64_t now_us = clock_mono_us();
    struct shelf_database *found = NULL;

    *ret_old = NULL;
    for (struct shelf_database **at = &s->idle; *at != NULL;) {
        struct shelf_database *d = *at;
        bool old = now_us - d->used_us > SHELF_LASTS_US;

        if (!old && (found != NULL || !digest_same(&d->key, key))) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        s->count--;
        if (old) {
            d->next = *ret_old;
            *ret_old = d;
        } else {
            found = d;
        }
    }
    return found;
}

bool shelf_take(struct shelf *s, const struct link_end *end, struct call *call,
                struct shelf_database **ret, struct err *err)
{
    struct sha256 key = shelf_key(end);
    struct database_address address = end->address;
    struct shelf_database *old, *d;

    (void)pthread_mutex_lock(&s->mutex);
    d = shelf_find(s, &key, &old);
    (void)pthread_mutex_unlock(&s->mutex);
    shelf_close_all(old);
    if (d != NULL) {
        d->type->lend(d->db, call);
        *ret = d;
        return true;
    }
    d = NEW(struct shelf_database);
    *d = (struct shelf_database){ .type = end->type, .key = key, .arena = ARENA_INIT(SHELF_ARENA) };
    address.call = call;
    if (end->type->open(&address, &d->db, err)) {
        *ret = d;
        return true;
    }
    free(d);
    return false;
}

void shelf_put(struct shelf *s, struct shelf_database *d, bool good)
{
    if (good && !d->type->broken(d->db)) {
        d->type->lend(d->db, NULL);
        d->used_us = clock_mono_us();
        (void)pthread_mutex_lock(&s->mutex);
        if (s->count < SHELF_MOST) {
            d->next = s->idle;
            s->idle = d;
            s->count++;
            d = NULL;
        }
        (void)pthread_mutex_unlock(&s->mutex);
    }
    shelf_close(d);
}

/* ---- shapes ---- */

void shelf_forget(struct shelf_database *d)
{
    d->tables = NULL;
    arena_reset(&d->arena);
}

bool shelf_describe(struct shelf_database *d, struct str table, struct shape **ret, struct err *err)
{
    int64_t now_us = clock_mono_us();
    struct shelf_table *t;

    for (t = d->tables; t != NULL; t = t->next)
        if (str_eq(t->at, table))
            break;
    if (t != NULL && now_us - t->described_us < SHELF_SHAPES_US) {
        *ret = t->shape;
        return true;
    }
    if (t != NULL || d->arena.used > SHELF_ARENA_USED)
        shelf_forget(d);
    if (!d->type->describe(d->db, table, &d->arena, ret, err))
        return false;
    t = ARENA_NEW(&d->arena, struct shelf_table);
    *t = (struct shelf_table){ d->tables, arena_copy(&d->arena, table), *ret, now_us };
    d->tables = t;
    return true;
}
