#include "job/check_rule.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "core/problem.h"
#include "core/yaml.h"
#include "core/zone.h"
#include "table/database_settings.h"

enum { TITLE_NAME = 60, TITLE_MOST = 200 };

#define RULE_DAY_US (INT64_C(86400) * CLOCK_S)

/* ---- keys ---- */

static const struct option value_each = { .type = OPT_TEXT, .help = "the value" };

static const struct option rule_keys[] = {
    OPTION("duplicates", OPT_TEXT,
           "a table: no two rows are to have the same values in `columns`; NULL is like no other",
           .flags = OPT_ONE_OF),
    OPTION("orphans", OPT_TEXT,
           "a table: what `columns` of a row name is to be there, in `keys` of the table `in`; a "
           "row with NULL names nothing",
           .flags = OPT_ONE_OF),
    OPTION("older", OPT_TEXT, "a table: no row is to be older than `than`, by its `column`",
           .flags = OPT_ONE_OF),
    OPTION("counts", OPT_TEXT,
           "a table: it is to have as many rows as a table of the database `with`",
           .flags = OPT_ONE_OF),
    OPTION("columns", OPT_TEXT, "of `duplicates` and `orphans`: which columns",
           .flags = OPT_OR_LIST),
    OPTION("in", OPT_TEXT, "of `orphans`: the table that is named"),
    OPTION("keys", OPT_TEXT, "of `orphans`: its columns; left out: its primary key",
           .flags = OPT_OR_LIST),
    OPTION("column", OPT_TEXT, "of `older`: a date or a point in time"),
    OPTION("than", OPT_DURATION, "of `older`: how old a row may be", .most = 36600 * RULE_DAY_US),
    OPTION("zone", OPT_ZONE, "of `older`: the time zone of a column without one",
           .fallback = "UTC"),
    OPTION("with", OPT_DATABASE, "of `counts`: the other database"),
    OPTION("to", OPT_TEXT, "of `counts`: what the table is called there; left out: the same"),
    OPTION("apart", OPT_INT, "of `counts`: how far the numbers may be apart", .most = 1000000000,
           .fallback = "0"),
    OPTION("where", OPT_NAMED, "only rows that have these values in these columns",
           .flags = OPT_FREE, .each = &value_each, .noun = "column"),
    OPTION("empty", OPT_TEXT, "only rows that have nothing (NULL) in these columns",
           .flags = OPT_OR_LIST),
    OPTION("most", OPT_INT, "with more than so many something is found", .most = 1000000,
           .fallback = "0"),
    { 0 },
};

static const struct option rule_each = { .type = OPT_MAP, .keys = rule_keys, .noun = "check" };

const struct option check_rule_options[] = {
    OPTION("database", OPT_DATABASE, "where it looks: one of `databases`", .flags = OPT_REQUIRED),
    OPTION("checks", OPT_LIST, "what it looks for, at most 50", .flags = OPT_REQUIRED,
           .each = &rule_each),
    OPTION("examples", OPT_INT, "how many rows are shown of what is found", .most = 10,
           .fallback = "5"),
    { 0 },
};

/* Their order is that of enum sought_kind. */
static const char *const rule_kinds[] = { "duplicates", "orphans", "older", "counts" };
enum { RULE_KINDS = sizeof rule_kinds / sizeof *rule_kinds };

/* ---- mistakes ---- */

