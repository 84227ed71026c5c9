#include <pthread.h>
#include <sys/resource.h>

#include "http_fixture.h"

#define H "Host: a\r\n"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1, IDLE_CONNECTIONS = 500 };
#else
enum { SANITIZED = 0, IDLE_CONNECTIONS = 5000 };
#endif

/* Times short enough for a test, long enough for a busy machine. */
static struct http_limits quick(void)
{
    struct http_limits l = HTTP_LIMITS_DEFAULT;

    l.head_ms = 300;
    l.idle_ms = 600;
    l.rate_window_ms = 300;
    l.rate_bytes_s = 1000; /* 300 bytes per window */
    l.linger_ms = 200;
    l.tick_ms = 20;
    return l;
}

static int64_t since_ms(int64_t start_us)
{
    return (clock_mono_us() - start_us) / CLOCK_MS;
}

TEST(slow_heads_get_408_and_silent_clients_nothing)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();
    int64_t start = clock_mono_us();

    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client slow = client_open(f.port);
    AUTO(client_done) struct client silent = client_open(f.port);

    /* A byte now and then does not help. */
    for (int i = 0; i < 20 && !slow.closed; i++) {
        struct pollfd p = { .fd = slow.fd, .events = POLLIN };

        (void)client_say(&slow, "G");
        if (poll(&p, 1, 50) == 1)
            break;
    }
    CHECK(client_is(
        &slow, 408,
        "{\"error\":{\"code\":\"timeout\",\"message\":\"the request comes too slowly\"}}"));
    CHECK(since_ms(start) >= 280);
    CHECK(client_ended(&slow));
    CHECK(client_ended(&silent) && silent.head.len == 0);
    CHECK(fx_refused(&f, HTTP_REFUSED_SILENT) == 1);
    CHECK(fx_refused(&f, HTTP_REFUSED_SLOW_HEAD) == 1);
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_heads) == 0);
}

/* What a busy machine makes of a window's length is not the server's fault: with a longer one
 * the same must hold. */
static bool bodies_keep_to(uint32_t window_ms)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    l.rate_window_ms = window_ms;
    l.rate_bytes_s = 300 * 1000 / window_ms;
    if (!fx_start(&f, 1, &l, NULL))
        return false;
    AUTO(client_done) struct client slow = client_open(f.port);
    AUTO(client_done) struct client steady = client_open(f.port);
    AUTO(client_done) struct client paused = client_open(f.port);
    char piece[60];

    memset(piece, 'x', sizeof piece);
    if (!client_say(&slow, "POST /echo HTTP/1.1\r\n" H "Content-Length: 100\r\n\r\nx") ||
        !client_say(&steady, "POST /echo HTTP/1.1\r\n" H "Content-Length: 1200\r\n\r\n") ||
        !client_say(&paused, "POST /park HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\na") ||
        !fx_await_parked())
        return false;
    for (int i = 0; i < 20; i++) { /* twice the rate, over two windows */
        if (!client_send(&steady, str_mem(piece, sizeof piece)))
            return false;
        clock_sleep_us(window_ms * 100);
    }
    if (!client_read(&slow, false) || slow.status != 408 || !client_ended(&slow) ||
        !client_read(&steady, false) || steady.status != 200 || steady.body.len != 1200 ||
        atomic_load(&fx_gones) != 1)
        return false;
    fx_do(f.loops[0], FX_RESUME); /* a new window begins */
    clock_sleep_us(50000);
    if (!client_say(&paused, "b") || !fx_await(&fx_ends, 2))
        return false;
    fx_do(f.loops[0], FX_ANSWER);
    if (!client_is(&paused, 202, "parked") || fx_refused(&f, HTTP_REFUSED_SLOW_BODY) != 1)
        return false;
    fx_stop(&f, 1000);
    return atomic_load(&fx_live) == 0;
}

TEST(slow_bodies_get_408_but_not_while_we_pause)
{
    uint32_t window_ms = 300;

    for (; window_ms < 5000 && !bodies_keep_to(window_ms); window_ms *= 4)
        printf("# not with windows of %u ms\n", window_ms);
    CHECK(window_ms < 5000);
}

TEST(a_client_that_does_not_read_is_cut_off)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "GET /sized HTTP/1.1\r\n" H "\r\n"));
    CHECK(fx_await(&fx_gones, 1));
    CHECK(fx_refused(&f, HTTP_REFUSED_SLOW_READER) == 1);
    CHECK(!client_read(&c, false) && c.body.len < STREAM_BYTES);
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_live) == 0);
}

