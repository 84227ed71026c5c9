#include "app/help_kind.h"

#include <stdio.h>

#include "app/exit_code.h"
#include "app/print.h"
#include "app/registry.h"
#include "app/suggest.h"

static const struct {
    const char *word, *all;
    enum option_role role;
} roles[] = {
    { "gateway", "gateways, where documents come in", ROLE_GATEWAY },
    { "service", "services, the steps of a route", ROLE_SERVICE },
    { "endpoint", "endpoints, where documents go out", ROLE_ENDPOINT },
    { "job", "jobs, work that recurs", ROLE_JOB },
    { "database", "databases, whose tables are replicated", ROLE_DATABASE },
};

static void print_key(const char *name, const struct option *o)
{
    (void)printf("  %-20s %s", name, option_type_name(o->type));
    for (size_t i = 0; o->type == OPT_WORD && o->words != NULL && o->words[i] != NULL; i++)
        (void)printf("%s%s", i == 0 ? ": " : "|", o->words[i]);
    if (o->fallback != NULL)
        (void)printf(", default \"%s\"", o->fallback);
    (void)printf("%s%s%s\n      %s\n", (o->flags & OPT_REQUIRED) != 0 ? ", required" : "",
                 (o->flags & OPT_ONE_OF) != 0 ? ", exactly one of these" : "",
                 (o->flags & OPT_PLANNED) != 0 ? ", planned" : "", o->help);
}

/* Prints keys, nested ones with the name of the outer key in front; recursion follows our own
 * tables.  Keys that the table `anew` redefines are left out; it may be NULL. */
static void print_keys(const struct option *keys, const char *before, const struct option *anew)
{
    const struct option *o;

    for (struct option_walk w = { keys }; (o = option_next(&w)) != NULL;) {
        char name[100];

        if (option_find(anew, str_of(o->name)) != NULL)
            continue;
        (void)snprintf(name, sizeof name, "%s%s", before, o->name);
        print_key(name, o);
        if (o->type == OPT_MAP) {
            (void)snprintf(name, sizeof name, "%s%s.", before, o->name);
            print_keys(o->keys, name, NULL);
        }
    }
}

static void print_kind(const char *word, enum option_role role, const struct option_kind *kind)
{
    (void)printf("%s %s - %s\n", word, kind->name, kind->help);
    if (kind->planned)
        (void)printf("\nplanned: this build checks and keeps it, and does not run it\n");
    if (kind->example != NULL)
        (void)printf("\nexample:\n  %s\n", kind->example);
    if (kind->keys->type != OPT_END) {
        (void)printf("\nkeys:\n");
        print_keys(kind->keys, "", NULL);
    }
    if (kind_common(role) != NULL) {
        (void)printf("\nkeys of every %s:\n", word);
        print_keys(kind_common(role), "", kind->keys);
    }
}

static void print_all(const char *word, const char *all, enum option_role role)
{
    const struct option_kind *kind;
    bool planned = false;

    (void)printf("%s:\n\n", all);
    for (size_t i = 0; (kind = kind_at(&registry, role, i)) != NULL; i++) {
        if (kind->planned && !planned)
            (void)printf("\nplanned, checked and kept by this build:\n\n");
        planned = kind->planned;
        (void)printf("  %-14s%s\n", kind->name, kind->help);
    }
    (void)printf("\n`waybill help %s KIND` tells its keys.\n", word);
}

static int unknown_kind(const char *word, enum option_role role, const char *name)
{
    struct suggestion near = { .word = str_of(name) };

    for (size_t i = 0; kind_at(&registry, role, i) != NULL; i++)
        suggest(&near, kind_at(&registry, role, i)->name);
    if (near.best != NULL)
        return print_fail(EXIT_USAGE, "unknown %s \"%s\"; did you mean %s?", word, name, near.best);
    return print_fail(EXIT_USAGE, "unknown %s \"%s\"; `waybill help %s` lists them all", word, name,
                      word);
}

bool help_kind(const char *role, const char *kind, int *ret_code)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (!str_is(str_of(role), roles[i].word))
            continue;
        const struct option_kind *one =
            kind != NULL ? kind_find(&registry, roles[i].role, str_of(kind)) : NULL;

        *ret_code = EXIT_DONE;
        if (kind == NULL)
            print_all(roles[i].word, roles[i].all, roles[i].role);
        else if (one != NULL)
            print_kind(roles[i].word, roles[i].role, one);
        else
            *ret_code = unknown_kind(roles[i].word, roles[i].role, kind);
        return true;
    }
    return false;
}
