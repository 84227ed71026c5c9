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

size_t route_value_count(const struct yaml_node *value)
{
    return value->kind == YAML_LIST ? value->count : 1;
}

const struct yaml_node *route_value_first(const struct yaml_node *value)
{
    return value->kind == YAML_LIST ? value->first : value;
}

const struct yaml_node *route_value_next(const struct yaml_node *value, const struct yaml_node *at)
{
    return value->kind == YAML_LIST ? at->next : NULL;
}

static bool route_value_has(const struct yaml_node *value, struct str text)
{
    if (text.ptr == NULL)
        return false;
    for (const struct yaml_node *v = route_value_first(value); v != NULL;
         v = route_value_next(value, v))
        if (str_eq(yaml_text(v), text))
            return true;
    return false;
}

/* A name that no system has is none of those that a configuration can name. */
static struct str route_fact_of(const struct facts *f, const char *field)
{
    const struct str unknown = { 0 };

    if (str_is(STR("type"), field))
        return f->type;
    if (str_is(STR("sender"), field))
        return f->sender_unknown ? unknown : f->sender;
    return f->receiver_unknown ? unknown : f->receiver;
}

bool route_when_fits(const struct yaml_node *when, const struct facts *f)
{
    struct route_when_walk walk = { 0 };
    const struct yaml_node *value;

    for (size_t i = 0; i < ROUTE_FIELDS; i++) {
        value = yaml_get(when, route_fields[i]);
        if (!route_when_is_any(value) && !route_value_has(value, route_fact_of(f, route_fields[i])))
            return false;
    }
    while ((value = route_when_next(when, &walk)) != NULL)
        if (!route_value_has(value, facts_attribute(f, value->key->text)))
            return false;
    return true;
}
