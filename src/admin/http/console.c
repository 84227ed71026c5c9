#include "admin/http/console.h"

#include <stdio.h>
#include <string.h>

static const char policy[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Vary: Accept-Encoding, Accept\r\n";

/* ---- fields of the request ---- */

/* Whether a list such as "gzip;q=0.5, br" has the word, with a weight other than zero. */
static bool accepts(struct str list, struct str word)
{
    struct str item, name;

    while (list.len > 0) {
        list = str_cut(list, ',', &item);
        struct str weight = str_trim(str_cut(item, ';', &name));

        if (str_eq_nocase(str_trim(name), word))
            return !str_starts(weight, STR("q=0")) || str_starts(weight, STR("q=0."));
    }
    return false;
}

/* Whether If-None-Match names this tag.  The suffix "-gz" is ignored: plain and packed file have
 * the same content. */
static bool has_it(struct http_request *r, const char *tag)
{
    struct str list = http_field(r, STR("If-None-Match")), item;

    while (list.len > 0) {
        list = str_cut(list, ',', &item);
        item = str_trim(item);
        if (str_starts(item, STR("W/")))
            item = str_from(item, 2);
        if (item.len > strlen(tag) && item.ptr[0] == '"' &&
            str_starts(str_from(item, 1), str_of(tag)))
            return true;
    }
    return false;
}

/* ---- answers ---- */

static void answer_file(struct http_request *r, const struct console_file *f, bool forever)
{
    bool packed = accepts(http_field(r, STR("Accept-Encoding")), STR("gzip"));
    bool same = has_it(r, f->tag);
    char fields[1024];
    int n = snprintf(fields, sizeof fields, "%sETag: \"%s%s\"\r\nCache-Control: %s\r\n%s%s", policy,
                     f->tag, packed ? "-gz" : "",
                     forever ? "public, max-age=31536000, immutable" : "no-cache",
                     packed && !same ? "Content-Encoding: gzip\r\n" : "",
                     http_is_tls(r) ? "Strict-Transport-Security: max-age=31536000\r\n" : "");

    if (same)
        http_answer(r, 304, str_mem(fields, (size_t)n), STR(""), STR(""));
    else
        http_answer(r, 200, str_mem(fields, (size_t)n), str_of(f->type),
                    packed ? f->packed : f->plain);
}

static const struct console_file *http_console_find(struct str name)
{
    for (const struct console_file *f = console_files; f->name != NULL; f++)
        if (str_is(name, f->name))
            return f;
    return NULL;
}

/* Whether the console has a page for this path.  /documents/ID is also a plain path for machines;
 * a browser is recognised by its Accept field, which has text/html. */
static bool is_page(struct http_request *r)
{
    static const char *const pages[] = { "",        "login",  "map",    "documents", "dead",
                                         "systems", "config", "alerts", "users",     "audit",
                                         "health",  "jobs",   "links" };
    struct str first, rest = str_cut(str_from(r->path, 1), '/', &first);

    if (str_starts(r->path, STR("/documents/")))
        return str_find(rest, '/') < 0 && accepts(http_field(r, STR("Accept")), STR("text/html"));
    if (str_is(first, "login") && rest.len > 0)
        return false;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (str_is(first, pages[i]))
            return true;
    return false;
}

bool http_console_answer(struct http_request *r)
{
    const struct console_file *f;

    if ((r->method != HTTP_METHOD_GET && r->method != HTTP_METHOD_HEAD) || r->path.len == 0)
        return false;
    if (str_starts(r->path, STR("/console/"))) {
        f = http_console_find(str_from(r->path, strlen("/console/")));
        if (f == NULL)
            return false;
        answer_file(r, f, true);
        return true;
    }
    f = http_console_find(STR("index.html"));
    if (f == NULL || !is_page(r))
        return false;
    answer_file(r, f, false);
    return true;
}