/* Which keys belong to which kinds, by their bits; `needed`: they have to be there. */
static const struct {
    const char *key;
    unsigned kinds;
    bool needed;
    const char *hint;
} rule_belongs[] = {
    { "columns", 1u << SOUGHT_DUPLICATES | 1u << SOUGHT_ORPHANS, true, "such as columns: [email]" },
    { "in", 1u << SOUGHT_ORPHANS, true, "such as in: orders" },
    { "keys", 1u << SOUGHT_ORPHANS, false, "leave it out" },
    { "column", 1u << SOUGHT_OLDER, true, "such as column: created_at" },
    { "than", 1u << SOUGHT_OLDER, true, "such as than: 2h" },
    { "zone", 1u << SOUGHT_OLDER, false, "leave it out" },
    { "with", 1u << SOUGHT_ROWS, true, "one of `databases`, such as with: mirror" },
    { "to", 1u << SOUGHT_ROWS, false, "leave it out" },
    { "apart", 1u << SOUGHT_ROWS, false, "leave it out: `most` is what may be found" },
    { "most", 1u << SOUGHT_DUPLICATES | 1u << SOUGHT_ORPHANS | 1u << SOUGHT_OLDER, false,
      "leave it out: `apart` is how far the numbers may be apart" },
};

/* RULE_KINDS: none, or several, which was reported. */
static size_t rule_kind_of(const struct yaml_node *rule)
{
    size_t found = RULE_KINDS;

    for (size_t i = 0; i < RULE_KINDS; i++)
        if (yaml_get(rule, rule_kinds[i]) != NULL) {
            if (found != RULE_KINDS)
                return RULE_KINDS;
            found = i;
        }
    return found;
}

static void rule_check_keys(const struct yaml_node *rule, size_t kind,
                            struct problem_list *problems)
{
    for (size_t i = 0; i < sizeof rule_belongs / sizeof *rule_belongs; i++) {
        const struct yaml_node *value = yaml_get(rule, rule_belongs[i].key);
        bool belongs = (rule_belongs[i].kinds & 1u << kind) != 0;

        if (belongs && rule_belongs[i].needed && value == NULL)
            problem_add(problems, yaml_position(rule), rule_belongs[i].hint,
                        "a check for `%s` needs `%s`", rule_kinds[kind], rule_belongs[i].key);
        if (!belongs && value != NULL)
            problem_add(problems, yaml_position(value),
                        rule_belongs[i].needed ? "leave it out" : rule_belongs[i].hint,
                        "`%s` is not used by a check for `%s`", rule_belongs[i].key,
                        rule_kinds[kind]);
    }
}

static size_t rule_count_of(const struct yaml_node *texts)
{
    return texts == NULL || yaml_is_null(texts) ? 0 : texts->kind == YAML_LIST ? texts->count : 1;
}

static void rule_check_columns(const struct yaml_node *rule, const char *key,
                               struct problem_list *problems)
{
    const struct yaml_node *list = yaml_get(rule, key);
    char quoted[PROBLEM_QUOTE];

    if (list == NULL || list->kind != YAML_LIST)
        return;
    if (list->count > SOUGHT_COLUMNS_MOST) {
        problem_add(problems, yaml_position(list), NULL, "`%s` has more than %d columns", key,
                    SOUGHT_COLUMNS_MOST);
        return;
    }
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next)
        for (const struct yaml_node *m = list->first; m != n; m = m->next)
            if (str_eq(yaml_text(m), yaml_text(n))) {
                problem_add(problems, n->place, "name it once", "`%s` names column `%s` twice", key,
                            problem_quote(quoted, yaml_text(n)));
                break;
            }
}

/* PEER/DATABASE */
static void rule_check_database(const struct yaml_node *named, struct problem_list *problems)
{
    char quoted[PROBLEM_QUOTE];

    if (str_find(yaml_text(named), '/') >= 0)
        problem_add(problems, yaml_position(named), "name one of `databases` here",
                    "`%s` is a database of a peer, which jobs of kind `check` do not reach",
                    problem_quote(quoted, yaml_text(named)));
}

static void rule_check_self(const struct yaml_node *job, const struct yaml_node *rule,
                            struct problem_list *problems)
{
    struct str with = yaml_text(yaml_get(rule, "with")), to = yaml_text(yaml_get(rule, "to"));
    struct str table = yaml_text(yaml_get(rule, "counts"));

