#include "engine/plan/plan_alert.h"

#include "base/clock.h"
#include "base/http_target.h"
#include "core/config.h"
#include "core/grammar.h"
#include "engine/plan/plan_build.h"

enum { VALUE_MOST = 8192 };

/* Keeps the first error; the rest is read all the same. */
struct reader {
    const struct plan *plan;
    const struct settings *base;
    struct plan_alerts *out;
    struct place *place;
    struct err *err;
    bool ok;
};

static void plan_alert_wrong(struct reader *r, const struct yaml_node *node, const struct err *err)
{
    if (r->ok) {
        *r->err = *err;
        *r->place = node->place;
    }
    r->ok = false;
}

static struct settings plan_alert_settings_of(const struct reader *r, const struct yaml_node *node,
                                              const struct option *keys)
{
    struct settings s = *r->base;

    s.node = node;
    s.common = NULL;
    s.own = keys;
    return s;
}

/* ---- rules ---- */

/* The settings of a rule; a scalar in their place means `off`. */
static struct settings plan_alert_rule_of(const struct settings *all, const char *key,
                                          bool *ret_off)
{
    struct settings s = settings_below(all, key);

    *ret_off = s.node != NULL && s.node->kind != YAML_MAP;
    if (*ret_off)
        s.node = NULL;
    return s;
}

static bool read_marks(const struct settings *s, struct alert_rule *rule, struct err *err)
{
    if (!settings_int(s, "high", &rule->high, err) || !settings_int(s, "low", &rule->low, err))
        return false;
    return rule->low < rule->high || err_set(err, ERR_CONFIG, 0, "`low` must be less than `high`");
}

static bool read_scale(const struct settings *s, struct plan_alerts *a, struct err *err)
{
    struct alert_rule *out = &a->rules[ALERT_SCALE_OUT], *in = &a->rules[ALERT_SCALE_IN];
    int64_t calm_us = 0;

    if (!read_marks(s, out, err) || !settings_duration(s, "for", &calm_us, err))
        return false;
    /* negated: the alert is about too little work */
    *in = (struct alert_rule){ .high = -out->low, .low = -out->low - 1, .after_us = calm_us };
    return true;
}

static bool read_seconds(const struct settings *s, const char *key, struct alert_rule *rule,
                         struct err *err)
{
    int64_t us = 0;

    if (!settings_duration(s, key, &us, err))
        return false;
    rule->high = us / CLOCK_S;
    rule->low = rule->high - 1;
    return true;
}

static bool read_rule(enum alert_code code, const struct settings *s, struct plan_alerts *a,
                      struct err *err)
{
    struct alert_rule *rule = &a->rules[code];

    switch (code) {
    case ALERT_DEAD_LETTERS:
        if (!settings_int(s, "count", &rule->high, err))
            return false;
        rule->low = rule->high - 1;
        return settings_duration(s, "remind", &a->remind_us, err);
    case ALERT_QUEUE_DEPTH:
        return read_marks(s, rule, err);
    case ALERT_QUEUE_AGE:
    case ALERT_LINK_LATE:
        return read_seconds(s, "after", rule, err);
    case ALERT_RECEIVER_FAILING:
    case ALERT_GATEWAY_FAILING:
        if (!settings_duration(s, "after", &rule->after_us, err))
            return false;
        rule->calm_us = rule->after_us;
        return true;
    case ALERT_DISK:
        return settings_int(s, "free", &a->disk_free_bytes, err);
    case ALERT_CERTIFICATE:
        return settings_duration(s, "before", &a->certificate_us, err);
    case ALERT_RECEIVER_REJECTING:
    case ALERT_SILENCE:
    case ALERT_UNANSWERED:
    case ALERT_WINDOW_TOO_SHORT:
    case ALERT_STUCK:
    case ALERT_OLD_SERVER:
    case ALERT_THREADS:
    case ALERT_JOB_SUSPENDED:
    case ALERT_JOB_LATE:
    case ALERT_LINK_STOPPED:
    case ALERT_ROWS_DIFFER:
    case ALERT_QUARANTINE:
    case ALERT_CHECK_FOUND:
    case ALERT_SCALE_OUT:
    case ALERT_SCALE_IN:
    case ALERT_CODES:
        break;
    }
    return true;
}

