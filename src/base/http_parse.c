#include "base/http_parse.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/http_target.h"
#include "base/require.h"

enum { HEAD_START = 1024, EMPTY_LINES = 2 };

static const struct str method_names[HTTP_METHODS] = {
    [HTTP_METHOD_GET] = { "GET", 3 },         [HTTP_METHOD_HEAD] = { "HEAD", 4 },
    [HTTP_METHOD_POST] = { "POST", 4 },       [HTTP_METHOD_PUT] = { "PUT", 3 },
    [HTTP_METHOD_DELETE] = { "DELETE", 6 },   [HTTP_METHOD_PATCH] = { "PATCH", 5 },
    [HTTP_METHOD_OPTIONS] = { "OPTIONS", 7 },
};

static const struct str known_names[HTTP_KNOWN] = {
    [HTTP_HOST] = { "host", 4 },
    [HTTP_AUTHORIZATION] = { "authorization", 13 },
    [HTTP_IDEMPOTENCY_KEY] = { "idempotency-key", 15 },
    [HTTP_CONTENT_TYPE] = { "content-type", 12 },
    [HTTP_CONTENT_LENGTH] = { "content-length", 14 },
    [HTTP_TRANSFER_ENCODING] = { "transfer-encoding", 17 },
    [HTTP_EXPECT] = { "expect", 6 },
    [HTTP_RANGE] = { "range", 5 },
};

/* Indexed by the length of the name: no two known names have the same. */
static const uint8_t known_by_length[18] = {
    [4] = HTTP_HOST + 1,
    [5] = HTTP_RANGE + 1,
    [6] = HTTP_EXPECT + 1,
    [12] = HTTP_CONTENT_TYPE + 1,
    [13] = HTTP_AUTHORIZATION + 1,
    [14] = HTTP_CONTENT_LENGTH + 1,
    [15] = HTTP_IDEMPOTENCY_KEY + 1,
    [17] = HTTP_TRANSFER_ENCODING + 1,
};

struct str http_parser_view(const struct http_parser *p, struct http_span s)
{
    return (struct str){ p->head + s.at, s.len };
}

struct str http_parser_known(const struct http_parser *p, enum http_known k)
{
    if (p->known[k] == 0)
        return (struct str){ 0 };
    return http_parser_view(p, p->fields[p->known[k] - 1].value);
}

struct str http_parser_field(const struct http_parser *p, struct str name)
{
    for (size_t i = 0; i < p->field_count; i++)
        if (p->fields[i].name.len == name.len &&
            str_eq_nocase(http_parser_view(p, p->fields[i].name), name))
            return http_parser_view(p, p->fields[i].value);
    return (struct str){ 0 };
}

static bool http_parse_refuse(struct http_parser *p, int status, const char *code,
                              const char *message)
{
    p->where = HTTP_REFUSED;
    p->status = status;
    p->code = code;
    p->message = message;
    return false;
}

static bool malformed(struct http_parser *p, const char *message)
{
    return http_parse_refuse(p, 400, "bad_request", message);
}

/* ---- the request line ---- */

static bool take_method(struct http_parser *p, struct str method)
{
    if (method.len == 0)
        return malformed(p, "no method");
    if (!http_is_token(method))
        return malformed(p, "the method is not a token");
    for (unsigned m = 0; m < HTTP_METHODS; m++)
        if (str_eq(method, method_names[m])) {
            p->method = m;
            return true;
        }
    if (str_is(method, "PRI"))
        return http_parse_refuse(p, 505, "version_not_supported", "only HTTP/1.1 is spoken here");
    return http_parse_refuse(p, 501, "method_not_implemented", "this method is not known here");
}

static bool take_version(struct http_parser *p, struct str v)
{
    if (str_is(v, "HTTP/1.1"))
        return true;
    if (str_is(v, "HTTP/1.0")) {
        p->http_1_0 = true;
        return true;
    }
    if (v.len == 8 && str_starts(v, STR("HTTP/")) && v.ptr[6] == '.' && v.ptr[5] >= '0' &&
        v.ptr[5] <= '9' && v.ptr[7] >= '0' && v.ptr[7] <= '9')
        return http_parse_refuse(p, 505, "version_not_supported", "only HTTP/1.1 is spoken here");
    return malformed(p, "the request line does not end in a version");
}

