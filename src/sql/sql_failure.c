#include "sql/sql_failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- what a driver said ---- */

/* The start of a SQLSTATE and what it means; the first that fits counts. */
static const struct {
    const char *state;
    enum sql_fault fault;
} states[] = {
    { "08", SQL_FAULT_LOST },         { "40003", SQL_FAULT_LOST },
    { "57P0", SQL_FAULT_LOST },       { "40", SQL_FAULT_LATER },
    { "53", SQL_FAULT_LATER },        { "55", SQL_FAULT_LATER },
    { "57", SQL_FAULT_LATER },        { "58", SQL_FAULT_LATER },
    { "25", SQL_FAULT_LATER },        { "HYT", SQL_FAULT_LATER },
    { "HY001", SQL_FAULT_LATER },     { "28", SQL_FAULT_LOGIN },
    { "42501", SQL_FAULT_LOGIN },     { "22", SQL_FAULT_STATEMENT },
    { "23", SQL_FAULT_STATEMENT },    { "42", SQL_FAULT_STATEMENT },
    { "21", SQL_FAULT_STATEMENT },    { "07", SQL_FAULT_STATEMENT },
    { "0A", SQL_FAULT_STATEMENT },    { "2", SQL_FAULT_STATEMENT },
    { "44", SQL_FAULT_STATEMENT },    { "54", SQL_FAULT_STATEMENT },
    { "P0", SQL_FAULT_STATEMENT },    { "34", SQL_FAULT_STATEMENT },
    { "3D", SQL_FAULT_STATEMENT },    { "3F", SQL_FAULT_STATEMENT },
    { "S0", SQL_FAULT_STATEMENT },    { "IM", SQL_FAULT_CONFIG },
    { "HY003", SQL_FAULT_STATEMENT }, { "HY004", SQL_FAULT_STATEMENT },
    { "HY09", SQL_FAULT_STATEMENT },  { "HY10", SQL_FAULT_STATEMENT },
};

/* MariaDB's numbers, whose states are HY000, or say less. */
static const struct {
    int32_t native;
    enum sql_fault fault;
} numbers[] = {
    { 1044, SQL_FAULT_LOGIN },     { 1045, SQL_FAULT_LOGIN }, /* this database, this user */
    { 1142, SQL_FAULT_LOGIN },     { 1143, SQL_FAULT_LOGIN }, /* a right on a table, a column */
    { 1227, SQL_FAULT_LOGIN },     { 1370, SQL_FAULT_LOGIN },     { 1020, SQL_FAULT_LATER },
    { 1021, SQL_FAULT_LATER },                                /* changed since; no space */
    { 1040, SQL_FAULT_LATER },     { 1114, SQL_FAULT_LATER }, /* connections; the table is full */
    { 1203, SQL_FAULT_LATER },     { 1205, SQL_FAULT_LATER },     { 1213, SQL_FAULT_LATER },
    { 1290, SQL_FAULT_LATER }, /* a deadlock; read only */
    { 1317, SQL_FAULT_LATER },     { 1969, SQL_FAULT_LATER },     { 1053, SQL_FAULT_LOST },
    { 1927, SQL_FAULT_LOST },      { 2006, SQL_FAULT_LOST },      { 2013, SQL_FAULT_LOST },
    { 2055, SQL_FAULT_LOST },      { 1153, SQL_FAULT_STATEMENT }, /* max_allowed_packet */
    { 1264, SQL_FAULT_STATEMENT }, { 1265, SQL_FAULT_STATEMENT }, { 1292, SQL_FAULT_STATEMENT },
    { 1364, SQL_FAULT_STATEMENT }, { 1366, SQL_FAULT_STATEMENT }, { 1406, SQL_FAULT_STATEMENT },
    { 1644, SQL_FAULT_STATEMENT }, { 3819, SQL_FAULT_STATEMENT }, { 4025, SQL_FAULT_STATEMENT },
};

