/* fit.c - how two tables fit to each other, and what travels between them.
 *
 * What travels of a column:
 *
 *   (1) the type that the link says by `cast`.  Then a value that has no form in it, or in the
 *       destination's type, is refused when it comes.
 *   (2) the type that the columns of both sides have by nature.
 *   (3) else every value of the source must have a form in the destination's type; if not, the
 *       tables do not fit until the link says `cast`.  Then it is the destination's type
 *         - among numbers (INT to DEC, FLOAT to DEC, BOOL to INT), because it is the wider one and
 *           so has a form for whatever others have written there, and
 *         - in a key, if it can be in one and has the same order (UUID to TEXT), for that reason;
 *       and otherwise the source's (DEC, INSTANT, UUID, JSON to TEXT): what we wrote reads back as
 *       the same value, and another way of writing a value ("1.50") is no difference.
 *
 * A key is read in the order of its bytes (key.h), so each side's own order of its columns must be
 * that of what travels.
 */
#include <limits.h>
#include <stdio.h>

#include "table/cell_cast.h"
#include "table/key.h"
#include "table/shape.h"
#include "table/shape_say.h"

struct fitting {
    const struct shape *source, *dest;
    const struct fit_wish *wish;
    struct buf *problems;
    bool fits;
    struct fit *of_source, *of_dest;
};

#define fit_problem(f, ...) ((f)->fits = false, shape_say((f)->problems, __VA_ARGS__))

static const struct fit_wish_column *fit_wished(const struct fitting *f, struct str name)
{
    for (size_t i = 0; f->wish != NULL && i < f->wish->count; i++)
        if (str_eq(f->wish->columns[i].name, name))
            return &f->wish->columns[i];
    return NULL;
}

static bool fit_ignored(const struct fitting *f, struct str name)
{
    const struct fit_wish_column *w = fit_wished(f, name);

    return w != NULL && w->ignore;
}

/* ---- types ---- */

#define TYPE_BIT(type) (1u << (type))

static bool fit_is_number(enum cell_type type)
{
    return (TYPE_BIT(type) & (TYPE_BIT(CELL_INT) | TYPE_BIT(CELL_DEC) | TYPE_BIT(CELL_FLOAT) |
                              TYPE_BIT(CELL_BOOL))) != 0;
}

/* Values of a column that is `natural` are in the same order as what they are cast to.  Text with a
 * UUID is not: it may be written in capitals, or without dashes. */
static bool fit_keeps_order(enum cell_type natural, enum cell_type travels)
{
    static const unsigned same[CELL_TYPES] = {
        [CELL_INT] = TYPE_BIT(CELL_INSTANT) | TYPE_BIT(CELL_LOCAL) | TYPE_BIT(CELL_BOOL),
        [CELL_DEC] = TYPE_BIT(CELL_INT),
        [CELL_TEXT] = TYPE_BIT(CELL_BYTES),
        [CELL_BYTES] = TYPE_BIT(CELL_TEXT) | TYPE_BIT(CELL_UUID),
        [CELL_BOOL] = TYPE_BIT(CELL_INT),
        [CELL_INSTANT] = TYPE_BIT(CELL_INT) | TYPE_BIT(CELL_LOCAL),
        [CELL_LOCAL] = TYPE_BIT(CELL_INT) | TYPE_BIT(CELL_INSTANT) | TYPE_BIT(CELL_DATE),
        [CELL_DATE] = TYPE_BIT(CELL_LOCAL),
        [CELL_UUID] = TYPE_BIT(CELL_BYTES) | TYPE_BIT(CELL_TEXT),
    };

    return natural == travels || (same[natural] & TYPE_BIT(travels)) != 0;
}

static bool fit_in_key(enum cell_type source, enum cell_type dest, enum cell_type travels)
{
    return key_type_fits(travels) && fit_keeps_order(source, travels) &&
           fit_keeps_order(dest, travels);
}

/* There is a way from each side to the type and back, if not for every value. */
static bool fit_has_way(enum cell_type source, enum cell_type dest, enum cell_type travels)
{
    return cell_cast_is_there(source, travels) && cell_cast_is_there(travels, source) &&
           cell_cast_is_there(dest, travels) && cell_cast_is_there(travels, dest);
}

