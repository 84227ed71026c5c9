#include "service/schema/json_equal.h"

#include "base/alloc.h"
#include "core/json_scan.h"
#include "service/schema/decimal.h"

/* ---- hashes ---- */

static uint64_t json_equal_mix(uint64_t h)
{
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

static uint64_t json_equal_text_hash(struct str s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Of a list in order; of an object in any order: a sum. */
static uint64_t json_equal_inner_hash(const struct json_tree *t, uint32_t node)
{
    bool object = t->nodes[node].kind == TREE_OBJECT;
    uint64_t h = t->nodes[node].count;

    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        if (object)
            h += json_equal_mix(json_equal_text_hash(json_tree_name(t, i)) ^
                                json_equal_mix(t->hashes[i]));
        else
            h = json_equal_mix(h ^ t->hashes[i]);
    return h;
}

static bool json_equal_hash_of(const struct json_tree *t, uint32_t node, uint64_t *ret)
{
    enum json_tree_kind kind = t->nodes[node].kind;
    uint64_t h = 0;
    struct decimal d;

    if (kind == TREE_NUMBER) {
        if (!decimal_read(json_tree_text(t, node), &d))
            return false;
        h = decimal_hash(&d);
    } else if (kind == TREE_TEXT) {
        h = json_equal_text_hash(json_tree_text(t, node));
    } else if (kind >= TREE_LIST) {
        h = json_equal_inner_hash(t, node);
    }
    *ret = json_equal_mix(h + kind);
    return true;
}

/* From the end: what is in a value stands behind it. */
bool json_equal_prepare(struct json_tree *t, struct err *err)
{
    if (t->hashes != NULL)
        return true;
    t->hashes = xcalloc(t->count + 1, sizeof *t->hashes);
    for (size_t i = t->count; i-- > 0;)
        if (!json_equal_hash_of(t, (uint32_t)i, &t->hashes[i]))
            return err_set(err, ERR_PERMANENT, 0,
                           "line %zu: the exponent of a number has more than nine digits",
                           json_tree_line(t, (uint32_t)i));
    return true;
}

void json_equal_prepare_name(struct json_tree *t, uint32_t node)
{
    if (t->hashes != NULL)
        (void)json_equal_hash_of(t, node, &t->hashes[node]);
}

/* ---- comparing ---- */

/* Two lists or objects that are being compared: the next pair of their values. */
struct json_equal_level {
    uint32_t a, b;
    uint32_t at;
    uint32_t next_a, next_b; /* of lists */
};

struct json_equal_walk {
    const struct json_tree *a, *b;
    struct json_equal_level levels[JSON_SCAN_DEPTH + 1];
    size_t depth;
};

/* The values themselves, without what is in them. */
static bool json_equal_flat(const struct json_equal_walk *w, uint32_t in_a, uint32_t in_b)
{
    const struct json_tree_node *a = &w->a->nodes[in_a], *b = &w->b->nodes[in_b];
    struct decimal x, y;

    if (a->kind != b->kind || w->a->hashes[in_a] != w->b->hashes[in_b])
        return false;
    if (a->kind == TREE_TEXT)
        return str_eq(json_tree_text(w->a, in_a), json_tree_text(w->b, in_b));
    if (a->kind == TREE_NUMBER)
        return decimal_read(json_tree_text(w->a, in_a), &x) &&
               decimal_read(json_tree_text(w->b, in_b), &y) && decimal_compare(&x, &y) == 0;
    return a->count == b->count;
}

static void json_equal_enter(struct json_equal_walk *w, uint32_t in_a, uint32_t in_b)
{
    w->levels[w->depth++] =
        (struct json_equal_level){ .a = in_a, .b = in_b, .next_a = in_a + 1, .next_b = in_b + 1 };
}

/* The next pair of the innermost level; members of objects in the order of their names.  False:
 * their names differ. */
static bool json_equal_pair(struct json_equal_walk *w, uint32_t *ret_a, uint32_t *ret_b)
{
    struct json_equal_level *l = &w->levels[w->depth - 1];
    const struct json_tree_node *a = &w->a->nodes[l->a], *b = &w->b->nodes[l->b];

    if (a->kind == TREE_LIST) {
        *ret_a = l->next_a;
        *ret_b = l->next_b;
        l->next_a = w->a->nodes[l->next_a].next;
        l->next_b = w->b->nodes[l->next_b].next;
        l->at++;
        return true;
    }
    *ret_a = w->a->sorted[a->sorted + l->at];
    *ret_b = w->b->sorted[b->sorted + l->at];
    l->at++;
    return str_eq(json_tree_name(w->a, *ret_a), json_tree_name(w->b, *ret_b));
}

bool json_tree_equal(const struct json_tree *a, uint32_t in_a, const struct json_tree *b,
                     uint32_t in_b, int64_t *work)
{
    struct json_equal_walk w = { .a = a, .b = b };

    for (;;) {
        ++*work;
        if (!json_equal_flat(&w, in_a, in_b))
            return false;
        if (a->nodes[in_a].kind >= TREE_LIST)
            json_equal_enter(&w, in_a, in_b);
        while (w.depth > 0 && w.levels[w.depth - 1].at == a->nodes[w.levels[w.depth - 1].a].count)
            w.depth--;
        if (w.depth == 0)
            return true;
        if (!json_equal_pair(&w, &in_a, &in_b))
            return false;
    }
}
