#include "service/schema/schema.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "core/option.h"
#include "service/schema/json_equal.h"
#include "service/schema/schema_loops.h"
#include "service/schema/schema_refs.h"
#include "service/schema/schema_rules.h"
#include "service/schema/schema_words.h"

void schema_free(struct schema *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->rule_count; i++) {
        struct schema_rule *r = &s->rules[i];

        if (r->word == WORD_PATTERN)
            regex_free(r->regex);
        for (size_t k = 0; r->word == WORD_MEMBERS && k < r->members.pattern_count; k++)
            regex_free(r->members.patterns[k].regex);
    }
    json_tree_done(&s->tree);
    free(s->subs);
    free(s->rules);
    free(s->resources);
    free(s->anchors);
    free(s->sub_of);
    free(s);
}

/* ---- subschemas ---- */

static bool schema_add_sub(struct schema *s, uint32_t node, uint32_t resource, struct err *err)
{
    enum json_tree_kind kind = s->tree.nodes[node].kind;

    if (kind != TREE_OBJECT && kind != TREE_TRUE && kind != TREE_FALSE)
        return schema_mistake(s, node, err, "a schema is an object, true or false");
    if (s->sub_count == SCHEMA_SUBS_MOST)
        return schema_mistake(s, node, err, "there are more than %d schemas in it",
                              SCHEMA_SUBS_MOST);
    if (s->sub_count == s->sub_room) {
        s->sub_room = s->sub_room == 0 ? 64 : 2 * s->sub_room;
        s->subs = xrealloc(s->subs, s->sub_room * sizeof *s->subs);
    }
    s->sub_of[node] = (uint32_t)s->sub_count;
    s->subs[s->sub_count++] =
        (struct schema_sub){ .node = node, .resource = resource, .is_false = kind == TREE_FALSE };
    return true;
}

/* The schemas in the value of a keyword. */
static bool schema_add_inner(struct schema *s, enum schema_shape shape, uint32_t node,
                             uint32_t resource, struct err *err)
{
    const struct json_tree *t = &s->tree;

    if (shape == SHAPE_SCHEMA)
        return schema_add_sub(s, node, resource, err);
    if (shape != SHAPE_SCHEMAS && shape != SHAPE_NAMED)
        return true;
    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        if (!schema_add_sub(s, i, resource, err))
            return false;
    return true;
}

static bool schema_say_unknown(const struct schema *s, uint32_t node, struct err *err)
{
    struct option_guess guess = { .word = json_tree_name(&s->tree, node) };

    for (const struct schema_keyword *k = schema_keywords; k->name != NULL; k++)
        if (k->instead == NULL)
            option_guess_try(&guess, str_of(k->name));
    if (guess.best.len == 0)
        return schema_mistake(s, node, err, "this is no keyword of JSON Schema 2020-12");
    return schema_mistake(s, node, err,
                          "this is no keyword of JSON Schema 2020-12; did you mean `%.*s`?",
                          STR_ARG(guess.best));
}

/* Its keywords are known and have the right shape; the schemas in them become subschemas. */
static bool schema_read_sub(struct schema *s, uint32_t sub, struct err *err)
{
    const struct json_tree *t = &s->tree;
    uint32_t node = s->subs[sub].node;

    if (t->nodes[node].kind != TREE_OBJECT)
        return sub > 0 || schema_refs_note(s, sub, err);
    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next) {
        const struct schema_keyword *k = schema_keyword_find(json_tree_name(t, i));

        if (k == NULL)
            return schema_say_unknown(s, i, err);
        if (!schema_shape_check(s, k, i, err))
            return false;
    }
    if (!schema_refs_note(s, sub, err))
        return false;
    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next) {
        const struct schema_keyword *k = schema_keyword_find(json_tree_name(t, i));

        if (!schema_add_inner(s, k->shape, i, s->subs[sub].resource, err))
            return false;
    }
    return true;
}

/* ---- the whole ---- */

static bool schema_build(struct schema *s, struct str text, struct err *err)
{
    if (!json_tree_read(text, &s->tree, err) || !json_equal_prepare(&s->tree, err)) {
        err->kind = ERR_CONFIG;
        return false;
    }
    s->sub_of = xmalloc((s->tree.count + 1) * sizeof *s->sub_of);
    for (size_t i = 0; i <= s->tree.count; i++)
        s->sub_of[i] = SCHEMA_NONE;
    if (!schema_add_sub(s, 0, SCHEMA_NONE, err))
        return false;
    for (uint32_t i = 0; i < s->sub_count; i++) /* grows meanwhile */
        if (!schema_read_sub(s, i, err))
            return false;
    for (uint32_t i = 0; i < s->sub_count; i++)
        if (!schema_rules_make(s, i, err))
            return false;
    return schema_loops_check(s, err);
}

bool schema_make(struct str text, struct arena *a, struct schema **ret, struct err *err)
{
    struct schema *s;

    if (text.len > SCHEMA_BYTES_MOST)
        return err_set(err, ERR_CONFIG, 0, "a schema has at most %d bytes", SCHEMA_BYTES_MOST);
    s = NEW(struct schema);
    s->arena = a;
    if (schema_build(s, text, err)) {
        *ret = s;
        return true;
    }
    schema_free(s);
    return false;
}
