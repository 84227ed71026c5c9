#include "base/http_parse.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "http_methods.h"
#include "test.h"

static const struct http_head_limits limits = { .head_bytes = HTTP_HEAD_BYTES,
                                                .line_bytes = HTTP_LINE_BYTES,
                                                .fields = HTTP_HEAD_FIELDS };

/* What the events were, as text: one line per message. */
static void trace(struct buf *to, const struct http_parser *p, const struct buf *body)
{
    struct str path = http_parser_view(p, p->path), query = http_parser_view(p, p->query);

    buf_printf(to, "%s %.*s ?%.*s %lld%s%s%s%s fields=%u body=%.*s\n", http_methods[p->method],
               STR_ARG(path), STR_ARG(query), (long long)p->content_length,
               p->chunked ? " chunked" : "", p->http_1_0 ? " 1.0" : "",
               p->keep_alive ? "" : " close", p->expect_continue ? " expect" : "", p->field_count,
               STR_ARG(buf_view(body)));
}

/* At least one byte of a head came, and the head is not complete. */
static bool has_begun(const struct http_parser *p)
{
    return p->where == HTTP_IN_HEAD && (p->head_len > 0 || p->empty_lines > 0);
}

/* Feed bytes cut at `cut` (0: whole, SIZE_MAX: byte by byte), append the trace;
 * returns the status of the refusal, 0 for none. */
static int parse(struct str bytes, size_t cut, struct buf *to)
{
    struct http_parser p;
    AUTO(buf_done) struct buf body = BUF_INIT(1 << 20);
    size_t at = 0;
    int status = 0;

    http_parser_init(&p, &limits);
    while (at < bytes.len && status == 0) {
        size_t n = cut == SIZE_MAX ? 1 : at < cut ? cut - at : bytes.len - at;
        /* A copy of its own, so that the sanitizer sees a read past its end. */
        char *piece = xstrndup((struct str){ bytes.ptr + at, n });
        struct str in = { piece, n }, got;
        enum http_event e;

        while (status == 0 && (e = http_parser_next(&p, &in, &got)) != HTTP_MORE) {
            if (e == HTTP_BAD)
                status = p.status;
            else if (e == HTTP_BODY_PIECE)
                buf_put(&body, got);
            else if (e == HTTP_END) {
                trace(to, &p, &body);
                buf_clear(&body);
                http_parser_reset(&p);
            }
        }
        free(piece);
        at += n;
    }
    if (status == 0 && has_begun(&p))
        buf_puts(to, "(begun)\n");
    http_parser_done(&p);
    return status;
}

static bool same_at_every_cut(struct str bytes, int want, const char *want_trace)
{
    for (size_t cut = 0; cut <= bytes.len; cut++) {
        AUTO(buf_done) struct buf got = BUF_INIT(1 << 20);
        int status = parse(bytes, cut == bytes.len ? SIZE_MAX : cut, &got);

        if (status != want || (want_trace != NULL && !str_is(buf_view(&got), want_trace))) {
            printf("# cut %zu: status %d, trace %s# of %.*s\n", cut, status, got.ptr,
                   STR_ARG(bytes));
            return false;
        }
    }
    return true;
}

#define H "Host: a\r\n"

