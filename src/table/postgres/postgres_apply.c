/* postgres_apply.c - rows are written and removed: one statement for many, from arrays.
 *
 * Constraints that may be checked late are checked behind the rows of a call, which may refer to
 * each other; but not as late as the commit, which does not say whose fault it is.
 */
#include <endian.h>

#include "base/require.h"
#include "table/postgres/postgres.h"

enum {
    APPLY_ROWS = 10000,
    APPLY_BYTES = 128 << 20, /* of the arrays of a statement, but for a row that is larger */
    APPLY_MOST = 900 << 20,
    ARRAY_HEAD = 20,
    ARGS_ARENA = 1 << 20
};

/* ---- arrays ---- */

static bool array_add(struct buf *to, uint32_t v, struct err *err)
{
    uint32_t big = htobe32(v);

    return buf_append(to, str_mem((const char *)&big, sizeof big), err);
}

static bool array_item(struct buf *to, Oid type, const struct cell *c, struct err *err)
{
    size_t head = to->len;

    if (!array_add(to, UINT32_MAX, err)) /* the length of NULL */
        return false;
    if (c->type == CELL_NULL)
        return true;
    if (!postgres_put(to, type, c, err))
        return false;
    uint32_t len = htobe32((uint32_t)(to->len - head - 4));

    memcpy(to->ptr + head, &len, sizeof len);
    return true;
}

/* One dimension, with NULLs. */
static bool array_put(struct buf *to, Oid element, Oid type, const struct cell *first, size_t count,
                      size_t step, struct err *err)
{
    bool ok = array_add(to, 1, err) && array_add(to, 1, err) && array_add(to, element, err) &&
              array_add(to, (uint32_t)count, err) && array_add(to, 1, err);

    for (size_t i = 0; ok && i < count; i++)
        ok = array_item(to, type, &first[i * step], err);
    return ok;
}

/* An enum has no array that is known here: its values are sent as texts. */
static Oid array_element(const struct shape_column *c)
{
    return (postgres_detail_flags(c) & DETAIL_ENUM) != 0 ? TYPE_TEXT : postgres_detail_type(c);
}

bool postgres_put_rows(struct postgres *p, struct postgres_args *args, const struct fit *fit,
                       const struct cell *rows, size_t count, size_t width, struct buf *bytes,
                       struct err *err)
{
    size_t *starts = arena_array(&p->row, width + 1, sizeof *starts);

    for (size_t i = 0; i < width; i++) {
        const struct shape_column *c = postgres_column(fit, i);
        Oid element = array_element(c);

        starts[i] = bytes->len;
        if (!array_put(bytes, element, element, &rows[i], count, width, err))
            return err_context(err, "column %.*s", STR_ARG(str_first(c->name, 60)));
    }
    starts[width] = bytes->len;
    buf_puts(&p->sql, "ROWS FROM (");
    for (size_t i = 0; i < width; i++) {
        Oid array = postgres_array_of(array_element(postgres_column(fit, i)));
        struct str value = str_mem(bytes->ptr + starts[i], starts[i + 1] - starts[i]);

        buf_printf(&p->sql, "%spg_catalog.unnest($%zu)", i > 0 ? ", " : "",
                   postgres_arg(args, array, value));
    }
    buf_puts(&p->sql, ") AS u(");
    for (size_t i = 0; i < width; i++)
        buf_printf(&p->sql, "%sc%zu", i > 0 ? ", " : "", i + 1);
    buf_putc(&p->sql, ')');
    return true;
}

/* About how much memory a row needs in the arrays. */
static size_t apply_size(const struct cell *row, size_t width)
{
    size_t n = 0;

    for (size_t i = 0; i < width; i++) {
        enum cell_type t = row[i].type;

        n += 16;
        if (t == CELL_TEXT || t == CELL_BYTES || t == CELL_JSON || t == CELL_DEC)
            n += row[i].s.len;
    }
    return n;
}

/* How many of the rows go into one statement. */
static size_t apply_piece(const struct cell *rows, size_t count, size_t width)
{
    size_t n = 0, bytes = 0;

    while (n < count && n < APPLY_ROWS) {
        bytes += apply_size(&rows[n * width], width);
        if (n > 0 && bytes > APPLY_BYTES)
            break;
        n++;
    }
    return n;
}

/* ---- constraints that are checked late ---- */

static bool apply_take_late(void *arg, const PGresult *row, struct err *err)
{
    struct postgres *p = arg;

    (void)err;
    p->late = postgres_bool(row, 0);
    return true;
}

static bool apply_ask_late(struct postgres *p, const struct fit *fit, struct err *err)
{
    if (str_eq(buf_view(&p->late_name), fit->shape->quoted))
        return true;
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    buf_clear(&p->late_name);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE condeferrable AND "
                      "(conrelid = $1::pg_catalog.regclass OR "
                      "confrelid = $1::pg_catalog.regclass))");
    (void)postgres_arg_text(args, fit->shape->quoted);
    bool ok = postgres_ask(p, args, apply_take_late, p, err) &&
              buf_append(&p->late_name, fit->shape->quoted, err);

    arena_done(&a);
    return ok;
}

static bool apply_defer(struct postgres *p, const struct fit *fit, struct err *err)
{
    if (!apply_ask_late(p, fit, err))
        return false;
    if (!p->late || p->deferred)
        return true;
    p->deferred = postgres_run(p, "SET CONSTRAINTS ALL DEFERRED", err);
    return p->deferred;
}

