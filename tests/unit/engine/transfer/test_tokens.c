/* Tokens with a provider and a clock that the test is. */
#include "engine/transfer/tokens.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "test.h"

enum { ARENA = 1 << 20, WAITERS = 40 };

static const struct oauth2 client = { .token_url = { "https://id.example/token", 24 },
                                      .client_id = { "me", 2 },
                                      .client_secret = { "secret", 6 },
                                      .scope = { "", 0 } };
static const struct http_out_options options = { .verify = true };
static const struct token_order order = { { "api", 3 }, &client, &options };

/* ---- the provider ---- */

static int64_t now_us;
static struct transfer *asked; /* the fetch that is under way */
static size_t fetches;
static bool closed, doubled;

static int64_t now(void)
{
    return now_us;
}

static bool send_fetch(void *arg, struct transfer *t)
{
    (void)arg;
    if (closed)
        return false;
    doubled = doubled || asked != NULL;
    asked = t;
    fetches++;
    return true;
}

static void answer_with(int64_t status, const char *body)
{
    struct transfer *t = asked;

    asked = NULL;
    t->answer = (struct http_out_answer){ .reach = HTTP_OUT_ANSWERED,
                                          .status = status,
                                          .body = str_of(body),
                                          .came = (int64_t)strlen(body) };
    t->done(t);
}

/* ---- who takes tokens ---- */

struct waiter {
    struct token_wait wait;
    int told;
    bool failed;
    char why[200];
};

static void on_ready(struct token_wait *w, const struct verdict *failed)
{
    struct waiter *x = container_of(w, struct waiter, wait);

    x->told++;
    x->failed = failed != NULL;
    if (failed != NULL)
        (void)snprintf(x->why, sizeof x->why, "%.199s", failed->message);
}

struct fixture {
    struct tokens *tokens;
    struct arena arena;
    struct token_lent lent;
    struct verdict failed;
    struct waiter waiters[WAITERS];
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){ .arena = ARENA_INIT(ARENA) };
    f->tokens = tokens_new(&(struct tokens_options){ .send = send_fetch, .now_us = now });
    now_us = 1000 * CLOCK_S;
    asked = NULL;
    fetches = 0;
    closed = false;
}

static void fixture_done(struct fixture *f)
{
    CHECK(!doubled); /* one at a time */
    tokens_free(f->tokens);
    arena_done(&f->arena);
}

static enum tokens_answer take_for(struct fixture *f, const struct token_order *o, size_t i)
{
    f->waiters[i].wait.ready = on_ready;
    return tokens_take(f->tokens, o, &f->arena, &f->waiters[i].wait, &f->lent, &f->failed);
}

static enum tokens_answer take(struct fixture *f, size_t i)
{
    return take_for(f, &order, i);
}

#define TOKEN(text) "{\"access_token\":\"" text "\",\"token_type\":\"Bearer\",\"expires_in\":1000}"

TEST(tokens_one_fetch_for_all_who_wait)
{
    AUTO(fixture_done) struct fixture f;

    begin(&f);
    for (size_t i = 0; i < WAITERS; i++)
        CHECK(take(&f, i) == TOKEN_WAIT);
    CHECK(fetches == 1);
    answer_with(200, TOKEN("one"));
    for (size_t i = 0; i < WAITERS; i++)
        CHECK(f.waiters[i].told == 1 && !f.waiters[i].failed);
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "one"));
    CHECK(fetches == 1 && f.waiters[0].told == 1);
}

TEST(tokens_are_renewed_after_three_quarters_of_their_life)
{
    AUTO(fixture_done) struct fixture f;

    begin(&f);
    CHECK(take(&f, 0) == TOKEN_WAIT);
    answer_with(200, TOKEN("one"));
    now_us += 749 * CLOCK_S;
    CHECK(take(&f, 0) == TOKEN_HERE && fetches == 1);
    now_us += 1 * CLOCK_S;
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "one") && fetches == 2);
    CHECK(take(&f, 0) == TOKEN_HERE && fetches == 2); /* it is under way */
    answer_with(200, TOKEN("two"));
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "two") && fetches == 2);
    CHECK(f.waiters[0].told == 1);
}

TEST(tokens_that_ended_are_waited_for)
{
    AUTO(fixture_done) struct fixture f;

    begin(&f);
    CHECK(take(&f, 0) == TOKEN_WAIT);
    answer_with(200, TOKEN("one"));
    now_us += 1000 * CLOCK_S;
    CHECK(take(&f, 1) == TOKEN_WAIT && fetches == 2);
    answer_with(200, TOKEN("two"));
    CHECK(f.waiters[1].told == 1 && take(&f, 1) == TOKEN_HERE && str_is(f.lent.text, "two"));
}