static void plan_alert_read_rules(struct reader *r, const struct yaml_node *node)
{
    struct settings all = plan_alert_settings_of(r, node, grammar_alerts);
    struct plan_alerts *a = r->out;
    struct err err = { 0 };
    bool off;

    for (enum alert_code code = ALERT_DEAD_LETTERS; code < ALERT_SCALE_OUT; code++) {
        struct settings s = plan_alert_rule_of(&all, alert_codes[code], &off);

        a->rules[code] = (struct alert_rule){ .high = 1, .off = off && code != ALERT_SILENCE };
        if (!a->rules[code].off && !read_rule(code, &s, a, &err)) {
            (void)err_context(&err, "alert %s", alert_codes[code]);
            plan_alert_wrong(r, s.node != NULL ? s.node : node, &err);
            a->rules[code] = (struct alert_rule){ .off = true };
        }
    }
    struct settings scale = plan_alert_rule_of(&all, "scale", &off);

    off = off || scale.node == NULL;
    a->rules[ALERT_SCALE_OUT].off = a->rules[ALERT_SCALE_IN].off = off;
    if (!off && !read_scale(&scale, a, &err)) {
        (void)err_context(&err, "alert scale");
        plan_alert_wrong(r, scale.node, &err);
        a->rules[ALERT_SCALE_OUT].off = a->rules[ALERT_SCALE_IN].off = true;
    }
}

static void read_silences(struct reader *r, const struct config *config,
                          const struct yaml_node *list)
{
    struct plan_alerts *a = r->out;
    struct alert_silence *silences;

    if (list == NULL || list->kind != YAML_MAP)
        return;
    silences = ARENA_ARRAY(r->base->arena, struct alert_silence, list->count + 1);
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        struct alert_silence *one = &silences[a->silence_count];
        struct err err = { 0 };
        struct str text;

        one->gateway = n->key->text;
        if (config_gateway_find(config, one->gateway) == NULL) {
            (void)err_set(&err, ERR_CONFIG, 0, "alert silence: there is no gateway `%.*s`",
                          STR_ARG(one->gateway));
            plan_alert_wrong(r, n->key, &err);
        } else if (!settings_expand(r->base, n, &text, &err) ||
                   !units_duration(text, &one->after_us, &err))
            plan_alert_wrong(r, n, &err);
        else
            a->silence_count++;
    }
    a->silences = silences;
}

/* ---- targets ---- */

/* Headers that the notice sets itself, and those of HTTP framing. */
static bool plan_alert_is_ours(struct str name)
{
    static const char *const ours[] = { "content-length", "content-type", "transfer-encoding",
                                        "connection",     "expect",       "te",
                                        "trailer",        "upgrade",      "idempotency-key" };

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (str_eq_nocase(name, str_of(ours[i])))
            return true;
    return false;
}

static bool plan_alert_read_field(const struct settings *s, const struct yaml_node *n,
                                  struct http_out_field *f, struct err *err)
{
    f->name = n->key->text;
    if (!http_is_token(f->name))
        return err_set(err, ERR_CONFIG, 0, "`%.*s` is no name of a header", STR_ARG(f->name));
    if (plan_alert_is_ours(f->name))
        return err_set(err, ERR_CONFIG, 0, "`%.*s` cannot be set", STR_ARG(f->name));
    if (!settings_expand(s, n, &f->value, err))
        return err_context(err, "`%.*s`", STR_ARG(f->name));
    if (f->value.len > VALUE_MOST)
        return err_set(err, ERR_CONFIG, 0, "`%.*s` is longer than %d bytes", STR_ARG(f->name),
                       VALUE_MOST);
    return !str_has_control(f->value) ||
           err_set(err, ERR_CONFIG, 0, "`%.*s` holds a control character", STR_ARG(f->name));
}

static bool plan_alert_read_fields(const struct settings *s, struct alert_target *t,
                                   struct err *err)
{
    const struct yaml_node *headers = yaml_get(s->node, "headers");
    struct http_out_field *fields;

