/* file_diff.h - the difference between the files of two versions of the configuration. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/config_files.h"

/* A version, or what stands for one, with its files. */
struct file_side {
    const char *name;
    struct config_files files;
};

/* Appends what differs, file by file, as diff_text() writes it; of bytes that are no text only that
 * they differ. */
bool file_diff(const struct file_side *old, const struct file_side *new, struct buf *out,
               struct err *err);

/* It can be shown as a text. */
bool file_is_text(struct str bytes);
