#include "table/cell_json.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/json_scan.h"
#include "table/cell_cast.h"
#include "table/cell_dec.h"
#include "table/shape.h"

/* ---- texts and names ---- */

/* The character at *at, which a text of the scanner has; UINT32_MAX: half a surrogate pair. */
static uint32_t json_character(struct str raw, size_t *at)
{
    char decoded[4];
    const unsigned char *p = (const unsigned char *)raw.ptr + *at;
    size_t len;

    if (*p < 0x80 && *p != '\\') {
        (*at)++;
        return *p;
    }
    if (*p == '\\') {
        if (json_scan_unescape(raw, at, decoded) == 0)
            return UINT32_MAX;
        p = (const unsigned char *)decoded;
        if (*p < 0x80)
            return *p;
        len = 0;
    } else {
        len = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    }
    *at += len;
    if (*p < 0xe0)
        return (*p & 0x1fu) << 6 | (p[1] & 0x3fu);
    if (*p < 0xf0)
        return (*p & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return (*p & 7u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
}

/* In UTF-16 a character beyond 0xffff begins with a unit of 0xd800 and up: it comes before 0xe000.
 */
static uint32_t json_utf16_place(uint32_t c)
{
    return c < 0xd800 ? c : c > 0xffff ? c - 0x10000 + 0xd800 : c + 0x110000;
}

static int json_name_cmp(struct str a, struct str b)
{
    size_t i = 0, j = 0;

    while (i < a.len && j < b.len) {
        uint32_t x = json_utf16_place(json_character(a, &i));
        uint32_t y = json_utf16_place(json_character(b, &j));

        if (x != y)
            return x < y ? -1 : 1;
    }
    return i < a.len ? 1 : j < b.len ? -1 : 0;
}

static char *json_put_character(uint32_t c, char *to)
{
    static const char hex[] = "0123456789abcdef", from[] = "\b\t\n\f\r\"\\", as[] = "btnfr\"\\";
    const char *place = c != 0 && c < 0x80 ? strchr(from, (int)c) : NULL;

    if (place == NULL && c >= ' ')
        return to + str_put_utf8(c, to);
    *to++ = '\\';
    if (place != NULL) {
        *to++ = as[place - from];
        return to;
    }
    memcpy(to, "u00", 3);
    to[3] = hex[c >> 4];
    to[4] = hex[c & 15];
    return to + 5;
}

static char *json_put_text(struct str raw, char *to)
{
    *to++ = '"';
    if (raw.len > 0 && memchr(raw.ptr, '\\', raw.len) == NULL) {
        memcpy(to, raw.ptr, raw.len);
        to += raw.len;
    } else {
        for (size_t at = 0; at < raw.len;)
            to = json_put_character(json_character(raw, &at), to);
    }
    *to++ = '"';
    return to;
}

/* ---- the first look: is it JSON, is it in its one form, how large is that ---- */

struct json_look {
    struct json_scan scan;
    size_t nodes; /* values */
    size_t most;  /* bytes of the one form at most */
    bool normal;  /* so far */
    const char *why;
    struct {
        struct str name; /* the last one; ptr NULL: none yet */
        bool any;
    } levels[JSON_SCAN_DEPTH + 1];
};

/* Escapes that the one form has as well leave it normal. */
static bool look_at_escapes(struct json_look *l, struct str raw)
{
    for (size_t at = 0; at < raw.len;) {
        size_t from = at;
        uint32_t c = json_character(raw, &at);
        char as[8];

        if (c == UINT32_MAX) {
            l->why = "half a character stands in a text";
            return false;
        }
        if (raw.ptr[from] == '\\' && !str_eq(str_mem(as, (size_t)(json_put_character(c, as) - as)),
                                             str_mem(raw.ptr + from, at - from)))
            l->normal = false;
    }
    return true;
}

/* Before a value or a name: the comma. */
static void look_at_place(struct json_look *l)
{
    size_t depth = l->scan.depth;

    l->most += l->levels[depth].any;
    l->levels[depth].any = true;
}

static bool look_at_key(struct json_look *l)
{
    struct str *last = &l->levels[l->scan.depth].name;

    look_at_place(l);
    l->most += l->scan.text.len + 3;
    if (l->scan.escapes && !look_at_escapes(l, l->scan.text))
        return false;
    if (l->normal && last->ptr != NULL && json_name_cmp(*last, l->scan.text) >= 0)
        l->normal = false;
    *last = l->scan.text;
    return true;
}

static bool look_at_scalar(struct json_look *l)
{
    struct str text = l->scan.text;
    bool number = text.ptr[0] == '-' || (text.ptr[0] >= '0' && text.ptr[0] <= '9');
    size_t size = text.len;

    if (number && !cell_dec_is_normal(text)) {
        l->normal = false;
        size = cell_dec_size(text);
        if (size == 0) {
            l->why = "a number has too many digits";
            return false;
        }
    }
    l->most += size;
    return true;
}

static bool look_at_event(struct json_look *l, enum json_event e)
{
    /* A name has made its place, and an opened level is one deeper already. */
    bool named =
        e != JSON_KEY && l->scan.depth > 0 && e != JSON_OPEN && json_scan_in_object(&l->scan);

    switch (e) {
    case JSON_OPEN:
        l->nodes++;
        l->most += 2;
        if (l->scan.depth > 1 &&
            !(l->scan.objects[(l->scan.depth - 2) / 64] >> (l->scan.depth - 2) % 64 & 1)) {
            l->most += l->levels[l->scan.depth - 1].any;
            l->levels[l->scan.depth - 1].any = true;
        }
        l->levels[l->scan.depth].any = false;
        l->levels[l->scan.depth].name = (struct str){ 0 };
        return true;
    case JSON_KEY:
        return look_at_key(l);
    case JSON_TEXT:
    case JSON_SCALAR:
        l->nodes++;
        if (l->scan.depth > 0 && !named)
            look_at_place(l);
        if (e == JSON_SCALAR)
            return look_at_scalar(l);
        l->most += l->scan.text.len + 2;
        return !l->scan.escapes || look_at_escapes(l, l->scan.text);
    default:
        return true;
    }
}

static bool json_look(struct str text, struct json_look *l)
{
    enum json_event e;

    /* Not the levels: they are set when they open. */
    l->scan = (struct json_scan){ 0 };
    l->nodes = l->most = 0;
    l->normal = true;
    l->why = NULL;
    l->levels[0].any = false;
    if (text.len > SHAPE_ROW_BYTES) {
        l->why = "it is too large";
        return false;
    }
    json_scan_give(&l->scan, text, true);
    while ((e = json_scan_next(&l->scan)) > JSON_END) {
        if (!look_at_event(l, e))
            return false;
        if (l->most > SHAPE_ROW_BYTES) {
            l->why = "it is too large";
            return false;
        }
    }
    if (e != JSON_END) {
        l->why = l->scan.why != NULL ? l->scan.why : "it ends too early";
        return false;
    }
    l->normal = l->normal && l->most == text.len; /* else there are blanks */
    return true;
}

bool cell_json_is_normal(struct str text)
{
    struct json_look l;

    return json_look(text, &l) && l.normal;
}

/* ---- the second: a tree, whose objects are in order ---- */

/* Offsets, as a text has less than 4 GB: trees are large. */
struct json_node {
    uint32_t name, name_len;
    uint32_t at, len; /* of a level: its first child, and how many */
    char kind;        /* '{' '[' '"', '0' a number, 'w' a word */
};

struct json_tree {
    const char *base;
    struct json_node *open, *done; /* a stack; the children of levels that have closed */
    size_t open_count, done_count;
};

static int json_node_cmp(const void *a, const void *b, void *arg)
{
    const struct json_node *x = a, *y = b;
    const char *base = arg;
    int c =
        json_name_cmp(str_mem(base + x->name, x->name_len), str_mem(base + y->name, y->name_len));

    return c != 0 ? c : x->name < y->name ? -1 : x->name > y->name;
}

/* Puts members in order; of those with one name the last stays.  Returns how many stay. */
static size_t json_sort(const struct json_tree *t, struct json_node *members, size_t count)
{
    size_t kept = 0;

    qsort_r(members, count, sizeof *members, json_node_cmp, (void *)(uintptr_t)t->base);
    for (size_t i = 0; i < count; i++) {
        struct str name = str_mem(t->base + members[i].name, members[i].name_len);

        if (i + 1 < count && json_name_cmp(name, str_mem(t->base + members[i + 1].name,
                                                         members[i + 1].name_len)) == 0)
            continue;
        members[kept++] = members[i];
    }
    return kept;
}

static void json_tree_close(struct json_tree *t, size_t level)
{
    struct json_node *node = &t->open[level];
    struct json_node *children = &t->done[t->done_count];
    size_t count = t->open_count - level - 1;

    memcpy(children, node + 1, count * sizeof *node);
    t->open_count = level + 1;
    node->at = (uint32_t)t->done_count;
    if (node->kind == '{')
        count = json_sort(t, children, count);
    node->len = (uint32_t)count;
    t->done_count += count;
}

static void json_tree_push(struct json_tree *t, const struct json_node *named, struct str text,
                           char kind)
{
    struct json_node *node = &t->open[t->open_count++];

    *node = *named;
    node->at = (uint32_t)(text.len > 0 ? text.ptr - t->base : 0);
    node->len = (uint32_t)text.len;
    node->kind = kind;
}

/* The text has been looked at. */
static void json_tree_read(struct json_tree *t, struct str text)
{
    struct json_scan s = { 0 };
    struct json_node named = { 0 };
    uint32_t levels[JSON_SCAN_DEPTH + 1];
    enum json_event e;

    json_scan_give(&s, text, true);
    while ((e = json_scan_next(&s)) > JSON_END) {
        if (e == JSON_KEY) {
            named.name = (uint32_t)(s.text.ptr - t->base);
            named.name_len = (uint32_t)s.text.len;
            continue;
        }
        if (e == JSON_OPEN) {
            levels[s.depth] = (uint32_t)t->open_count;
            json_tree_push(t, &named, STR(""), json_scan_in_object(&s) ? '{' : '[');
        } else if (e == JSON_CLOSE) {
            json_tree_close(t, levels[s.depth + 1]);
        } else {
            char first = e == JSON_TEXT ? '"' : s.text.ptr[0];

            json_tree_push(t, &named, s.text, first == '"' ? '"' : first >= 'a' ? 'w' : '0');
        }
        named = (struct json_node){ 0 };
    }
}

static char *json_put_scalar(const struct json_tree *t, const struct json_node *node, char *to)
{
    struct str text = str_mem(t->base + node->at, node->len);

    if (node->kind == '"')
        return json_put_text(text, to);
    if (node->kind == '0')
        return cell_dec_put(text, to);
    memcpy(to, text.ptr, text.len);
    return to + text.len;
}

static char *json_put_tree(const struct json_tree *t, char *to)
{
    struct {
        uint32_t at, end;
        char kind;
    } levels[JSON_SCAN_DEPTH + 1];
    size_t depth = 0;
    const struct json_node *node = &t->open[0];

    for (;;) {
        bool first = node->kind == '{' || node->kind == '[';

        if (first) {
            *to++ = node->kind;
            levels[depth].at = node->at;
            levels[depth].end = node->at + node->len;
            levels[depth++].kind = node->kind;
        } else {
            to = json_put_scalar(t, node, to);
        }
        for (; depth > 0 && levels[depth - 1].at == levels[depth - 1].end; depth--, first = false)
            *to++ = levels[depth - 1].kind == '{' ? '}' : ']';
        if (depth == 0)
            return to;
        if (!first)
            *to++ = ',';
        node = &t->done[levels[depth - 1].at++];
        if (levels[depth - 1].kind == '{') {
            to = json_put_text(str_mem(t->base + node->name, node->name_len), to);
            *to++ = ':';
        }
    }
}

bool cell_json_normal(struct str text, struct arena *a, struct str *ret, const char **ret_why)
{
    struct json_look l;
    struct json_tree t = { .base = text.ptr };
    char *room, *to;

    if (!json_look(text, &l)) {
        *ret_why = l.why;
        return false;
    }
    if (l.normal) {
        *ret = text;
        return true;
    }
    room = cell_cast_room(a, 2 * l.nodes * sizeof *t.open + l.most);
    if (room == NULL) {
        *ret_why = "it is too large";
        return false;
    }
    t.open = (struct json_node *)(void *)room;
    t.done = t.open + l.nodes;
    to = room + 2 * l.nodes * sizeof *t.open;
    json_tree_read(&t, text);
    *ret = str_mem(to, (size_t)(json_put_tree(&t, to) - to));
    return true;
}
