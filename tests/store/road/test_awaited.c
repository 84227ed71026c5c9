/* Answers in the commit of the outcome, many at a time, and answers that are awaited. */
#include <pthread.h>
#include <stdlib.h>

#include "base/container_of.h"
#include "family.h"
#include "retain_scene.h"
#include "store/road/awaited.h"

enum { ENDPOINT = 21, SYSTEM = 31, OTHER = 32 };

/* ---- answers ---- */

enum { MANY = 5 };

/* Operations that are done on writers' threads. */
struct together {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    size_t left;
};

static struct together all = { .mutex = PTHREAD_MUTEX_INITIALIZER,
                               .done = PTHREAD_COND_INITIALIZER };

static void one_done(struct store_op *op)
{
    (void)op;
    (void)pthread_mutex_lock(&all.mutex);
    all.left--;
    (void)pthread_cond_signal(&all.done);
    (void)pthread_mutex_unlock(&all.mutex);
}

/* Queues all of them at once, so that they may share a group. */
static void commit_together(struct store *s, struct family *f, size_t count)
{
    all.left = count;
    for (size_t i = 0; i < count; i++) {
        f[i].op.op = (struct store_op){ .verb = &offspring_answers_verb, .done = one_done };
        f[i].op.op.next = i + 1 < count ? &f[i + 1].op.op : NULL;
    }
    writers_submit_always(store_writers(s), &f[0].op.op, &f[count - 1].op.op, count);
    (void)pthread_mutex_lock(&all.mutex);
    while (all.left > 0)
        (void)pthread_cond_wait(&all.done, &all.mutex);
    (void)pthread_mutex_unlock(&all.mutex);
}

static bool is_answer(struct store *s, const struct offspring_part *p,
                      const struct accept_op *parent)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf bytes = BUF_INIT(1 << 20);
    struct document d;
    struct err err = { 0 };
    int64_t of;

    return document_get(s, &p->id, &a, &d, &err) && d.is == DOCUMENT_RECEIVED && d.caller == 0 &&
           d.head.len == 0 && d.gateway == parent->gateway && d.config == 9 &&
           read_payload(s, &d.source, &bytes, &err) && str_eq(buf_view(&bytes), p->bytes) &&
           link_parent(s, p->num, LINK_ANSWER, &of, &err) && of == parent->num;
}

/* The outcome and the answer of each are one commit; who has lost its claim makes nothing and keeps
 * nobody else from it. */
TEST(answers_of_many_settlements_are_made_together)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parents[MANY];
    struct family f[MANY];
    struct err err = { 0 };
    bool ours;

    CHECK(s != NULL);
    for (int i = 0; i < MANY; i++) {
        parents[i] = doc_of(STR("question"));
        parents[i].claim_wanted = true;
        parents[i].caller = 5;
        parents[i].head = STR("a head");
        CHECK(accept_doc(s, &parents[i]));
        family_init(&f[i], &parents[i].task, parents[i].num, 0, 1, 1);
        f[i].op.parts[0].kind = LINK_ANSWER;
        f[i].op.parts[0].config = 9;
    }
    CHECK(task_finish(s, &parents[2].task, &ours, &err) && ours); /* its claim is over */
    commit_together(s, f, MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK(f[i].op.op.ok && f[i].op.result == (i == 2 ? OFFSPRING_LOST : OFFSPRING_MADE));
        CHECK(i == 2 || (f[i].end.ours && f[i].end.over));
        CHECK(i == 2 || is_answer(s, &f[i].op.parts[0], &parents[i]));
        family_done(&f[i]);
    }
    CHECK(ask(&h, "SELECT count(*) FROM link WHERE kind = 4") == MANY - 1);
    CHECK(ask(&h, "SELECT count(*) FROM offspring") == 0);
    store_close(s);
}

/* A document that has parts from an earlier run, and is delivered by this one. */
TEST(parts_of_an_earlier_run_do_not_hinder_an_answer)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op parent;
    AUTO(family_done) struct family f;

    CHECK(s != NULL && born_docs(s, &parent, 1));
    CHECK(make_parts(s, &parent, &parent.task, 0, 2, 3));
    family_init(&f, &parent.task, parent.num, 0, 1, 1);
    f.op.parts[0].kind = LINK_ANSWER;
    commit_together(s, &f, 1);
    CHECK(f.op.op.ok && f.op.result == OFFSPRING_MADE && f.end.over);
    CHECK(ask(&h, "SELECT made FROM offspring") == 2);
    store_close(s);
}

/* ---- waits ---- */

static struct awaited wait_of(const char *delivery, int64_t system, int64_t due_us)
{
    return (struct awaited){
        .delivery = str_of(delivery), .endpoint = ENDPOINT, .system = system, .due_us = due_us
    };
}

static struct awaited_late late_at(struct store *s, int64_t now_us)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct awaited_late l = { .count = -1 };
    struct err err = { 0 };

    (void)awaited_overdue(s, ENDPOINT, now_us, &a, &l, &err);
    l.delivery = str_is(l.delivery, "first") ? STR("first") : STR("another");
    return l;
}

