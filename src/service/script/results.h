/* results.h - what a script gives: none, one or many documents.
 *
 * Results are kept until the script has ended, and only then given on, so that a document whose
 * script fails makes no part.  Without `many` a second result is a failure.
 *
 * Ownership: results own their bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/service.h"

enum { SCRIPT_RESULTS_MOST = 100000 }; /* of one document */

struct script_results {
    const char *step; /* its name, for messages */
    bool many;
    struct buf bytes; /* one result behind the other */
    size_t *ends;
    size_t count, room;
};

#define SCRIPT_RESULTS_INIT(step_, many_)                                               \
    {                                                                                   \
        .step = (step_), .many = (many_), .bytes = BUF_INIT((size_t)SERVICE_BYTES_MOST) \
    }

void script_results_done(struct script_results *r);
/* Adds one more result.  False: there may be no more, and the failure says why. */
bool script_results_add(struct script_results *r, struct str result,
                        struct service_failure *ret_failure);
/* Gives all of them on: none, one, or with `many` each as a part. */
bool script_results_give(const struct script_results *r, struct service_io *io,
                         struct service_failure *ret_failure);

/* The text of a script: the option `key`, or the content of `file`.  ERR_CONFIG: neither is there,
 * or it has a NUL byte. */
bool script_text(const struct settings *s, const char *key, struct str *ret, struct err *err);
/* A message of a script or a library as one line: control characters and bytes that are not UTF-8
 * become blanks, the end is trimmed. */
void script_line(struct buf *to, struct str message);
