#include "link/link_settings.h"

#include <string.h>

#include "core/config.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "table/database_settings.h"

enum { MESSAGE_ROOM = 4096 };

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

/* An end that is away. */
static bool settings_away(const struct settings *s, struct str name, struct away_address *ret,
                          struct err *err)
{
    const struct settings all = settings_at(s, "peers", NULL, NULL);
    struct str peer;

    ret->database = str_cut(name, '/', &peer);
    ret->peer = arena_copy(s->arena, peer);
    const struct settings of = settings_at(&all, ret->peer.ptr, NULL, grammar_peer);
    const struct settings tls = settings_below(&of, "tls");

    if (!settings_word(&of, "url", &ret->url, err) || !settings_word(&of, "key", &ret->key, err) ||
        !settings_duration(&of, "timeout", &ret->timeout_us, err) ||
        !settings_path(&tls, "ca", &ret->ca, err) ||
        !settings_path(&tls, "cert", &ret->cert, err) ||
        !settings_path(&tls, "key", &ret->cert_key, err) ||
        !settings_bool(&tls, "verify", &ret->verify, err))
        return err_context(err, "peer %.64s", ret->peer.ptr);
    if (ret->cert_key.len == 0)
        ret->cert_key = ret->cert; /* one file may hold both */
    return !str_has_control(ret->key) ||
           err_set(err, ERR_CONFIG, 0, "peer %.64s: `key` holds a control character",
                   ret->peer.ptr);
}

bool link_settings_database(const struct settings *s, struct str name, struct link_end *ret,
                            struct err *err)
{
    *ret = (struct link_end){ 0 };
    return database_settings(s, name, &ret->type, &ret->address, err);
}

/* `end`: from or to. */
static bool settings_end(const struct settings *s, const char *end, struct str table,
                         struct link_end *ret, struct err *err)
{
    struct away_address *away;
    struct str name;

    if (!settings_word(s, end, &name, err))
        return false;
    if (str_find(name, '/') < 0) {
        if (!link_settings_database(s, name, ret, err))
            return false;
    } else {
        away = ARENA_NEW(s->arena, struct away_address);
        away->verify = true;
        if (!settings_away(s, name, away, err))
            return false;
        *ret = (struct link_end){ .away = away, .address = { .name = name } };
    }
    ret->table = table;
    return true;
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
    *ret = (struct capture){ .kind = str_is(kind, "column") ? CAPTURE_COLUMN : CAPTURE_JOURNAL,
                             .append = str_is(kind, "append") };
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
    struct str atomic;

    if (!settings_int(&deletes, "most", &ret->deletes_most, err) ||
        !settings_share(&deletes, &ret->deletes_share, err))
        return err_context(err, "`deletes`");
    if (!settings_int(&quarantine, "most", &ret->quarantine_most, err))
        return err_context(err, "`quarantine`");
    if (!settings_int(link, "message_limit", &bytes, err))
        return false;
    ret->batch_bytes = (size_t)bytes;
    if (!settings_text(link, "atomic", &atomic, err) ||
        !settings_int(link, "group_most", &bytes, err))
        return false;
    ret->group_most = str_is(atomic, "group") ? (size_t)bytes : 0;
    return true;
}

/* `message_limit` is that of a message, too: a batch leaves room for what is around it. */
static void settings_messages(struct link_spec *s)
{
    struct link_end *ends[] = { &s->source, &s->dest };

    for (size_t i = 0; i < 2; i++) {
        struct away_address *away = (struct away_address *)(uintptr_t)ends[i]->away;

        if (away == NULL)
            continue;
        away->message_most = s->batch_bytes;
        s->batch_bytes -= s->batch_bytes / 8 < MESSAGE_ROOM ? s->batch_bytes / 8 : MESSAGE_ROOM;
    }
}

/* Of a table that goes both ways. */
static void settings_back(const struct settings *s, struct link_back *ret)
{
    struct str rule = yaml_text(yaml_get(s->node, "conflict"));

    ret->link = yaml_text(yaml_get(s->node, "back_link"));
    ret->table = yaml_text(yaml_get(s->node, "back_table"));
    ret->peer = yaml_text(yaml_get(s->node, "back_peer"));
    ret->rule = rule;
    ret->winner = str_is(rule, "dest")                ? SIDE_DEST_WINS
                  : str_starts(rule, STR("version:")) ? SIDE_VERSION_WINS
                  : str_is(rule, "last")              ? SIDE_LAST_WINS
                  : str_is(rule, "manual")            ? SIDE_ORDER_WINS
                                                      : SIDE_SOURCE_WINS;
    if (ret->winner == SIDE_VERSION_WINS)
        ret->version = str_from(rule, strlen("version:"));
    ret->waits = str_is(rule, "manual");
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
    if (!settings_end(s, "from", ret->table, &ret->source, err) ||
        !settings_end(s, "to", other.len > 0 ? other : ret->table, &ret->dest, err) ||
        !settings_columns(&table, &ret->wish, err) ||
        !settings_capture(&table, &ret->capture, err) || !settings_limits(&link, ret, err))
        return false;
    settings_back(s, &ret->back);
    settings_messages(ret);
    return true;
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
