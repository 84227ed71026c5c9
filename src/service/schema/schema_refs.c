#include "service/schema/schema_refs.h"

#include "base/alloc.h"
#include "base/auto.h"
#include "core/json_text.h"
#include "service/schema/schema_words.h"
#include "service/schema/uri.h"

enum { URI_MOST = 2048 };

/* ---- names ---- */

static uint32_t schema_keyword_of(const struct schema *s, uint32_t sub, const char *name)
{
    return json_tree_member(&s->tree, s->subs[sub].node, str_of(name));
}

static bool schema_resolve(struct schema *s, uint32_t resource, uint32_t node, struct buf *to,
                           struct err *err)
{
    struct str base = resource != SCHEMA_NONE ? s->resources[resource].uri : STR("");

    return uri_resolve(base, json_tree_text(&s->tree, node), to, err) ||
           schema_mistake(s, node, err, "it is longer than %d bytes", URI_MOST);
}

static void schema_add_resource(struct schema *s, uint32_t sub, struct str uri)
{
    if (s->resource_count == s->resource_room) {
        s->resource_room = s->resource_room == 0 ? 8 : 2 * s->resource_room;
        s->resources = xrealloc(s->resources, s->resource_room * sizeof *s->resources);
    }
    s->subs[sub].resource = (uint32_t)s->resource_count;
    s->resources[s->resource_count++] =
        (struct schema_resource){ .uri = arena_copy(s->arena, uri), .sub = sub };
}

static uint32_t schema_find_resource(const struct schema *s, struct str uri)
{
    for (size_t i = 0; i < s->resource_count; i++)
        if (str_eq(s->resources[i].uri, uri))
            return (uint32_t)i;
    return SCHEMA_NONE;
}

static bool schema_note_id(struct schema *s, uint32_t sub, struct err *err)
{
    uint32_t node = schema_keyword_of(s, sub, "$id");
    AUTO(buf_done) struct buf uri = BUF_INIT(URI_MOST);

    if (node == JSON_TREE_NONE) {
        if (sub == 0)
            schema_add_resource(s, sub, STR(""));
        return true;
    }
    struct str text = json_tree_text(&s->tree, node);
    ptrdiff_t fragment = str_find(text, '#');

    if (fragment >= 0 && (size_t)fragment + 1 < text.len)
        return schema_mistake(s, node, err,
                              "an `$id` has no fragment; `$anchor` names a subschema");
    if (!schema_resolve(s, s->subs[sub].resource, node, &uri, err))
        return false;
    if (schema_find_resource(s, buf_view(&uri)) != SCHEMA_NONE)
        return schema_mistake(s, node, err, "this `$id` is there twice");
    schema_add_resource(s, sub, buf_view(&uri));
    return true;
}

static bool schema_is_anchor(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && (i == 0 || ((c < '0' || c > '9') && c != '-' && c != '.')))
            return false;
    }
    return name.len > 0;
}

static const struct schema_anchor *schema_find_anchor(const struct schema *s, uint32_t resource,
                                                      struct str name)
{
    for (size_t i = 0; i < s->anchor_count; i++)
        if (s->anchors[i].resource == resource && str_eq(s->anchors[i].name, name))
            return &s->anchors[i];
    return NULL;
}

static bool schema_note_anchor(struct schema *s, uint32_t sub, bool dynamic, struct err *err)
{
    uint32_t node = schema_keyword_of(s, sub, dynamic ? "$dynamicAnchor" : "$anchor");
    uint32_t resource = s->subs[sub].resource;

    if (node == JSON_TREE_NONE)
        return true;
    struct str name = json_tree_text(&s->tree, node);

    if (!schema_is_anchor(name))
        return schema_mistake(s, node, err,
                              "an anchor begins with a letter or `_`, then letters, digits, - _ .");
    if (schema_find_anchor(s, resource, name) != NULL)
        return schema_mistake(s, node, err, "this anchor is there twice");
    if (s->anchor_count == s->anchor_room) {
        s->anchor_room = s->anchor_room == 0 ? 8 : 2 * s->anchor_room;
        s->anchors = xrealloc(s->anchors, s->anchor_room * sizeof *s->anchors);
    }
    s->anchors[s->anchor_count++] = (struct schema_anchor){
        .name = name, .resource = resource, .sub = sub, .is_dynamic = dynamic
    };
    return true;
}

static bool schema_check_draft(const struct schema *s, uint32_t sub, struct err *err)
{
    uint32_t node = schema_keyword_of(s, sub, "$schema");

    if (node == JSON_TREE_NONE ||
        str_is(json_tree_text(&s->tree, node), "https://json-schema.org/draft/2020-12/schema") ||
        str_is(json_tree_text(&s->tree, node), "https://json-schema.org/draft/2020-12/schema#"))
        return true;
    return schema_mistake(s, node, err,
                          "only https://json-schema.org/draft/2020-12/schema is known");
}

