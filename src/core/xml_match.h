/* xml_match.h - which elements of a document a path names, as they begin one after the other.
 *
 * For each open element a bit set says which steps of the path its children may match; so `//` and
 * steps that match at several depths cost one bit each, and no element is visited twice. Attributes
 * are given as expat does: name, value, name, value, NULL.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/xml_path.h"

/* The attribute of exactly this name; else, if the name has no prefix, the first with this local
 * name.  NULL: there is none. */
const char *xml_match_attribute(const char **attributes, struct str name);

/* An element begins in one whose children may match the steps `may` (bit i: step i; 1 for the
 * outermost element).  Returns the steps that its own children may match; bit `count`: the element
 * matches the last step.  `seen` are the counters of its parent, one for each step that has [n], in
 * order; they are zero when the parent begins. */
uint64_t xml_match(const struct xml_step *steps, size_t count, uint64_t may, unsigned *seen,
                   struct str name, const char **attributes);