/* What a person could say by `cast`; CELL_NULL: nothing helps. */
static enum cell_type fit_remedy(enum cell_type source, enum cell_type dest, bool key)
{
    static const enum cell_type better_first[] = {
        CELL_DEC,  CELL_INSTANT, CELL_LOCAL, CELL_DATE,  CELL_TIME, CELL_UUID,
        CELL_JSON, CELL_BOOL,    CELL_INT,   CELL_FLOAT, CELL_TEXT, CELL_BYTES
    };
    enum { COUNT = sizeof better_first / sizeof better_first[0] };

    for (size_t i = 0; i < (size_t)2 * COUNT; i++) { /* one of theirs first */
        enum cell_type t = better_first[i % COUNT];

        if ((i >= COUNT || t == source || t == dest) && fit_has_way(source, dest, t) &&
            (!key || fit_in_key(source, dest, t)))
            return t;
    }
    return CELL_NULL;
}

/* (2) and (3); CELL_NULL: it does not fit. */
static enum cell_type fit_travels(enum cell_type source, enum cell_type dest, bool key)
{
    if (source == dest)
        return source;
    if (!cell_cast_is_safe(source, dest))
        return CELL_NULL;
    if (key)
        return fit_in_key(source, dest, dest) ? dest : source;
    return fit_is_number(source) && fit_is_number(dest) ? dest : source;
}

/* ---- one column ---- */

static void fit_tell_remedy(struct fitting *f, const struct shape_column *source,
                            const struct shape_column *dest, bool key, const char *what)
{
    enum cell_type remedy = fit_remedy(source->natural, dest->natural, key);
    char cast[200] = "";

    if (remedy != CELL_NULL)
        (void)snprintf(cast, sizeof cast, "say cast: { %.*s: %s } or ", SHAPE_NAME(source->name),
                       cell_types[remedy]);
    fit_problem(
        f, "column %.*s: %.*s at the source, %.*s at the destination %s; %schange the column%s",
        SHAPE_NAME(source->name), SHAPE_NAME(source->native), SHAPE_NAME(dest->native), what, cast,
        remedy == CELL_NULL && !key ? ", or ignore it" : "");
}

static bool fit_type(struct fitting *f, const struct shape_column *source,
                     const struct shape_column *dest, bool key, enum cell_type *ret)
{
    const struct fit_wish_column *w = fit_wished(f, source->name);
    enum cell_type cast = w != NULL ? w->cast : CELL_NULL;
    enum cell_type travels =
        cast != CELL_NULL ? cast : fit_travels(source->natural, dest->natural, key);

    if (cast != CELL_NULL && !fit_has_way(source->natural, dest->natural, cast)) {
        fit_tell_remedy(f, source, dest, key, "cannot both be cast to what the link says");
        return false;
    }
    if (travels == CELL_NULL) {
        fit_tell_remedy(f, source, dest, key, "cannot hold every value of it");
        return false;
    }
    if (key && !fit_in_key(source->natural, dest->natural, travels)) {
        fit_tell_remedy(f, source, dest, key,
                        "cannot be a key, or not in the same order on both sides");
        return false;
    }
    *ret = travels;
    return true;
}

/* Digits behind the point that a column may have; INT_MAX: any number of them. */
static int fit_scale(const struct shape_column *c)
{
    if (c->has_scale)
        return c->scale;
    switch (c->natural) {
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_TIME:
        return CELL_TIME_DIGITS;
    case CELL_DEC:
    case CELL_FLOAT:
        return INT_MAX;
    default:
        return 0;
    }
}

/* A destination with fewer digits makes another value of what it gets, and says nothing.  With
 * `cast` a value is looked at when it comes (side_encode.c). */
static void fit_digits(struct fitting *f, const struct shape_column *source,
                       const struct shape_column *dest)
{
    const struct fit_wish_column *w = fit_wished(f, source->name);
    bool cast = w != NULL && w->cast != CELL_NULL;

    if (cast || (w != NULL && w->digits >= 0 && (!dest->has_scale || w->digits <= dest->scale)))
        return;
    if (dest->has_scale && fit_scale(source) > dest->scale)
        fit_problem(f,
                    "column %.*s: %.*s at the source has more digits behind the point than %.*s at "
                    "the destination keeps; change the column, or say round: { %.*s: %d } if they "
                    "do not matter",
                    SHAPE_NAME(source->name), SHAPE_NAME(source->native), SHAPE_NAME(dest->native),
                    SHAPE_NAME(source->name), dest->scale > 0 ? dest->scale : 0);
    else if (dest->single && source->natural == CELL_FLOAT && !source->single)
        fit_problem(f,
                    "column %.*s: %.*s at the source has more digits than %.*s at the destination "
                    "keeps; change the column, or say round: { %.*s: 3 } if they do not matter",
                    SHAPE_NAME(source->name), SHAPE_NAME(source->native), SHAPE_NAME(dest->native),
                    SHAPE_NAME(source->name));
}

