#include "link/shelf.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { SHELF_MOST = 16, SHELF_ARENA = 16 << 20, SHELF_ARENA_USED = 8 << 20 };

#define SHELF_LASTS_US  (60 * CLOCK_S)
#define SHELF_SHAPES_US (60 * CLOCK_S)

struct shelf {
    pthread_mutex_t mutex;
    struct shelf_side *idle; /* the one used last comes first */
    size_t count;
};

struct shelf *shelf_new(void)
{
    struct shelf *s = NEW(struct shelf);

    (void)pthread_mutex_init(&s->mutex, NULL);
    return s;
}

static void shelf_close(struct shelf_side *d)
{
    if (d == NULL)
        return;
    side_close(&d->side);
    arena_done(&d->arena);
    free(d);
}

static void shelf_close_all(struct shelf_side *list)
{
    for (struct shelf_side *next; list != NULL; list = next) {
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
    const struct away_address *away = end->away;
    const struct str here[] = { str_mem((const char *)&end->type, sizeof end->type),
                                end->address.name, end->address.dsn, end->address.path };
    struct digest d = digest_start();

    for (size_t i = 0; i < sizeof here / sizeof here[0]; i++) {
        digest_add(&d, here[i]);
        digest_add(&d, str_mem("", 1));
    }
    if (away != NULL) {
        const struct str there[] = { away->url, away->key, away->ca, away->cert, away->cert_key };
        const int64_t numbers[] = { (int64_t)away->message_most, away->timeout_us, away->verify };

        for (size_t i = 0; i < sizeof there / sizeof there[0]; i++) {
            digest_add(&d, there[i]);
            digest_add(&d, str_mem("", 1));
        }
        digest_add(&d, str_mem((const char *)numbers, sizeof numbers));
    }
    return digest_end(&d);
}

/* Takes what waits too long off the list.  The lock is held. */
static struct shelf_side *shelf_sort_out(struct shelf *s)
{
    int64_t now_us = clock_mono_us();
    struct shelf_side *old = NULL;

    for (struct shelf_side **at = &s->idle; *at != NULL;) {
        struct shelf_side *d = *at;

        if (now_us - d->used_us <= SHELF_LASTS_US) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        s->count--;
        d->next = old;
        old = d;
    }
    return old;
}

/* The one of this user, or any.  The lock is held. */
static struct shelf_side *shelf_find(struct shelf *s, const struct sha256 *key, const void *user)
{
    struct shelf_side **best = NULL, *found;

    for (struct shelf_side **at = &s->idle; *at != NULL; at = &(*at)->next)
        if (digest_same(&(*at)->key, key) && (best == NULL || (*at)->user == user))
            best = at;
    if (best == NULL)
        return NULL;
    found = *best;
    *best = found->next;
    s->count--;
    return found;
}

bool shelf_take(struct shelf *s, const struct link_end *end, const void *user, struct call *call,
                struct shelf_side **ret, struct err *err)
{
    struct sha256 key = shelf_key(end);
    struct shelf_side *old, *d;

    (void)pthread_mutex_lock(&s->mutex);
    old = shelf_sort_out(s);
    d = shelf_find(s, &key, user);
    (void)pthread_mutex_unlock(&s->mutex);
    shelf_close_all(old);
    if (d != NULL) {
        side_lend(&d->side, call);
        d->user = user;
        *ret = d;
        return true;
    }
    d = NEW(struct shelf_side);
    *d = (struct shelf_side){
        .side = { .type = end->type }, .key = key, .user = user, .arena = ARENA_INIT(SHELF_ARENA)
    };
    if (link_end_open(end, call, &d->side, err)) {
        *ret = d;
        return true;
    }
    free(d);
    return false;
}

void shelf_put(struct shelf *s, struct shelf_side *d, bool good)
{
    struct shelf_side *last = d;

    if (d != NULL && good && !side_is_broken(&d->side)) {
        side_lend(&d->side, NULL);
        d->used_us = clock_mono_us();
        (void)pthread_mutex_lock(&s->mutex);
        d->next = s->idle;
        s->idle = d;
        last = NULL;
        if (++s->count > SHELF_MOST) { /* the one that was used longest ago goes */
            struct shelf_side **at = &s->idle;

            while ((*at)->next != NULL)
                at = &(*at)->next;
            last = *at;
            *at = NULL;
            s->count--;
        }
        (void)pthread_mutex_unlock(&s->mutex);
    }
    shelf_close(last);
}

/* ---- that of all links ---- */

static pthread_mutex_t shelf_common_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct shelf *shelf_common_one;
static size_t shelf_common_users;

struct shelf *shelf_common(void)
{
    (void)pthread_mutex_lock(&shelf_common_mutex);
    if (shelf_common_users++ == 0)
        shelf_common_one = shelf_new();
    struct shelf *s = shelf_common_one;

    (void)pthread_mutex_unlock(&shelf_common_mutex);
    return s;
}

void shelf_common_end(struct shelf *s)
{
    (void)pthread_mutex_lock(&shelf_common_mutex);
    bool last = --shelf_common_users == 0;

    (void)pthread_mutex_unlock(&shelf_common_mutex);
    if (last)
        shelf_free(s);
}

/* ---- shapes ---- */

void shelf_forget(struct shelf_side *d)
{
    d->tables = NULL;
    arena_reset(&d->arena);
}

bool shelf_describe(struct shelf_side *d, struct str table, struct shape **ret, struct err *err)
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
    d->side.at = table;
    if (!side_describe(&d->side, &d->arena, ret, err))
        return false;
    t = ARENA_NEW(&d->arena, struct shelf_table);
    *t = (struct shelf_table){ d->tables, arena_copy(&d->arena, table), *ret, now_us };
    d->tables = t;
    return true;
}
