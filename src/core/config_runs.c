#include <stdio.h>

#include "core/config.h"

/* What this build runs.  Whoever builds a part adds or flips its line. */
const struct config_run config_runs_build[] = {
    { "node", true },
    { "location", true },
    { "systems", true },
    { "system", true },
    { "calendars", true },
    { "alerts", true },
    { "types", true },
    { "type", true },
    { "type.search", true },
    { "retention", true },
    { "auth", true },
    { "route", true },
    { "route.keep", false },
    { "route.keep.ends", true },
    { "gateways.http", true },
    { "gateways.http.area", false },
    { "gateways.http.reply", false },
    { "gateways.http.reply.ack", true },
    { "gateways.http.wait", false },
    { "extract", true },
    { "extract.hl7", false },
    { "extract.x12", false },
    { "extract.edifact", false },
    { "routes.replace", true },
    { "routes.route", true },
    { "routes.drop", true },
    { "routes.deliver", true },
    { "routes.batch", true },
    { "batches", true },
    { "endpoints.http", true },
    { "endpoints.http.area", false },
    { "endpoints.http.answer", false },
    { "endpoints.file", true },
    { "endpoints.file.area", false },
    { "endpoints.file.answer", false },
    { "gateways.file", true },
    { "gateways.file.area", true },
    { 0 },
};

static bool covers(struct str entry, struct str part)
{
    return str_starts(part, entry) && (part.len == entry.len || part.ptr[entry.len] == '.');
}

bool config_runs_part(const struct config_runs *runs, const char *part)
{
    const struct config_run *nearest = NULL;

    for (const struct config_run *r = runs->parts; r->part != NULL; r++) {
        if (r->runs && covers(str_of(part), str_of(r->part)))
            return true; /* something below it */
        if (covers(str_of(r->part), str_of(part)) &&
            (nearest == NULL || strlen(r->part) > strlen(nearest->part)))
            nearest = r;
    }
    return nearest != NULL && nearest->runs;
}
