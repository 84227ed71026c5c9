/* Names of the configuration as small integers; see store.h. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"
#include "store/inside.h"

static const struct word *find(struct store *s, enum word_kind kind, struct str name)
{
    for (size_t i = 0; i < s->word_count; i++)
        if (s->words[i].kind == kind && str_eq(s->words[i].name, name))
            return &s->words[i];
    return NULL;
}

static void remember(struct store *s, int64_t id, enum word_kind kind, struct str name)
{
    if (s->word_count == s->word_room) {
        s->word_room = s->word_room * 2 + 64;
        s->words = xrealloc(s->words, s->word_room * sizeof *s->words);
    }
    s->words[s->word_count++] =
        (struct word){ .id = id, .kind = kind, .name = arena_copy(&s->word_arena, name) };
}

static bool load(struct store *s, struct db *db, struct err *err)
{
    struct db_rows rows;
    bool row = false;

    if (!db_query(db, SQL_WORD_ALL, DB_NO_ARGS, &rows, err))
        return false;
    (void)pthread_rwlock_wrlock(&s->word_lock);
    while (db_next(&rows, &row, err) && row) {
        enum word_kind kind = (enum word_kind)db_get_int(&rows, 1);
        struct str name = db_get_str(&rows, 2);

        if (find(s, kind, name) == NULL)
            remember(s, db_get_int(&rows, 0), kind, name);
    }
    (void)pthread_rwlock_unlock(&s->word_lock);
    db_rows_done(&rows);
    return err->kind == ERR_NONE;
}

bool words_load(struct store *s, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = load(s, db, err);

    store_reader_back(s, db);
    return ok;
}

void words_done(struct store *s)
{
    free(s->words);
    arena_done(&s->word_arena);
}

struct word_op {
    struct store_op op;
    enum word_kind kind;
    struct str name;
};

static bool word_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct word_op *o = (struct word_op *)ops[0];
    int64_t id;

    (void)count;
    if (!db_one_int(w->db, SQL_WORD_FIND, DB_ARGS(db_int(o->kind), db_text(o->name)), 0, &id, err))
        return false;
    if (id != 0)
        return true;
    if (!db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("word")), db_int(1)), 0, &id, err))
        return false;
    return db_run(w->db, SQL_WORD_ADD, DB_ARGS(db_int(id), db_int(o->kind), db_text(o->name)), NULL,
                  err);
}

static const struct store_verb word_verb = { .name = "word", .run = word_run };

bool store_word_find(struct store *s, enum word_kind kind, struct str name, int64_t *ret_id)
{
    (void)pthread_rwlock_rdlock(&s->word_lock);
    const struct word *w = find(s, kind, name);

    if (w != NULL)
        *ret_id = w->id;
    (void)pthread_rwlock_unlock(&s->word_lock);
    return w != NULL;
}

static bool is_full(struct store *s)
{
    (void)pthread_rwlock_rdlock(&s->word_lock);
    bool full = s->word_count >= WORDS_MOST;

    (void)pthread_rwlock_unlock(&s->word_lock);
    return full;
}

/* Another node may have added it meanwhile: the table decides, then it is read
 * back. */
bool store_word(struct store *s, enum word_kind kind, struct str name, int64_t *ret_id,
                struct err *err)
{
    struct word_op o = { .kind = kind, .name = name };

    if (store_word_find(s, kind, name, ret_id))
        return true;
    if (is_full(s))
        return err_set(err, ERR_LIMIT, 0, "more than %d names in the store", WORDS_MOST);
    if (!writers_call(s->writers, &word_verb, &o.op, err) || !words_load(s, err))
        return false;
    require(store_word_find(s, kind, name, ret_id));
    return true;
}

struct str store_word_name(struct store *s, int64_t id)
{
    struct str name = STR("");

    (void)pthread_rwlock_rdlock(&s->word_lock);
    for (size_t i = 0; i < s->word_count; i++)
        if (s->words[i].id == id)
            name = s->words[i].name; /* lives as long as the store */
    (void)pthread_rwlock_unlock(&s->word_lock);
    return name;
}
