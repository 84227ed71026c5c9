/* system.h - the object behind the type System: its backlog and holds (hold.c), and its
 * configuration (system.c). */
#pragma once

#include "admin/api/parts.h"
#include "engine/watch/backlog.h"
#include "store/govern/hold.h"

/* All holds that have not ended, read once per query. */
struct api_holds {
    struct hold *list;
    size_t count;
};

struct shown_system {
    struct str name;
    int64_t word;
    const struct api_holds *holds;
    unsigned held;
    struct backlog_view waits;
    int64_t drained_us;
    bool fits_is_known, fits;

    /* From the configuration. */
    struct str title, rate;
    struct str *ids, *windows;
    size_t id_count, window_count;
    int64_t concurrency, changes_us, line;
    const char *order, *in_doubt;
    struct str broken;
    bool has_window, is_open;
};

bool api_read_holds(struct graphql_call *call, const struct api_holds **ret, struct err *err);
/* Fills in the backlog and the reasons to hold.  Before: set name and name id, and refresh the
 * backlog (backlog_look()). */
void api_see_system(struct graphql_call *call, const struct api_holds *holds,
                    struct shown_system *io);
/* Fills in the fields from the configuration. */
void api_describe_system(struct graphql_call *call, struct shown_system *io);

/* Makes the object of the type Hold. */
const void *api_show_hold(struct graphql_call *call, const struct hold *h);