/* reg-name, IP literal and port of RFC 3986; userinfo is refused. */
static bool is_authority(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
              (c != '\0' && strchr("-._~%!$&'()*+,;=:[]", c) != NULL)))
            return false;
    }
    return true;
}

/* *path is the "/..." of the target.  The absolute form has a scheme and an authority in
 * front, and may have no path. */
static bool take_form(struct http_parser *p, struct str target, struct str *path)
{
    if (target.ptr[0] == '/' ||
        (p->method == HTTP_METHOD_OPTIONS && target.len == 1 && target.ptr[0] == '*')) {
        *path = target;
        return true;
    }
    size_t skip = 0;

    if (target.len > 7 && str_eq_nocase((struct str){ target.ptr, 7 }, STR("http://")))
        skip = 7;
    else if (target.len > 8 && str_eq_nocase((struct str){ target.ptr, 8 }, STR("https://")))
        skip = 8;
    else
        return malformed(p, "the target is neither a path nor an http URL");
    struct str rest = str_from(target, skip);
    size_t n = 0;

    while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?')
        n++;
    if (n == 0 || !is_authority((struct str){ rest.ptr, n }))
        return malformed(p, "the target has no proper host");
    *path = str_from(rest, n);
    if (path->len == 0)
        path->ptr = rest.ptr + n;
    return true;
}

static bool take_target(struct http_parser *p, struct str target)
{
    struct str path;

    if (target.len == 0)
        return malformed(p, "no target");
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.ptr[i];

        if (c <= ' ' || c >= 0x7f || c == '#')
            return malformed(p, "a byte in the target is not allowed");
    }
    if (!take_form(p, target, &path))
        return false;
    const char *mark = path.len > 0 ? memchr(path.ptr, '?', path.len) : NULL;
    size_t len = mark != NULL ? (size_t)(mark - path.ptr) : path.len;

    p->path = (struct http_span){ .at = (uint16_t)(path.ptr - p->head), .len = (uint16_t)len };
    if (mark != NULL)
        p->query = (struct http_span){ .at = (uint16_t)(mark + 1 - p->head),
                                       .len = (uint16_t)(path.len - len - 1) };
    return true;
}

static bool http_parse_take_line(struct http_parser *p)
{
    struct str line = { p->head, p->first_line }, method, target;
    struct str rest = str_cut(line, ' ', &method);
    struct str version = str_cut(rest, ' ', &target);

    return take_method(p, method) && take_version(p, version) && take_target(p, target);
}

/* ---- the fields, as llhttp finds them ---- */

static struct http_span http_parse_span_of(const struct http_parser *p, const char *at, size_t len)
{
    return (struct http_span){ .at = (uint16_t)(at - p->head), .len = (uint16_t)len };
}

static int on_field(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = ll->data;

    if (p->where != HTTP_IN_HEAD)
        return 0;
    p->now.name = http_parse_span_of(p, at, len);
    p->now.value = (struct http_span){ 0 };
    return 0;
}

static int on_value(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = ll->data;

    if (p->where == HTTP_IN_HEAD)
        p->now.value = http_parse_span_of(p, at, len);
    return 0;
}

static bool note_known(struct http_parser *p)
{
    struct str name = http_parser_view(p, p->now.name);
    unsigned k = name.len < sizeof known_by_length ? known_by_length[name.len] : 0;

    if (k == 0 || !str_eq_nocase(name, known_names[k - 1]))
        return true;
    if (p->known[k - 1] != 0)
        return malformed(p, "a field that may stand only once is repeated");
    p->known[k - 1] = (uint8_t)p->field_count;
    return true;
}

static int on_field_done(llhttp_t *ll)
{
    struct http_parser *p = ll->data;

    if (p->where != HTTP_IN_HEAD) {
        if (++p->trailer_fields <= p->limits->fields)
            return 0;
        (void)http_parse_refuse(p, 431, "head_too_large", "too many trailer fields");
        return -1;
    }
    if (p->field_count == p->limits->fields) {
        (void)http_parse_refuse(p, 431, "head_too_large", "too many header fields");
        return -1;
    }
    if (p->now.name.len == 0) {
        (void)malformed(p, "a field without a name");
        return -1;
    }
    const char *v = p->head + p->now.value.at;

    while (p->now.value.len > 0 &&
           (v[p->now.value.len - 1] == ' ' || v[p->now.value.len - 1] == '\t'))
        p->now.value.len--;
    p->fields[p->field_count++] = p->now;
    return note_known(p) ? 0 : -1;
}

