/* connector.c - finds connectors and kinds by name. */
#include "core/connector.h"

#include "core/template.h"

#include "core/grammar.h"
#include "core/planned.h"

#define FIND(list, wanted)                          \
    for (size_t i = 0; (list)[i] != NULL; i++)      \
        if (str_is((wanted), (list)[i]->kind.name)) \
            return (list)[i];                       \
    return NULL

const struct gateway_type *connector_gateway(const struct connectors *all, struct str kind)
{
    FIND(all->gateways, kind);
}

const struct service_type *connector_service(const struct connectors *all, struct str kind)
{
    FIND(all->services, kind);
}

const struct endpoint_type *connector_endpoint(const struct connectors *all, struct str kind)
{
    FIND(all->endpoints, kind);
}

const struct job_type *connector_job(const struct connectors *all, struct str kind)
{
    FIND(all->jobs, kind);
}

const struct database_type *connector_database(const struct connectors *all, struct str kind)
{
    for (size_t i = 0; all->databases[i] != NULL; i++)
        if (str_is(kind, all->database_kinds[i]->name))
            return all->databases[i];
    return NULL;
}

/* Position of a walk over the kinds of a role. */
struct kind_walk {
    const struct connectors *all;
    enum option_role role;
    size_t connector, step, planned;
};

static const struct option_kind *next_connector(struct kind_walk *w)
{
    const struct gateway_type *g = w->role == ROLE_GATEWAY ? w->all->gateways[w->connector] : NULL;
    const struct service_type *s = w->role == ROLE_SERVICE ? w->all->services[w->connector] : NULL;
    const struct endpoint_type *e =
        w->role == ROLE_ENDPOINT ? w->all->endpoints[w->connector] : NULL;
    const struct job_type *j = w->role == ROLE_JOB ? w->all->jobs[w->connector] : NULL;
    const struct option_kind *d =
        w->role == ROLE_DATABASE ? w->all->database_kinds[w->connector] : NULL;

    if (g == NULL && s == NULL && e == NULL && j == NULL && d == NULL)
        return NULL;
    w->connector++;
    return g != NULL   ? &g->kind
           : s != NULL ? &s->kind
           : e != NULL ? &e->kind
           : j != NULL ? &j->kind
                       : d;
}

static const struct option_kind *next_kind(struct kind_walk *w)
{
    const struct option_kind *kind = next_connector(w);

    if (kind != NULL)
        return kind;
    if (w->role == ROLE_SERVICE && grammar_steps[w->step].name != NULL)
        return &grammar_steps[w->step++];
    for (const struct planned_kind *p; (p = &planned_kinds[w->planned])->kind.name != NULL;) {
        w->planned++;
        if (p->role == w->role)
            return &p->kind;
    }
    return NULL;
}

const struct option_kind *kind_at(const struct connectors *all, enum option_role role, size_t i)
{
    struct kind_walk w = { .all = all, .role = role };
    const struct option_kind *kind = next_kind(&w);

    for (; kind != NULL && i > 0; i--)
        kind = next_kind(&w);
    return kind;
}

const struct option_kind *kind_find(const struct connectors *all, enum option_role role,
                                    struct str name)
{
    struct kind_walk w = { .all = all, .role = role };
    const struct option_kind *kind;

    while ((kind = next_kind(&w)) != NULL && !str_is(name, kind->name))
        ;
    return kind;
}

const struct option *kind_common(enum option_role role)
{
    return role == ROLE_GATEWAY    ? grammar_gateway
           : role == ROLE_ENDPOINT ? grammar_endpoint
           : role == ROLE_JOB      ? grammar_job
           : role == ROLE_DATABASE ? grammar_database
                                   : NULL;
}

const struct option *kind_key(enum option_role role, const struct option_kind *kind,
                              struct str name)
{
    const struct option *o = kind != NULL ? option_find(kind->keys, name) : NULL;

    return o != NULL ? o : option_find(kind_common(role), name);
}

struct template_values sending_values(const struct sending *s)
{
    return (struct template_values){ .id = s->document,
                                     .delivery = s->delivery,
                                     .name = s->name,
                                     .gateway = s->gateway,
                                     .endpoint = s->endpoint,
                                     .received_us = s->received_us,
                                     .facts = s->facts };
}
