#include "service/schema/json_tree.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "core/json_scan.h"

enum { FIRST_ROOM = 64, POINTER_MOST = 64 << 10 };

/* A tree that is being read. */
struct json_tree_reader {
    struct json_tree *t;
    struct json_scan scan;
    uint32_t open;                  /* the innermost list or object */
    uint32_t last[JSON_SCAN_DEPTH]; /* of each level: the last value so far */
    struct json_tree_slice name;    /* of the next value */
    bool is_name_decoded;
};

void json_tree_done(struct json_tree *t)
{
    buf_done(&t->decoded);
    free(t->nodes);
    free(t->sorted);
    free(t->hashes);
    *t = (struct json_tree){ 0 };
}

/* ---- looking ---- */

static struct str json_tree_slice(const struct json_tree *t, struct json_tree_slice s, bool decoded)
{
    return str_mem((decoded ? t->decoded.ptr : t->bytes.ptr) + s.at, s.len);
}

struct str json_tree_text(const struct json_tree *t, uint32_t node)
{
    const struct json_tree_node *n = &t->nodes[node];

    return json_tree_slice(t, n->text, n->is_text_decoded);
}

struct str json_tree_name(const struct json_tree *t, uint32_t node)
{
    const struct json_tree_node *n = &t->nodes[node];

    return json_tree_slice(t, n->name, n->is_name_decoded);
}

struct str json_tree_raw(const struct json_tree *t, uint32_t node)
{
    const struct json_tree_node *n = &t->nodes[node];
    size_t len = 1;

    switch (n->kind) {
    case TREE_NULL:
    case TREE_TRUE:
        len = 4;
        break;
    case TREE_FALSE:
        len = 5;
        break;
    case TREE_NUMBER:
        len = n->text.len;
        break;
    case TREE_TEXT: /* of a decoded one the length in the bytes is not kept */
        len = n->is_text_decoded ? 1 : n->text.len + 2;
        break;
    default:
        break;
    }
    return str_mem(t->bytes.ptr + n->at, len);
}

uint32_t json_tree_first(const struct json_tree *t, uint32_t node)
{
    return t->nodes[node].count > 0 ? node + 1 : JSON_TREE_NONE;
}

uint32_t json_tree_member(const struct json_tree *t, uint32_t node, struct str name)
{
    const struct json_tree_node *n = &t->nodes[node];
    size_t low = n->sorted, high = low + n->count;

    if (n->kind != TREE_OBJECT)
        return JSON_TREE_NONE;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = str_cmp(name, json_tree_name(t, t->sorted[middle]));

        if (c == 0)
            return t->sorted[middle];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return JSON_TREE_NONE;
}

uint32_t json_tree_name_node(struct json_tree *t, uint32_t member)
{
    const struct json_tree_node *m = &t->nodes[member];

    t->nodes[t->count] = (struct json_tree_node){ .at = m->at,
                                                  .text = m->name,
                                                  .is_text_decoded = m->is_name_decoded,
                                                  .parent = member,
                                                  .next = JSON_TREE_NONE,
                                                  .kind = TREE_TEXT };
    return (uint32_t)t->count;
}

/* ---- places ---- */

size_t json_tree_line(const struct json_tree *t, uint32_t node)
{
    size_t line = 1;

    for (size_t i = 0; i < t->nodes[node].at && i < t->bytes.len; i++)
        line += t->bytes.ptr[i] == '\n';
    return line;
}

static size_t json_tree_ordinal(const struct json_tree *t, uint32_t node)
{
    size_t n = 0;

    for (uint32_t i = t->nodes[node].parent + 1; i != node; i = t->nodes[i].next)
        n++;
    return n;
}

static bool json_tree_put_name(struct str name, struct buf *to, struct err *err)
{
    bool ok = true;

    for (size_t i = 0; ok && i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        struct str piece = c == '~'                ? STR("~0")
                           : c == '/'              ? STR("~1")
                           : c < 0x20 || c == 0x7f ? STR(" ")
                                                   : str_mem(&name.ptr[i], 1);

        ok = buf_append(to, piece, err);
    }
    return ok;
}

