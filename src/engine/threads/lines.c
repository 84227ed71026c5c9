#include "engine/threads/lines.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "core/line/line.h"

struct kept {
    struct kept *next;
    const struct line_type *type;
    struct sha256 key;
    void *line;
    int64_t since_us; /* monotonic */
};

struct lines {
    struct line_port port;
    _Atomic unsigned refs;
    pthread_mutex_t mutex;
    struct kept *first;  /* the one that was used last comes first */
    struct sha256 *keys; /* of the newest configuration */
    size_t key_count;
    bool any; /* whatever is given is kept */
};

/* ---- with the mutex held ---- */

static bool lines_wants(const struct lines *l, const struct sha256 *key)
{
    for (size_t i = 0; i < l->key_count; i++)
        if (digest_same(&l->keys[i], key))
            return true;
    return l->any;
}

/* Moves those that are not to be kept from the list to *to. */
static void lines_weed(struct lines *l, int64_t before_us, size_t most, struct kept **to)
{
    size_t seen = 0;

    for (struct kept **at = &l->first; *at != NULL;) {
        struct kept *k = *at;

        if (++seen <= most && k->since_us >= before_us && lines_wants(l, &k->key)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        k->next = *to;
        *to = k;
    }
}

/* ---- without it ---- */

static void lines_close(struct kept *first)
{
    for (struct kept *k = first, *next; k != NULL; k = next) {
        next = k->next;
        k->type->close(k->line);
        free(k);
    }
}

static void *lines_take(struct line_port *p, const struct line_type *type, const struct sha256 *key)
{
    struct lines *l = container_of(p, struct lines, port);
    struct kept *found = NULL;
    void *line = NULL;

    (void)pthread_mutex_lock(&l->mutex);
    for (struct kept **at = &l->first; *at != NULL && found == NULL;) {
        if ((*at)->type != type || !digest_same(&(*at)->key, key)) {
            at = &(*at)->next;
            continue;
        }
        found = *at;
        *at = found->next;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    if (found != NULL)
        line = found->line;
    free(found);
    return line;
}

static void lines_give(struct line_port *p, const struct line_type *type, const struct sha256 *key,
                       void *line)
{
    struct lines *l = container_of(p, struct lines, port);
    struct kept *k = NEW(struct kept), *away = NULL;

    *k = (struct kept){ .type = type, .key = *key, .line = line, .since_us = clock_mono_us() };
    (void)pthread_mutex_lock(&l->mutex);
    k->next = l->first;
    l->first = k;
    lines_weed(l, INT64_MIN, LINES_MOST, &away);
    (void)pthread_mutex_unlock(&l->mutex);
    lines_close(away);
}

void lines_use(struct lines *l, const struct sha256 *keys, size_t count)
{
    struct sha256 *copy = xcalloc(count + 1, sizeof *copy), *old;
    struct kept *away = NULL;

    for (size_t i = 0; i < count; i++)
        copy[i] = keys[i];
    (void)pthread_mutex_lock(&l->mutex);
    old = l->keys;
    l->keys = copy;
    l->key_count = count;
    l->any = false;
    lines_weed(l, INT64_MIN, LINES_MOST, &away);
    (void)pthread_mutex_unlock(&l->mutex);
    lines_close(away);
    free(old);
}

void lines_use_any(struct lines *l)
{
    (void)pthread_mutex_lock(&l->mutex);
    l->any = true;
    (void)pthread_mutex_unlock(&l->mutex);
}

void lines_drop(struct lines *l, const struct sha256 *key)
{
    struct kept *away = NULL;

    (void)pthread_mutex_lock(&l->mutex);
    for (struct kept **at = &l->first; *at != NULL;) {
        struct kept *k = *at;

        if (!digest_same(&k->key, key)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        k->next = away;
        away = k;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    lines_close(away);
}

void lines_sweep(struct lines *l, int64_t now_us)
{
    struct kept *away = NULL;

    (void)pthread_mutex_lock(&l->mutex);
    lines_weed(l, now_us - LINES_IDLE_US, LINES_MOST, &away);
    (void)pthread_mutex_unlock(&l->mutex);
    lines_close(away);
}

void lines_stop(struct lines *l)
{
    lines_use(l, NULL, 0);
}

/* ---- life ---- */

struct lines *lines_new(void)
{
    struct lines *l = NEW(struct lines);

    l->port = (struct line_port){ .take = lines_take, .give = lines_give };
    l->refs = 1;
    (void)pthread_mutex_init(&l->mutex, NULL);
    return l;
}

struct lines *lines_ref(struct lines *l)
{
    (void)atomic_fetch_add(&l->refs, 1);
    return l;
}

void lines_unref(struct lines *l)
{
    if (l == NULL || atomic_fetch_sub(&l->refs, 1) != 1)
        return;
    lines_close(l->first);
    (void)pthread_mutex_destroy(&l->mutex);
    free(l->keys);
    free(l);
}

struct line_port *lines_port(struct lines *l)
{
    return &l->port;
}
