/* done.h - the tables of ended documents, one for each day on which they may go.
 *
 * A table is made with the first document that needs it, or ahead (done_keep_tables()); which
 * ones are there is remembered, so that ending a document asks nobody.
 *
 * Threads: the writers, in an open transaction; done_keep_tables() any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/kernel/writer.h"

struct store;

enum { DONE_DAYS_MOST = 512 }; /* more than a year of days */

struct done_days *done_days_new(void);
void done_days_free(struct done_days *d);
/* At start.  On SQLite `indexed` tells which tables hold documents that are not indexed. */
bool done_days_load(struct done_days *d, struct db *db, int64_t indexed, struct err *err);

/* The day on which a document that ends now may go (core/retain_rule.h). */
int64_t done_day(int64_t keep_days);
/* A clock that goes back puts nothing into a table that is over: no day before this one is today.
 */
void done_set_floor(int64_t today);
int64_t done_floor(void);

/* The table of a day, with its indices. */
bool done_make(struct db *db, int64_t day, struct err *err);
/* Makes the table if it is not there. */
bool done_ready(struct writer *w, int64_t day, struct err *err);
/* After the commit: it is there, and a document was put into it. */
void done_used(struct store *s, int64_t day);
/* A table was dropped; after the commit. */
void done_gone(struct store *s, int64_t day);

/* Tables that may hold documents above the watermark of the index (SQLite). */
size_t done_recent(struct store *s, int64_t days[static DONE_DAYS_MOST]);

/* Make the tables of today and tomorrow ahead; now and then. */
bool done_keep_tables(struct store *s, int64_t keep_days, struct err *err);
/* Other nodes let go of tables, too: forget those that are gone (PostgreSQL); now and then. */
bool done_refresh(struct store *s, struct err *err);
