/* template.h - texts with ${sender}, ${date}, ${id} and attributes in them.
 *
 *     ${id} ${delivery} ${sender} ${receiver} ${type} ${name} ${gateway} ${endpoint}
 *     ${date} 2026-11-15  ${time} 025210  ${timestamp} 20261115T025210Z
 *
 * Any other word is an attribute.  Date and time are those of accept, so that a replay gives the
 * same text.  ${delivery} is the id of the delivery, the same in every attempt; a text that is not
 * rendered for a delivery does not have it.
 *
 * A word that a document does not have is an error when the text is rendered, never an empty
 * string.  ${env:} ${file:} ${secret:} are replaced before (settings.h).  The values of a document
 * come from outside: a caller that uses the text as a path or a header must check it.
 *
 * Ownership: a template lives in the arena given to template_compile(), with a copy of its text.
 * Threads: immutable after template_compile(); may be shared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/facts.h"

struct template;

struct template_values {
    struct str id, delivery, name, gateway, endpoint;
    bool url;  /* the text is a URL: values are percent-encoded, and one of dots has no place in its
                * path, so that only the text of the template says where it leads */
    bool path; /* the text is the path of a file: a value with a `/`, or that begins with a dot, is
                * refused, so that only the text of the template makes folders */
    int64_t received_us;
    const struct facts *facts;
};

/* The n-th word that is not an attribute; NULL behind the last one. */
const char *template_word_at(size_t n);

/* ERR_CONFIG: a reference is not closed or has no name. */
bool template_compile(struct str text, struct arena *a, const struct template **ret,
                      struct err *err);
/* Appends to `to`, which is unchanged on failure.  ERR_PERMANENT: the document does not have a
 * word, or one that must not stand there; ERR_LIMIT: the cap of `to`. */
bool template_render(const struct template *t, const struct template_values *v, struct buf *to,
                     struct err *err);
