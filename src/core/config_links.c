/* config_links.c - checks of links: what a table is called, keys that depend on each other, and
 * tables that would be written twice, or by themselves. */
#include <stdlib.h>

#include "core/config_check.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/window.h"

enum {
    TABLE_BYTES = 128, /* of the name of a table, which is a part of the name of its job */
    HOPS_MOST = 16     /* of links behind each other */
};

/* ---- peers ---- */

static bool config_links_is_of_peer(const struct yaml_node *end)
{
    return str_find(yaml_text(end), '/') >= 0;
}

/* PEER/DATABASE: the peer is there and can be asked. */
static void config_links_check_end(struct check *c, const struct yaml_node *end)
{
    const struct yaml_node *peer;
    char quoted[PROBLEM_QUOTE];
    struct str name, database = str_cut(yaml_text(end), '/', &name);

    (void)problem_quote(quoted, name);
    peer = yaml_get(yaml_get(c->root, "peers"), arena_text(c->scratch, name));
    if (name.len == 0 || database.len == 0 || str_find(database, '/') >= 0)
        problem_add(c->problems, end->place,
                    "write PEER/DATABASE: a database as its location "
                    "calls it",
                    "`%s` is no database of a peer", problem_quote(quoted, yaml_text(end)));
    else if (peer == NULL)
        problem_add(c->problems, end->place, "define it below `peers`", "there is no peer `%s`",
                    quoted);
    else if (peer->kind == YAML_MAP && (yaml_text(yaml_get(peer, "url")).len == 0 ||
                                        yaml_text(yaml_get(peer, "key")).len == 0))
        problem_add(c->problems, end->place, "peers need `url` and `key` to be asked",
                    "peer `%s` cannot be asked", quoted);
}

static void config_links_check_ends(struct check *c, const struct yaml_node *link)
{
    static const char *const ends[] = { "from", "to" };
    size_t away = 0;

    for (size_t i = 0; i < 2; i++)
        if (config_links_is_of_peer(yaml_get(link, ends[i]))) {
            config_links_check_end(c, yaml_get(link, ends[i]));
            away++;
        }
    if (away == 2)
        problem_add(c->problems, yaml_position(yaml_get(link, "to")),
                    "let one of the two locations have the link",
                    "one end of a link is a database of this location");
}

/* Databases, or tables of them, over which a peer has rights. */
static void config_links_check_may(struct check *c, const struct yaml_node *peer)
{
    const struct yaml_node *may = yaml_get(peer, "may");
    const struct check_names databases = check_names_of(c, "databases");
    char quoted[PROBLEM_QUOTE];
    struct str name;

    if (may == NULL || may->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = may->first; n != NULL; n = n->next) {
        (void)str_cut(n->key->text, '/', &name);
        if (check_names_find(&databases, name) == NULL)
            problem_add(c->problems, n->key->place,
                        "it is DATABASE, or DATABASE/TABLE, of this location",
                        "there is no database `%s`", problem_quote(quoted, name));
    }
}

static void config_links_check_peers(struct check *c)
{
    const struct yaml_node *peers = yaml_get(c->root, "peers");

    if (peers == NULL || peers->kind != YAML_MAP)
        return;
    for (const struct yaml_node *p = peers->first; p != NULL; p = p->next)
        if (p->kind == YAML_MAP)
            config_links_check_may(c, p);
}

/* ---- one table ---- */

static void config_links_check_name(struct check *c, const struct yaml_node *key)
{
    static const char hint[] = "the name of a table is a part of that of its job, LINK/TABLE: 1 to "
                               "128 bytes without `/` and control characters, and without blanks "
                               "around it";
    struct str name = key->text;
    char quoted[PROBLEM_QUOTE];
    bool good = name.len > 0 && name.len <= TABLE_BYTES && name.ptr[0] != ' ' &&
                name.ptr[name.len - 1] != ' ';

    for (size_t i = 0; i < name.len; i++)
        good =
            good && name.ptr[i] != '/' && (unsigned char)name.ptr[i] >= 0x20 && name.ptr[i] != 0x7f;
    if (!good && name.len > 0) /* an empty one was reported */
        problem_add(c->problems, key->place, hint, "`%s` cannot be the name of a table of a link",
                    problem_quote(quoted, name));
}

/* A key that only means something beside another one. */
static void config_links_needs(struct check *c, const struct yaml_node *map, const char *key,
                               bool has, const char *hint, const char *why)
{
    const struct yaml_node *value = yaml_get(map, key);

    if (value != NULL && !has)
        problem_add(c->problems, yaml_position(value), hint, "`%s` %s", key, why);
}

