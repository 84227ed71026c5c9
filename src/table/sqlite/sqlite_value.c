/* sqlite_value.c - values of SQLite as cells, and back.
 *
 * A column of SQLite takes values of any kind; its declared type says what is meant.  A value is
 * read as what it is and brought into the type that is meant, where that loses nothing: else it is
 * given as it is, and whoever reads it refuses it for that row.
 *
 *     INT BOOL  INTEGER                       FLOAT      REAL; NaN, which SQLite has not, as text
 *     TEXT      TEXT                          BYTES      BLOB
 *     DEC       INTEGER or REAL, where that is the same number; in a column of text (`decimal
 *               text`) as text.  A number in a column of affinity NUMERIC loses digits behind the
 *               fifteenth: what would is refused
 *     JSON      TEXT, and as DEC if it is a number       UUID and times  TEXT
 *
 * A REAL is the decimal number with the fewest digits that is read as the same REAL.  Numbers in
 * columns of times are not times: they may be seconds or days.
 *
 * A key is looked up by what is written for it.  So a value in a key that was written in another
 * way (a date with a blank where we write a T) is an error of the whole table.
 */
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "table/cell_dec.h"
#include "table/sqlite/sqlite_database.h"

/* ---- types ---- */

static bool declared_has(struct str declared, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= declared.len; i++)
        if (str_eq_nocase(str_mem(declared.ptr + i, n), str_of(word)))
            return true;
    return false;
}

/* As "Determination Of Column Affinity" of SQLite's documentation has it. */
static enum sqlite_affinity declared_affinity(struct str declared)
{
    if (declared_has(declared, "INT"))
        return SQLITE_WHOLE;
    if (declared_has(declared, "CHAR") || declared_has(declared, "CLOB") ||
        declared_has(declared, "TEXT"))
        return SQLITE_TEXTUAL;
    if (declared.len == 0 || declared_has(declared, "BLOB"))
        return SQLITE_AS_IS;
    if (declared_has(declared, "REAL") || declared_has(declared, "FLOA") ||
        declared_has(declared, "DOUB"))
        return SQLITE_FLOATS;
    return SQLITE_NUMERICAL;
}

static const struct declared_word {
    const char *word;
    enum cell_type type;
} declared_words[] = {
    { "BOOLEAN", CELL_BOOL },
    { "BOOL", CELL_BOOL },
    { "UUID", CELL_UUID },
    { "GUID", CELL_UUID },
    { "JSON", CELL_JSON },
    { "JSONB", CELL_JSON },
    { "DATETIME", CELL_LOCAL },
    { "TIMESTAMP", CELL_LOCAL },
    { "TIMESTAMPTZ", CELL_INSTANT },
    { "DATETIMEOFFSET", CELL_INSTANT },
    { "DATE", CELL_DATE },
    { "TIME", CELL_TIME },
    { "NUMERIC", CELL_DEC },
    { "DECIMAL", CELL_DEC },
    { "DEC", CELL_DEC },
    { "NUMBER", CELL_DEC },
    { "MONEY", CELL_DEC },
    { "BINARY", CELL_BYTES },
    { "VARBINARY", CELL_BYTES },
    { "BYTEA", CELL_BYTES },
};

enum cell_type sqlite_natural(struct str declared, enum sqlite_affinity *ret)
{
    size_t n = 0;

    *ret = declared_affinity(declared);
    while (n < declared.len && declared.ptr[n] != ' ' && declared.ptr[n] != '(')
        n++;
    for (size_t i = 0; i < sizeof declared_words / sizeof *declared_words; i++) {
        const struct declared_word *w = &declared_words[i];

        if (!str_eq_nocase(str_mem(declared.ptr, n), str_of(w->word)))
            continue;
        return w->type == CELL_LOCAL && declared_has(declared, "WITH TIME ZONE") ? CELL_INSTANT
                                                                                 : w->type;
    }
    switch (*ret) {
    case SQLITE_WHOLE:
        return CELL_INT;
    case SQLITE_TEXTUAL:
        return CELL_TEXT;
    case SQLITE_FLOATS:
        return CELL_FLOAT;
    case SQLITE_AS_IS:
        return declared.len > 0 ? CELL_BYTES : CELL_NULL;
    default: /* SQLite would take texts for numbers in it */
        return CELL_NULL;
    }
}