TEST(a_request_in_hand_has_no_deadline)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "POST /park HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n"));
    CHECK(fx_await_parked());
    clock_sleep_us(800000);
    fx_do(f.loops[0], FX_ANSWER);
    CHECK(client_is(&c, 202, "parked"));
    fx_stop(&f, 1000);
}

/* Of a request without a body, whose connection is kept: nothing of it is waited for. */
TEST(an_answer_in_pieces_has_no_deadline)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "GET /decide HTTP/1.1\r\n" H "\r\n") && fx_await_parked());
    fx_do(f.loops[0], FX_START);
    clock_sleep_us(800000);
    CHECK(fx_refused(&f, HTTP_REFUSED_SLOW_BODY) == 0 && atomic_load(&fx_gones) == 0);
    fx_do(f.loops[0], FX_BYTES);
    fx_stop(&f, 1000);
    CHECK(atomic_load(&fx_live) == 0);
}

TEST(lingering_ends_by_time_and_by_bytes)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();
    int64_t start = clock_mono_us();
    char piece[4096] = { 0 };
    bool cut = false;

    l.linger_bytes = 100000;
    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client idle = client_open(f.port);
    AUTO(client_done) struct client busy = client_open(f.port);
    struct http_stats s;

    CHECK(client_say(&idle, "GET / HTTP/1.1\r\n\r\n") &&
          client_say(&busy, "GET / HTTP/1.1\r\n\r\n"));
    CHECK(client_read(&idle, false) && idle.status == 400);
    for (int i = 0; i < 3000 && !cut; i++)
        cut = !client_send(&busy, str_mem(piece, sizeof piece));
    CHECK(cut);
    do {
        clock_sleep_us(1000);
        http_server_stats(f.server, &s);
    } while (s.open > 0 && since_ms(start) < 20000);
    CHECK(s.open == 0);
    fx_stop(&f, 0);
}

TEST(connections_over_the_limit_hear_why)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    l.connections = 2;
    l.idle_ms = l.head_ms = 60000;
    CHECK(fx_start(&f, 2, &l, NULL));
    AUTO(client_done) struct client a = client_open(f.port);
    AUTO(client_done) struct client b = client_open(f.port);

    /* Each has begun its second request, so none is silent. */
    CHECK(client_say(&a, "GET /echo HTTP/1.1\r\n" H "\r\nG") && client_is(&a, 200, ""));
    CHECK(client_say(&b, "GET /echo HTTP/1.1\r\n" H "\r\nG") && client_is(&b, 200, ""));
    for (int i = 0; i < 5; i++) {
        AUTO(client_done) struct client c = client_open(f.port);

        CHECK(client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\n"));
        CHECK(client_read(&c, false) && c.status == 503 && client_has(&c, "Retry-After: 1\r\n"));
        CHECK(client_ended(&c));
    }
    CHECK(fx_refused(&f, HTTP_REFUSED_OVERLOAD) == 5);
    client_done(&b);
    for (int i = 0; i < 100; i++) { /* room again, once the server saw it */
        AUTO(client_done) struct client c = client_open(f.port);

        CHECK(client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_read(&c, false));
        if (c.status == 200)
            break;
        clock_sleep_us(10000);
        CHECK(i < 99);
    }
    fx_stop(&f, 1000);
}

static bool asks(struct client *c, const char *path, int status)
{
    char text[100];

    (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" H "\r\n", path);
    return client_say(c, text) && client_read(c, false) && c->status == status;
}

/* One address has a part of the connections; another is not hindered. */
TEST(connections_of_one_address_are_limited)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    l.connections = 10;
    l.per_address = 2;
    l.idle_ms = l.head_ms = 60000;
    CHECK(fx_start(&f, 2, &l, NULL));
    AUTO(client_done) struct client a = client_open(f.port);
    AUTO(client_done) struct client b = client_open(f.port);

    /* Each has begun its second request, so none is silent. */
    CHECK(client_say(&a, "GET /echo HTTP/1.1\r\n" H "\r\nG") && client_is(&a, 200, ""));
    CHECK(client_say(&b, "GET /echo HTTP/1.1\r\n" H "\r\nG") && client_is(&b, 200, ""));
    for (int i = 0; i < 5; i++) {
        AUTO(client_done) struct client c = client_open(f.port);

        CHECK(asks(&c, "/echo", 503) && client_has(&c, "Retry-After: 1\r\n"));
        CHECK(client_ended(&c));
    }
    CHECK(fx_refused(&f, HTTP_REFUSED_CROWD) == 5 && fx_refused(&f, HTTP_REFUSED_OVERLOAD) == 0);
    AUTO(client_done) struct client other = client_open_from(f.port, 2);

    CHECK(asks(&other, "/echo", 200));
    client_done(&b);
    for (int i = 0; i < 100; i++) { /* room again, once the server saw it */
        AUTO(client_done) struct client c = client_open(f.port);

        CHECK(client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_read(&c, false));
        if (c.status == 200)
            break;
        clock_sleep_us(10000);
        CHECK(i < 99);
    }
    fx_stop(&f, 1000);
}

