#include "link/link_settings.h"

#include <string.h>

#include "core/config.h"
#include "core/connector.h"
#include "core/grammar.h"

/* Settings below those of a job, with other keys. */
static struct settings settings_at(const struct settings *s, const char *key,
                                   const struct option *common, const struct option *own)
{
    struct settings below = *s;

    below.node = yaml_get(s->node, key);
    below.common = common;
    below.own = own;
    return below;
}

static bool settings_word(const struct settings *s, const char *key, struct str *ret,
                          struct err *err)
{
    if (!settings_text(s, key, ret, err))
        return false;
    return ret->len > 0 || err_set(err, ERR_CONFIG, 0, "`%s` is missing", key);
}

/* ---- the ends ---- */

static bool settings_file_path(const struct settings *s, struct str *ret, struct err *err)
{
    if (!settings_path(s, "path", ret, err))
        return false;
    return ret->len == 0 || s->reach == NULL || s->file == NULL ||
           config_may_use_file(s->reach, s->file, ret->ptr, err) || err_context(err, "`path`");
}

/* What a kind does not have among its keys is left empty. */
static bool settings_address(const struct settings *s, struct database_address *ret,
                             struct err *err)
{
    return (option_find(s->own, STR("dsn")) == NULL || settings_text(s, "dsn", &ret->dsn, err)) &&
           (option_find(s->own, STR("path")) == NULL || settings_file_path(s, &ret->path, err)) &&
           settings_duration(s, "connect_timeout", &ret->connect_timeout_us, err) &&
           settings_duration(s, "timeout", &ret->timeout_us, err);
}

/* `end`: from or to. */
static bool settings_end(const struct settings *s, const char *end, struct str table,
                         struct link_end *ret, struct err *err)
{
    const struct settings all = settings_at(s, "databases", NULL, NULL);
    struct str name;

    if (!settings_word(s, end, &name, err))
        return false;
    const struct yaml_node *own = yaml_get(all.node, name.ptr);
    const struct database_type *type =
        own != NULL && s->connectors != NULL
            ? connector_database(s->connectors, yaml_text(yaml_get(own, "kind")))
            : NULL;

    if (type == NULL)
        return err_set(err, ERR_CONFIG, 0, "this build does not have the kind of database %.64s",
                       name.ptr);
    const struct settings of = settings_at(&all, name.ptr, grammar_database, type->kind.keys);

    *ret = (struct link_end){ .type = type, .table = table, .address = { .name = name } };
    return settings_address(&of, &ret->address, err) ||
           err_context(err, "database %.64s", name.ptr);
}

/* ---- columns ---- */

static struct fit_wish_column *settings_wish(struct fit_wish *w, struct str name)
{
    for (size_t i = 0; i < w->count; i++)
        if (str_eq(w->columns[i].name, name))
            return &w->columns[i];
    w->columns[w->count] = (struct fit_wish_column){ .name = name, .digits = -1 };
    return &w->columns[w->count++];
}

static const struct yaml_node *settings_first(const struct settings *table, const char *key,
                                              size_t *io_count)
{
    const struct yaml_node *value = yaml_get(table->node, key);

    if (value == NULL || value->kind == YAML_SCALAR)
        return NULL;
    *io_count += value->count;
    return value->first;
}

static bool settings_columns(const struct settings *table, struct fit_wish *ret, struct err *err)
{
    size_t most = 0;
    const struct yaml_node *cast = settings_first(table, "cast", &most);
    const struct yaml_node *round = settings_first(table, "round", &most);
    const struct yaml_node *ignore = settings_first(table, "ignore", &most);
    uint64_t digits;
    struct str name;

    *ret = (struct fit_wish){ .columns = ARENA_ARRAY(table->arena, struct fit_wish_column, most) };
    for (; cast != NULL; cast = cast->next) {
        enum cell_type type = cell_type_named(yaml_text(cast));

        if (type == CELL_TYPES)
            return err_set(err, ERR_CONFIG, 0, "`cast`: there is no type %.40s", cast->text.ptr);
        settings_wish(ret, cast->key->text)->cast = type;
    }
    for (; round != NULL; round = round->next) {
        if (!str_to_u64(yaml_text(round), &digits) || digits > 6)
            return err_set(err, ERR_CONFIG, 0, "`round`: 0 to 6 digits are expected");
        settings_wish(ret, round->key->text)->digits = (int)digits;
    }
    for (; ignore != NULL; ignore = ignore->next) {
        if (!settings_expand(table, ignore, &name, err))
            return err_context(err, "`ignore`");
        settings_wish(ret, name)->ignore = true;
    }
    return true;
}

/* ---- the table ---- */

static bool settings_capture(const struct settings *table, struct capture *ret, struct err *err)
{
    struct str kind;

    if (!settings_text(table, "capture", &kind, err))
        return false;
    *ret = (struct capture){ .kind = str_is(kind, "column") ? CAPTURE_COLUMN : CAPTURE_JOURNAL };
    return ret->kind != CAPTURE_COLUMN ||
           (settings_word(table, "column", &ret->column, err) &&
            settings_duration(table, "safety", &ret->safety_us, err));
}

static bool settings_share(const struct settings *s, int64_t *ret, struct err *err)
{
    struct str text;

    return settings_text(s, "share", &text, err) &&
           (units_share(text, ret, err) || err_context(err, "`share`"));
}