static bool text_has(struct str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* SQLite's driver has HY000 for everything, and its result codes as numbers. */
static enum sql_fault sqlite_class(int32_t native)
{
    enum {
        FAULT = 1,
        PERM = 3,
        BUSY = 5,
        LOCKED = 6,
        NO_MEMORY = 7,
        READ_ONLY = 8,
        IO = 10,
        CORRUPT = 11,
        FULL = 13,
        CANNOT_OPEN = 14,
        TOO_BIG = 18,
        CONSTRAINT = 19,
        MISMATCH = 20,
        NO_DATABASE = 26
    };

    switch (native) {
    case FAULT:
    case TOO_BIG:
    case CONSTRAINT:
    case MISMATCH:
        return SQL_FAULT_STATEMENT;
    case PERM:
    case CANNOT_OPEN:
    case NO_DATABASE:
        return SQL_FAULT_LOST;
    default: /* BUSY, LOCKED, NO_MEMORY, READ_ONLY, IO, CORRUPT, FULL and what is unknown */
        return SQL_FAULT_LATER;
    }
}

/* Its texts end with the code: "UNIQUE constraint failed: t.id (19)". */
static bool is_sqlite(int32_t native, struct str text)
{
    char end[16];
    int n = snprintf(end, sizeof end, " (%d)", (int)native);

    return native > 0 && text.len > (size_t)n &&
           str_eq(str_from(text, text.len - (size_t)n), str_of(end));
}

/* Why a server did not let us in, for drivers that have one state for it. */
static bool is_login_text(struct str text)
{
    return text_has(text, "authentication failed") || text_has(text, "Access denied") ||
           text_has(text, "no pg_hba.conf entry") || text_has(text, "no password supplied") ||
           text_has(text, "Login failed") ||
           (text_has(text, "role \"") && text_has(text, "does not exist"));
}

enum sql_fault sql_failure_class(const char *state, int32_t native, struct str text, bool opening)
{
    if (opening && is_login_text(text))
        return SQL_FAULT_LOGIN;
    for (size_t i = 0; native != 0 && i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].native == native)
            return numbers[i].fault;
    if (!opening && strcmp(state, "HY000") == 0 && is_sqlite(native, text))
        return sqlite_class(native);
    if (strcmp(state, "HY000") == 0 &&
        (text_has(text, "server has gone away") || text_has(text, "Lost connection")))
        return SQL_FAULT_LOST;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strncmp(states[i].state, state, strlen(states[i].state)) == 0)
            return opening && states[i].fault != SQL_FAULT_LOGIN &&
                           states[i].fault != SQL_FAULT_CONFIG
                       ? SQL_FAULT_LOST
                       : states[i].fault;
    if (opening)
        return text_has(text, "Can't open lib") ? SQL_FAULT_CONFIG : SQL_FAULT_LOST;
    return SQL_FAULT_LATER; /* who is not sure tries again: a limited number of times */
}

/* ---- for the caller ---- */

bool sql_fail(struct sql_failure *f, enum sql_fault kind, const char *fmt, ...)
{
    char text[SQL_TEXT_MOST + 4];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct str all = str_first(str_of(text), SQL_TEXT_MOST - 1);

    *f = (struct sql_failure){ .kind = kind };
    for (size_t i = 0; i < all.len; i++) {
        unsigned char c = (unsigned char)all.ptr[i];

        f->text[i] = c < ' ' || c == 0x7f ? ' ' : all.ptr[i];
    }
    return false;
}

bool sql_failure_err(const struct sql_failure *f, struct err *err)
{
    enum err_kind kind = ERR_TRANSIENT;
    int sys = f->hung ? ETIMEDOUT : 0;

    if (f->kind == SQL_FAULT_STATEMENT)
        kind = ERR_PERMANENT;
    else if (f->kind == SQL_FAULT_LIMIT)
        kind = ERR_LIMIT;
    else if (f->kind == SQL_FAULT_CONFIG)
        kind = ERR_CONFIG;
    else if (f->kind == SQL_FAULT_DOUBT)
        kind = ERR_UNCERTAIN;
    else if (f->kind == SQL_FAULT_LOGIN)
        sys = EACCES;
    return err_set(err, kind, sys, "%s", f->text);
}