static int on_headers_done(llhttp_t *ll)
{
    struct http_parser *p = ll->data;

    p->keep_alive = llhttp_should_keep_alive(ll) != 0;
    p->chunked = (ll->flags & F_CHUNKED) != 0;
    p->content_length = -1;
    if ((ll->flags & F_CONTENT_LENGTH) != 0) {
        if (ll->content_length > INT64_MAX) {
            (void)malformed(p, "Content-Length is out of range");
            return -1;
        }
        p->content_length = (int64_t)ll->content_length;
    }
    ll->upgrade = 0; /* no protocol upgrade: the bytes that follow are the body */
    return 0;
}

/* ---- the body, as llhttp finds it ---- */

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = ll->data;

    require(p->piece.len == 0); /* each piece is followed by a pause or the end of the bytes */
    p->piece = (struct str){ at, len };
    return 0;
}

static int on_extension(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = ll->data;

    (void)at;
    p->extension_bytes += len < HTTP_FRAMING_BYTES ? (uint32_t)len : HTTP_FRAMING_BYTES;
    if (p->extension_bytes <= HTTP_CHUNK_EXTENSION_BYTES)
        return 0;
    (void)malformed(p, "the chunk extensions are too long");
    return -1;
}

static int on_chunk_header(llhttp_t *ll)
{
    struct http_parser *p = ll->data;

    p->extension_bytes = 0;
    p->progress = true;
    return HPE_PAUSED; /* so that the bytes of each line can be counted */
}

static int on_chunk_done(llhttp_t *ll)
{
    struct http_parser *p = ll->data;

    if ((ll->flags & F_TRAILING) != 0)
        return 0; /* the message ends without a further byte */
    p->progress = true;
    return HPE_PAUSED;
}

static int on_message_done(llhttp_t *ll)
{
    struct http_parser *p = ll->data;

    if (p->where == HTTP_IN_BODY)
        p->where = HTTP_AT_END;
    else
        p->no_body = true; /* the message ends with the head */
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_header_value_complete = on_field_done,
    .on_headers_complete = on_headers_done,
    .on_body = on_body,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_chunk_header = on_chunk_header,
    .on_chunk_complete = on_chunk_done,
    .on_message_complete = on_message_done,
};

void http_parser_init(struct http_parser *p, const struct http_head_limits *limits)
{
    require(limits->fields <= HTTP_FIELDS_MAX && limits->head_bytes <= HTTP_HEAD_MAX);
    memset(p, 0, offsetof(struct http_parser, fields));
    p->limits = limits;
    llhttp_init(&p->ll, HTTP_REQUEST, &settings); /* all leniency flags are off */
    p->ll.data = p;
    p->content_length = -1;
}

void http_parser_done(struct http_parser *p)
{
    free(p->head);
    p->head = NULL;
}

void http_parser_reset(struct http_parser *p)
{
    bool (*may_grow)(struct http_parser *, uint32_t) = p->may_grow;
    char *head = p->head;
    uint32_t size = p->head_size;

    http_parser_init(p, p->limits);
    p->may_grow = may_grow;
    if (size > HTTP_HEAD_KEEP) {
        free(head);
        return;
    }
    p->head = head;
    p->head_size = size;
}

/* ---- what the fields mean together ---- */

static bool check_coding(struct http_parser *p)
{
    struct str te = http_parser_known(p, HTTP_TRANSFER_ENCODING);

    if (te.ptr == NULL)
        return true;
    if (p->http_1_0)
        return malformed(p, "HTTP/1.0 has no Transfer-Encoding");
    if (str_eq_nocase(te, STR("chunked")))
        return true;
    if (p->chunked)
        return http_parse_refuse(p, 501, "coding_not_implemented",
                                 "chunked is the only transfer coding");
    return malformed(p, "the last transfer coding is not chunked");
}

