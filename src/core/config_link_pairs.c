/* config_link_pairs.c - tables that go both ways: two links with `from` and `to` the other way
 * round.  What they say has to fit together.
 *
 * Both are of one configuration, or one is of another location, and `back` has its name.  What that
 * one says is asked for when it runs (link_pair.h). */
#include <string.h>

#include "core/config_check.h"
#include "core/link_pair.h"

#define PAIR_VERSION "version:"

/* ---- finding ---- */

static struct str pair_address(const struct yaml_node *root, struct str name)
{
    const struct yaml_node *d = yaml_get(yaml_get(root, "databases"), name.ptr);
    struct str dsn = yaml_text(yaml_get(d, "dsn"));

    return dsn.len > 0 ? dsn : yaml_text(yaml_get(d, "path"));
}

/* As far as the texts tell. */
static bool pair_same_database(const struct yaml_node *root, struct str a, struct str b)
{
    if (a.len == 0 || b.len == 0)
        return false;
    struct str address = pair_address(root, a);

    return str_eq(a, b) || (address.len > 0 && str_eq(address, pair_address(root, b)));
}

static struct str pair_target(const struct yaml_node *table)
{
    struct str to = yaml_text(yaml_get(table, "to"));

    return to.len > 0 ? to : table->key->text;
}

static struct str pair_peer(const struct yaml_node *link, const char *end)
{
    struct str name = yaml_text(yaml_get(link, end)), peer;

    if (str_find(name, '/') < 0)
        return STR("");
    (void)str_cut(name, '/', &peer);
    return peer;
}

/* The location that one end of a link is at; empty: both are here. */
static struct str pair_away(const struct yaml_node *link)
{
    struct str from = pair_peer(link, "from");

    return from.len > 0 ? from : pair_peer(link, "to");
}

/* Of this configuration. */
static bool pair_find(const struct yaml_node *root, const struct yaml_node *link,
                      const struct yaml_node *table, struct link_way_back *ret)
{
    const struct yaml_node *links = yaml_get(root, "links");
    struct str from = yaml_text(yaml_get(link, "from")), to = yaml_text(yaml_get(link, "to"));

    for (const struct yaml_node *l = links->first; l != NULL; l = l->next) {
        const struct yaml_node *tables = yaml_get(l, "tables");

        if (l == link || l->kind != YAML_MAP || tables == NULL || tables->kind != YAML_MAP ||
            !pair_same_database(root, yaml_text(yaml_get(l, "from")), to) ||
            !pair_same_database(root, yaml_text(yaml_get(l, "to")), from))
            continue;
        for (const struct yaml_node *t = tables->first; t != NULL; t = t->next)
            if (str_eq(t->key->text, pair_target(table)) &&
                str_eq(pair_target(t), table->key->text)) {
                *ret = (struct link_way_back){
                    .link = l->key->text, .table = t->key->text, .peer = STR(""), .of = l
                };
                return true;
            }
    }
    return false;
}

bool config_link_back(const struct yaml_node *root, const struct yaml_node *link,
                      const struct yaml_node *table, struct link_way_back *ret)
{
    struct str back = yaml_text(yaml_get(link, "back")), peer = pair_away(link);

    if (pair_find(root, link, table, ret))
        return true;
    if (back.len == 0 || peer.len == 0)
        return false;
    *ret = (struct link_way_back){ .link = back, .table = pair_target(table), .peer = peer };
    return true;
}

/* ---- what they say ---- */

static struct str pair_rule(const struct yaml_node *link)
{
    struct str rule = yaml_text(yaml_get(link, "conflict"));

    return rule.len > 0 ? rule : STR("source");
}

static bool pair_rules_fit(struct str a, struct str b)
{
    if (str_is(a, "source") || str_is(a, "dest"))
        return str_is(b, str_is(a, "source") ? "dest" : "source");
    return str_eq(a, b);
}

static void pair_check_rule(struct check *c, const struct yaml_node *link,
                            const struct yaml_node *back)
{
    const struct yaml_node *conflict = yaml_get(link, "conflict");
    char of[PROBLEM_QUOTE], other[PROBLEM_QUOTE];

    if (back->at < link->at && !pair_rules_fit(pair_rule(link), pair_rule(back)))
        problem_add(c->problems, conflict != NULL ? yaml_position(conflict) : link->key->place,
                    "say `conflict: source` in one of them and `conflict: dest` in the other, or "
                    "the same `last`, `version:COLUMN` or `manual` in both",
                    "links `%s` and `%s` go both ways, and do not say alike which row wins where "
                    "both sides have changed one",
                    problem_quote(of, back->key->text), problem_quote(other, link->key->text));
}

/* Of what a table of a pair says itself. */
static void pair_check_table(struct check *c, const struct yaml_node *link,
                             const struct yaml_node *table)
{
    const struct yaml_node *capture = yaml_get(table, "capture"), *rules = yaml_get(link, "verify");

    if (str_is(yaml_text(capture), "append"))
        problem_add(
            c->problems, yaml_position(capture), "leave it out: `capture: journal`",
            "`capture: append` only sees rows that are added, and the table goes both ways");
    if (str_is(yaml_text(yaml_get(link, "atomic")), "group"))
        problem_add(c->problems, yaml_position(yaml_get(link, "atomic")),
                    "leave it out: `atomic: batch`",
                    "`atomic: group` writes whole transactions of the source, and where the table "
                    "goes both ways some of their rows may lose against others");
    if (str_is(yaml_text(capture), "column"))
        problem_add(c->problems, yaml_position(capture), "leave it out: `capture: journal`",
                    "`capture: column` does not know where a change came from, and the table goes "
                    "both ways");
    if (rules == NULL || rules->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = rules->first; n != NULL; n = n->next)
        if (n->kind == YAML_MAP && str_is(yaml_text(yaml_get(n, "repair")), "on"))
            problem_add(c->problems, yaml_position(yaml_get(n, "repair")),
                        "leave it out; `waybill repl resync` takes all rows again, by the rule",
                        "`repair: on` would overwrite rows of a table that goes both ways");
}

