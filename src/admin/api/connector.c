/* The tables of options, for forms: connectors. */
#include <stdio.h>

#include "admin/api/parts.h"
#include "base/auto.h"
#include "core/config.h"
#include "core/grammar.h"

enum { OPTIONS_MOST = 300, DEPTH_MOST = 6, NAME_MOST = 200 };

static const struct config_runs runs = { .parts = config_runs_build };

struct shown_option {
    struct str name;
    const char *type, *fallback, *about, *form;
    struct str *values;
    size_t value_count;
    bool required, list, one_of;
};

struct connector {
    const char *role;
    struct str kind, summary;
    bool runs;
    const void *options[OPTIONS_MOST]; /* struct shown_option */
    size_t option_count;
};

struct adding {
    struct arena *arena;
    struct connector *to;
    const char *part; /* of the whole, as config_runs.c names it: gateways.http */
};

/* Words that this build runs. */
static void read_values(const struct adding *a, const char *part, const struct option *o,
                        struct shown_option *to)
{
    size_t n = 0;

    while (o->words != NULL && o->words[n] != NULL)
        n++;
    to->values = ARENA_ARRAY(a->arena, struct str, n + 1);
    for (size_t i = 0; i < n; i++) {
        char word[NAME_MOST];

        (void)snprintf(word, sizeof word, "%s.%s", part, o->words[i]);
        if (o->type != OPT_WORD || config_runs_part(&runs, word))
            to->values[to->value_count++] = str_of(o->words[i]);
    }
}

static const struct option *value_of(const struct option *o)
{
    return o->type == OPT_LIST ? o->each : o;
}

/* Recursion follows our own tables, whose depth is ours. */
static void add_keys(const struct adding *a, const struct option *keys, const char *before,
                     int depth);

static void add_option(const struct adding *a, const struct option *o, const char *name, int depth)
{
    struct shown_option *v = ARENA_NEW(a->arena, struct shown_option);
    const struct option *value = value_of(o);
    char part[NAME_MOST];

    (void)snprintf(part, sizeof part, "%s.%s", a->part, name);
    if (!config_runs_part(&runs, part) || a->to->option_count == OPTIONS_MOST)
        return;
    *v = (struct shown_option){ .name = arena_copy(a->arena, str_of(name)),
                                .type = option_type_name(value->type),
                                .fallback = o->fallback,
                                .about = o->help,
                                .form = option_form(value->type),
                                .required = (o->flags & OPT_REQUIRED) != 0,
                                .list = o->type == OPT_LIST || (o->flags & OPT_OR_LIST) != 0,
                                .one_of = (o->flags & OPT_ONE_OF) != 0 };
    read_values(a, part, o, v);
    a->to->options[a->to->option_count++] = v;
    if (value->keys != NULL)
        add_keys(a, value->keys, name, depth + 1);
    if (o->type == OPT_NAMED && o->each != NULL && depth < DEPTH_MOST) {
        char each[NAME_MOST];

        (void)snprintf(each, sizeof each, "%s.*", name);
        add_option(a, o->each, each, depth + 1);
    }
}

static void add_keys(const struct adding *a, const struct option *keys, const char *before,
                     int depth)
{
    for (const struct option *o = keys; o != NULL && o->name != NULL && depth < DEPTH_MOST; o++) {
        char name[NAME_MOST];

        (void)snprintf(name, sizeof name, "%s%s%s", before, before[0] != '\0' ? "." : "", o->name);
        add_option(a, o, name, depth);
    }
}

static const struct connector *describe(struct arena *arena, const char *role, const char *section,
                                        const struct option_kinds *kinds,
                                        const struct option_kind *kind)
{
    struct connector *c = ARENA_NEW(arena, struct connector);
    struct adding a = { .arena = arena, .to = c };

    c->role = role;
    c->kind = str_of(kind->name);
    c->summary = str_of(kind->help);
    a.part = kinds != NULL ? arena_printf(arena, "%s.%s", section, kind->name) : section;
    c->runs = config_runs_part(&runs, a.part);
    if (kinds != NULL)
        add_keys(&a, kinds->common, "", 0);
    add_keys(&a, kind->keys, "", 0);
    return c;
}

static bool connectors(struct graphql_call *call, struct err *err)
{
    static const struct option_kind wholes[] = {
        { "system", "a data system that sends or receives", grammar_system, false },
        { "type", "a type of documents", grammar_type, false },
        { "route", "which documents run through which steps", grammar_route, false },
    };
    static const struct {
        const char *role, *section;
        const struct option_kinds *kinds;
    } parts[] = {
        { "gateway", "gateways", &grammar_gateways },
        { "endpoint", "endpoints", &grammar_endpoints },
        { "step", "routes", &grammar_services },
    };
    size_t n = sizeof wholes / sizeof wholes[0], i = 0;

    (void)err;
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        for (const struct option_kind *k = parts[p].kinds->kinds; k->name != NULL; k++)
            n++;
    const void **list = ARENA_ARRAY(call->arena, const void *, n);

    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        for (const struct option_kind *k = parts[p].kinds->kinds; k->name != NULL; k++)
            list[i++] = describe(call->arena, parts[p].role, parts[p].section, parts[p].kinds, k);
    for (size_t w = 0; w < sizeof wholes / sizeof wholes[0]; w++)
        list[i++] = describe(call->arena, wholes[w].name, wholes[w].name, NULL, &wholes[w]);
    return graphql_set_objects(call, list, n);
}

const struct graphql_resolver api_connector[] = {
    { .field = "Query.connectors", .fn = connectors },
    GRAPHQL_MEMBER("Connector.role", struct connector, role),
    GRAPHQL_MEMBER("Connector.kind", struct connector, kind),
    GRAPHQL_MEMBER("Connector.summary", struct connector, summary),
    GRAPHQL_MEMBER("Connector.runs", struct connector, runs),
    GRAPHQL_LIST_OF("Connector.options", struct connector, options, option_count),
    GRAPHQL_MEMBER("ConnectorOption.name", struct shown_option, name),
    GRAPHQL_MEMBER("ConnectorOption.type", struct shown_option, type),
    GRAPHQL_MEMBER("ConnectorOption.required", struct shown_option, required),
    GRAPHQL_MEMBER("ConnectorOption.default", struct shown_option, fallback),
    GRAPHQL_MEMBER("ConnectorOption.about", struct shown_option, about),
    GRAPHQL_MEMBER("ConnectorOption.form", struct shown_option, form),
    GRAPHQL_LIST_OF("ConnectorOption.values", struct shown_option, values, value_count),
    GRAPHQL_MEMBER("ConnectorOption.list", struct shown_option, list),
    GRAPHQL_MEMBER("ConnectorOption.oneOf", struct shown_option, one_of),
};
const size_t api_connector_count = sizeof api_connector / sizeof api_connector[0];
