#include "service/schema/schema_rules.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "service/schema/schema_refs.h"
#include "service/schema/schema_words.h"

static uint32_t schema_sibling(const struct schema *s, uint32_t sub, const char *name)
{
    return json_tree_member(&s->tree, s->subs[sub].node, str_of(name));
}

static uint32_t schema_sibling_sub(const struct schema *s, uint32_t sub, const char *name)
{
    uint32_t node = schema_sibling(s, sub, name);

    return node == JSON_TREE_NONE ? SCHEMA_NONE : schema_sub_of(s, node);
}

/* ---- values ---- */

static unsigned schema_read_types(const struct json_tree *t, uint32_t node)
{
    unsigned bits = 0;

    if (t->nodes[node].kind == TREE_TEXT)
        return schema_type_bits(json_tree_text(t, node));
    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        bits |= schema_type_bits(json_tree_text(t, i));
    return bits;
}

/* A whole number that is not negative; what no document reaches is the largest. */
static uint64_t schema_read_size(const struct json_tree *t, uint32_t node, uint64_t otherwise)
{
    uint64_t n = 0;
    struct decimal d;

    if (node == JSON_TREE_NONE)
        return otherwise;
    if (!decimal_read(json_tree_text(t, node), &d) || d.exponent + (int64_t)d.count > 18)
        return UINT64_MAX;
    for (size_t i = 0; i < d.digits.len; i++)
        n = d.digits.ptr[i] == '.' ? n : n * 10 + (uint64_t)(d.digits.ptr[i] - '0');
    for (int64_t i = 0; i < d.exponent; i++)
        n *= 10;
    return n;
}

static bool schema_read_regex(const struct schema *s, uint32_t node, struct str text,
                              struct regex **ret, struct err *err)
{
    struct err why = { 0 };

    return regex_compile_ecma(text, ret, &why) || schema_mistake(s, node, err, "%.140s", why.text);
}

static int schema_by_hash(const void *a, const void *b, void *arg)
{
    const struct json_tree *t = arg;
    uint64_t x = t->hashes[*(const uint32_t *)a], y = t->hashes[*(const uint32_t *)b];

    return x < y ? -1 : x > y;
}

