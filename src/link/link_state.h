/* link_state.h - how far a table of a link is: the state that one run of its job leaves to the
 * next.
 *
 * The truth is the mark at the destination.  What is here is for people, and saves work: a place
 * that was reached without anything to write is in no mark.
 *
 * Format   JSON, with all keys of the table in link_state.c; what is not known is left alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "table/database.h"

enum link_stands { LINK_NEW, LINK_LOADING, LINK_CURRENT, LINK_BEHIND, LINK_STOPPED, LINK_STANDS };

/* Why it is stopped: until what the message says was done. */
enum link_reason {
    LINK_GOES,
    LINK_SCHEMA_DRIFT, /* the tables do not fit each other (any more) */
    LINK_SRC_REWOUND,  /* the source went back in time */
    LINK_TRUNCATED,    /* the table was emptied or made anew at the source */
    LINK_DELETES,      /* more rows would be removed than may be */
    LINK_TRIGGER,      /* changes are not captured */
    LINK_CREDENTIAL,   /* a database does not let us in */
    LINK_QUARANTINE,   /* too many rows are set aside */
    LINK_CLOCK,        /* the clocks of both sides do not agree */
    LINK_GROUP,        /* a transaction of the source cannot be written as a whole */
    LINK_REASONS
};

extern const char *const link_stands[LINK_STANDS];   /* "new", "loading", ... */
extern const char *const link_reasons[LINK_REASONS]; /* "", "SCHEMA_DRIFT", ... */

enum { LINK_MESSAGE_MOST = 600 };

struct link_state {
    enum link_stands stands;
    enum link_reason reason;
    char message[LINK_MESSAGE_MOST + 1]; /* of a stop; what is waited for; may be empty */
    int64_t since_us;                    /* it stands so */
    int64_t current_us;                  /* when it was current last; 0: never */

    /* Reached in the source, with nothing to write since the mark of so many batches. */
    int64_t batches;
    struct change_place reached; /* x 0: nothing */

    int64_t written, removed, bytes; /* rows so far */
    int64_t backlog;                 /* changes that wait, counted up to a limit */
    int64_t load_rows, load_total;   /* of a load: so far; about how many there are */
    int64_t set_aside;               /* rows in quarantine */
    int64_t conflicts;               /* rows that have lost against others so far */
    int64_t deletes;                 /* rows removed since it was current last, or loading began */
    int64_t fence;                   /* of the last run: the next one has a larger one */
    int64_t deletes_allowed;         /* a person said go on: no limit until it is current */
    int64_t rows_most;     /* of a batch, while others write the same rows; 0: as many as fit */
    int64_t clock_allowed; /* likewise, of clocks */
    /* Deletions below are known, where the mark has so many batches at least: loading began there.
     */
    int64_t known_x, known_batches;
    int64_t pruned_us;    /* when the journal was pruned last */
    int64_t prune_denied; /* the user of the source may not do that */
};

/* What so many of them are called in a message. */
static inline const char *link_rows(int64_t n)
{
    return n == 1 ? "row" : "rows";
}

/* An empty text: a new one.  ERR_PERMANENT: it cannot be read.  The key is in the arena. */
bool link_state_read(struct str text, struct arena *a, struct link_state *ret, struct err *err);
void link_state_write(const struct link_state *s, struct buf *to);

/* It stands so from now on; since_us stays where nothing changes. */
void link_state_stand(struct link_state *s, enum link_stands stands, int64_t now_us);
void link_state_stop(struct link_state *s, enum link_reason reason, int64_t now_us,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
