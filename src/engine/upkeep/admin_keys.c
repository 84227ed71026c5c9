#include "engine/upkeep/admin_keys.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/key.h"
#include "store/people/admin_key.h"
#include "store/people/role.h"

enum { TABLE_MOST = 256 << 20, KEY_MOST = 200 };

#define NOTE_US (INT64_C(60) * CLOCK_S)

struct holder {
    const struct admin_key *key;
    struct rights rights;
    int64_t used_us, noted_us; /* noted_us: as the store has it */
};

struct table {
    struct arena arena;
    struct holder **holders; /* sorted by name */
    size_t count;
};

struct admin_keys {
    struct store *store;
    pthread_mutex_t follow; /* one follower at a time */
    int64_t mark;           /* version of the table; -1: none loaded */

    pthread_mutex_t mutex;
    struct table *table;
};

static void admin_keys_table_free(struct table *t)
{
    if (t == NULL)
        return;
    arena_done(&t->arena);
    free(t);
}

struct admin_keys *admin_keys_new(struct store *store)
{
    struct admin_keys *k = NEW(struct admin_keys);

    k->store = store;
    k->mark = -1;
    (void)pthread_mutex_init(&k->follow, NULL);
    (void)pthread_mutex_init(&k->mutex, NULL);
    return k;
}

void admin_keys_free(struct admin_keys *k)
{
    if (k == NULL)
        return;
    admin_keys_table_free(k->table);
    (void)pthread_mutex_destroy(&k->follow);
    (void)pthread_mutex_destroy(&k->mutex);
    free(k);
}

/* ---- the table ---- */

static struct holder *upkeep_admin_keys_find(const struct table *t, struct str name)
{
    size_t low = 0, high = t != NULL ? t->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = str_cmp(t->holders[middle]->key->name, name);

        if (c == 0)
            return t->holders[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int admin_keys_by_name(const void *a, const void *b)
{
    const struct holder *const *x = a, *const *y = b;

    return str_cmp((*x)->key->name, (*y)->key->name);
}

static bool admin_keys_load(struct store *s, struct table *t, struct err *err)
{
    struct admin_key *keys;
    struct role *roles;
    size_t role_count;

    if (!role_list(s, &t->arena, &roles, &role_count, err) ||
        !admin_key_list(s, &t->arena, &keys, &t->count, err))
        return false;
    t->holders = ARENA_ARRAY(&t->arena, struct holder *, t->count);
    for (size_t i = 0; i < t->count; i++) {
        struct holder *h = ARENA_NEW(&t->arena, struct holder);

        h->key = &keys[i];
        h->used_us = h->noted_us = keys[i].used_us;
        role_rights_of(roles, role_count, keys[i].roles, keys[i].role_count, &h->rights);
        t->holders[i] = h;
    }
    if (t->count > 0) /* the database's collation may differ from ours */
        qsort(t->holders, t->count, sizeof t->holders[0], admin_keys_by_name);
    return true;
}

/* Times of use carry over to keys that still exist. */
static void put_in_force(struct admin_keys *k, struct table *t)
{
    struct table *before;

    (void)pthread_mutex_lock(&k->mutex);
    before = k->table;
    for (size_t i = 0; i < t->count; i++) {
        const struct holder *was = upkeep_admin_keys_find(before, t->holders[i]->key->name);

        if (was != NULL && was->used_us > t->holders[i]->used_us)
            t->holders[i]->used_us = was->used_us;
    }
    k->table = t;
    (void)pthread_mutex_unlock(&k->mutex);
    admin_keys_table_free(before);
}

/* ---- times of use ---- */

/* Finds a key whose time of use must be written; its name is copied. */
static bool take_used(struct admin_keys *k, struct arena *a, struct str *ret_name, int64_t *ret_us)
{
    bool found = false;

    (void)pthread_mutex_lock(&k->mutex);
    for (size_t i = 0; k->table != NULL && !found && i < k->table->count; i++) {
        struct holder *h = k->table->holders[i];

        if (h->used_us <= h->noted_us || h->used_us - h->noted_us < NOTE_US)
            continue;
        *ret_name = arena_copy(a, h->key->name);
        *ret_us = h->noted_us = h->used_us;
        found = true;
    }
    (void)pthread_mutex_unlock(&k->mutex);
    return found;
}

static bool note_used(struct admin_keys *k, struct err *err)
{
    struct arena a = ARENA_INIT(ADMIN_KEYS_MOST * 64);
    struct str name;
    int64_t us;
    bool ok = true;

    while (ok && take_used(k, &a, &name, &us)) {
        ok = admin_key_use(k->store, name, us, err);
        arena_reset(&a);
    }
    arena_done(&a);
    return ok;
}

/* ---- following ---- */

static bool admin_keys_look(struct admin_keys *k, struct err *err)
{
    struct table *t;
    int64_t mark;

    if (!role_mark(k->store, &mark, err))
        return false;
    if (mark == k->mark)
        return true;
    t = NEW(struct table);
    t->arena = (struct arena)ARENA_INIT(TABLE_MOST);
    if (!admin_keys_load(k->store, t, err)) {
        admin_keys_table_free(t);
        return false;
    }
    put_in_force(k, t);
    k->mark = mark;
    return true;
}

bool admin_keys_follow(struct admin_keys *k, struct err *err)
{
    (void)pthread_mutex_lock(&k->follow);
    bool ok = admin_keys_look(k, err) && note_used(k, err);

    (void)pthread_mutex_unlock(&k->follow);
    return ok;
}

/* ---- lookup ---- */

static void copy_out(const struct holder *h, struct arena *a, struct str *ret_title,
                     struct rights *ret)
{
    *ret_title = arena_copy(a, h->key->title);
    *ret = h->rights;
    for (size_t i = 0; i < ret->count; i++)
        ret->at[i].system = arena_copy(a, ret->at[i].system);
}

bool admin_keys_find(struct admin_keys *k, struct str key, struct arena *a, struct str *ret_title,
                     struct rights *ret_rights)
{
    struct str name = key_name(key);
    int64_t now = clock_wall_us();
    bool found = false;

    if (name.len == 0 || key.len > KEY_MOST)
        return false;
    struct sha256 got = digest_of(key);

    (void)pthread_mutex_lock(&k->mutex);
    struct holder *h = upkeep_admin_keys_find(k->table, name);

    if (h != NULL && digest_same(&got, &h->key->secret) &&
        (h->key->expires_us == 0 || now < h->key->expires_us)) {
        h->used_us = now > h->used_us ? now : h->used_us;
        copy_out(h, a, ret_title, ret_rights);
        found = true;
    }
    (void)pthread_mutex_unlock(&k->mutex);
    return found;
}
