#include "job/checking.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/call.h"
#include "core/zone.h"

enum {
    COUNT_LEAST = 10000,   /* findings are counted so far at least */
    ROWS_MOST = 1000000000 /* rows of a table */
};

static bool checking_fail(struct checked *k, const char *remedy)
{
    k->outcome = CHECK_FAILED;
    k->remedy = remedy;
    return false;
}

static bool checking_fail_of(struct checked *k, const struct check_base *b, const char *config,
                             const char *other)
{
    (void)err_context(&k->err, "database %.*s", STR_ARG(str_first(b->address.name, 60)));
    return checking_fail(k, k->err.kind == ERR_CONFIG      ? config
                            : k->err.kind == ERR_TRANSIENT ? other
                                                           : NULL);
}

/* ---- connections ---- */

static bool checking_open(struct checking *c, size_t at, struct checked *k)
{
    const struct check_base *b = &c->spec->bases[at];
    struct checking_base *open = &c->bases[at];
    struct database_address address = b->address;

    if (open->db != NULL)
        return true;
    address.call = c->call;
    if (!open->failed)
        open->failed = !b->type->open(&address, &open->db, &open->why);
    if (!open->failed)
        return true;
    k->err = open->why;
    return checking_fail_of(k, b, "correct its address or account under `databases`",
                            "see whether it runs, and whether this node reaches it");
}

static void checking_close(struct checking *c, size_t at)
{
    if (c->bases[at].db != NULL)
        c->spec->bases[at].type->close(c->bases[at].db);
    c->bases[at].db = NULL;
}

void checking_done(struct checking *c)
{
    for (size_t i = 0; i < c->spec->base_count; i++)
        checking_close(c, i);
}

/* ---- tables ---- */

static bool checking_describe(struct checking *c, size_t at, struct str table, struct shape **ret,
                              struct checked *k)
{
    const struct check_base *b = &c->spec->bases[at];

    if (!checking_open(c, at, k))
        return false;
    if (b->type->describe(c->bases[at].db, table, c->arena, ret, &k->err))
        return true;
    if (b->type->broken(c->bases[at].db))
        checking_close(c, at);
    return checking_fail_of(k, b,
                            "name a table that is there, and let the account read it (SELECT)",
                            "see whether it runs, and whether this node reaches it");
}

/* Which rows count. */
static bool checking_values(struct checking *c, const struct check_rule *r, struct sought *s,
                            struct err *err)
{
    size_t count = r->value_count + r->empty_count;
    struct sought_value *v = ARENA_ARRAY(c->arena, struct sought_value, count + 1);

    for (size_t i = 0; i < r->value_count; i++)
        if (!sought_value_of(s->shape, r->names[i], r->values[i], c->arena, &v[i], err))
            return false;
    for (size_t i = 0; i < r->empty_count; i++)
        if (!sought_places(s->shape, &r->empty[i], 1, &v[r->value_count + i].column, err))
            return false;
    s->values = v;
    s->value_count = count;
    return true;
}

static bool checking_keys(const struct check_rule *r, struct sought *s, struct err *err)
{
    const struct shape *in = s->in;

    if (r->key_count > 0)
        return sought_places(in, r->keys, r->key_count, s->keys, err);
    if (in->key_count != r->column_count)
        return err_set(err, ERR_CONFIG, 0,
                       "the primary key of %.*s has %zu columns, and `columns` are %zu",
                       STR_ARG(str_first(in->name, 60)), in->key_count, r->column_count);
    for (size_t i = 0; i < in->count; i++)
        if (in->columns[i].key_place > 0)
            s->keys[in->columns[i].key_place - 1] = i;
    return true;
}

static void checking_before(const struct checking *c, const struct check_rule *r, struct sought *s)
{
    int64_t us = c->now_us - r->than_us;
    int64_t second = us / CLOCK_S - (us % CLOCK_S < 0);

    s->before_us = us;
    s->before_local_us = zone_local(r->zone, second) * CLOCK_S + (us - second * CLOCK_S);
}

static bool checking_prepare(struct checking *c, const struct check_rule *r, struct sought *s,
                             struct checked *k)
{
    struct shape *shape, *in = NULL;

    if (!checking_describe(c, r->base, r->table, &shape, k) ||
        (r->kind == SOUGHT_ORPHANS && !checking_describe(c, r->base, r->in, &in, k)))
        return false;
    *s = (struct sought){ .kind = r->kind,
                          .shape = shape,
                          .in = in,
                          .count = r->column_count,
                          .most = k->most + 1,
                          .shown = (size_t)c->spec->examples };
    if (r->column_count > SOUGHT_COLUMNS_MOST || r->key_count > SOUGHT_COLUMNS_MOST)
        return checking_fail(k, "name fewer columns");
    if (!sought_places(shape, r->columns, r->column_count, s->columns, &k->err) ||
        !checking_values(c, r, s, &k->err) ||
        (r->kind == SOUGHT_ORPHANS && !checking_keys(r, s, &k->err)))
        return checking_fail_of(k, &c->spec->bases[r->base], "correct the check", NULL);
    if (r->kind == SOUGHT_OLDER)
        checking_before(c, r, s);
    return true;
}

