#include "router/router.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/require.h"
#include "core/route_when.h"

/* The limits of a configuration (YAML_NODES, COMBINATIONS_MOST) bound everything here. */
enum { ID_BITS = 20, COMBINATIONS_MOST = 1000000, SHAPES = 1 << ROUTE_FIELDS };

#define ARENA_MOST ((size_t)512 << 20)

/* ---- interned names ---- */

struct name {
    struct str text; /* ptr NULL: an empty slot */
    uint64_t hash;
    uint32_t id;   /* from 1 */
    bool is_name;  /* a system's name, not one of its ids */
    bool is_known; /* a listed type */
    struct str system;
};

struct names {
    struct name *slots;
    size_t mask;
    uint32_t last; /* the last id assigned */
};

/* FNV-1a, then mixed, because the low bits choose the slot. */
static uint64_t hash_text(struct str s)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
    return h ^ (h >> 32);
}

static uint64_t hash_key(uint64_t key)
{
    key = (key ^ (key >> 33)) * 0xff51afd7ed558ccdu;
    key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53u;
    return key ^ (key >> 33);
}

/* The table is at most half full, so that probe sequences stay short. */
static size_t slots_for(size_t count)
{
    size_t size = 8;

    while (size < count * 2)
        size *= 2;
    return size;
}

static void names_init(struct names *n, struct arena *a, size_t most)
{
    size_t size = slots_for(most);

    n->slots = ARENA_ARRAY(a, struct name, size);
    n->mask = size - 1;
}

/* The slot of the text: its own, or the empty one where it belongs. */
static struct name *names_at(const struct names *n, struct str text)
{
    uint64_t hash = hash_text(text);
    size_t i = (size_t)hash & n->mask;

    while (n->slots[i].text.ptr != NULL &&
           (n->slots[i].hash != hash || !str_eq(n->slots[i].text, text)))
        i = (i + 1) & n->mask;
    return &n->slots[i];
}

static struct name *router_names_add(struct names *n, struct str text, uint32_t id)
{
    struct name *at = names_at(n, text);

    if (at->text.ptr == NULL)
        *at = (struct name){ .text = text, .hash = hash_text(text), .id = id };
    return at;
}

/* ---- the table ---- */

struct condition {
    struct str name;
    struct str *values; /* sorted */
    size_t count;
};

struct rule {
    const struct config_route *route;
    struct condition *conditions;
    size_t count;
};

/* One exact combination of a route. */
struct combination {
    uint64_t key; /* three ids; 0: any */
    const struct rule *rule;
};

struct bucket {
    uint64_t key;
    uint32_t first, count; /* range in combinations; count 0: an empty slot */
};

struct router {
    const struct config *config;
    struct names systems, types;
    bool any_type;
    struct rule *rules;
    struct combination *combinations;
    size_t combination_count;
    struct bucket *buckets;
    size_t mask;
    bool shapes[SHAPES]; /* the shapes in use; a bit means that the field is exact */
    struct arena arena;
};

static unsigned shape_bit(size_t field)
{
    return 1u << (ROUTE_FIELDS - 1 - field);
}

static uint64_t router_key_of(const uint32_t ids[ROUTE_FIELDS], unsigned shape)
{
    uint64_t key = 0;

    for (size_t i = 0; i < ROUTE_FIELDS; i++)
        key = (key << ID_BITS) | ((shape & shape_bit(i)) != 0 ? ids[i] : 0);
    return key;
}

/* ---- build: names ---- */

static size_t count_ids(const struct config *c)
{
    size_t n = c->system_count;

    for (size_t i = 0; i < c->system_count; i++) {
        const struct yaml_node *ids = yaml_get(c->systems[i].node, "ids");

        n += ids != NULL ? ids->count : 0;
    }
    return n;
}

static void router_build_systems(struct router *r)
{
    const struct config *c = r->config;

    names_init(&r->systems, &r->arena, count_ids(c));
    for (size_t i = 0; i < c->system_count; i++) {
        struct str name = str_of(c->systems[i].name);
        const struct yaml_node *ids = yaml_get(c->systems[i].node, "ids");
        struct name *at = router_names_add(&r->systems, name, ++r->systems.last);

        at->is_name = true;
        at->system = name;
        for (const struct yaml_node *n = ids != NULL ? ids->first : NULL; n != NULL; n = n->next)
            router_names_add(&r->systems, n->text, r->systems.last)->system = name;
    }
}

