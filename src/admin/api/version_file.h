/* version_file.h - files of configuration versions in the API. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/config_files.h"

struct graphql_call;

/* The argument `files`: what the caller sent along. */
bool api_config_files(struct graphql_call *call, struct config_files *ret, struct err *err);

/* A version, or what stands for one, with its files. */
struct file_side {
    const char *name;
    struct config_files files;
};

/* Appends what differs, as diff_text() does for each file. */
bool api_files_diff(const struct file_side *old, const struct file_side *new, struct buf *out,
                    struct err *err);

/* Answers a list of ConfigFile. */
bool api_set_version_files(struct graphql_call *call, int64_t version, struct err *err);
