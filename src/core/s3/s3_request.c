#include "core/s3/s3_request.h"

#include "base/auto.h"
#include "core/s3/s3_text.h"
#include "core/web/http_client.h"

enum { TARGET_MOST = 16 << 10, AUTHORIZATION_MOST = 8 << 10, SECRET_MOST = 1024 };

/* ---- the service ---- */

static bool is_host_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == ':' || c == '[' || c == ']' || c == '_';
}

/* Clients leave the usual port out of the field Host, which is signed. */
static struct str without_usual_port(struct str scheme, struct str host)
{
    struct str port = str_is(scheme, "https") ? STR(":443") : STR(":80");

    if (host.len > port.len && str_eq(str_from(host, host.len - port.len), port))
        host.len -= port.len;
    return host;
}

static bool s3_read_place(struct str url, struct s3_service *s, struct err *err)
{
    struct str rest, path;

    s->scheme = str_starts(url, STR("https://")) ? STR("https") : STR("http");
    rest = str_from(url, s->scheme.len + 3);
    path = str_cut(rest, '/', &s->host);
    for (size_t i = 0; i < s->host.len; i++)
        if (!is_host_char(s->host.ptr[i]))
            return err_set(err, ERR_CONFIG, 0,
                           "`url` is https://HOST[:PORT][/PATH]: a login or a query has no place "
                           "in it");
    if (s->host.len == 0 || str_find(path, '?') >= 0 || str_find(path, '#') >= 0 ||
        str_find(path, '%') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`url` is https://HOST[:PORT][/PATH]");
    s->host = without_usual_port(s->scheme, s->host);
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    s->base = path.len > 0 ? str_mem(path.ptr - 1, path.len + 1) : STR("");
    return true;
}

static bool s3_read_secret(const struct settings *s, const char *key, struct str *ret,
                           struct err *err)
{
    if (!settings_text(s, key, ret, err))
        return false;
    *ret = str_trim(*ret);
    if (str_has_control(*ret) || ret->len > SECRET_MOST * 8)
        return err_set(err, ERR_CONFIG, 0, "`%s` holds a control character, or is too long", key);
    return true;
}

static bool s3_read_signer(const struct settings *s, struct s3_service *ret, struct err *err)
{
    struct s3_signer *by = &ret->signer;

    if (!settings_text(s, "region", &by->region, err) ||
        !s3_read_secret(s, "access_key", &by->access_key, err) ||
        !s3_read_secret(s, "secret_key", &by->secret_key, err) ||
        !s3_read_secret(s, "session_token", &ret->session_token, err))
        return false;
    if ((by->access_key.len == 0) != (by->secret_key.len == 0))
        return err_set(err, ERR_CONFIG, 0, "`access_key` and `secret_key` belong together");
    if (by->access_key.len > SECRET_MOST || by->secret_key.len > SECRET_MOST)
        return err_set(err, ERR_CONFIG, 0, "`access_key` or `secret_key` is too long");
    if (by->access_key.len == 0 && ret->session_token.len > 0)
        return err_set(err, ERR_CONFIG, 0, "`session_token` needs `access_key` and `secret_key`");
    if (by->region.len == 0 || by->region.len > S3_BUCKET_MOST || str_has_control(by->region) ||
        str_find(by->region, '/') >= 0 || str_find(by->region, ' ') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`region` is a word like us-east-1");
    return true;
}

bool s3_service_read(const struct settings *s, struct s3_service *ret, struct err *err)
{
    struct http_client client = { 0 };
    struct str style;

    if (!http_client_read(s, &client, err) || !s3_read_place(client.url, ret, err) ||
        !s3_read_signer(s, ret, err) || !settings_text(s, "style", &style, err))
        return false;
    ret->http = client.options;
    ret->host_style = str_is(style, "host");
    return true;
}

/* ---- names ---- */

static bool is_bucket_char(const struct s3_service *s, char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           (!s->host_style && ((c >= 'A' && c <= 'Z') || c == '_'));
}

bool s3_bucket_check(const struct s3_service *s, struct str name, struct err *err)
{
    if (name.len < S3_BUCKET_LEAST || name.len > S3_BUCKET_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the name of a bucket has %d to %d characters",
                       S3_BUCKET_LEAST, S3_BUCKET_MOST);
    for (size_t i = 0; i < name.len; i++)
        if (!is_bucket_char(s, name.ptr[i]))
            return err_set(
                err, ERR_PERMANENT, 0, "the name of a bucket has %s, digits, `-` and `.`%s only",
                s->host_style ? "small letters" : "letters", s->host_style ? "" : " and `_`");
    if (name.ptr[0] == '.' || name.ptr[0] == '-' || name.ptr[name.len - 1] == '.')
        return err_set(err, ERR_PERMANENT, 0,
                       "the name of a bucket begins with a letter or digit, and ends so");
    return true;
}

bool s3_key_check(struct str key, struct err *err)
{
    if (key.len == 0 || key.len > S3_KEY_MOST)
        return err_set(err, ERR_PERMANENT, 0,
                       "the key of an object has 1 to %d bytes, this has %zu", S3_KEY_MOST,
                       key.len);
    if (!str_is_utf8(key) || str_has_control(key))
        return err_set(err, ERR_PERMANENT, 0,
                       "the key of an object is UTF-8 without control characters");
    return true;
}

/* ---- requests ---- */

static struct str s3_make_path(const struct s3_service *s, const struct s3_order *o,
                               struct arena *a)
{
    AUTO(buf_done) struct buf path = BUF_INIT(TARGET_MOST);
    struct err err = { 0 };

    buf_put(&path, s->base);
    buf_putc(&path, '/');
    if (!s->host_style) {
        buf_put(&path, o->bucket);
        if (o->key.len > 0)
            buf_putc(&path, '/');
    }
    (void)s3_encode(o->key, true, &path, &err); /* its size is bounded: s3_key_check() */
    return arena_copy(a, buf_view(&path));
}

static struct str make_query(const struct s3_order *o, struct arena *a)
{
    AUTO(buf_done) struct buf query = BUF_INIT(TARGET_MOST);
    struct err err = { 0 };

    for (size_t i = 0; i < o->query_count; i++) {
        if (i > 0)
            buf_putc(&query, '&');
        buf_puts(&query, o->query[i].name);
        buf_putc(&query, '=');
        (void)s3_encode(o->query[i].value, false, &query, &err);
    }
    return arena_copy(a, buf_view(&query));
}

static void s3_put_field(struct http_out_request *r, struct str name, struct str value)
{
    r->fields[r->field_count++] = (struct http_out_field){ name, value };
}

static void s3_put_signature(const struct s3_service *s, struct str path, struct str query,
                             struct str digest, const char *time, struct arena *a,
                             struct http_out_request *r)
{
    AUTO(buf_done) struct buf value = BUF_INIT(AUTHORIZATION_MOST);
    struct s3_unsigned what = { .method = r->method,
                                .path = path,
                                .query = query,
                                .fields = r->fields,
                                .field_count = r->field_count,
                                .digest = digest };

    s3_sign(&s->signer, &what, time, &value);
    s3_put_field(r, STR("Authorization"), arena_copy(a, buf_view(&value)));
}

void s3_request_make(const struct s3_service *s, const struct s3_order *o, int64_t now_us,
                     struct arena *a, struct http_out_request *ret)
{
    struct str path = s3_make_path(s, o, a), query = make_query(o, a), host = s->host;
    char clock[S3_TIME_TEXT], hex[SHA256_TEXT];
    struct str digest = arena_copy(a, str_of(digest_text(&o->digest, hex)));
    struct str time = arena_copy(a, str_of(s3_sign_time(now_us, clock)));

    if (s->host_style)
        host = str_of(arena_printf(a, "%.*s.%.*s", STR_ARG(o->bucket), STR_ARG(s->host)));
    *ret = (struct http_out_request){ .method = str_of(o->method) };
    ret->url = str_of(arena_printf(a, "%.*s://%.*s%.*s%s%.*s", STR_ARG(s->scheme), STR_ARG(host),
                                   STR_ARG(path), query.len > 0 ? "?" : "", STR_ARG(query)));
    s3_put_field(ret, STR("Host"), host);
    for (size_t i = 0; i < o->field_count; i++)
        s3_put_field(ret, o->fields[i].name, o->fields[i].value);
    s3_put_field(ret, STR("x-amz-content-sha256"), digest);
    s3_put_field(ret, STR("x-amz-date"), time);
    if (s->session_token.len > 0)
        s3_put_field(ret, STR("x-amz-security-token"), s->session_token);
    if (s->signer.access_key.len > 0)
        s3_put_signature(s, path, query, digest, time.ptr, a, ret);
}
