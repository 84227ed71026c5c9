#include "engine/plan/plan_answer.h"

#include "core/grammar.h"

bool plan_read_answer(struct builder *b, const struct settings *of, struct str name,
                      struct plan_answer **ret, struct err *err)
{
    struct settings s = settings_below(of, "answer");
    struct plan_answer *a;

    *ret = NULL;
    if (s.node == NULL || s.node->kind != YAML_MAP)
        return true;
    const struct yaml_node *extract = yaml_get(s.node, "extract");

    a = ARENA_NEW(&b->plan->arena, struct plan_answer);
    *a = (struct plan_answer){ .next = b->plan->answers, .name = name };
    b->plan->answers = a; /* whatever comes of it: it is freed with the others */
    if ((settings_has(&s, "type") && !settings_text(&s, "type", &a->type, err)) ||
        !settings_int(&s, "most", &a->most, err) ||
        !settings_duration(&s, "within", &a->within_us, err) ||
        (extract != NULL && !yaml_is_null(extract) &&
         !extractor_compile(extract, false, &a->extract, err)))
        return err_context(err, "answer");
    *ret = a;
    return true;
}

bool plan_read_step_answer(struct builder *b, const struct settings *of,
                           const struct plan_answer **ret, struct err *err)
{
    struct plan_answer *a;
    struct str system;

    if (!plan_read_answer(b, of, b->step, &a, err))
        return false;
    *ret = a;
    if (a == NULL || !settings_has(of, "system"))
        return true;
    if (!settings_text(of, "system", &system, err))
        return false;
    a->system = plan_system_named(b->plan, system);
    return true;
}

bool plan_name_answers(struct builder *b, struct err *err)
{
    for (struct plan_answer *a = b->plan->answers; a != NULL; a = a->next)
        if (a->word == 0 && !WORDS_OF(b, NAME_ROUTE, a, 1, err))
            return false;
    return true;
}

const struct plan_answer *plan_answer_find(const struct plan *p, struct str name)
{
    const struct plan_answer *a = p->answers;

    while (a != NULL && !str_eq(a->name, name))
        a = a->next;
    return a;
}

/* ---- gateways ---- */

static void add_attribute(struct plan *p, struct str name)
{
    for (size_t i = 0; i < p->attribute_count; i++)
        if (str_eq(p->attributes[i], name))
            return;
    if (p->attribute_count < PLAN_ATTRIBUTES_MOST)
        p->attributes[p->attribute_count++] = name;
}

static void add_attributes(struct plan *p, const struct yaml_node *named)
{
    if (named == NULL || named->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = named->first; n != NULL; n = n->next)
        add_attribute(p, n->key->text);
}

/* All attributes that documents of this configuration get: those of types first, which are there
 * to be searched for. */
static void list_attributes(struct plan *p)
{
    const struct config *c = p->config;

    if (p->attributes != NULL)
        return;
    p->attributes = ARENA_ARRAY(&p->arena, struct str, PLAN_ATTRIBUTES_MOST);
    for (size_t i = 0; i < c->type_count; i++)
        add_attributes(p, yaml_get(c->types[i].node, "search"));
    for (size_t i = 0; i < c->gateway_count; i++)
        add_attributes(p, yaml_get(c->gateways[i].extract, "attributes"));
}

bool plan_read_answers_of(struct builder *b, const struct config_gateway *c, struct plan_gateway *g,
                          struct err *err)
{
    const struct yaml_node *by = yaml_get(c->node, "answers");

    if (by == NULL || yaml_is_null(by))
        return true;
    list_attributes(b->plan);
    return plan_compile_key(by, &g->answers, err) || err_context(err, "answers");
}

/* ---- end ---- */

void plan_answers_free(struct plan *p)
{
    for (struct plan_answer *a = p->answers; a != NULL; a = a->next)
        extractor_free(a->extract);
    for (size_t i = 0; i < p->gateway_count; i++)
        extractor_free(p->gateways[i].answers);
}