static bool check_fields(struct http_parser *p)
{
    struct str host = http_parser_known(p, HTTP_HOST);
    struct str expect = http_parser_known(p, HTTP_EXPECT);

    if (host.ptr == NULL && !p->http_1_0)
        return malformed(p, "no Host field");
    if (host.ptr != NULL && !is_authority(host))
        return malformed(p, "the Host field is not a host");
    if (!check_coding(p))
        return false;
    if (expect.ptr == NULL || p->http_1_0)
        return true;
    if (!str_eq_nocase(expect, STR("100-continue")))
        return http_parse_refuse(p, 417, "expectation_failed",
                                 "the only expectation is 100-continue");
    p->expect_continue = true;
    return true;
}

/* Refuses with the reason of llhttp, unless a callback has refused already. */
static bool refused_by_llhttp(struct http_parser *p)
{
    const char *why = llhttp_get_error_reason(&p->ll);

    if (p->where == HTTP_REFUSED)
        return false;
    return malformed(p, why != NULL ? why : "malformed request");
}

static enum http_event head_complete(struct http_parser *p)
{
    if (!http_parse_take_line(p))
        return HTTP_BAD;
    llhttp_errno_t rc = llhttp_execute(&p->ll, p->head, p->head_len);

    if (rc != HPE_OK && rc != HPE_PAUSED) {
        (void)refused_by_llhttp(p);
        return HTTP_BAD;
    }
    if (!check_fields(p))
        return HTTP_BAD;
    p->where = p->no_body ? HTTP_AT_END : HTTP_IN_BODY;
    return HTTP_HEAD_DONE;
}

/* ---- gathering the head ---- */

static bool grow_head(struct http_parser *p, size_t need)
{
    size_t size = p->head_size == 0 ? HEAD_START : p->head_size;

    while (size < need)
        size *= 2;
    if (p->may_grow != NULL && !p->may_grow(p, (uint32_t)size - p->head_size))
        return http_parse_refuse(p, 503, "busy", "this node has no memory for so large a head now");
    p->head = xrealloc(p->head, size);
    p->head_size = (uint32_t)size;
    return true;
}

static bool http_parse_keep(struct http_parser *p, struct str *bytes, size_t n)
{
    if (p->head_len + n > p->head_size && !grow_head(p, p->head_len + n))
        return false;
    if (n > 0)
        memcpy(p->head + p->head_len, bytes->ptr, n);
    p->head_len += (uint32_t)n;
    require(p->head_len <= p->limits->head_bytes); /* (3) */
    *bytes = str_from(*bytes, n);
    return true;
}

static bool starts_well(struct http_parser *p, char first)
{
    if (p->head_len == 0 && first != '\r' && first != '\n' && !http_is_token(str_mem(&first, 1)))
        return malformed(p, "this is not HTTP");
    if (p->head_len > 0 && p->head_len == p->line_start && (first == ' ' || first == '\t'))
        return malformed(p, "a field is folded over lines");
    return true;
}

enum line { LINE_OK, LINE_EMPTY, LINE_BAD };

/* One line of the head ends with the LF at offset `lf`; before and after are its
 * neighbours ('\0': not known yet). */
static enum line end_line(struct http_parser *p, uint32_t lf, char before, char after)
{
    if (before != '\r') {
        (void)malformed(p, "a line ends without CR");
        return LINE_BAD;
    }
    uint32_t len = lf - 1 - p->line_start;

    if (len == 0)
        return LINE_EMPTY;
    if (p->line_count == 0)
        p->first_line = len;
    if (p->first_line > p->limits->line_bytes) {
        (void)http_parse_refuse(p, 414, "uri_too_long", "the request line is too long");
        return LINE_BAD;
    }
    if (p->line_count++ > p->limits->fields) {
        (void)http_parse_refuse(p, 431, "head_too_large", "too many header fields");
        return LINE_BAD;
    }
    p->line_start = lf + 1;
    if (after == ' ' || after == '\t') {
        (void)malformed(p, "a field is folded over lines");
        return LINE_BAD;
    }
    return LINE_OK;
}

static enum http_event head_incomplete(struct http_parser *p, struct str *bytes, size_t max)
{
    uint32_t len = p->head_len + (uint32_t)max;

