/* extract.h - sender, receiver, type and attributes out of a document.
 *
 * The `extract:` of a gateway or a step is compiled once and run for each document.  Expressions
 * are tried in order, and the first with a value wins; a text that is empty after trimming is no
 * value.  One pass over the body serves all expressions of one kind (all XML paths at once, all
 * JSON pointers at once) and stops at the last answer: the rest is not checked.  Of duplicate JSON
 * members the first counts, as for XML elements.
 *
 * A body of another format gives no value, so that a list can try several formats.  Input is
 * hostile, so there are budgets: EXTRACT_BYTES_MOST of the body, depth 256, 10 000 000 steps, the
 * limits of core/regex.h.  A document that exhausts one is a failure, even if only an attribute was
 * asked for.  So is a value that is longer than FACTS_VALUE_MOST, has control characters or is not
 * UTF-8.  A document type declaration in XML is refused: no entities, nothing external.
 *
 *   extract_xml.c    paths over expat       extract_json.c   pointers over the raw bytes
 *   extract_csv.c    a column, first row    extract_regex.c  PCRE2
 *   extract_edi.c    HL7, X12, EDIFACT by path
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

/* `node` is a map with sender, receiver, type and attributes, each an expression or a list of them;
 * other keys are ignored.  Or it is a bare word (hl7 x12 edifact): the standard's own sender,
 * receiver and type.  The error names the expression.  `node` is not needed afterwards.  `relative`
 * as in core/expr.h. */
bool extractor_compile(const struct yaml_node *node, bool relative, struct extractor **ret,
                       struct err *err);
void extractor_free(struct extractor *x); /* NULL is fine */

/* The document says who sent it: what is found for `sender` is not always a `value:`. */
bool extractor_asks_sender(const struct extractor *x);
/* It looks for an attribute of that name, found or not. */
bool extractor_seeks(const struct extractor *x, struct str attribute);

struct extract_source {
    struct str body; /* only the first EXTRACT_BYTES_MOST bytes are read */
    bool whole;      /* `body` is the whole body */
    struct str head; /* header fields as stored: gateway/http_in.c keep_fields() */
    struct str name; /* the file's name; empty: none */
};

struct extract_failure {
    enum dead_code code; /* extract_failed or budget */
    char message[500];   /* field, reason and position in the body */
};

/* Fills in the values that were found, on the arena; ptr NULL: not found and not asked for.  A
 * field that was asked for and not found is a failure; a missing attribute is left out.  False: the
 * first failure is in *ret_failure; *ret has what the other fields gave, marked as partial.  After
 * a budget is exhausted no further pass over the body begins. */
bool extract_run(const struct extractor *x, const struct extract_source *source, struct arena *a,
                 struct facts *ret, struct extract_failure *ret_failure);
