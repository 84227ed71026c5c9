#include "delivery/sql_items.h"

#include "core/json_scan.h"
#include "core/json_text.h"

bool sql_items_at_read(struct str text, struct arena *a, struct sql_items_at *ret, struct err *err)
{
    struct str rest = str_from(text, strlen("json:")), token;

    *ret = (struct sql_items_at){ .text = text };
    if (!str_starts(text, STR("json:")) || (rest.len > 0 && rest.ptr[0] != '/'))
        return err_set(err, ERR_CONFIG, 0, "`each` is the place of a list, such as `json:/items`");
    while (rest.len > 0) {
        size_t n;

        rest = str_from(rest, 1);
        for (n = 0; n < rest.len && rest.ptr[n] != '/'; n++)
            ;
        token = str_mem(rest.ptr, n);
        rest = str_from(rest, n);
        if (ret->count == SQL_ITEMS_STEPS)
            return err_set(err, ERR_CONFIG, 0, "`each` has more than %d steps", SQL_ITEMS_STEPS);
        ret->tokens[ret->count++] = json_pointer_token(token, a);
    }
    return true;
}

/* ---- the values that stand directly in an object or a list ---- */

struct children {
    struct json_scan scan;
    struct str whole; /* a valid value */
    bool object;
    struct str key; /* of the value that came last, between its quotes */
    bool escapes;
};

/* False: it is a single value. */
static bool children_begin(struct children *c, struct str whole)
{
    *c = (struct children){ .whole = whole };
    json_scan_give(&c->scan, whole, true);
    if (json_scan_next(&c->scan) != JSON_OPEN)
        return false;
    c->object = json_scan_in_object(&c->scan);
    return true;
}

static struct str children_slice(const struct children *c, int64_t from)
{
    return str_mem(c->whole.ptr + from, (size_t)(json_scan_at(&c->scan) - from));
}

static bool children_next(struct children *c, struct str *ret)
{
    int64_t from;

    for (enum json_event e; (e = json_scan_next(&c->scan)) > JSON_END;)
        switch (e) {
        case JSON_KEY:
            c->key = c->scan.text;
            c->escapes = c->scan.escapes;
            break;
        case JSON_OPEN:
            from = json_scan_at(&c->scan) - 1;
            while (c->scan.depth > 1 && e > JSON_END)
                e = json_scan_next(&c->scan);
            *ret = children_slice(c, from);
            return true;
        case JSON_TEXT:
        case JSON_SCALAR:
            *ret = children_slice(c, json_scan_from(&c->scan));
            return true;
        default:
            return false;
        }
    return false;
}

/* The member of this name, or the item of this number; the first one counts. */
static bool children_find(struct str whole, struct str token, struct str *ret)
{
    int64_t index = json_pointer_index(token);
    struct children c;

    if (!children_begin(&c, whole))
        return false;
    for (int64_t n = 0; children_next(&c, ret); n++)
        if (c.object ? json_text_is(c.key, c.escapes, token) : n == index)
            return true;
    return false;
}

/* ---- items ---- */

static bool count_items(struct str list, size_t *ret)
{
    struct children c;
    struct str item;

    if (!children_begin(&c, list) || c.object)
        return false;
    for (*ret = 0; children_next(&c, &item);)
        ++*ret;
    return true;
}

bool sql_items_find(const struct sql_items_at *at, struct str document, struct arena *a,
                    struct str **ret, size_t *ret_count, struct err *err)
{
    struct json_scan check = { 0 };
    struct str shown = str_first(at->text, 80), list = document;
    struct children c;

    if (str_starts(list, STR("\xef\xbb\xbf"))) /* a byte order mark */
        list = str_from(list, 3);
    if (!json_scan_check(&check, list, err) || !json_scan_check_end(&check, err))
        return false;
    for (size_t i = 0; i < at->count; i++)
        if (!children_find(list, at->tokens[i], &list))
            return err_set(err, ERR_PERMANENT, 0, "the document has nothing at `%.*s`",
                           STR_ARG(shown));
    if (!count_items(list, ret_count))
        return err_set(err, ERR_PERMANENT, 0, "what the document has at `%.*s` is no list",
                       STR_ARG(shown));
    if (*ret_count > SQL_ITEMS_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the list at `%.*s` has more than %d items",
                       STR_ARG(shown), SQL_ITEMS_MOST);
    *ret = ARENA_ARRAY(a, struct str, *ret_count + 1);
    (void)children_begin(&c, list);
    for (size_t i = 0; i < *ret_count; i++)
        (void)children_next(&c, &(*ret)[i]);
    return true;
}

/* A lone surrogate, which is no character, becomes U+FFFD. */
static struct str plain_text(struct str raw, struct arena *a)
{
    char *out = arena_alloc(a, raw.len + 1), piece[4];
    size_t n = 0;

    for (size_t i = 0; i < raw.len;) {
        size_t len = 1;

        if (raw.ptr[i] == '\\')
            len = json_scan_unescape(raw, &i, piece);
        else
            piece[0] = raw.ptr[i++];
        if (len == 0)
            len = str_put_utf8(0xfffd, piece); /* never longer than its escape */
        memcpy(out + n, piece, len);
        n += len;
    }
    return str_mem(out, n);
}

static struct datum datum_of(struct str raw, struct arena *a)
{
    switch (raw.ptr[0]) {
    case '"':
        return (struct datum){ DATUM_TEXT, plain_text(str_mem(raw.ptr + 1, raw.len - 2), a) };
    case '{':
    case '[':
        return (struct datum){ DATUM_TEXT, raw };
    case 't':
    case 'f':
        return (struct datum){ DATUM_BOOL, raw };
    case 'n':
        return (struct datum){ .kind = DATUM_NULL };
    default:
        if (str_find(raw, 'e') >= 0 || str_find(raw, 'E') >= 0)
            return (struct datum){ DATUM_FLOAT, raw };
        return (struct datum){ str_find(raw, '.') >= 0 ? DATUM_DECIMAL : DATUM_INTEGER, raw };
    }
}

bool sql_items_field(struct str item, struct str name, struct arena *a, struct datum *ret)
{
    struct children c;
    struct str value;

    if (!children_begin(&c, item) || !c.object)
        return false;
    while (children_next(&c, &value))
        if (json_text_is(c.key, c.escapes, name)) {
            *ret = datum_of(value, a);
            return true;
        }
    return false;
}
