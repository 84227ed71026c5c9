/* mariadb_shape.c - what a table looks like, from information_schema.
 *
 * Texts are compared byte for byte only by a collation that is binary, does not pad with blanks
 * (NO PAD: utf8mb4_bin pads, and orders 'a' behind "a\n") and is of a character set whose bytes are
 * in the order of the characters as UTF-8.  UUIDs have an order of their own, which is asked for
 * as bytes (mariadb_query.c).
 */
#include <string.h>

#include "table/mariadb/mariadb.h"

struct describing {
    struct arena *arena;
    struct shape *shape;
    bool is_view, is_there;
    struct str engine;
};

enum {
    C_NAME,
    C_TYPE,
    C_NATIVE,
    C_NULLABLE,
    C_DEFAULT,
    C_EXTRA,
    C_CHARSET,
    C_COLLATION,
    C_GENERATED,
    C_KEY_PLACE,
    C_JSON,
    C_SCALE,
    C_COLUMNS
};

static const char columns_sql[] =
    "SELECT c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE, c.IS_NULLABLE = 'YES',"
    " c.COLUMN_DEFAULT IS NOT NULL AND c.COLUMN_DEFAULT <> 'NULL', c.EXTRA,"
    " COALESCE(c.CHARACTER_SET_NAME, ''), COALESCE(c.COLLATION_NAME, ''),"
    " c.IS_GENERATED <> 'NEVER',"
    " COALESCE((SELECT k.ORDINAL_POSITION FROM information_schema.KEY_COLUMN_USAGE k"
    " WHERE k.TABLE_SCHEMA = ? AND k.TABLE_NAME = ? AND k.CONSTRAINT_SCHEMA = ?"
    " AND k.CONSTRAINT_NAME = 'PRIMARY'"
    " AND BINARY k.TABLE_NAME = BINARY c.TABLE_NAME AND k.COLUMN_NAME = c.COLUMN_NAME), 0),"
    " EXISTS (SELECT 1 FROM information_schema.CHECK_CONSTRAINTS j"
    " WHERE j.CONSTRAINT_SCHEMA = ? AND j.TABLE_NAME = ?"
    " AND BINARY j.CHECK_CLAUSE ="
    " BINARY CONCAT('json_valid(`', REPLACE(c.COLUMN_NAME, '`', '``'), '`)')),"
    " COALESCE(c.DATETIME_PRECISION, IF(c.DATA_TYPE = 'decimal', c.NUMERIC_SCALE, NULL), -1)"
    " FROM information_schema.COLUMNS c"
    " WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ? AND BINARY c.TABLE_NAME = ?"
    " ORDER BY c.ORDINAL_POSITION";

static bool shape_is_number(struct str type)
{
    static const char *const ints[] = {
        "tinyint", "smallint", "mediumint", "int", "bigint", "year"
    };

    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        if (str_is(type, ints[i]))
            return true;
    return false;
}

static bool shape_is_text(struct str type)
{
    static const char *const texts[] = { "char",     "varchar", "text", "tinytext", "mediumtext",
                                         "longtext", "enum",    "set",  "inet4",    "inet6" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (str_is(type, texts[i]))
            return true;
    return false;
}

static bool shape_is_bytes(struct str type)
{
    static const char *const bytes[] = { "binary",   "varbinary",  "blob",
                                         "tinyblob", "mediumblob", "longblob" };

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        if (str_is(type, bytes[i]))
            return true;
    return false;
}

static bool shape_has(struct str text, const char *word)
{
    return memmem(text.ptr, text.len, word, strlen(word)) != NULL;
}

static enum mariadb_kind shape_kind(struct str type, struct str native, bool json)
{
    static const struct {
        const char *type;
        enum mariadb_kind kind;
    } kinds[] = {
        { "decimal", MARIADB_DEC },       { "float", MARIADB_FLOAT },
        { "double", MARIADB_DOUBLE },     { "timestamp", MARIADB_TIMESTAMP },
        { "datetime", MARIADB_DATETIME }, { "date", MARIADB_DATE },
        { "time", MARIADB_TIME },         { "uuid", MARIADB_UUID },
        { "json", MARIADB_JSON },
    };

    if (json)
        return MARIADB_JSON;
    if (str_is(type, "bigint") && shape_has(native, "unsigned"))
        return MARIADB_UNSIGNED;
    if (shape_is_number(type))
        return MARIADB_INT;
    if (shape_is_text(type))
        return MARIADB_TEXT;
    if (shape_is_bytes(type))
        return MARIADB_BYTES;
    if (str_is(type, "bit"))
        return str_is(native, "bit(1)")    ? MARIADB_BIT
               : str_is(native, "bit(64)") ? MARIADB_NONE
                                           : MARIADB_BITS;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is(type, kinds[i].type))
            return kinds[i].kind;
    return MARIADB_NONE;
}

static bool shape_is_bytewise(struct str type, struct str charset, struct str collation)
{
    if (!str_is(type, "char") && !str_is(type, "varchar") && !shape_has(type, "text"))
        return false;
    return (str_is(charset, "utf8mb4") || str_is(charset, "utf8mb3") || str_is(charset, "utf8") ||
            str_is(charset, "ascii")) &&
           shape_has(collation, "_nopad_bin");
}

