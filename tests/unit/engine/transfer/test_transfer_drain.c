/* Answers that are larger than what a transfer keeps. */
#include "base/buf.h"
#include "engine/threads/pool.h"
#include "engine/transfer/transfer.h"
#include "receiver_fixture.h"
#include "test.h"

enum { LARGE = 3000000, PIECE = 50000 };

/* ---- the receiver ---- */

static void fill(char *to, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (char)('a' + (from + i) % 26);
}

static bool say_large(struct receiver_conn *c, int status, size_t size)
{
    char bytes[PIECE], head[100];

    (void)snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n", status, size);
    bool ok = receiver_say(c, head);

    for (size_t at = 0; ok && at < size; at += PIECE) {
        size_t n = size - at < PIECE ? size - at : PIECE;

        fill(bytes, at, n);
        ok = receiver_say_bytes(c, bytes, n);
    }
    return ok;
}

/* Much at first, or not; then a byte now and then: nothing that counts as silence. */
static bool say_drops(struct receiver_conn *c, size_t first)
{
    static char bytes[100000];
    bool ok = receiver_say(c, "HTTP/1.1 200 OK\r\n\r\n") && receiver_say_bytes(c, bytes, first);

    while (ok) {
        clock_sleep_us(20 * CLOCK_MS);
        ok = receiver_say(c, "x");
    }
    return false;
}