/* ---- numbers ---- */

/* A decimal number in its one form as what a column of numbers keeps of it. */
static bool decimal_kept(struct str dec, bool *ret_whole, int64_t *ret_int, double *ret_real)
{
    *ret_whole = str_to_i64(dec, ret_int);
    return *ret_whole || (cell_dec_to_double(dec, ret_real) && isfinite(*ret_real));
}

static bool decimal_is_number(struct str s)
{
    bool digits = false;

    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] >= '0' && s.ptr[i] <= '9')
            digits = true;
        else if (s.ptr[i] != '.' && s.ptr[i] != '-')
            return false;
    }
    return digits;
}

/* ---- reading ---- */

static struct cell sqlite_real(sqlite3_stmt *stmt, int at, enum cell_type natural, struct arena *a)
{
    double f = sqlite3_column_double(stmt, at);
    char text[CELL_DEC_DOUBLE_MOST];

    if (natural == CELL_FLOAT || !isfinite(f))
        return (struct cell){ .type = CELL_FLOAT, .f = f };
    struct str dec = arena_copy(a, str_mem(text, cell_dec_of_double(f, text)));

    switch (natural) {
    case CELL_DEC:
    case CELL_JSON:
        return (struct cell){ .type = natural, .s = dec };
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_DATE:
    case CELL_TIME:
        return (struct cell){ .type = CELL_TEXT, .s = dec };
    default:
        return (struct cell){ .type = CELL_FLOAT, .f = f };
    }
}

static struct cell sqlite_whole(sqlite3_stmt *stmt, int at, enum cell_type natural, struct arena *a)
{
    int64_t i = sqlite3_column_int64(stmt, at);
    struct str dec = str_of("");

    if (natural != CELL_INT && natural != CELL_BOOL && natural != CELL_FLOAT)
        dec = str_of(arena_printf(a, "%lld", (long long)i));
    switch (natural) {
    case CELL_BOOL:
        return (struct cell){ .type = i == 0 || i == 1 ? CELL_BOOL : CELL_INT, .i = i };
    case CELL_DEC:
    case CELL_JSON:
        return (struct cell){ .type = natural, .s = dec };
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_DATE:
    case CELL_TIME:
        return (struct cell){ .type = CELL_TEXT, .s = dec };
    case CELL_FLOAT:
        if (i >= -(1LL << 53) && i <= 1LL << 53)
            return (struct cell){ .type = CELL_FLOAT, .f = (double)i };
        return (struct cell){ .type = CELL_INT, .i = i };
    default:
        return (struct cell){ .type = CELL_INT, .i = i };
    }
}

/* In the type that is meant, if it has a form there. */
static struct cell sqlite_text(struct str text, enum cell_type natural, struct arena *a)
{
    struct cell raw = { .type = CELL_TEXT, .s = text }, meant;
    struct err why = { 0 };

    if (!str_is_utf8(text) || memchr(text.ptr, '\0', text.len) != NULL)
        raw.type = CELL_BYTES;
    if (raw.type == natural || natural == CELL_BYTES)
        return raw;
    /* JSON may need much more room than its text: of many in a row the last ones stay text. */
    if (a->used > SQLITE_CELLS / 2)
        return raw;
    if (natural == CELL_FLOAT && !str_is(text, "NaN")) /* SQLite would have made it a number */
        return raw;
    return cell_cast(&raw, natural, a, &meant, &why) ? meant : raw;
}

static struct cell sqlite_bytes(struct str bytes, enum cell_type natural, struct arena *a)
{
    struct cell raw = { .type = CELL_BYTES, .s = bytes }, meant;
    struct err why = { 0 };

    if (natural == CELL_UUID && cell_cast(&raw, natural, a, &meant, &why))
        return meant;
    return raw;
}

