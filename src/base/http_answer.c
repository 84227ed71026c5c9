/* http_answer.c - the output side of the HTTP server: answers, refusals, bytes to the socket. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/http_conn.h"
#include "base/json.h"
#include "base/require.h"

/* ---- output ---- */

struct out {
    uv_write_t req;
    struct http_conn *conn;
    size_t len;
    char bytes[];
};

static void http_answer_give_up(struct http_conn *c)
{
    c->broken = true;
    conn_doom(c);
}

uint64_t conn_written(const struct http_conn *c)
{
    return c->out_total - uv_stream_get_write_queue_size((const uv_stream_t *)&c->tcp);
}

static void on_written(uv_write_t *req, int status)
{
    struct out *o = container_of(req, struct out, req);
    struct http_conn *c = o->conn;

    require(c->magic == HTTP_CONN_MAGIC && c->out_pending >= o->len);
    c->out_pending -= o->len;
    free(o);
    if (c->closing || c->doomed)
        return;
    if (status < 0) {
        http_answer_give_up(c);
        return;
    }
    if (c->out_pending > 0)
        return;
    conn_wait_send(c, false);
    if (c->req != NULL && c->req->want_drained) {
        c->req->want_drained = false;
        if (c->io->server->o.handler->drained != NULL)
            c->io->server->o.handler->drained(&c->req->pub);
    }
    if (c->out_pending == 0 && c->rest_len > 0)
        conn_schedule(c);
    conn_settle(c);
}

/* Copies the bytes that the socket did not take at once, and queues them in libuv. */
static void queue(struct http_conn *c, const uv_buf_t *bufs, size_t count, size_t skip, size_t len)
{
    struct out *o = xmalloc(sizeof *o + len);
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        size_t n = bufs[i].len;

        if (skip >= n) {
            skip -= n;
            continue;
        }
        memcpy(o->bytes + at, bufs[i].base + skip, n - skip);
        at += n - skip;
        skip = 0;
    }
    require(at == len);
    o->conn = c;
    o->len = len;
    uv_buf_t all = uv_buf_init(o->bytes, (unsigned)len);

    if (c->out_pending + len > HTTP_OUT_MAX ||
        uv_write(&o->req, (uv_stream_t *)&c->tcp, &all, 1, on_written) < 0) {
        free(o);
        http_answer_give_up(c);
        return;
    }
    c->out_total += len;
    c->out_pending += len;
    if (c->write_wait == WAIT_NONE)
        conn_wait_send(c, true);
}

static void send_plain(struct http_conn *c, const struct str *parts, size_t count)
{
    uv_buf_t bufs[3];
    size_t total = 0, n = 0, done = 0;

    for (size_t i = 0; i < count; i++)
        if (parts[i].len > 0) {
            bufs[n].base = (char *)(uintptr_t)parts[i].ptr; /* libuv only reads it */
            bufs[n++].len = parts[i].len;
            total += parts[i].len;
        }
    if (total == 0)
        return;
    http_count(&c->io->counters.bytes_out, total);
    if (c->out_pending == 0) {
        int rc = uv_try_write((uv_stream_t *)&c->tcp, bufs, (unsigned)n);

        if (rc < 0 && rc != UV_EAGAIN) {
            http_answer_give_up(c);
            return;
        }
        done = rc > 0 ? (size_t)rc : 0;
    }
    if (done < total)
        queue(c, bufs, n, done, total - done);
}

void conn_flush_tls(struct http_conn *c)
{
    struct str wire = tls_output(c->tls);

    if (wire.len == 0)
        return;
    if (!c->broken)
        send_plain(c, &wire, 1);
    tls_output_sent(c->tls);
}

