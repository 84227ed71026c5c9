/* document.h - reading documents, one by one and in lists.
 *
 * A document is found by its id, which contains its number.  Lists are newest first,
 * resume by number, and read a bounded number of rows: a page may be short and
 * still have a next one.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/facts.h"
#include "core/state.h"
#include "store/db/db.h"
#include "store/payload/payload.h"

struct store;

struct document {
    struct payload_source source; /* id, num, size, sha256, place */
    int64_t gateway, caller, config;
    int64_t received_us, updated_us;
    int64_t sender, receiver, type, route; /* name ids; 0: none */
    int64_t seq, child;           /* live documents: place in the order of acceptance (order.h) */
    int64_t again;                /* number of restarts */
    enum document_state is;       /* live documents: derived from the deliveries */
    struct str state;             /* the name of `is` */
    struct str name, ctype, head; /* in the arena; empty: none */
    struct str facts;             /* core/facts.h */
    struct str timeline;          /* core/timeline.h; empty in a list */
    struct str code, message;     /* the error of a live document; empty: none */
};

/* False with err->kind ERR_NONE: there is no such document. */
bool document_get(struct store *s, const struct id *id, struct arena *a, struct document *ret,
                  struct err *err);

/* The same by number. */
bool document_numbered(struct store *s, int64_t num, struct arena *a, struct document *ret,
                       bool *ret_found, struct err *err);

/* Reads the rows of several live documents at once, without what their deliveries tell: `is`,
 * `state`, `code`, `message` and `updated_us`. */
struct document_look {
    int64_t num;
    struct arena *arena; /* for its texts */

    bool found; /* the answer */
    struct document document;
};
bool document_find(struct store *s, struct document_look *looks, size_t count, struct err *err);

/* How far documents are, many in one trip to the database: enough to know whether it is worth
 * reading one. */
struct document_stand {
    int64_t num;

    /* The answer.  Not live: it has ended, or there is none; has_end: a delivery of it is over, or
     * it is a dead letter. */
    bool is_live, has_end;
};
bool document_stands(struct store *s, struct document_stand *stands, size_t count, struct err *err);

/* Documents whose sender or receiver is one of these systems. */
struct document_scope {
    const int64_t *systems; /* name ids */
    size_t count;
};

/* A NULL scope contains all documents. */
bool document_in_scope(const struct document_scope *scope, int64_t sender, int64_t receiver);

enum { DOCUMENT_WHERE_MOST = 16 };

struct document_filter {
    int64_t gateway, sender, receiver, type;          /* name ids; 0: any */
    struct str sender_name, receiver_name, type_name; /* names without a name id; empty: any */
    int64_t since_us, until_us;                       /* 0: any */
    int64_t size_least, size_below;                   /* 0: any */
    struct str state, name;                           /* empty: any; a name may end in * */
    struct str error;                       /* an error code, or a part of an error message */
    bool live;                              /* only live documents */
    int64_t parent;                         /* number of the parent document; 0: any */
    struct fact where[DOCUMENT_WHERE_MOST]; /* attributes that the document must have */
    size_t where_count;
    const struct document_scope *scope; /* NULL: any */
    const int64_t *nums;                /* only these numbers, in falling order; NULL: any */
    size_t num_count;
};

enum { DOCUMENTS_PAGE_MOST = 200 };

/* Up to `limit` documents with num below `below` (0: from the newest).  *ret_next is
 * the `below` of the next page, 0 at the end. */
bool document_list(struct store *s, const struct document_filter *f, int64_t below, size_t limit,
                   struct arena *a, struct document *ret, size_t *ret_count, int64_t *ret_next,
                   struct err *err);

/* Whether the gateway (name id) received something since then.  Where too many documents of others
 * would have to be searched, the answer is yes. */
bool document_received(struct store *s, int64_t gateway, int64_t since_us, bool *ret,
                       struct err *err);

/* Copies the texts to the arena, and leaves out the timeline. */
struct document document_copy(const struct document *d, struct arena *a);

/* ---- for the store itself ---- */

enum { SLOTS_MOST = 512 }; /* tables of ended documents: more than a year of days */

/* The tables of ended documents, the last day first. */
struct slots {
    int64_t days[SLOTS_MOST];
    size_t count;
};

bool document_slots(struct db *db, struct slots *ret, struct err *err);

/* Reads a row of @done@, an ended document (a rows_read of db/rows.h). */
void document_read_done(struct db_rows *row, struct arena *a, void *to);

/* A document, live or ended; `slot` is the table to try first, or below 0. */
bool document_by_num(struct db *db, const struct slots *slots, int64_t slot, int64_t num,
                     struct arena *a, struct document *ret, bool *ret_found, struct err *err);
