/* documents.h - documents in the admin API: Query.document, Query.documents, the fields of a
 * document, and what other resolvers share. */
#pragma once

#include "admin/api/parts.h"
#include "admin/graphql/graphql.h"
#include "store/search/document.h"

/* Makes the object of the type Document (a struct document_view).  listed: `d` comes from a list,
 * which has no timelines. */
bool api_show_document(struct graphql_call *call, const struct document *d, bool listed, void **ret,
                       struct err *err);

/* Conditions in addition to the argument `filter`. */
struct api_find {
    enum right right; /* whose scope limits the search */
    size_t first;
    bool live;        /* only documents that have not ended */
    unsigned states;  /* allowed states, as bits of enum document_state; 0: any */
    int64_t until_us; /* received before this; 0: any */
};

/* Adds matching documents (struct document_view) to the page, newest first, with numbers below
 * *io_below (0: from the newest).  A page may be short.  Sets *io_below to where the next page
 * begins; 0: there is none. */
bool api_find_documents(struct graphql_call *call, const struct api_find *find,
                        struct api_page *page, int64_t *io_below, struct err *err);