    if (p->line_count == 0 && len > p->limits->line_bytes + 2) {
        (void)http_parse_refuse(p, 414, "uri_too_long", "the request line is too long");
        return HTTP_BAD;
    }
    if (len == p->limits->head_bytes) {
        (void)http_parse_refuse(p, 431, "head_too_large", "the request head is too large");
        return HTTP_BAD;
    }
    return http_parse_keep(p, bytes, max) ? HTTP_MORE : HTTP_BAD;
}

static enum http_event take_head(struct http_parser *p, struct str *bytes)
{
    size_t room = p->limits->head_bytes - p->head_len, from = 0;
    size_t max = bytes->len < room ? bytes->len : room;

    if (bytes->len == 0)
        return HTTP_MORE;
    if (!starts_well(p, bytes->ptr[0]))
        return HTTP_BAD;
    while (from < max) {
        const char *lf = memchr(bytes->ptr + from, '\n', max - from);

        if (lf == NULL)
            break;
        size_t at = (size_t)(lf - bytes->ptr);
        char before = at > 0 ? lf[-1] : p->head_len > 0 ? p->head[p->head_len - 1] : '\0';
        char after = at + 1 < max ? lf[1] : '\0';

        from = at + 1;
        switch (end_line(p, p->head_len + (uint32_t)at, before, after)) {
        case LINE_OK:
            continue;
        case LINE_BAD:
            return HTTP_BAD;
        case LINE_EMPTY:
            break;
        }
        if (p->line_count > 0) {
            return http_parse_keep(p, bytes, from) ? head_complete(p) : HTTP_BAD;
        }
        if (++p->empty_lines > EMPTY_LINES) {
            (void)malformed(p, "empty lines before the request");
            return HTTP_BAD;
        }
        *bytes = str_from(*bytes, from); /* RFC 9112, 2.2: ignore empty lines before the request */
        p->head_len = 0;
        return HTTP_MORE;
    }
    return head_incomplete(p, bytes, max);
}

/* ---- the body ---- */

static bool feed(struct http_parser *p, struct str *bytes)
{
    if (llhttp_get_errno(&p->ll) == HPE_PAUSED)
        llhttp_resume(&p->ll);
    p->progress = false;
    llhttp_errno_t rc = llhttp_execute(&p->ll, bytes->ptr, bytes->len);
    size_t used = bytes->len;

    if (rc == HPE_PAUSED)
        used = (size_t)(llhttp_get_error_pos(&p->ll) - bytes->ptr);
    else if (rc != HPE_OK)
        return refused_by_llhttp(p);
    require(used <= bytes->len);
    *bytes = str_from(*bytes, used);
    p->body_bytes += p->piece.len;
    if (p->piece.len > 0) {
        p->framing_bytes = 0;
        return true;
    }
    p->framing_bytes += (uint32_t)used;
    if (p->framing_bytes > HTTP_FRAMING_BYTES) /* leading zeros of a chunk size, or trailers */
        return http_parse_refuse(p, 431, "head_too_large", "too many bytes between the chunks");
    if (p->progress)
        p->framing_bytes = 0;
    return true;
}

static enum http_event take_body(struct http_parser *p, struct str *bytes, struct str *ret_piece)
{
    while (p->where == HTTP_IN_BODY && bytes->len > 0) {
        p->piece = (struct str){ 0 };
        if (!feed(p, bytes))
            return HTTP_BAD;
        if (p->piece.len > 0) {
            *ret_piece = p->piece;
            p->piece = (struct str){ 0 };
            return HTTP_BODY_PIECE;
        }
    }
    if (p->where == HTTP_IN_BODY)
        return HTTP_MORE;
    p->where = HTTP_ENDED;
    return HTTP_END;
}

enum http_event http_parser_next(struct http_parser *p, struct str *bytes, struct str *ret_piece)
{
    enum http_event e;

    switch (p->where) {
    case HTTP_IN_HEAD:
        do
            e = take_head(p, bytes);
        while (e == HTTP_MORE && bytes->len > 0); /* after an empty line */
        return e;
    case HTTP_IN_BODY:
    case HTTP_AT_END:
        return take_body(p, bytes, ret_piece);
    case HTTP_ENDED:
    case HTTP_REFUSED:
        break;
    }
    require(p->where != HTTP_ENDED && p->where != HTTP_REFUSED); /* (1) */
    return HTTP_BAD;
}
