#include "core/config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "core/config_check.h"
#include "core/grammar.h"

/* The most memory that the checks need beside the tree: a few pointers per node. */
#define SCRATCH_MOST ((size_t)256 * 1024 * 1024)

void config_report_done(struct config_report *report)
{
    problem_list_done(&report->problems);
    problem_list_done(&report->warnings);
}

/* ---- reading checked values ---- */

/* The text of a key, or its default.  The value of a number that is written as ${...}
 * and was not expanded is unknown: the default is used. */
static struct str config_read_text(const struct yaml_node *map, const struct option *o)
{
    const struct yaml_node *node = yaml_get(map, o->name);
    bool plain =
        o->type == OPT_TEXT || o->type == OPT_PATH || o->type == OPT_URL || o->type == OPT_SECRET;

    if (node != NULL && (plain || !check_has_reference(node->text)))
        return node->text;
    return o->fallback != NULL ? str_of(o->fallback) : STR("");
}

static const struct option *key(const struct option *keys, const char *name)
{
    const struct option *o = option_find(keys, str_of(name));

    require(o != NULL);
    return o;
}

static const char *read_path(struct config *c, const struct yaml_node *map,
                             const struct option *keys, const char *name)
{
    struct str text = config_read_text(map, key(keys, name));

    return text.len > 0 ? arena_text(&c->arena, text) : NULL;
}

static uint64_t read_number(const struct yaml_node *map, const struct option *keys,
                            const char *name)
{
    const struct option *o = key(keys, name);
    struct str text = config_read_text(map, o);
    uint64_t value = 0;
    struct err err;

    if (text.len > 0)
        require(o->type == OPT_SIZE ? units_size(text, &value, &err) : str_to_u64(text, &value));
    return value;
}

static int64_t read_duration(const struct yaml_node *map, const struct option *keys,
                             const char *name)
{
    int64_t us = 0;
    struct err err;

    require(units_duration(config_read_text(map, key(keys, name)), &us, &err));
    return us;
}

/* The index of a word among the allowed ones; `none` when the key has no value. */
static unsigned config_read_word(const struct yaml_node *map, const struct option *keys,
                                 const char *name, unsigned none)
{
    const struct option *o = key(keys, name);
    struct str text = config_read_text(map, o);

    for (unsigned i = 0; o->words[i] != NULL; i++)
        if (str_is(text, o->words[i]))
            return i;
    return none;
}

static struct config_texts config_read_texts(struct config *c, const struct yaml_node *list)
{
    if (list == NULL)
        return (struct config_texts){ 0 };
    const char **items = ARENA_ARRAY(&c->arena, const char *, list->count), **at = items;

    for (const struct yaml_node *n = list->first; n != NULL; n = n->next)
        *at++ = arena_text(&c->arena, n->text);
    return (struct config_texts){ items, list->count };
}

static struct config_networks read_networks(struct config *c, const struct yaml_node *list)
{
    if (list == NULL)
        return (struct config_networks){ 0 };
    struct network *items = ARENA_ARRAY(&c->arena, struct network, list->count), *at = items;
    struct err err;

    for (const struct yaml_node *n = list->first; n != NULL; n = n->next)
        require(network_parse(n->text, at++, &err));
    return (struct config_networks){ items, list->count };
}

/* The ports that gateways of this file name, as far as they are written there. */
static struct config_ports ports_of_gateways(struct config *c)
{
    const struct yaml_node *map = yaml_get(c->root, "gateways");
    struct config_ports ports = { 0 };
    struct units_address address;
    struct err err;

    if (map == NULL || map->kind != YAML_MAP)
        return ports;
    uint16_t *items = ARENA_ARRAY(&c->arena, uint16_t, map->count);

    for (const struct yaml_node *g = map->first; g != NULL; g = g->next)
        if (units_address(yaml_text(yaml_get(g, "listen")), &address, &err))
            items[ports.count++] = address.port;
    ports.items = items;
    return ports;
}