static void fit_add(struct fitting *f, const struct shape_column *source,
                    const struct shape_column *dest, enum cell_type travels)
{
    const struct fit_wish_column *w = fit_wished(f, source->name);
    struct fit_column c = { .name = source->name,
                            .at = (size_t)(source - f->source->columns),
                            .travels = travels,
                            .digits = w != NULL ? w->digits : -1,
                            .padded = source->padded || dest->padded };

    f->of_source->columns[f->of_source->count++] = c;
    c.at = (size_t)(dest - f->dest->columns);
    f->of_dest->columns[f->of_dest->count++] = c;
}

static bool fit_is_known(struct fitting *f, const struct shape_column *c, const char *side)
{
    if (c->natural != CELL_NULL)
        return true;
    fit_problem(f, "column %.*s: %.*s at the %s is a type that is not replicated; %s",
                SHAPE_NAME(c->name), SHAPE_NAME(c->native), side,
                c->key_place > 0 ? "change the key" : "ignore the column or change it");
    return false;
}

/* Fits a column of the source that travels. */
static void fit_column_of(struct fitting *f, const struct shape_column *source, bool key)
{
    const struct shape_column *dest = shape_column(f->dest, source->name);
    enum cell_type travels;

    if (dest == NULL) {
        fit_problem(f, "column %.*s: the destination has no such column; add it there%s",
                    SHAPE_NAME(source->name), key ? "" : " or ignore it");
        return;
    }
    if (dest->generated) {
        fit_problem(f, "column %.*s: the destination computes it itself; %s",
                    SHAPE_NAME(source->name), key ? "change the key" : "ignore it");
        return;
    }
    bool known = fit_is_known(f, source, "source");

    if (!fit_is_known(f, dest, "destination") || !known)
        return;
    if (source->nullable && !dest->nullable && !key)
        fit_problem(f,
                    "column %.*s: it may be NULL at the source, but not at the destination; "
                    "change it on either side",
                    SHAPE_NAME(source->name));
    fit_digits(f, source, dest);
    if (fit_type(f, source, dest, key, &travels))
        fit_add(f, source, dest, travels);
}

/* ---- the key ---- */

static const struct shape_column *fit_key_at(const struct shape *s, size_t place)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->columns[i].key_place == (int)place)
            return &s->columns[i];
    return NULL;
}

static void fit_key_names(const struct shape *s, char *to, size_t size)
{
    size_t len = 0;

    to[0] = '\0';
    for (size_t i = 1; i <= s->key_count && len < size; i++) {
        const struct shape_column *c = fit_key_at(s, i);

        if (c != NULL)
            len += (size_t)snprintf(to + len, size - len, "%s%.*s", i > 1 ? ", " : "",
                                    STR_ARG(str_first(c->name, 40)));
    }
}

static bool fit_has_key(struct fitting *f, const struct shape *s, const char *side)
{
    bool whole = s->key_count > 0;

    for (size_t i = 1; i <= s->key_count; i++)
        whole = whole && fit_key_at(s, i) != NULL;
    if (!whole)
        fit_problem(
            f, "the table has no primary key at the %s; give it one, or leave the table out", side);
    if (s->key_count > SHAPE_KEY_MOST)
        fit_problem(f, "the primary key at the %s has %zu columns; at most %d are taken", side,
                    s->key_count, SHAPE_KEY_MOST);
    return whole && s->key_count <= SHAPE_KEY_MOST;
}

static bool fit_same_key(struct fitting *f)
{
    char source[300], dest[300];
    bool same = f->source->key_count == f->dest->key_count;

    for (size_t i = 1; same && i <= f->source->key_count; i++)
        same = str_eq(fit_key_at(f->source, i)->name, fit_key_at(f->dest, i)->name);
    if (same)
        return true;
    fit_key_names(f->source, source, sizeof source);
    fit_key_names(f->dest, dest, sizeof dest);
    fit_problem(f,
                "the primary key is (%s) at the source, (%s) at the destination; make them the "
                "same columns in the same order",
                source, dest);
    return false;
}

