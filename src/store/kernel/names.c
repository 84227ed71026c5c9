#include "store/kernel/names.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum { SLOTS_FIRST = 256 };

/* ---- in memory ---- */

static size_t hash_name(enum name_kind kind, struct str name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)kind;

    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)name.ptr[i]) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ h >> 32);
}

static size_t hash_id(int64_t id)
{
    return (size_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

/* The slot of a name, or the empty slot where it belongs. */
static uint32_t *slot_of_name(const struct name_table *t, enum name_kind kind, struct str name)
{
    size_t i = hash_name(kind, name) % t->slots;

    for (; t->by_name[i] != 0; i = (i + 1) % t->slots) {
        const struct stored_name *w = &t->words[t->by_name[i] - 1];

        if (w->kind == kind && str_eq(w->name, name))
            break;
    }
    return &t->by_name[i];
}

static uint32_t *slot_of_id(const struct name_table *t, int64_t id)
{
    size_t i = hash_id(id) % t->slots;

    while (t->by_id[i] != 0 && t->words[t->by_id[i] - 1].id != id)
        i = (i + 1) % t->slots;
    return &t->by_id[i];
}

static const struct stored_name *names_find(const struct name_table *t, enum name_kind kind,
                                            struct str name)
{
    uint32_t at = t->slots > 0 ? *slot_of_name(t, kind, name) : 0;

    return at != 0 ? &t->words[at - 1] : NULL;
}

static void names_put(struct name_table *t, size_t at)
{
    *slot_of_name(t, t->words[at].kind, t->words[at].name) = (uint32_t)at + 1;
    *slot_of_id(t, t->words[at].id) = (uint32_t)at + 1;
}

static void names_grow(struct name_table *t)
{
    t->slots = t->slots > 0 ? t->slots * 2 : SLOTS_FIRST;
    free(t->by_name);
    free(t->by_id);
    t->by_name = xcalloc(t->slots, sizeof *t->by_name);
    t->by_id = xcalloc(t->slots, sizeof *t->by_id);
    t->words = xrealloc(t->words, t->slots / 2 * sizeof *t->words);
    for (size_t i = 0; i < t->count; i++)
        names_put(t, i);
}

static void names_remember(struct name_table *t, int64_t id, enum name_kind kind, struct str name)
{
    if ((t->count + 1) * 2 > t->slots)
        names_grow(t);
    t->words[t->count] =
        (struct stored_name){ .id = id, .kind = kind, .name = arena_copy(&t->arena, name) };
    names_put(t, t->count++);
}

/* ---- from the store ---- */

static void names_add_row(struct name_table *t, struct db_rows *row)
{
    enum name_kind kind = (enum name_kind)db_get_int(row, WORD_ALL_KIND);
    struct str name = db_get_str(row, WORD_ALL_NAME);

    if (names_find(t, kind, name) == NULL)
        names_remember(t, db_get_int(row, WORD_ALL_ID), kind, name);
}

/* The query runs before the lock is taken: PostgreSQL may take seconds to answer, and writers ask
 * for names inside their transactions. */
bool names_load(struct store *s, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool ok, row = true;

    if (r.db == NULL || !db_query(r.db, SQL_WORD_ALL, DB_NO_ARGS, &rows, err))
        return false;
    (void)pthread_rwlock_wrlock(&s->name_lock);
    while ((ok = db_next(&rows, &row, err)) && row)
        names_add_row(&s->names, &rows);
    (void)pthread_rwlock_unlock(&s->name_lock);
    return ok;
}

void names_done(struct store *s)
{
    free(s->names.words);
    free(s->names.by_name);
    free(s->names.by_id);
    arena_done(&s->names.arena);
}

/* ---- adding ---- */

struct words_op {
    struct store_op op;
    enum name_kind kind;
    const struct str *names;
    size_t count;
};

static bool add_one(struct writer *w, enum name_kind kind, struct str name, struct err *err)
{
    int64_t id;

    if (!db_one_int(w->db, SQL_WORD_FIND, DB_ARGS(db_int(kind), db_text(name)), 0, &id, err))
        return false;
    if (id != 0)
        return true;
    if (!db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("word")), db_int(1)), 0, &id, err))
        return false;
    return db_run(w->db, SQL_WORD_ADD, DB_ARGS(db_int(id), db_int(kind), db_text(name)), NULL, err);
}

