/* shelf.h - connections to databases and to other locations, which wait for the next who needs one.
 *
 * A connection belongs to whoever took it until it is put back.  With it are the shapes of tables
 * that were described over it of late.  No more wait than the shelf has room for, however many
 * tables there are, and none for longer than a minute after it was used last.
 *
 * Threads: any; a connection that was taken belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "link/link_spec.h"
#include "table/side.h"

struct call;
struct shelf;

struct shelf_side {
    struct shelf_side *next;
    struct side side;   /* open, and of no table */
    struct sha256 key;  /* of its address */
    const void *user;   /* who had it last */
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

/* The shelf of all tables of links in this process, which lives as long as somebody has it. */
struct shelf *shelf_common(void);
void shelf_common_end(struct shelf *s);

/* Open, and working for `call` until it is put back; the one that this user had before, if it is
 * still there: it knows the user's statements. */
bool shelf_take(struct shelf *s, const struct link_end *end, const void *user, struct call *call,
                struct shelf_side **ret, struct err *err);
/* `good`: nothing failed, so it is kept.  NULL is fine. */
void shelf_put(struct shelf *s, struct shelf_side *d, bool good);
/* The shape of a table, described now or within the last minute. */
bool shelf_describe(struct shelf_side *d, struct str table, struct shape **ret, struct err *err);
/* What was described is not believed any more. */
void shelf_forget(struct shelf_side *d);