static struct config_ports read_ports(struct config *c, const struct yaml_node *value)
{
    const struct yaml_node *one = value != NULL && value->kind == YAML_LIST ? value->first : value;
    struct config_ports ports = { 0 };

    if (value == NULL)
        return ports_of_gateways(c);
    uint16_t *items = ARENA_ARRAY(&c->arena, uint16_t, value->kind == YAML_LIST ? value->count : 1);

    for (; one != NULL; one = value->kind == YAML_LIST ? one->next : NULL) {
        uint64_t port;

        if (str_to_u64(one->text, &port))
            items[ports.count++] = (uint16_t)port;
        else
            ports.any = true;
    }
    ports.items = items;
    return ports;
}

bool config_allows_port(const struct config_node *node, uint16_t port)
{
    bool found = node->ports.any;

    for (size_t i = 0; i < node->ports.count && !found; i++)
        found = node->ports.items[i] == port;
    return found;
}

/* ---- the sections ---- */

static void build_node(struct config *c, const struct config_node *given)
{
    const struct yaml_node *map = yaml_get(c->root, "node"), *tls = yaml_get(map, "tls");
    const struct yaml_node *limits = yaml_get(map, "limits"), *listen = yaml_get(map, "listen");
    const struct yaml_node *expose = yaml_get(map, "expose");
    const struct option *tls_keys = key(grammar_node, "tls")->keys;
    const struct option *limit_keys = key(grammar_node, "limits")->keys;
    const struct option *job_keys = key(grammar_node, "jobs")->keys;
    const struct yaml_node *jobs = yaml_get(map, "jobs");
    struct config_node *node = &c->node;
    struct err err;

    c->has_node = map != NULL;
    if (given != NULL) {
        c->node = *given;
        return;
    }
    *node = (struct config_node){
        .file = c->file,
        .name = yaml_get(map, "name") != NULL ? yaml_get(map, "name")->text.ptr : NULL,
        .data = read_path(c, map, grammar_node, "data"),
        .store = read_path(c, map, grammar_node, "store"),
        .area = config_read_word(map, grammar_node, "area", CONFIG_INTERNAL),
        .log = config_read_word(map, grammar_node, "log", CONFIG_LOG_INFO),
        .connections = read_number(limits, limit_keys, "connections"),
        .per_address = read_number(limits, limit_keys, "connections_per_address"),
        .memory_bytes = read_number(limits, limit_keys, "memory"),
        .disk_reserve_bytes = read_number(limits, limit_keys, "disk_reserve"),
        .commit_queue = read_number(limits, limit_keys, "commit_queue"),
        .replies = read_number(limits, limit_keys, "replies"),
        .job_batch = read_number(jobs, job_keys, "batch"),
        .job_slots = read_number(jobs, job_keys, "slots"),
        .job_kinds = config_read_texts(c, yaml_get(jobs, "kinds")),
        .hand_over = read_path(c, jobs, job_keys, "hand_over"),
        .hand_over_key = read_path(c, jobs, job_keys, "key"),
        .message_limit = read_number(limits, limit_keys, "message_limit"),
        .folders = config_read_texts(c, yaml_get(map, "folders")),
        .expose_files = config_read_texts(c, yaml_get(expose, "files")),
        .expose_env = config_read_texts(c, yaml_get(expose, "env")),
        .trust = read_networks(c, yaml_get(map, "trust")),
        .egress = read_networks(c, yaml_get(map, "egress")),
        .monitors = read_networks(c, yaml_get(map, "monitors")),
        .ports = read_ports(c, yaml_get(map, "ports")),
        .environment_proxy =
            str_is(config_read_text(map, key(grammar_node, "proxy")), "environment"),
        .insecure = str_is(config_read_text(map, key(grammar_node, "insecure")), "true"),
        .source = config_read_word(map, grammar_node, "config", CONFIG_FROM_STORE),
    };
    if (tls != NULL) {
        node->tls_cert = read_path(c, tls, tls_keys, "cert");
        node->tls_key = read_path(c, tls, tls_keys, "key");
    }
    if (listen != NULL)
        node->listen_place = listen->place;
    if (listen == NULL || !check_has_reference(listen->text))
        require(
            units_address(config_read_text(map, key(grammar_node, "listen")), &node->listen, &err));
}

