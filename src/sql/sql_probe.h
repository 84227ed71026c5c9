/* sql_probe.h - the steps of a probe of a database (core/probing/probing.h): driver, connect, TLS,
 * login, database, the statements, rights, clock.
 *
 *     if (sql_probe_open(place, timeout_us, c, p, &s))
 *         ok = sql_probe_statements(&s, "query", remedy, list, 1, &result) &&
 *              sql_probe_rights(&s, false);
 *     sql_probe_close(&s, ok);
 *
 * No statement of the configuration is ever run: it is prepared, and explained.  A database that is
 * a file is not made by opening it.  Everything happens in a transaction that is rolled back.
 *
 * Threads: one that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/probing/probing.h"
#include "sql/sql_link.h"

enum sql_probe_family { SQL_PROBE_OTHER, SQL_PROBE_POSTGRES, SQL_PROBE_MARIADB, SQL_PROBE_SQLITE };

struct sql_probe {
    const struct sql_place *place;
    struct sql_link *link; /* NULL: it was not opened */
    struct probing *probing;
    enum sql_probe_family family;
    const char *untold; /* why the rights are not known; NULL: they are there */
};

/* False: a step has failed. */
bool sql_probe_open(const struct sql_place *place, int64_t timeout_us, struct call *c,
                    struct probing *p, struct sql_probe *ret);

struct sql_probe_text {
    struct str text; /* with a `?` for each value (sql_names.h) */
    size_t count;    /* of these */
};

/* Whether the database understands the statements, knows what they name, and lets us run them:
 * reports `step`, or `rights` as failed.  `remedy` is for the former.  *ret: the columns of the
 * rows of the last one; none, if it was not tried. */
bool sql_probe_statements(struct sql_probe *s, const char *step, const char *remedy,
                          const struct sql_probe_text *list, size_t n, struct sql_result *ret);
/* The rights of all statements before.  writes: they change something. */
bool sql_probe_rights(struct sql_probe *s, bool writes);

/* Asks the database something; value `column` of the first row, as far as there is room.  False: it
 * does not tell. */
bool sql_probe_ask(struct sql_probe *s, const char *query, const struct datum *values, size_t count,
                   size_t column, char *to, size_t size);

/* ok: the clock, too. */
void sql_probe_close(struct sql_probe *s, bool ok);
