#include "http_fixture.h"

/* As in production, but a stop does not wait long for lingering connections. */
static struct http_limits defaults = HTTP_LIMITS_DEFAULT;

#define H "Host: a\r\n"

TEST(one_connection_serves_one_request_after_the_other)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_stats s;

    CHECK(fx_start(&f, 2, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    for (int i = 0; i < 3; i++) {
        CHECK(client_say(&c, "POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello"));
        CHECK(client_is(&c, 200, "hello"));
        CHECK(client_has(&c, "Date: ") && !client_has(&c, "Connection"));
        CHECK(client_say(&c, "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
                             "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
        CHECK(client_is(&c, 200, "abcde"));
        CHECK(client_say(&c, "HEAD /echo HTTP/1.1\r\n" H "\r\n"));
        CHECK(client_read(&c, true) && c.status == 200 && c.in.len == 0);
        CHECK(client_say(&c, "GET /bare HTTP/1.1\r\n" H "\r\n"));
        CHECK(client_is(&c, 204, "") && !client_has(&c, "Content-Length"));
    }
    http_server_stats(f.server, &s);
    CHECK(s.requests == 12 && s.accepted == 1 && s.open == 1);
    CHECK(s.bytes_in > 500 && s.bytes_out > 500);
    fx_stop(&f, 1000);
    CHECK(client_ended(&c));
    CHECK(atomic_load(&fx_gones) == 0 && atomic_load(&fx_live) == 0);
}

TEST(the_handler_sees_the_head)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "PUT /fields?a=b HTTP/1.1\r\nHost: a\r\nX-One:  1 \r\n\r\n"));
    CHECK(client_is(&c, 200, "PUT /fields ?a=b from 127.0.0.1\nHost=a\nX-One=1\n"));
    CHECK(client_has(&c, "Content-Type: text/plain\r\n") && client_has(&c, "X-Own: yes\r\n"));
    fx_stop(&f, 0);
}

static const char *const torture[] = {
    "POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello",
    "POST /echo HTTP/1.1\r\n" H
    "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\nhost: a\r\nX-Empty:\r\nContent-Length: 5\r\n\r\nhello",
};

TEST(requests_cut_at_every_byte)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_start(&f, 1, &defaults, NULL));
    for (size_t t = 0; t < sizeof torture / sizeof torture[0]; t++) {
        AUTO(client_done) struct client c = client_open(f.port);
        struct str all = str_of(torture[t]);

        for (size_t cut = 1; cut < all.len; cut++) {
            CHECK(client_send(&c, (struct str){ all.ptr, cut }));
            clock_sleep_us(300); /* so that it is read alone */
            CHECK(client_send(&c, str_from(all, cut)));
            CHECK(client_is(&c, 200, "hello"));
        }
        for (size_t i = 0; i < all.len; i++) {
            CHECK(client_send(&c, (struct str){ all.ptr + i, 1 }));
            clock_sleep_us(100);
        }
        CHECK(client_is(&c, 200, "hello"));
    }
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_live) == 0);
}

TEST(pipelined_requests_are_answered_in_order)
{
    AUTO(fx_done) struct fx f = { 0 };
    AUTO(buf_done) struct buf all = BUF_INIT(1 << 20);

    CHECK(fx_start(&f, 1, &defaults, NULL));
    for (int i = 0; i < 200; i++)
        buf_printf(&all, "POST /echo HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\n%03d", i);
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_send(&c, buf_view(&all)));
    for (int i = 0; i < 200; i++) {
        char want[16];

        (void)snprintf(want, sizeof want, "%03d", i);
        CHECK(client_is(&c, 200, want));
    }
    /* What follows a request in hand waits for its answer. */
    CHECK(client_say(&c, "GET /decide HTTP/1.1\r\n" H "\r\nGET /echo HTTP/1.1\r\n" H "\r\n"));
    CHECK(fx_await_parked());
    clock_sleep_us(20000);
    CHECK(atomic_load(&fx_heads) == 201);
    fx_do(f.loops[0], FX_ANSWER);
    CHECK(client_is(&c, 202, "parked") && client_is(&c, 200, ""));
    fx_stop(&f, 1000);
}