static bool shape_column_take(void *arg, const struct cell *cells, struct err *err)
{
    struct describing *g = arg;
    struct shape *shape = g->shape;

    if (shape->count == SHAPE_COLUMNS_MOST)
        return err_set(err, ERR_CONFIG, 0, "the table has more than %d columns",
                       SHAPE_COLUMNS_MOST);
    struct shape_column *c = &shape->columns[shape->count++];
    struct str type = cells[C_TYPE].s;
    enum mariadb_kind kind = shape_kind(type, cells[C_NATIVE].s, cells[C_JSON].i != 0);

    *c = (struct shape_column){
        .name = arena_copy(g->arena, cells[C_NAME].s),
        .native = arena_copy(g->arena, cells[C_NATIVE].s),
        .natural = mariadb_natural(kind),
        .nullable = cells[C_NULLABLE].i != 0,
        .generated = cells[C_GENERATED].i != 0,
        .has_default = cells[C_DEFAULT].i != 0 || shape_has(cells[C_EXTRA].s, "auto_increment"),
        .key_place = (int)cells[C_KEY_PLACE].i,
        .bytewise = shape_is_bytewise(type, cells[C_CHARSET].s, cells[C_COLLATION].s),
        .padded = str_is(type, "char"),
        .has_scale = cells[C_SCALE].i >= 0 && !str_is(type, "date"),
        .scale = (int)cells[C_SCALE].i,
        .single = kind == MARIADB_FLOAT,
        .detail = kind
    };
    shape->key_count += c->key_place > 0;
    return true;
}

static bool mariadb_find_columns(struct database *d, struct describing *g, struct err *err)
{
    static const enum mariadb_kind kinds[C_COLUMNS] = { MARIADB_TEXT, MARIADB_TEXT, MARIADB_TEXT,
                                                        MARIADB_INT,  MARIADB_INT,  MARIADB_TEXT,
                                                        MARIADB_TEXT, MARIADB_TEXT, MARIADB_INT,
                                                        MARIADB_INT,  MARIADB_INT,  MARIADB_INT };
    struct cell schema = mariadb_text(g->shape->schema), name = mariadb_text(g->shape->name);
    const struct cell params[] = { schema, name, schema, schema, name, schema, name, name };
    const struct mariadb_ask ask = { .sql = STR(columns_sql),
                                     .params = params,
                                     .param_count = sizeof params / sizeof *params,
                                     .kinds = kinds,
                                     .column_count = C_COLUMNS,
                                     .fn = shape_column_take,
                                     .arg = g };

    return mariadb_ask(d, &ask, err);
}

static bool table_found_take(void *arg, const struct cell *cells, struct err *err)
{
    struct describing *g = arg;

    (void)err;
    g->is_there = true;
    g->is_view = !str_is(cells[0].s, "BASE TABLE") && !str_is(cells[0].s, "SYSTEM VERSIONED");
    g->shape->schema = arena_copy(g->arena, cells[1].s);
    g->shape->name = arena_copy(g->arena, cells[2].s);
    return true;
}

static bool mariadb_find_table(struct database *d, struct describing *g, struct str schema,
                               struct str name, struct err *err)
{
    static const enum mariadb_kind kinds[] = { MARIADB_TEXT, MARIADB_TEXT, MARIADB_TEXT };
    const struct cell params[] = { mariadb_text(schema), mariadb_text(schema), mariadb_text(name),
                                   mariadb_text(name) };
    const struct mariadb_ask ask = {
        .sql = STR("SELECT TABLE_TYPE, TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
                   " WHERE TABLE_SCHEMA = IF(? = '', DATABASE(), ?)"
                   " AND TABLE_NAME = ? AND BINARY TABLE_NAME = ?"),
        .params = params,
        .param_count = sizeof params / sizeof *params,
        .kinds = kinds,
        .column_count = 3,
        .fn = table_found_take,
        .arg = g
    };

    if (!mariadb_ask(d, &ask, err))
        return false;
    if (!g->is_there)
        return err_set(err, ERR_CONFIG, 0, "there is no table %.*s, or we may not read it",
                       STR_ARG(str_first(name, 80)));
    return !g->is_view || err_set(err, ERR_CONFIG, 0, "%.*s is a view, and no table",
                                  STR_ARG(str_first(name, 80)));
}

bool mariadb_describe(struct database *d, struct str table, struct arena *a, struct shape **ret,
                      struct err *err)
{
    struct describing g = { .arena = a, .shape = ARENA_NEW(a, struct shape) };
    struct buf quoted = BUF_INIT(4 * SHAPE_NAME_MOST + 16);
    struct str schema = STR(""), name = table;

    if (str_find(table, '.') >= 0)
        name = str_cut(table, '.', &schema);
    if (name.len == 0 || (schema.len == 0 && name.len < table.len) || name.len > SHAPE_NAME_MOST ||
        schema.len > SHAPE_NAME_MOST || !str_is_utf8(table) || str_has_control(table))
        return err_set(err, ERR_CONFIG, 0, "that is no name of a table");
    g.shape->columns = ARENA_ARRAY(a, struct shape_column, SHAPE_COLUMNS_MOST);
    if (!mariadb_find_table(d, &g, schema, name, err) || !mariadb_find_columns(d, &g, err))
        return false;
    if (g.shape->count == 0)
        return err_set(err, ERR_CONFIG, 0, "we may not read any column of %.*s",
                       STR_ARG(str_first(name, 80)));
    mariadb_put_name(&quoted, g.shape->schema);
    buf_putc(&quoted, '.');
    mariadb_put_name(&quoted, g.shape->name);
    g.shape->quoted = arena_copy(a, buf_view(&quoted));
    buf_done(&quoted);
    *ret = g.shape;
    return true;
}