static bool apply_check(struct postgres *p, struct err *err)
{
    if (!p->deferred)
        return true;
    return postgres_run(p, "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED", err);
}

/* ---- writing ---- */

/* A column that only the database may give a value can be inserted, but not be updated. */
static bool apply_updates(const struct fit *fit, size_t i)
{
    return i >= fit->key_count &&
           (postgres_detail_flags(postgres_column(fit, i)) & DETAIL_IDENTITY) == 0;
}

static void upsert_select(struct buf *to, const struct fit *fit)
{
    for (size_t i = 0; i < fit->count; i++) {
        const struct shape_column *c = postgres_column(fit, i);

        buf_puts(to, i > 0 ? ", " : "");
        if ((postgres_detail_flags(c) & DETAIL_ENUM) != 0)
            buf_printf(to, "CAST(u.c%zu AS %.*s)", i + 1, STR_ARG(c->native));
        else
            buf_printf(to, "u.c%zu", i + 1);
    }
}

static void upsert_conflict(struct buf *to, const struct fit *fit)
{
    bool any = false;

    buf_puts(to, " ON CONFLICT (");
    postgres_columns(to, fit, 0, fit->key_count, "", false);
    buf_puts(to, ") DO ");
    for (size_t i = 0; i < fit->count; i++) {
        if (!apply_updates(fit, i))
            continue;
        buf_puts(to, any ? ", " : "UPDATE SET ");
        postgres_columns(to, fit, i, i + 1, "", false);
        buf_puts(to, " = ");
        postgres_columns(to, fit, i, i + 1, "excluded.", false);
        any = true;
    }
    if (!any)
        buf_puts(to, "NOTHING");
}

static bool upsert_piece(struct postgres *p, const struct fit *fit, const struct cell *rows,
                         size_t count, bool add, struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    struct buf bytes = BUF_INIT(APPLY_MOST);
    bool identity = false;

    for (size_t i = 0; i < fit->count; i++)
        identity =
            identity || (postgres_detail_flags(postgres_column(fit, i)) & DETAIL_IDENTITY) != 0;
    arena_reset(&p->row);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "INSERT INTO ");
    buf_put(&p->sql, fit->shape->quoted);
    buf_puts(&p->sql, " (");
    postgres_columns(&p->sql, fit, 0, fit->count, "", false);
    buf_puts(&p->sql, identity ? ") OVERRIDING SYSTEM VALUE SELECT " : ") SELECT ");
    upsert_select(&p->sql, fit);
    buf_puts(&p->sql, " FROM ");
    bool ok = postgres_put_rows(p, args, fit, rows, count, fit->count, &bytes, err);

    if (ok) {
        if (!add)
            upsert_conflict(&p->sql, fit);
        ok = postgres_ask(p, args, NULL, NULL, err);
    }
    buf_done(&bytes);
    arena_done(&a);
    return ok;
}

static bool upsert_all(struct postgres *p, const struct fit *fit, const struct cell *rows,
                       size_t count, bool add, struct err *err)
{
    bool ok = apply_defer(p, fit, err);

    for (size_t at = 0, n; ok && at < count; at += n) {
        n = apply_piece(&rows[at * fit->count], count - at, fit->count);
        ok = upsert_piece(p, fit, &rows[at * fit->count], n, add, err);
    }
    return ok && apply_check(p, err);
}

bool postgres_upsert(struct database *d, const struct fit *fit, const struct cell *rows,
                     size_t count, struct err *err)
{
    return upsert_all(postgres_of(d), fit, rows, count, false, err);
}

bool postgres_add(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                  struct err *err)
{
    return upsert_all(postgres_of(d), fit, rows, count, true, err);
}

/* ---- removing ---- */

static bool remove_piece(struct postgres *p, const struct fit *fit, const struct cell *keys,
                         size_t count, struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    struct buf bytes = BUF_INIT(APPLY_MOST);

    arena_reset(&p->row);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "DELETE FROM ");
    buf_put(&p->sql, fit->shape->quoted);
    buf_puts(&p->sql, " t USING ");
    bool ok = postgres_put_rows(p, args, fit, keys, count, fit->key_count, &bytes, err);

    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(&p->sql, i > 0 ? " AND " : " WHERE ");
        postgres_columns(&p->sql, fit, i, i + 1, "t.", false);
        buf_printf(&p->sql, " = u.c%zu", i + 1);
    }
    ok = ok && postgres_ask(p, args, NULL, NULL, err);
    buf_done(&bytes);
    arena_done(&a);
    return ok;
}

bool postgres_remove(struct database *d, const struct fit *fit, const struct cell *keys,
                     size_t count, int64_t *ret_removed, struct err *err)
{
    struct postgres *p = postgres_of(d);
    bool ok = apply_defer(p, fit, err);

    *ret_removed = 0;
    for (size_t at = 0, n; ok && at < count; at += n) {
        n = apply_piece(&keys[at * fit->key_count], count - at, fit->key_count);
        ok = remove_piece(p, fit, &keys[at * fit->key_count], n, err);
        *ret_removed += ok ? p->affected : 0;
    }
    return ok && apply_check(p, err);
}