static bool settings_limits(const struct settings *link, struct link_spec *ret, struct err *err)
{
    const struct settings deletes = settings_below(link, "deletes");
    const struct settings quarantine = settings_below(link, "quarantine");
    int64_t bytes = 0;

    if (!settings_int(&deletes, "most", &ret->deletes_most, err) ||
        !settings_share(&deletes, &ret->deletes_share, err))
        return err_context(err, "`deletes`");
    if (!settings_int(&quarantine, "most", &ret->quarantine_most, err))
        return err_context(err, "`quarantine`");
    if (!settings_int(link, "message_limit", &bytes, err))
        return false;
    ret->batch_bytes = (size_t)bytes;
    return true;
}

/* Of a table that goes both ways. */
static bool settings_back(const struct settings *s, struct link_back *ret, struct err *err)
{
    struct str rule = yaml_text(yaml_get(s->node, "conflict"));

    ret->link = yaml_text(yaml_get(s->node, "back_link"));
    ret->table = yaml_text(yaml_get(s->node, "back_table"));
    ret->winner = str_is(rule, "dest")                ? SIDE_DEST_WINS
                  : str_starts(rule, STR("version:")) ? SIDE_VERSION_WINS
                  : str_is(rule, "manual")            ? SIDE_ORDER_WINS
                                                      : SIDE_SOURCE_WINS;
    if (ret->winner == SIDE_VERSION_WINS)
        ret->version = str_from(rule, strlen("version:"));
    ret->waits = str_is(rule, "manual");
    return !str_is(rule, "last") ||
           err_set(err, ERR_CONFIG, 0, "this build does not run `conflict: last`");
}

bool link_settings_read(const struct settings *s, struct link_spec *ret, struct err *err)
{
    const struct settings table = settings_at(s, "of_table", NULL, grammar_link_table);
    struct settings link = *s;
    struct str other;

    link.common = NULL;
    link.own = grammar_link;
    *ret = (struct link_spec){ 0 };
    if (!settings_word(s, "link", &ret->link, err) ||
        !settings_word(s, "table", &ret->table, err) || !settings_text(&table, "to", &other, err))
        return false;
    return settings_end(s, "from", ret->table, &ret->source, err) &&
           settings_end(s, "to", other.len > 0 ? other : ret->table, &ret->dest, err) &&
           settings_columns(&table, &ret->wish, err) &&
           settings_capture(&table, &ret->capture, err) && settings_limits(&link, ret, err) &&
           settings_back(s, &ret->back, err);
}

const char *const link_verify_modes[LINK_VERIFY_MODES] = {
    [LINK_VERIFY_FULL] = "full",
    [LINK_VERIFY_COUNT] = "count",
    [LINK_VERIFY_SAMPLE] = "sample",
    [LINK_VERIFY_RECENT] = "recent",
};

/* The longest interval of replication that the link allows. */
static bool settings_interval(const struct settings *s, int64_t *ret_us, struct err *err)
{
    static const char *const keys[] = { "of_every", "of_idle" };
    int64_t us;

    *ret_us = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct yaml_node *value = yaml_get(s->node, keys[i]);

        if (value == NULL)
            continue;
        if (!units_duration(yaml_text(value), &us, err))
            return false;
        *ret_us = us > *ret_us ? us : *ret_us;
    }
    return true;
}

bool link_settings_verify(const struct settings *s, struct link_verify *ret, struct err *err)
{
    const struct settings rule = settings_at(s, "of_rule", NULL, grammar_link_rule);
    struct str mode, repair;

    *ret = (struct link_verify){ 0 };
    if (!settings_text(&rule, "mode", &mode, err) ||
        !settings_text(&rule, "repair", &repair, err) ||
        !settings_int(&rule, "most", &ret->most, err) ||
        !settings_int(&rule, "rate", &ret->rate, err) || !settings_share(&rule, &ret->share, err))
        return false;
    while (ret->mode < LINK_VERIFY_MODES && !str_is(mode, link_verify_modes[ret->mode]))
        ret->mode++;
    if (ret->mode == LINK_VERIFY_MODES)
        return err_set(err, ERR_CONFIG, 0, "this build does not run `mode: %.20s`", mode.ptr);
    ret->repair = str_is(repair, "on");
    return settings_interval(s, &ret->every_us, err);
}

/* ---- of a configuration ---- */

static bool settings_is_of(const struct config_entry *e, struct str link, struct str table)
{
    return e->kind != NULL && strcmp(e->kind, CONFIG_KIND_REPLICATE) == 0 &&
           str_eq(yaml_text(yaml_get(e->node, "link")), link) &&
           str_eq(yaml_text(yaml_get(e->node, "table")), table);
}

bool link_settings_table(const struct config *c, const struct settings *base, struct str link,
                         struct str table, struct link_spec *ret, struct err *err)
{
    struct settings s = *base;

    for (size_t i = 0; i < c->job_count; i++)
        if (settings_is_of(&c->jobs[i], link, table)) {
            s.node = c->jobs[i].node;
            return link_settings_read(&s, ret, err);
        }
    return err_set(err, ERR_CONFIG, 0, "there is no table %.64s/%.128s of a link",
                   arena_text(s.arena, link), arena_text(s.arena, table));
}
