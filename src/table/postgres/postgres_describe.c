/* postgres_describe.c - what a table of PostgreSQL looks like, from its catalog. */
#include <stdio.h>

#include "base/require.h"
#include "table/postgres/postgres.h"

/* A table by its name as people write it: the whole of it in the search path, or behind its schema.
 */
static const char find_table[] =
    "SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text,"
    " pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND"
    " pg_catalog.has_table_privilege(c.oid, 'SELECT')"
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND"
    " (c.relname::text = $1 AND n.nspname = ANY (pg_catalog.current_schemas(false)) OR"
    " c.relname::text = $3 AND n.nspname::text = $2)"
    " ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(false), n.nspname),"
    " n.nspname LIMIT 1";

/* A domain is what it is made of.  %s: the default collation compares bytes. */
static const char find_columns[] =
    "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), b.oid,"
    " b.typtype = 'e', NOT (a.attnotnull OR b.bars_null), a.attgenerated <> '',"
    " a.atthasdef OR a.attidentity <> '' OR b.gives, a.attidentity = 'a',"
    " coalesce(pg_catalog.array_position(i.indkey::int2[], a.attnum) + 1, 0)::int4,"
    " CASE WHEN a.attcollation = 950 THEN 1 WHEN a.attcollation = 951 THEN 4"
    " WHEN a.attcollation = 100 AND (%s) THEN 2 ELSE 0 END,"
    " coalesce(l.collisdeterministic, true), b.mod"
    " FROM pg_catalog.pg_attribute a"
    " JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()"
    " CROSS JOIN LATERAL (WITH RECURSIVE r AS ("
    "SELECT t.oid, t.typtype, t.typbasetype, t.typnotnull AS bars_null,"
    " t.typdefault IS NOT NULL AND t.typtype = 'd' AS gives,"
    " CASE WHEN a.atttypmod >= 0 THEN a.atttypmod ELSE t.typtypmod END AS mod"
    " FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid"
    " UNION ALL SELECT t.oid, t.typtype, t.typbasetype, r.bars_null OR t.typnotnull,"
    " r.gives OR t.typdefault IS NOT NULL AND t.typtype = 'd',"
    " CASE WHEN r.mod >= 0 THEN r.mod ELSE t.typtypmod END"
    " FROM pg_catalog.pg_type t JOIN r ON t.oid = r.typbasetype WHERE r.typtype = 'd')"
    " SELECT * FROM r WHERE r.typtype <> 'd') b"
    " LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation"
    " LEFT JOIN pg_catalog.pg_index i ON i.indrelid = a.attrelid AND i.indisprimary"
    " WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

/* An index that begins with the columns of the key, in their order, and compares bytes. */
static const char find_index[] =
    "SELECT EXISTS (SELECT FROM pg_catalog.pg_index x"
    " JOIN pg_catalog.pg_index p ON p.indrelid = x.indrelid AND p.indisprimary"
    " JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid"
    " JOIN pg_catalog.pg_am m ON m.oid = c.relam AND m.amname = 'btree'"
    " WHERE x.indrelid = $1 AND x.indisvalid AND x.indpred IS NULL AND x.indexprs IS NULL AND"
    " (pg_catalog.string_to_array(x.indkey::text, ' '))[1:p.indnkeyatts] ="
    " (pg_catalog.string_to_array(p.indkey::text, ' '))[1:p.indnkeyatts] AND"
    " NOT EXISTS (SELECT FROM ROWS FROM (pg_catalog.unnest(x.indcollation::oid[]),"
    " pg_catalog.unnest(x.indoption::int2[])) WITH ORDINALITY AS u(collation_oid, option, place)"
    " WHERE u.place <= p.indnkeyatts AND"
    " (u.collation_oid NOT IN (0, 950) OR u.option <> 0)))";

static int64_t postgres_detail(Oid type, unsigned flags)
{
    return (int64_t)flags << 32 | type;
}