static bool say_half(struct receiver_conn *c)
{
    static char bytes[LARGE / 2];

    if (receiver_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n"))
        (void)receiver_say_bytes(c, bytes, sizeof bytes);
    receiver_reset(c);
    return false;
}

static bool receiver_serve(struct receiver_conn *c, const char *path)
{
    if (strcmp(path, "/early") == 0) /* it has not seen what it was sent */
        return say_large(c, 200, LARGE) && false;
    if (!receiver_read_body(c))
        return false;
    if (strcmp(path, "/half") == 0)
        return say_half(c);
    if (strcmp(path, "/drops") == 0)
        return say_drops(c, 100000);
    if (strcmp(path, "/trickle") == 0)
        return say_drops(c, 1);
    return say_large(c, strcmp(path, "/500") == 0 ? 500 : 200,
                     strcmp(path, "/small") == 0 ? 100 : LARGE);
}

/* ---- the sink ---- */

struct taking {
    struct buf got;
    size_t fail_at; /* 0: never */
    int64_t slow_us;
};

static bool take(void *arg, struct str piece, struct err *err)
{
    struct taking *t = arg;

    clock_sleep_us(t->slow_us);
    if (t->fail_at != 0 && t->got.len + piece.len > t->fail_at)
        return err_set(err, ERR_TRANSIENT, 0, "the disk is full");
    return buf_append(&t->got, piece, err);
}

/* ---- one transfer ---- */

struct ask {
    struct transfer t; /* first */
    struct http_out_request request;
    struct sending sending;
    struct answer_sink sink;
    struct taking taking;
    char url[100], failure[300];
    atomic_bool ended;
};

static void on_done(struct transfer *t)
{
    struct ask *a = (struct ask *)t;

    (void)snprintf(a->failure, sizeof a->failure, "%s",
                   t->answer.failure != NULL ? t->answer.failure : "");
    atomic_store(&a->ended, true);
}

struct scene {
    struct receiver *receiver;
    struct pool *pool;
    struct transfer_hub *hub;
};

static struct scene scene_start(void)
{
    struct scene s = { .receiver = receiver_start(NULL), .pool = pool_new(2) };
    struct transfer_options o = { .active_most = 8, .connections_most = 8, .pool = s.pool };
    struct err err = { 0 };

    if (!transfer_start(&o, &s.hub, &err))
        abort();
    return s;
}

static void scene_stop(struct scene *s)
{
    transfer_stop(s->hub, 0);
    pool_free(s->pool);
    receiver_stop(s->receiver);
}

static void ask(struct scene *s, struct ask *a, const char *path,
                const struct http_out_options *options)
{
    a->taking.got = (struct buf)BUF_INIT(2 * LARGE);
    a->sink.put = take;
    a->sink.arg = &a->taking;
    (void)snprintf(a->url, sizeof a->url, "http://127.0.0.1:%u%s", s->receiver->port, path);
    a->request.url = str_of(a->url);
    a->request.method = STR("POST");
    if (a->sending.next == NULL) {
        a->sending.bytes = STR("<Order/>");
        a->sending.size = 8;
    }
    a->t.options = options;
    a->t.request = &a->request;
    a->t.sending = &a->sending;
    a->t.sink = &a->sink;
    a->t.done = on_done;
    transfer_submit(s->hub, &a->t, &a->t);
    while (!atomic_load(&a->ended))
        clock_sleep_us(CLOCK_MS);
}

static const struct http_out_options patient = { .timeout_us = 60 * CLOCK_S,
                                                 .connect_timeout_us = 10 * CLOCK_S,
                                                 .verify = true };

static bool is_whole(const struct buf *got)
{
    for (size_t i = 0; i < got->len; i++)
        if (got->ptr[i] != (char)('a' + i % 26))
            return false;
    return got->len == LARGE;
}

TEST(drain_takes_all_of_a_large_answer)
{
    struct scene s = scene_start();

    for (int slow = 0; slow < 2; slow++) { /* slower than the sender: it pauses */
        struct ask a = { .sink.most = LARGE, .taking.slow_us = slow * 20 * CLOCK_MS };

        ask(&s, &a, "/large", &patient);
        CHECK(a.t.answer.reach == HTTP_OUT_ANSWERED && a.t.answer.status == 200);
        CHECK(a.t.answer.is_drained && a.t.answer.came == LARGE);
        CHECK(is_whole(&a.taking.got));
        buf_done(&a.taking.got);
    }
    scene_stop(&s);
}

TEST(drain_leaves_small_answers_and_failures_alone)
{
    struct scene s = scene_start();
    struct ask small = { .sink.most = LARGE }, bad = { .sink.most = LARGE };

    ask(&s, &small, "/small", &patient);
    CHECK(small.t.answer.reach == HTTP_OUT_ANSWERED && !small.t.answer.is_drained);
    CHECK(small.t.answer.came == 100 && small.taking.got.len == 0);
    ask(&s, &bad, "/500", &patient);
    CHECK(bad.t.answer.status == 500 && !bad.t.answer.is_drained && bad.taking.got.len == 0);
    scene_stop(&s);
}

TEST(drain_cuts_what_is_too_large)
{
    struct scene s = scene_start();
    struct ask a = { .sink.most = LARGE - 1 };

    ask(&s, &a, "/large", &patient);
    CHECK(a.t.answer.reach == HTTP_OUT_UNCLEAR && a.t.answer.is_too_large);
    CHECK(strcmp(a.failure, "the answer is larger than 2999999 bytes") == 0);
    buf_done(&a.taking.got);
    scene_stop(&s);
}

TEST(drain_of_an_answer_that_breaks_off_is_no_answer)
{
    struct scene s = scene_start();
    struct ask a = { .sink.most = LARGE };

    ask(&s, &a, "/half", &patient);
    CHECK(a.t.answer.reach == HTTP_OUT_UNCLEAR && a.failure[0] != '\0');
    buf_done(&a.taking.got);
    scene_stop(&s);
}

TEST(drain_that_fails_ends_the_transfer)
{
    struct scene s = scene_start();

    for (int last = 0; last < 2; last++) { /* in the middle, and with the last piece */
        struct ask a = { .sink.most = LARGE, .taking.fail_at = last == 1 ? LARGE - 1 : LARGE / 2 };

        ask(&s, &a, "/large", &patient);
        CHECK(a.t.answer.reach == HTTP_OUT_UNCLEAR && !a.t.answer.is_too_large);
        CHECK(strcmp(a.failure, "the disk is full") == 0);
        buf_done(&a.taking.got);
    }
    scene_stop(&s);
}

static bool give_large(void *arg, struct str *ret, struct err *err)
{
    static const char bytes[1 << 20];
    int *left = arg;

    (void)err;
    *ret = str_mem(bytes, (*left)-- > 0 ? sizeof bytes : 0);
    return true;
}

/* Whoever answers at length before it has the document did not get it: too large is not all that
 * is wrong with such an answer. */
TEST(drain_cuts_an_answer_to_what_was_not_sent)
{
    struct scene s = scene_start();
    int left = 256;
    struct ask a = {
        .sink.most = LARGE / 2,
        .sending = { .size = 256 << 20, .next = give_large, .next_arg = &left },
    };

    ask(&s, &a, "/early", &patient);
    CHECK(a.t.answer.reach != HTTP_OUT_ANSWERED && !a.t.answer.is_too_large);
    buf_done(&a.taking.got);
    scene_stop(&s);
}

/* Of a large document only silence counts, and there is none: the time of the answer does. */
TEST(drain_cuts_an_answer_that_does_not_end)
{
    static const struct http_out_options hasty = { .timeout_us = CLOCK_S,
                                                   .connect_timeout_us = 10 * CLOCK_S,
                                                   .verify = true };
    static const char *const paths[] = { "/drops", "/trickle" };
    struct scene s = scene_start();

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int left = 2;
        struct ask a = {
            .sink.most = LARGE,
            .sending = { .size = 2 << 20, .next = give_large, .next_arg = &left },
        };

        ask(&s, &a, paths[i], &hasty);
        CHECK(a.t.answer.reach == HTTP_OUT_UNCLEAR && !a.t.answer.is_too_large);
        CHECK(strcmp(a.failure, "the answer did not end within 1000 ms") == 0);
        buf_done(&a.taking.got);
    }
    scene_stop(&s);
}

int main(void)
{
    return test_main();
}
