/* Finding documents by what is wrong with them, among others that only wait: exactly those of which
 * a look at every live document would say so. */
#include <stdio.h>

#include "base/auto.h"
#include "store/batch/batch.h"
#include "store/db/sql.h"
#include "store_test.h"

enum { N = 400, GROUP = 40, MANY = 64, BATCHES = 120, NAME = 71, ROUTE = 72, RECEIVER = 73 };

enum kind {
    RECEIVED,
    READY,     /* a delivery that only waits */
    RETRYING,  /* one that failed */
    DEAD,      /* a dead one, and one that failed */
    CANCELLED, /* one that failed and was cancelled, beside one that only waits */
    IN_DOUBT,
    STUCK, /* it has no delivery */
    AGAIN, /* its run failed, and is tried again later */
    WAITS, /* its run only waits for a time */
    WIDE,  /* as many deliveries as one may have, one of them dead */
    ENDED,
    MEMBER,
    KINDS
};

static const char *const errors[] = { "retry",          "timeout",   "rejected",   "no_route",
                                      "service_failed", "NO answer", "said 3",     "json",
                                      "in_doubt",       "wide",      "no such\n%", "o" };

enum { ERRORS = sizeof errors / sizeof errors[0] };

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state = chance_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(chance_state >> 33) % below;
}

/* ---- a world ---- */

static struct {
    struct accept_op docs[N];
    enum kind kinds[N];
    struct settle_delivery parts[GROUP][MANY];
    struct batch_join joins[GROUP];
    char texts[BATCHES][24];
} w;

static void fail_part(struct settle_delivery *p, enum delivery_state state, const char *code,
                      const char *message)
{
    static char ids[MANY][8];
    static unsigned at;
    char *id = ids[at++ % MANY];

    (void)snprintf(id, sizeof ids[0], "D.%u", at % MANY);
    *p = part_of(str_of(id), 1001, state);
    p->due_us = state == DELIVERY_RETRYING ? INT64_C(4000000000) * CLOCK_S : 0;
    p->code = str_of(code);
    p->message = str_of(message);
}

static size_t parts_of(enum kind kind, struct settle_delivery *p)
{
    static const char *const said[] = { "The receiver said 3: No", "The receiver said 4: no JSON" };

    switch (kind) {
    case READY:
        fail_part(p, DELIVERY_READY, "", "");
        return 1;
    case RETRYING:
        fail_part(p, DELIVERY_RETRYING, "timeout", "no answer");
        return 1;
    case DEAD:
        fail_part(p, DELIVERY_RETRYING, "timeout", "no answer");
        fail_part(p + 1, DELIVERY_DEAD, "rejected", said[chance(2)]);
        return 2;
    case CANCELLED:
        fail_part(p, DELIVERY_RETRYING, "timeout", "no answer");
        fail_part(p + 1, DELIVERY_READY, "", "");
        return 2;
    case IN_DOUBT:
        fail_part(p, DELIVERY_IN_DOUBT, "in_doubt", "no answer");
        return 1;
    case WIDE:
        for (size_t i = 0; i < MANY; i++)
            fail_part(p + i, DELIVERY_RETRYING, "timeout", "busy");
        fail_part(p + (chance(2) == 0 ? 0 : MANY - 1), DELIVERY_DEAD, "rejected", "too WIDE");
        return MANY;
    default:
        return 0;
    }
}

static struct settle_op settlement(const struct accept_op *doc, enum kind kind, size_t at)
{
    bool again = kind == AGAIN || kind == WAITS;
    enum settle_outcome end = kind == STUCK    ? SETTLE_DEAD
                              : again          ? SETTLE_AGAIN
                              : kind == ENDED  ? SETTLE_OVER
                              : kind == MEMBER ? SETTLE_JOIN
                                               : SETTLE_DELIVERIES;
    struct settle_op o = settle_of(&doc->task, doc->num, end);