/* Listed types; if "*" is listed, also types that only routes name. */
static void router_build_types(struct router *r)
{
    const struct config *c = r->config;
    size_t most = c->type_count;

    for (size_t i = 0; i < c->route_count; i++) {
        const struct yaml_node *type = yaml_get(c->routes[i].when, "type");

        most += type != NULL ? type->count + 1 : 0;
    }
    names_init(&r->types, &r->arena, most);
    for (size_t i = 0; i < c->type_count; i++) {
        struct str name = str_of(c->types[i].name);

        if (str_is(name, "*"))
            r->any_type = true;
        else
            router_names_add(&r->types, name, ++r->types.last)->is_known = true;
    }
    for (size_t i = 0; i < c->route_count; i++) {
        const struct yaml_node *type = yaml_get(c->routes[i].when, "type");

        if (route_when_is_any(type))
            continue;
        for (const struct yaml_node *v = route_value_first(type); v != NULL;
             v = route_value_next(type, v))
            if (names_at(&r->types, v->text)->text.ptr == NULL)
                router_names_add(&r->types, v->text, ++r->types.last);
    }
}

/* ---- build: rules and combinations ---- */

static int router_by_text(const void *a, const void *b)
{
    const struct str *x = a, *y = b;

    return str_cmp(*x, *y);
}

static void build_condition(struct router *r, const struct yaml_node *value, struct condition *c)
{
    c->name = value->key->text;
    c->values =
        ARENA_ARRAY(&r->arena, struct str, value->kind == YAML_LIST ? value->count : (size_t)1);
    for (const struct yaml_node *v = route_value_first(value); v != NULL;
         v = route_value_next(value, v))
        c->values[c->count++] = v->text;
    qsort(c->values, c->count, sizeof c->values[0], router_by_text);
}

static void build_rule(struct router *r, const struct config_route *route, struct rule *rule)
{
    struct route_when_walk walk = { 0 };

    rule->route = route;
    rule->conditions =
        ARENA_ARRAY(&r->arena, struct condition, route_when_count(route->when) + (size_t)1);
    for (const struct yaml_node *a; (a = route_when_next(route->when, &walk)) != NULL;)
        build_condition(r, a, &rule->conditions[rule->count++]);
}

/* The exact values of a field, or NULL for any. */
static const struct yaml_node *exact(const struct config_route *route, size_t field)
{
    const struct yaml_node *value = yaml_get(route->when, route_fields[field]);

    return route_when_is_any(value) ? NULL : value;
}

static size_t count_combinations(const struct config_route *route)
{
    size_t n = 1;

    for (size_t i = 0; i < ROUTE_FIELDS && n <= COMBINATIONS_MOST; i++) {
        const struct yaml_node *value = exact(route, i);

        n *= value != NULL && value->kind == YAML_LIST ? value->count : 1;
    }
    return n;
}

static uint32_t router_id_of(const struct router *r, size_t field, struct str text)
{
    bool type = strcmp(route_fields[field], "type") == 0;

    return names_at(type ? &r->types : &r->systems, text)->id;
}

static void router_spell_out(struct router *r, const struct rule *rule)
{
    const struct yaml_node *value[ROUTE_FIELDS], *at[ROUTE_FIELDS];
    uint32_t ids[ROUTE_FIELDS] = { 0 };
    size_t count = count_combinations(rule->route);
    unsigned shape = 0;

    for (size_t i = 0; i < ROUTE_FIELDS; i++) {
        value[i] = exact(rule->route, i);
        at[i] = value[i] != NULL ? route_value_first(value[i]) : NULL;
        shape |= value[i] != NULL ? shape_bit(i) : 0;
    }
    r->shapes[shape] = true;
    while (count-- > 0) {
        for (size_t i = 0; i < ROUTE_FIELDS; i++)
            ids[i] = at[i] != NULL ? router_id_of(r, i, at[i]->text) : 0;
        r->combinations[r->combination_count++] =
            (struct combination){ router_key_of(ids, shape), rule };
        /* Enumerate all combinations like an odometer: the last field turns first. */
        for (size_t i = ROUTE_FIELDS; i-- > 0;) {
            at[i] = at[i] != NULL ? route_value_next(value[i], at[i]) : NULL;
            if (at[i] != NULL)
                break;
            at[i] = value[i] != NULL ? route_value_first(value[i]) : NULL;
        }
    }
}

/* By key; within a key more attributes first, then the order of the file. */
static int by_rank(const void *a, const void *b)
{
    const struct combination *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->rule->count != y->rule->count)
        return x->rule->count > y->rule->count ? -1 : 1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

static struct bucket *bucket_at(const struct router *r, uint64_t key, size_t *slots)
{
    size_t i = (size_t)hash_key(key) & r->mask;

    for (;; i = (i + 1) & r->mask) {
        (*slots)++;
        if (r->buckets[i].count == 0 || r->buckets[i].key == key)
            return &r->buckets[i];
    }
}