/* A client that asks and never reads must not make us collect its answers. */
TEST(pipelined_answers_wait_for_the_reader)
{
    AUTO(fx_done) struct fx f = { 0 };
    int n = 0;

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "GET /sized HTTP/1.1\r\n" H "\r\nGET /sized HTTP/1.1\r\n" H "\r\n"
                         "GET /sized HTTP/1.1\r\n" H "\r\n"));
    CHECK(fx_await(&fx_heads, 1));
    clock_sleep_us(50000);
    CHECK(atomic_load(&fx_heads) == 1);
    for (; n < 3; n++)
        CHECK(client_read(&c, false) && c.body.len == STREAM_BYTES);
    fx_stop(&f, 1000);
}

TEST(expect_continue)
{
    AUTO(fx_done) struct fx f = { 0 };
    const char *ask =
        "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n";

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, ask));
    CHECK(client_read(&c, false) && c.status == 100);
    CHECK(client_say(&c, "abc") && client_is(&c, 200, "abc"));

    /* Refused before the body: nobody knows whether it comes, so the end. */
    CHECK(client_say(&c, "POST /early HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
                         "Content-Length: 3\r\n\r\n"));
    CHECK(client_read(&c, false) && c.status == 401 && client_has(&c, "Connection: close\r\n"));
    CHECK(str_is(buf_view(&c.body),
                 "{\"error\":{\"code\":\"unauthorized\",\"message\":\"no \\\"key\\\"\"}}"));
    CHECK(client_ended(&c));

    /* Decided later. */
    AUTO(client_done) struct client d = client_open(f.port);

    CHECK(client_say(&d, "POST /decide HTTP/1.1\r\n" H "Expect: 100-continue\r\n"
                         "Content-Length: 3\r\n\r\n"));
    CHECK(fx_await_parked());
    fx_do(f.loops[0], FX_READ);
    CHECK(client_read(&d, false) && d.status == 100);
    atomic_store(&fx_parked, NULL);
    CHECK(client_say(&d, "abc") && fx_await_parked());
    fx_do(f.loops[0], FX_ANSWER);
    CHECK(client_is(&d, 202, "parked"));
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_live) == 0);
}

TEST(an_answer_before_the_body)
{
    AUTO(fx_done) struct fx f = { 0 };
    AUTO(buf_done) struct buf big = BUF_INIT(8 << 20);

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    /* A small rest is drained and the connection kept. */
    CHECK(client_say(&c, "POST /early HTTP/1.1\r\n" H "Content-Length: 65536\r\n\r\n"));
    CHECK(client_read(&c, false) && c.status == 401 && !client_has(&c, "Connection"));
    for (int i = 0; i < 65536 / 16; i++)
        CHECK(client_say(&c, "GET / HTTP/1.1\r\n"));
    CHECK(client_say(&c, "POST /echo HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nok"));
    CHECK(client_is(&c, 200, "ok"));

    /* A large one is not; the client that goes on sending sees the answer. */
    buf_puts(&big, "POST /early HTTP/1.1\r\n" H "Content-Length: 700000\r\n\r\n");
    for (int i = 0; i < 700000; i++)
        buf_putc(&big, 'x');
    CHECK(client_send(&c, buf_view(&big)));
    CHECK(client_read(&c, false) && c.status == 401 && client_has(&c, "Connection: close\r\n"));
    CHECK(client_ended(&c));

    /* Nor is one of unknown length. */
    AUTO(client_done) struct client d = client_open(f.port);

    CHECK(client_say(&d, "POST /early HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\nx"));
    CHECK(client_read(&d, false) && d.status == 401 && client_has(&d, "Connection: close\r\n"));
    CHECK(client_ended(&d));
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_gones) == 0 && atomic_load(&fx_live) == 0);
}

TEST(old_clients_and_closing_ones)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client a = client_open(f.port);
    AUTO(client_done) struct client b = client_open(f.port);

    CHECK(client_say(&a, "GET /echo HTTP/1.0\r\n\r\n"));
    CHECK(client_is(&a, 200, "") && client_has(&a, "Connection: close\r\n") && client_ended(&a));
    CHECK(client_say(&b, "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    CHECK(client_is(&b, 200, "") && client_has(&b, "Connection: keep-alive\r\n"));
    CHECK(client_say(&b, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    CHECK(client_read(&b, false) && b.body.len == STREAM_BYTES && b.closed);
    /* Bytes behind the last request are not the next one, and do not kill the answer. */
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c,
                     "GET /echo HTTP/1.1\r\n" H "Connection: close\r\n\r\nGET /echo HTTP/1.1\r\n"));
    CHECK(client_is(&c, 200, "") && client_ended(&c));
    /* A client that closes its side still gets its answers. */
    AUTO(client_done) struct client d = client_open(f.port);

    CHECK(client_say(&d, "GET /echo HTTP/1.1\r\n" H "\r\nPOST /decide HTTP/1.1\r\n" H
                         "Content-Length: 1\r\n\r\nx"));
    CHECK(shutdown(d.fd, SHUT_WR) == 0);
    CHECK(client_is(&d, 200, ""));
    CHECK(fx_await_parked());
    fx_do(f.loops[0], FX_READ);
    CHECK(fx_await(&fx_ends, 5));
    fx_do(f.loops[0], FX_ANSWER);
    CHECK(client_is(&d, 202, "parked") && client_ended(&d));
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_gones) == 0 && atomic_load(&fx_live) == 0);
}