static struct config_user *build_users(struct config *c, const struct yaml_node *map)
{
    struct config_user *users = ARENA_ARRAY(&c->arena, struct config_user, map->count), *u = users;

    for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
        *u++ = (struct config_user){ n->key->text.ptr, n->text.ptr };
    return users;
}

static void build_gateway(struct config *c, const struct yaml_node *n, struct config_gateway *g)
{
    const struct option *limit_keys = key(grammar_gateway, "limits")->keys;
    const struct yaml_node *limits = yaml_get(n, "limits"), *rate = yaml_get(limits, "rate");
    const struct yaml_node *users = yaml_get(n, "users");
    struct err err;

    *g = (struct config_gateway){
        .name = n->key->text.ptr,
        .kind = yaml_text(yaml_get(n, "kind")).ptr,
        .place = yaml_position(n),
        .area = config_read_word(n, grammar_gateway, "area", CONFIG_ANYWHERE),
        .size_bytes = read_number(limits, limit_keys, "size"),
        .extract = yaml_get(n, "extract"),
        .node = n,
        .auth = config_read_word(n, grammar_senders, "auth", CONFIG_AUTH_KEY),
        .idempotency_us = read_duration(n, grammar_senders, "idempotency"),
    };
    if (rate != NULL) {
        require(units_rate(rate->text, &g->rate, &err));
        g->burst = read_number(limits, limit_keys, "burst");
        if (g->burst == 0)
            g->burst = units_rate_burst(g->rate);
    }
    if (yaml_get(limits, "total") != NULL)
        require(units_rate(yaml_get(limits, "total")->text, &g->total, &err));
    if (users != NULL && users->count > 0) {
        g->users = build_users(c, users);
        g->user_count = users->count;
    }
}

static void config_build_gateways(struct config *c)
{
    const struct yaml_node *map = yaml_get(c->root, "gateways");

    if (map == NULL)
        return;
    struct config_gateway *list = ARENA_ARRAY(&c->arena, struct config_gateway, map->count);

    for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
        build_gateway(c, n, &list[c->gateway_count++]);
    c->gateways = list;
}

static const char *config_text_or_null(const struct yaml_node *node)
{
    return node == NULL ? NULL : node->text.ptr;
}

static void config_build_endpoints(struct config *c)
{
    const struct yaml_node *map = yaml_get(c->root, "endpoints");

    if (map == NULL)
        return;
    struct config_endpoint *list = ARENA_ARRAY(&c->arena, struct config_endpoint, map->count);

    for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
        list[c->endpoint_count++] = (struct config_endpoint){
            .name = n->key->text.ptr,
            .kind = config_text_or_null(yaml_get(n, "kind")),
            .system = config_text_or_null(yaml_get(n, "system")),
            .area = config_read_word(n, grammar_endpoint, "area", CONFIG_ANYWHERE),
            .place = yaml_position(n),
            .node = n,
        };
    c->endpoints = list;
}

static void config_build_routes(struct config *c)
{
    const struct yaml_node *all = yaml_get(c->root, "routes");

    if (all == NULL)
        return;
    struct config_route *list = ARENA_ARRAY(&c->arena, struct config_route, all->count);

    for (const struct yaml_node *n = all->first; n != NULL; n = n->next) {
        const struct yaml_node *steps = yaml_get(n, "do");

        list[c->route_count++] = (struct config_route){
            .name = config_text_or_null(yaml_get(n, "name")),
            .place = n->place,
            .when = yaml_get(n, "when"),
            .steps = steps,
            .step_count = steps->count,
            .node = n,
        };
    }
    c->routes = list;
}