static void build_buckets(struct router *r)
{
    size_t n = r->combination_count, size, keys = 0, slots = 0;

    if (n > 1)
        qsort(r->combinations, n, sizeof r->combinations[0], by_rank);
    for (size_t i = 0; i < n; i++)
        keys += i == 0 || r->combinations[i].key != r->combinations[i - 1].key;
    size = slots_for(keys);
    r->buckets = ARENA_ARRAY(&r->arena, struct bucket, size);
    r->mask = size - 1;
    for (size_t from = 0, to; from < n; from = to) {
        uint64_t key = r->combinations[from].key;

        for (to = from + 1; to < n && r->combinations[to].key == key; to++)
            ;
        *bucket_at(r, key, &slots) =
            (struct bucket){ .key = key, .first = (uint32_t)from, .count = (uint32_t)(to - from) };
    }
}

bool router_build(const struct config *config, struct router **ret, struct err *err)
{
    size_t total = 0;

    for (size_t i = 0; i < config->route_count && total <= COMBINATIONS_MOST; i++)
        total += count_combinations(&config->routes[i]);
    if (total > COMBINATIONS_MOST)
        return err_set(err, ERR_LIMIT, 0, "the routes list more than %d combinations",
                       COMBINATIONS_MOST);
    struct router *r = NEW(struct router);

    r->config = config;
    r->arena = (struct arena)ARENA_INIT(ARENA_MOST);
    router_build_systems(r);
    router_build_types(r);
    require(r->systems.last < 1u << ID_BITS && r->types.last < 1u << ID_BITS);
    r->rules = ARENA_ARRAY(&r->arena, struct rule, config->route_count);
    r->combinations = ARENA_ARRAY(&r->arena, struct combination, total);
    for (size_t i = 0; i < config->route_count; i++) {
        build_rule(r, &config->routes[i], &r->rules[i]);
        router_spell_out(r, &r->rules[i]);
    }
    require(r->combination_count == total);
    build_buckets(r);
    *ret = r;
    return true;
}

void router_free(struct router *r)
{
    if (r == NULL)
        return;
    arena_done(&r->arena);
    free(r);
}

/* ---- lookup ---- */

struct str router_system(const struct router *r, struct str name_or_id)
{
    return names_at(&r->systems, name_or_id)->system;
}

bool router_type_known(const struct router *r, struct str type)
{
    return r->any_type || names_at(&r->types, type)->is_known;
}

static bool meets(const struct condition *c, const struct facts *f)
{
    struct str value = facts_attribute(f, c->name);

    return value.ptr != NULL &&
           bsearch(&value, c->values, c->count, sizeof c->values[0], router_by_text) != NULL;
}

static const struct rule *match(const struct router *r, const struct bucket *b,
                                const struct facts *f, struct router_effort *effort)
{
    for (size_t i = b->first; i < b->first + b->count; i++) {
        const struct rule *rule = r->combinations[i].rule;
        size_t met = 0;

        effort->routes += rule->count > 0;
        while (met < rule->count && meets(&rule->conditions[met], f))
            met++;
        if (met == rule->count)
            return rule;
    }
    return NULL;
}

static uint32_t system_id(const struct router *r, struct str name, bool unknown)
{
    const struct name *at = name.ptr == NULL || unknown ? NULL : names_at(&r->systems, name);

    return at != NULL && at->is_name ? at->id : 0;
}

const struct config_route *router_find_counted(const struct router *r, const struct facts *f,
                                               size_t *ret_at, struct router_effort *effort)
{
    const uint32_t ids[ROUTE_FIELDS] = {
        system_id(r, f->receiver, f->receiver_unknown),
        f->type.ptr != NULL ? names_at(&r->types, f->type)->id : 0,
        system_id(r, f->sender, f->sender_unknown),
    };
    unsigned named = 0;

    for (size_t i = 0; i < ROUTE_FIELDS; i++)
        named |= ids[i] != 0 ? shape_bit(i) : 0;
    for (unsigned shape = SHAPES; shape-- > 0;) { /* exact before any, receiver first */
        if (!r->shapes[shape] || (shape & ~named) != 0)
            continue;
        effort->lookups++;
        const struct bucket *b = bucket_at(r, router_key_of(ids, shape), &effort->slots);
        const struct rule *rule = b->count > 0 ? match(r, b, f, effort) : NULL;

        if (rule != NULL) {
            *ret_at = (size_t)(rule->route - r->config->routes);
            return rule->route;
        }
    }
    return NULL;
}

const struct config_route *router_find(const struct router *r, const struct facts *f,
                                       size_t *ret_at)
{
    struct router_effort effort = { 0 };

    return router_find_counted(r, f, ret_at, &effort);
}