TEST(tokens_a_failed_renewal_waits_and_the_old_token_is_used)
{
    AUTO(fixture_done) struct fixture f;

    begin(&f);
    CHECK(take(&f, 0) == TOKEN_WAIT);
    answer_with(200, TOKEN("one"));
    now_us += 800 * CLOCK_S;
    CHECK(take(&f, 0) == TOKEN_HERE && fetches == 2);
    answer_with(503, "");
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "one") && fetches == 2);
    now_us += 25 * CLOCK_S; /* an eighth of the 200 s that are left */
    CHECK(take(&f, 0) == TOKEN_HERE && fetches == 3);
    answer_with(200, TOKEN("two"));
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "two") && fetches == 3);
}

TEST(tokens_failure_is_told_to_all_who_wait)
{
    AUTO(fixture_done) struct fixture f;

    begin(&f);
    CHECK(take(&f, 0) == TOKEN_WAIT && take(&f, 1) == TOKEN_WAIT);
    answer_with(401, "{\"error\":\"invalid_client\"}");
    for (size_t i = 0; i < 2; i++) {
        CHECK(f.waiters[i].told == 1 && f.waiters[i].failed);
        CHECK(strstr(f.waiters[i].why, "invalid_client") != NULL);
    }
    CHECK(take(&f, 2) == TOKEN_WAIT && fetches == 2);
    answer_with(200, TOKEN("one"));
    CHECK(f.waiters[2].told == 1 && !f.waiters[2].failed);
}

TEST(tokens_refused_by_the_receiver_are_fetched_anew_once)
{
    AUTO(fixture_done) struct fixture f;

    begin(&f);
    CHECK(take(&f, 0) == TOKEN_WAIT);
    answer_with(200, TOKEN("one"));
    CHECK(take(&f, 0) == TOKEN_HERE);
    uint64_t first = f.lent.number;

    tokens_refuse(f.tokens, &order, first);
    CHECK(take(&f, 1) == TOKEN_WAIT && fetches == 2);
    tokens_refuse(f.tokens, &order, first); /* another send had it as well */
    CHECK(take(&f, 2) == TOKEN_WAIT && fetches == 2);
    answer_with(200, TOKEN("two"));
    CHECK(f.waiters[1].told == 1 && f.waiters[2].told == 1);
    tokens_refuse(f.tokens, &order, first); /* ... and one more, that answers late */
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "two") && fetches == 2);
}

TEST(tokens_belong_to_their_settings)
{
    AUTO(fixture_done) struct fixture f;
    struct oauth2 same = client, other = client;
    struct http_out_options loose = { .verify = false };

    begin(&f);
    CHECK(take(&f, 0) == TOKEN_WAIT);
    answer_with(200, TOKEN("one"));
    /* Another plan has the same settings in other memory. */
    CHECK(take_for(&f, &(struct token_order){ STR("new"), &same, &options }, 1) == TOKEN_HERE);
    CHECK(fetches == 1);
    other.client_secret = STR("Secret");
    CHECK(take_for(&f, &(struct token_order){ STR("api"), &other, &options }, 1) == TOKEN_WAIT);
    answer_with(200, TOKEN("two"));
    CHECK(take_for(&f, &(struct token_order){ STR("api"), &same, &loose }, 2) == TOKEN_WAIT);
    answer_with(200, TOKEN("three"));
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "one") && fetches == 3);
}

TEST(tokens_of_many_settings_are_not_kept_for_ever)
{
    AUTO(fixture_done) struct fixture f;
    char id[16];

    begin(&f);
    for (int i = 0; i < 2000; i++) {
        struct oauth2 o = client;

        (void)snprintf(id, sizeof id, "%d", i);
        o.client_id = str_of(id);
        CHECK(take_for(&f, &(struct token_order){ STR("api"), &o, &options }, 0) == TOKEN_WAIT);
        answer_with(200, TOKEN("one"));
        CHECK(take_for(&f, &(struct token_order){ STR("api"), &o, &options }, 0) == TOKEN_HERE);
    }
    CHECK(fetches == 2000);
}

TEST(tokens_of_a_node_that_stops)
{
    AUTO(fixture_done) struct fixture f;

    begin(&f);
    closed = true;
    CHECK(take(&f, 0) == TOKEN_NONE && f.waiters[0].told == 0);
    CHECK(f.failed.kind == VERDICT_UNREACHED && strstr(f.failed.message, "stops") != NULL);
    closed = false;
    CHECK(take(&f, 0) == TOKEN_WAIT);
    answer_with(200, TOKEN("one"));
    closed = true;
    now_us += 800 * CLOCK_S;
    CHECK(take(&f, 0) == TOKEN_HERE && str_is(f.lent.text, "one"));
}

int main(void)
{
    return test_main();
}
