/* csv_records.h - the rows of a CSV file as records: a key and a JSON object of texts.
 *
 * The first row has the names of the columns.  The file is read piece by piece and never held whole
 * in memory; it is read twice, so that a mistake in its last row is found before the first record
 * is given.
 *
 * Threads: the main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct csv_records {
    const char *path;
    const char *key; /* name of the column; NULL: the first one */
    /* Called for each row, in order; false: stop, with the error set. */
    bool (*give)(void *arg, struct str key, struct str value, struct err *err);
    void *arg;
    int64_t count; /* the answer: rows of the file */
};

/* ERR_PERMANENT: the file is not like that; the text says which row, and why. */
bool csv_records_check(struct csv_records *c, struct err *err);
/* After that: calls give(). */
bool csv_records_give(struct csv_records *c, struct err *err);
