#include "engine/plan/plan_call.h"

#include "core/service_call.h"

/* ---- the list ---- */

void plan_add_asking(struct builder *b, const struct plan_step *step)
{
    struct plan *p = b->plan;
    struct plan_asking *a = ARENA_NEW(&p->arena, struct plan_asking);
    const struct service_http *http = step->service->http;

    *a = (struct plan_asking){ .next = p->asking,
                               .name = b->step,
                               .service = http->call(step->self)->service,
                               .line_key =
                                   http->line_key != NULL ? http->line_key(step->self) : NULL };
    p->asking = a;
    p->asking_count++;
}

bool plan_name_asking(struct builder *b, struct err *err)
{
    for (struct plan_asking *a = b->plan->asking; a != NULL; a = a->next)
        if (a->word == 0 && !WORDS_OF(b, NAME_ROUTE, a, 1, err))
            return false;
    return true;
}

const struct plan_asking *plan_asking_find(const struct plan *p, struct str name)
{
    const struct plan_asking *a = p->asking;

    while (a != NULL && !str_eq(a->name, name))
        a = a->next;
    return a;
}

/* ---- parts ---- */

struct str plan_call_parts(const struct yaml_node *step)
{
    const struct yaml_node *value = step->first;
    const struct yaml_node *parts =
        str_is(value->key->text, "call") ? yaml_get(value, "parts") : NULL;

    return parts != NULL ? parts->text : (struct str){ 0 };
}

/* `json: /orders`, as `split` has it. */
static struct yaml_node *split_options(struct arena *a, const struct yaml_node *node)
{
    struct yaml_node *map = ARENA_NEW(a, struct yaml_node), *one = ARENA_NEW(a, struct yaml_node);
    struct yaml_node *key = ARENA_NEW(a, struct yaml_node);
    struct str path = str_cut(plan_call_parts(node), ':', &key->text);

    key->text = arena_copy(a, key->text);
    *one = (struct yaml_node){
        .kind = YAML_SCALAR, .place = node->place, .text = str_of(arena_text(a, path)), .key = key
    };
    *map = (struct yaml_node){ .kind = YAML_MAP,
                               .place = node->place,
                               .text = STR(""),
                               .first = one,
                               .last = one,
                               .count = 1 };
    return map;
}

bool plan_call_split(struct builder *b, const struct yaml_node *node, struct plan_step *call,
                     struct plan_step *ret, struct err *err)
{
    const struct service_type *split = connector_service(b->connectors, STR("split"));

    if (node->next != NULL)
        return err_set(err, ERR_CONFIG, 0, "`parts` ends the chain: nothing follows this step");
    if (split == NULL)
        return err_set(err, ERR_CONFIG, 0, "this build cannot split");
    struct settings s =
        plan_step_settings(b, split_options(&b->plan->arena, node), split->kind.keys);

    *ret = (struct plan_step){ .kind = STEP_SERVICE, .name = STR("split"), .service = split };
    if (!split->make(&s, &ret->self, err))
        return err_context(err, "`parts`");
    ret->extractor = call->extractor;
    call->extractor = NULL;
    return true;
}
