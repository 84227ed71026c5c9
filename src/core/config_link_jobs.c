/* config_link_jobs.c - the jobs that links are made of: one for each table, and one for each table
 * and rule of `verify`.
 *
 * They are entries like those of `jobs`, as if somebody had written them, with everything in their
 * map that they need of the link and its databases.  So whatever knows jobs knows them, and the
 * digest of their settings covers what they depend on, and nothing else:
 *
 *     kind: replicate, every: 1s, ...          as of a job
 *     link: orders, table: customer, from: erp, to: mirror
 *     databases: { erp: {...}, mirror: {...} }
 *     peers: { berlin: {...} }                 of ends that are away
 *     deletes: {...}, atomic: ...              as of the link
 *     of_table: {...}, of_rule: {...}          the maps of both
 *     back_link: back, back_table: customer    where the table goes both ways, and `conflict`
 *     back_peer: berlin                        where that link is at another location
 *     of_every: 1s, of_idle: 5s                of verify: how often replication runs
 */
#include "core/config_check.h"
#include "core/grammar.h"

enum { LINK_MAPS = 2 }; /* ends of a link */

/* ---- maps ---- */

static struct yaml_node *link_jobs_map(struct arena *a, struct place place)
{
    struct yaml_node *map = ARENA_NEW(a, struct yaml_node);

    *map = (struct yaml_node){ .kind = YAML_MAP, .place = place, .text = STR("") };
    return map;
}

/* What is not written is left out. */
static void link_jobs_put(struct arena *a, struct yaml_node *map, struct str key,
                          const struct yaml_node *value)
{
    if (value != NULL && !yaml_is_null(value))
        yaml_put(map, key, value, a);
}

static void link_jobs_put_text(struct arena *a, struct yaml_node *map, const char *key,
                               struct str text)
{
    const struct yaml_node value = { .kind = YAML_SCALAR, .place = map->place, .text = text };

    link_jobs_put(a, map, str_of(key), &value);
}

static void link_jobs_put_keys(struct arena *a, struct yaml_node *map, const struct yaml_node *from,
                               const char *const *keys)
{
    for (size_t i = 0; keys[i] != NULL; i++)
        link_jobs_put(a, map, str_of(keys[i]), yaml_get(from, keys[i]));
}

/* The value of a key of the link, or its default. */
static struct str link_jobs_text(const struct yaml_node *map, const struct option *keys,
                                 const char *key)
{
    const struct yaml_node *value = yaml_get(map, key);
    const struct option *o = option_find(keys, str_of(key));

    return value != NULL && !yaml_is_null(value) ? yaml_text(value)
           : o->fallback != NULL                 ? str_of(o->fallback)
                                                 : STR("");
}

/* ---- one job ---- */

static void link_jobs_put_retry(struct arena *a, struct yaml_node *job,
                                const struct yaml_node *link)
{
    static const char *const keys[] = { "first", "most", "for", NULL };
    const struct option *all = option_find(grammar_link, STR("retry"))->keys;
    struct yaml_node *retry = link_jobs_map(a, job->place);

    for (size_t i = 0; keys[i] != NULL; i++)
        link_jobs_put_text(a, retry, keys[i],
                           link_jobs_text(yaml_get(link, "retry"), all, keys[i]));
    link_jobs_put(a, job, STR("retry"), retry);
}

/* How a peer is asked; what it may do here is no setting of our jobs. */
static void link_jobs_put_peer(struct config *c, struct yaml_node *peers, const char *name)
{
    static const char *const keys[] = { "url", "key", "timeout", "tls", NULL };
    const struct yaml_node *from = yaml_get(yaml_get(c->root, "peers"), name);
    struct yaml_node *peer;

    if (from == NULL || yaml_get(peers, name) != NULL)
        return;
    peer = link_jobs_map(&c->arena, from->place);
    link_jobs_put_keys(&c->arena, peer, from, keys);
    link_jobs_put(&c->arena, peers, str_of(name), peer);
}

static void link_jobs_put_databases(struct config *c, struct yaml_node *job,
                                    const struct yaml_node *link)
{
    static const char *const ends[LINK_MAPS] = { "from", "to" };
    const struct yaml_node *all = yaml_get(c->root, "databases");
    struct yaml_node *databases = link_jobs_map(&c->arena, job->place);
    struct yaml_node *peers = link_jobs_map(&c->arena, job->place);

    for (size_t i = 0; i < LINK_MAPS; i++) {
        struct str name = yaml_text(yaml_get(link, ends[i])), peer;

        link_jobs_put_text(&c->arena, job, ends[i], name);
        if (str_find(name, '/') >= 0) {
            (void)str_cut(name, '/', &peer);
            link_jobs_put_peer(c, peers, arena_text(&c->arena, peer));
        } else if (yaml_get(databases, name.ptr) == NULL) {
            link_jobs_put(&c->arena, databases, name, yaml_get(all, name.ptr));
        }
    }
    link_jobs_put(&c->arena, job, STR("databases"), databases);
    if (peers->count > 0)
        link_jobs_put(&c->arena, job, STR("peers"), peers);
}

/* What the jobs of a link have alike: the end of the map of each, shared by all. */
static struct yaml_node *link_jobs_common(struct config *c, const struct yaml_node *link)
{
    static const char *const of_link[] = { "title",      "area",   "deletes",    "message_limit",
                                           "quarantine", "atomic", "group_most", NULL };
    struct yaml_node *common = link_jobs_map(&c->arena, link->key->place);

    link_jobs_put_text(&c->arena, common, "suspend",
                       STR("never")); /* its state says why it stops */
    link_jobs_put_retry(&c->arena, common, link);
    link_jobs_put_keys(&c->arena, common, link, of_link);
    link_jobs_put_text(&c->arena, common, "link", link->key->text);
    link_jobs_put_databases(c, common, link);
    return common;
}

