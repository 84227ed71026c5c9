#include "engine/plan/plan_subscribe.h"

#include <stdlib.h>

#include "core/route_when.h"

static int subscription_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct plan_subscription *)a)->name,
                   ((const struct plan_subscription *)b)->name);
}

void plan_subscriptions(struct builder *b)
{
    struct plan *p = b->plan;
    const struct yaml_node *all = yaml_get(p->config->root, "subscriptions");

    if (all == NULL || all->kind != YAML_MAP || all->count == 0)
        return;
    p->subscriptions = ARENA_ARRAY(&p->arena, struct plan_subscription, all->count);
    for (const struct yaml_node *n = all->first; n != NULL; n = n->next)
        p->subscriptions[p->subscription_count++] =
            (struct plan_subscription){ n->key->text, yaml_get(n, "when"), yaml_get(n, "to") };
    qsort(p->subscriptions, p->subscription_count, sizeof *p->subscriptions, subscription_by_name);
}

bool plan_subscribe_step(struct builder *b, const struct yaml_node *map, struct plan_step *step,
                         struct err *err)
{
    const struct plan *p = b->plan;
    const struct yaml_node *to = yaml_get(map, "to");

    step->kind = STEP_SUBSCRIBE;
    step->subscriptions =
        ARENA_ARRAY(&b->plan->arena, const struct plan_subscription *, route_value_count(to));
    for (const struct yaml_node *n = route_value_first(to); n != NULL;
         n = route_value_next(to, n)) {
        struct plan_subscription key = { .name = n->text };
        const struct plan_subscription *found =
            p->subscription_count == 0 ? NULL
                                       : bsearch(&key, p->subscriptions, p->subscription_count,
                                                 sizeof key, subscription_by_name);

        if (found == NULL)
            return err_set(err, ERR_CONFIG, 0, "there is no subscription %.*s",
                           (int)(n->text.len < 60 ? n->text.len : 60), n->text.ptr);
        step->subscriptions[step->subscription_count++] = found;
    }
    return true;
}
