/* shelf.h - databases that are open and wait for the next who needs them.
 *
 * A connection belongs to whoever took it until it is put back.  With it are the shapes of tables
 * that were described over it of late.  No more wait than the shelf has room for, and none for
 * longer than a minute after it was used last.
 *
 * Threads: any; a connection that was taken belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "link/link_spec.h"
#include "table/database.h"

struct call;
struct shelf;

struct shelf_database {
    struct shelf_database *next;
    const struct database_type *type;
    struct database *db;
    struct sha256 key;  /* of its address */
    int64_t used_us;    /* monotonic */
    struct arena arena; /* of the shapes */
    struct shelf_table {
        struct shelf_table *next;
        struct str at;
        struct shape *shape;
        int64_t described_us;
    } * tables;
};

struct shelf *shelf_new(void);
void shelf_free(struct shelf *s);

/* Open, and working for `call` until it is put back. */
bool shelf_take(struct shelf *s, const struct link_end *end, struct call *call,
                struct shelf_database **ret, struct err *err);
/* `good`: nothing failed, so it is kept. */
void shelf_put(struct shelf *s, struct shelf_database *d, bool good);
/* The shape of a table, described now or within the last minute. */
bool shelf_describe(struct shelf_database *d, struct str table, struct shape **ret,
                    struct err *err);
/* What was described is not believed any more. */
void shelf_forget(struct shelf_database *d);