/* A silent connection of the same address makes room, and none of another. */
TEST(an_address_makes_room_for_itself)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    l.connections = 10;
    l.per_address = 1;
    l.idle_ms = l.head_ms = 60000;
    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client other = client_open_from(f.port, 2);

    CHECK(asks(&other, "/echo", 200));
    AUTO(client_done) struct client a = client_open(f.port);

    CHECK(asks(&a, "/echo", 200));
    AUTO(client_done) struct client b = client_open(f.port);

    CHECK(asks(&b, "/echo", 200));
    CHECK(client_ended(&a));
    CHECK(asks(&other, "/echo", 200));
    CHECK(fx_refused(&f, HTTP_REFUSED_SILENT) == 1 && fx_refused(&f, HTTP_REFUSED_CROWD) == 0);
    fx_stop(&f, 1000);
}

/* Behind a proxy are many. */
TEST(a_trusted_proxy_has_no_limit_of_its_own)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();
    struct client clients[10];
    struct err err;

    l.connections = 20;
    l.per_address = 2;
    CHECK(network_parse(STR("127.0.0.2"), &fx_trust, &err));
    fx_trust_count = 1;
    bool started = fx_start(&f, 2, &l, NULL);

    fx_trust_count = 0;
    CHECK(started);
    for (int i = 0; i < 10; i++) {
        clients[i] = client_open_from(f.port, 2);
        CHECK(client_say(&clients[i], "GET /echo HTTP/1.1\r\n" H "\r\nG") &&
              client_is(&clients[i], 200, ""));
    }
    for (int i = 0; i < 10; i++)
        client_done(&clients[i]);
    fx_stop(&f, 1000);
}

static bool heads_become(struct memory_share *memory, int64_t least, int64_t most)
{
    int64_t heads = 0;

    for (int i = 0; i < 30000; i++) {
        heads = atomic_load(&memory->heads);
        if (heads >= least && heads <= most)
            return true;
        clock_sleep_us(1000);
    }
    printf("# heads are %lld bytes\n", (long long)heads);
    return false;
}

static bool say_large_head(struct client *c)
{
    AUTO(buf_done) struct buf head = BUF_INIT(64 << 10);

    buf_puts(&head, "GET /echo HTTP/1.1\r\n" H "X-Large: ");
    for (int i = 0; i < 20000; i++)
        buf_putc(&head, 'x');
    return client_say(c, head.ptr);
}

/* Heads count, and give back what they took; when there is none, only large ones are refused. */
TEST(heads_count_in_the_memory)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct memory_share memory = { .most = 1 << 20 };
    struct http_limits l = quick();
    struct client clients[8];

    l.head_ms = 60000;
    fx_memory = &memory;
    bool started = fx_start(&f, 2, &l, NULL);

    fx_memory = NULL;
    CHECK(started);
    for (int i = 0; i < 8; i++) {
        clients[i] = client_open(f.port);
        CHECK(say_large_head(&clients[i]));
    }
    CHECK(heads_become(&memory, 8 * 20000, 8 * 50000));
    for (int i = 0; i < 4; i++)
        CHECK(client_say(&clients[i], "\r\n\r\n") && client_is(&clients[i], 200, ""));
    CHECK(heads_become(&memory, 4 * 20000, 4 * 50000));
    for (int i = 0; i < 8; i++)
        client_done(&clients[i]);
    CHECK(heads_become(&memory, 0, 0));

    atomic_store(&memory.bodies, memory.most + 1);
    AUTO(client_done) struct client small = client_open(f.port);
    AUTO(client_done) struct client large = client_open(f.port);

    CHECK(asks(&small, "/echo", 200));
    CHECK(say_large_head(&large) && client_read(&large, false) && large.status == 503);
    CHECK(client_has(&large, "Retry-After: 1\r\n") && client_ended(&large));
    CHECK(fx_refused(&f, HTTP_REFUSED_MEMORY) == 1);
    fx_stop(&f, 1000);
    CHECK(atomic_load(&memory.heads) == 0);
}

