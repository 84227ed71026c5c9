/* schema_apply.c - rules that check a value, or what is in it, by other subschemas.
 *
 * A rule is a small state machine: it is called with TURN_BEGIN, begins a subschema and waits, and
 * is called again with how that ended.  What it remembers meanwhile stands in the frame on top,
 * which is its own again when it is called. */
#include "base/require.h"
#include "service/schema/json_equal.h"
#include "service/schema/schema_refs.h"
#include "service/schema/schema_walk.h"

typedef enum schema_turn schema_rule_fn(struct schema_walk *w, const struct schema_rule *r,
                                        enum schema_turn turn);

static void schema_mark(struct schema_walk *w, const struct schema_frame *f)
{
    if (f->tracks)
        w->marks[f->marks + f->ordinal / 64] |= UINT64_C(1) << f->ordinal % 64;
}

static bool schema_is_marked(const struct schema_walk *w, const struct schema_frame *f)
{
    return (w->marks[f->marks + f->ordinal / 64] >> f->ordinal % 64 & 1) != 0;
}

/* To the next value among the siblings. */
static void schema_step(const struct schema_walk *w, struct schema_frame *f)
{
    f->cursor = w->doc.nodes[f->cursor].next;
    f->ordinal++;
}

static bool schema_is_kind(struct schema_walk *w, enum json_tree_kind kind)
{
    return w->doc.nodes[schema_top(w)->node].kind == kind;
}

/* ---- the same value ---- */

static enum schema_turn schema_begin_same(struct schema_walk *w, uint32_t sub)
{
    return schema_begin(w, sub, schema_top(w)->node, true);
}

static enum schema_turn schema_apply_ref(struct schema_walk *w, const struct schema_rule *r,
                                         enum schema_turn turn)
{
    return turn == TURN_BEGIN ? schema_begin_same(w, r->ref.sub) : turn;
}

/* The outermost resource with that dynamic anchor decides. */
static enum schema_turn schema_apply_dynamic_ref(struct schema_walk *w, const struct schema_rule *r,
                                                 enum schema_turn turn)
{
    uint32_t sub = r->ref.sub;

    if (turn != TURN_BEGIN)
        return turn;
    for (size_t i = 0; r->ref.anchor.len > 0 && i < w->scope_count; i++) {
        uint32_t found = schema_refs_dynamic(w->s, w->scopes[i], r->ref.anchor);

        if (!schema_work(w, 1 + (int64_t)w->s->anchor_count / 8))
            return TURN_BROKEN;
        if (found != SCHEMA_NONE) {
            sub = found;
            break;
        }
    }
    return schema_begin_same(w, sub);
}

/* The next schema of a list of the schema; TURN_PASSED: there are no more. */
static enum schema_turn schema_begin_next(struct schema_walk *w, const struct schema_rule *r,
                                          enum schema_turn turn)
{
    const struct json_tree *t = &w->s->tree;
    struct schema_frame *f = schema_top(w);

    f->cursor = turn == TURN_BEGIN ? json_tree_first(t, r->node) : t->nodes[f->cursor].next;
    return f->cursor == JSON_TREE_NONE ? TURN_PASSED
                                       : schema_begin_same(w, schema_sub_of(w->s, f->cursor));
}

static enum schema_turn schema_apply_all(struct schema_walk *w, const struct schema_rule *r,
                                         enum schema_turn turn)
{
    return turn == TURN_BROKEN ? TURN_BROKEN : schema_begin_next(w, r, turn);
}

static uint32_t schema_depth_of(struct schema_walk *w, uint32_t node)
{
    uint32_t depth = 0;

    while ((node = w->doc.nodes[node].parent) != JSON_TREE_NONE)
        depth++;
    (void)schema_work(w, depth / 8);
    return depth;
}