static bool words_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct words_op *o = container_of(ops[0], struct words_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->count; i++)
        if (!add_one(w, o->kind, o->names[i], err))
            return false;
    return true;
}

static const struct store_verb words_verb = { .name = "words", .run = words_run, .notes = true };

bool name_find(struct store *s, enum name_kind kind, struct str name, int64_t *ret_id)
{
    (void)pthread_rwlock_rdlock(&s->name_lock);
    const struct stored_name *w = names_find(&s->names, kind, name);

    if (w != NULL)
        *ret_id = w->id;
    (void)pthread_rwlock_unlock(&s->name_lock);
    return w != NULL;
}

size_t names_of_kind(struct store *s, enum name_kind kind)
{
    size_t n = 0;

    (void)pthread_rwlock_rdlock(&s->name_lock);
    for (size_t i = 0; i < s->names.count; i++)
        n += s->names.words[i].kind == kind;
    (void)pthread_rwlock_unlock(&s->name_lock);
    return n;
}

/* Puts the names that are not in memory into `ret`; returns their number. */
static size_t missing(struct store *s, enum name_kind kind, const struct str *names, size_t count,
                      struct str *ret)
{
    size_t n = 0;

    (void)pthread_rwlock_rdlock(&s->name_lock);
    for (size_t i = 0; i < count; i++)
        if (names_find(&s->names, kind, names[i]) == NULL)
            ret[n++] = names[i];
    (void)pthread_rwlock_unlock(&s->name_lock);
    return n;
}

/* Another node may have added a name meanwhile: add_one() checks the table, and the ids are read
 * back from it. */
static bool add_missing(struct store *s, enum name_kind kind, const struct str *names, size_t count,
                        struct err *err)
{
    struct words_op o = { .kind = kind, .names = names, .count = count };

    (void)pthread_rwlock_rdlock(&s->name_lock);
    bool full = s->names.count + count > STORE_NAMES_MOST;

    (void)pthread_rwlock_unlock(&s->name_lock);
    if (full)
        return err_set(err, ERR_LIMIT, 0, "more than %d names in the store", STORE_NAMES_MOST);
    return writers_call(s->writers, &words_verb, &o.op, err) && names_load(s, err);
}

bool names_add(struct store *s, enum name_kind kind, const struct str *names, size_t count,
               int64_t *ret_ids, struct err *err)
{
    struct str *unknown = xcalloc(count + 1, sizeof *unknown);
    size_t n = missing(s, kind, names, count, unknown);
    bool ok = n == 0 || add_missing(s, kind, unknown, n, err);

    free(unknown);
    for (size_t i = 0; ok && i < count; i++)
        require(name_find(s, kind, names[i], &ret_ids[i]));
    return ok;
}

bool name_add(struct store *s, enum name_kind kind, struct str name, int64_t *ret_id,
              struct err *err)
{
    return names_add(s, kind, &name, 1, ret_id, err);
}

struct str name_text(struct store *s, int64_t id)
{
    struct str name = STR("");

    (void)pthread_rwlock_rdlock(&s->name_lock);
    uint32_t at = s->names.slots > 0 ? *slot_of_id(&s->names, id) : 0;

    if (at != 0)
        name = s->names.words[at - 1].name; /* lives as long as the store */
    (void)pthread_rwlock_unlock(&s->name_lock);
    return name;
}

bool name_of_kind(struct store *s, enum name_kind kind, int64_t id, struct str *ret)
{
    (void)pthread_rwlock_rdlock(&s->name_lock);
    uint32_t at = s->names.slots > 0 ? *slot_of_id(&s->names, id) : 0;
    bool found = at != 0 && s->names.words[at - 1].kind == kind;

    if (found)
        *ret = s->names.words[at - 1].name; /* lives as long as the store */
    (void)pthread_rwlock_unlock(&s->name_lock);
    return found;
}
