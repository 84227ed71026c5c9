#include "engine/plan/areas.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "core/grammar.h"
#include "core/yaml.h"
#include "store/kernel/node.h"

bool areas_served(struct store *s, unsigned *ret, struct err *err)
{
    struct node_row *rows = xcalloc(NODES_MOST, sizeof *rows);
    size_t count = 0;
    bool ok = node_list(s, rows, NODES_MOST, &count, err);

    *ret = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].state == 0)
            *ret |= 1u << areas_find(str_of(rows[i].area));
    free(rows);
    return ok;
}

enum config_area areas_find(struct str name)
{
    for (unsigned k = 0; grammar_areas[k] != NULL; k++)
        if (str_is(name, grammar_areas[k]))
            return (enum config_area)k;
    return CONFIG_ANYWHERE;
}

const char *areas_why(unsigned served, enum config_area area, char text[static AREAS_TEXT])
{
    if (area == CONFIG_ANYWHERE || (served >> area & 1) != 0)
        return NULL;
    (void)snprintf(text, AREAS_TEXT, "only nodes of area %s run it, and there is none",
                   grammar_areas[area]);
    return text;
}

static void areas_say(unsigned served, const char *kind, const char *name, enum config_area area,
                      struct place place, struct problem_list *warnings)
{
    char room[AREAS_TEXT];
    const char *why = areas_why(served, area, room);

    if (why != NULL)
        problem_add(warnings, place, "start a node with this `area` in its section `node`",
                    "%s `%s`: %s", kind, name, why);
}

bool areas_warn(struct store *s, enum config_area own, const struct config *c,
                struct problem_list *warnings, struct err *err)
{
    unsigned served;

    if (!areas_served(s, &served, err))
        return false;
    served |= 1u << own;
    for (size_t i = 0; i < c->gateway_count; i++)
        areas_say(served, "gateway", c->gateways[i].name, c->gateways[i].area, c->gateways[i].place,
                  warnings);
    for (size_t i = 0; i < c->endpoint_count; i++)
        areas_say(served, "endpoint", c->endpoints[i].name, c->endpoints[i].area,
                  c->endpoints[i].place, warnings);
    for (size_t i = 0; i < c->job_count; i++)
        areas_say(served, "job", c->jobs[i].name,
                  areas_find(yaml_text(yaml_get(c->jobs[i].node, "area"))), c->jobs[i].place,
                  warnings);
    return true;
}