bool schema_refs_note(struct schema *s, uint32_t sub, struct err *err)
{
    return schema_check_draft(s, sub, err) && schema_note_id(s, sub, err) &&
           schema_note_anchor(s, sub, false, err) && schema_note_anchor(s, sub, true, err);
}

uint32_t schema_refs_dynamic(const struct schema *s, uint32_t resource, struct str anchor)
{
    const struct schema_anchor *a = schema_find_anchor(s, resource, anchor);

    return a != NULL && a->is_dynamic ? a->sub : SCHEMA_NONE;
}

/* ---- references ---- */

/* The fragment of a reference with its %XX decoded, on the arena. */
static struct str schema_fragment(struct schema *s, struct str reference)
{
    ptrdiff_t at = str_find(reference, '#');
    struct str raw = at < 0 ? STR("") : str_from(reference, (size_t)at + 1);
    char *text = arena_text(s->arena, raw);
    size_t n = 0;

    for (size_t i = 0; i < raw.len; i++) {
        int high = i + 2 < raw.len && raw.ptr[i] == '%' ? str_hex_digit(raw.ptr[i + 1]) : -1;
        int low = high >= 0 ? str_hex_digit(raw.ptr[i + 2]) : -1;

        text[n++] = low >= 0 ? (char)(high * 16 + low) : raw.ptr[i];
        i += low >= 0 ? 2 : 0;
    }
    return str_mem(text, n);
}

static uint32_t schema_nth(const struct json_tree *t, uint32_t list, int64_t n)
{
    uint32_t i = n < 0 ? JSON_TREE_NONE : json_tree_first(t, list);

    for (; n > 0 && i != JSON_TREE_NONE; n--)
        i = t->nodes[i].next;
    return i;
}

/* The node that a JSON Pointer leads to, from `node`. */
static uint32_t schema_follow(struct schema *s, uint32_t node, struct str pointer)
{
    const struct json_tree *t = &s->tree;

    while (pointer.len > 0 && node != JSON_TREE_NONE) {
        struct str raw;

        pointer = str_from(pointer, 1);
        ptrdiff_t slash = str_find(pointer, '/');

        raw = str_mem(pointer.ptr, slash < 0 ? pointer.len : (size_t)slash);
        pointer = str_from(pointer, raw.len);
        struct str token = json_pointer_token(raw, s->arena);

        node = t->nodes[node].kind == TREE_OBJECT ? json_tree_member(t, node, token)
               : t->nodes[node].kind == TREE_LIST ? schema_nth(t, node, json_pointer_index(token))
                                                  : JSON_TREE_NONE;
    }
    return node;
}

static bool schema_find_in(struct schema *s, uint32_t resource, uint32_t node, struct str fragment,
                           uint32_t *ret, struct str *ret_anchor, struct err *err)
{
    *ret = s->resources[resource].sub;
    *ret_anchor = STR("");
    if (fragment.len == 0)
        return true;
    if (fragment.ptr[0] == '/') {
        uint32_t found = schema_follow(s, s->subs[*ret].node, fragment);

        if (found == JSON_TREE_NONE)
            return schema_mistake(s, node, err, "it leads nowhere in this schema");
        *ret = schema_sub_of(s, found);
        return *ret != SCHEMA_NONE ||
               schema_mistake(s, node, err, "it leads to something that is no schema");
    }
    const struct schema_anchor *a = schema_find_anchor(s, resource, fragment);

    if (a == NULL)
        return schema_mistake(s, node, err, "there is no such `$anchor` or `$dynamicAnchor`");
    *ret = a->sub;
    if (a->is_dynamic)
        *ret_anchor = a->name;
    return true;
}

bool schema_refs_find(struct schema *s, uint32_t sub, uint32_t node, uint32_t *ret,
                      struct str *ret_anchor, struct err *err)
{
    AUTO(buf_done) struct buf uri = BUF_INIT(URI_MOST);

    if (!schema_resolve(s, s->subs[sub].resource, node, &uri, err))
        return false;
    uint32_t resource = schema_find_resource(s, buf_view(&uri));

    if (resource == SCHEMA_NONE)
        return schema_mistake(s, node, err,
                              "nothing in this schema has this `$id`; nothing else is read, so put "
                              "it into `$defs`");
    struct str fragment = schema_fragment(s, json_tree_text(&s->tree, node));

    return schema_find_in(s, resource, node, fragment, ret, ret_anchor, err);
}