/* ---- looking ---- */

static bool checking_find(struct checking *c, size_t at, const struct sought *s, struct found *ret,
                          struct checked *k)
{
    const struct check_base *b = &c->spec->bases[at];
    struct database *db = c->bases[at].db;
    bool ok = b->type->begin(db, DATABASE_SNAPSHOT, &k->err);

    ok = ok && b->type->find(db, s, c->arena, ret, &k->err);
    b->type->rollback(db); /* nothing was changed */
    if (b->type->broken(db))
        checking_close(c, at);
    call_alive(c->call);
    return ok ||
           checking_fail_of(k, b,
                            "let the account read the table (SELECT), and name columns that the "
                            "database can compare",
                            "where it takes too long: make an index on the columns, or raise "
                            "`timeout` of the database");
}

static bool checking_count(struct checking *c, const struct check_rule *r, size_t at,
                           struct str table, struct found *ret, struct checked *k)
{
    struct sought s = { .kind = SOUGHT_ROWS, .most = (int64_t)ROWS_MOST + 1 };
    struct shape *shape;

    if (!checking_describe(c, at, table, &shape, k))
        return false;
    s.shape = shape;
    if (!checking_values(c, r, &s, &k->err))
        return checking_fail_of(k, &c->spec->bases[at], "correct the check", NULL);
    return checking_find(c, at, &s, ret, k);
}

static bool checking_between(int64_t n, int64_t a, int64_t b, int64_t apart)
{
    return n >= (a < b ? a : b) - apart && n <= (a > b ? a : b) + apart;
}

static void checking_counts(struct checking *c, const struct check_rule *r, struct checked *k)
{
    struct found first, other, again;

    k->most = ROWS_MOST;
    if (!checking_count(c, r, r->base, r->table, &first, k) ||
        !checking_count(c, r, r->other, r->in, &other, k))
        return;
    k->found = first;
    k->other = other.count;
    if (first.count > ROWS_MOST && other.count > ROWS_MOST) {
        (void)err_set(&k->err, ERR_LIMIT, 0, "both tables have more than %d rows", ROWS_MOST);
        (void)checking_fail(k, "compare parts of them, by `where`");
        return;
    }
    if (checking_between(other.count, first.count, first.count, r->most))
        return;
    if (!checking_count(c, r, r->base, r->table, &again, k))
        return;
    k->found = again;
    if (!checking_between(other.count, first.count, again.count, r->most))
        k->outcome = CHECK_FOUND;
}

void checking_one(struct checking *c, const struct check_rule *r, struct checked *ret)
{
    struct sought s;

    *ret = (struct checked){ .outcome = CHECK_FINE,
                             .most = r->most > COUNT_LEAST ? r->most : COUNT_LEAST };
    if (r->kind == SOUGHT_ROWS) {
        checking_counts(c, r, ret);
        return;
    }
    if (!checking_prepare(c, r, &s, ret) || !checking_find(c, r->base, &s, &ret->found, ret))
        return;
    if (ret->found.count > r->most)
        ret->outcome = CHECK_FOUND;
}

/* ---- in words ---- */

static void checked_put_number(struct buf *to, int64_t n, int64_t most)
{
    buf_printf(to, "%s%" PRId64, n > most ? "more than " : "", n > most ? most : n);
}

static void checked_put_counts(const struct check_rule *r, const struct checked *k, struct buf *to)
{
    checked_put_number(to, k->found.count, k->most);
    buf_puts(to, " and ");
    checked_put_number(to, k->other, k->most);
    buf_puts(to, " rows");
    if (k->outcome == CHECK_FOUND)
        buf_printf(to, ", at most %" PRId64 " apart", r->most);
}

static void checked_put_found(const struct check_rule *r, const struct checked *k, struct buf *to)
{
    checked_put_number(to, k->found.count, k->most);
    buf_puts(to, r->kind == SOUGHT_DUPLICATES ? " values" : " rows");
    if (k->outcome == CHECK_FOUND)
        buf_printf(to, ", at most %" PRId64, r->most);
    for (size_t i = 0; k->outcome == CHECK_FOUND && i < k->found.example_count; i++)
        buf_printf(to, "%s%.*s", i > 0 ? "; " : ": ", STR_ARG(k->found.examples[i]));
}

void checked_say(const struct check_rule *r, const struct checked *k, struct buf *to)
{
    buf_printf(to, "%.*s: ", STR_ARG(r->title));
    if (k->outcome == CHECK_FAILED)
        buf_printf(to, "%s%s%s", k->err.text, k->remedy != NULL ? "; " : "",
                   k->remedy != NULL ? k->remedy : "");
    else if (r->kind == SOUGHT_ROWS)
        checked_put_counts(r, k, to);
    else
        checked_put_found(r, k, to);
}