Oid postgres_detail_type(const struct shape_column *c)
{
    return (Oid)((uint64_t)c->detail & UINT32_MAX);
}

unsigned postgres_detail_flags(const struct shape_column *c)
{
    return (unsigned)((uint64_t)c->detail >> 32);
}

/* ---- the table ---- */

struct describing {
    struct arena *arena;
    struct shape *shape;
    bool found, readable;
    char kind;
    Oid oid;
    bool by_index; /* a text of the key is not compared bytewise by its own collation */
    bool can_index;
};

static bool describe_take_table(void *arg, const PGresult *row, struct err *err)
{
    struct describing *d = arg;

    (void)err;
    d->found = true;
    d->oid = (Oid)postgres_int(row, 0);
    d->shape->schema = arena_copy(d->arena, postgres_text(row, 1));
    d->shape->name = arena_copy(d->arena, postgres_text(row, 2));
    d->kind = *PQgetvalue(row, 0, 3);
    d->readable = postgres_bool(row, 4);
    return true;
}

static bool describe_ask_table(struct postgres *p, struct describing *d, struct str table,
                               struct err *err)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct postgres_args *args = postgres_args(&a);
    struct str schema, name = str_cut(table, '.', &schema);

    (void)postgres_arg_text(args, table);
    (void)postgres_arg_text(args, schema);
    (void)postgres_arg_text(args, name);
    buf_clear(&p->sql);
    buf_puts(&p->sql, find_table);
    bool ok = postgres_ask_once(p, args, describe_take_table, d, err);

    arena_done(&a);
    if (!ok)
        return false;
    if (!d->found)
        return err_set(err, ERR_CONFIG, 0, "there is no table %.*s", STR_ARG(str_first(table, 80)));
    if (d->kind != 'r' && d->kind != 'p')
        return err_set(err, ERR_CONFIG, 0, "%.*s is a view or foreign, and no table",
                       STR_ARG(str_first(table, 80)));
    return d->readable || err_set(err, ERR_CONFIG, 0, "the table %.*s may not be read by this role",
                                  STR_ARG(str_first(table, 80)));
}

/* ---- its columns ---- */

/* What stands in parentheses behind the type, as the catalog has it. */
static void describe_digits(struct shape_column *c, Oid type, int mod)
{
    c->single = type == TYPE_FLOAT4;
    if (mod < 0)
        return;
    if (type == TYPE_NUMERIC) {
        c->has_scale = true;
        c->scale = (((mod - 4) & 0x7ff) ^ 0x400) - 0x400; /* eleven bits with a sign */
    } else if (type == TYPE_TIME || type == TYPE_TIMESTAMP || type == TYPE_TIMESTAMPTZ) {
        c->has_scale = true;
        c->scale = mod;
    }
}

static bool describe_take_column(void *arg, const PGresult *row, struct err *err)
{
    struct describing *d = arg;
    struct shape *s = d->shape;
    bool is_enum = postgres_bool(row, 3);
    unsigned flags = (unsigned)postgres_int(row, 9);

    if (s->count == SHAPE_COLUMNS_MOST)
        return err_set(err, ERR_LIMIT, 0, "it has more than %d columns", SHAPE_COLUMNS_MOST);
    struct shape_column *c = &s->columns[s->count++];

    *c = (struct shape_column){ .name = arena_copy(d->arena, postgres_text(row, 0)),
                                .native = arena_copy(d->arena, postgres_text(row, 1)),
                                .natural = postgres_natural((Oid)postgres_int(row, 2), is_enum),
                                .nullable = postgres_bool(row, 4),
                                .generated = postgres_bool(row, 5),
                                .has_default = postgres_bool(row, 6),
                                .key_place = (int)postgres_int(row, 8),
                                .padded = postgres_int(row, 2) == TYPE_BPCHAR };
    c->bytewise = flags != 0 && c->natural == CELL_TEXT;
    describe_digits(c, (Oid)postgres_int(row, 2), (int)postgres_int(row, 11));
    if (c->key_place > 0 && (size_t)c->key_place > s->key_count)
        s->key_count = (size_t)c->key_place;
    if (c->key_place > 0 && c->natural == CELL_TEXT && !is_enum && flags == 0) {
        d->can_index = (!d->by_index || d->can_index) && postgres_bool(row, 10);
        d->by_index = true;
    }
    if (is_enum)
        flags |= DETAIL_ENUM;
    if (postgres_bool(row, 7))
        flags |= DETAIL_IDENTITY;
    c->detail = postgres_detail((Oid)postgres_int(row, 2), flags);
    return true;
}