static void schema_read_values(struct schema *s, struct schema_rule *r)
{
    struct json_tree *t = &s->tree;
    uint32_t *nodes = ARENA_ARRAY(s->arena, uint32_t, t->nodes[r->node].count + 1);
    size_t n = 0;

    for (uint32_t i = json_tree_first(t, r->node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        nodes[n++] = i;
    if (n > 1)
        qsort_r(nodes, n, sizeof *nodes, schema_by_hash, t);
    r->values.nodes = nodes;
    r->values.count = n;
}

/* ---- members ---- */

static bool schema_read_patterns(struct schema *s, struct schema_rule *r, struct err *err)
{
    const struct json_tree *t = &s->tree;
    uint32_t node = r->members.patterns_node;

    if (node == JSON_TREE_NONE)
        return true;
    struct schema_pattern *all =
        ARENA_ARRAY(s->arena, struct schema_pattern, t->nodes[node].count + 1);

    r->members.patterns = all;
    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next) {
        struct schema_pattern *p = &all[r->members.pattern_count];

        if (!schema_read_regex(s, i, json_tree_name(t, i), &p->regex, err))
            return false;
        p->sub = schema_sub_of(s, i);
        r->members.pattern_count++;
    }
    return true;
}

static void schema_read_members(const struct schema *s, uint32_t sub, struct schema_rule *r)
{
    r->members.properties = schema_sibling(s, sub, "properties");
    r->members.patterns_node = schema_sibling(s, sub, "patternProperties");
    r->members.more_node = schema_sibling(s, sub, "additionalProperties");
    r->members.more = schema_sibling_sub(s, sub, "additionalProperties");
}

/* ---- all of them ---- */

static struct schema_rule *schema_add_rule(struct schema *s, uint32_t sub, enum schema_word word,
                                           uint32_t node)
{
    if (s->rule_count == s->rule_room) {
        s->rule_room = s->rule_room == 0 ? 64 : 2 * s->rule_room;
        s->rules = xrealloc(s->rules, s->rule_room * sizeof *s->rules);
    }
    struct schema_rule *r = &s->rules[s->rule_count++];

    *r = (struct schema_rule){ .word = word, .node = node };
    s->subs[sub].rule_count++;
    return r;
}

static bool schema_read_number(struct schema *s, struct schema_rule *r, struct err *err)
{
    struct decimal d;

    (void)decimal_read(json_tree_text(&s->tree, r->node), &d); /* its shape was checked */
    if (r->word != WORD_MULTIPLE_OF) {
        r->limit = d;
        return true;
    }
    return decimal_divisor_of(&d, &r->divisor) ||
           schema_mistake(s, r->node, err,
                          "`multipleOf` needs a number over 0 with at most 18 digits");
}

/* What a rule has beside its word and its node. */
static bool schema_fill_rule(struct schema *s, uint32_t sub, struct schema_rule *r, struct err *err)
{
    const struct json_tree *t = &s->tree;

    switch (r->word) {
    case WORD_TYPE:
        r->types = schema_read_types(t, r->node);
        return true;
    case WORD_ENUM:
        schema_read_values(s, r);
        /* fall through */
    case WORD_CONST:
    case WORD_UNIQUE_ITEMS:
        s->compares = true;
        return true;
    case WORD_MINIMUM:
    case WORD_EXCLUSIVE_MINIMUM:
    case WORD_MAXIMUM:
    case WORD_EXCLUSIVE_MAXIMUM:
    case WORD_MULTIPLE_OF:
        return schema_read_number(s, r, err);
    case WORD_MIN_LENGTH:
    case WORD_MAX_LENGTH:
    case WORD_MIN_ITEMS:
    case WORD_MAX_ITEMS:
    case WORD_MIN_PROPERTIES:
    case WORD_MAX_PROPERTIES:
        r->size = schema_read_size(t, r->node, 0);
        return true;
    case WORD_PATTERN:
        return schema_read_regex(s, r->node, json_tree_text(t, r->node), &r->regex, err);
    case WORD_REF:
    case WORD_DYNAMIC_REF:
        return schema_refs_find(s, sub, r->node, &r->ref.sub, &r->ref.anchor, err);
    case WORD_IF:
        r->choice.then_sub = schema_sibling_sub(s, sub, "then");
        r->choice.else_sub = schema_sibling_sub(s, sub, "else");
        return true;
    case WORD_MEMBERS:
        schema_read_members(s, sub, r);
        return schema_read_patterns(s, r, err);
    case WORD_ITEMS:
        r->size = schema_sibling(s, sub, "prefixItems") == JSON_TREE_NONE
                      ? 0
                      : t->nodes[schema_sibling(s, sub, "prefixItems")].count;
        return true;
    case WORD_CONTAINS:
        r->hits.least = schema_read_size(t, schema_sibling(s, sub, "minContains"), 1);
        r->hits.most = schema_read_size(t, schema_sibling(s, sub, "maxContains"), UINT64_MAX);
        return true;
    default:
        return true;
    }
}

/* `uniqueItems: false` demands nothing. */
static bool schema_is_demand(const struct schema *s, enum schema_word word, uint32_t node)
{
    return node != JSON_TREE_NONE && word != WORD_NOTE &&
           (word != WORD_UNIQUE_ITEMS || s->tree.nodes[node].kind == TREE_TRUE);
}

bool schema_rules_make(struct schema *s, uint32_t sub, struct err *err)
{
    struct schema_sub *p = &s->subs[sub];
    enum schema_word last = WORD_NOTE;

    p->first_rule = (uint32_t)s->rule_count;
    if (s->tree.nodes[p->node].kind != TREE_OBJECT)
        return true;
    for (const struct schema_keyword *k = schema_keywords; k->name != NULL; k++) {
        uint32_t node = schema_sibling(s, sub, k->name);

        if (k->instead != NULL || !schema_is_demand(s, k->word, node) || k->word == last)
            continue;
        last = k->word; /* the three of WORD_MEMBERS are one rule */
        if (!schema_fill_rule(s, sub, schema_add_rule(s, sub, k->word, node), err))
            return false;
        p->tracks |= k->word >= WORD_UNEVALUATED_PROPERTIES;
    }
    return true;
}