/* What is written for the value of a key is what is there. */
static bool sqlite_is_as_written(sqlite3_stmt *stmt, int at, const struct shape_column *column,
                                 const struct cell *cell, struct arena *a)
{
    struct cell text;
    struct err why = { 0 };
    int type = sqlite3_column_type(stmt, at);

    if (cell->type != column->natural)
        return false;
    switch (cell->type) {
    case CELL_INT:
    case CELL_BOOL:
        return type == SQLITE_INTEGER;
    case CELL_BYTES:
        return type == SQLITE_BLOB;
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_DATE:
    case CELL_TIME:
    case CELL_UUID:
        return type == SQLITE_TEXT && cell_cast(cell, CELL_TEXT, a, &text, &why) &&
               str_eq(text.s, sqlite_text_at(stmt, at));
    default:
        return true;
    }
}

bool sqlite_read(struct sqlite_database *d, sqlite3_stmt *stmt, int at,
                 const struct shape_column *column, struct cell *ret, struct err *err)
{
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_NULL:
        *ret = (struct cell){ .type = CELL_NULL };
        return true;
    case SQLITE_INTEGER:
        *ret = sqlite_whole(stmt, at, column->natural, &d->row);
        break;
    case SQLITE_FLOAT:
        *ret = sqlite_real(stmt, at, column->natural, &d->row);
        break;
    case SQLITE_TEXT:
        *ret = sqlite_text(sqlite_text_at(stmt, at), column->natural, &d->row);
        break;
    default:
        *ret = sqlite_bytes(sqlite_text_at(stmt, at), column->natural, &d->row);
    }
    if (column->key_place > 0 && !sqlite_is_as_written(stmt, at, column, ret, &d->row))
        return err_set(err, ERR_PERMANENT, 0,
                       "a key in column %.*s is not written as we would write it as %s",
                       STR_ARG(str_first(column->name, 60)), cell_types[column->natural]);
    return true;
}

/* ---- writing ---- */

static bool bind_real(struct sqlite_database *d, sqlite3_stmt *stmt, int at, double f,
                      struct err *err)
{
    if (isnan(f)) /* as a REAL it would be NULL */
        return sqlite_bind_text(d, stmt, at, STR("NaN"), err);
    int rc = sqlite3_bind_double(stmt, at, f);

    return rc == SQLITE_OK ? true : sqlite_fail(d, rc, "a value", err);
}

/* What the column would take for a number. */
static bool bind_number(struct sqlite_database *d, sqlite3_stmt *stmt, int at,
                        const struct shape_column *column, struct str dec, struct err *err)
{
    bool whole;
    int64_t i;
    double f;

    if (!decimal_kept(dec, &whole, &i, &f))
        return err_set(err, ERR_PERMANENT, 0,
                       "column %.*s: %.*s does not keep all digits of the number; as `decimal "
                       "text` it would",
                       STR_ARG(str_first(column->name, 60)),
                       STR_ARG(str_first(column->native, 30)));
    if (!whole)
        return bind_real(d, stmt, at, f, err);
    sqlite_bind_int(stmt, at, i);
    return true;
}

bool sqlite_bind(struct sqlite_database *d, sqlite3_stmt *stmt, int at,
                 const struct shape_column *column, const struct cell *cell, struct err *err)
{
    bool numbers = column->detail != SQLITE_TEXTUAL && column->detail != SQLITE_AS_IS;
    struct cell text;
    int rc;

    switch (cell->type) {
    case CELL_NULL:
        rc = sqlite3_bind_null(stmt, at);
        return rc == SQLITE_OK ? true : sqlite_fail(d, rc, "a value", err);
    case CELL_INT:
    case CELL_BOOL:
        sqlite_bind_int(stmt, at, cell->i);
        return true;
    case CELL_FLOAT:
        return bind_real(d, stmt, at, cell->f, err);
    case CELL_BYTES:
        return sqlite_bind_bytes(d, stmt, at, cell->s, err);
    case CELL_TEXT:
        return sqlite_bind_text(d, stmt, at, cell->s, err);
    case CELL_DEC:
    case CELL_JSON:
        return numbers && decimal_is_number(cell->s)
                   ? bind_number(d, stmt, at, column, cell->s, err)
                   : sqlite_bind_text(d, stmt, at, cell->s, err);
    default:
        return cell_cast(cell, CELL_TEXT, &d->row, &text, err) &&
               sqlite_bind_text(d, stmt, at, text.s, err);
    }
}