    o.has_facts = true;
    o.sender = 100 + chance(2);
    o.receiver = 200 + chance(3);
    o.state = DOCUMENT_DELIVERED;
    o.keep_days = 40;
    o.code = kind == STUCK ? STR("no_route") : STR("");
    o.message = kind == STUCK   ? STR("no route takes it, or its JSON")
                : kind == AGAIN ? STR("no answer of the service, said 3")
                                : STR("");
    o.due_us = again ? INT64_C(4000000000) * CLOCK_S : 0;
    if (kind == WAITS)
        o.task.attempts = 0;
    o.parts = w.parts[at];
    o.part_count = parts_of(kind, w.parts[at]);
    if (kind == MEMBER) {
        w.joins[at] = (struct batch_join){ .name = NAME,
                                           .route = ROUTE,
                                           .receiver = RECEIVER,
                                           .config = 1,
                                           .part = str_of(w.texts[chance(BATCHES)]),
                                           .size = doc->size,
                                           .members_most = 1000,
                                           .bytes_most = 1 << 30 };
        o.join = &w.joins[at];
    }
    return o;
}

static bool add_group(struct store *s, size_t from)
{
    struct settle_op ops[GROUP];
    size_t n = 0;

    if (!born_docs(s, &w.docs[from], GROUP))
        return false;
    for (size_t i = 0; i < GROUP; i++) {
        enum kind kind = chance(3) == 0 ? MEMBER : (enum kind)chance(KINDS);

        w.kinds[from + i] = kind == WIDE && chance(2) == 0 ? STUCK : kind;
        if (w.kinds[from + i] != RECEIVED) {
            ops[n] = settlement(&w.docs[from + i], w.kinds[from + i], n);
            n++;
        }
    }
    return settle_ops(s, ops, n);
}

/* What people do, and what becomes of batches: some stay open, some cannot be built, of some the
 * document fares as one of ours does. */
static bool go_on(const struct home *h, unsigned wrong)
{
    char sql[400];
    int64_t num = 0;

    for (size_t i = 0; i < N; i++)
        if (w.kinds[i] == CANCELLED) {
            (void)snprintf(sql, sizeof sql,
                           "UPDATE delivery SET state = 7 WHERE doc = %lld AND state = 3",
                           (long long)w.docs[i].num);
            if (!tell(h, sql))
                return false;
        }
    for (;;) {
        size_t as = chance(N);

        (void)snprintf(sql, sizeof sql, "SELECT coalesce(min(num), 0) FROM batch WHERE num > %lld",
                       (long long)num);
        num = ask(h, sql);
        if (num <= 0)
            return num == 0;
        if (chance(100) >= wrong)
            continue;
        if (chance(3) == 0)
            (void)snprintf(sql, sizeof sql,
                           "UPDATE batch SET state = 1, code = 'service_failed', message = 'bad "
                           "JSON' WHERE num = %lld",
                           (long long)num);
        else if (w.kinds[as] != ENDED && w.kinds[as] != MEMBER)
            (void)snprintf(sql, sizeof sql,
                           "UPDATE batch SET state = 2, doc = %lld, doc_id = (SELECT id FROM doc "
                           "WHERE num = %lld) WHERE num = %lld",
                           (long long)w.docs[as].num, (long long)w.docs[as].num, (long long)num);
        if (!tell(h, sql))
            return false;
    }
}

static struct store *make_world(const struct home *h, unsigned seed, unsigned wrong)
{
    struct store *s = open_store(h);

    chance_state = seed;
    for (int i = 0; i < BATCHES; i++)
        (void)snprintf(w.texts[i], sizeof w.texts[i], "part %d", i);
    for (size_t i = 0; s != NULL && i < N; i += GROUP)
        if (!add_group(s, i)) {
            store_close(s);
            return NULL;
        }
    if (s == NULL || go_on(h, wrong))
        return s;
    store_close(s);
    return NULL;
}

/* ---- asking ---- */

static struct arena arena = ARENA_INIT(64 << 20);

/* Over all pages; at most N. */
static bool list_all(struct store *s, const struct document_filter *f, size_t page,
                     struct document *ret, size_t *ret_count)
{
    static struct document docs[DOCUMENTS_PAGE_MOST];
    int64_t below = 0;

    *ret_count = 0;
    do {
        struct err err = { 0 };
        size_t n;

        if (!document_list(s, f, below, page, &arena, docs, &n, &below, &err) ||
            *ret_count + n > N) {
            printf("# list: %s, %zu and %zu\n", err.text, *ret_count, n);
            return false;
        }
        for (size_t i = 0; i < n; i++)
            ret[(*ret_count)++] = docs[i];
    } while (below != 0);
    return true;
}

static bool says(const struct document *d, const char *error)
{
    char message[200];

    (void)snprintf(message, sizeof message, "%.*s", STR_ARG(d->message));
    return d->code.len > 0 && (str_is(d->code, error) || strcasestr(message, error) != NULL);
}

