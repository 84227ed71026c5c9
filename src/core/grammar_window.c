/* grammar_window.c - the key `window` of jobs, and of rules of links: as that of a system, but for
 * the zone. */
#include "core/grammar.h"

const struct option grammar_window[] = {
    OPTION("days", OPT_DAYS, "on which days it opens", .flags = OPT_OR_LIST, .fallback = "daily"),
    OPTION("open", OPT_TIME, "when it opens", .fallback = "00:00"),
    OPTION("close", OPT_TIME, "when it closes; before `open`: on the next day",
           .fallback = "24:00"),
    OPTION("zone", OPT_ZONE, "the time zone of both; left out: that of the job or rule"),
    OPTION("holidays", OPT_CALENDAR, "on these days it does not open", .flags = OPT_OR_LIST),
    { 0 },
};

const struct option grammar_window_each = {
    .type = OPT_MAP,
    .keys = grammar_window,
    .noun = "window",
};
