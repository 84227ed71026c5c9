/* cut_json.c - one part per item of an array.
 *
 * The scanner of core/json_scan.h validates the whole document, UTF-8 and depth included, and tells
 * where values begin and end; the bytes of an item, with the digits of its numbers, are never
 * touched.  Of members with the same name the first one counts, as in extraction.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "core/format/cut.h"
#include "core/json_scan.h"
#include "core/json_text.h"

enum { TOKENS_MOST = 64 };

/* A JSON Pointer (RFC 6901). */
struct pointer {
    struct str tokens[TOKENS_MOST]; /* without ~ escapes */
    int64_t indexes[TOKENS_MOST];   /* as the index of an array; -1: not a number */
    size_t count;
};

static bool json_make(struct cut_rule *s, struct arena *a, struct err *err)
{
    struct pointer *p = ARENA_NEW(a, struct pointer);
    struct str token, rest = s->text;

    while (rest.len > 0) {
        bool more = str_find(str_from(rest, 1), '/') >= 0;

        if (p->count == TOKENS_MOST)
            return err_set(err, ERR_CONFIG, 0, "more than %d steps", TOKENS_MOST);
        rest = str_cut(str_from(rest, 1), '/', &token);
        if (more)
            rest = str_mem(rest.ptr - 1, rest.len + 1); /* with its slash */
        p->tokens[p->count] = json_pointer_token(token, a);
        p->indexes[p->count] = json_pointer_index(p->tokens[p->count]);
        p->count++;
    }
    s->plan = p;
    return true;
}

/* ---- the pass ---- */

struct json_pass {
    const struct pointer *pointer;
    struct cut *cut;
    struct json_scan scan;
    int64_t shift; /* of the scanner's offsets: a byte order mark */
    size_t on;     /* the outermost so many open values are those that the pointer goes through */
    size_t list;   /* the depth of the array; 0: not in it */
    bool found;    /* it has been there */
    bool key;      /* the last name is the pointer's */
    int64_t item;  /* where the item begins that is being read; -1: none */
    /* Of each array or object on the way: the index of the value, and whether it has been taken. */
    int64_t index[TOKENS_MOST + 1];
    bool taken[TOKENS_MOST + 1];
};

static bool json_fail(struct json_pass *p, int64_t at, const char *what)
{
    return cut_fail(p->cut, DEAD_SERVICE_FAILED, at + p->shift, "at `%.*s` %s",
                    (int)(p->cut->rule->text.len < 100 ? p->cut->rule->text.len : 100),
                    p->cut->rule->text.ptr, what);
}

static bool json_give(struct json_pass *p, int64_t from)
{
    p->item = -1;
    return cut_slice(p->cut, from + p->shift, json_scan_at(&p->scan) + p->shift, STR(""), 0);
}

/* The value in the container at this depth that begins or ends now is one that the pointer names.
 */
static bool is_on_way(struct json_pass *p, size_t depth)
{
    if (depth == 0)
        return true;
    if (p->on != depth || depth > p->pointer->count || p->taken[depth - 1])
        return false;
    bool is =
        p->index[depth - 1] >= 0 ? p->index[depth - 1] == p->pointer->indexes[depth - 1] : p->key;

    p->taken[depth - 1] = is;
    return is;
}

/* Advances the index of an array on the way. */
static void json_value_ended(struct json_pass *p)
{
    size_t depth = p->scan.depth;

    if (depth > 0 && p->on == depth && depth <= p->pointer->count && p->index[depth - 1] >= 0)
        p->index[depth - 1]++;
}

static bool json_opened(struct json_pass *p)
{
    size_t depth = p->scan.depth; /* with the new one */
    bool object = json_scan_in_object(&p->scan);

    if (!is_on_way(p, depth - 1))
        return true;
    p->on = depth;
    if (depth <= p->pointer->count) {
        p->index[depth - 1] = object ? -1 : 0;
        p->taken[depth - 1] = false;
        return true;
    }
    if (object)
        return json_fail(p, json_scan_at(&p->scan) - 1, "stands an object, not an array");
    p->list = depth;
    p->found = true;
    return true;
}

static void json_closed(struct json_pass *p)
{
    size_t depth = p->scan.depth; /* without it */

    if (p->on > depth)
        p->on = depth;
    if (p->list > depth)
        p->list = 0;
    json_value_ended(p);
}

static bool json_scalar(struct json_pass *p)
{
    size_t depth = p->scan.depth;

    if (is_on_way(p, depth) && depth == p->pointer->count)
        return json_fail(p, json_scan_from(&p->scan), "stands a single value, not an array");
    json_value_ended(p);
    return true;
}

static bool json_key(struct json_pass *p)
{
    size_t depth = p->scan.depth;

    if (p->on != depth || depth > p->pointer->count)
        return true;
    int64_t from = json_scan_from(&p->scan) + 1, to = json_scan_at(&p->scan) - 1;

    p->key = json_text_is(cut_view(p->cut, from + p->shift, to + p->shift), p->scan.escapes,
                          p->pointer->tokens[depth - 1]);
    return true;
}

/* One event outside of the items. */
static bool json_way_event(struct json_pass *p, enum json_event e)
{
    switch (e) {
    case JSON_OPEN:
        return json_opened(p);
    case JSON_CLOSE:
        json_closed(p);
        return true;
    case JSON_KEY:
        return json_key(p);
    default:
        return json_scalar(p);
    }
}

/* One event directly in the array, or in an item of it. */
static bool json_item_event(struct json_pass *p, enum json_event e)
{
    if (e == JSON_OPEN && p->item < 0)
        p->item = json_scan_at(&p->scan) - 1;
    if (p->scan.depth > p->list)
        return true;
    if (p->scan.depth < p->list) {
        json_closed(p);
        return true;
    }
    return json_give(p, e == JSON_CLOSE ? p->item : json_scan_from(&p->scan));
}

/* All events of what was given to the scanner. */
static bool json_take(struct json_pass *p)
{
    struct json_scan *s = &p->scan;
    enum json_event e;

    while ((e = json_scan_next(s)) > JSON_END) {
        while (p->item >= 0 && s->depth > p->list && e > JSON_END)
            e = json_scan_next(s);
        if (e <= JSON_END)
            break;
        if (!(p->list > 0 ? json_item_event(p, e) : json_way_event(p, e)))
            return false;
    }
    if (e == JSON_WRONG)
        return cut_fail(p->cut, DEAD_SERVICE_FAILED, json_scan_at(s) + p->shift,
                        "this is not JSON: %s", s->why);
    return true;
}

/* The first byte that the next events may need. */
static int64_t json_keep(const struct json_pass *p)
{
    int64_t at = p->item >= 0                   ? p->item
                 : json_scan_in_token(&p->scan) ? json_scan_from(&p->scan)
                                                : json_scan_at(&p->scan);

    return at + p->shift;
}

static void json_pass_free(struct json_pass **p)
{
    free(*p);
}

static bool json_run(const struct cut_rule *s, struct cut *c)
{
    AUTO(json_pass_free) struct json_pass *p = NEW(struct json_pass);
    struct str piece;

    p->pointer = s->plan;
    p->cut = c;
    p->item = -1;
    if (!cut_first(c, &piece, &p->shift))
        return false;
    for (bool last = false; !last;) {
        last = piece.len == 0;
        json_scan_give(&p->scan, piece, last);
        if (!json_take(p) || (!last && !cut_next(c, json_keep(p), &piece)))
            return false;
    }
    return p->found || json_fail(p, json_scan_at(&p->scan), "stands nothing");
}

const struct cutter cut_json = { .key = "json", .make = json_make, .run = json_run };
