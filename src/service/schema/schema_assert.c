/* schema_assert.c - rules that one look at a value decides. */
#include <stdlib.h>

#include "base/alloc.h"
#include "service/schema/json_equal.h"
#include "service/schema/schema_walk.h"

static bool schema_is_type(struct schema_walk *w, const struct schema_rule *r, uint32_t node)
{
    enum json_tree_kind kind = w->doc.nodes[node].kind;
    struct decimal d;

    if ((r->types & 1u << kind) != 0)
        return true;
    return kind == TREE_NUMBER && (r->types & SCHEMA_INTEGER) != 0 &&
           decimal_read(json_tree_text(&w->doc, node), &d) && decimal_is_integer(&d);
}

/* ---- values ---- */

static bool schema_is_value(struct schema_walk *w, uint32_t node, uint32_t value)
{
    return json_tree_equal(&w->doc, node, &w->s->tree, value, &w->work);
}

/* The values stand by their hash: all that may be equal are one run. */
static bool schema_is_one_of(struct schema_walk *w, const struct schema_rule *r, uint32_t node)
{
    const uint64_t *hashes = w->s->tree.hashes, want = w->doc.hashes[node];
    const uint32_t *nodes = r->values.nodes;
    size_t low = 0, high = r->values.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (hashes[nodes[middle]] < want)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < r->values.count && hashes[nodes[low]] == want; low++)
        if (schema_is_value(w, node, nodes[low]))
            return true;
    return false;
}

static int schema_items_by_hash(const void *a, const void *b, void *arg)
{
    const struct json_tree *t = arg;
    uint64_t x = t->hashes[*(const uint32_t *)a], y = t->hashes[*(const uint32_t *)b];

    return x < y ? -1 : x > y;
}

/* Of the items from `from` to the end of its run of equal hashes. */
static bool schema_run_is_unique(struct schema_walk *w, const uint32_t *items, size_t from,
                                 size_t count)
{
    for (size_t i = from + 1;
         i < count && w->doc.hashes[items[i]] == w->doc.hashes[items[from]] && schema_work(w, 1);
         i++)
        if (json_tree_equal(&w->doc, items[from], &w->doc, items[i], &w->work))
            return false;
    return true;
}

static bool schema_is_unique(struct schema_walk *w, uint32_t node)
{
    struct json_tree *t = &w->doc;
    size_t count = t->nodes[node].count, n = 0;
    bool unique = true;

    if (t->nodes[node].kind != TREE_LIST || count < 2 || !schema_work(w, (int64_t)count))
        return true;
    uint32_t *items = xmalloc(count * sizeof *items);

    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        items[n++] = i;
    qsort_r(items, n, sizeof *items, schema_items_by_hash, t);
    for (size_t i = 0; unique && i < n && !w->is_over; i++)
        unique = schema_run_is_unique(w, items, i, n);
    free(items);
    return unique;
}

/* ---- numbers and sizes ---- */

static bool schema_is_in_range(struct schema_walk *w, const struct schema_rule *r, uint32_t node)
{
    struct decimal d;

    if (w->doc.nodes[node].kind != TREE_NUMBER)
        return true;
    if (!decimal_read(json_tree_text(&w->doc, node), &d)) {
        schema_end(w, DEAD_LIMIT, "the exponent of a number has more than nine digits");
        return false;
    }
    (void)schema_work(w, (int64_t)d.digits.len / 64);
    switch (r->word) {
    case WORD_MINIMUM:
        return decimal_compare(&d, &r->limit) >= 0;
    case WORD_EXCLUSIVE_MINIMUM:
        return decimal_compare(&d, &r->limit) > 0;
    case WORD_MAXIMUM:
        return decimal_compare(&d, &r->limit) <= 0;
    case WORD_EXCLUSIVE_MAXIMUM:
        return decimal_compare(&d, &r->limit) < 0;
    default:
        return decimal_is_multiple(&d, &r->divisor);
    }
}