static bool settle_waits(struct store *s, const struct accept_op *doc, const struct awaited *waits,
                         size_t count, int64_t keep_days)
{
    struct settle_op o = settle_of(&doc->task, doc->num, SETTLE_OVER);

    o.keep_days = keep_days;
    o.waits = waits;
    o.wait_count = count;
    return settle_ops(s, &o, 1) && o.ours;
}

static bool settle_answer(struct store *s, const struct accept_op *doc, int64_t answered,
                          int64_t system, const char *delivery)
{
    struct settle_op o = settle_of(&doc->task, doc->num, SETTLE_OVER);

    o.keep_days = 45;
    o.answers = (struct answered){ answered, system, str_of(delivery) };
    return settle_ops(s, &o, 1) && o.ours;
}

/* proves: PR17 */
TEST(what_is_awaited_is_overdue_until_it_is_answered)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op d[4];
    struct awaited waits[] = { wait_of("first", SYSTEM, 100), wait_of("second", SYSTEM, 200),
                               wait_of("third", OTHER, 300) };

    CHECK(s != NULL && born_docs(s, d, 1) && late_at(s, 1000).count == 0);
    CHECK(settle_waits(s, &d[0], waits, 3, 45));
    store_close(s); /* it survives */
    s = open_store(&h);
    CHECK(s != NULL && late_at(s, 99).count == 0 && late_at(s, 100).count == 1);
    struct awaited_late l = late_at(s, 1000);

    CHECK(l.count == 3 && l.oldest_us == 100 && str_is(l.delivery, "first"));
    CHECK(late_at(s, 100 + AWAITED_SHOWN_US).count == 2); /* the first one is let go */
    CHECK(born_docs(s, &d[1], 3));
    CHECK(settle_answer(s, &d[1], d[0].num, SYSTEM, "second"));
    CHECK(late_at(s, 1000).count == 2);
    CHECK(settle_answer(s, &d[2], d[0].num, 99, "")); /* a system that owes nothing */
    CHECK(late_at(s, 1000).count == 2);
    CHECK(settle_answer(s, &d[3], d[0].num, SYSTEM, ""));
    CHECK(late_at(s, 1000).count == 1 && late_at(s, 1000).oldest_us == 300);
    CHECK(ask(&h, "SELECT count(*) FROM link WHERE kind = 4") == 3 && all_is_well(s));
    store_close(s);
}

/* A run that is repeated has its link already. */
TEST(an_answer_is_linked_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op d[2];
    char sql[100];

    CHECK(s != NULL && born_docs(s, d, 2));
    (void)snprintf(sql, sizeof sql, "INSERT INTO link(parent, kind, child) VALUES (%lld, 4, %lld)",
                   (long long)d[0].num, (long long)d[1].num);
    CHECK(tell(&h, sql));
    CHECK(settle_answer(s, &d[1], d[0].num, SYSTEM, ""));
    CHECK(ask(&h, "SELECT count(*) FROM link") == 1);
    store_close(s);
}

TEST(a_claim_that_was_lost_awaits_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct awaited wait = wait_of("first", SYSTEM, 100);
    struct accept_op d[2];
    struct err err = { 0 };
    bool ours;

    CHECK(s != NULL && born_docs(s, d, 2) && task_finish(s, &d[0].task, &ours, &err) && ours);
    CHECK(!settle_waits(s, &d[0], &wait, 1, 45) && late_at(s, 1000).count == 0);
    CHECK(!settle_answer(s, &d[0], d[1].num, SYSTEM, ""));
    CHECK(ask(&h, "SELECT count(*) FROM link") == 0);
    store_close(s);
}

/* However many there are: a thousand tell as much. */
TEST(a_look_has_a_limit)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL &&
          tell(&h, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
                   "INSERT INTO awaited(doc, delivery, endpoint, system, due_us) "
                   "SELECT i, 'd', 21, 31, i FROM n"));
    CHECK(late_at(s, 5000).count == AWAITED_COUNT_MOST && late_at(s, 10).count == 10);
    store_close(s);
}

/* ---- retention, doctor ---- */

static int64_t wrong_waits(struct store *s)
{
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result r;
        struct err err = { 0 };

        if (strcmp(check_name(i), "awaited-answers") == 0)
            return check_run(s, i, false, &r, &err) ? r.bad : -1;
    }
    return -1;
}

TEST(waits_go_with_their_document)
{
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    struct awaited wait = wait_of("first", SYSTEM, 100);
    struct accept_op d[3];

    CHECK(s != NULL && born_docs(s, d, 3));
    CHECK(settle_waits(s, &d[0], &wait, 1, OLD) && settle_waits(s, &d[1], &wait, 1, 45));
    CHECK(wrong_waits(s) == 0 && purge(s, today() + OLD) == 1);
    CHECK(late_at(s, 1000).count == 1 && wrong_waits(s) == 0);
    CHECK(tell(&h, "INSERT INTO awaited(doc, delivery, endpoint, system, due_us) "
                   "VALUES (987654, 'x', 21, 31, 5)"));
    CHECK(wrong_waits(s) == 1);
    store_close(s);
}

STORE_TEST_MAIN
