/* config_subscriptions.c - checks of subscriptions: how many copies a step makes, and `when`.
 *
 * The copies of a document are made in one commit, with its end (store/road/offspring.h), so a step
 * has at most PART_COPIES_MOST subscribers.  A system counts once, in however many subscriptions it
 * is: to know, the names of a step that has more are sorted. */
#include <stdlib.h>

#include "base/alloc.h"
#include "core/config_check.h"
#include "core/part.h"
#include "core/route_when.h"

enum {
    NAMES_MOST = 100000,  /* of the subscriptions of one step, with those that are there twice */
    EFFORT_MOST = 4000000 /* names that are sorted, of all steps */
};

/* Of `- subscribe: a`, `- subscribe: [a, b]` and `- subscribe: { to: a }`; NULL: another step. */
static const struct yaml_node *subscriptions_of(const struct yaml_node *step)
{
    const struct yaml_node *value = step->kind == YAML_MAP ? step->first : NULL;

    if (value == NULL || !str_is(value->key->text, "subscribe"))
        return NULL;
    return value->kind == YAML_MAP ? yaml_get(value, "to") : value;
}

static int config_subscriptions_by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static size_t count_distinct(struct str *names, size_t count)
{
    size_t n = 0;

    if (count > 1)
        qsort(names, count, sizeof *names, config_subscriptions_by_text);
    for (size_t i = 0; i < count; i++)
        n += i == 0 || !str_eq(names[i - 1], names[i]);
    return n;
}

/* Appends the systems of one subscription to `names`, if given.  The number of them. */
static size_t add_subscribers(const struct check_names *all, struct str subscription,
                              struct str *names)
{
    const struct check_name *found = check_names_find(all, subscription);
    const struct yaml_node *to = found != NULL ? yaml_get(found->node, "to") : NULL;

    if (to == NULL)
        return 0;
    if (names != NULL)
        for (const struct yaml_node *s = route_value_first(to); s != NULL;
             s = route_value_next(to, s))
            *names++ = yaml_text(s);
    return route_value_count(to);
}

/* The systems of all subscriptions that `to` names, one by one; NULL: only counts them. */
static size_t add_all_subscribers(const struct check_names *all, const struct yaml_node *to,
                                  struct str *names)
{
    size_t n = 0;

    for (const struct yaml_node *s = route_value_first(to); s != NULL && n <= NAMES_MOST;
         s = route_value_next(to, s))
        n += add_subscribers(all, yaml_text(s), names != NULL ? names + n : NULL);
    return n;
}

/* False: there is too much to compare. */
static bool check_subscribers(struct check *c, const struct check_names *all,
                              const struct yaml_node *to, size_t *io_effort)
{
    size_t count = add_all_subscribers(all, to, NULL);

    if (count <= PART_COPIES_MOST)
        return true;
    *io_effort += count;
    if (count > NAMES_MOST || *io_effort > EFFORT_MOST)
        return false;
    struct str *names = xcalloc(count, sizeof *names);

    (void)add_all_subscribers(all, to, names);
    size_t distinct = count_distinct(names, count);

    free(names);
    if (distinct > PART_COPIES_MOST)
        problem_add(c->problems, to->place,
                    "let one of these systems be a hub with subscriptions of its own",
                    "this step has %zu subscribers, and at most %d get their copies in one commit",
                    distinct, PART_COPIES_MOST);
    return true;
}

static bool check_chain_subscribers(struct check *c, const struct check_names *all,
                                    const struct yaml_node *owner, size_t *io_effort)
{
    const struct yaml_node *steps = yaml_get(owner, "do");

    if (steps == NULL || steps->kind != YAML_LIST)
        return true;
    for (const struct yaml_node *n = steps->first; n != NULL; n = n->next) {
        const struct yaml_node *to = subscriptions_of(n);

        if (to != NULL && !check_subscribers(c, all, to, io_effort))
            return false;
    }
    return true;
}

void check_subscriptions(struct check *c)
{
    static const char *const sections[] = { "routes", "batches" };
    struct check_names all = check_names_of(c, "subscriptions");
    size_t effort = 0;
    bool ok = true;

    for (size_t i = 0; i < all.count; i++)
        check_doubles(c, yaml_get(all.items[i].node, "when"));
    for (size_t i = 0; all.count > 0 && i < sizeof sections / sizeof sections[0]; i++) {
        const struct yaml_node *chains = yaml_get(c->root, sections[i]);

        for (const struct yaml_node *n = chains != NULL ? chains->first : NULL; ok && n != NULL;
             n = n->next)
            ok = check_chain_subscribers(c, &all, n, &effort);
    }
    if (!ok)
        problem_add(c->problems, yaml_position(yaml_get(c->root, "subscriptions")),
                    "let each step name fewer subscriptions, or those fewer systems",
                    "the `subscribe` steps have too many subscribers to be counted");
}