static bool schema_is_sized(bool at_least, uint64_t size, uint64_t limit)
{
    return at_least ? size >= limit : size <= limit;
}

/* The number of characters of a text. */
static uint64_t schema_length(struct schema_walk *w, struct str text)
{
    uint64_t n = 0;

    (void)schema_work(w, (int64_t)text.len / 64);
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return n;
}

static bool schema_has_size(struct schema_walk *w, const struct schema_rule *r, uint32_t node)
{
    const struct json_tree_node *n = &w->doc.nodes[node];

    switch (r->word) {
    case WORD_MIN_LENGTH:
    case WORD_MAX_LENGTH:
        return n->kind != TREE_TEXT ||
               schema_is_sized(r->word == WORD_MIN_LENGTH,
                               schema_length(w, json_tree_text(&w->doc, node)), r->size);
    case WORD_MIN_ITEMS:
    case WORD_MAX_ITEMS:
        return n->kind != TREE_LIST ||
               schema_is_sized(r->word == WORD_MIN_ITEMS, n->count, r->size);
    default:
        return n->kind != TREE_OBJECT ||
               schema_is_sized(r->word == WORD_MIN_PROPERTIES, n->count, r->size);
    }
}

/* ---- texts and names ---- */

bool schema_matches(struct schema_walk *w, const struct regex *regex, struct str text)
{
    struct regex_search search;

    (void)schema_work(w, 8 + (int64_t)text.len / 64);
    regex_search_init(&search, regex, text);
    enum regex_found found = regex_next(&search);

    regex_search_done(&search);
    if (found == REGEX_OVER)
        schema_end(w, DEAD_BUDGET, "a regular expression of the schema takes too long on it");
    return found == REGEX_FOUND;
}

/* All names of a list of the schema are there. */
static bool schema_has_names(struct schema_walk *w, uint32_t names, uint32_t node)
{
    const struct json_tree *t = &w->s->tree;

    for (uint32_t i = json_tree_first(t, names); i != JSON_TREE_NONE; i = t->nodes[i].next)
        if (!schema_work(w, 1) ||
            json_tree_member(&w->doc, node, json_tree_text(t, i)) == JSON_TREE_NONE) {
            w->broken.detail = i;
            return false;
        }
    return true;
}

static bool schema_has_demanded(struct schema_walk *w, const struct schema_rule *r, uint32_t node)
{
    const struct json_tree *t = &w->s->tree;

    for (uint32_t i = json_tree_first(t, r->node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        if (json_tree_member(&w->doc, node, json_tree_name(t, i)) != JSON_TREE_NONE &&
            !schema_has_names(w, i, node))
            return false;
    return true;
}

bool schema_assert(struct schema_walk *w, const struct schema_rule *r, uint32_t node)
{
    enum json_tree_kind kind = w->doc.nodes[node].kind;

    switch (r->word) {
    case WORD_TYPE:
        return schema_is_type(w, r, node);
    case WORD_CONST:
        return schema_is_value(w, node, r->node);
    case WORD_ENUM:
        return schema_is_one_of(w, r, node);
    case WORD_UNIQUE_ITEMS:
        return schema_is_unique(w, node);
    case WORD_MINIMUM:
    case WORD_EXCLUSIVE_MINIMUM:
    case WORD_MAXIMUM:
    case WORD_EXCLUSIVE_MAXIMUM:
    case WORD_MULTIPLE_OF:
        return schema_is_in_range(w, r, node);
    case WORD_PATTERN:
        return kind != TREE_TEXT || schema_matches(w, r->regex, json_tree_text(&w->doc, node));
    case WORD_REQUIRED:
        return kind != TREE_OBJECT || schema_has_names(w, r->node, node);
    case WORD_DEPENDENT_REQUIRED:
        return kind != TREE_OBJECT || schema_has_demanded(w, r, node);
    default:
        return schema_has_size(w, r, node);
    }
}