static void pair_check_alone(struct check *c, const struct yaml_node *link)
{
    const struct yaml_node *conflict = yaml_get(link, "conflict");
    struct str rule = pair_rule(link);

    if (conflict != NULL && !str_is(rule, "source"))
        problem_add(c->problems, yaml_position(conflict),
                    "add the link of the other direction, or leave it out",
                    "`conflict: %.*s` is only used where rows go both ways",
                    STR_ARG(str_first(rule, 60)));
}

/* `back` names a link of the location that the other end is at. */
static void pair_check_back(struct check *c, const struct yaml_node *link,
                            const struct yaml_node *here)
{
    const struct yaml_node *back = yaml_get(link, "back");
    char quoted[PROBLEM_QUOTE];

    if (back == NULL || back->kind != YAML_SCALAR || back->text.len == 0)
        return;
    (void)problem_quote(quoted, back->text);
    if (pair_away(link).len == 0)
        problem_add(c->problems, back->place,
                    "leave it out: a link of the other direction that is here is found without it",
                    "`back` names a link of another location, and both ends of the link are here");
    else if (str_eq(back->text, link->key->text))
        problem_add(c->problems, back->place,
                    "it is the name of the link of the other direction, which the other location "
                    "has",
                    "`back: %s` names the link itself", quoted);
    else if (here != NULL || yaml_get(yaml_get(c->root, "links"), back->text.ptr) != NULL)
        problem_add(c->problems, back->place,
                    "leave it out, or call the links by different names: one of the other "
                    "direction that is here is found without it",
                    "`back` names a link of another location, and link `%s` is here",
                    here != NULL ? problem_quote(quoted, here->key->text) : quoted);
}

void check_link_pairs(struct check *c, const struct yaml_node *link)
{
    const struct yaml_node *tables = yaml_get(link, "tables"), *last = NULL;
    struct link_way_back back;
    bool goes = false;

    if (tables == NULL || tables->kind != YAML_MAP)
        return;
    for (const struct yaml_node *t = tables->first; t != NULL; t = t->next) {
        if (!config_link_back(c->root, link, t, &back))
            continue;
        goes = true;
        if (back.of != NULL && back.of != last)
            pair_check_rule(c, link, back.of);
        last = back.of != NULL ? back.of : last;
        pair_check_table(c, link, t);
    }
    pair_check_back(c, link, last);
    if (!goes)
        pair_check_alone(c, link);
}

/* `conflict` of a link. */
void check_link_rule(struct check *c, const struct yaml_node *link)
{
    const struct yaml_node *conflict = yaml_get(link, "conflict");
    struct str rule = pair_rule(link);
    char quoted[PROBLEM_QUOTE];

    if (conflict == NULL || str_is(rule, "source") || str_is(rule, "dest") ||
        str_is(rule, "manual") || str_is(rule, "last") ||
        (str_starts(rule, STR(PAIR_VERSION)) && rule.len > strlen(PAIR_VERSION)))
        return;
    problem_add(c->problems, yaml_position(conflict),
                "source, dest, last, version:COLUMN or manual; such as version:changed_at",
                "`conflict: %s` is no rule", problem_quote(quoted, rule));
}

/* ---- at run time ---- */

static const struct yaml_node *pair_link_there(const struct link_pair *p, const char **ret_why)
{
    const struct yaml_node *link = yaml_get(yaml_get(p->root, "links"), p->back_text);
    struct str end = yaml_text(yaml_get(link, p->database_is_source ? "to" : "from"));
    struct str peer = pair_peer(link, p->database_is_source ? "from" : "to");

    *ret_why = NULL;
    if (link == NULL || link->kind != YAML_MAP || !str_eq(peer, p->peer) ||
        !str_eq(end, p->database))
        *ret_why = "there is no such link between these two databases";
    else if (!str_eq(yaml_text(yaml_get(link, "back")), p->link))
        *ret_why = "it does not name this link with `back`";
    return link;
}

const char *link_pair_differs(const struct link_pair *p)
{
    const char *why;
    const struct yaml_node *link = pair_link_there(p, &why), *tables, *table;

    if (why != NULL)
        return why;
    tables = yaml_get(link, "tables");
    table =
        tables != NULL && tables->kind == YAML_MAP ? yaml_get(tables, p->back_table_text) : NULL;
    if (table == NULL || !str_eq(pair_target(table), p->table))
        return "it does not have this table, or calls it otherwise";
    if (!pair_rules_fit(pair_rule(link), p->rule))
        return "it does not say alike which row wins: `conflict: source` in one of them and "
               "`conflict: dest` in the other, or the same `last`, `version:COLUMN` or `manual` in "
               "both";
    return NULL;
}