TEST(good_requests_at_every_cut)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        { "GET / HTTP/1.1\r\n" H "\r\n", "GET / ? -1 fields=1 body=\n" },
        { "GET /a?b=c HTTP/1.1\r\n" H "\r\n", "GET /a ?b=c -1 fields=1 body=\n" },
        { "GET /a? HTTP/1.1\r\n" H "\r\n", "GET /a ? -1 fields=1 body=\n" },
        { "GET http://h:8/p?q HTTP/1.1\r\n" H "\r\n", "GET /p ?q -1 fields=1 body=\n" },
        { "GET HTTPS://h?q HTTP/1.1\r\n" H "\r\n", "GET  ?q -1 fields=1 body=\n" },
        { "OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS * ? -1 fields=1 body=\n" },
        { "GET / HTTP/1.0\r\n\r\n", "GET / ? -1 1.0 close fields=0 body=\n" },
        { "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / ? -1 1.0 fields=1 body=\n" },
        { "GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n", "GET / ? -1 close fields=2 body=\n" },
        { "\r\nGET / HTTP/1.1\r\n" H "\r\n", "GET / ? -1 fields=1 body=\n" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello",
          "POST / ? 5 fields=2 body=hello\n" },
        { "POST / HTTP/1.1\r\nHOST:a\r\ncontent-length:\t 5 \r\nX:\r\nY: \t\r\n\r\nhello",
          "POST / ? 5 fields=4 body=hello\n" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", "POST / ? 0 fields=2 body=\n" },
        { "POST / HTTP/1.1\r\n" H "Content-Length: 2\r\nExpect: 100-Continue\r\n\r\nok",
          "POST / ? 2 expect fields=3 body=ok\n" },
        { "PUT / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n"
          "3\r\nabc\r\n0a;z=\"q\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
          "PUT / ? -1 chunked fields=2 body=abc0123456789\n" },
        { "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "POST / ? -1 chunked fields=2 body=\n" },
        { "GET / HTTP/1.1\r\n" H "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
          "GET /2 HTTP/1.1\r\n" H "\r\n",
          "GET / ? -1 fields=3 body=\nGET /2 ? -1 fields=1 body=\n" },
        { "POST /1 HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc"
          "POST /2 HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
          "GET /3 HTTP/1.1\r\n" H "\r\nGE",
          "POST /1 ? 3 fields=2 body=abc\nPOST /2 ? -1 chunked fields=2 body=x\n"
          "GET /3 ? -1 fields=1 body=\n(begun)\n" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(same_at_every_cut(str_of(cases[i].in), 0, cases[i].want));
}

#define P       "POST / HTTP/1.1\r\n" H
#define CHUNKED P "Transfer-Encoding: chunked\r\n\r\n"
#define X64     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* Everything here must be refused, with the same status however it is cut. */
static const struct {
    int status;
    const char *in;
} refused[] = {
    /* framing */
    { 400, P "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
    { 400, P "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" },
    { 400, P "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" },
    { 400, P "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc" },
    { 400, P "Content-Length: 3, 3\r\n\r\nabc" },
    { 400, P "Content-Length: +3\r\n\r\nabc" },
    { 400, P "Content-Length: -3\r\n\r\nabc" },
    { 400, P "Content-Length: 0x3\r\n\r\nabc" },
    { 400, P "Content-Length: 3 3\r\n\r\nabc" },
    { 400, P "Content-Length: \r\n\r\n" },
    { 400, P "Content-Length: 18446744073709551616\r\n\r\n" },
    { 400, P "Content-Length: 9223372036854775808\r\n\r\n" },
    { 400, P "Content-Length : 3\r\n\r\nabc" },
    { 400, P "Content-Length\t: 3\r\n\r\nabc" },
    { 501, P "Transfer-Encoding: gzip, chunked\r\n\r\n" },
    { 400, P "Transfer-Encoding: gzip\r\n\r\n" },
    { 400, P "Transfer-Encoding: chunked, gzip\r\n\r\n" },
    { 400, P "Transfer-Encoding: chunked, chunked\r\n\r\n" },
    { 400, P "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" },
    { 400, P "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" },
    { 400, P "Transfer-Encoding: identity\r\n\r\n" },
    { 400, P "Transfer-Encoding: xchunked\r\n\r\n" },
    { 400, P "Transfer-Encoding: \"chunked\"\r\n\r\n" },
    { 400, P "Transfer-Encoding: chunked;q=1\r\n\r\n" },
    { 400, P "Transfer-Encoding: \x0b"
             "chunked\r\n\r\n" },
    { 400, P "Transfer-Encoding:\r\n chunked\r\n\r\n" },
    { 400, P "Transfer-Encoding : chunked\r\n\r\n" },
    { 400, P "Transfer-Encoding:\r\n\r\n" },
    { 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" },
    /* lines */
    { 400, "GET / HTTP/1.1\n" H "\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: a\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X: a\r\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X: a\r\n\tb\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n " H "\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X y: a\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H ": a\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X(: a\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X: a\x7f\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "X: a\x01\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "\xc3\xa4: a\r\n\r\n" },
    { 400, "\r\n\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n" },
    { 400, "\nGET / HTTP/1.1\r\n" H "\r\n" },
    /* Host and what may stand once */
    { 400, "GET / HTTP/1.1\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H H "\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "Authorization: a\r\nAuthorization: b\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" H "Idempotency-Key: a\r\nidempotency-key: a\r\n\r\n" },
    /* the request line */
    { 400, "GET  / HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET /  HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET / HTTP/1.1 \r\n" H "\r\n" },
    { 400, " GET / HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET\t/ HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET /\r\n" H "\r\n" },
    { 400, "GET / http/1.1\r\n" H "\r\n" },
    { 400, "GET / HTTP/11\r\n" H "\r\n" },
    { 400, "GET /a\x01 HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET /#f HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET x HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET * HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET ftp://a/ HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET http:///x HTTP/1.1\r\n" H "\r\n" },
    { 400, "GET http://u@a/x HTTP/1.1\r\n" H "\r\n" },
    { 400, "(GET) / HTTP/1.1\r\n" H "\r\n" },
    { 505, "GET / HTTP/2.0\r\n" H "\r\n" },
    { 505, "GET / HTTP/0.9\r\n" H "\r\n" },
    { 505, "GET / HTTP/1.2\r\n" H "\r\n" },
    { 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
    { 501, "BREW / HTTP/1.1\r\n" H "\r\n" },
    { 501, "get / HTTP/1.1\r\n" H "\r\n" },
    { 501, "CONNECT a:1 HTTP/1.1\r\n" H "\r\n" },
    { 501, "TRACE / HTTP/1.1\r\n" H "\r\n" },
    { 501, "PROPFIND / HTTP/1.1\r\n" H "\r\n" },
    { 417, "GET / HTTP/1.1\r\n" H "Expect: 200-ok\r\n\r\n" },
    { 400, "\x16\x03\x01\x02" },
    /* chunks */
    { 400, CHUNKED "g\r\n" },
    { 400, CHUNKED " 3\r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "3 \r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "+3\r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "-3\r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "\r\n" },
    { 400, CHUNKED "3\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "3\rabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "3\r\nabc0\r\n\r\n" },
    { 400, CHUNKED "3\r\nabcd\r\n0\r\n\r\n" },
    { 400, CHUNKED "3\r\nabc\n0\r\n\r\n" },
    { 400, CHUNKED "3\r\nabc\rX0\r\n\r\n" },
    { 400, CHUNKED "3\r\nabc\r\n0\r\nX: y\n\r\n" },
    { 400, CHUNKED "3\r\nabc\r\n0\r\n\rX" },
    { 400, CHUNKED "10000000000000000\r\n" },
    { 400, CHUNKED "3;" X64 "x\r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "3;a=" X64 "\r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n" },
    { 400, CHUNKED "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n" },
};

TEST(smuggling_and_malformed_requests_at_every_cut)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        CHECK(same_at_every_cut(str_of(refused[i].in), refused[i].status, NULL));
}

/* proves: S12 */
TEST(nul_bytes_are_refused_everywhere_in_a_head)
{
    static const char good[] = "GET /abc HTTP/1.1\r\nHost: abc\r\nX-Field: value\r\n\r\n";

    for (size_t i = 0; i < sizeof good - 5; i++) { /* not in the last CRLFCRLF */
        char bad[sizeof good];
        AUTO(buf_done) struct buf got = BUF_INIT(4096);

        memcpy(bad, good, sizeof good);
        bad[i] = '\0';
        int status = parse(str_mem(bad, sizeof good - 1), 0, &got);

        CHECK(status == 400 || status == 501); /* a NUL in the method is no token: 400 */
        CHECK(got.len == 0);
    }
}

static void fill(struct buf *b, const char *start, char with, size_t n, const char *end)
{
    buf_puts(b, start);
    for (size_t i = 0; i < n; i++)
        buf_putc(b, with);
    buf_puts(b, end);
}

static int status_of(const struct buf *b)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1 << 20);
    AUTO(buf_done) struct buf again = BUF_INIT(1 << 20);
    int status = parse(buf_view(b), 0, &got);

    return parse(buf_view(b), SIZE_MAX, &again) == status ? status : -1;
}

TEST(limits_of_the_head)
{
    static const struct {
        const char *start;
        char with;
        size_t n;
        const char *end;
        int status;
    } cases[] = {
        { "GET /", 'a', HTTP_LINE_BYTES - 14, " HTTP/1.1\r\n" H "\r\n", 0 },
        { "GET /", 'a', HTTP_LINE_BYTES - 13, " HTTP/1.1\r\n" H "\r\n", 414 },
        { "GET /", 'a', HTTP_LINE_BYTES + 10, "", 414 },
        { "GET / HTTP/1.1\r\n" H "X: ", 'a', HTTP_HEAD_BYTES - 32, "\r\n\r\n", 0 },
        { "GET / HTTP/1.1\r\n" H "X: ", 'a', HTTP_HEAD_BYTES - 31, "\r\n\r\n", 431 },
        { "GET / HTTP/1.1\r\n" H "X: ", 'a', HTTP_HEAD_BYTES * 2, "", 431 },
        { CHUNKED, '0', HTTP_FRAMING_BYTES + 200, "1\r\na\r\n0\r\n\r\n", 431 },
        { CHUNKED "0\r\nX: ", 'a', HTTP_FRAMING_BYTES + 200, "", 431 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);

        fill(&b, cases[i].start, cases[i].with, cases[i].n, cases[i].end);
        CHECK(status_of(&b) == cases[i].status);
    }
    for (int n = HTTP_HEAD_FIELDS - 1; n <= HTTP_HEAD_FIELDS; n++) {
        AUTO(buf_done) struct buf b = BUF_INIT(1 << 20);
        AUTO(buf_done) struct buf trailers = BUF_INIT(1 << 20);

        buf_puts(&b, "GET / HTTP/1.1\r\n" H);
        buf_puts(&trailers, CHUNKED "0\r\nA: b\r\n");
        for (int i = 0; i < n; i++) {
            buf_printf(&b, "X-%d: y\r\n", i);
            buf_printf(&trailers, "X-%d: y\r\n", i);
        }
        buf_puts(&b, "\r\n");
        buf_puts(&trailers, "\r\n");
        CHECK(status_of(&b) == (n < HTTP_HEAD_FIELDS ? 0 : 431));
        CHECK(status_of(&trailers) == (n < HTTP_HEAD_FIELDS ? 0 : 431));
    }
}

TEST(views_of_the_head)
{
    struct str in = STR("POST / HTTP/1.1\r\nHost: a\r\nauthorization: Bearer x \r\n"
                        "Content-Type: text/plain\r\nX-Two: 1\r\nX-Two: 2\r\n"
                        "Content-Length: 1\r\n\r\nz");
    struct http_parser p;
    struct str got;

    http_parser_init(&p, &limits);
    CHECK(!has_begun(&p));
    CHECK(http_parser_next(&p, &in, &got) == HTTP_HEAD_DONE);
    CHECK(in.len == 1);
    CHECK(str_is(http_parser_known(&p, HTTP_AUTHORIZATION), "Bearer x"));
    CHECK(str_is(http_parser_known(&p, HTTP_CONTENT_TYPE), "text/plain"));
    CHECK(http_parser_known(&p, HTTP_RANGE).ptr == NULL);
    CHECK(str_is(http_parser_field(&p, STR("x-two")), "1"));
    CHECK(http_parser_field(&p, STR("x-three")).ptr == NULL);
    CHECK(http_parser_next(&p, &in, &got) == HTTP_BODY_PIECE && str_is(got, "z"));
    CHECK(http_parser_next(&p, &in, &got) == HTTP_END);
    http_parser_done(&p);
}

int main(void)
{
    return test_main();
}
