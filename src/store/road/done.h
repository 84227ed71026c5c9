/* done.h - the tables of ended documents, one for each day on which they may be purged.
 *
 * A table is made with the first document that needs it, or ahead (done_keep_tables()).  The
 * existing tables are remembered in memory, so that ending a document needs no query.
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
/* At start.  SQLite: tables with documents above the index watermark `indexed` are recent. */
bool done_days_load(struct done_days *d, struct db *db, int64_t indexed, struct err *err);

/* The day on which a document that ends now may be purged (core/retain_rule.h). */
int64_t done_day(int64_t keep_days);
/* done_day() takes no earlier day than this one for today.  So a clock that goes back puts no
 * document into a table that was purged. */
void done_set_floor(int64_t today);
int64_t done_floor(void);

/* Makes the table of a day, with its indices. */
bool done_make(struct db *db, int64_t day, struct err *err);
/* Makes the table if it is not there. */
bool done_ready(struct writer *w, int64_t day, struct err *err);
/* After the commit: the table exists, and a document was put into it. */
void done_used(struct store *s, int64_t day);
/* After the commit: the table was dropped. */
void done_gone(struct store *s, int64_t day);

/* Tables that may hold documents above the index watermark (SQLite). */
size_t done_recent(struct store *s, int64_t days[static DONE_DAYS_MOST]);

/* Makes the tables for documents that end today or tomorrow; called now and then. */
bool done_keep_tables(struct store *s, int64_t keep_days, struct err *err);
/* Forgets tables that other nodes dropped (PostgreSQL); called now and then. */
bool done_refresh(struct store *s, struct err *err);