TEST(the_oldest_silent_connection_makes_room)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    l.connections = 2;
    l.idle_ms = l.head_ms = 60000;
    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client a = client_open(f.port);
    AUTO(client_done) struct client b = client_open(f.port);

    CHECK(client_say(&a, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&a, 200, ""));
    clock_sleep_us(50000); /* b is silent since now, a since before */
    CHECK(client_say(&b, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&b, 200, ""));
    AUTO(client_done) struct client c = client_open(f.port);

    CHECK(client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&c, 200, ""));
    CHECK(client_ended(&a));
    CHECK(client_say(&b, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&b, 200, ""));
    CHECK(fx_refused(&f, HTTP_REFUSED_SILENT) == 1 && fx_refused(&f, HTTP_REFUSED_OVERLOAD) == 0);
    fx_stop(&f, 1000);
}

static bool reserves_bare(void *arg, struct str path)
{
    (void)arg;
    return str_is(path, "/bare");
}

/* One that waits over the limit for a reserved request does not count, so its end makes no room. */
TEST(a_silent_connection_over_the_limit_makes_no_room)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();

    l.connections = 2;
    l.idle_ms = l.head_ms = 60000;
    fx_reserved = reserves_bare;
    bool started = fx_start(&f, 1, &l, NULL);

    fx_reserved = NULL;
    CHECK(started);
    AUTO(client_done) struct client a = client_open(f.port);
    AUTO(client_done) struct client b = client_open(f.port);

    CHECK(client_say(&a, "GET /echo HTTP/1.1\r\n" H "\r\nG") && client_is(&a, 200, ""));
    CHECK(client_say(&b, "GET /echo HTTP/1.1\r\n" H "\r\nG") && client_is(&b, 200, ""));
    AUTO(client_done) struct client over = client_open(f.port);

    for (int i = 0; i < 5; i++) {
        AUTO(client_done) struct client c = client_open(f.port);

        (void)client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\nG");
        CHECK(!client_read(&c, false) || c.status == 503);
    }
    CHECK(fx_refused(&f, HTTP_REFUSED_SILENT) == 0);
    CHECK(client_say(&over, "GET /bare HTTP/1.1\r\n" H "\r\n"));
    CHECK(client_read(&over, true) && over.status == 204);
    fx_stop(&f, 1000);
}

TEST(out_of_descriptors_is_answered_too)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();
    struct rlimit was, now;
    AUTO(client_done)
    struct client c = {
        .fd = -1, .in = BUF_INIT(1 << 20), .head = BUF_INIT(1 << 16), .body = BUF_INIT(1 << 16)
    };
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    l.idle_ms = 60000;
    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client before = client_open(f.port);

    a.sin_port = htons(f.port);
    CHECK(client_say(&before, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&before, 200, ""));
    c.fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
    now = was;
    now.rlim_cur = (rlim_t)c.fd + 1;
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    bool connected = connect(c.fd, (struct sockaddr *)&a, sizeof a) == 0;
    bool told = connected && client_read(&c, false);
    bool ended = client_ended(&c);
    bool lives =
        client_say(&before, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&before, 200, "");

    CHECK(setrlimit(RLIMIT_NOFILE, &was) == 0);
    CHECK(told && c.status == 503 && ended && lives);
    fx_stop(&f, 1000);
}

static size_t resident(void)
{
    unsigned long total = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL)
        return 0;
    int n = fscanf(f, "%lu %lu", &total, &pages);

    (void)fclose(f);
    return n == 2 ? pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Each of them has asked once, so that nothing is measured that was not used. */
TEST(idle_connections_are_cheap)
{
    static int fds[IDLE_CONNECTIONS];
    struct http_limits l = HTTP_LIMITS_DEFAULT;
    struct rlimit files;
    struct http_stats s;
    AUTO(fx_done) struct fx f = { 0 };
    size_t n = 0;

    CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = files.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0);
    size_t most = files.rlim_cur > 2 * IDLE_CONNECTIONS + 100 ? IDLE_CONNECTIONS
                                                              : (size_t)files.rlim_cur / 2 - 100;

    CHECK(fx_start(&f, 2, &l, NULL));
    size_t before = resident();

    for (; n < most; n++) {
        struct client c = client_open(f.port);

        CHECK(c.fd >= 0);
        CHECK(client_say(&c, "POST /echo HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nok"));
        CHECK(client_is(&c, 200, "ok"));
        fds[n] = c.fd;
        c.fd = -1;
        client_done(&c);
    }
    size_t each = (resident() - before) / n;

    http_server_stats(f.server, &s);
    CHECK(s.open == n);
    printf("# %zu idle connections, %zu bytes each\n", n, each);
    CHECK(SANITIZED || each <= 12 * 1024);
    for (size_t i = 0; i < n; i++)
        (void)close(fds[i]);
    fx_stop(&f, 5000);
}

