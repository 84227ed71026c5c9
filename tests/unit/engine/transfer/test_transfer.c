#include "engine/transfer/transfer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "engine/threads/pool.h"
#include "receiver_fixture.h"
#include "test.h"

/* ---- the receiver's habits ---- */

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"

static bool say_long_head(struct receiver_conn *c)
{
    (void)receiver_say(c, "HTTP/1.1 200 OK\r\n");
    while (receiver_say(c, "X-Long: 0123456789012345678901234567890123456789\r\n")) {
    }
    return false;
}

static bool say_for_ever(struct receiver_conn *c)
{
    static char bytes[64 << 10];

    (void)receiver_say(c, "HTTP/1.1 200 OK\r\n\r\n");
    while (receiver_say_bytes(c, bytes, sizeof bytes)) {
    }
    return false;
}

static bool say_slowly(struct receiver_conn *c)
{
    for (const char *at = OK_HELLO; *at != '\0' && receiver_say_bytes(c, at, 1); at++)
        clock_sleep_us(50 * CLOCK_MS);
    return false;
}

static bool serve_before_body(struct receiver_conn *c, const char *path)
{
    char byte;

    if (strcmp(path, "/early413") == 0) {
        (void)receiver_say(c, "HTTP/1.1 413 Too large\r\nContent-Length: 0\r\n\r\n");
        while (receiver_read(c, &byte, 1) == 1) { /* takes what comes, until the end */
        }
    } else if (strcmp(path, "/early200") == 0) {
        (void)receiver_say(c, OK_HELLO);
        receiver_reset(c);
    } else if (strcmp(path, "/417") == 0 && strstr(c->head, "Expect: 100") != NULL) {
        (void)receiver_say(c, "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
        c->have = 0;
        return true;
    } else if (strcmp(path, "/100") == 0) {
        (void)receiver_say(c, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    return false;
}

static const struct habit {
    const char *path, *say;
    bool go_on, reset;
} habits[] = {
    { "/ok", OK_HELLO, true, false },
    { "/100", OK_HELLO, true, false },
    { "/417", OK_HELLO, true, false },
    { "/204", "HTTP/1.1 204 No content\r\n\r\n", true, false },
    { "/503", "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy", true, false },
    { "/302", "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n", true, false },
    { "/gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nraw", true,
      false },
    { "/close", "", false, false },
    { "/reset", "", false, true },
    { "/halfhead", "HTTP/1.1 200 OK\r\nContent-", false, false },
    { "/short", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", false, false },
    { "/shortreset", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", false, true },
    { "/excess", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 Lie\r\n\r\n", true,
      false },
    { "/chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      true, false },
    { "/cutchunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", false, false },
    { "/nolastchunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false,
      false },
    { "/badchunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", true,
      false },
    { "/nolength", "HTTP/1.1 200 OK\r\n\r\nhello", false, false },
    { "/nolengthreset", "HTTP/1.1 200 OK\r\n\r\nhello", false, true },
    { "/http10", "HTTP/1.0 200 OK\r\n\r\nhello", false, false },
    { "/garbage", "SSH-2.0-OpenSSH_9.2\r\n", false, false },
    { "/only100", "HTTP/1.1 100 Continue\r\n\r\n", false, false },
};

static bool receiver_serve(struct receiver_conn *c, const char *path)
{
    bool closing = strcmp(path, "/once") == 0;

    if (serve_before_body(c, path))
        return true;
    if (strncmp(path, "/early", 6) == 0 || !receiver_read_body(c))
        return false;
    atomic_store(&c->receiver->last_sum, c->sum);
    if (strcmp(path, "/pause") == 0)
        clock_sleep_us(30 * CLOCK_MS);
    if (strcmp(path, "/hang") == 0)
        clock_sleep_us(1500 * CLOCK_MS);
    if (strcmp(path, "/longhead") == 0)
        return say_long_head(c);
    if (strcmp(path, "/forever") == 0)
        return say_for_ever(c);
    if (strcmp(path, "/slow") == 0)
        return say_slowly(c);
    /* The second request on a connection finds it closed. */
    if (closing && c->served > 1)
        return false;
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++)
        if (strcmp(path, habits[i].path) == 0) {
            (void)receiver_say(c, habits[i].say);
            if (habits[i].reset) {
                clock_sleep_us(20 * CLOCK_MS); /* what was said shall arrive */
                receiver_reset(c);
            }
            return habits[i].go_on;
        }
    return receiver_say(c, OK_HELLO);
}

/* ---- one transfer at a time ---- */

struct shot {
    struct transfer t; /* first */
    struct http_out_request request;
    struct sending sending;
    char url[300];
    bool ended;
    /* Copies, for after done(). */
    struct http_out_answer answer;
    char body[32], retry_after[32], ctype[64], failure[300];
    size_t body_len;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

static void keep(char *to, size_t room, struct str s)
{
    size_t n = s.len < room ? s.len : room - 1;

    if (n > 0)
        memcpy(to, s.ptr, n);
    to[n] = '\0';
}

static atomic_int dones, rounds, told;

static void shot_done(struct transfer *t)
{
    struct shot *s = (struct shot *)t;

    (void)atomic_fetch_add(&dones, 1);
    s->answer = t->answer;
    s->body_len = t->answer.body.len;
    keep(s->body, sizeof s->body, t->answer.body);
    keep(s->retry_after, sizeof s->retry_after, t->answer.retry_after);
    keep(s->ctype, sizeof s->ctype, t->answer.ctype);
    keep(s->failure, sizeof s->failure, str_of(t->answer.failure ? t->answer.failure : ""));
    (void)pthread_mutex_lock(&mutex);
    s->ended = true;
    (void)pthread_cond_broadcast(&ended);
    (void)pthread_mutex_unlock(&mutex);
}

static void count_round(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add(&rounds, 1);
    atomic_store(&told, atomic_load(&dones));
}

static struct http_out_options plain = { .timeout_us = 2 * CLOCK_S,
                                         .connect_timeout_us = CLOCK_S,
                                         .verify = true };

static void shot_make(struct shot *s, const char *scheme, uint16_t port, const char *path)
{
    *s = (struct shot){ .t.options = &plain, .t.done = shot_done };
    s->t.request = &s->request;
    s->t.sending = &s->sending;
    (void)snprintf(s->url, sizeof s->url, "%s://127.0.0.1:%u%s", scheme, port, path);
    s->request.url = str_of(s->url);
    s->request.method = STR("POST");
    s->request.fields[0] = (struct http_out_field){ STR("Content-Type"), STR("text/xml") };
    s->request.fields[1] = (struct http_out_field){ STR("Idempotency-Key"), STR("a.b") };
    s->request.field_count = 2;
    s->sending.bytes = STR("<Order/>");
    s->sending.size = 8;
}

static void shot_wait(struct shot *s)
{
    (void)pthread_mutex_lock(&mutex);
    while (!s->ended)
        (void)pthread_cond_wait(&ended, &mutex);
    (void)pthread_mutex_unlock(&mutex);
}

static void shot_fire(struct transfer_hub *h, struct shot *s)
{
    transfer_submit(h, &s->t, &s->t);
    shot_wait(s);
}

static struct transfer_hub *hub(struct pool *pool)
{
    struct transfer_options o = { .active_most = 32, .connections_most = 32, .pool = pool };
    struct transfer_hub *h;
    struct err err = { 0 };

    if (!transfer_start(&o, &h, &err))
        abort();
    return h;
}

/* proves: DE6 DE18 */
TEST(transfer_says_exactly_how_far_it_came)
{
    static const struct {
        const char *path;
        enum http_out_reach reach;
        int64_t status;
        const char *body;
    } cases[] = {
        { "/ok", HTTP_OUT_ANSWERED, 200, "hello" },
        { "/204", HTTP_OUT_ANSWERED, 204, "" },
        { "/503", HTTP_OUT_ANSWERED, 503, "busy" },
        { "/302", HTTP_OUT_ANSWERED, 302, "" },
        { "/gzip", HTTP_OUT_ANSWERED, 200, "raw" },
        { "/chunked", HTTP_OUT_ANSWERED, 200, "hello" },
        { "/nolength", HTTP_OUT_ANSWERED, 200, "hello" },
        { "/http10", HTTP_OUT_ANSWERED, 200, "hello" },
        { "/excess", HTTP_OUT_ANSWERED, 200, "ok" },
        { "/ok", HTTP_OUT_ANSWERED, 200, "hello" }, /* and the lie was not taken for ours */
        { "/close", HTTP_OUT_UNCLEAR, 0, "" },
        { "/reset", HTTP_OUT_UNCLEAR, 0, "" },
        { "/halfhead", HTTP_OUT_UNCLEAR, -1, "" },
        { "/short", HTTP_OUT_UNCLEAR, 200, "hello" },
        { "/shortreset", HTTP_OUT_UNCLEAR, 200, "hello" },
        { "/cutchunk", HTTP_OUT_UNCLEAR, 200, "hel" },
        { "/nolastchunk", HTTP_OUT_UNCLEAR, 200, "hello" },
        { "/badchunk", HTTP_OUT_UNCLEAR, 200, "" },
        { "/nolengthreset", HTTP_OUT_UNCLEAR, 200, "hello" },
        { "/garbage", HTTP_OUT_UNCLEAR, -1, "" },
        { "/only100", HTTP_OUT_UNCLEAR, -1, "" },
    };
    struct receiver *r = receiver_start(NULL);
    struct transfer_hub *h = hub(NULL);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct shot s;

        shot_make(&s, "http", r->port, cases[i].path);
        s.t.once = true;
        shot_fire(h, &s);
        bool ok = s.answer.reach == cases[i].reach && strcmp(s.body, cases[i].body) == 0 &&
                  (cases[i].status < 0 || s.answer.status == cases[i].status) && s.t.sends == 1 &&
                  (s.answer.failure == NULL) == (s.answer.reach == 0) && s.t.began_us > 0 &&
                  s.t.took_us > 0;

        if (!ok)
            printf("# %s: reach %d status %d sends %u body '%s' failure '%s'\n", cases[i].path,
                   (int)s.answer.reach, (int)s.answer.status, s.t.sends, s.body, s.failure);
        CHECK(ok);
        CHECK(atomic_load(&r->requests) == (int)i + 1); /* never sent twice */
    }
    transfer_stop(h, 0);
    receiver_stop(r);
}

TEST(transfer_sends_what_it_was_given)
{
    struct receiver *r = receiver_start(NULL);
    struct transfer_hub *h = hub(NULL);
    struct shot s;

    shot_make(&s, "http", r->port, "/503");
    s.request.method = STR("PATCH");
    s.request.fields[2] = (struct http_out_field){ STR("X-Empty"), STR("") };
    s.request.field_count = 3;
    shot_fire(h, &s);
    CHECK(strstr(r->last_head, "PATCH /503 HTTP/1.1\r\n") == r->last_head);
    CHECK(strstr(r->last_head, "\r\nContent-Type: text/xml\r\n") != NULL);
    CHECK(strstr(r->last_head, "\r\nIdempotency-Key: a.b\r\n") != NULL);
    CHECK(strstr(r->last_head, "\r\nX-Empty:\r\n") != NULL);
    CHECK(strstr(r->last_head, "\r\nContent-Length: 8\r\n") != NULL);
    CHECK(strcasestr(r->last_head, "expect") == NULL);
    CHECK(strcasestr(r->last_head, "encoding") == NULL);
    CHECK(strcmp(s.retry_after, "7") == 0);

    shot_make(&s, "http", r->port, "/ok"); /* on the same handle: nothing is left over */
    s.request.field_count = 0;
    s.sending.bytes = STR("");
    s.sending.size = 0;
    shot_fire(h, &s);
    CHECK(s.answer.reach == HTTP_OUT_ANSWERED && strcmp(s.ctype, "text/plain") == 0);
    CHECK(strstr(r->last_head, "POST /ok HTTP/1.1\r\n") == r->last_head);
    CHECK(strstr(r->last_head, "\r\nContent-Length: 0\r\n") != NULL);
    CHECK(strcasestr(r->last_head, "content-type") == NULL);
    CHECK(strcasestr(r->last_head, "idempotency") == NULL);
    CHECK(s.retry_after[0] == '\0');

    for (int i = 0; i < 2; i++) {
        shot_make(&s, "http", r->port, "/204");
        s.request.method = i == 0 ? STR("HEAD") : STR("GET");
        shot_fire(h, &s);
        CHECK(s.answer.reach == HTTP_OUT_ANSWERED && s.answer.status == 204);
        CHECK(strncmp(r->last_head, i == 0 ? "HEAD " : "GET ", 4) == 0);
        CHECK(strcasestr(r->last_head, "content-length") == NULL);
    }
    CHECK(atomic_load(&r->connections) == 1);
    transfer_stop(h, 0);
    receiver_stop(r);
}

/* proves: DE5 */
TEST(transfer_knows_when_nothing_left)
{
    struct transfer_hub *h = hub(NULL);
    struct receiver *r = receiver_start(NULL);
    uint16_t port = r->port;
    static const char *const urls[] = { "http://name.invalid/", "ftp://127.0.0.1/x",
                                        "file:///etc/passwd", "http://", "gopher://127.0.0.1/" };
    struct shot s;

    shot_make(&s, "https", port, "/ok"); /* the receiver does not speak TLS */
    s.sending.bytes = STR("");
    shot_fire(h, &s);
    CHECK(s.answer.reach == HTTP_OUT_NOT_SENT && s.t.sends == 0 && s.failure[0] != '\0');
    CHECK(atomic_load(&r->requests) == 0);
    receiver_stop(r);
    shot_make(&s, "http", port, "/ok"); /* nobody listens there now */
    shot_fire(h, &s);
    CHECK(s.answer.reach == HTTP_OUT_NOT_SENT && s.t.sends == 0 && s.failure[0] != '\0');
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        shot_make(&s, "http", port, "/ok");
        s.request.url = str_of(urls[i]);
        shot_fire(h, &s);
        CHECK(s.answer.reach == HTTP_OUT_NOT_SENT && s.t.sends == 0 && s.answer.status == 0);
    }
    transfer_stop(h, 0);
}

static bool say_no(void *arg, const struct transfer *t)
{
    (void)t;
    (void)arg;
    return false;
}

TEST(transfer_of_a_node_that_may_not_send_sends_nothing)
{
    struct receiver *r = receiver_start(NULL);
    struct transfer_options o = { .active_most = 4, .connections_most = 4, .may_send = say_no };
    struct transfer_hub *h;
    struct err err = { 0 };
    struct shot s;

    CHECK(transfer_start(&o, &h, &err));
    shot_make(&s, "http", r->port, "/ok");
    shot_fire(h, &s);
    CHECK(s.answer.reach == HTTP_OUT_NOT_SENT && s.t.sends == 0);
    CHECK(strcmp(s.failure, "this node may not send") == 0);
    CHECK(atomic_load(&r->requests) == 0);
    transfer_stop(h, 0);
    receiver_stop(r);
}

/* A connection that was used before and dies without an answer. */
TEST(transfer_sends_again_only_when_it_may)
{
    for (int once = 0; once <= 1; once++) {
        struct receiver *r = receiver_start(NULL);
        struct transfer_hub *h = hub(NULL);
        struct shot s;

        shot_make(&s, "http", r->port, "/once");
        shot_fire(h, &s);
        CHECK(s.answer.reach == HTTP_OUT_ANSWERED && s.t.sends == 1);
        shot_make(&s, "http", r->port, "/once");
        s.t.once = once == 1;
        shot_fire(h, &s);
        CHECK(s.answer.reach == (once ? HTTP_OUT_UNCLEAR : HTTP_OUT_ANSWERED));
        CHECK(s.t.sends == (once ? 1 : 2));
        CHECK(atomic_load(&r->requests) == (once ? 2 : 3)); /* the first one beside */
        transfer_stop(h, 0);
        receiver_stop(r);
    }
}

/* proves: DE18 */
TEST(transfer_is_not_held_up_by_a_hostile_answer)
{
    static const struct {
        const char *path;
        enum http_out_reach reach;
        size_t body;
    } cases[] = {
        { "/forever", HTTP_OUT_ANSWERED, VERDICT_ANSWER_MOST },
        { "/longhead", HTTP_OUT_UNCLEAR, 0 },
        { "/slow", HTTP_OUT_UNCLEAR, 0 },
        { "/hang", HTTP_OUT_UNCLEAR, 0 },
    };
    struct receiver *r = receiver_start(NULL);
    struct transfer_hub *h = hub(NULL);
    struct http_out_options brief = plain;

    brief.timeout_us = 300 * CLOCK_MS;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct shot s;

        shot_make(&s, "http", r->port, cases[i].path);
        s.t.options = i < 2 ? &plain : &brief;
        shot_fire(h, &s);
        CHECK(s.answer.reach == cases[i].reach && s.body_len == cases[i].body);
        /* The clock of libcurl starts before ours does: by how much, a busy machine decides. */
        CHECK(i < 2 || s.t.took_us >= brief.timeout_us / 2);
        CHECK(s.t.took_us < plain.timeout_us);
    }
    transfer_stop(h, 0);
    receiver_stop(r);
}

/* ---- many ---- */

TEST(transfer_keeps_to_its_number_and_starts_the_rest_later)
{
    enum { COUNT = 40, MOST = 5 };
    struct receiver *r = receiver_start(NULL);
    struct transfer_options o = { .active_most = MOST, .connections_most = MOST };
    struct transfer_hub *h;
    struct err err = { 0 };
    struct shot *shots = xcalloc(COUNT, sizeof *shots);

    CHECK(transfer_start(&o, &h, &err));
    for (int i = 0; i < COUNT; i++) {
        shot_make(&shots[i], "http", r->port, "/pause");
        shots[i].t.next = i + 1 < COUNT ? &shots[i + 1].t : NULL;
    }
    transfer_submit(h, &shots[0].t, &shots[COUNT - 1].t);
    for (int i = 0; i < COUNT; i++) {
        shot_wait(&shots[i]);
        CHECK(shots[i].answer.reach == HTTP_OUT_ANSWERED);
    }
    CHECK(atomic_load(&r->most_at_once) == MOST);
    CHECK(atomic_load(&r->connections) == MOST);
    transfer_stop(h, 0);
    receiver_stop(r);
    free(shots);
}

/* What is under way may end; then it is cut off; what waits never starts; a round follows the last.
 */
TEST(transfer_ends_everything_when_it_stops)
{
    enum { COUNT = 8, MOST = 2 };
    struct receiver *r = receiver_start(NULL);
    struct transfer_options o = { .active_most = MOST,
                                  .connections_most = MOST,
                                  .round = count_round };
    struct err err = { 0 };

    for (int round = 0; round < 2; round++) {
        struct shot shots[COUNT];
        struct transfer_hub *h;
        int before = atomic_load(&r->requests);

        CHECK(transfer_start(&o, &h, &err));
        for (int i = 0; i < COUNT; i++) {
            shot_make(&shots[i], "http", r->port, round == 0 ? "/pause" : "/hang");
            shots[i].t.next = i + 1 < COUNT ? &shots[i + 1].t : NULL;
        }
        transfer_submit(h, &shots[0].t, &shots[COUNT - 1].t);
        while (atomic_load(&r->requests) < before + MOST)
            clock_sleep_us(CLOCK_MS);
        transfer_stop(h, round == 0 ? CLOCK_S * 60 : 300 * CLOCK_MS);
        for (int i = 0; i < COUNT; i++) {
            enum http_out_reach want = i >= MOST    ? HTTP_OUT_NOT_SENT
                                       : round == 0 ? HTTP_OUT_ANSWERED
                                                    : HTTP_OUT_UNCLEAR;
            CHECK(shots[i].ended && shots[i].answer.reach == want);
        }
        CHECK(atomic_load(&told) == atomic_load(&dones));
    }
    receiver_stop(r);
}

struct endless {
    struct shot shot; /* first */
    struct transfer_hub *hub;
    int left;
};

static void endless_done(struct transfer *t)
{
    struct endless *e = (struct endless *)t;

    if (t->answer.reach == HTTP_OUT_ANSWERED && --e->left > 0)
        transfer_submit(e->hub, t, t);
    else
        shot_done(t);
}

TEST(transfer_may_be_submitted_by_done)
{
    struct receiver *r = receiver_start(NULL);
    struct transfer_options o = { .active_most = 4, .connections_most = 4, .round = count_round };
    struct endless e = { .left = 200 };
    struct err err = { 0 };

    CHECK(transfer_start(&o, &e.hub, &err));
    shot_make(&e.shot, "http", r->port, "/ok");
    e.shot.t.done = endless_done;
    shot_fire(e.hub, &e.shot);
    CHECK(e.left == 0 && atomic_load(&r->requests) == 200 && atomic_load(&r->connections) == 1);
    CHECK(atomic_load(&rounds) > 0);
    transfer_stop(e.hub, 0);
    receiver_stop(r);
}

/* New options at an old address, as after a new configuration. */
TEST(transfer_notices_that_options_changed)
{
    struct receiver *r = receiver_start(NULL);
    struct transfer_hub *h = hub(NULL);
    struct http_out_options o = plain;
    struct shot s;

    o.user = STR("ann");
    o.password = STR("one");
    for (int i = 0; i < 3; i++) {
        shot_make(&s, "http", r->port, "/ok");
        s.t.options = &o;
        shot_fire(h, &s);
        CHECK(strstr(r->last_head, i < 2 ? "\r\nAuthorization: Basic YW5uOm9uZQ==\r\n"
                                         : "\r\nAuthorization: Basic YW5uOnR3bw==\r\n") != NULL);
        if (i == 1)
            o.password = STR("two");
    }
    transfer_stop(h, 0);
    receiver_stop(r);
}

/* ---- large bodies ---- */

enum { PIECE = 100000, PIECES = 60 };

struct reel {
    int at, fails_at, ends_at; /* pieces; -1: never */
    uint64_t sum;
    char piece[PIECE];
};

static bool reel_next(void *arg, struct str *ret, struct err *err)
{
    struct reel *reel = arg;

    if (reel->at == reel->fails_at)
        return err_set(err, ERR_PERMANENT, 0, "the disk is gone");
    if (reel->at == reel->ends_at || reel->at == PIECES) {
        *ret = STR("");
        return true;
    }
    for (int i = 0; i < PIECE; i++) {
        reel->piece[i] = (char)((reel->at * 7 + i * 3) & 0xff);
        reel->sum = reel->sum * 31 + (unsigned char)reel->piece[i];
    }
    reel->at++;
    *ret = str_mem(reel->piece, PIECE);
    return true;
}

static void shot_large(struct shot *s, struct receiver *r, const char *path, struct reel *reel)
{
    static struct http_out_options patient = { .timeout_us = 60 * CLOCK_S,
                                               .connect_timeout_us = 60 * CLOCK_S,
                                               .verify = true };

    shot_make(s, "http", r->port, path);
    s->t.options = &patient; /* six megabytes under a sanitizer, beside other suites */
    s->sending.bytes = (struct str){ 0 };
    s->sending.size = (int64_t)PIECE * PIECES;
    s->sending.next = reel_next;
    s->sending.next_arg = reel;
    *reel = (struct reel){ .fails_at = -1, .ends_at = -1 };
}

TEST(transfer_draws_large_bodies_piece_by_piece)
{
    static const char *const paths[] = { "/100", "/417", "/ok" };
    struct receiver *r = receiver_start(NULL);
    struct pool *pool = pool_new(2);
    struct transfer_hub *h = hub(pool);
    struct reel *reel = xcalloc(1, sizeof *reel);

    for (int i = 0; i < 3; i++) {
        struct shot s;

        shot_large(&s, r, paths[i], reel);
        s.t.once = true;
        if (i == 2)
            s.request.method = STR("PUT");
        shot_fire(h, &s);
        CHECK(s.answer.reach == HTTP_OUT_ANSWERED && s.answer.status == 200);
        CHECK(s.t.sends == (i == 1 ? 2 : 1)); /* 417: again, without Expect */
        CHECK(atomic_load(&r->last_sum) == reel->sum && reel->at == PIECES);
        CHECK(strstr(r->last_head, "\r\nContent-Length: 6000000\r\n") != NULL);
        CHECK(strncmp(r->last_head, i == 2 ? "PUT " : "POST", 4) == 0);
        CHECK(i != 1 || strcasestr(r->last_head, "\r\nExpect:") == NULL);
    }
    transfer_stop(h, 0);
    pool_free(pool);
    receiver_stop(r);
    free(reel);
}

/* proves: DE2 */
TEST(transfer_of_a_body_that_cannot_be_read_is_told_apart)
{
    struct receiver *r = receiver_start(NULL);
    struct pool *pool = pool_new(2);
    struct transfer_hub *h = hub(pool);
    struct reel *reel = xcalloc(1, sizeof *reel);

    for (int i = 0; i < 4; i++) {
        struct shot s;

        shot_large(&s, r, "/100", reel);
        reel->fails_at = i == 0 ? 0 : i == 1 ? 20 : -1;
        reel->ends_at = i == 2 ? 30 : -1;
        if (i == 3)
            s.sending.size -= 1; /* it has more than was recorded */
        shot_fire(h, &s);
        CHECK(s.answer.reach == HTTP_OUT_BAD_BODY);
        CHECK(strcmp(s.failure, i < 2    ? "the disk is gone"
                                : i == 2 ? "the document is 3000000 bytes shorter than recorded"
                                         : "the document is longer than recorded") == 0);
    }
    transfer_stop(h, 0);
    pool_free(pool);
    receiver_stop(r);
    free(reel);
}

TEST(transfer_takes_an_answer_before_the_end_of_its_body)
{
    struct receiver *r = receiver_start(NULL);
    struct pool *pool = pool_new(2);
    struct transfer_hub *h = hub(pool);
    struct reel *reel = xcalloc(1, sizeof *reel);
    struct shot s;

    shot_large(&s, r, "/early413", reel);
    shot_fire(h, &s);
    CHECK(s.answer.reach == HTTP_OUT_ANSWERED && s.answer.status == 413);
    shot_large(&s, r, "/early200", reel); /* it cannot have it */
    shot_fire(h, &s);
    CHECK(s.answer.reach == HTTP_OUT_UNCLEAR);
    transfer_stop(h, 0);
    pool_free(pool);
    receiver_stop(r);
    free(reel);
}

/* ---- TLS ---- */

struct pems {
    char cert[4096], key[4096];
};

static bool to_pem(BIO *bio, char *to, size_t room)
{
    int n = BIO_read(bio, to, (int)room - 1);

    to[n > 0 ? n : 0] = '\0';
    (void)BIO_free(bio);
    return n > 0;
}

/* A self-signed certificate for 127.0.0.1, or for another name, and its context. */
static SSL_CTX *certificate(struct pems *ret, const char *alt_name, long ends_s)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    X509_EXTENSION *alt = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alt_name);
    BIO *cert = BIO_new(BIO_s_mem()), *priv = BIO_new(BIO_s_mem());
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    bool ok = X509_set_version(x, 2) && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(x), -7200) != NULL &&
              X509_gmtime_adj(X509_getm_notAfter(x), ends_s) != NULL &&
              X509_set_pubkey(x, key) == 1 &&
              X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                         (const unsigned char *)"receiver", -1, -1, 0) == 1 &&
              X509_set_issuer_name(x, subject) == 1 && X509_add_ext(x, alt, -1) == 1 &&
              X509_sign(x, key, EVP_sha256()) > 0 && PEM_write_bio_X509(cert, x) == 1 &&
              PEM_write_bio_PrivateKey(priv, key, NULL, NULL, 0, NULL, NULL) == 1 &&
              SSL_CTX_use_certificate(ctx, x) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1 &&
              to_pem(cert, ret->cert, sizeof ret->cert) && to_pem(priv, ret->key, sizeof ret->key);

    X509_EXTENSION_free(alt);
    X509_free(x);
    EVP_PKEY_free(key);
    if (!ok)
        abort();
    return ctx;
}