    if (table.len > 0 && str_eq(with, yaml_text(yaml_get(job, "database"))) &&
        (to.len == 0 || str_eq(to, table)))
        problem_add(problems, yaml_position(yaml_get(rule, "counts")),
                    "name another database by `with`, or another table by `to`",
                    "a table is compared with itself");
}

static void rule_check_one(const struct yaml_node *job, const struct yaml_node *rule,
                           struct problem_list *problems)
{
    size_t kind = rule_kind_of(rule);
    size_t columns = rule_count_of(yaml_get(rule, "columns"));
    size_t keys = rule_count_of(yaml_get(rule, "keys"));
    const struct yaml_node *where = yaml_get(rule, "where");

    rule_check_columns(rule, "columns", problems);
    rule_check_columns(rule, "keys", problems);
    rule_check_columns(rule, "empty", problems);
    if (where != NULL && where->count > CHECK_VALUES_MOST)
        problem_add(problems, yaml_position(where), NULL, "`where` has more than %d columns",
                    CHECK_VALUES_MOST);
    if (kind == RULE_KINDS)
        return;
    rule_check_keys(rule, kind, problems);
    if (kind == SOUGHT_ORPHANS && columns > 0 && keys > 0 && columns != keys)
        problem_add(problems, yaml_position(yaml_get(rule, "keys")),
                    "each of `columns` names what is in one of `keys`, in that order",
                    "`columns` are %zu, and `keys` %zu", columns, keys);
    if (kind == SOUGHT_ROWS) {
        rule_check_database(yaml_get(rule, "with"), problems);
        rule_check_self(job, rule, problems);
    }
}

void check_rule_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *checks = yaml_get(map, "checks");

    rule_check_database(yaml_get(map, "database"), problems);
    if (checks == NULL || checks->kind != YAML_LIST)
        return;
    if (checks->count > CHECK_RULES_MOST)
        problem_add(problems, yaml_position(checks), "make several jobs of them",
                    "the job has %zu checks, and at most %d may be", checks->count,
                    CHECK_RULES_MOST);
    for (const struct yaml_node *n = checks->first; n != NULL; n = n->next)
        if (n->kind == YAML_MAP)
            rule_check_one(map, n, problems);
}

/* ---- reading ---- */

static bool rule_base(const struct settings *s, struct str name, struct check_spec *spec,
                      size_t *ret, struct err *err)
{
    for (*ret = 0; *ret < spec->base_count; ++*ret)
        if (str_eq(spec->bases[*ret].address.name, name))
            return true;
    struct check_base *b = &spec->bases[spec->base_count];

    if (!database_settings(s, name, &b->type, &b->address, err))
        return false;
    spec->base_count++;
    return true;
}

static bool rule_values(const struct settings *rule, struct check_rule *r, struct err *err)
{
    const struct yaml_node *where = yaml_get(rule->node, "where");
    bool some = where != NULL && where->kind == YAML_MAP;
    size_t count = some ? where->count : 0, at = 0;
    struct str *names = ARENA_ARRAY(rule->arena, struct str, count + 1);
    struct str *values = ARENA_ARRAY(rule->arena, struct str, count + 1);

    for (const struct yaml_node *n = some ? where->first : NULL; n != NULL; n = n->next, at++) {
        names[at] = n->key->text;
        if (!settings_expand(rule, n, &values[at], err))
            return err_context(err, "`where`");
    }
    r->names = names;
    r->values = values;
    r->value_count = count;
    return true;
}

static bool rule_zone(const struct settings *rule, struct check_rule *r, struct err *err)
{
    struct str zone;

    return settings_text(rule, "zone", &zone, err) &&
           (zone_load(zone.len > 0 ? zone : STR("UTC"), rule->arena, &r->zone, err) ||
            err_context(err, "`zone`"));
}

