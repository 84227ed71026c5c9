#include "engine/flight/turns.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"
#include "engine/flight/flight.h"

enum { SLOTS = 1024 };

/* A record at which somebody has the turn. */
struct turn {
    struct turn *next;
    size_t slot;
    struct str set, key;         /* on the arena of the flight whose turn it is */
    struct flight *first, **end; /* those that wait */
};

struct turns {
    void (*go_on)(struct flight *f);
    pthread_mutex_t mutex; /* guards the rest */
    struct turn *slots[SLOTS];
    size_t waiting, most;
    bool closed;
};

struct turns *turns_new(size_t most, void (*go_on)(struct flight *f))
{
    struct turns *t = NEW(struct turns);

    t->go_on = go_on;
    t->most = most;
    (void)pthread_mutex_init(&t->mutex, NULL);
    return t;
}

void turns_free(struct turns *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++) /* of flights that the stop did not wait for */
        for (struct turn *at = t->slots[i], *next; at != NULL; at = next) {
            next = at->next;
            free(at);
        }
    (void)pthread_mutex_destroy(&t->mutex);
    free(t);
}

/* ---- with the mutex held ---- */

/* FNV-1a. */
static size_t turn_hash(struct str set, struct str key)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < set.len; i++)
        h = (h ^ (unsigned char)set.ptr[i]) * UINT64_C(1099511628211);
    for (size_t i = 0; i < key.len; i++)
        h = (h ^ (unsigned char)key.ptr[i]) * UINT64_C(1099511628211);
    return (size_t)(h % SLOTS);
}

static struct turn *turn_find(struct turns *t, size_t slot, struct str set, struct str key)
{
    for (struct turn *at = t->slots[slot]; at != NULL; at = at->next)
        if (str_eq(at->set, set) && str_eq(at->key, key))
            return at;
    return NULL;
}

static void turn_starts(struct turns *t, size_t slot, struct flight *f)
{
    struct turn *at = NEW(struct turn);

    *at = (struct turn){
        .next = t->slots[slot], .slot = slot, .set = f->turn_set, .key = f->turn_key
    };
    at->end = &at->first;
    t->slots[slot] = at;
    f->turn = at;
}

static void turn_over(struct turns *t, struct turn *at)
{
    struct turn **p = &t->slots[at->slot];

    while (*p != at)
        p = &(*p)->next;
    *p = at->next;
    free(at);
}

static void turn_queue(struct turns *t, struct turn *at, struct flight *f)
{
    f->next = NULL;
    *at->end = f;
    at->end = &f->next;
    t->waiting++;
}

/* The first of those that wait has the turn now; NULL: nobody waits, the turn is over. */
static struct flight *turn_pass(struct turns *t, struct turn *at)
{
    struct flight *f = at->first;

    if (f == NULL) {
        turn_over(t, at);
        return NULL;
    }
    at->first = f->next;
    if (at->first == NULL)
        at->end = &at->first;
    f->next = NULL;
    t->waiting--;
    at->set = f->turn_set;
    at->key = f->turn_key;
    f->turn = at;
    return f;
}

/* ---- for the road ---- */

bool turns_take(struct turns *t, struct flight *f, struct str set, struct str key)
{
    size_t slot = turn_hash(set, key);

    if (f->turn != NULL)
        return true;
    f->turn_set = arena_copy(&f->arena, set);
    f->turn_key = arena_copy(&f->arena, key);
    (void)pthread_mutex_lock(&t->mutex);
    bool is_free = turn_find(t, slot, set, key) == NULL;

    if (is_free)
        turn_starts(t, slot, f);
    (void)pthread_mutex_unlock(&t->mutex);
    return is_free;
}

/* Whoever had the turn may have left it since turns_take(). */
enum turn_answer turns_wait(struct turns *t, struct flight *f)
{
    size_t slot = turn_hash(f->turn_set, f->turn_key);
    enum turn_answer answer = TURN_FULL;

    require(f->turn == NULL);
    (void)pthread_mutex_lock(&t->mutex);
    struct turn *at = turn_find(t, slot, f->turn_set, f->turn_key);

    if (at == NULL) {
        turn_starts(t, slot, f);
        answer = TURN_IS_NOW;
    } else if (!t->closed && t->waiting < t->most) {
        turn_queue(t, at, f);
        answer = TURN_LATER;
    }
    (void)pthread_mutex_unlock(&t->mutex);
    return answer;
}

void turns_leave(struct turns *t, struct flight *f)
{
    struct turn *at = f->turn;

    if (at == NULL)
        return;
    (void)pthread_mutex_lock(&t->mutex);
    struct flight *next = turn_pass(t, at);

    (void)pthread_mutex_unlock(&t->mutex);
    f->turn = NULL;
    if (next != NULL)
        t->go_on(next);
}

struct flight *turns_close(struct turns *t)
{
    struct flight *all = NULL, **end = &all;

    (void)pthread_mutex_lock(&t->mutex);
    t->closed = true;
    for (size_t i = 0; i < SLOTS; i++)
        for (struct turn *at = t->slots[i]; at != NULL; at = at->next) {
            *end = at->first;
            while (*end != NULL)
                end = &(*end)->next;
            at->first = NULL;
            at->end = &at->first;
        }
    t->waiting = 0;
    (void)pthread_mutex_unlock(&t->mutex);
    return all;
}
