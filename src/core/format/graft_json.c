/* graft_json.c - a place in a JSON document, and JSON as the content of an element.  See graft.h.
 *
 * One pass with the scanner of core/json_scan.h.  The pointer goes through objects and arrays, each
 * one level deeper; the innermost of these is the holder, in which the last token names the place.
 * Of members with the same name the first one counts, as in extraction.
 */
#include "base/auto.h"
#include "core/format/graft.h"
#include "core/format/outlet.h"
#include "core/format/xml_tree.h"
#include "core/json_scan.h"
#include "core/json_text.h"

struct json_grafting {
    const struct graft_path *path;
    struct json_scan scan;
    size_t shift; /* of the scanner's offsets: a byte order mark */
    size_t on;    /* the outermost so many open values are those that the pointer goes through */
    bool key;     /* the last name is the pointer's */
    /* Of each of them: the index of its next value, -1: an object; and whether the pointer has
     * found its value in it. */
    int64_t index[GRAFT_TOKENS_MOST + 1];
    bool taken[GRAFT_TOKENS_MOST + 1];

    bool is_held;         /* the holder was found */
    size_t open, last;    /* behind its bracket; behind its last value, 0: it is empty */
    bool found;           /* it has the value */
    size_t from, to;      /* where that stands */
    int64_t value_begins; /* the value that is being read, in the holder; -1: none */
};

static size_t graft_depth(const struct json_grafting *g)
{
    return g->path->count; /* of the holder: the first token is a member of the outermost value */
}

/* The value that begins or ends now, in the container at this depth, is the pointer's. */
static bool graft_on_way(struct json_grafting *g, size_t depth)
{
    if (depth == 0)
        return true;
    if (g->on != depth || depth > g->path->count || g->taken[depth])
        return false;
    bool is = g->index[depth] >= 0 ? g->index[depth] == g->path->indexes[depth - 1] : g->key;

    g->taken[depth] = is;
    return is;
}

/* A value of an open container on the way has ended. */
static void graft_value_ended(struct json_grafting *g)
{
    size_t depth = g->scan.depth;

    if (depth == 0 || g->on != depth)
        return;
    if (g->index[depth] >= 0)
        g->index[depth]++;
    if (depth == graft_depth(g)) {
        g->last = (size_t)json_scan_at(&g->scan) + g->shift;
        if (g->value_begins >= 0)
            g->to = g->last;
        g->value_begins = -1;
    }
}

static void graft_value_found(struct json_grafting *g, int64_t from)
{
    g->found = true;
    g->value_begins = from;
    g->from = (size_t)from + g->shift;
}

static void graft_opened(struct json_grafting *g)
{
    size_t depth = g->scan.depth; /* with the new one */
    int64_t from = json_scan_at(&g->scan) - 1;

    if (!graft_on_way(g, depth - 1))
        return;
    if (depth > graft_depth(g)) {
        graft_value_found(g, from);
        return;
    }
    g->on = depth;
    g->index[depth] = json_scan_in_object(&g->scan) ? -1 : 0;
    g->taken[depth] = false;
    if (depth == graft_depth(g)) {
        g->is_held = true;
        g->open = (size_t)from + 1 + g->shift;
    }
}

static void graft_closed(struct json_grafting *g)
{
    if (g->on > g->scan.depth)
        g->on = g->scan.depth;
    graft_value_ended(g);
}

static void graft_scalar(struct json_grafting *g)
{
    size_t depth = g->scan.depth;

    if (graft_on_way(g, depth) && depth == graft_depth(g))
        graft_value_found(g, json_scan_from(&g->scan));
    graft_value_ended(g);
}

static void graft_key(struct json_grafting *g)
{
    size_t depth = g->scan.depth;

    if (g->on == depth && depth <= g->path->count)
        g->key = json_text_is(g->scan.text, g->scan.escapes, g->path->tokens[depth - 1]);
}

static void graft_event(struct json_grafting *g, enum json_event e)
{
    switch (e) {
    case JSON_OPEN:
        graft_opened(g);
        break;
    case JSON_CLOSE:
        graft_closed(g);
        break;
    case JSON_KEY:
        graft_key(g);
        break;
    default:
        graft_scalar(g);
    }
}

