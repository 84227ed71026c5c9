/* config_routes.c - finds routes that tie.
 *
 * Two routes tie when receiver, type and sender are each exact in both or any in
 * both, and both name equally many attributes.  They can match the same document
 * when every field has a value that both accept.  So each route is expanded
 * to the combinations of its exact values; sorting makes equal combinations
 * neighbours, and only neighbours are compared further. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"
#include "core/config_check.h"
#include "core/route_when.h"

enum {
    COMBINATIONS_MOST = 1000000, /* of all routes together               */
    ALIKE_MOST = 500,            /* routes with the same combination      */
    EFFORT_MOST = 20000000,      /* comparisons of attribute values      */
};

struct route {
    const struct yaml_node *node, *when;
    struct str name;
    size_t attributes; /* exact ones */
    bool tied;         /* reported already */
};

struct combination {
    struct route *route;
    struct str values[ROUTE_FIELDS]; /* ptr NULL: any */
};

struct combinations {
    struct combination *items;
    size_t count, size;
    bool full;
};

/* ---- attributes ---- */

static const struct yaml_node *find_attribute(const struct yaml_node *when, struct str name)
{
    struct route_when_walk walk = { 0 };

    for (const struct yaml_node *a; (a = route_when_next(when, &walk)) != NULL;)
        if (str_eq(a->key->text, name))
            return a;
    return NULL;
}

static bool share_value(struct check *c, const struct yaml_node *a, const struct yaml_node *b)
{
    for (const struct yaml_node *x = route_value_first(a); x != NULL; x = route_value_next(a, x))
        for (const struct yaml_node *y = route_value_first(b); y != NULL;
             y = route_value_next(b, y))
            if (++c->effort > EFFORT_MOST || str_eq(yaml_text(x), yaml_text(y)))
                return true;
    return false;
}

/* A document can meet the attribute conditions of both routes. */
static bool attributes_meet(struct check *c, const struct route *a, const struct route *b)
{
    struct route_when_walk walk = { 0 };

    for (const struct yaml_node *x; (x = route_when_next(a->when, &walk)) != NULL;) {
        const struct yaml_node *y = find_attribute(b->when, x->key->text);

        if (y != NULL && !share_value(c, x, y))
            return false;
    }
    return true;
}

/* ---- combinations ---- */

static void config_routes_add(struct combinations *all, struct combination one)
{
    if (all->count == COMBINATIONS_MOST) {
        all->full = true;
        return;
    }
    if (all->count == all->size) {
        all->size = all->size * 2 + 64;
        all->items = xrealloc(all->items, all->size * sizeof *all->items);
    }
    all->items[all->count++] = one;
}

static void config_routes_spell_out(struct combinations *all, struct route *route)
{
    const struct yaml_node *value[ROUTE_FIELDS], *at[ROUTE_FIELDS];
    struct combination one = { .route = route };

    for (size_t i = 0; i < ROUTE_FIELDS; i++) {
        value[i] = yaml_get(route->when, route_fields[i]);
        if (route_when_is_any(value[i]))
            value[i] = NULL;
        at[i] = value[i] != NULL ? route_value_first(value[i]) : NULL;
    }
    while (!all->full) { /* counts like an odometer: the last field changes fastest */
        for (size_t i = 0; i < ROUTE_FIELDS; i++)
            one.values[i] = at[i] != NULL ? yaml_text(at[i]) : (struct str){ 0 };
        config_routes_add(all, one);
        size_t i = ROUTE_FIELDS;

        while (i > 0) {
            i--;
            at[i] = at[i] != NULL ? route_value_next(value[i], at[i]) : NULL;
            if (at[i] != NULL)
                break;
            at[i] = value[i] != NULL ? route_value_first(value[i]) : NULL;
            if (i == 0)
                return;
        }
    }
}

static int config_routes_compare(const struct combination *a, const struct combination *b)
{
    if (a->route->attributes != b->route->attributes)
        return a->route->attributes < b->route->attributes ? -1 : 1;
    for (size_t i = 0; i < ROUTE_FIELDS; i++) {
        bool any_a = a->values[i].ptr == NULL, any_b = b->values[i].ptr == NULL;
        int c = any_a != any_b ? (any_a ? -1 : 1) : any_a ? 0 : str_cmp(a->values[i], b->values[i]);

        if (c != 0)
            return c;
    }
    return 0;
}

static int by_combination(const void *a, const void *b)
{
    const struct combination *x = a, *y = b;
    int c = config_routes_compare(x, y);

    return c != 0 ? c
                  : (x->route->node->at > y->route->node->at) -
                        (x->route->node->at < y->route->node->at);
}