void json_tree_pointer(const struct json_tree *t, uint32_t node, size_t most, struct buf *to)
{
    AUTO(buf_done) struct buf whole = BUF_INIT(POINTER_MOST);
    uint32_t path[JSON_SCAN_DEPTH + 2];
    size_t depth = 0;
    struct err err;
    bool fits = true;

    for (uint32_t n = node; t->nodes[n].parent != JSON_TREE_NONE; n = t->nodes[n].parent)
        path[depth++] = n;
    while (depth > 0 && fits) {
        uint32_t n = path[--depth];

        if (n == t->count) /* a name: its place is that of its member */
            continue;
        if (t->nodes[t->nodes[n].parent].kind == TREE_OBJECT) {
            fits = buf_append(&whole, STR("/"), &err) &&
                   json_tree_put_name(json_tree_name(t, n), &whole, &err);
        } else {
            fits = buf_reserve(&whole, 32, &err);
            if (fits)
                buf_printf(&whole, "/%zu", json_tree_ordinal(t, n));
        }
    }
    struct str text = buf_view(&whole);

    if (text.len > most) {
        buf_puts(to, "...");
        text = str_from(text, text.len - most);
        while (text.len > 0 && ((unsigned char)text.ptr[0] & 0xc0) == 0x80)
            text = str_from(text, 1); /* not within a character */
    }
    buf_put(to, text);
}

/* ---- reading ---- */

static bool json_tree_say(const struct json_tree_reader *r, const char *why, int64_t at,
                          struct err *err)
{
    size_t line = 1;

    for (int64_t i = 0; i < at; i++)
        line += r->t->bytes.ptr[i] == '\n';
    return err_set(err, ERR_PERMANENT, 0, "line %zu: not JSON: %s, at byte %lld", line, why,
                   (long long)at);
}

/* The decoded form of a text with escapes is not longer than its raw form. */
static bool json_tree_decode(struct json_tree_reader *r, struct json_tree_slice *ret,
                             struct err *err)
{
    struct buf *to = &r->t->decoded;
    struct str raw = r->scan.text;
    char piece[4];

    *ret = (struct json_tree_slice){ .at = (uint32_t)to->len };
    for (size_t i = 0; i < raw.len;) {
        size_t len = 1;

        if (raw.ptr[i] == '\\')
            len = json_scan_unescape(raw, &i, piece);
        else
            piece[0] = raw.ptr[i++];
        if (len == 0)
            return json_tree_say(r, "half of a surrogate pair stands in a text",
                                 json_scan_from(&r->scan), err);
        buf_put(to, str_mem(piece, len));
    }
    ret->len = (uint32_t)to->len - ret->at;
    return true;
}

static bool json_tree_slice_of(struct json_tree_reader *r, struct json_tree_slice *ret,
                               bool *ret_decoded, struct err *err)
{
    struct str text = r->scan.text;

    *ret_decoded = r->scan.escapes;
    if (r->scan.escapes)
        return json_tree_decode(r, ret, err);
    *ret = (struct json_tree_slice){ .at = (uint32_t)(text.ptr - r->t->bytes.ptr),
                                     .len = (uint32_t)text.len };
    return true;
}

/* A new last value of the innermost list or object. */
static bool json_tree_add(struct json_tree_reader *r, enum json_tree_kind kind, int64_t at,
                          struct err *err)
{
    struct json_tree *t = r->t;
    size_t level = r->scan.depth - (kind >= TREE_LIST);
    uint32_t node = (uint32_t)t->count;

    if (t->count == JSON_TREE_VALUES)
        return err_set(err, ERR_LIMIT, 0, "there are more than %d values", JSON_TREE_VALUES);
    if (t->count + 1 >= t->room) {
        t->room = t->room == 0 ? FIRST_ROOM : t->room + t->room / 2;
        t->nodes = xrealloc(t->nodes, t->room * sizeof *t->nodes);
    }
    t->count++;
    t->nodes[node] = (struct json_tree_node){ .at = (uint32_t)at,
                                              .kind = (uint8_t)kind,
                                              .parent = r->open,
                                              .next = JSON_TREE_NONE,
                                              .name = r->name,
                                              .is_name_decoded = r->is_name_decoded };
    if (r->open != JSON_TREE_NONE && t->nodes[r->open].count++ > 0)
        t->nodes[r->last[level - 1]].next = node;
    if (level > 0)
        r->last[level - 1] = node;
    return true;
}

static bool json_tree_scalar(struct json_tree_reader *r, struct err *err)
{
    struct str text = r->scan.text;
    int64_t at = text.ptr - r->t->bytes.ptr;
    enum json_tree_kind kind = text.ptr[0] == 'n'   ? TREE_NULL
                               : text.ptr[0] == 't' ? TREE_TRUE
                               : text.ptr[0] == 'f' ? TREE_FALSE
                                                    : TREE_NUMBER;

    if (!json_tree_add(r, kind, at, err))
        return false;
    r->t->nodes[r->t->count - 1].text =
        (struct json_tree_slice){ .at = (uint32_t)at, .len = (uint32_t)text.len };
    return true;
}