/* One of several subschemas does not fit. */
static void schema_keep_furthest(struct schema_walk *w, struct schema_frame *f)
{
    uint32_t depth = schema_depth_of(w, w->broken.node);

    if (f->furthest_depth >= depth)
        return;
    f->furthest = w->broken;
    f->furthest_depth = depth;
}

/* The message is about the subschema that got furthest into the value: it was probably meant.  If
 * all of them broke at the value itself, none is better than another, and the rule is `anyOf`. */
static enum schema_turn schema_none_fits(struct schema_walk *w)
{
    const struct schema_frame *f = schema_top(w);

    if (f->furthest_depth <= schema_depth_of(w, f->node)) {
        w->broken.detail = 0;
        return schema_broken(w);
    }
    w->broken = f->furthest;
    return TURN_BROKEN;
}

/* Who tracks needs the marks of all that fit. */
static enum schema_turn schema_apply_any(struct schema_walk *w, const struct schema_rule *r,
                                         enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    f->hits += turn == TURN_PASSED;
    if (turn == TURN_BROKEN)
        schema_keep_furthest(w, f);
    if (turn == TURN_PASSED && !f->tracks)
        return TURN_PASSED;
    bool fits = f->hits > 0;
    enum schema_turn next = schema_begin_next(w, r, turn);

    return next != TURN_PASSED || fits ? next : schema_none_fits(w);
}

static enum schema_turn schema_apply_one(struct schema_walk *w, const struct schema_rule *r,
                                         enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    f->hits += turn == TURN_PASSED;
    if (turn == TURN_BROKEN)
        schema_keep_furthest(w, f);
    uint32_t hits = f->hits;
    enum schema_turn next = hits > 1 ? TURN_PASSED : schema_begin_next(w, r, turn);

    if (next != TURN_PASSED || hits == 1)
        return next;
    if (hits == 0)
        return schema_none_fits(w);
    w->broken.detail = hits;
    return schema_broken(w);
}

static enum schema_turn schema_apply_not(struct schema_walk *w, const struct schema_rule *r,
                                         enum schema_turn turn)
{
    if (turn == TURN_BEGIN)
        return schema_begin_same(w, schema_sub_of(w->s, r->node));
    return turn == TURN_BROKEN ? TURN_PASSED : schema_broken(w);
}

static enum schema_turn schema_apply_if(struct schema_walk *w, const struct schema_rule *r,
                                        enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    if (turn == TURN_BEGIN)
        return schema_begin_same(w, schema_sub_of(w->s, r->node));
    if (f->stage == 1)
        return turn;
    uint32_t sub = turn == TURN_PASSED ? r->choice.then_sub : r->choice.else_sub;

    f->stage = 1;
    return sub == SCHEMA_NONE ? TURN_PASSED : schema_begin_same(w, sub);
}

static enum schema_turn schema_apply_dependent(struct schema_walk *w, const struct schema_rule *r,
                                               enum schema_turn turn)
{
    const struct json_tree *t = &w->s->tree;
    struct schema_frame *f = schema_top(w);

    if (turn == TURN_BROKEN || !schema_is_kind(w, TREE_OBJECT))
        return turn == TURN_BROKEN ? TURN_BROKEN : TURN_PASSED;
    f->cursor = turn == TURN_BEGIN ? json_tree_first(t, r->node) : t->nodes[f->cursor].next;
    while (f->cursor != JSON_TREE_NONE &&
           json_tree_member(&w->doc, f->node, json_tree_name(t, f->cursor)) == JSON_TREE_NONE) {
        f->cursor = t->nodes[f->cursor].next;
        if (!schema_work(w, 1))
            return TURN_BROKEN;
    }
    return f->cursor == JSON_TREE_NONE ? TURN_PASSED
                                       : schema_begin_same(w, schema_sub_of(w->s, f->cursor));
}

/* ---- members ---- */

