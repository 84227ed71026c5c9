/* schema_check.h - a document against a schema.
 *
 * Walks document and schema with a stack of its own, so that neither can exhaust that of the
 * process.  Stops at the first rule that is broken.
 *
 * Which members and items are evaluated, for `unevaluated...`, is kept as marks, one bit for each,
 * by the subschemas that need them and by those that check the same value for them.
 *
 * Bounded: a depth of SCHEMA_DEPTH_MOST subschemas, and `work_most` units of work, each about the
 * cost of one rule of one value.
 */
#pragma once

#include "core/service.h"
#include "service/schema/schema.h"

enum { SCHEMA_DEPTH_MOST = 100 * 1000 };

/* The document is one JSON value.  False: it is not (service_failed), it breaks a rule
 * (service_failed: its place in the document, and that of the rule), or a limit was reached
 * (budget, limit).  The message begins with the place. */
bool schema_check(const struct schema *s, struct str document, int64_t work_most,
                  struct service_failure *ret_failure);
