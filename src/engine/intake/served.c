#include "engine/intake/served.h"

#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "store/people/secret.h"

enum { ARENA_MOST = 1 << 20 };

static bool served_find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                               struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

static struct settings served_settings(struct store *store, const struct gateway_type *type,
                                       const struct config *c, const struct config_gateway *g,
                                       struct arena *a)
{
    return (struct settings){ .node = g->node,
                              .common = grammar_gateway,
                              .own = type->kind.keys,
                              .secret = served_find_secret,
                              .secret_arg = store,
                              .reach = &c->node,
                              .arena = a };
}

bool served_make(struct store *store, struct intake_table *t, struct intake_gateway *g,
                 struct err *err)
{
    struct settings s = served_settings(store, g->type, t->config, g->config, &t->arena);
    struct err why = { 0 };

    if (g->type->path == NULL || g->type->make == NULL || g->type->make(&s, &g->self, &why))
        return true;
    g->self = NULL;
    if (why.kind != ERR_CONFIG) {
        *err = why;
        return err_context(err, "gateway %s", g->config->name);
    }
    g->broken = arena_text(&t->arena, str_of(why.text));
    return true;
}

void served_unmake(struct intake_gateway *g)
{
    if (g->self != NULL)
        g->type->unmake(g->self);
    g->self = NULL;
}

void served_try(struct store *store, const struct connectors *connectors,
                const struct config *config, struct problem_list *problems)
{
    for (size_t i = 0; i < config->gateway_count; i++) {
        const struct config_gateway *g = &config->gateways[i];
        const struct gateway_type *type = connector_gateway(connectors, str_of(g->kind));
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
        struct err err = { 0 };
        void *self = NULL;

        if (type == NULL || type->path == NULL || type->make == NULL)
            continue;
        struct settings s = served_settings(store, type, config, g, &a);

        if (type->make(&s, &self, &err)) {
            if (self != NULL)
                type->unmake(self);
        } else if (err.kind == ERR_CONFIG) { /* a store that fails is told elsewhere */
            problem_add(problems, g->place, NULL, "gateway %s: %s", g->name, err.text);
        }
    }
}
