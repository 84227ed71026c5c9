#include "engine/plan/plan_batch.h"

#include "core/grammar.h"

static bool read_template(const struct settings *s, const char *key, const struct template **ret,
                          struct err *err)
{
    struct str text;

    if (!settings_has(s, key))
        return true;
    return settings_text(s, key, &text, err) && template_compile(text, s->arena, ret, err);
}

static const struct calendar *calendar_named(struct builder *b, const struct yaml_node *name)
{
    const struct yaml_node *all = yaml_get(b->plan->config->root, "calendars");

    return calendar_build(yaml_get(all, arena_text(&b->plan->arena, yaml_text(name))),
                          &b->plan->arena);
}

static void read_except(struct builder *b, const struct yaml_node *node, struct batch_schedule *at)
{
    const struct yaml_node *except = yaml_get(node, "except");

    if (except == NULL || yaml_is_null(except))
        return;
    at->except = ARENA_ARRAY(&b->plan->arena, const struct calendar *,
                             except->kind == YAML_LIST ? except->count : 1);
    if (except->kind != YAML_LIST) {
        at->except[at->except_count++] = calendar_named(b, except);
        return;
    }
    for (const struct yaml_node *n = except->first; n != NULL; n = n->next)
        at->except[at->except_count++] = calendar_named(b, n);
}

static bool read_schedule(struct builder *b, const struct settings *s, struct plan_batch *to,
                          struct err *err)
{
    struct batch_schedule *at = ARENA_NEW(s->arena, struct batch_schedule);
    struct str text, zone;

    if (!settings_has(s, "at"))
        return true;
    if (!settings_text(s, "at", &text, err) || !settings_text(s, "zone", &zone, err) ||
        !cron_parse(text, &at->cron, err) || !zone_load(zone, s->arena, &at->zone, err))
        return false;
    read_except(b, s->node, at);
    to->at = at;
    return true;
}

static bool read_join(const struct settings *s, struct plan_batch *to, struct err *err)
{
    static const char *const kinds[] = { "text", "json", "xml", "zip", "each" };
    struct str join;

    if (!settings_text(s, "join", &join, err) || !settings_text(s, "root", &to->root, err) ||
        !settings_text(s, "separator", &to->separator, err) ||
        !settings_text(s, "type", &to->type, err) ||
        !read_template(s, "header", &to->header, err) ||
        !read_template(s, "footer", &to->footer, err) || !read_template(s, "by", &to->by, err))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_is(join, kinds[i]))
            to->join = (enum join_kind)i;
    return true;
}

static bool read_policies(struct builder *b, const struct settings *s, struct plan_batch *to,
                          struct err *err)
{
    struct str empty, missed, bad, receiver;

    if (!settings_text(s, "empty", &empty, err) || !settings_text(s, "missed", &missed, err) ||
        !settings_text(s, "bad", &bad, err) || !settings_text(s, "receiver", &receiver, err))
        return false;
    const struct plan_system *system =
        receiver.len > 0 ? plan_system_named(b->plan, receiver) : NULL;

    to->receiver = system != NULL ? system->word : 0;
    to->empty_send = str_is(empty, "send");
    to->missed_each = str_is(missed, "each");
    to->bad_all = str_is(bad, "all");
    return settings_int(s, "count", &to->members_most, err) &&
           settings_int(s, "bytes", &to->bytes_most, err) &&
           settings_duration(s, "age", &to->age_us, err);
}

/* A batch whose schedule cannot be computed here (unknown time zone) still closes by its limits and
 * by hand. */
static void build_batch(struct builder *b, const struct yaml_node *node, struct plan_batch *to)
{
    struct settings s = plan_step_settings(b, node, grammar_batch);
    struct err err = { 0 }, times = { 0 };

    to->name = to->chain.name = node->key->text;
    plan_steps(b, yaml_get(node, "do"),
               str_of(arena_printf(&b->plan->arena, "batch %.*s", STR_ARG(to->name))), &to->chain);
    if (!read_join(&s, to, &err) || !read_policies(b, &s, to, &err))
        to->chain.broken = plan_broken(b, yaml_position(node), &err);
    if (!read_schedule(b, &s, to, &times))
        (void)plan_broken(b, yaml_position(node), &times);
}

bool plan_batches(struct builder *b, struct err *err)
{
    struct plan *p = b->plan;
    const struct yaml_node *all = yaml_get(p->config->root, "batches");

    if (all == NULL || all->kind != YAML_MAP || all->count == 0)
        return true;
    p->batches = ARENA_ARRAY(&p->arena, struct plan_batch, all->count);
    for (const struct yaml_node *n = all->first; n != NULL; n = n->next)
        build_batch(b, n, &p->batches[p->batch_count++]);
    if (!WORDS_OF(b, NAME_BATCH, p->batches, p->batch_count, err))
        return false;
    for (size_t i = 0; i < p->batch_count; i++)
        p->batches[i].chain.word = p->batches[i].word;
    return true;
}

bool plan_join_step(struct builder *b, const struct yaml_node *map, const struct option_kind *kind,
                    struct plan_step *step, struct err *err)
{
    struct settings s = plan_step_settings(b, map, kind->keys);
    struct str name;

    step->kind = STEP_BATCH;
    if (!settings_text(&s, "name", &name, err) || !read_template(&s, "by", &step->by, err))
        return false;
    for (size_t i = 0; i < b->plan->batch_count; i++)
        if (str_eq(b->plan->batches[i].name, name))
            step->batch = &b->plan->batches[i];
    if (step->batch == NULL)
        return err_set(err, ERR_CONFIG, 0, "there is no batch %.60s", arena_text(s.arena, name));
    if (step->by == NULL)
        step->by = step->batch->by;
    return true;
}
