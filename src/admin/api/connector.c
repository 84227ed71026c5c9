/* connector.c - the option tables of connectors, from which the console makes forms: connectors. */
#include <stdio.h>

#include "admin/api/parts.h"
#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "engine/engine.h"

enum { OPTIONS_MOST = 300, DEPTH_MOST = 6, NAME_MOST = 200, KINDS_MOST = 200 };

struct shown_option {
    struct str name;
    const char *type, *fallback, *about, *form;
    struct str *values;
    size_t value_count;
    bool required, list, one_of;
};

struct shown_connector {
    const char *role;
    struct str kind, summary;
    bool runs;
    const void *options[OPTIONS_MOST]; /* struct shown_option */
    size_t option_count;
};

struct adding {
    struct arena *arena;
    struct shown_connector *to;
};

/* The words that the option accepts, without planned ones. */
static void read_values(const struct adding *a, const struct option *o, struct shown_option *to)
{
    size_t n = 0;

    while (o->words != NULL && o->words[n] != NULL)
        n++;
    to->values = ARENA_ARRAY(a->arena, struct str, n + 1);
    for (size_t i = 0; i < n; i++)
        if (!option_word_is_planned(o, str_of(o->words[i])))
            to->values[to->value_count++] = str_of(o->words[i]);
}

static const struct option *api_connector_value_of(const struct option *o)
{
    return o->type == OPT_LIST ? o->each : o;
}

/* Recursion is safe: it follows our own tables, up to DEPTH_MOST. */
static void api_connector_add_keys(const struct adding *a, const struct option *keys,
                                   const char *before, int depth);

static void api_connector_add_option(const struct adding *a, const struct option *o,
                                     const char *name, int depth)
{
    struct shown_option *v = ARENA_NEW(a->arena, struct shown_option);
    const struct option *value = api_connector_value_of(o);

    if ((o->flags & OPT_PLANNED) != 0 || a->to->option_count == OPTIONS_MOST)
        return;
    *v = (struct shown_option){ .name = arena_copy(a->arena, str_of(name)),
                                .type = option_type_name(value->type),
                                .fallback = o->fallback,
                                .about = o->help,
                                .form = option_form(value->type),
                                .required = (o->flags & OPT_REQUIRED) != 0,
                                .list = o->type == OPT_LIST || (o->flags & OPT_OR_LIST) != 0,
                                .one_of = (o->flags & OPT_ONE_OF) != 0 };
    read_values(a, o, v);
    a->to->options[a->to->option_count++] = v;
    if (value->keys != NULL)
        api_connector_add_keys(a, value->keys, name, depth + 1);
    if (o->type == OPT_NAMED && o->each != NULL && depth < DEPTH_MOST) {
        char each[NAME_MOST];

        (void)snprintf(each, sizeof each, "%s.*", name);
        api_connector_add_option(a, o->each, each, depth + 1);
    }
}

static void api_connector_add_keys(const struct adding *a, const struct option *keys,
                                   const char *before, int depth)
{
    const struct option *o;

    for (struct option_walk w = { keys }; depth < DEPTH_MOST && (o = option_next(&w)) != NULL;) {
        char name[NAME_MOST];

        (void)snprintf(name, sizeof name, "%s%s%s", before, before[0] != '\0' ? "." : "", o->name);
        api_connector_add_option(a, o, name, depth);
    }
}

/* Lists the common keys, without those that the kind redefines, then the kind's own. */
static const struct shown_connector *describe(struct arena *arena, const char *role,
                                              const struct option *common,
                                              const struct option_kind *kind)
{
    struct shown_connector *c = ARENA_NEW(arena, struct shown_connector);
    struct adding a = { .arena = arena, .to = c };
    const struct option *o;

    c->role = role;
    c->kind = str_of(kind->name);
    c->summary = str_of(kind->help);
    c->runs = !kind->planned;
    if (kind->planned)
        return c;
    for (struct option_walk w = { common }; (o = option_next(&w)) != NULL;)
        if (option_find(kind->keys, str_of(o->name)) == NULL)
            api_connector_add_option(&a, o, o->name, 0);
    api_connector_add_keys(&a, kind->keys, "", 0);
    return c;
}

static bool connectors(struct graphql_call *call, struct err *err)
{
    static const struct option_kind wholes[] = {
        { "system", "a data system that sends or receives", grammar_system },
        { "type", "a type of documents", grammar_type },
        { "route", "which documents run through which steps", grammar_route },
    };
    static const struct {
        const char *name;
        enum option_role role;
    } roles[] = { { "gateway", ROLE_GATEWAY },
                  { "endpoint", ROLE_ENDPOINT },
                  { "step", ROLE_SERVICE },
                  { "job", ROLE_JOB },
                  { "database", ROLE_DATABASE } };
    const struct connectors *all = engine_connectors(api_engine(call));
    const void **list = ARENA_ARRAY(call->arena, const void *, KINDS_MOST);
    const struct option_kind *k;
    size_t n = 0;

    (void)err;
    for (size_t r = 0; r < sizeof roles / sizeof roles[0]; r++)
        for (size_t i = 0; (k = kind_at(all, roles[r].role, i)) != NULL && n < KINDS_MOST - 3; i++)
            if (!k->linked)
                list[n++] = describe(call->arena, roles[r].name, kind_common(roles[r].role), k);
    for (size_t w = 0; w < sizeof wholes / sizeof wholes[0]; w++)
        list[n++] = describe(call->arena, wholes[w].name, NULL, &wholes[w]);
    return graphql_set_objects(call, list, n);
}

const struct graphql_resolver api_connector[] = {
    { .field = "Query.connectors", .fn = connectors },
    GRAPHQL_MEMBER("Connector.role", struct shown_connector, role),
    GRAPHQL_MEMBER("Connector.kind", struct shown_connector, kind),
    GRAPHQL_MEMBER("Connector.summary", struct shown_connector, summary),
    GRAPHQL_MEMBER("Connector.runs", struct shown_connector, runs),
    GRAPHQL_LIST_OF("Connector.options", struct shown_connector, options, option_count),
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