TEST(a_connection_serves_so_many_requests)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = defaults;

    l.conn_requests = 3;
    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    for (int i = 0; i < 4; i++)
        CHECK(client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\n"));
    for (int i = 0; i < 3; i++)
        CHECK(client_is(&c, 200, "") && client_has(&c, "Connection: close\r\n") == (i == 2));
    CHECK(client_ended(&c));
    CHECK(atomic_load(&fx_heads) == 3);
    fx_stop(&f, 1000);
}

TEST(streams_are_whole_and_wait_for_the_reader)
{
    static const char *const paths[] = { "/stream", "/sized" };
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    for (size_t i = 0; i < 2; i++) {
        AUTO(buf_done) struct buf ask = BUF_INIT(200);

        buf_printf(&ask, "GET %s HTTP/1.1\r\n" H "\r\n", paths[i]);
        CHECK(client_send(&c, buf_view(&ask)));
        int drains = atomic_load(&fx_drains);

        CHECK(fx_await(&fx_stalls, drains + 1)); /* not all of it fits into the sockets */
        CHECK(client_read(&c, false) && c.status == 200 && c.body.len == STREAM_BYTES);
        for (size_t k = 0; k < STREAM_BYTES; k += 997)
            CHECK(c.body.ptr[k] == (char)('a' + k % 23));
        CHECK(fx_await_none());
        CHECK(atomic_load(&fx_drains) > drains);
    }
    CHECK(client_say(&c, "HEAD /stream HTTP/1.1\r\n" H "\r\nGET /echo HTTP/1.1\r\n" H "\r\n"));
    CHECK(client_read(&c, true) && c.status == 200 && client_is(&c, 200, ""));
    fx_stop(&f, 1000);
}

TEST(a_paused_body_waits)
{
    AUTO(fx_done) struct fx f = { 0 };
    AUTO(buf_done) struct buf big = BUF_INIT(8 << 20);
    struct http_stats s;

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    buf_puts(&big, "POST /park HTTP/1.1\r\n" H "Content-Length: 400000\r\n\r\n");
    for (int i = 0; i < 400000; i++)
        buf_putc(&big, 'x');
    CHECK(client_send(&c, buf_view(&big)));
    CHECK(fx_await_parked());
    clock_sleep_us(50000);
    CHECK(atomic_load(&fx_pieces) == 1);
    http_server_stats(f.server, &s);
    CHECK(s.bytes_in < 300000);
    fx_do(f.loops[0], FX_RESUME);
    CHECK(fx_await(&fx_ends, 1));
    fx_do(f.loops[0], FX_ANSWER);
    CHECK(client_is(&c, 202, "parked"));
    CHECK(client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&c, 200, ""));
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_gones) == 0 && atomic_load(&fx_live) == 0);
}