static void say_tie(struct check *c, const struct combination *x, const struct combination *y)
{
    char one[PROBLEM_QUOTE], two[PROBLEM_QUOTE];

    y->route->tied = true;
    problem_add(c->problems, y->route->node->place,
                "say in one of them a receiver, type, sender or attribute that the other does not",
                "routes `%s` (line %u) and `%s` (line %u) tie: both can match the same document",
                problem_quote(one, x->route->name), x->route->node->place.line,
                problem_quote(two, y->route->name), y->route->node->place.line);
}

/* Compares the routes of `from` to `to`, which have the same combination. */
static void check_alike(struct check *c, const struct combination *from,
                        const struct combination *to)
{
    if (to - from > ALIKE_MOST) {
        problem_add(c->problems, from->route->node->place,
                    "tell them apart by sender, receiver or type, which are looked up, instead of "
                    "by attributes, which are compared",
                    "more than 500 routes have the same sender, receiver and type");
        return;
    }
    for (const struct combination *y = from + 1; y < to; y++)
        for (const struct combination *x = from; x < y && !y->route->tied; x++)
            if (x->route != y->route && attributes_meet(c, x->route, y->route))
                say_tie(c, x, y);
}

static void check_ties(struct check *c, struct combinations *all)
{
    if (all->full)
        problem_add(c->problems, yaml_position(yaml_get(c->root, "routes")),
                    "leave out a field that lists nearly everything: it then matches anything",
                    "the routes list more than 1000000 combinations of sender, receiver and type");
    if (all->count < 2)
        return;
    qsort(all->items, all->count, sizeof all->items[0], by_combination);
    for (size_t from = 0, to; from < all->count; from = to) {
        for (to = from + 1; to < all->count; to++)
            if (config_routes_compare(&all->items[from], &all->items[to]) != 0)
                break;
        if (to - from > 1 && c->problems->count < PROBLEM_MOST)
            check_alike(c, &all->items[from], &all->items[to]);
    }
    if (c->effort > EFFORT_MOST)
        problem_add(c->problems, yaml_position(yaml_get(c->root, "routes")),
                    "tell routes apart by sender, receiver or type where they list many values",
                    "the routes list too many values of attributes to be compared");
}

static void check_route_names(struct check *c, const struct route *routes, size_t count)
{
    struct check_names names = { .items = ARENA_ARRAY(c->scratch, struct check_name, count) };

    for (size_t i = 0; i < count; i++)
        if (routes[i].name.len > 0)
            names.items[names.count++] =
                (struct check_name){ routes[i].name, yaml_get(routes[i].node, "name") };
    check_names_sort(&names);
    for (size_t i = 1; i < names.count; i++) {
        char name[PROBLEM_QUOTE];

        if (str_eq(names.items[i - 1].text, names.items[i].text))
            problem_add(c->problems, names.items[i].node->place, "each route has a name of its own",
                        "the name `%s` is taken already, by the route in line %u",
                        problem_quote(name, names.items[i].text),
                        names.items[i - 1].node->place.line);
    }
}

void check_doubles(struct check *c, const struct yaml_node *when)
{
    const struct yaml_node *inner = yaml_get(when, "attributes");

    if (inner == NULL || inner->kind != YAML_MAP)
        return;
    for (const struct yaml_node *a = inner->first; a != NULL; a = a->next) {
        const struct yaml_node *beside = yaml_get(when, a->key->text.ptr);
        char name[PROBLEM_QUOTE];

        if (beside != NULL && !route_is_field(a->key->text))
            problem_add(c->problems, a->key->place, "keep one of them",
                        "the attribute `%s` stands in `when` twice; the other one is in line %u",
                        problem_quote(name, a->key->text), beside->key->place.line);
    }
}

void check_routes(struct check *c)
{
    const struct yaml_node *list = yaml_get(c->root, "routes");
    struct combinations all = { 0 };
    size_t count = 0;

    if (list == NULL || list->kind != YAML_LIST)
        return;
    struct route *routes = ARENA_ARRAY(c->scratch, struct route, list->count);

    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        const struct yaml_node *when = yaml_get(n, "when");

        if (n->kind != YAML_MAP)
            continue;
        if (when != NULL && when->kind != YAML_MAP)
            when = NULL;
        routes[count] = (struct route){ .node = n,
                                        .when = when,
                                        .name = yaml_text(yaml_get(n, "name")),
                                        .attributes = route_when_count(when) };
        check_doubles(c, when);
        config_routes_spell_out(&all, &routes[count++]);
    }
    check_route_names(c, routes, count);
    check_ties(c, &all);
    free(all.items);
}