/* Of a table that goes both ways. */
static void link_jobs_put_back(struct config *c, struct yaml_node *job,
                               const struct yaml_node *link, const struct yaml_node *table)
{
    struct link_way_back back;

    if (!config_link_back(c->root, link, table, &back))
        return;
    link_jobs_put_text(&c->arena, job, "back_link", back.link);
    link_jobs_put_text(&c->arena, job, "back_table", back.table);
    if (back.peer.len > 0)
        link_jobs_put_text(&c->arena, job, "back_peer", back.peer);
    link_jobs_put_text(&c->arena, job, "conflict", link_jobs_text(link, grammar_link, "conflict"));
}

static struct yaml_node *link_jobs_start(struct config *c, const char *kind,
                                         const struct yaml_node *link,
                                         const struct yaml_node *table)
{
    struct yaml_node *job = link_jobs_map(&c->arena, yaml_position(table));

    link_jobs_put_text(&c->arena, job, "kind", str_of(kind));
    link_jobs_put_text(&c->arena, job, "table", table->key->text);
    link_jobs_put(&c->arena, job, STR("of_table"), table);
    link_jobs_put_back(c, job, link, table);
    return job;
}

static struct config_entry link_jobs_entry(const char *name, const char *kind, struct place place,
                                           struct yaml_node *job, const struct yaml_node *common)
{
    job->last->next = common->first;
    job->last = common->last;
    job->count += common->count;
    return (struct config_entry){ .name = name, .kind = kind, .place = place, .node = job };
}

static struct config_entry link_jobs_replicate(struct config *c, const struct yaml_node *link,
                                               const struct yaml_node *common,
                                               const struct yaml_node *table)
{
    static const char *const of_link[] = { "idle_most", NULL };
    struct yaml_node *job = link_jobs_start(c, CONFIG_KIND_REPLICATE, link, table);
    const char *name =
        arena_printf(&c->arena, "%.*s/%.*s", STR_ARG(link->key->text), STR_ARG(table->key->text));

    link_jobs_put_text(&c->arena, job, "every", link_jobs_text(link, grammar_link, "every"));
    link_jobs_put_keys(&c->arena, job, link, of_link);
    return link_jobs_entry(name, CONFIG_KIND_REPLICATE, job->place, job, common);
}

/* `number` from 1. */
static struct config_entry link_jobs_verify(struct config *c, const struct yaml_node *link,
                                            const struct yaml_node *common,
                                            const struct yaml_node *table,
                                            const struct yaml_node *rule, size_t number)
{
    static const char *const of_rule[] = { "at", "every", "zone", "holidays", "window", NULL };
    struct yaml_node *job = link_jobs_start(c, CONFIG_KIND_VERIFY, link, table);
    const char *name = arena_printf(&c->arena, "%.*s/%.*s/verify", STR_ARG(link->key->text),
                                    STR_ARG(table->key->text));

    if (number > 1)
        name = arena_printf(&c->arena, "%s-%zu", name, number);
    link_jobs_put_keys(&c->arena, job, rule, of_rule);
    link_jobs_put(&c->arena, job, STR("of_rule"), rule);
    link_jobs_put_text(&c->arena, job, "of_every", link_jobs_text(link, grammar_link, "every"));
    link_jobs_put(&c->arena, job, STR("of_idle"), yaml_get(link, "idle_most"));
    return link_jobs_entry(name, CONFIG_KIND_VERIFY, yaml_position(rule), job, common);
}

/* ---- all of them ---- */

static const struct yaml_node *link_jobs_rules(const struct yaml_node *link, size_t *ret_count)
{
    const struct yaml_node *verify = yaml_get(link, "verify");
    bool some = verify != NULL && verify->kind == YAML_LIST;

    *ret_count = some ? verify->count : 0;
    return some ? verify->first : NULL;
}

size_t check_link_jobs(const struct yaml_node *root)
{
    const struct yaml_node *links = yaml_get(root, "links"), *tables;
    size_t count = 0, rules;

    if (links == NULL || links->kind != YAML_MAP)
        return 0;
    for (const struct yaml_node *l = links->first; l != NULL; l = l->next) {
        (void)link_jobs_rules(l, &rules);
        tables = yaml_get(l, "tables");
        count += tables != NULL && tables->kind == YAML_MAP ? tables->count * (1 + rules) : 0;
    }
    return count;
}

static void link_jobs_of(struct config *c, const struct yaml_node *link, struct config_entry *list,
                         size_t *io_count)
{
    const struct yaml_node *tables = yaml_get(link, "tables"), *rule;
    const struct yaml_node *common = link_jobs_common(c, link);
    size_t rules;

    for (const struct yaml_node *t = tables->first; t != NULL; t = t->next) {
        list[(*io_count)++] = link_jobs_replicate(c, link, common, t);
        rule = link_jobs_rules(link, &rules);
        for (size_t i = 0; i < rules; i++, rule = rule->next)
            list[(*io_count)++] = link_jobs_verify(c, link, common, t, rule, i + 1);
    }
}

void config_build_link_jobs(struct config *c)
{
    const struct yaml_node *links = yaml_get(c->root, "links");
    size_t most = check_link_jobs(c->root);

    if (most == 0)
        return;
    struct config_entry *list = ARENA_ARRAY(&c->arena, struct config_entry, c->job_count + most);

    for (size_t i = 0; i < c->job_count; i++)
        list[i] = c->jobs[i];
    for (const struct yaml_node *l = links->first; l != NULL; l = l->next)
        link_jobs_of(c, l, list, &c->job_count);
    c->jobs = list;
}
