/* json_text.h - texts and names of JSON as they stand in a document, and JSON Pointers.
 *
 * A raw text is what json_scan.h reports: validated, between its quotes, with its escapes.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* The raw text means `want`; `escapes`: it has some. */
bool json_text_is(struct str raw, bool escapes, struct str want);

/* A token of a JSON Pointer (RFC 6901) without its ~ escapes, on the arena. */
struct str json_pointer_token(struct str raw, struct arena *a);
/* It as the index of an array; -1: it is none. */
int64_t json_pointer_index(struct str token);