/* The value is not there: what it takes to add it behind the last one of the holder. */
static bool graft_add(struct json_grafting *g, struct graft_place *ret, struct err *err)
{
    size_t depth = graft_depth(g);
    struct str name = g->path->tokens[depth - 1];
    struct outlet o;

    if (g->index[depth] >= 0 && !str_is(name, "-"))
        return err_set(err, ERR_PERMANENT, 0,
                       "the array at `%.*s` has no item like that; `-` adds one",
                       STR_ARG(g->path->text));
    ret->from = ret->to = g->last != 0 ? g->last : g->open;
    if (g->last != 0)
        buf_putc(&ret->before, ',');
    if (g->index[depth] >= 0)
        return true;
    outlet_init(&o, &ret->before, ret->before.cap);
    outlet_json(&o, name);
    outlet_putc(&o, ':');
    return outlet_end(&o, true, err);
}

bool graft_find_json(struct str document, const struct graft_path *path, struct graft_place *ret,
                     struct err *err)
{
    struct json_grafting g = { .path = path, .value_begins = -1 };
    enum json_event e;

    g.shift = str_starts(document, STR("\xef\xbb\xbf")) ? 3 : 0;
    json_scan_give(&g.scan, str_from(document, g.shift), true);
    while ((e = json_scan_next(&g.scan)) > JSON_END)
        graft_event(&g, e);
    if (e == JSON_WRONG)
        return err_set(err, ERR_PERMANENT, 0, "not JSON: %s at byte %lld", g.scan.why,
                       (long long)json_scan_at(&g.scan));
    if (!g.is_held)
        return err_set(err, ERR_PERMANENT, 0,
                       "the document has no object or array in which `%.*s` could stand",
                       STR_ARG(path->text));
    if (!g.found)
        return graft_add(&g, ret, err);
    ret->from = g.from;
    ret->to = g.to;
    return true;
}

/* ---- JSON as elements ---- */

static bool elements_name(struct str raw, struct err *err)
{
    return xml_tree_is_name(raw) ||
           err_set(err, ERR_PERMANENT, 0, "the member `%.*s` cannot be the name of an element",
                   STR_ARG(str_first(raw, 60)));
}

/* UTF-8 with only characters of XML: no control characters, not U+FFFE and U+FFFF. */
static bool is_xml_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') ||
            (c >= 0xbe && i >= 2 && memcmp(s.ptr + i - 2, "\xef\xbf", 2) == 0))
            return false;
    }
    return true;
}

/* A text without its escapes, as text of XML. */
static bool elements_text(const struct json_scan *s, struct outlet *o, struct err *err)
{
    for (size_t i = 0; i < s->text.len;) {
        struct str piece = str_from(s->text, i);
        ptrdiff_t escape = str_find(piece, '\\');
        char one[4];

        if (escape == 0)
            piece = str_mem(one, json_scan_unescape(s->text, &i, one));
        else
            piece.len = escape < 0 ? piece.len : (size_t)escape;
        if (piece.len == 0 || !is_xml_text(piece))
            return err_set(err, ERR_PERMANENT, 0, "a text has a character that XML cannot have");
        outlet_xml(o, piece);
        i += escape == 0 ? 0 : piece.len;
    }
    return true;
}

static bool elements_value(const struct json_scan *s, enum json_event e, struct outlet *o,
                           struct err *err)
{
    if (e == JSON_TEXT)
        return elements_text(s, o, err);
    if (!str_is(s->text, "null"))
        outlet_put(o, s->text);
    return true;
}

/* A member of the object, or the value itself if there is none. */
static bool elements_event(const struct json_scan *s, enum json_event e, struct str *name,
                           struct outlet *o, struct err *err)
{
    if (e == JSON_CLOSE || (e == JSON_OPEN && s->depth == 1 && json_scan_in_object(s)))
        return true;
    if (e == JSON_OPEN)
        return err_set(err, ERR_PERMANENT, 0,
                       "what is added to XML is an object of plain values, not one with objects or "
                       "arrays in it");
    if (e == JSON_KEY) {
        *name = s->text;
        return elements_name(*name, err);
    }
    if (s->depth == 0)
        return elements_value(s, e, o, err);
    outlet_putc(o, '<');
    outlet_put(o, *name);
    outlet_putc(o, '>');
    bool ok = elements_value(s, e, o, err);

    outlet_puts(o, "</");
    outlet_put(o, *name);
    outlet_putc(o, '>');
    return ok;
}

bool graft_elements(struct str json, struct outlet *o, struct err *err)
{
    struct json_scan s = { 0 };
    struct str name = { 0 };
    enum json_event e;

    json_scan_give(&s, json, true);
    while ((e = json_scan_next(&s)) > JSON_END)
        if (!elements_event(&s, e, &name, o, err))
            return false;
    return e == JSON_END || err_set(err, ERR_PERMANENT, 0, "what is added is not JSON");
}
