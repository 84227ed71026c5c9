#include "store/db/pg_files.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/auto.h"

static const char *const file_options[] = { "passfile",    "sslcert", "sslkey",
                                            "sslrootcert", "sslcrl",  "sslcrldir" };

static bool names_a_file(const PQconninfoOption *option)
{
    for (size_t i = 0; i < sizeof file_options / sizeof file_options[0]; i++)
        if (strcmp(option->keyword, file_options[i]) == 0)
            return true;
    return false;
}

static const char *value_of(const PQconninfoOption *option)
{
    if (option->val != NULL)
        return option->val;
    return option->envvar != NULL ? getenv(option->envvar) : NULL;
}

void pg_files(const char *url, pg_file *each, void *arg)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 * 1024);
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    const char *home = getenv("HOME"), *services = getenv("PGSERVICEFILE");

    for (const PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++) {
        const char *path = names_a_file(o) ? value_of(o) : NULL;

        if (path != NULL && path[0] == '/')
            each(arg, path);
    }
    PQconninfoFree(options);
    if (services != NULL)
        each(arg, services);
    if (home == NULL || home[0] != '/' || strlen(home) > 4096)
        return;
    each(arg, arena_printf(&a, "%s/.pgpass", home));
    each(arg, arena_printf(&a, "%s/.pg_service.conf", home));
    each(arg, arena_printf(&a, "%s/.postgresql/root.crt", home));
}