static enum schema_turn schema_apply_names(struct schema_walk *w, const struct schema_rule *r,
                                           enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    if (turn == TURN_BROKEN || !schema_is_kind(w, TREE_OBJECT))
        return turn == TURN_BROKEN ? TURN_BROKEN : TURN_PASSED;
    f->cursor =
        turn == TURN_BEGIN ? json_tree_first(&w->doc, f->node) : w->doc.nodes[f->cursor].next;
    if (f->cursor == JSON_TREE_NONE)
        return TURN_PASSED;
    uint32_t name = json_tree_name_node(&w->doc, f->cursor);

    json_equal_prepare_name(&w->doc, name);
    return schema_begin(w, schema_sub_of(w->s, r->node), name, false);
}

/* The next subschema for the member at the cursor: of `properties`, then of each pattern, then, if
 * it had none of these, `additionalProperties`.  SCHEMA_NONE: there are no more. */
static uint32_t schema_sub_for_member(struct schema_walk *w, const struct schema_rule *r,
                                      struct schema_frame *f)
{
    struct str name = json_tree_name(&w->doc, f->cursor);
    uint32_t sub = SCHEMA_NONE;

    while (sub == SCHEMA_NONE && f->stage < r->members.pattern_count + 2 && !w->is_over) {
        uint32_t stage = f->stage++, node = JSON_TREE_NONE;

        if (stage == 0 && r->members.properties != JSON_TREE_NONE)
            node = json_tree_member(&w->s->tree, r->members.properties, name);
        if (node != JSON_TREE_NONE)
            sub = schema_sub_of(w->s, node);
        else if (stage > r->members.pattern_count)
            sub = f->is_matched ? SCHEMA_NONE : r->members.more;
        else if (stage > 0 && schema_matches(w, r->members.patterns[stage - 1].regex, name))
            sub = r->members.patterns[stage - 1].sub;
    }
    f->is_matched |= sub != SCHEMA_NONE;
    return sub;
}

static enum schema_turn schema_apply_members(struct schema_walk *w, const struct schema_rule *r,
                                             enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    if (turn == TURN_BROKEN || !schema_is_kind(w, TREE_OBJECT))
        return turn == TURN_BROKEN ? TURN_BROKEN : TURN_PASSED;
    if (turn == TURN_BEGIN)
        f->cursor = json_tree_first(&w->doc, f->node);
    else
        schema_mark(w, f);
    while (f->cursor != JSON_TREE_NONE) {
        uint32_t sub = schema_sub_for_member(w, r, f);

        if (!schema_work(w, 1))
            return TURN_BROKEN;
        if (sub != SCHEMA_NONE)
            return schema_begin(w, sub, f->cursor, false);
        schema_step(w, f);
        f->stage = 0;
        f->is_matched = false;
    }
    return TURN_PASSED;
}

/* ---- items ---- */

static enum schema_turn schema_apply_prefix(struct schema_walk *w, const struct schema_rule *r,
                                            enum schema_turn turn)
{
    const struct json_tree *t = &w->s->tree;
    struct schema_frame *f = schema_top(w);

    if (turn == TURN_BROKEN || !schema_is_kind(w, TREE_LIST))
        return turn == TURN_BROKEN ? TURN_BROKEN : TURN_PASSED;
    if (turn == TURN_BEGIN) {
        f->cursor = json_tree_first(&w->doc, f->node);
        f->stage = json_tree_first(t, r->node);
    } else {
        schema_mark(w, f);
        schema_step(w, f);
        f->stage = t->nodes[f->stage].next;
    }
    if (f->cursor == JSON_TREE_NONE || f->stage == JSON_TREE_NONE)
        return TURN_PASSED;
    return schema_begin(w, schema_sub_of(w->s, f->stage), f->cursor, false);
}