/* What the client said before it went away. */
TEST(gone_is_called_once_for_each_way_to_go)
{
    static const struct {
        const char *say;
        bool parks, reset;
        int gones;
    } cases[] = {
        { "GET /echo HTTP/1.1\r\nHo", false, false, 0 }, /* no head, nobody to tell */
        { "POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhe", false, false, 1 },
        { "POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhe", false, true, 1 },
        { "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz", false,
          false, 1 },
        { "GET /decide HTTP/1.1\r\n" H "\r\n", true, true, 1 },
        { "POST /park HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\nx", true, true, 1 },
        { "POST /park HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nx", true, true, 1 },
        { "GET /stream HTTP/1.1\r\n" H "\r\n", false, false, 1 },
        { "GET /sized HTTP/1.1\r\n" H "\r\n", false, true, 1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(fx_done) struct fx f = { 0 };
        struct linger hard = { .l_onoff = 1 };
        struct http_stats s;

        CHECK(fx_start(&f, 1, &defaults, NULL));
        AUTO(client_done) struct client c = client_open(f.port);

        CHECK(client_say(&c, cases[i].say));
        CHECK(!cases[i].parks || fx_await_parked());
        clock_sleep_us(10000);
        if (cases[i].reset)
            (void)setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        (void)close(c.fd);
        c.fd = -1;
        CHECK(fx_await(&fx_gones, cases[i].gones));
        for (int k = 0; k < 1000; k++) {
            http_server_stats(f.server, &s);
            if (s.open == 0)
                break;
            clock_sleep_us(1000);
        }
        CHECK(s.open == 0);
        fx_stop(&f, 1000);
        CHECK(atomic_load(&fx_gones) == cases[i].gones && atomic_load(&fx_live) == 0);
    }
}

TEST(a_live_stream_ends_with_its_client)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "GET /decide HTTP/1.1\r\n" H "\r\n") && fx_await_parked());
    fx_do(f.loops[0], FX_START);
    fx_do(f.loops[0], FX_BYTES);
    AUTO(buf_done) struct buf got = BUF_INIT(4096);

    CHECK(client_use_line(&c, "data: x\n\n", &got));
    (void)close(c.fd);
    c.fd = -1;
    CHECK(fx_await(&fx_gones, 1));
    fx_do(f.loops[0], FX_BYTES); /* nobody is parked any more */
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_live) == 0);
}

TEST(an_aborted_answer_is_seen_as_such)
{
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_start(&f, 1, &defaults, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "GET /decide HTTP/1.1\r\n" H "\r\n") && fx_await_parked());
    fx_do(f.loops[0], FX_START);
    fx_do(f.loops[0], FX_BYTES);
    fx_do(f.loops[0], FX_ABORT);
    CHECK(!client_read(&c, false) && c.closed);
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_gones) == 0 && atomic_load(&fx_live) == 0);
}

TEST(refusals_are_json_and_close)
{
    static const struct {
        const char *say;
        int status;
        const char *body;
    } cases[] = {
        { "GET / HTTP/1.1\r\n\r\n", 400,
          "{\"error\":{\"code\":\"bad_request\",\"message\":\"no Host field\"}}" },
        { "BREW / HTTP/1.1\r\n" H "\r\n", 501,
          "{\"error\":{\"code\":\"method_not_implemented\",\"message\":"
          "\"this method is not known here\"}}" },
        { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505,
          "{\"error\":{\"code\":\"version_not_supported\",\"message\":"
          "\"only HTTP/1.1 is spoken here\"}}" },
        { "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400,
          "{\"error\":{\"code\":\"bad_request\",\"message\":\"Invalid character in chunk "
          "size\"}}" },
    };
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(fx_start(&f, 1, &defaults, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(client_done) struct client c = client_open(f.port);

        CHECK(client_say(&c, cases[i].say));
        CHECK(client_is(&c, cases[i].status, cases[i].body));
        CHECK(client_has(&c, "Content-Type: application/json\r\n"));
        CHECK(client_has(&c, "Connection: close\r\n") && client_ended(&c));
    }
    CHECK(fx_refused(&f, HTTP_REFUSED_BAD) == 3);
    CHECK(fx_refused(&f, HTTP_REFUSED_NOT_IMPLEMENTED) == 1);
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_gones) == 1 && atomic_load(&fx_live) == 0);
}

/* Each answer comes after the delay, on a connection that stays; one that ends meanwhile is gone.
 */
TEST(an_answer_may_be_delayed)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits limits = defaults;

    limits.delay_ms = 200;
    CHECK(fx_start(&f, 1, &limits, NULL));
    AUTO(client_done) struct client c = client_open(f.port);
    int64_t from = clock_mono_us();

    for (int i = 0; i < 3; i++) {
        CHECK(client_say(&c, "POST /delay HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nab"));
        CHECK(client_is(&c, 429, "{\"error\":{\"code\":\"too_often\",\"message\":\"slowly\"}}"));
        CHECK(clock_mono_us() - from >= (i + 1) * 190 * CLOCK_MS);
    }
    CHECK(fx_await_none());
    {
        AUTO(client_done) struct client left = client_open(f.port);

        CHECK(client_say(&left, "POST /delay HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nab"));
        CHECK(fx_await(&fx_heads, 4));
    }
    CHECK(fx_await_none());
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_live) == 0);
}

int main(void)
{
    defaults.linger_ms = 200;
    defaults.tick_ms = 20;
    return test_main();
}
