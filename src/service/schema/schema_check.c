#include "service/schema/schema_check.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "service/schema/json_equal.h"
#include "service/schema/schema_walk.h"

enum { MARK_WORDS_MOST = 4 << 20 };

static void schema_walk_done(struct schema_walk *w)
{
    json_tree_done(&w->doc);
    free(w->frames);
    free(w->marks);
    free(w->scopes);
}

/* ---- for the rules ---- */

struct schema_frame *schema_top(struct schema_walk *w)
{
    return &w->frames[w->depth - 1];
}

const struct schema_rule *schema_rule_at_work(struct schema_walk *w)
{
    const struct schema_frame *f = schema_top(w);

    return &w->s->rules[w->s->subs[f->sub].first_rule + f->rule];
}

enum schema_turn schema_broken(struct schema_walk *w)
{
    const struct schema_frame *f = schema_top(w);

    w->broken.rule = schema_rule_at_work(w);
    w->broken.sub = f->sub;
    w->broken.node = f->node;
    return TURN_BROKEN;
}

void schema_end(struct schema_walk *w, enum dead_code code, const char *why)
{
    if (!w->is_over)
        (void)service_fail(w->failure, code, "%s", why);
    w->is_over = true;
}

bool schema_work(struct schema_walk *w, int64_t units)
{
    w->work += units;
    if (w->work > w->work_most)
        schema_end(w, DEAD_BUDGET, "checking it by the schema is too much work");
    return !w->is_over;
}

/* ---- frames ---- */

static size_t schema_mark_words(const struct schema_walk *w, uint32_t node)
{
    return (w->doc.nodes[node].count + 63) / 64;
}

static uint32_t schema_take_marks(struct schema_walk *w, uint32_t node)
{
    size_t words = schema_mark_words(w, node), from = w->mark_count;

    if (from + words > MARK_WORDS_MOST)
        schema_end(w, DEAD_LIMIT, "the schema needs too much memory for `unevaluated...`");
    if (words == 0 || w->is_over)
        return (uint32_t)from;
    w->mark_count += words;
    if (w->mark_count > w->mark_room) {
        w->mark_room = w->mark_count + w->mark_room;
        w->marks = xrealloc(w->marks, w->mark_room * sizeof *w->marks);
    }
    memset(w->marks + from, 0, words * sizeof *w->marks);
    (void)schema_work(w, (int64_t)words / 8);
    return (uint32_t)from;
}

/* Entering another resource widens the dynamic scope. */
static uint32_t schema_enter_scope(struct schema_walk *w, uint32_t resource)
{
    if (w->scope_count > 0 && w->scopes[w->scope_count - 1] == resource)
        return (uint32_t)w->scope_count;
    if (w->scope_count == w->scope_room) {
        w->scope_room = w->scope_room == 0 ? 16 : 2 * w->scope_room;
        w->scopes = xrealloc(w->scopes, w->scope_room * sizeof *w->scopes);
    }
    w->scopes[w->scope_count++] = resource;
    return (uint32_t)w->scope_count;
}

/* A reference by a dynamic anchor can lead back to a subschema that checks the same value already,
 * which the check of the schema does not see: one of them is then there more than once. */
static bool schema_may_begin(struct schema_walk *w, uint32_t same)
{
    if (same > 2 * w->s->sub_count)
        schema_end(w, DEAD_SERVICE_FAILED,
                   "the schema refers to itself for the same value without end");
    else if (w->depth == SCHEMA_DEPTH_MOST)
        schema_end(w, DEAD_LIMIT, "schemas and values stand too deep in each other");
    return schema_work(w, 1);
}

enum schema_turn schema_begin(struct schema_walk *w, uint32_t sub, uint32_t node, bool same)
{
    const struct schema_sub *p = &w->s->subs[sub];
    const struct schema_frame *below = w->depth > 0 ? schema_top(w) : NULL;
    struct schema_frame f = { .sub = sub,
                              .node = node,
                              .is_same = same,
                              .same = same ? below->same + 1 : 0,
                              .tracks = p->tracks || (same && below->tracks) };

