/* sqlite_describe.c - what a table of a SQLite file looks like. */
#include <sqlite3.h>
#include <string.h>

#include "table/sqlite/sqlite_database.h"

/* ---- finding it ---- */

/* Tables of rows only: nothing can be captured of views and virtual tables. */
static bool sqlite_shape_find(struct sqlite_database *d, struct str table, struct arena *a,
                              struct shape *s, struct err *err)
{
    sqlite3_stmt *stmt;
    bool row;

    if (!sqlite_ask(d,
                    STR("SELECT name, type FROM pragma_table_list WHERE schema = 'main' "
                        "AND name = ?1 COLLATE NOCASE AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"),
                    &stmt, err))
        return false;
    if (!sqlite_bind_text(d, stmt, 1, table, err) ||
        !sqlite_step(d, stmt, "describing", &row, err)) {
        sqlite_end(stmt);
        return false;
    }
    struct str type = row ? sqlite_text_at(stmt, 1) : STR("");
    bool ok = str_is(type, "table");

    if (ok)
        s->name = arena_copy(a, sqlite_text_at(stmt, 0));
    else if (row)
        (void)err_set(err, ERR_CONFIG, 0, "%.*s is a %.*s table or a view, and not replicated",
                      STR_ARG(str_first(table, 60)), STR_ARG(str_first(type, 20)));
    else
        (void)err_set(err, ERR_CONFIG, 0, "there is no table %.*s", STR_ARG(str_first(table, 60)));
    sqlite_end(stmt);
    return ok;
}

/* NAME, or main.NAME; a point may be in a name, too. */
static bool sqlite_shape_named(struct sqlite_database *d, struct str table, struct arena *a,
                               struct shape *s, struct err *err)
{
    struct err why = { 0 };
    struct str tail = table;

    if (!sqlite_name_is_fine(table))
        return err_set(err, ERR_CONFIG, 0,
                       "the name of a table is empty, longer than %d bytes, or has characters "
                       "that no name has",
                       SHAPE_NAME_MOST);
    if (sqlite_shape_find(d, table, a, s, &why))
        return true;
    if (why.kind == ERR_CONFIG && table.len > 5 && str_eq_nocase(str_first(table, 5), STR("main.")))
        tail = str_from(table, 5);
    if (tail.len < table.len)
        return sqlite_shape_find(d, tail, a, s, err);
    *err = why;
    return false;
}

/* ---- its columns ---- */

static bool sqlite_shape_column(struct sqlite_database *d, sqlite3_stmt *stmt, struct arena *a,
                                struct shape_column *c, struct err *err)
{
    enum sqlite_affinity affinity;

    c->name = arena_copy(a, sqlite_text_at(stmt, 0));
    c->native = arena_copy(a, sqlite_text_at(stmt, 1));
    c->nullable = sqlite3_column_int(stmt, 2) == 0;
    c->has_default = sqlite3_column_type(stmt, 3) != SQLITE_NULL;
    c->key_place = sqlite3_column_int(stmt, 4);
    c->generated = sqlite3_column_int(stmt, 5) > 1;
    c->natural = sqlite_natural(c->native, &affinity);
    c->detail = affinity;
    c->bytewise = !d->is_wide;
    if (!sqlite_name_is_fine(c->name))
        return err_set(err, ERR_CONFIG, 0,
                       "the name of a column is longer than %d bytes, or has characters that no "
                       "name has",
                       SHAPE_NAME_MOST);
    /* Behind each other in time and as text: not with a letter behind the seconds. */
    if (c->key_place > 0 && (c->natural == CELL_INSTANT || c->natural == CELL_JSON))
        c->natural = c->detail == SQLITE_TEXTUAL ? CELL_TEXT : CELL_NULL;
    return true;
}

static bool sqlite_shape_columns(struct sqlite_database *d, struct arena *a, struct shape *s,
                                 struct err *err)
{
    sqlite3_stmt *stmt;
    bool row = true, ok = true;

