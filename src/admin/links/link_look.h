/* link_look.h - a table of a link as the admin API shows it, for the resolvers that look and those
 * that change.
 */
#pragma once

#include "admin/graphql/graphql.h"
#include "admin/view/link_view.h"

enum { LINK_TABLES_MOST = 2000 /* of all links, that are shown */ };

/* The jobs that replicate tables, with their states; table empty: any of the link.  Views are on
 * the arena, in order of link and table.  There is one at least: "there is no table TABLE of a link
 * LINK". */
bool link_look_some(struct graphql_call *call, struct str link, struct str table,
                    struct link_view **ret, size_t *ret_count, struct err *err);
/* The clock of the store. */
int64_t link_look_now(const struct graphql_call *call);
