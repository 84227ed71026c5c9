/* sql_bind.h - the values of parameters, as a driver takes them. */
#pragma once

#include "sql/sql_odbc.h"

enum { BIND_SMALL = 32 };

/* A parameter while it is bound. */
struct bound {
    SQLLEN length;
    union {
        SQLBIGINT integer;
        SQL_TIMESTAMP_STRUCT timestamp;
        char text[BIND_SMALL];
    } room;
};

/* Binds value `n`, from 1.  `described`: the type that the database expects, 0: not known. */
bool bind_value(struct odbc *o, SQLUSMALLINT n, const struct datum *d, SQLSMALLINT described,
                struct bound *b, struct sql_failure *f);
