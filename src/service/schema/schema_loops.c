#include "service/schema/schema_loops.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "service/schema/schema_words.h"

/* Which subschemas check the same value as a subschema: `to`, for subschema p from first[p] to
 * first[p + 1]. */
struct schema_ways {
    const struct schema *s;
    uint32_t *first, *to;
    size_t count, room;
    uint32_t *path,
        *next; /* of the search: subschemas on the way, and the next way of each subschema */
    bool *is_done, *is_on_path;
};

static void schema_ways_done(struct schema_ways *w)
{
    free(w->first);
    free(w->to);
    free(w->path);
    free(w->next);
    free(w->is_done);
    free(w->is_on_path);
}

static void schema_way_add(struct schema_ways *w, uint32_t sub)
{
    if (sub == SCHEMA_NONE)
        return;
    if (w->count == w->room) {
        w->room = w->room == 0 ? 64 : 2 * w->room;
        w->to = xrealloc(w->to, w->room * sizeof *w->to);
    }
    w->to[w->count++] = sub;
}

static void schema_way_add_rule(struct schema_ways *w, const struct schema_rule *r)
{
    const struct json_tree *t = &w->s->tree;

    switch (r->word) {
    case WORD_REF:
    case WORD_DYNAMIC_REF:
        schema_way_add(w, r->ref.sub);
        break;
    case WORD_IF:
        schema_way_add(w, r->choice.then_sub);
        schema_way_add(w, r->choice.else_sub);
        /* fall through */
    case WORD_NOT:
        schema_way_add(w, schema_sub_of(w->s, r->node));
        break;
    case WORD_ALL_OF:
    case WORD_ANY_OF:
    case WORD_ONE_OF:
    case WORD_DEPENDENT_SCHEMAS:
        for (uint32_t i = json_tree_first(t, r->node); i != JSON_TREE_NONE; i = t->nodes[i].next)
            schema_way_add(w, schema_sub_of(w->s, i));
        break;
    default:
        break;
    }
}

static void schema_ways_init(struct schema_ways *w, const struct schema *s)
{
    size_t n = s->sub_count;

    *w = (struct schema_ways){ .s = s };
    w->first = xcalloc(n + 1, sizeof *w->first);
    w->path = xcalloc(n + 1, sizeof *w->path);
    w->next = xcalloc(n + 1, sizeof *w->next);
    w->is_done = xcalloc(n + 1, sizeof *w->is_done);
    w->is_on_path = xcalloc(n + 1, sizeof *w->is_on_path);
    for (size_t p = 0; p < n; p++) {
        w->first[p] = w->next[p] = (uint32_t)w->count;
        for (uint32_t i = 0; i < s->subs[p].rule_count; i++)
            schema_way_add_rule(w, &s->rules[s->subs[p].first_rule + i]);
    }
    w->first[n] = (uint32_t)w->count;
}

/* Depth first from one subschema; false: the way came back to a subschema on it, *ret. */
static bool schema_ways_search(struct schema_ways *w, uint32_t from, uint32_t *ret)
{
    size_t depth = 0;

    w->path[depth++] = from;
    w->is_on_path[from] = true;
    while (depth > 0) {
        uint32_t sub = w->path[depth - 1];

        if (w->next[sub] == w->first[sub + 1]) {
            w->is_on_path[sub] = false;
            w->is_done[sub] = true;
            depth--;
            continue;
        }
        uint32_t to = w->to[w->next[sub]++];

        if (w->is_on_path[to]) {
            *ret = to;
            return false;
        }
        if (!w->is_done[to]) {
            w->path[depth++] = to;
            w->is_on_path[to] = true;
        }
    }
    return true;
}

bool schema_loops_check(const struct schema *s, struct err *err)
{
    AUTO(schema_ways_done) struct schema_ways w;
    uint32_t found;

    schema_ways_init(&w, s);
    for (uint32_t p = 0; p < s->sub_count; p++)
        if (!w.is_done[p] && !schema_ways_search(&w, p, &found))
            return schema_mistake(s, s->subs[found].node, err,
                                  "it refers to itself for the same value: its check never ends");
    return true;
}