    if (!sqlite_ask(d,
                    STR("SELECT name, type, \"notnull\", dflt_value, pk, hidden "
                        "FROM pragma_table_xinfo(?1, 'main') ORDER BY cid"),
                    &stmt, err))
        return false;
    s->columns = ARENA_ARRAY(a, struct shape_column, SHAPE_COLUMNS_MOST);
    ok = sqlite_bind_text(d, stmt, 1, s->name, err);
    while (ok && (ok = sqlite_step(d, stmt, "describing", &row, err)) && row) {
        if (s->count == SHAPE_COLUMNS_MOST)
            ok = err_set(err, ERR_CONFIG, 0, "the table has more than %d columns",
                         SHAPE_COLUMNS_MOST);
        else
            ok = sqlite_shape_column(d, stmt, a, &s->columns[s->count], err);
        s->count += ok;
        s->key_count += ok && s->columns[s->count - 1].key_place > 0;
    }
    sqlite_end(stmt);
    if (ok && s->key_count > SHAPE_KEY_MOST)
        return err_set(err, ERR_CONFIG, 0, "the key has more than %d columns", SHAPE_KEY_MOST);
    return ok;
}

/* ---- its key ---- */

static void sqlite_shape_not_null(struct shape *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->columns[i].key_place > 0)
            s->columns[i].nullable = false;
}

/* The rowid itself is the key: of one column, declared INTEGER, and without an index of its own. */
static bool sqlite_shape_is_rowid(const struct shape *s, bool has_index)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->columns[i].key_place == 1)
            return s->key_count == 1 && !has_index &&
                   str_eq_nocase(s->columns[i].native, STR("INTEGER"));
    return false;
}

/* Columns of the key are compared as its index compares them. */
static bool sqlite_shape_collations(struct sqlite_database *d, struct shape *s, struct err *err)
{
    sqlite3_stmt *stmt;
    bool row, ok, has_index = false;

    if (!sqlite_ask(d,
                    STR("SELECT x.cid, x.coll FROM pragma_index_list(?1, 'main') AS l "
                        "JOIN pragma_index_xinfo(l.name, 'main') AS x "
                        "WHERE l.origin = 'pk' AND x.key = 1"),
                    &stmt, err))
        return false;
    ok = sqlite_bind_text(d, stmt, 1, s->name, err);
    while (ok && (ok = sqlite_step(d, stmt, "describing", &row, err)) && row) {
        int64_t cid = sqlite3_column_int64(stmt, 0);

        has_index = true;
        if (cid >= 0 && (size_t)cid < s->count &&
            !str_eq_nocase(sqlite_text_at(stmt, 1), STR("BINARY")))
            s->columns[cid].bytewise = false;
    }
    sqlite_end(stmt);
    if (ok && sqlite_shape_is_rowid(s, has_index))
        sqlite_shape_not_null(s);
    return ok;
}

/* Other columns of text, and those of the key by themselves. */
static void sqlite_shape_column_collations(struct sqlite_database *d, struct shape *s,
                                           struct arena *a)
{
    const char *collation;

    for (size_t i = 0; i < s->count; i++)
        if (sqlite3_table_column_metadata(d->handle, "main", arena_text(a, s->name),
                                          arena_text(a, s->columns[i].name), NULL, &collation, NULL,
                                          NULL, NULL) == SQLITE_OK &&
            !str_eq_nocase(str_of(collation), STR("BINARY")))
            s->columns[i].bytewise = false;
}

bool sqlite_describe(struct database *db, struct str table, struct arena *a, struct shape **ret,
                     struct err *err)
{
    struct sqlite_database *d = sqlite_of(db);
    struct shape *s = ARENA_NEW(a, struct shape);
    struct buf quoted = BUF_INIT(4 * SHAPE_NAME_MOST);

    if (!sqlite_here(d, err) || !sqlite_shape_named(d, table, a, s, err) ||
        !sqlite_shape_columns(d, a, s, err) || !sqlite_shape_collations(d, s, err))
        return false;
    sqlite_shape_column_collations(d, s, a);
    s->schema = STR("main");
    buf_puts(&quoted, "main.");
    sqlite_name(&quoted, s->name);
    s->quoted = arena_copy(a, buf_view(&quoted));
    buf_done(&quoted);
    *ret = s;
    return true;
}