static bool json_tree_text_value(struct json_tree_reader *r, struct err *err)
{
    if (!json_tree_add(r, TREE_TEXT, r->scan.text.ptr - r->t->bytes.ptr - 1, err))
        return false;
    struct json_tree_node *n = &r->t->nodes[r->t->count - 1];

    return json_tree_slice_of(r, &n->text, &n->is_text_decoded, err);
}

static bool json_tree_opened(struct json_tree_reader *r, struct err *err)
{
    enum json_tree_kind kind = json_scan_in_object(&r->scan) ? TREE_OBJECT : TREE_LIST;

    if (!json_tree_add(r, kind, json_scan_at(&r->scan) - 1, err))
        return false;
    r->open = (uint32_t)r->t->count - 1;
    return true;
}

/* ---- members by name ---- */

static int json_tree_by_name(const void *a, const void *b, void *arg)
{
    const struct json_tree *t = arg;

    return str_cmp(json_tree_name(t, *(const uint32_t *)a),
                   json_tree_name(t, *(const uint32_t *)b));
}

static void json_tree_room_for(struct json_tree *t, size_t more)
{
    if (t->sorted_count + more <= t->sorted_room)
        return;
    t->sorted_room = t->sorted_count + more + t->sorted_room / 2;
    t->sorted = xrealloc(t->sorted, t->sorted_room * sizeof *t->sorted);
}

static bool json_tree_sort(struct json_tree_reader *r, uint32_t object, struct err *err)
{
    struct json_tree *t = r->t;
    struct json_tree_node *n = &t->nodes[object];

    if (n->count == 0)
        return true;
    json_tree_room_for(t, n->count);
    n->sorted = (uint32_t)t->sorted_count;
    uint32_t *members = &t->sorted[n->sorted], count = 0;

    for (uint32_t i = json_tree_first(t, object); i != JSON_TREE_NONE; i = t->nodes[i].next)
        members[count++] = i;
    t->sorted_count += count;
    if (count > 1)
        qsort_r(members, count, sizeof *members, json_tree_by_name, t);
    for (uint32_t i = 1; i < count; i++)
        if (str_eq(json_tree_name(t, members[i - 1]), json_tree_name(t, members[i]))) {
            uint32_t second = members[i - 1] > members[i] ? members[i - 1] : members[i];

            return json_tree_say(r, "a name stands twice in an object", t->nodes[second].at, err);
        }
    return true;
}

static bool json_tree_closed(struct json_tree_reader *r, struct err *err)
{
    uint32_t closed = r->open;

    r->open = r->t->nodes[closed].parent;
    return r->t->nodes[closed].kind == TREE_LIST || json_tree_sort(r, closed, err);
}

static bool json_tree_take(struct json_tree_reader *r, enum json_event e, struct err *err)
{
    bool ok = true;

    switch (e) {
    case JSON_KEY:
        return json_tree_slice_of(r, &r->name, &r->is_name_decoded, err);
    case JSON_OPEN:
        ok = json_tree_opened(r, err);
        break;
    case JSON_CLOSE:
        ok = json_tree_closed(r, err);
        break;
    case JSON_TEXT:
        ok = json_tree_text_value(r, err);
        break;
    default:
        ok = json_tree_scalar(r, err);
        break;
    }
    r->name = (struct json_tree_slice){ 0 };
    r->is_name_decoded = false;
    return ok;
}

bool json_tree_read(struct str bytes, struct json_tree *ret, struct err *err)
{
    struct json_tree_reader r = { .t = ret, .open = JSON_TREE_NONE };
    enum json_event e;
    bool ok = true;

    require(bytes.len <= JSON_TREE_BYTES);
    *ret = (struct json_tree){ .bytes = bytes, .decoded = BUF_INIT(bytes.len) };
    json_scan_give(&r.scan, bytes, true);
    while (ok && (e = json_scan_next(&r.scan)) != JSON_END)
        ok = e == JSON_WRONG ? json_tree_say(&r, r.scan.why, json_scan_at(&r.scan), err)
                             : json_tree_take(&r, e, err);
    if (!ok)
        json_tree_done(ret);
    return ok;
}