    if (!schema_may_begin(w, f.same))
        return TURN_BROKEN;
    if (f.tracks)
        f.marks = schema_take_marks(w, node);
    if (w->is_over)
        return TURN_BROKEN;
    f.scope = schema_enter_scope(w, p->resource);
    if (w->depth == w->frame_room) {
        w->frame_room = w->frame_room == 0 ? 64 : 2 * w->frame_room;
        w->frames = xrealloc(w->frames, w->frame_room * sizeof *w->frames);
    }
    w->frames[w->depth++] = f;
    return TURN_WAITS;
}

/* What a subschema has evaluated, the one below has too, if it checks the same value. */
static void schema_hand_down_marks(struct schema_walk *w)
{
    struct schema_frame *f = schema_top(w), *below = f - 1;
    size_t words = f->tracks ? schema_mark_words(w, f->node) : 0;

    if (!f->is_same || !below->tracks)
        return;
    for (size_t i = 0; i < words; i++)
        w->marks[below->marks + i] |= w->marks[f->marks + i];
}

static void schema_leave(struct schema_walk *w, enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    if (turn == TURN_PASSED && w->depth > 1)
        schema_hand_down_marks(w);
    if (f->tracks)
        w->mark_count = f->marks;
    w->depth--;
    if (w->depth > 0)
        w->scope_count = schema_top(w)->scope;
}

/* ---- the walk ---- */

/* Runs the rules of the frame on top from the one at work, which gets `turn`. */
static enum schema_turn schema_run(struct schema_walk *w, enum schema_turn turn)
{
    const struct schema_sub *p = &w->s->subs[schema_top(w)->sub];

    if (p->is_false) {
        w->broken = (struct schema_break){ .sub = schema_top(w)->sub, .node = schema_top(w)->node };
        return TURN_BROKEN;
    }
    while (schema_top(w)->rule < p->rule_count) {
        const struct schema_rule *r = schema_rule_at_work(w);

        if (!schema_work(w, 1))
            return TURN_BROKEN;
        if (r->word < WORD_REF)
            turn = schema_assert(w, r, schema_top(w)->node) ? TURN_PASSED : schema_broken(w);
        else
            turn = schema_apply(w, turn);
        if (turn != TURN_PASSED)
            return turn;
        schema_top(w)->rule++;
        turn = TURN_BEGIN;
    }
    return TURN_PASSED;
}

static bool schema_walk(struct schema_walk *w)
{
    enum schema_turn turn = schema_begin(w, 0, 0, false);

    while (w->depth > 0 && !w->is_over) {
        turn = schema_run(w, turn == TURN_WAITS ? TURN_BEGIN : turn);
        if (turn != TURN_WAITS)
            schema_leave(w, turn);
    }
    return turn == TURN_PASSED && !w->is_over;
}

static bool schema_read_document(struct schema_walk *w, struct str document,
                                 struct service_failure *ret_failure)
{
    struct err err = { 0 };

    if (document.len > JSON_TREE_BYTES)
        return service_fail(ret_failure, DEAD_LIMIT, "it has more than %d bytes", JSON_TREE_BYTES);
    if (json_tree_read(document, &w->doc, &err) &&
        (!w->s->compares || json_equal_prepare(&w->doc, &err)))
        return true;
    return service_fail(ret_failure, err.kind == ERR_LIMIT ? DEAD_LIMIT : DEAD_SERVICE_FAILED, "%s",
                        err.text);
}

bool schema_check(const struct schema *s, struct str document, int64_t work_most,
                  struct service_failure *ret_failure)
{
    AUTO(schema_walk_done)
    struct schema_walk w = { .s = s, .work_most = work_most, .failure = ret_failure };

    if (!schema_read_document(&w, document, ret_failure))
        return false;
    if (schema_walk(&w))
        return true;
    return !w.is_over ? schema_say(&w, ret_failure) : false;
}
