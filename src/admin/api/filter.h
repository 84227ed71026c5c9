/* filter.h - converts DocumentFilter of the admin API to the filter of the store's search. */
#pragma once

#include "admin/graphql/graphql.h"
#include "core/rights.h"
#include "store/search/document.h"

struct engine;

struct api_wanted {
    struct document_filter f;
    enum document_state state; /* derived, so the store cannot filter by it; DOCUMENT_STATES: any */
    unsigned states;           /* allowed states, as bits; 0: any */
    bool nothing;              /* nothing can match */
};

/* Reads the argument `filter` and adds the scope of the right.  Texts and lists are in the arena of
 * the call. */
bool api_read_filter(struct graphql_call *call, enum right right, struct api_wanted *ret,
                     struct err *err);

/* Whether documents that the store finds must be checked with api_fits(). */
static inline bool api_is_picky(const struct api_wanted *w)
{
    return w->state != DOCUMENT_STATES || w->states != 0;
}

bool api_fits(struct engine *e, const struct api_wanted *w, const struct document *d,
              struct arena *a, bool *ret, struct err *err);
