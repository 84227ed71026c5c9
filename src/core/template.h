/* template.h - texts with ${sender}, ${date}, ${id} and attributes in them.
 *
 *     ${id} ${delivery} ${sender} ${receiver} ${type} ${name} ${gateway} ${endpoint}
 *     ${date} 2026-11-15  ${time} 025210  ${timestamp} 20261115T025210Z   of the moment of
 *     accept, so that a replay gives the same text; any other word is an attribute
 *
 * ${delivery} is the id of the delivery, the same in every attempt; a text that is not made for a
 * delivery has none.
 *
 * A word that is not known of a document is an error when the text is made, never an empty
 * place.  ${env:} ${file:} ${secret:} are replaced before (settings.h).  The values of a
 * document come from outside: who makes a path or a header of the text checks that.
 *
 * Ownership: a template lives on the arena that was given, with a copy of its text.
 * Threads: never changed after it was made; may be used from many threads.
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
    bool url; /* the text is a URL: what is put in is written with %XX where it must be */
    int64_t received_us;
    const struct facts *facts;
};

/* The words that are no attributes, one by one; NULL behind the last one. */
const char *template_word_at(size_t n);

/* ERR_CONFIG: a reference is not closed or holds no name. */
bool template_compile(struct str text, struct arena *a, const struct template **ret,
                      struct err *err);
/* Appended to `to`; when it fails `to` is as it was.  ERR_PERMANENT: the document does not have
 * a word; ERR_LIMIT: the cap of `to`. */
bool template_render(const struct template *t, const struct template_values *v, struct buf *to,
                     struct err *err);