static void conn_send(struct http_conn *c, const struct str *parts, size_t count)
{
    require(count <= 3);
    if (c->broken || c->doomed)
        return;
    if (c->tls == NULL) {
        send_plain(c, parts, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (!tls_write(c->tls, parts[i])) {
            http_answer_give_up(c);
            return;
        }
    conn_flush_tls(c);
}

/* Closes the connection when the output is sent; clean: without lingering. */
static void conn_end(struct http_conn *c, bool clean)
{
    c->ending = true;
    c->clean = clean && c->rest_len == 0;
    if (c->rest_len > 0) {
        free(c->rest);
        c->rest = NULL;
        c->rest_len = 0;
    }
    conn_settle(c);
}

/* ---- heads ---- */

static struct str status_line(int status)
{
    static const struct {
        int status;
        const char *line;
    } known[] = {
        { 200, "HTTP/1.1 200 OK\r\n" },
        { 201, "HTTP/1.1 201 Created\r\n" },
        { 202, "HTTP/1.1 202 Accepted\r\n" },
        { 204, "HTTP/1.1 204 No Content\r\n" },
        { 206, "HTTP/1.1 206 Partial Content\r\n" },
        { 302, "HTTP/1.1 302 Found\r\n" },
        { 303, "HTTP/1.1 303 See Other\r\n" },
        { 304, "HTTP/1.1 304 Not Modified\r\n" },
        { 400, "HTTP/1.1 400 Bad Request\r\n" },
        { 401, "HTTP/1.1 401 Unauthorized\r\n" },
        { 403, "HTTP/1.1 403 Forbidden\r\n" },
        { 404, "HTTP/1.1 404 Not Found\r\n" },
        { 405, "HTTP/1.1 405 Method Not Allowed\r\n" },
        { 408, "HTTP/1.1 408 Request Timeout\r\n" },
        { 409, "HTTP/1.1 409 Conflict\r\n" },
        { 411, "HTTP/1.1 411 Length Required\r\n" },
        { 412, "HTTP/1.1 412 Precondition Failed\r\n" },
        { 413, "HTTP/1.1 413 Content Too Large\r\n" },
        { 414, "HTTP/1.1 414 URI Too Long\r\n" },
        { 415, "HTTP/1.1 415 Unsupported Media Type\r\n" },
        { 416, "HTTP/1.1 416 Range Not Satisfiable\r\n" },
        { 417, "HTTP/1.1 417 Expectation Failed\r\n" },
        { 422, "HTTP/1.1 422 Unprocessable Content\r\n" },
        { 429, "HTTP/1.1 429 Too Many Requests\r\n" },
        { 431, "HTTP/1.1 431 Request Header Fields Too Large\r\n" },
        { 500, "HTTP/1.1 500 Internal Server Error\r\n" },
        { 501, "HTTP/1.1 501 Not Implemented\r\n" },
        { 503, "HTTP/1.1 503 Service Unavailable\r\n" },
        { 505, "HTTP/1.1 505 HTTP Version Not Supported\r\n" },
        { 507, "HTTP/1.1 507 Insufficient Storage\r\n" },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].status == status)
            return str_of(known[i].line);
    return (struct str){ 0 };
}

struct writer {
    char *at, *end;
};

static void http_answer_put(struct writer *w, struct str s)
{
    require((size_t)(w->end - w->at) >= s.len);
    memcpy(w->at, s.ptr, s.len);
    w->at += s.len;
}

static void put_number(struct writer *w, uint64_t v)
{
    char digits[20];
    size_t n = sizeof digits;

    do
        digits[--n] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    http_answer_put(w, str_mem(digits + n, sizeof digits - n));
}

static void put_status(struct writer *w, int status)
{
    struct str line = status_line(status);

    require(status >= 200 && status <= 599);
    if (line.len > 0) {
        http_answer_put(w, line);
        return;
    }
    http_answer_put(w, STR("HTTP/1.1 "));
    put_number(w, (uint64_t)status);
    http_answer_put(w, STR(" \r\n"));
}

struct head {
    int status;
    struct str fields, content_type;
    int64_t length;                 /* -1: no Content-Length */
    bool chunked, close, keep_told; /* keep_told: send keep-alive, for HTTP/1.0 */
};

static void put_head(struct writer *w, const struct http_io *io, const struct head *h)
{
    put_status(w, h->status);
    http_answer_put(w, str_of(io->date));
    if (h->content_type.len > 0) {
        http_answer_put(w, STR("Content-Type: "));
        http_answer_put(w, h->content_type);
        http_answer_put(w, STR("\r\n"));
    }
    if (h->length >= 0 && h->status != 204) {
        http_answer_put(w, STR("Content-Length: "));
        put_number(w, (uint64_t)h->length);
        http_answer_put(w, STR("\r\n"));
    }
    if (h->chunked)
        http_answer_put(w, STR("Transfer-Encoding: chunked\r\n"));
    if (h->close)
        http_answer_put(w, STR("Connection: close\r\n"));
    else if (h->keep_told)
        http_answer_put(w, STR("Connection: keep-alive\r\n"));
    if (h->fields.len > 0)
        http_answer_put(w, h->fields);
    http_answer_put(w, STR("\r\n"));
}

static void send_head(struct http_conn *c, const struct head *h, struct str body)
{
    struct writer w = { .at = c->io->out_buf, .end = c->io->out_buf + HTTP_OUT_BUF };
    struct str parts[2] = { { 0 } };

    put_head(&w, c->io, h);
    if ((size_t)(w.end - w.at) >= body.len) {
        if (body.len > 0)
            http_answer_put(&w, body);
    } else
        parts[1] = body;
    parts[0] = str_mem(c->io->out_buf, (size_t)(w.at - c->io->out_buf));
    conn_send(c, parts, 2);
}

/* ---- refusals of the server ---- */

void http_put_error(struct buf *to, const char *code, const char *message)
{
    struct json_out j = { .to = to };

    json_open(&j, '{');
    json_key(&j, "error");
    json_open(&j, '{');
    json_key(&j, "code");
    json_z(&j, code);
    json_key(&j, "message");
    json_z(&j, message);
    json_close(&j, '}');
    json_close(&j, '}');
}

void conn_refuse(struct http_conn *c, enum http_refusal why, int status, const char *code,
                 const char *message)
{
    struct request *r = c->req;
    bool begun = false;

    http_count(&c->io->counters.refused[why], 1);
    if (r != NULL) {
        begun = r->answer != ANSWER_NONE;
        if (r->told && r->answer != ANSWER_DONE)
            c->io->server->o.handler->gone(&r->pub);
        request_release(r);
    }
    if (begun) {
        conn_doom(c);
        return;
    }
    struct buf body = BUF_INIT(4096);

    http_put_error(&body, code, message);
    struct head h = { .status = status,
                      .fields = status == 503 ? STR("Retry-After: 1\r\n") : STR(""),
                      .content_type = STR("application/json"),
                      .length = (int64_t)body.len,
                      .close = true };

    send_head(c, &h, buf_view(&body));
    buf_done(&body);
    conn_end(c, false);
}

/* ---- the handler's side ---- */

static struct request *checked(struct http_request *pub)
{
    struct request *r = container_of(pub, struct request, pub);

    require(r->conn->magic == HTTP_CONN_MAGIC && r->conn->req == r && r->told);
    require(loop_is_current(r->conn->io->loop));
    return r;
}

/* The rest of the body is known to be short enough to read it and keep the connection.  Not for a
 * client that waits for "100 Continue": it may send its body or not, and the server
 * cannot tell the body from the next request. */
static bool drainable(const struct request *r)
{
    const struct http_parser *p = &r->parser;

    if (r->complete || p->where == HTTP_AT_END)
        return true;
    if (p->chunked || (p->expect_continue && !r->reading))
        return false;
    return (uint64_t)p->content_length - p->body_bytes <= r->conn->io->server->o.limits.drain_bytes;
}

static struct head head_of(struct request *r, int status, struct str fields,
                           struct str content_type, int64_t length)
{
    require(fields.len <= HTTP_FIELDS_OUT && content_type.len <= 256);
    require(fields.len == 0 || fields.ptr[fields.len - 1] == '\n');
    if (r->conn->io->stopping || !drainable(r))
        r->close = true;
    if (status == 204 || status == 304)
        r->no_body = true;
    return (struct head){ .status = status,
                          .fields = fields,
                          .content_type = content_type,
                          .length = length,
                          .close = r->close,
                          .keep_told = r->parser.http_1_0 };
}

void request_finish(struct request *r)
{
    struct http_conn *c = r->conn;
    bool close = r->close, clean = r->complete;

    request_release(r);
    if (close)
        conn_end(c, clean);
    else if (!c->running) {
        if (c->rest_len > 0)
            conn_schedule(c);
        conn_settle(c);
    }
}

static void answered(struct request *r)
{
    r->answer = ANSWER_DONE;
    r->complete = r->complete || r->parser.where == HTTP_AT_END;
    if (r->complete || r->close)
        request_finish(r);
    else if (!r->conn->running)
        conn_schedule(r->conn); /* to read the rest of the body */
}

void http_answer(struct http_request *pub, int status, struct str fields, struct str content_type,
                 struct str body)
{
    struct request *r = checked(pub);

    require(r->answer == ANSWER_NONE);
    struct head h = head_of(r, status, fields, content_type, (int64_t)body.len);

    send_head(r->conn, &h, r->no_body ? STR("") : body);
    answered(r);
}

void http_answer_error(struct http_request *pub, int status, struct str fields, const char *code,
                       const char *message)
{
    struct buf body = BUF_INIT(64 * 1024);

    http_put_error(&body, code, message);
    http_answer(pub, status, fields, STR("application/json"), buf_view(&body));
    buf_done(&body);
}

void http_answer_start(struct http_request *pub, int status, struct str fields,
                       struct str content_type, int64_t length)
{
    struct request *r = checked(pub);

    require(r->answer == ANSWER_NONE && length >= -1);
    if (length < 0 && r->parser.http_1_0)
        r->close = true; /* the answer ends with the connection */
    struct head h = head_of(r, status, fields, content_type, length);

    r->answer = ANSWER_STREAM;
    r->out_left = length;
    r->out_chunked = length < 0 && !r->parser.http_1_0 && !r->no_body;
    h.chunked = length < 0 && !r->parser.http_1_0 && status != 204;
    r->complete = r->complete || r->parser.where == HTTP_AT_END; /* no more of it is waited for */
    send_head(r->conn, &h, STR(""));
    if (!r->conn->running)
        conn_settle(r->conn);
}

static void send_chunk(struct http_conn *c, struct str bytes)
{
    static const char hex[] = "0123456789abcdef";
    char line[20];
    size_t at = sizeof line, n = bytes.len;

    line[--at] = '\n';
    line[--at] = '\r';
    do
        line[--at] = hex[n & 15];
    while ((n >>= 4) > 0);
    conn_send(c, (struct str[]){ { line + at, sizeof line - at }, bytes, STR("\r\n") }, 3);
}

bool http_answer_bytes(struct http_request *pub, struct str bytes)
{
    struct request *r = checked(pub);
    struct http_conn *c = r->conn;

    require(r->answer == ANSWER_STREAM);
    if (r->out_left >= 0) {
        require(bytes.len <= (uint64_t)r->out_left);
        r->out_left -= (int64_t)bytes.len;
    }
    if (!r->no_body && bytes.len > 0) {
        if (r->out_chunked)
            send_chunk(c, bytes);
        else
            conn_send(c, &bytes, 1);
    }
    r->want_drained = c->doomed || c->out_pending >= HTTP_OUT_HIGH;
    return !r->want_drained;
}

void http_answer_end(struct http_request *pub)
{
    struct request *r = checked(pub);

    require(r->answer == ANSWER_STREAM && (r->out_left <= 0 || r->no_body));
    if (r->out_chunked)
        conn_send(r->conn, &STR("0\r\n\r\n"), 1);
    answered(r);
}

void http_answer_abort(struct http_request *pub)
{
    struct request *r = checked(pub);

    r->answer = ANSWER_DONE;
    conn_doom(r->conn);
}

void http_read_body(struct http_request *pub)
{
    struct request *r = checked(pub);

    require(!r->reading && r->answer == ANSWER_NONE);
    r->reading = true;
    if (r->parser.expect_continue && r->parser.where == HTTP_IN_BODY && r->conn->rest_len == 0)
        conn_send(r->conn, &STR("HTTP/1.1 100 Continue\r\n\r\n"), 1);
    if (!r->conn->running)
        conn_schedule(r->conn);
}

void http_delay(struct http_request *pub)
{
    struct request *r = checked(pub);

    require(r->answer == ANSWER_NONE && !r->conn->delaying &&
            r->conn->io->server->o.handler->delayed != NULL);
    conn_wait_delay(r->conn, true);
}

void http_pause(struct http_request *pub)
{
    struct request *r = checked(pub);

    r->paused = true;
    if (!r->conn->running)
        conn_settle(r->conn);
}

void http_resume(struct http_request *pub)
{
    struct request *r = checked(pub);

    if (!r->paused)
        return;
    r->paused = false;
    if (!r->conn->running)
        conn_schedule(r->conn);
}

/* ---- reading a request ---- */

static const struct request *inside(const struct http_request *pub)
{
    const struct request *r = container_of(pub, const struct request, pub);

    require(r->conn->magic == HTTP_CONN_MAGIC && r->conn->req == r);
    return r;
}

struct loop *http_loop(const struct http_request *r)
{
    return inside(r)->conn->io->loop;
}

struct str http_field(const struct http_request *r, struct str name)
{
    return http_parser_field(&inside(r)->parser, name);
}

bool http_field_at(const struct http_request *r, size_t i, struct str *ret_name,
                   struct str *ret_value)
{
    const struct http_parser *p = &inside(r)->parser;

    if (i >= p->field_count)
        return false;
    *ret_name = http_parser_view(p, p->fields[i].name);
    *ret_value = http_parser_view(p, p->fields[i].value);
    return true;
}

bool http_is_tls(const struct http_request *r)
{
    return inside(r)->conn->tls != NULL;
}