    if (headers == NULL || headers->kind != YAML_MAP)
        return true;
    if (headers->count > HTTP_OUT_FIELDS / 2)
        return err_set(err, ERR_CONFIG, 0, "`headers` has more than %d", HTTP_OUT_FIELDS / 2);
    fields = ARENA_ARRAY(s->arena, struct http_out_field, headers->count + 1);
    for (const struct yaml_node *n = headers->first; n != NULL; n = n->next)
        if (!plan_alert_read_field(s, n, &fields[t->field_count++], err))
            return err_context(err, "`headers`");
    t->fields = fields;
    return true;
}

static uint32_t read_codes(const struct yaml_node *codes)
{
    uint32_t bits = 0;

    if (codes == NULL || yaml_is_null(codes))
        return UINT32_MAX;
    if (codes->kind != YAML_LIST)
        return UINT32_C(1) << alert_code_of(codes->text);
    for (const struct yaml_node *n = codes->first; n != NULL; n = n->next)
        bits |= UINT32_C(1) << alert_code_of(n->text);
    return bits;
}

static bool read_target(const struct plan *p, const struct settings *s, struct alert_target *t,
                        struct err *err)
{
    struct settings retry = settings_below(s, "retry");

    t->http.verify = true;
    t->codes = read_codes(yaml_get(s->node, "codes"));
    t->endpoint = plan_endpoint_named(p, yaml_text(yaml_get(s->node, "endpoint")));
    if ((t->endpoint == NULL && !settings_text(s, "url", &t->url, err)) ||
        !settings_duration(s, "timeout", &t->http.timeout_us, err) ||
        !settings_duration(&retry, "first", &t->retry.first_us, err) ||
        !settings_duration(&retry, "most", &t->retry.most_us, err) ||
        !settings_duration(&retry, "for", &t->retry.for_us, err))
        return false;
    t->http.connect_timeout_us = t->http.timeout_us;
    return plan_alert_read_fields(s, t, err);
}

static void read_targets(struct reader *r, const struct yaml_node *to)
{
    const struct option *each = option_find(grammar_alerts, STR("to"))->each;
    struct plan_alerts *a = r->out;

    if (to == NULL || to->kind != YAML_MAP)
        return;
    a->targets = ARENA_ARRAY(r->base->arena, struct alert_target, to->count + 1);
    for (const struct yaml_node *n = to->first; n != NULL; n = n->next) {
        struct settings s = plan_alert_settings_of(r, n, each->keys);
        struct err err = { 0 };

        if (a->target_count == ALERT_TARGETS_MOST) {
            (void)err_set(&err, ERR_CONFIG, 0, "alerts: more than %d are told", ALERT_TARGETS_MOST);
            plan_alert_wrong(r, n->key, &err);
            return;
        }
        struct alert_target *t = &a->targets[a->target_count++];

        t->name = n->key->text;
        if (read_target(r->plan, &s, t, &err))
            continue;
        (void)err_context(&err, "alert target %.*s", STR_ARG(t->name));
        t->broken = arena_text(r->base->arena, str_of(err.text));
        plan_alert_wrong(r, n, &err);
    }
}

bool plan_alerts_build(struct plan *p, const struct settings *base, struct place *ret_place,
                       struct err *err)
{
    const struct yaml_node *node = yaml_get(p->config->root, "alerts");
    struct reader r = {
        .plan = p, .base = base, .out = &p->alerts, .place = ret_place, .err = err, .ok = true
    };

    p->alerts = (struct plan_alerts){ 0 };
    if (node != NULL && node->kind != YAML_MAP)
        node = NULL;
    plan_alert_read_rules(&r, node);
    if (node != NULL) {
        read_silences(&r, p->config, yaml_get(node, "silence"));
        read_targets(&r, yaml_get(node, "to"));
    }
    return r.ok;
}

const struct alert_target *alert_target_find(const struct plan_alerts *a, struct str name)
{
    for (size_t i = 0; i < a->target_count; i++)
        if (str_eq(a->targets[i].name, name))
            return &a->targets[i];
    return NULL;
}