/* Of a table without a journal. */
static void config_links_check_recent(struct check *c, const struct yaml_node *rules)
{
    for (const struct yaml_node *n = rules->first; n != NULL; n = n->next)
        if (n->kind == YAML_MAP && str_is(yaml_text(yaml_get(n, "mode")), "recent"))
            problem_add(c->problems, yaml_position(yaml_get(n, "mode")),
                        "such as { mode: sample, share: 1%, every: 1h }",
                        "`mode: recent` asks the journal, and a table has `capture: column`");
}

static void config_links_check_capture(struct check *c, const struct yaml_node *link,
                                       const struct yaml_node *table)
{
    const struct yaml_node *capture = yaml_get(table, "capture"), *rules = yaml_get(link, "verify");
    bool column = str_is(yaml_text(capture), "column");

    config_links_needs(c, table, "column", column, "add `capture: column`, or leave it out",
                       "is only used with `capture: column`");
    config_links_needs(c, table, "safety", column, "add `capture: column`, or leave it out",
                       "is only used with `capture: column`");
    if (column && yaml_text(yaml_get(table, "column")).len == 0)
        problem_add(c->problems, yaml_position(capture), "such as column: updated_at",
                    "`capture: column` needs `column`, which grows with each change of a row");
    if (column &&
        (rules == NULL || yaml_is_null(rules) || (rules->kind == YAML_LIST && rules->count == 0)))
        problem_add(c->problems, yaml_position(capture),
                    "such as verify: [ { mode: full, at: \"0 2 * * sun\" } ]",
                    "`capture: column` may miss rows: the link needs a rule of `verify`");
    if (column && rules != NULL && rules->kind == YAML_LIST)
        config_links_check_recent(c, rules);
}

/* Of a column that does not travel nothing else can be said. */
static void config_links_check_columns(struct check *c, const struct yaml_node *table)
{
    static const char *const keys[] = { "cast", "round" };
    const struct yaml_node *ignore = yaml_get(table, "ignore");
    struct check_names ignored = { 0 };
    char name[PROBLEM_QUOTE];

    if (ignore == NULL || ignore->kind != YAML_LIST)
        return;
    ignored.items = ARENA_ARRAY(c->scratch, struct check_name, ignore->count);
    for (const struct yaml_node *n = ignore->first; n != NULL; n = n->next)
        ignored.items[ignored.count++] = (struct check_name){ n->text, n };
    check_names_sort(&ignored);
    for (size_t i = 0; i < 2; i++) {
        const struct yaml_node *map = yaml_get(table, keys[i]);

        if (map == NULL || map->kind != YAML_MAP)
            continue;
        for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
            if (check_names_find(&ignored, n->key->text) != NULL)
                problem_add(c->problems, n->key->place, "keep one of them",
                            "column `%s` is in `ignore`, and in `%s`",
                            problem_quote(name, n->key->text), keys[i]);
    }
}

/* ---- one rule of `verify` ---- */

static void config_links_check_rule(struct check *c, const struct yaml_node *rule)
{
    struct str mode = yaml_text(yaml_get(rule, "mode"));
    const struct yaml_node *repair = yaml_get(rule, "repair");
    bool repairs = str_is(yaml_text(repair), "on");

    check_schedule(c, rule);
    config_links_needs(c, rule, "share", str_is(mode, "sample"),
                       "add `mode: sample`, or leave it out", "is only used with `mode: sample`");
    config_links_needs(c, rule, "most", repairs, "add `repair: on`, or leave it out",
                       "is only used with `repair: on`");
    if (repairs && str_is(mode, "count"))
        problem_add(c->problems, yaml_position(repair), "compare with `mode: full`",
                    "`mode: count` finds no rows that could be repaired");
}

static void config_links_check_rules(struct check *c, const struct yaml_node *verify)
{
    if (verify == NULL || verify->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = verify->first; n != NULL; n = n->next)
        if (n->kind == YAML_MAP)
            config_links_check_rule(c, n);
}

/* ---- one link ---- */

/* A kind that is not known was told. */
static bool config_links_groups(const struct check *c, struct str kind)
{
    const struct option_kind *const *kinds = c->options->connectors->database_kinds;

    for (size_t i = 0; kinds != NULL && kinds[i] != NULL; i++)
        if (str_is(kind, kinds[i]->name))
            return kinds[i]->groups;
    return true;
}