static bool rule_texts(const struct settings *rule, struct check_rule *r, struct err *err)
{
    if (!settings_texts(rule, r->kind == SOUGHT_OLDER ? "column" : "columns", &r->columns,
                        &r->column_count, err) ||
        !settings_texts(rule, "keys", &r->keys, &r->key_count, err) ||
        !settings_texts(rule, "empty", &r->empty, &r->empty_count, err) ||
        !settings_text(rule, r->kind == SOUGHT_ROWS ? "to" : "in", &r->in, err))
        return false;
    if (r->kind == SOUGHT_ROWS && r->in.len == 0)
        r->in = r->table;
    return true;
}

static void rule_put_names(struct buf *to, const struct str *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(to, "%s%.*s", i > 0 ? ", " : " (", STR_ARG(str_first(names[i], TITLE_NAME)));
    buf_puts(to, count > 0 ? ")" : "");
}

/* As people read it: short, whatever the names are. */
static struct str rule_title(const struct check_spec *spec, const struct check_rule *r,
                             struct arena *a)
{
    AUTO(buf_done) struct buf b = BUF_INIT(64 << 10);

    buf_printf(&b, "%s: %.*s", rule_kinds[r->kind], STR_ARG(str_first(r->table, TITLE_NAME)));
    rule_put_names(&b, r->columns, r->column_count);
    if (r->kind == SOUGHT_ORPHANS)
        buf_printf(&b, " in %.*s", STR_ARG(str_first(r->in, TITLE_NAME)));
    if (r->kind == SOUGHT_ROWS)
        buf_printf(&b, " with %.*s of %.*s", STR_ARG(str_first(r->in, TITLE_NAME)),
                   STR_ARG(spec->bases[r->other].address.name));
    return arena_copy(a, str_first(buf_view(&b), TITLE_MOST));
}

static bool rule_read(const struct settings *s, const struct settings *rule,
                      struct check_spec *spec, struct check_rule *r, struct err *err)
{
    size_t kind = rule_kind_of(rule->node);
    struct str with;

    if (kind == RULE_KINDS)
        return err_set(err, ERR_CONFIG, 0, "a check looks for one thing");
    r->kind = (enum sought_kind)kind;
    if (!settings_text(rule, rule_kinds[kind], &r->table, err) || !rule_texts(rule, r, err) ||
        !rule_values(rule, r, err) || !rule_zone(rule, r, err) ||
        !settings_int(rule, kind == SOUGHT_ROWS ? "apart" : "most", &r->most, err) ||
        !settings_duration(rule, "than", &r->than_us, err) ||
        !settings_text(rule, "with", &with, err))
        return false;
    r->base = r->other = 0;
    if (kind == SOUGHT_ROWS && !rule_base(s, with, spec, &r->other, err))
        return false;
    r->title = rule_title(spec, r, rule->arena);
    return true;
}

bool check_rule_read(const struct settings *s, struct check_spec *ret, struct err *err)
{
    const struct yaml_node *checks = yaml_get(s->node, "checks");
    struct settings rule = *s;
    struct str database;
    size_t first;

    *ret = (struct check_spec){ 0 };
    if (checks == NULL || checks->kind != YAML_LIST || checks->count > CHECK_RULES_MOST)
        return err_set(err, ERR_CONFIG, 0, "`checks`: 1 to %d are expected", CHECK_RULES_MOST);
    if (!settings_text(s, "database", &database, err) ||
        !settings_int(s, "examples", &ret->examples, err) ||
        !rule_base(s, database, ret, &first, err))
        return false;
    ret->rules = ARENA_ARRAY(s->arena, struct check_rule, checks->count + 1);
    rule.common = NULL;
    rule.own = rule_keys;
    for (const struct yaml_node *n = checks->first; n != NULL; n = n->next) {
        rule.node = n;
        if (!rule_read(s, &rule, ret, &ret->rules[ret->rule_count++], err))
            return err_context(err, "check %zu", ret->rule_count);
    }
    return true;
}