/* proves: DE5 */
TEST(transfer_believes_only_the_right_certificate)
{
    static const struct {
        const char *what, *alt_name;
        long ends_s;
        bool trusted, verify;
        enum http_out_reach reach;
    } cases[] = {
        { "right", "IP:127.0.0.1", 3600, true, true, HTTP_OUT_ANSWERED },
        { "self-signed", "IP:127.0.0.1", 3600, false, true, HTTP_OUT_NOT_SENT },
        { "wrong name", "DNS:other.example", 3600, true, true, HTTP_OUT_NOT_SENT },
        { "expired", "IP:127.0.0.1", -3600, true, true, HTTP_OUT_NOT_SENT },
        { "not verified", "DNS:other.example", -3600, false, false, HTTP_OUT_ANSWERED },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pems pems;
        SSL_CTX *ctx = certificate(&pems, cases[i].alt_name, cases[i].ends_s);
        struct receiver *r = receiver_start(ctx);
        struct transfer_hub *h = hub(NULL);
        struct http_out_options o = plain;
        struct shot s;

        o.verify = cases[i].verify;
        if (cases[i].trusted)
            o.ca = str_of(pems.cert);
        shot_make(&s, "https", r->port, "/ok");
        s.t.options = &o;
        shot_fire(h, &s);
        if (s.answer.reach != cases[i].reach)
            printf("# %s: %d %s\n", cases[i].what, (int)s.answer.reach, s.failure);
        CHECK(s.answer.reach == cases[i].reach);
        CHECK(atomic_load(&r->requests) == (s.answer.reach == HTTP_OUT_ANSWERED));
        transfer_stop(h, 0);
        receiver_stop(r);
        SSL_CTX_free(ctx);
    }
}

TEST(transfer_shows_its_own_certificate)
{
    struct pems server, client;
    SSL_CTX *ctx = certificate(&server, "IP:127.0.0.1", 3600),
            *other = certificate(&client, "DNS:us.example", 3600);
    BIO *bio = BIO_new_mem_buf(client.cert, -1);
    X509 *known = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    struct http_out_options o = plain;

    CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), known) == 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    o.ca = str_of(server.cert);
    struct receiver *r = receiver_start(ctx);
    struct transfer_hub *h = hub(NULL);

    for (int shows = 0; shows <= 1; shows++) {
        struct shot s;

        if (shows) {
            o.cert = str_of(client.cert);
            o.key = str_of(client.key);
        }
        shot_make(&s, "https", r->port, "/ok");
        s.t.options = &o;
        shot_fire(h, &s);
        CHECK((s.answer.reach == HTTP_OUT_ANSWERED) == (shows == 1));
        CHECK(atomic_load(&r->requests) == shows);
    }
    transfer_stop(h, 0);
    receiver_stop(r);
    X509_free(known);
    (void)BIO_free(bio);
    SSL_CTX_free(ctx);
    SSL_CTX_free(other);
}

int main(void)
{
    return test_main();
}
