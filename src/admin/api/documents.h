/* documents.h - documents of the admin API: Query.document, Query.documents, and what a
 * document shows; and what other resolvers need of them. */
#pragma once

#include "admin/api/parts.h"
#include "admin/graphql/graphql.h"
#include "store/search/document.h"

/* The document as an object of the answer. */
bool api_show_document(struct graphql_call *call, const struct document *d, bool listed, void **ret,
                       struct err *err);

/* What is asked beside the argument `filter`. */
struct api_find {
    enum right right; /* in its scope */
    size_t first;
    bool live;        /* only those that are not over */
    unsigned states;  /* of these, as bits of document_state; 0: any */
    int64_t until_us; /* received before; 0: any */
};

/* Adds to the page what matches (items are struct document_view), newest first, below *io_below (0:
 * from the newest); a page may be short.  *io_below is then where it goes on, 0 at the end. */
bool api_find_documents(struct graphql_call *call, const struct api_find *find,
                        struct api_page *page, int64_t *io_below, struct err *err);
