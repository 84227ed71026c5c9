/* filter.h - DocumentFilter of the admin API as what the store looks for. */
#pragma once

#include "admin/graphql/graphql.h"
#include "core/rights.h"
#include "store/search/document.h"

struct engine;

struct api_wanted {
    struct document_filter f;
    enum document_state state; /* derived, so the store cannot tell; DOCUMENT_STATES: any */
    unsigned states;           /* only of these, as bits; 0: any */
    bool nothing;              /* nothing can match */
};

/* The argument `filter`, within the scope of the right; what it needs hangs on the arena of the
 * call. */
bool api_read_filter(struct graphql_call *call, enum right right, struct api_wanted *ret,
                     struct err *err);

/* What the store finds is looked at once more. */
static inline bool api_is_picky(const struct api_wanted *w)
{
    return w->state != DOCUMENT_STATES || w->states != 0;
}

bool api_fits(struct engine *e, const struct api_wanted *w, const struct document *d,
              struct arena *a, bool *ret, struct err *err);
