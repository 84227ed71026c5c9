/* system.h - a system as it is shown: what waits for it and why (api_hold.c), and what the
 * configuration says of it (api_system.c). */
#pragma once

#include "admin/api/parts.h"
#include "engine/watch/backlog.h"
#include "store/govern/hold.h"

/* Holds that have not ended, read once for one question. */
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

    /* Of the configuration. */
    struct str title, rate;
    struct str *ids, *windows;
    size_t id_count, window_count;
    int64_t concurrency, changes_us, line;
    const char *order, *in_doubt;
    struct str broken;
    bool has_window, is_open;
};

bool api_read_holds(struct graphql_call *call, const struct api_holds **ret, struct err *err);
/* Name and word are set; the backlog was looked at.  Fills what waits, and why. */
void api_see_system(struct graphql_call *call, const struct api_holds *holds,
                    struct shown_system *io);
/* Fills what the configuration says. */
void api_describe_system(struct graphql_call *call, struct shown_system *io);

/* Hold: one of them as it is shown. */
const void *api_show_hold(struct graphql_call *call, const struct hold *h);
