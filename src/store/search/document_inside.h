/* document_inside.h - rows of documents, for the files of store/ that look at them. */
#pragma once

#include "store/db/db.h"
#include "store/search/document.h"

enum { SLOTS_MOST = 512 }; /* tables of ended documents: more than a year of days */

/* The tables of ended documents that there are, the last day first. */
struct slots {
    int64_t days[SLOTS_MOST];
    size_t count;
};

bool document_slots(struct db *db, struct slots *ret, struct err *err);

/* A row, wherever it is; `slot` is the table to look in first, or below 0. */
bool document_by_num(struct db *db, const struct slots *slots, int64_t slot, int64_t num,
                     struct arena *a, struct document *ret, bool *ret_found, struct err *err);