/* Of a database elsewhere it is seen when it is asked. */
static void config_links_check_group(struct check *c, const struct yaml_node *link)
{
    const struct yaml_node *atomic = yaml_get(link, "atomic"), *from = yaml_get(link, "from");
    const struct yaml_node *tables = yaml_get(link, "tables"), *database;
    static const char hint[] = "leave it out: `atomic: batch`";
    bool group = str_is(yaml_text(atomic), "group");

    config_links_needs(c, link, "group_most", group, "add `atomic: group`, or leave it out",
                       "is only used with `atomic: group`");
    if (!group)
        return;
    database = yaml_get(yaml_get(c->root, "databases"), arena_text(c->scratch, yaml_text(from)));
    if (database != NULL && !config_links_groups(c, yaml_text(yaml_get(database, "kind"))))
        problem_add(c->problems, yaml_position(atomic), hint,
                    "`atomic: group` needs a source that says which change is of which "
                    "transaction, such as PostgreSQL");
    if (tables == NULL || tables->kind != YAML_MAP)
        return;
    for (const struct yaml_node *t = tables->first; t != NULL; t = t->next)
        if (str_is(yaml_text(yaml_get(t, "capture")), "column"))
            problem_add(c->problems, yaml_position(yaml_get(t, "capture")), hint,
                        "`atomic: group` needs a journal, and a table has `capture: column`");
}

static void config_links_check_link(struct check *c, const struct yaml_node *link)
{
    const struct yaml_node *tables = yaml_get(link, "tables");

    config_links_check_ends(c, link);
    check_link_rule(c, link);
    config_links_check_group(c, link);
    check_schedule(c, link);
    config_links_check_rules(c, yaml_get(link, "verify"));
    if (tables == NULL || (tables->kind != YAML_MAP && !yaml_is_null(tables)))
        return;
    if (tables->kind != YAML_MAP || tables->count == 0)
        problem_add(c->problems, yaml_position(tables), "such as tables: { customer: {} }",
                    "the link has no tables");
    for (const struct yaml_node *t = tables->first; t != NULL; t = t->next) {
        config_links_check_name(c, t->key);
        config_links_check_capture(c, link, t);
        config_links_check_columns(c, t);
    }
}

/* ---- all of them: where rows go ---- */

/* A table of a database. */
struct link_place {
    struct str database, table;
};

struct link_way {
    struct link_place from, to;
    const struct yaml_node *link, *table;
};

struct link_ways {
    struct link_way *items;
    size_t count;
};

/* A database; `same`: the name that it has first in the file, as far as the texts tell, so that two
 * names for one database are one. */
struct link_base {
    struct str name, address, same;
    size_t at;
};

struct link_bases {
    struct link_base *items;
    size_t count;
};

