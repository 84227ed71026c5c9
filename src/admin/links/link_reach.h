/* link_reach.h - the settings of a table of a link as this node has them, and its two databases,
 * opened for one request.
 *
 * Threads: those of the API; blocks on the databases, each call of which ends after
 * LINK_REACH_SILENT_US without an answer.  At most LINK_REACH_MOST requests have databases open at
 * the same time on a node.
 */
#pragma once

#include "admin/graphql/graphql.h"
#include "core/settings.h"
#include "link/link_sides.h"
#include "link/link_spec.h"

struct config;
struct engine;

enum { LINK_REACH_MOST = 2 };

#define LINK_REACH_SILENT_US (10 * CLOCK_S)

/* What settings of the configuration need beside their node. */
struct settings link_reach_settings(struct engine *e, const struct config *c, struct arena *a);

/* The databases of a table of a link, by their names; empty: it is not in the version in force. */
void link_reach_names(struct graphql_call *call, struct str link, struct str table,
                      struct str *ret_from, struct str *ret_to);
/* The tables of a link of the version in force, or with `table` that one; on the arena of the
 * request.  ERR_PERMANENT: there is none, or a setting is missing. */
bool link_reach_specs(struct graphql_call *call, struct str link, struct str table,
                      struct link_spec **ret, size_t *ret_count, struct err *err);

/* From here on until link_reach_leave() databases are open.  ERR_LIMIT: too many are. */
bool link_reach_enter(struct err *err);
void link_reach_leave(void);

struct link_reach {
    struct link_kept kept;
    struct link_sides *sides;
    int64_t from_us;
};

/* Both sides of a table.  With an error nothing is to be closed. */
bool link_reach_open(struct graphql_call *call, struct str link, struct str table,
                     struct link_reach *ret, struct err *err);
void link_reach_close(struct graphql_call *call, struct link_reach *r);
