#include "core/route_when.h"

const char *const route_fields[ROUTE_FIELDS] = { "receiver", "type", "sender" };

bool route_when_is_any(const struct yaml_node *value)
{
    if (value == NULL)
        return true;
    if (value->kind == YAML_SCALAR)
        return str_is(value->text, "*") || yaml_is_null(value);
    for (const struct yaml_node *v = value->first; v != NULL; v = v->next)
        if (str_is(yaml_text(v), "*"))
            return true;
    return value->kind != YAML_LIST || value->count == 0;
}

bool route_is_field(struct str name)
{
    for (size_t i = 0; i < ROUTE_FIELDS; i++)
        if (str_is(name, route_fields[i]))
            return true;
    return str_is(name, "attributes");
}

const struct yaml_node *route_when_next(const struct yaml_node *when, struct route_when_walk *walk)
{
    const struct yaml_node *more = yaml_get(when, "attributes"), *n;

    n = walk->at != NULL ? walk->at->next : when != NULL && !walk->inner ? when->first : NULL;
    for (; !walk->inner && n != NULL; n = n->next)
        if (!route_is_field(n->key->text) && !route_when_is_any(n))
            return walk->at = n;
    if (!walk->inner) {
        walk->inner = true;
        n = more != NULL && more->kind == YAML_MAP ? more->first : NULL;
    }
    for (; n != NULL; n = n->next)
        if (!route_when_is_any(n))
            return walk->at = n;
    return walk->at = NULL;
}

size_t route_when_count(const struct yaml_node *when)
{
    struct route_when_walk walk = { 0 };
    size_t n = 0;

    while (route_when_next(when, &walk) != NULL)
        n++;
    return n;
}

const struct yaml_node *route_value_first(const struct yaml_node *value)
{
    return value->kind == YAML_LIST ? value->first : value;
}

const struct yaml_node *route_value_next(const struct yaml_node *value, const struct yaml_node *at)
{
    return value->kind == YAML_LIST ? at->next : NULL;
}
