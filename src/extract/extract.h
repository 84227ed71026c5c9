/* extract.h - sender, receiver, type and attributes out of a document.
 *
 * The `extract:` of a gateway or a step is compiled once; then each document is asked.
 * Expressions are tried in their order, the first that yields something wins; a text that
 * is empty after trimming yields nothing.  One pass over the body serves all expressions of
 * one kind (all XML paths at once, all JSON pointers at once), and reads no further than
 * the last answer: what follows is not checked.  Of members that are there twice the first
 * counts, as it does for XML elements.
 *
 * A body that is not of the form that an expression asks for yields nothing, so that a list
 * can try another form.  Budgets, for input is hostile: EXTRACT_BYTES_MOST of the body,
 * depth 256, 10 000 000 steps, the limits of core/regex.h; a document that uses one up is a
 * failure, also when only an attribute was asked for.  So is a value that is longer than
 * FACTS_VALUE_MOST, has control characters or is not UTF-8.  A document type declaration in
 * XML is refused: no entities, no external anything.
 *
 *   extract_xml.c    paths over expat       extract_json.c   pointers over the raw bytes
 *   extract_csv.c    a column, first row    extract_regex.c  PCRE2
 *
 * Threads: a compiled extractor is never changed and may be used from many threads.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/facts.h"
#include "core/state.h"
#include "core/yaml.h"

enum { EXTRACT_BYTES_MOST = 4 << 20, EXTRACT_EXPRS_MOST = 256 };

struct extractor;

/* `node` is a map with sender, receiver, type and attributes, each an expression or a list
 * of them; other keys are passed over.  Or it is a bare word (hl7 x12 edifact: ERR_CONFIG,
 * for those are not built yet).  The error says what is wrong with which expression; the
 * extractor does not need `node` afterwards.  `relative` as in core/expr.h. */
bool extractor_compile(const struct yaml_node *node, bool relative, struct extractor **ret,
                       struct err *err);
void extractor_free(struct extractor *x); /* NULL is fine */

struct extract_source {
    struct str body; /* of it the first EXTRACT_BYTES_MOST bytes are looked at */
    bool whole;      /* that is all of it */
    struct str head; /* as stored with the document: see gateway/http_in.c keep_fields() */
    struct str name; /* of the file; empty: none */
};

struct extract_failure {
    enum dead_code code; /* extract_failed or budget */
    char message[500];   /* which field, and why, with the position in the body */
};

/* Fill in the texts of `ret` that were found (ptr NULL: nothing was found and nothing was
 * asked for); on the arena.  A field that was asked for and not found is a failure, an
 * attribute that is not found is left out. */
bool extract_run(const struct extractor *x, const struct extract_source *source, struct arena *a,
                 struct facts *ret, struct extract_failure *ret_failure);