static bool describe_ask_columns(struct postgres *p, struct describing *d, struct err *err)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct postgres_args *args = postgres_args(&a);
    const char *bytewise = "d.datcollate IN ('C', 'POSIX')";

    if (PQserverVersion(p->conn) >= 170000)
        bytewise = "d.datlocprovider = 'b' OR d.datlocprovider = 'c' AND d.datcollate IN ('C', "
                   "'POSIX')";
    else if (PQserverVersion(p->conn) >= 150000)
        bytewise = "d.datlocprovider = 'c' AND d.datcollate IN ('C', 'POSIX')";
    (void)postgres_arg_oid(args, d->oid);
    d->shape->columns = ARENA_ARRAY(d->arena, struct shape_column, SHAPE_COLUMNS_MOST);
    buf_clear(&p->sql);
    buf_printf(&p->sql, find_columns, bytewise);
    bool ok = postgres_ask_once(p, args, describe_take_column, d, err);

    arena_done(&a);
    if (ok && d->shape->key_count > SHAPE_KEY_MOST)
        return err_set(err, ERR_LIMIT, 0, "its key has more than %d columns", SHAPE_KEY_MOST);
    return ok;
}

static bool describe_take_index(void *arg, const PGresult *row, struct err *err)
{
    bool *there = arg;

    (void)err;
    *there = postgres_bool(row, 0);
    return true;
}

/* All texts of the key are compared by the index, also those that need it not. */
static bool describe_ask_index(struct postgres *p, struct describing *d, struct err *err)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct postgres_args *args = postgres_args(&a);
    bool there = false;

    (void)postgres_arg_oid(args, d->oid);
    buf_clear(&p->sql);
    buf_puts(&p->sql, find_index);
    bool ok = postgres_ask_once(p, args, describe_take_index, &there, err);

    arena_done(&a);
    for (size_t i = 0; ok && there && i < d->shape->count; i++) {
        struct shape_column *c = &d->shape->columns[i];
        unsigned flags = postgres_detail_flags(c);

        if (c->key_place == 0 || c->natural != CELL_TEXT || (flags & DETAIL_ENUM) != 0)
            continue;
        c->bytewise = true;
        c->detail = postgres_detail(postgres_detail_type(c), (flags & ~7U) | DETAIL_INDEX_C);
    }
    return ok;
}

bool postgres_describe(struct database *database, struct str table, struct arena *a,
                       struct shape **ret, struct err *err)
{
    struct postgres *p = postgres_of(database);
    struct describing d = { .arena = a, .shape = ARENA_NEW(a, struct shape) };
    struct buf quoted = BUF_INIT(1024);

    if (table.len == 0 || table.len > 2 * SHAPE_NAME_MOST || !str_is_utf8(table) ||
        str_has_control(table))
        return err_set(err, ERR_CONFIG, 0, "the name of the table is no name");
    buf_clear(&p->late_name); /* it may have other constraints by now */
    if (!describe_ask_table(p, &d, table, err) || !describe_ask_columns(p, &d, err) ||
        (d.by_index && d.can_index && !describe_ask_index(p, &d, err)))
        return false;
    postgres_name(&quoted, d.shape->schema);
    buf_putc(&quoted, '.');
    postgres_name(&quoted, d.shape->name);
    d.shape->quoted = arena_copy(a, buf_view(&quoted));
    buf_done(&quoted);
    *ret = d.shape;
    return true;
}