struct stopper {
    struct fx *f;
    uint32_t grace_ms;
    pthread_t thread;
    bool started;
    atomic_int done;
};

static void stopper_done(struct stopper *s)
{
    if (!s->started)
        return;
    (void)pthread_join(s->thread, NULL);
    fx_free(s->f);
    s->started = false;
}

static void *stop_it(void *arg)
{
    struct stopper *s = arg;

    http_server_stop(s->f->server, s->grace_ms);
    atomic_store(&s->done, 1);
    return NULL;
}

TEST(a_stop_finishes_what_is_in_hand)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();
    AUTO(stopper_done) struct stopper s = { .f = &f, .grace_ms = 5000 };

    CHECK(fx_start(&f, 1, &l, NULL));
    AUTO(client_done) struct client idle = client_open(f.port);
    AUTO(client_done) struct client busy = client_open(f.port);

    CHECK(client_say(&idle, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&idle, 200, ""));
    CHECK(client_say(&busy, "GET /park HTTP/1.1\r\n" H "\r\n") && fx_await_parked());
    s.started = pthread_create(&s.thread, NULL, stop_it, &s) == 0;
    CHECK(s.started);
    CHECK(client_ended(&idle));
    AUTO(client_done) struct client late = client_open(f.port);

    CHECK(late.fd < 0);
    CHECK(atomic_load(&s.done) == 0);
    fx_do(f.loops[0], FX_ANSWER);
    CHECK(client_is(&busy, 202, "parked") && client_has(&busy, "Connection: close\r\n"));
    CHECK(client_ended(&busy));
    stopper_done(&s);
    CHECK(atomic_load(&fx_gones) == 0 && atomic_load(&fx_live) == 0);
}

TEST(a_stop_cuts_off_what_takes_too_long)
{
    AUTO(fx_done) struct fx f = { 0 };
    struct http_limits l = quick();
    int64_t start;

    CHECK(fx_start(&f, 2, &l, NULL));
    AUTO(client_done) struct client parked = client_open(f.port);
    AUTO(client_done) struct client reader = client_open(f.port);

    CHECK(client_say(&parked, "GET /park HTTP/1.1\r\n" H "\r\n") && fx_await_parked());
    CHECK(client_say(&reader, "GET /stream HTTP/1.1\r\n" H "\r\n") && fx_await(&fx_heads, 2));
    start = clock_mono_us();
    fx_stop(&f, 100);
    CHECK(since_ms(start) >= 90 && since_ms(start) < 20000);
    CHECK(client_ended(&parked));
    CHECK(atomic_load(&fx_gones) == 2 && atomic_load(&fx_live) == 0);
}

static bool try_start(const char *host, uint16_t port, struct loop *l, struct http_server **ret,
                      struct err *err)
{
    struct http_server_options o = {
        .host = host, .port = port, .handler = &fx_handler, .limits = quick()
    };

    return http_server_start(&o, &l, 1, ret, err);
}

TEST(addresses_and_ports)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost", "*", NULL };
    struct err err = { 0 };
    struct http_server *s, *t;
    struct loop *l;

    CHECK(loop_start("io", &l, &err));
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        CHECK(try_start(hosts[i], 0, l, &s, &err));
        CHECK(http_server_port(s) != 0);
        AUTO(client_done) struct client c = client_open(http_server_port(s));

        CHECK(client_say(&c, "GET /echo HTTP/1.1\r\n" H "\r\n") && client_is(&c, 200, ""));
        /* Not shared with another server, though the loops share it. */
        CHECK(!try_start("127.0.0.1", http_server_port(s), l, &t, &err));
        CHECK(err.kind == ERR_CONFIG && err.sys == EADDRINUSE);
        http_server_stop(s, 0);
        http_server_free(s);
    }
    CHECK(!try_start("no.such.host.invalid", 0, l, &s, &err) && err.kind == ERR_CONFIG);
    CHECK(!try_start("192.0.2.1", 0, l, &s, &err) && err.kind == ERR_CONFIG);
    if (try_start("::1", 0, l, &s, &err)) { /* a machine may have no IPv6 */
        http_server_stop(s, 0);
        http_server_free(s);
    }
    loop_stop(l);
}

TEST(refusals_have_names)
{
    for (enum http_refusal i = 0; i < HTTP_REFUSAL_COUNT; i++)
        CHECK(http_refusal_name(i)[0] != '\0');
}

int main(void)
{
    return test_main();
}
