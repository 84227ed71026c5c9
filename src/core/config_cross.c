/* config_cross.c - checks across sections: references, zones, attributes, keys that depend on each
 * other. */
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/config_check.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/template.h"
#include "core/window.h"

/* ---- names ---- */

static int config_cross_by_text(const void *a, const void *b)
{
    const struct check_name *x = a, *y = b;
    int c = str_cmp(x->text, y->text);

    return c != 0 ? c : (x->node->at > y->node->at) - (x->node->at < y->node->at);
}

void check_names_sort(struct check_names *names)
{
    if (names->count > 1)
        qsort(names->items, names->count, sizeof names->items[0], config_cross_by_text);
}

const struct check_name *check_names_find(const struct check_names *names, struct str text)
{
    size_t low = 0, high = names->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = str_cmp(names->items[middle].text, text);

        if (c == 0)
            return &names->items[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct check_names check_names_of(struct check *c, const char *section)
{
    const struct yaml_node *map = yaml_get(c->root, section);
    struct check_names names = { 0 };

    if (map == NULL || map->kind != YAML_MAP)
        return names;
    names.items = ARENA_ARRAY(c->scratch, struct check_name, map->count);
    for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
        names.items[names.count++] = (struct check_name){ n->key->text, n };
    check_names_sort(&names);
    return names;
}

/* ---- references ---- */

struct target {
    enum option_type type;
    const char *section, *message, *lead;
    struct check_names names;
};

static void say_unresolved(struct check *c, const struct check_seen *seen, const struct target *t)
{
    char name[PROBLEM_QUOTE], text[1400];
    bool step = t->type == OPT_STEP;
    struct check_hint hint;

    check_hint_start(&hint, c, seen->name);
    if (step)
        check_hint_add_kinds(&hint, c->options->connectors, ROLE_SERVICE);
    check_hint_add_names(&hint, &t->names);
    problem_add(c->problems, step ? yaml_position(seen->node) : seen->node->place,
                check_hint_text(&hint, t->lead, text), "%s `%s`", t->message,
                problem_quote(name, seen->name));
}

static void check_references_resolve(struct check *c)
{
    struct target targets[] = {
        { OPT_SYSTEM, "systems", "there is no system", "defined", { 0 } },
        { OPT_DOCTYPE,
          "types",
          "there is no type",
          "`types` lists it, or has `\"*\": {}` for any; defined",
          { 0 } },
        { OPT_ENDPOINT, "endpoints", "there is no endpoint", "defined", { 0 } },
        { OPT_GATEWAY, "gateways", "there is no gateway", "defined", { 0 } },
        { OPT_CALENDAR, "calendars", "there is no calendar", "defined", { 0 } },
        { OPT_SUBSCRIPTION, "subscriptions", "there is no subscription", "defined", { 0 } },
        { OPT_DATABASE, "databases", "there is no database", "defined", { 0 } },
        { OPT_STEP, "services", "unknown service", "allowed", { 0 } },
    };
    size_t count = sizeof targets / sizeof targets[0];

    for (size_t i = 0; i < count; i++)
        targets[i].names = check_names_of(c, targets[i].section);
    for (const struct check_seen *s = c->references.first; s != NULL; s = s->next)
        for (size_t i = 0; i < count; i++) {
            const struct target *t = &targets[i];

            if (t->type == OPT_DATABASE && str_find(s->name, '/') >= 0)
                continue; /* of a peer: config_links.c */
            if (t->type != s->type || check_names_find(&t->names, s->name) != NULL)
                continue;
            if (t->type == OPT_DOCTYPE && check_names_find(&t->names, STR("*")) != NULL)
                continue; /* `types` has "*": every type is allowed */
            say_unresolved(c, s, t);
        }
}

static const char *zone_hint(const struct check *c, struct str name, char text[static 120])
{
    AUTO(buf_done) struct buf names = BUF_INIT(64 * 1024);
    struct option_guess guess = { .word = name };
    struct str one;

    if (c->problems->count < PROBLEM_MOST) /* a full list shows no further hint */
        zone_names(&names);
    for (struct str rest = buf_view(&names); rest.len > 0;) {
        rest = str_cut(rest, '\n', &one);
        option_guess_try(&guess, one);
    }
    if (guess.best.len > 0)
        (void)snprintf(text, 120, "did you mean `%.*s`?", STR_ARG(guess.best));
    else
        (void)snprintf(text, 120, "%s", option_form(OPT_ZONE));
    return text;
}

/* Loads each zone once: most files name few zones, many times. */
static void check_zones(struct check *c)
{
    struct zone_shelf known = { .arena = c->scratch };

    for (const struct check_seen *s = c->references.first; s != NULL; s = s->next) {
        const struct zone *zone;
        char text[120];
        struct err err;

        if (s->type == OPT_ZONE && !zone_shelf_get(&known, s->name, &zone, &err))
            problem_add(c->problems, s->node->place, zone_hint(c, s->name, text), "%s", err.text);
    }
}

/* The sorted names of all attributes that the configuration defines. */
static struct check_names attribute_names(struct check *c)
{
    struct check_names names = { 0 };
    size_t count = 0;

    for (const struct check_seen *s = c->attributes.first; s != NULL; s = s->next)
        count++;
    names.items = ARENA_ARRAY(c->scratch, struct check_name, count);
    for (const struct check_seen *s = c->attributes.first; s != NULL; s = s->next)
        names.items[names.count++] = (struct check_name){ s->name, s->node };
    check_names_sort(&names);
    return names;
}

/* Attributes of every document that is a part of another one (part.h). */
static bool is_of_part(struct str word)
{
    return str_is(word, "part") || str_is(word, "parts");
}

/* Keys of `when` other than sender, receiver and type must be defined attributes. */
static void check_attributes(struct check *c, const struct check_names *names)
{
    const struct option *routes = option_find(grammar_sections, STR("routes"));
    const struct option *when = option_find(routes->each->keys, STR("when"));

    for (const struct check_seen *s = c->unknown.first; s != NULL; s = s->next) {
        char name[PROBLEM_QUOTE], text[1400];
        struct check_hint hint;

        if (check_names_find(names, s->name) != NULL || is_of_part(s->name))
            continue;
        check_hint_start(&hint, c, s->name);
        for (const struct option *o = when->keys; o->name != NULL; o++)
            check_hint_add(&hint, str_of(o->name));
        check_hint_add_names(&hint, names);
        problem_add(c->problems, s->node->key->place, check_hint_text(&hint, "allowed", text),
                    "unknown key `%s` in `when`; no attribute has this name either",
                    problem_quote(name, s->name));
    }
}

/* The word is an attribute of batch documents, and there are batches. */
static bool is_of_batch(const struct check *c, struct str word)
{
    const struct yaml_node *batches = yaml_get(c->root, "batches");

    if (batches == NULL || batches->count == 0)
        return false;
    for (size_t i = 0; check_batch_words[i] != NULL; i++)
        if (str_is(word, check_batch_words[i]))
            return true;
    return false;
}

/* The word is one of a notice (engine/watch/notices), and notices go through endpoints. */
static bool is_of_notice(const struct check *c, struct str word)
{
    static const char *const words[] = { "notice", "code", "object", "message" };
    const struct yaml_node *to = yaml_get(yaml_get(c->root, "alerts"), "to");
    bool any = false;

    if (to == NULL || to->kind != YAML_MAP)
        return false;
    for (const struct yaml_node *t = to->first; t != NULL; t = t->next)
        any = any || yaml_get(t, "endpoint") != NULL;
    for (size_t i = 0; any && i < sizeof words / sizeof words[0]; i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

/* A word that no document can have would make every document a dead letter. */
static void check_words(struct check *c, const struct check_names *names)
{
    for (const struct check_seen *s = c->words.first; s != NULL; s = s->next) {
        char name[PROBLEM_QUOTE], text[1400];
        struct check_hint hint;
        const char *word;
        bool known = check_names_find(names, s->name) != NULL || is_of_batch(c, s->name) ||
                     is_of_part(s->name) || is_of_notice(c, s->name);

        check_hint_start(&hint, c, s->name);
        for (size_t i = 0; (word = template_word_at(i)) != NULL; i++) {
            known = known || str_is(s->name, word);
            check_hint_add(&hint, str_of(word));
        }
        if (known)
            continue;
        check_hint_add_names(&hint, names);
        problem_add(c->problems, s->node->place, check_hint_text(&hint, "allowed", text),
                    "no document has the word `%s`, and no attribute has this name",
                    problem_quote(name, s->name));
    }
}

/* ---- systems ---- */

/* Names and ids share one namespace: a text in a document must mean one system. */
static void check_ids(struct check *c)
{
    const struct yaml_node *systems = yaml_get(c->root, "systems");
    struct check_names ids = { 0 };
    size_t count = 0;

    if (systems == NULL || systems->kind != YAML_MAP)
        return;
    for (const struct yaml_node *s = systems->first; s != NULL; s = s->next) {
        const struct yaml_node *list = yaml_get(s, "ids");

        count += 1 + (list != NULL ? list->count : 0);
    }
    ids.items = ARENA_ARRAY(c->scratch, struct check_name, count);
    for (const struct yaml_node *s = systems->first; s != NULL; s = s->next) {
        const struct yaml_node *list = yaml_get(s, "ids");

        ids.items[ids.count++] = (struct check_name){ s->key->text, s->key };
        if (list == NULL || list->kind != YAML_LIST)
            continue;
        for (const struct yaml_node *i = list->first; i != NULL; i = i->next)
            if (i->kind == YAML_SCALAR)
                ids.items[ids.count++] = (struct check_name){ i->text, i };
    }
    require(ids.count <= count);
    check_names_sort(&ids);
    for (size_t i = 1; i < ids.count; i++) {
        const struct check_name *one = &ids.items[i - 1], *two = &ids.items[i];
        char name[PROBLEM_QUOTE];

        if (str_eq(one->text, two->text))
            problem_add(c->problems, two->node->place,
                        "each name and id belongs to exactly one system",
                        "the id `%s` is taken already, in line %u", problem_quote(name, two->text),
                        one->node->place.line);
    }
}

/* Times are minutes after midnight.  An invalid time was reported already and is skipped. */
static void check_window(struct check *c, const struct yaml_node *window)
{
    const struct yaml_node *open = yaml_get(window, "open"), *close = yaml_get(window, "close");
    int from = 0, to = 1440;
    struct err err;

    if ((open != NULL && !units_time(yaml_text(open), &from, &err)) ||
        (close != NULL && !units_time(yaml_text(close), &to, &err)))
        return;
    if (from == to || from - to == 1440) /* 24:00 to 00:00 is empty too */
        problem_add(c->problems, (close != NULL ? close : open)->place,
                    "leave both out for the whole day", "the window closes when it opens");
}

void check_windows(struct check *c, const struct yaml_node *window)
{
    if (window == NULL || window->kind != YAML_LIST) {
        check_window(c, window);
        return;
    }
    if (window->count > WINDOW_MOST)
        problem_add(c->problems, yaml_position(window), NULL, "there may be at most %d windows",
                    WINDOW_MOST);
    for (const struct yaml_node *w = window->first; w != NULL; w = w->next)
        check_window(c, w);
}

static void check_system(struct check *c, const struct yaml_node *system)
{
    const struct yaml_node *window = yaml_get(system, "window"), *order = yaml_get(system, "order");
    bool by_key = str_is(yaml_text(order), "key");

    check_windows(c, window);
    if (by_key && yaml_get(system, "order_by") == NULL)
        problem_add(c->problems, order->place, "such as order_by: \"hl7:PID-3\"",
                    "`order: key` needs `order_by`, which says where the key is found");
    if (!by_key && yaml_get(system, "order_by") != NULL)
        problem_add(c->problems, yaml_position(yaml_get(system, "order_by")),
                    "add `order: key`, or leave `order_by` out",
                    "`order_by` is only used with `order: key`");
}

/* ---- gateways and endpoints ---- */

static void check_gateway(struct check *c, const struct yaml_node *gateway)
{
    const struct yaml_node *auth = yaml_get(gateway, "auth"), *users = yaml_get(gateway, "users");
    char name[PROBLEM_QUOTE];

    if (str_is(yaml_text(auth), "basic") && (users == NULL || users->count == 0))
        problem_add(c->problems, auth->place, "users: { NAME: \"$argon2id$...\" }",
                    "`auth: basic` of gateway `%s` needs `users`",
                    problem_quote(name, gateway->key->text));
}

static void check_endpoint(struct check *c, const struct yaml_node *endpoint)
{
    const struct yaml_node *retry = yaml_get(endpoint, "retry");
    const struct yaml_node *first = yaml_get(retry, "first"), *most = yaml_get(retry, "most");
    int64_t a, b;
    struct err err;

    if (units_duration(yaml_text(first), &a, &err) && units_duration(yaml_text(most), &b, &err) &&
        a > b)
        problem_add(c->problems, first->place, "waits grow from `first` to `most`",
                    "`first` is longer than `most`");
}

/* ---- alerts ---- */

static void check_alert_target(struct check *c, const struct yaml_node *target)
{
    static const char *const of_url[] = { "headers", "timeout" };
    const struct check_names endpoints = check_names_of(c, "endpoints");
    const struct yaml_node *name = yaml_get(target, "endpoint");
    const struct check_name *found = check_names_find(&endpoints, yaml_text(name));
    char quoted[PROBLEM_QUOTE];

    if (name == NULL || found == NULL)
        return;
    const struct endpoint_type *type =
        connector_endpoint(c->options->connectors, yaml_text(yaml_get(found->node, "kind")));

    (void)problem_quote(quoted, yaml_text(name));
    for (size_t i = 0; i < sizeof of_url / sizeof of_url[0]; i++)
        if (yaml_get(target, of_url[i]) != NULL)
            problem_add(c->problems, yaml_position(yaml_get(target, of_url[i])),
                        "leave it out, or tell by `url`",
                        "`%s` is for `url`: that of endpoint `%s` is its own", of_url[i], quoted);
    if (type != NULL && type->http != NULL)
        problem_add(c->problems, name->place, "give its address as `url`",
                    "alerts are not told through endpoint `%s` of kind %s", quoted,
                    type->kind.name);
    if (yaml_get(found->node, "area") != NULL)
        problem_add(c->problems, name->place, "name one without `area`",
                    "endpoint `%s` is for nodes of one area, and any node may have to tell",
                    quoted);
}

static void for_each_of(struct check *c, const struct yaml_node *map,
                        void (*check)(struct check *c, const struct yaml_node *node))
{
    if (map != NULL && map->kind == YAML_MAP)
        for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
            check(c, n);
}

static void for_each(struct check *c, const char *section,
                     void (*check)(struct check *c, const struct yaml_node *node))
{
    for_each_of(c, yaml_get(c->root, section), check);
}

void check_open_gateways(const struct yaml_node *root, const char *host,
                         struct problem_list *problems)
{
    const struct yaml_node *map = yaml_get(root, "gateways");

    if (host[0] == '\0' || units_is_loopback(str_of(host)) || map == NULL || map->kind != YAML_MAP)
        return;
    for (const struct yaml_node *g = map->first; g != NULL; g = g->next) {
        const struct yaml_node *auth = yaml_get(g, "auth");
        char name[PROBLEM_QUOTE];

        if (str_is(yaml_text(auth), "none"))
            problem_add(problems, auth->place,
                        "use `auth: key` or `auth: basic`, or let the node listen on 127.0.0.1",
                        "`auth: none` of gateway `%s` is for a loopback address only; this node "
                        "listens on %s",
                        problem_quote(name, g->key->text), host);
    }
}

/* Checks the address in the text itself; one that is missing or invalid is skipped. */
static void check_listen(struct check *c)
{
    const struct yaml_node *listen = yaml_get(yaml_get(c->root, "node"), "listen");
    struct units_address address;
    struct err err;

    if (units_address(yaml_text(listen), &address, &err))
        check_open_gateways(c->root, address.host, c->problems);
}

void check_cross(struct check *c)
{
    check_listen(c);
    check_references_resolve(c);
    if (c->options->ask_zones)
        check_zones(c);
    struct check_names attributes = attribute_names(c);

    check_attributes(c, &attributes);
    check_words(c, &attributes);
    check_ids(c);
    for_each(c, "systems", check_system);
    for_each(c, "gateways", check_gateway);
    for_each(c, "endpoints", check_endpoint);
    for_each_of(c, yaml_get(yaml_get(c->root, "alerts"), "to"), check_alert_target);
}