static bool fits(const struct document_filter *f, const struct document *d)
{
    return says(d, f->error.ptr) && (f->state.len == 0 || str_eq(f->state, d->state)) &&
           (f->sender == 0 || f->sender == d->sender) &&
           (f->receiver == 0 || f->receiver == d->receiver) &&
           (f->gateway == 0 || f->gateway == d->gateway);
}

/* Newest first, and no other. */
static bool are_those(const struct document_filter *f, const struct document *all, size_t all_count,
                      const struct document *got, size_t got_count)
{
    size_t at = 0;

    for (size_t i = 0; i < all_count; i++)
        if (fits(f, &all[i]) && (at == got_count || got[at++].source.num != all[i].source.num)) {
            printf("# error %.*s state %.*s: %zu found, not %lld\n", STR_ARG(f->error),
                   STR_ARG(f->state), got_count, (long long)all[i].source.num);
            return false;
        }
    return at == got_count;
}

/* In pages of so many and up to 60 more. */
static bool agrees(struct store *s, unsigned seen_most, size_t page_least)
{
    static struct document all[N], got[N];
    static const char *const states[] = { "received", "active",   "held",      "retrying",
                                          "dead",     "in_doubt", "delivered", "cancelled" };
    size_t all_count, n, seen = 0;

    if (!list_all(s, &(struct document_filter){ .live = true }, 200, all, &all_count))
        return false;
    for (unsigned i = 0; i < ERRORS * 12; i++) {
        struct document_filter f = { .error = str_of(errors[i % ERRORS]) };

        if (i >= ERRORS * 2 && i < ERRORS * 10)
            f.state = str_of(states[i / ERRORS - 2]);
        if (i >= ERRORS * 10) {
            f.sender = chance(2) == 0 ? 100 + chance(2) : 0;
            f.receiver = chance(2) == 0 ? 200 + chance(3) : 0;
            f.gateway = chance(3) == 0 ? 1 : 0;
            f.live = chance(2) == 0;
        }
        if (!list_all(s, &f, page_least + chance(60), got, &n) ||
            !are_those(&f, all, all_count, got, n))
            return false;
        f.error = STR("");
        if ((str_is(f.state, "dead") || str_is(f.state, "in_doubt") ||
             str_is(f.state, "retrying")) &&
            (!list_all(s, &f, page_least + chance(60), got, &n) ||
             !are_those(&f, all, all_count, got, n)))
            return false;
        seen += i < ERRORS ? n : 0;
    }
    return seen > seen_most;
}

/* ---- tests ---- */

TEST(every_kind_of_trouble_is_found_by_its_error)
{
    struct home h = fresh_home();
    struct store *s = make_world(&h, 20261115, 50);

    CHECK(s != NULL && agrees(s, 300, 1));
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && agrees(s, 300, 30));
    store_close(s);
}

/* Those that only wait are many; of the batches few have trouble, or none. */
TEST(few_are_found_among_many)
{
    struct home h = fresh_home();
    struct store *s = make_world(&h, 4711, 5);

    CHECK(s != NULL && agrees(s, 100, 30));
    CHECK(tell(&h,
               "UPDATE batch SET state = 0, code = NULL, message = NULL, doc = 0, doc_id = NULL"));
    CHECK(agrees(s, 100, 30));
    store_close(s);
}

/* More batches have trouble than are looked up one by one, or even known by number. */
TEST(batches_in_trouble_may_be_many)
{
    struct home h = fresh_home();
    struct store *s = make_world(&h, 7, 100);

    CHECK(s != NULL && ask(&h, "SELECT count(*) FROM batch WHERE state > 0") > MANY);
    CHECK(tell(
        &h,
        "UPDATE batch SET state = 1, doc = 0, doc_id = NULL, code = 'service_failed', message = "
        "'bad JSON' WHERE num % 8 > 0"));
    CHECK(ask(&h, "SELECT count(*) FROM batch WHERE code = 'service_failed'") > MANY);
    CHECK(agrees(s, 300, 30));
    CHECK(tell(
        &h,
        "INSERT INTO batch(num, name, route, receiver, part, state, config, members, bytes, "
        "opened_us, code, message) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 9000) SELECT 1000000 + i, 1, 1, 1, '', 1, 1, 0, 0, 0, 'service_failed', "
        "'bad JSON' FROM n"));
    CHECK(agrees(s, 300, 100));
    store_close(s);
}