static const struct config_entry *build_entries(struct config *c, const char *section,
                                                size_t *ret_count)
{
    const struct yaml_node *map = yaml_get(c->root, section);
    size_t count = 0;

    if (map == NULL)
        return NULL;
    struct config_entry *list = ARENA_ARRAY(&c->arena, struct config_entry, map->count);

    for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
        list[count++] =
            (struct config_entry){ n->key->text.ptr, config_text_or_null(yaml_get(n, "kind")),
                                   yaml_position(n), n };
    *ret_count = count;
    return list;
}

static void config_build(struct config *c, const struct config_options *options)
{
    build_node(c, options->node);
    config_build_gateways(c);
    config_build_endpoints(c);
    config_build_routes(c);
    c->systems = build_entries(c, "systems", &c->system_count);
    c->types = build_entries(c, "types", &c->type_count);
    c->jobs = build_entries(c, "jobs", &c->job_count);
    config_build_check_jobs(c);
    config_build_link_jobs(c);
    config_build_folders(c, options->connectors);
}

/* ---- load, share, end ---- */

static void check_all(struct config *config, struct yaml_node *root,
                      const struct config_options *options, struct config_report *report)
{
    AUTO(arena_done) struct arena scratch = ARENA_INIT(SCRATCH_MOST);
    struct check c = {
        .problems = &report->problems,
        .warnings = &report->warnings,
        .options = options,
        .file = config->file,
        .root = root,
        .tree = &config->arena,
        .scratch = &scratch,
    };

    check_services(&c);
    check_grammar(&c);
    check_cross(&c);
    check_routes(&c);
    check_batches(&c);
    check_subscriptions(&c);
    check_jobs(&c);
    check_links(&c);
    check_safety(&c);
    config_build_files(config, &c);
    if (options->also != NULL)
        options->also(options->also_arg, root, &report->problems);
}

struct config *config_load(struct str text, const char *file, const struct config_options *options,
                           struct config_report *report)
{
    require(report->problems.count == 0 && report->warnings.count == 0);
    struct config *c = NEW(struct config);

    c->arena = (struct arena)ARENA_INIT(YAML_ARENA * 2);
    atomic_init(&c->refs, 1);
    c->file = arena_text(&c->arena, str_of(file));
    struct yaml_node *root = yaml_load(text, &c->arena, &report->problems);

    c->root = root;
    if (root != NULL && options->step.ptr != NULL)
        config_put_step(root, options->step, &c->arena, &report->problems);
    if (root != NULL)
        check_all(c, root, options, report);
    if (report->problems.count == 0) {
        config_build(c, options);
    } else {
        problem_sort(&report->problems);
        config_unref(c);
        c = NULL;
    }
    problem_sort(&report->warnings);
    return c;
}

struct config *config_ref(struct config *config)
{
    unsigned before = atomic_fetch_add(&config->refs, 1);

    require(before > 0);
    return config;
}

void config_unref(struct config *config)
{
    if (config == NULL)
        return;
    unsigned before = atomic_fetch_sub(&config->refs, 1);

    require(before > 0);
    if (before > 1)
        return;
    folder_rule_done(config->folders);
    arena_done(&config->arena);
    free(config);
}

const struct config_gateway *config_gateway_find(const struct config *config, struct str name)
{
    for (size_t i = 0; i < config->gateway_count; i++)
        if (str_is(name, config->gateways[i].name))
            return &config->gateways[i];
    return NULL;
}

bool config_fits_node(const struct config *config, const struct config_node *node,
                      struct problem_list *problems)
{
    size_t before = problems->count + problems->left_out;

    check_open_gateways(config->root, node->listen.host, problems);
    return problems->count + problems->left_out == before;
}
