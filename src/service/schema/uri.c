#include "service/schema/uri.h"

#include "base/auto.h"

struct uri {
    struct str scheme;    /* without its colon; ptr NULL: none */
    struct str authority; /* without its slashes; ptr NULL: none */
    struct str path;
    struct str query; /* without its question mark; ptr NULL: none */
};

/* The place of the first of these characters; the length: there is none. */
static size_t uri_span(struct str s, const char *ends)
{
    size_t n = 0;

    while (n < s.len && (s.ptr[n] == '\0' || strchr(ends, s.ptr[n]) == NULL))
        n++;
    return n;
}

static struct uri uri_parse(struct str s)
{
    struct uri u = { 0 };
    size_t n;

    s.len = uri_span(s, "#");
    n = uri_span(s, ":/?");
    if (n > 0 && n < s.len && s.ptr[n] == ':') {
        u.scheme = str_mem(s.ptr, n);
        s = str_from(s, n + 1);
    }
    if (str_starts(s, STR("//"))) {
        s = str_from(s, 2);
        n = uri_span(s, "/?");
        u.authority = str_mem(s.ptr, n);
        s = str_from(s, n);
    }
    n = uri_span(s, "?");
    u.path = str_mem(s.ptr, n);
    if (n < s.len)
        u.query = str_from(s, n + 1);
    return u;
}

/* The path of the base up to its last slash, then that of the reference. */
static bool uri_merge(const struct uri *base, struct str path, struct buf *to, struct err *err)
{
    struct str folder = base->path;

    if (base->authority.ptr != NULL && folder.len == 0)
        folder = STR("/");
    while (folder.len > 0 && folder.ptr[folder.len - 1] != '/')
        folder.len--;
    return buf_append(to, folder, err) && buf_append(to, path, err);
}

/* Appends a path without its segments `.` and `..`. */
static bool uri_put_path(struct str path, struct buf *to, struct err *err)
{
    bool absolute = str_starts(path, STR("/"));

    path = str_from(path, absolute);
    if (absolute && !buf_append(to, STR("/"), err))
        return false;
    size_t root = to->len;

    while (path.len > 0) {
        size_t n = uri_span(path, "/");
        struct str segment = str_mem(path.ptr, n), rest = str_from(path, n);
        bool up = str_is(segment, "..");

        if (up && to->len > root) { /* back to behind the slash before the last one */
            buf_cut(to, to->len - 1);
            while (to->len > root && to->ptr[to->len - 1] != '/')
                buf_cut(to, to->len - 1);
        }
        if (!up && !str_is(segment, ".") &&
            !buf_append(to, str_mem(path.ptr, n + (rest.len > 0)), err))
            return false;
        path = str_from(rest, 1);
    }
    return true;
}

static bool uri_write(const struct uri *u, struct buf *to, struct err *err)
{
    if (u->scheme.ptr != NULL &&
        (!buf_append(to, u->scheme, err) || !buf_append(to, STR(":"), err)))
        return false;
    if (u->authority.ptr != NULL &&
        (!buf_append(to, STR("//"), err) || !buf_append(to, u->authority, err)))
        return false;
    if (!uri_put_path(u->path, to, err))
        return false;
    return u->query.ptr == NULL || (buf_append(to, STR("?"), err) && buf_append(to, u->query, err));
}

bool uri_resolve(struct str base, struct str reference, struct buf *to, struct err *err)
{
    struct uri b = uri_parse(base), r = uri_parse(reference);
    AUTO(buf_done) struct buf path = BUF_INIT(to->cap);

    if (r.scheme.ptr != NULL)
        return uri_write(&r, to, err);
    r.scheme = b.scheme;
    if (r.authority.ptr != NULL)
        return uri_write(&r, to, err);
    r.authority = b.authority;
    if (r.path.len == 0) {
        r.path = b.path;
        r.query = r.query.ptr != NULL ? r.query : b.query;
    } else if (!str_starts(r.path, STR("/"))) {
        if (!uri_merge(&b, r.path, &path, err))
            return false;
        r.path = buf_view(&path);
    }
    return uri_write(&r, to, err);
}