/* One page says that there is no other: those that wait, more than one page looks at, are not read.
 */
TEST(one_that_is_retried_is_found_below_many_that_wait)
{
    struct home h = fresh_home();
    struct store *s = make_world(&h, 4711, 0);
    struct document_filter f = { .state = STR("retrying"), .receiver = 200 };
    static struct document docs[N];
    struct err err = { 0 };
    int64_t below = 0;
    size_t n;

    CHECK(s != NULL);
    CHECK(tell(&h, "INSERT INTO doc(num, id, gateway, caller, config, received_us, size, sha256, "
                   "seg, pos, sender, receiver, updated_us) WITH RECURSIVE n(i) AS (SELECT 1 UNION "
                   "ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT 1000000 + i, d.id, d.gateway, "
                   "d.caller, d.config, d.received_us, d.size, d.sha256, d.seg, d.pos, 100, 200, 1 "
                   "FROM n, (SELECT * FROM doc ORDER BY num LIMIT 1) AS d"));
    CHECK(document_list(s, &f, 0, DOCUMENTS_PAGE_MOST, &arena, docs, &n, &below, &err));
    CHECK(n > 0 && below == 0);
    store_close(s);
}

/* ---- plans ---- */

/* Whether the plan of a statement, as readers make and keep it, has this index. */
static bool goes_by(const struct home *h, const char *index, enum sql_id id, const char *types,
                    const char *values)
{
    static char plan[20000];
    AUTO(buf_done) struct buf b = BUF_INIT(20000);

    buf_printf(&b,
               "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; PREPARE "
               "asked(%s) AS %s; EXPLAIN (FORMAT JSON) EXECUTE asked(%s)",
               types, sql_postgresql[id].text, values);
    buf_putc(&b, '\0');
    return strstr(ask_text(h, buf_view(&b).ptr, plan, sizeof plan), index) != NULL;
}

static bool plans_are_good(const struct home *h)
{
    static const struct {
        enum sql_id id;
        const char *types, *values;
    } others[] = { { SQL_TROUBLE_BATCHES, "text, bigint, bigint, bigint", "'x', 1, 0, 300" },
                   { SQL_RETRYING_BATCHES, "bigint, bigint, bigint", "1, 0, 300" },
                   { SQL_RETRYING_RUNS, "bigint, bigint, text", "100, 300, 'x'" },
                   { SQL_DOC_GET, "bigint", "100" },
                   { SQL_DOC_FIND, "bigint[]", "'{100}'" },
                   { SQL_DELIVERY_FIND, "bigint[]", "'{100}'" },
                   { SQL_DELIVERY_OF_DOCUMENT, "bigint, bigint", "100, 10" } };
    bool good = goes_by(h, "delivery_in_trouble", SQL_TROUBLE_NUMS, "bigint, bigint, text",
                        "100, 300, 'x'") &&
                goes_by(h, "delivery_retrying", SQL_RETRYING_NUMS, "bigint, bigint", "100, 300");

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        good =
            good &&
            !goes_by(h, "delivery_in_trouble", others[i].id, others[i].types, others[i].values) &&
            !goes_by(h, "delivery_retrying", others[i].id, others[i].types, others[i].values);
    return good;
}

/* Plans are kept, and may be made when the table looks empty. */
TEST(postgres_only_a_search_for_them_goes_through_what_is_in_trouble)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL && plans_are_good(&h));
    CHECK(tell(&h, "UPDATE pg_class SET reltuples = 0, relpages = 500 WHERE oid = "
                   "'delivery'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid "
                   "= 'delivery'::regclass)"));
    CHECK(plans_are_good(&h));
    CHECK(tell(&h,
               "INSERT INTO delivery(num, doc, id, endpoint, system, queue, state, attempts, "
               "first_us, due_us, updated_us, code, message, status) SELECT 2 * i + 1, 2 * i, "
               "'', 1, 1, 1, 3, 1, 0, 0, 0, 'timeout', '', 0 FROM generate_series(1, 40000) AS i"));
    CHECK(plans_are_good(&h));
    CHECK(tell(&h, "ANALYZE delivery") && plans_are_good(&h));
    store_close(s);
}

STORE_TEST_MAIN
