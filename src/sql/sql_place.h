/* sql_place.h - which database a connector is configured with: the key `dsn`.
 *
 *     Driver={PostgreSQL Unicode};Server=db;Port=5432;Database=orders;UID=hub;PWD=...
 *     Driver=MariaDB Unicode;Server=db;Database=orders;UID=hub;PWD=...
 *     Driver=SQLite3;Database=/srv/exchange/orders.db
 *
 * A connection string can name libraries and files, and a driver does what it says.  So it is taken
 * apart here, and only keys of a list are passed on; a driver is one that is installed under a
 * name, never a path.  What the driver gets is written anew, with every value in braces.
 *
 * Threads: read while a plan is built; then nothing is changed.
 */
#pragma once

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "core/option.h"
#include "core/settings.h"

enum { SQL_PLACE_MOST = 8192, SQL_PORTS_MOST = 4 };

struct sql_place {
    struct str connect; /* what the driver gets; it has the password in it */
    struct str driver;  /* its installed name */
    struct str server;  /* for people and for base/egress.h; empty: a file, or the driver's own */
    uint16_t port;      /* 0: the driver's usual one */
    struct str file;    /* the database is this file; empty: it is a server */
    bool tls;           /* the connection is to have it */
    struct str ca;      /* a file with the certificates of authorities; empty: none */
    int64_t connect_us;
    struct sha256 key; /* of everything that a connection is opened with (core/line/line.h) */
};

/* The keys `dsn` and connect_timeout, if the settings have it.  A text of an error never has a
 * value of `dsn` in it but the name of a driver. */
bool sql_place_read(const struct settings *s, struct sql_place *ret, struct err *err);
/* The same from a text, on the arena. */
bool sql_place_parse(struct str dsn, struct arena *a, struct sql_place *ret, struct err *err);
/* For `check` of an option_kind that has the key `dsn`. */
void sql_place_check(const struct yaml_node *map, struct problem_list *problems);