static void fit_check_bytewise(struct fitting *f, const struct shape_column *c, const char *side)
{
    if (c->natural == CELL_TEXT && !c->bytewise)
        fit_problem(f,
                    "column %.*s: text of a key must be compared byte by byte, and is not at the "
                    "%s; give it such a collation (\"C\", BINARY, utf8mb4_nopad_bin)",
                    SHAPE_NAME(c->name), side);
}

static void fit_key(struct fitting *f)
{
    bool has = fit_has_key(f, f->source, "source");

    if (!fit_has_key(f, f->dest, "destination") || !has || !fit_same_key(f))
        return;
    for (size_t i = 1; i <= f->source->key_count; i++) {
        const struct shape_column *c = fit_key_at(f->source, i);

        if (fit_ignored(f, c->name))
            fit_problem(f,
                        "column %.*s: it is in the primary key and cannot be ignored; take it "
                        "out of `ignore`",
                        SHAPE_NAME(c->name));
        if (c->generated)
            fit_problem(f,
                        "column %.*s: the source computes it, and it is in the primary key; "
                        "change the key",
                        SHAPE_NAME(c->name));
        fit_check_bytewise(f, c, "source");
        fit_check_bytewise(f, fit_key_at(f->dest, i), "destination");
        fit_column_of(f, c, true);
    }
    f->of_source->key_count = f->of_dest->key_count = f->source->key_count;
}

/* ---- the whole ---- */

static void fit_check_wishes(struct fitting *f)
{
    for (size_t i = 0; f->wish != NULL && i < f->wish->count; i++) {
        const struct fit_wish_column *w = &f->wish->columns[i];

        if (shape_column(f->source, w->name) == NULL &&
            (!w->ignore || shape_column(f->dest, w->name) == NULL))
            fit_problem(f,
                        "column %.*s: the link names it, but the source has no such column; take "
                        "it out of the link",
                        SHAPE_NAME(w->name));
    }
}

/* Columns of the destination that nobody fills. */
static void fit_check_left(struct fitting *f)
{
    for (size_t i = 0; i < f->dest->count; i++) {
        const struct shape_column *c = &f->dest->columns[i];
        const struct shape_column *source = shape_column(f->source, c->name);
        bool comes = source != NULL && !source->generated && !fit_ignored(f, c->name);

        if (comes || c->nullable || c->has_default || c->generated || c->key_place > 0)
            continue;
        fit_problem(f,
                    "column %.*s: the destination needs a value and gets none, as %s; give it a "
                    "default there or let it be NULL",
                    SHAPE_NAME(c->name),
                    source == NULL      ? "the source has no such column"
                    : source->generated ? "the source computes it itself"
                                        : "the link ignores it");
    }
}

static bool fit_check_size(struct fitting *f)
{
    if (f->source->count <= SHAPE_COLUMNS_MOST && f->dest->count <= SHAPE_COLUMNS_MOST)
        return true;
    fit_problem(f, "the table has more than %d columns; leave the table out", SHAPE_COLUMNS_MOST);
    return false;
}

static struct fit *fit_new(const struct shape *s, size_t columns, struct arena *a)
{
    struct fit *fit = ARENA_NEW(a, struct fit);

    fit->shape = s;
    fit->columns = ARENA_ARRAY(a, struct fit_column, columns + 1);
    return fit;
}

bool fit_make(const struct shape *source, const struct shape *dest, const struct fit_wish *wish,
              struct arena *a, struct fit **ret_source, struct fit **ret_dest, struct buf *problems)
{
    struct fitting f = {
        .source = source, .dest = dest, .wish = wish, .problems = problems, .fits = true
    };

    if (!fit_check_size(&f))
        return false;
    f.of_source = fit_new(source, source->count, a);
    f.of_dest = fit_new(dest, source->count, a);
    fit_check_wishes(&f);
    fit_key(&f);
    for (size_t i = 0; i < source->count; i++) {
        const struct shape_column *c = &source->columns[i];

        if (c->key_place == 0 && !c->generated && !fit_ignored(&f, c->name))
            fit_column_of(&f, c, false);
    }
    fit_check_left(&f);
    if (!f.fits)
        return false;
    *ret_source = f.of_source;
    *ret_dest = f.of_dest;
    return true;
}