static int config_links_by_address(const void *a, const void *b)
{
    const struct link_base *x = a, *y = b;
    int c = str_cmp(x->address, y->address);

    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

static int config_links_by_name(const void *a, const void *b)
{
    const struct link_base *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

static struct link_bases config_links_bases(const struct check *c)
{
    const struct yaml_node *all = yaml_get(c->root, "databases");
    struct link_bases b = { 0 };

    if (all == NULL || all->kind != YAML_MAP || all->count == 0)
        return b;
    b.items = ARENA_ARRAY(c->scratch, struct link_base, all->count);
    for (const struct yaml_node *d = all->first; d != NULL; d = d->next) {
        struct str dsn = yaml_text(yaml_get(d, "dsn")), path = yaml_text(yaml_get(d, "path"));

        b.items[b.count++] = (struct link_base){ .name = d->key->text,
                                                 .address = dsn.len > 0 ? dsn : path,
                                                 .at = d->at };
    }
    qsort(b.items, b.count, sizeof *b.items, config_links_by_address);
    for (size_t i = 0; i < b.count; i++) {
        struct link_base *one = &b.items[i];
        bool again = i > 0 && one->address.len > 0 && str_eq(one->address, one[-1].address);

        one->same = again ? one[-1].same : one->name;
    }
    qsort(b.items, b.count, sizeof *b.items, config_links_by_name);
    return b;
}

static struct str config_links_same(const struct link_bases *b, struct str name)
{
    const struct link_base key = { .name = name };
    const struct link_base *found =
        b->count == 0 ? NULL
                      : bsearch(&key, b->items, b->count, sizeof *b->items, config_links_by_name);

    return found != NULL ? found->same : name;
}

static int config_links_compare(const struct link_place *a, const struct link_place *b)
{
    int c = str_cmp(a->database, b->database);

    return c != 0 ? c : str_cmp(a->table, b->table);
}

static int config_links_by_target(const void *a, const void *b)
{
    const struct link_way *x = a, *y = b;
    int c = config_links_compare(&x->to, &y->to);

    return c != 0 ? c : (x->table->at > y->table->at) - (x->table->at < y->table->at);
}

static const struct link_way *config_links_into(const struct link_ways *w,
                                                const struct link_place *p)
{
    size_t low = 0, high = w->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (config_links_compare(&w->items[middle].to, p) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->count && config_links_compare(&w->items[low].to, p) == 0 ? &w->items[low]
                                                                             : NULL;
}

static void config_links_add_ways(const struct link_bases *b, struct link_ways *w,
                                  const struct yaml_node *link)
{
    const struct yaml_node *from = yaml_get(link, "from"), *to = yaml_get(link, "to");
    const struct yaml_node *tables = yaml_get(link, "tables");

    if (yaml_text(from).len == 0 || yaml_text(to).len == 0 || tables == NULL ||
        tables->kind != YAML_MAP || config_links_is_of_peer(from) || config_links_is_of_peer(to))
        return;
    struct str source = config_links_same(b, yaml_text(from));
    struct str target = config_links_same(b, yaml_text(to));

    for (const struct yaml_node *t = tables->first; t != NULL; t = t->next) {
        struct str other = yaml_text(yaml_get(t, "to"));

        w->items[w->count++] = (struct link_way){
            { source, t->key->text }, { target, other.len > 0 ? other : t->key->text }, link, t
        };
    }
}

/* Rows that come back to where they were changed would go round for ever.  Of two links that go
 * both ways each knows what came from the other. */
static bool config_links_is_circle(const struct link_ways *w, const struct link_way *way)
{
    const struct link_way *before = way;

    for (int hops = 0; before != NULL && hops < HOPS_MOST; hops++) {
        if (config_links_compare(&before->from, &way->to) == 0)
            return hops != 1 || before->link == way->link;
        before = config_links_into(w, &before->from);
    }
    return false;
}

static void config_links_check_way(struct check *c, const struct link_ways *w, size_t i)
{
    const struct link_way *way = &w->items[i];
    char table[PROBLEM_QUOTE], database[PROBLEM_QUOTE], link[PROBLEM_QUOTE];

    (void)problem_quote(table, way->to.table);
    (void)problem_quote(database, way->to.database);
    if (i > 0 && config_links_compare(&w->items[i - 1].to, &way->to) == 0)
        problem_add(c->problems, way->table->key->place, "a table is written by one link only",
                    "table `%s` of database `%s` is the destination of link `%s` already", table,
                    database, problem_quote(link, w->items[i - 1].link->key->text));
    else if (config_links_compare(&way->from, &way->to) == 0)
        problem_add(c->problems, way->table->key->place,
                    "name another database, or another table by `to`",
                    "table `%s` of database `%s` cannot be its own destination", table, database);
    else if (config_links_is_circle(w, way))
        problem_add(c->problems, way->table->key->place,
                    "leave one of the links out: only two links may go both ways",
                    "rows of table `%s` of database `%s` would come back to it", table, database);
}

static size_t config_links_count(const struct yaml_node *links)
{
    size_t count = 0;

    for (const struct yaml_node *l = links->first; l != NULL; l = l->next) {
        const struct yaml_node *tables = yaml_get(l, "tables");

        count += tables != NULL && tables->kind == YAML_MAP ? tables->count : 0;
    }
    return count;
}

static void config_links_check_ways(struct check *c, const struct yaml_node *links)
{
    const struct link_bases b = config_links_bases(c);
    struct link_ways w = { .items = ARENA_ARRAY(c->scratch, struct link_way,
                                                config_links_count(links)) };

    for (const struct yaml_node *l = links->first; l != NULL; l = l->next)
        config_links_add_ways(&b, &w, l);
    if (w.count > 1)
        qsort(w.items, w.count, sizeof *w.items, config_links_by_target);
    for (size_t i = 0; i < w.count; i++)
        config_links_check_way(c, &w, i);
}

/* ---- times that never come ---- */

static void config_links_check_times(struct check *c, const struct yaml_node *links)
{
    struct window_maker m = window_maker(c->root, c->scratch);
    size_t looks = 0;

    for (const struct yaml_node *l = links->first; l != NULL; l = l->next) {
        const struct yaml_node *verify = yaml_get(l, "verify");

        if (verify == NULL || verify->kind != YAML_LIST)
            continue;
        for (const struct yaml_node *rule = verify->first; rule != NULL; rule = rule->next)
            check_schedule_comes(c, &m, rule, &looks);
    }
}

void check_links(struct check *c)
{
    const struct yaml_node *links = yaml_get(c->root, "links");

    config_links_check_peers(c);
    if (links == NULL || links->kind != YAML_MAP)
        return;
    for (const struct yaml_node *l = links->first; l != NULL; l = l->next)
        if (l->kind == YAML_MAP)
            config_links_check_link(c, l);
    config_links_check_ways(c, links);
    for (const struct yaml_node *l = links->first; l != NULL; l = l->next)
        if (l->kind == YAML_MAP)
            check_link_pairs(c, l);
    if (c->options->ask_zones && c->problems->count == 0)
        config_links_check_times(c, links);
}
