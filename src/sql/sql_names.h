/* sql_names.h - the parameters of a statement, by name.
 *
 *     insert into orders (id, body) values (:id, :payload::jsonb)
 *
 * A `:name` outside of strings, quoted identifiers and comments becomes the `?` of ODBC.  Nothing
 * of a document is ever put into the text of a statement: values are bound.
 *
 * Pure: no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { SQL_STATEMENT_MOST = 64 << 10, SQL_PARAMETERS_MOST = 200, SQL_NAME_MOST = 64 };

struct sql_names {
    struct str text;         /* for the driver, terminated */
    const struct str *names; /* of each `?`, in order; a name may be there several times */
    size_t count;
};

/* On the arena.  ERR_CONFIG: what cannot be read for certain (a string without end, a `?`, a quote
 * behind a backslash) is refused, with the remedy. */
bool sql_names_parse(struct str statement, struct arena *a, struct sql_names *ret, struct err *err);
