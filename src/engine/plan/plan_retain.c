#include "engine/plan/plan_retain.h"

#include <stdlib.h>

#include "core/grammar.h"
#include "core/retain_rule.h"
#include "core/settings.h"
#include "core/units.h"
#include "engine/plan/plan_build.h"
#include "store/road/retain_days.h"
#include "store/store.h"

/* Leaves *ret alone when the key is not set and has no default; *ret is `never` when its value is
 * the word never. */
static bool plan_retain_read_us(const struct settings *s, const char *key, int64_t never,
                                int64_t *ret, struct err *err)
{
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    if (text.ptr == NULL)
        return true;
    if (str_is(text, "never")) {
        *ret = never;
        return true;
    }
    return units_duration(text, ret, err) || err_context(err, "`%s`", key);
}

static bool plan_retain_read_days(const struct settings *s, const char *key, int64_t *ret,
                                  struct err *err)
{
    int64_t us = -1;

    if (!plan_retain_read_us(s, key, RETAIN_DAYS_MOST * RETAIN_DAY_US, &us, err))
        return false;
    if (us >= 0)
        *ret = retain_days_of(us);
    return true;
}

static bool read_states(const struct settings *s, struct retain_rules *r, struct err *err)
{
    struct settings below = settings_below(s, "states");
    int64_t days = RETAIN_DAYS;

    if (!plan_retain_read_days(s, "default", &days, err))
        return false;
    for (int i = 0; i < DOCUMENT_STATES; i++) {
        r->days[i] = days;
        if (document_is_over((enum document_state)i) &&
            !plan_retain_read_days(&below, document_states[i], &r->days[i], err))
            return false;
    }
    return true;
}

static int plan_retain_by_word(const void *a, const void *b)
{
    const struct retain_type *x = a, *y = b;

    return x->type < y->type ? -1 : x->type > y->type;
}

static bool read_types(struct plan *p, struct store *store, struct err *err)
{
    const struct config *c = p->config;
    struct retain_rules *r = &p->retention.rules;
    struct retain_type *types = ARENA_ARRAY(&p->arena, struct retain_type, c->type_count + 1);

    r->types = types;
    r->other_days = RETAIN_BY_RULE;
    for (size_t i = 0; i < c->type_count; i++) {
        struct settings s = { .node = c->types[i].node,
                              .own = grammar_type,
                              .file = c->file,
                              .reach = &c->node,
                              .arena = &p->arena };
        struct str name = str_of(c->types[i].name);
        struct retain_type t = { .days = RETAIN_BY_RULE };

        if (s.node == NULL || s.node->kind != YAML_MAP)
            continue;
        if (!plan_retain_read_days(&s, "retention", &t.days, err))
            return err_context(err, "type %s", c->types[i].name);
        if (t.days < 0)
            continue;
        if (str_is(name, "*"))
            r->other_days = t.days;
        else if (name_find(store, NAME_TYPE, name, &t.type))
            types[r->type_count++] = t;
    }
    qsort(types, r->type_count, sizeof *types, plan_retain_by_word);
    return true;
}

/* While the archive cannot be used, nothing is purged; a version in force stays in force. */
static void read_archive(struct builder *b, const struct settings *s)
{
    const struct yaml_node *node = yaml_get(s->node, "archive");
    struct plan_retention *r = &b->plan->retention;
    struct err err = { 0 };

    if (settings_path(s, "archive", &r->archive, &err))
        return;
    (void)err_context(&err, "retention");
    r->archive_broken = plan_broken(b, node != NULL ? node->place : (struct place){ 0 }, &err);
}

static bool is_by_job(const struct builder *b)
{
    const struct config *c = b->plan->config;

    for (size_t i = 0; i < c->job_count; i++) {
        const struct job_type *type = connector_job(b->connectors, str_of(c->jobs[i].kind));

        if (type != NULL && type->retains)
            return true;
    }
    return false;
}

bool plan_build_retention(struct builder *b, struct err *err)
{
    struct plan *p = b->plan;
    struct settings s = { .node = yaml_get(p->config->root, "retention"),
                          .own = grammar_retention,
                          .file = p->config->file,
                          .reach = &p->config->node,
                          .arena = &p->arena };

    if (s.node != NULL && s.node->kind != YAML_MAP)
        s.node = NULL;
    read_archive(b, &s);
    p->retention.by_job = is_by_job(b);
    return (read_states(&s, &p->retention.rules, err) &&
            plan_retain_read_us(&s, "dead", 0, &p->retention.dead_us, err) &&
            plan_retain_read_us(&s, "audit", 0, &p->retention.audit_us, err) &&
            read_types(p, b->store, err)) ||
           err_context(err, "retention");
}