static enum schema_turn schema_apply_items(struct schema_walk *w, const struct schema_rule *r,
                                           enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    if (turn == TURN_BROKEN || !schema_is_kind(w, TREE_LIST))
        return turn == TURN_BROKEN ? TURN_BROKEN : TURN_PASSED;
    if (turn == TURN_BEGIN) {
        f->cursor = json_tree_first(&w->doc, f->node);
        while (f->cursor != JSON_TREE_NONE && f->ordinal < r->size)
            schema_step(w, f);
    } else {
        schema_mark(w, f);
        schema_step(w, f);
    }
    return f->cursor == JSON_TREE_NONE
               ? TURN_PASSED
               : schema_begin(w, schema_sub_of(w->s, r->node), f->cursor, false);
}

static enum schema_turn schema_apply_contains(struct schema_walk *w, const struct schema_rule *r,
                                              enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);

    if (!schema_is_kind(w, TREE_LIST))
        return TURN_PASSED;
    if (turn == TURN_BEGIN) {
        f->cursor = json_tree_first(&w->doc, f->node);
    } else {
        if (turn == TURN_PASSED)
            schema_mark(w, f);
        f->hits += turn == TURN_PASSED;
        schema_step(w, f);
    }
    bool enough = f->hits >= r->hits.least, too_many = f->hits > r->hits.most;

    if (too_many || (f->cursor == JSON_TREE_NONE && !enough))
        return schema_broken(w);
    if (f->cursor == JSON_TREE_NONE || (enough && !f->tracks && r->hits.most == UINT64_MAX))
        return TURN_PASSED;
    return schema_begin(w, schema_sub_of(w->s, r->node), f->cursor, false);
}

/* ---- what no other rule has evaluated ---- */

static enum schema_turn schema_apply_rest(struct schema_walk *w, const struct schema_rule *r,
                                          enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);
    enum json_tree_kind kind = r->word == WORD_UNEVALUATED_ITEMS ? TREE_LIST : TREE_OBJECT;

    if (turn == TURN_BROKEN || !schema_is_kind(w, kind))
        return turn == TURN_BROKEN ? TURN_BROKEN : TURN_PASSED;
    require(f->tracks);
    if (turn == TURN_BEGIN)
        f->cursor = json_tree_first(&w->doc, f->node);
    else
        schema_mark(w, f);
    while (f->cursor != JSON_TREE_NONE && schema_is_marked(w, f)) {
        schema_step(w, f);
        if (!schema_work(w, 1))
            return TURN_BROKEN;
    }
    return f->cursor == JSON_TREE_NONE
               ? TURN_PASSED
               : schema_begin(w, schema_sub_of(w->s, r->node), f->cursor, false);
}

static schema_rule_fn *const appliers[WORD_COUNT] = {
    [WORD_REF] = schema_apply_ref,
    [WORD_DYNAMIC_REF] = schema_apply_dynamic_ref,
    [WORD_ALL_OF] = schema_apply_all,
    [WORD_ANY_OF] = schema_apply_any,
    [WORD_ONE_OF] = schema_apply_one,
    [WORD_NOT] = schema_apply_not,
    [WORD_IF] = schema_apply_if,
    [WORD_DEPENDENT_SCHEMAS] = schema_apply_dependent,
    [WORD_PROPERTY_NAMES] = schema_apply_names,
    [WORD_MEMBERS] = schema_apply_members,
    [WORD_PREFIX_ITEMS] = schema_apply_prefix,
    [WORD_ITEMS] = schema_apply_items,
    [WORD_CONTAINS] = schema_apply_contains,
    [WORD_UNEVALUATED_PROPERTIES] = schema_apply_rest,
    [WORD_UNEVALUATED_ITEMS] = schema_apply_rest,
};

enum schema_turn schema_apply(struct schema_walk *w, enum schema_turn turn)
{
    struct schema_frame *f = schema_top(w);
    const struct schema_rule *r = schema_rule_at_work(w);

    if (turn == TURN_BEGIN) {
        f->cursor = JSON_TREE_NONE;
        f->ordinal = f->stage = f->hits = f->furthest_depth = 0;
        f->is_matched = false;
    }
    require(appliers[r->word] != NULL);
    return appliers[r->word](w, r, turn);
}
