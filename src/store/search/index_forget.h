/* index_forget.h - removes purged documents from the lists of the index (index.h; SQLite).
 *
 * Threads: the writer, in an open transaction.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/kernel/writer.h"

/* A purged document. */
struct gone {
    int64_t num, size, gateway, sender, receiver, type;
};

bool index_forget(struct writer *w, const struct gone *gone, size_t count, struct err *err);
