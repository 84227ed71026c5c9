/* set_record.h - records of sets: the last value that documents brought for a key.
 *
 * A step reads the record of a set and key, goes on with the previous and the new value, and the
 * settlement of its run writes the new one (settle.h: `records`).  Between the two another run may
 * have written: then nothing of the settlement is done, it is `overtaken`, its claim stays, and
 * the run is repeated.  So the pairs of previous and new values of a key form a chain without a
 * gap, and each stands in the commit that stores what follows from it.  A run must therefore not
 * send anything before that commit: its deliveries are stored as ready.
 *
 * Bounded: SET_RECORD_KEY_MOST, SET_RECORD_VALUE_MOST, SET_RECORDS_MOST of one settlement.
 *
 * Threads: reading any that may block; set_records_write() the writers, in an open transaction.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct settle_op;
struct store;
struct writer;

enum { SET_RECORD_KEY_MOST = 1024, SET_RECORD_VALUE_MOST = 1 << 20, SET_RECORDS_MOST = 32 };

struct set_record {
    struct str value;
    int64_t version; /* 0: there is none */
    int64_t doc;     /* the number of the document that it is from; 0: none */
    int64_t updated_us;
    struct str previous;         /* the value before; ptr NULL: there was none */
    int64_t gateway, seq, child; /* the place of its document in the order (order.h); seq 0: none */
};

/* A record to be written. */
struct set_write {
    int64_t set; /* name id, NAME_SET */
    struct str key, value;
    int64_t version;     /* the one that was read; 0: there was none ... */
    struct str previous; /* ... and its value; ptr NULL: none */
    bool stays;          /* the value is the same: only the place of the document is written */
};

/* version 0: there is none. */
bool set_record_get(struct store *s, int64_t set, struct str key, struct arena *a,
                    struct set_record *ret, struct err *err);

/* For settlements: writes the records of an operation whose claim holds, all or none; *ret_done
 * false: it was overtaken. */
bool set_records_write(struct writer *w, const struct settle_op *o, bool *ret_done,
                       struct err *err);
