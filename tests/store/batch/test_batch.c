/* Batches: joining, closing, building, ending; who is in which, over crashes and nodes. */
#include <pthread.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/digest.h"
#include "store/batch/batch.h"
#include "store/batch/batch_members.h"
#include "store/manual/edit.h"
#include "store/manual/operate.h"
#include "store/road/done.h"
#include "store/road/order.h"
#include "store/road/retain_days.h"
#include "store/watch/check.h"
#include "store_test.h"

enum { MOST = 64, NAME = 71, ROUTE = 72, RECEIVER = 73 };

static struct batch_join joins[MOST];

static struct batch_join join_of(int64_t receiver, int64_t size)
{
    return (struct batch_join){ .name = NAME,
                                .route = ROUTE,
                                .receiver = receiver,
                                .config = 1,
                                .part = STR(""),
                                .size = size,
                                .members_most = 1000,
                                .bytes_most = 1 << 30 };
}

/* All of them in one group. */
static bool join_all(struct store *s, struct accept_op *docs, struct batch_join *j, size_t count)
{
    static struct settle_op ops[MOST];

    for (size_t i = 0; i < count; i++) {
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_JOIN);
        ops[i].join = &j[i];
    }
    return settle_ops(s, ops, count);
}

static bool join_some(struct store *s, struct accept_op *docs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        joins[i] = join_of(RECEIVER, docs[i].size);
    return born_docs(s, docs, count) && join_all(s, docs, joins, count);
}

static int64_t close_all(struct store *s)
{
    struct batch_close c = { .name = NAME,
                             .receiver = BATCH_ANY_RECEIVER,
                             .opened_until_us = INT64_MAX,
                             .why = BATCH_HAND,
                             .by = STR("test") };
    struct err err = { 0 };

    return batch_close(s, &c, &err) ? c.closed : -1;
}

static struct arena arena = ARENA_INIT(64 << 20);

static bool claim_one(struct store *s, struct batch *ret)
{
    struct err err = { 0 };
    bool found = false;

    return batch_claim(s, &arena, ret, &found, &err) && found;
}

/* Its document is the text of the numbers of its members. */
static bool build(struct store *s, const struct batch *b, struct accept_op *doc, bool *ret_ours)
{
    struct batch_member members[MOST];
    struct err err = { 0 };
    char text[1000] = "";
    size_t n, len = 0;

    if (!batch_members(s, b->num, 0, &arena, members, MOST, &n, &err))
        return false;
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%lld ", (long long)members[i].doc);
    *doc = doc_of(arena_copy(&arena, str_mem(text, len)));
    doc->gateway = NAME;
    struct batch_document d = { .accept = doc, .receiver = b->receiver };

    return batch_built(s, b, &d, ret_ours, &err);
}

static bool end_keeping(struct store *s, int64_t keep_days)
{
    struct batch_over over[MOST];
    struct err err = { 0 };
    bool left = true;
    size_t n;

    if (!batch_over(s, 0, over, MOST, &n, &err))
        return false;
    for (size_t i = 0; i < n; i++)
        for (left = true; left;)
            if (!batch_end(s, &over[i], DOCUMENT_DONE, keep_days, &left, &err))
                return false;
    return true;
}

static bool end_all(struct store *s)
{
    return end_keeping(s, 1);
}

static bool is_healthy(struct store *s)
{
    struct err err = { 0 };

    for (size_t i = 0; i < check_count(); i++) {
        struct check_result r;

        if (!check_run(s, i, true, &r, &err) || r.bad > 0) {
            printf("# %s: %s%s\n", check_name(i), r.message, err.text);
            return false;
        }
    }
    return true;
}

static bool state_is(struct store *s, const struct id *id, const char *want)
{
    struct document d;
    struct err err = { 0 };

    return document_get(s, id, &arena, &d, &err) && str_is(d.state, want);
}

static bool run_over(struct store *s, const struct accept_op *doc)
{
    struct task t[4];
    struct settle_op o;
    int n = claim(s, 4, t);

    for (int i = 0; i < n; i++)
        if (t[i].id == doc->num) {
            o = settle_of(&t[i], doc->num, SETTLE_OVER);
            o.state = DOCUMENT_DELIVERED;
            return settle_ops(s, &o, 1);
        }
    return false;
}

TEST(members_join_close_become_a_document_and_end_with_it)
{
    static struct accept_op docs[3];
    struct accept_op doc;
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct batch b, stale;
    bool ours, any;
    struct err err = { 0 };

    CHECK(s != NULL);
    for (size_t i = 0; i < 3; i++)
        docs[i] = doc_of(STR("body"));
    CHECK(join_some(s, docs, 3) && is_healthy(s) && state_is(s, &docs[0].id, "active"));
    CHECK(joins[0].batch == joins[2].batch && ask(&h, "SELECT members FROM batch") == 3);
    CHECK(ask(&h, "SELECT bytes FROM batch") == 12 && claim(s, 4, (struct task[4]){ 0 }) == 0);
    CHECK(!claim_one(s, &b)); /* it is open */
    CHECK(close_all(s) == 1 && close_all(s) == 0 && is_healthy(s));
    CHECK(claim_one(s, &b) && b.num == joins[0].batch && b.members == 3 && b.why == BATCH_HAND);
    CHECK(!claim_one(s, &stale)); /* one builds it */
    stale = b;
    CHECK(batch_back(s, &b, 0, STR(""), STR("not now"), &err) && claim_one(s, &b));
    CHECK(build(s, &stale, &doc, &ours) && !ours && ask(&h, "SELECT count(*) FROM link") == 0);
    CHECK(build(s, &b, &doc, &ours) && ours && is_healthy(s));
    CHECK(ask(&h, "SELECT count(*) FROM link WHERE kind = 2") == 3);
    CHECK(!claim_one(s, &stale) && state_is(s, &docs[0].id, "active"));
    CHECK(end_all(s) && state_is(s, &docs[0].id, "active")); /* its document lives */
    CHECK(run_over(s, &doc) && end_all(s) && is_healthy(s));
    for (size_t i = 0; i < 3; i++)
        CHECK(state_is(s, &docs[i].id, "done"));
    CHECK(batch_any(s, &any, &err) && !any && ask(&h, "SELECT count(*) FROM batch_member") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0 && batch_forget(s, INT64_MAX, &err));
    CHECK(ask(&h, "SELECT count(*) FROM batch") == 0);
    store_close(s);
}

/* In which table it lies, of those of two times. */
static bool is_kept(const struct home *h, const struct accept_op *doc, int64_t days)
{
    char text[120];

    (void)snprintf(text, sizeof text, "SELECT count(*) FROM done_%lld WHERE num = %lld",
                   (long long)done_day(days), (long long)doc->num);
    return ask(h, text) == 1;
}

TEST(members_are_kept_as_long_as_their_types_say)
{
    enum { INVOICE = 7, NOTE = 8 };
    static const int64_t types[4] = { INVOICE, NOTE, INVOICE, 0 };
    static struct accept_op docs[4];
    static struct settle_op ops[4];
    struct retain_type rules_of_types[] = { { .type = INVOICE, .days = 3650 } };
    struct retain_rules rules = { .types = rules_of_types, .type_count = 1, .other_days = -1 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    struct batch b;
    bool ours;

    CHECK(s != NULL);
    for (int i = 0; i < DOCUMENT_STATES; i++)
        rules.days[i] = i == DOCUMENT_DONE ? 20 : 45;
    retain_use(s, &rules);
    for (size_t i = 0; i < 4; i++)
        docs[i] = doc_of(STR("body"));
    CHECK(born_docs(s, docs, 4));
    for (size_t i = 0; i < 4; i++) {
        joins[i] = join_of(RECEIVER, docs[i].size);
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_JOIN);
        ops[i].join = &joins[i];
        ops[i].has_facts = true;
        ops[i].type = types[i];
    }
    CHECK(settle_ops(s, ops, 4) && close_all(s) == 1 && claim_one(s, &b));
    CHECK(build(s, &b, &doc, &ours) && ours && run_over(s, &doc));
    CHECK(end_keeping(s, RETAIN_BY_RULE) && is_healthy(s));
    for (size_t i = 0; i < 4; i++)
        CHECK(is_kept(&h, &docs[i], types[i] == INVOICE ? 3650 : 20) &&
              state_is(s, &docs[i].id, "done"));
    store_close(s);
}

/* proves: BA7 */
TEST(a_batch_is_never_larger_than_it_may_be)
{
    static struct accept_op docs[12];
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    for (size_t i = 0; i < 12; i++) {
        docs[i] = doc_of(STR("x"));
        joins[i] = join_of(i < 5 ? RECEIVER : RECEIVER + 1, i == 8 ? 1000 : 10);
        joins[i].members_most = i < 5 ? 2 : 1000;
        joins[i].bytes_most = i < 5 ? 1 << 20 : 25;
    }
    CHECK(born_docs(s, docs, 12) && join_all(s, docs, joins, 12) && is_healthy(s));
    CHECK(ask(&h, "SELECT count(*) FROM batch WHERE receiver = 73 AND members = 2 AND state = 1 "
                  "AND why = 1") == 2);
    CHECK(ask(&h, "SELECT members FROM batch WHERE receiver = 73 AND state = 0") == 1);
    /* 5 6 | 7 | 8 alone | 9 10 | 11 */
    CHECK(ask(&h, "SELECT count(*) FROM batch WHERE receiver = 74") == 5);
    CHECK(ask(&h, "SELECT max(bytes) FROM batch WHERE receiver = 74 AND members > 1") == 20);
    CHECK(ask(&h, "SELECT members FROM batch WHERE receiver = 74 AND bytes = 1000") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM batch WHERE receiver = 74 AND state = 0") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM (SELECT doc FROM batch_member GROUP BY doc) AS d") == 12);
    store_close(s);
}

/* proves: BA8 */
TEST(one_that_is_sent_again_makes_a_batch_of_its_own)
{
    static struct accept_op docs[2];
    struct accept_op doc, again;
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct batch b;
    struct err err = { 0 };
    struct operate_order order = { .who = STR("test"), .again = true, .keep_days = 1, .config = 1 };
    struct operate_answer answer;
    struct task t;
    bool ours;

    CHECK(s != NULL);
    docs[0] = doc_of(STR("a"));
    docs[1] = doc_of(STR("b"));
    CHECK(join_some(s, docs, 2) && close_all(s) == 1 && claim_one(s, &b));
    CHECK(build(s, &b, &doc, &ours) && ours && run_over(s, &doc) && end_all(s));
    struct operate_target target = { .id = docs[1].id };

    CHECK(operate(s, OPERATE_RETRY, &target, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(claim(s, 1, &t) == 1 && t.id == docs[1].num);
    docs[1].task = t;
    joins[1].alone = true;
    CHECK(join_all(s, &docs[1], &joins[1], 1) && is_healthy(s));
    CHECK(claim_one(s, &b) && b.why == BATCH_AGAIN && b.members == 1);
    CHECK(build(s, &b, &again, &ours) && ours && run_over(s, &again) && end_all(s));
    char text[200];

    (void)snprintf(text, sizeof text,
                   "SELECT count(*) FROM link WHERE parent = %lld AND kind = 3 "
                   "AND child = %lld",
                   (long long)doc.num, (long long)again.num);
    CHECK(ask(&h, text) == 1);
    CHECK(ask(&h, "SELECT count(*) FROM link WHERE kind = 2") == 3 && is_healthy(s));
    store_close(s);
}

/* proves: BA6 */
TEST(a_member_steps_aside_leaves_or_stays)
{
    static struct accept_op docs[4];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct operate_order order = { .who = STR("test"), .keep_days = 1, .config = 1 };
    struct operate_answer answer;
    struct batch_member m[4];
    struct batch b;
    struct err err = { 0 };
    int64_t dead, oldest_us;
    size_t n;
    bool ours;

    CHECK(s != NULL);
    for (size_t i = 0; i < 4; i++)
        docs[i] = doc_of(STR("body"));
    CHECK(join_some(s, docs, 4));
    struct operate_target first = { .id = docs[0].id }, last = { .id = docs[3].id };

    CHECK(operate(s, OPERATE_RETRY, &first, 1, &order, &answer, &err) &&
          answer.result == OPERATE_NOTHING);
    CHECK(operate(s, OPERATE_CANCEL, &first, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(state_is(s, &docs[0].id, "cancelled") && is_healthy(s) && close_all(s) == 1);
    CHECK(operate(s, OPERATE_CANCEL, &last, 1, &order, &answer, &err) &&
          answer.result == OPERATE_NOTHING);
    CHECK(claim_one(s, &b) && b.members == 3 && b.bytes == 12);
    CHECK(batch_members(s, b.num, 0, &arena, m, 4, &n, &err) && n == 3 && m[0].doc == docs[1].num);
    CHECK(batch_aside(s, &b, &m[0], STR("service_failed"), STR("no JSON"), &ours, &err) && ours);
    CHECK(state_is(s, &docs[1].id, "dead") && is_healthy(s));
    CHECK(task_dead_sum(s, &dead, &oldest_us, &err) && dead == 1);
    CHECK(ask(&h, "SELECT members FROM batch") == 2 && ask(&h, "SELECT bytes FROM batch") == 8);
    /* What cannot be built is dead, and a member may leave it. */
    CHECK(batch_back(s, &b, INT64_MAX, STR("service_failed"), STR("bad"), &err));
    CHECK(state_is(s, &docs[2].id, "dead") && !claim_one(s, &b));
    CHECK(task_dead_sum(s, &dead, &oldest_us, &err) &&
          dead == 2); /* the one aside, and the batch */
    CHECK(oldest_us == ask(&h, "SELECT closed_us FROM batch"));
    CHECK(operate(s, OPERATE_CANCEL, &last, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(close_all(s) == 0 && claim_one(s, &b) && b.members == 1 && is_healthy(s));
    store_close(s);
}

/* Who is cancelled is not sent: a batch that is being built again is built anew without it. */
TEST(a_member_leaves_while_its_batch_is_built)
{
    static struct accept_op docs[2];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct operate_order order = { .who = STR("test"), .keep_days = 1, .config = 1 };
    struct operate_answer answer;
    struct accept_op doc;
    struct batch b, again;
    struct err err = { 0 };
    bool ours;

    CHECK(s != NULL);
    for (size_t i = 0; i < 2; i++)
        docs[i] = doc_of(STR("body"));
    CHECK(join_some(s, docs, 2) && close_all(s) == 1 && claim_one(s, &b));
    CHECK(batch_back(s, &b, 0, STR("service_failed"), STR("bad"), &err) && claim_one(s, &b));
    struct operate_target last = { .id = docs[1].id };

    CHECK(operate(s, OPERATE_CANCEL, &last, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(build(s, &b, &doc, &ours) && !ours && state_is(s, &docs[1].id, "cancelled"));
    CHECK(batch_back(s, &b, INT64_MAX, STR("service_failed"), STR("bad"),
                     &err)); /* not its any more */
    CHECK(claim_one(s, &again) && again.members == 1 && build(s, &again, &doc, &ours) && ours);
    CHECK(is_healthy(s));
    store_close(s);
}

/* proves: ME4 */
TEST(a_member_that_is_edited_leaves_an_open_batch)
{
    static struct accept_op docs[2];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct edit_order order = {
        .has_original = true, .supersede = true, .who = STR("test"), .keep_days = 1
    };
    struct accept_op edits[2] = { doc_of(STR("other")), doc_of(STR("other")) };
    struct operate_answer answer;
    struct err err = { 0 };

    CHECK(s != NULL);
    for (size_t i = 0; i < 2; i++)
        docs[i] = doc_of(STR("body"));
    CHECK(join_some(s, docs, 2));
    order.original = docs[0].id;
    CHECK(edit(s, &edits[0], &order, &answer, &err) && answer.result == OPERATE_DONE);
    CHECK(state_is(s, &docs[0].id, "superseded") && ask(&h, "SELECT members FROM batch") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM link WHERE kind = 1") == 1 && close_all(s) == 1);
    order.original = docs[1].id;
    CHECK(edit(s, &edits[1], &order, &answer, &err) && answer.result == OPERATE_NOTHING);
    CHECK(ask(&h, "SELECT members FROM batch") == 1 && is_healthy(s));
    store_close(s);
}

static bool let_go(struct store *s, const struct batch *b, int64_t config)
{
    struct batch_going g = { .batch = b, .config = config };
    struct err err = { 0 };

    return batch_who_goes(s, &arena, &g, &err) && batch_let_go(s, &g, &err) && g.ours &&
           g.gone == g.count;
}

TEST(members_that_go_on_one_by_one)
{
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct batch b;
    struct task t[4];

    CHECK(s != NULL);
    for (size_t i = 0; i < 3; i++)
        docs[i] = doc_of(STR("body"));
    CHECK(join_some(s, docs, 3) && close_all(s) == 1 && claim_one(s, &b));
    CHECK(let_go(s, &b, 7) && is_healthy(s));
    CHECK(claim(s, 4, t) == 3 && ask(&h, "SELECT count(*) FROM doc WHERE route = 71") == 3);
    CHECK(ask(&h, "SELECT state FROM batch") == BATCH_ENDED);
    CHECK(ask(&h, "SELECT count(*) FROM doc WHERE config = 7") == 3);
    store_close(s);
}

/* They join, and leave the order; they go on, and stand at their old places until they are routed.
 */
TEST(members_that_go_on_keep_the_order_of_acceptance)
{
    static struct accept_op docs[3];
    static struct settle_op ops[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct batch_going g = { .config = 7 };
    struct batch b;
    struct task t[4];
    struct err err = { 0 };

    CHECK(s != NULL);
    order_number(s, true);
    for (size_t i = 0; i < 3; i++) {
        docs[i] = doc_of(STR("body"));
        docs[i].claim_wanted = true;
        docs[i].keeps_seq = i == 0 ? 1000000 : 0; /* the last one, though its number is the first */
        CHECK(accept_doc(s, &docs[i]));
        joins[i] = join_of(RECEIVER, docs[i].size);
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_JOIN);
        ops[i].join = &joins[i];
        ops[i].gateway = docs[i].gateway;
        ops[i].seq = docs[i].seq;
    }
    CHECK(ask(&h, "SELECT count(*) FROM order_open") == 3);
    CHECK(settle_ops(s, ops, 3) && ask(&h, "SELECT count(*) FROM order_open") == 0);
    CHECK(close_all(s) == 1 && claim_one(s, &b));
    g.batch = &b;
    CHECK(batch_who_goes(s, &arena, &g, &err) && g.count == 3 && g.docs[0] == docs[1].num &&
          g.docs[1] == docs[2].num && g.docs[2] == docs[0].num);
    CHECK(batch_let_go(s, &g, &err) && g.ours && g.gone == 3);
    CHECK(ask(&h, "SELECT count(*) FROM order_open") == 3 && is_healthy(s));
    CHECK(claim(s, 4, t) == 3); /* the first, too, is found */
    for (size_t i = 0; i < 3; i++) {
        const struct accept_op *doc = t[i].id == docs[0].num   ? &docs[0]
                                      : t[i].id == docs[1].num ? &docs[1]
                                                               : &docs[2];

        ops[i] = settle_of(&t[i], t[i].id, i == 0 ? SETTLE_DEAD : SETTLE_OVER);
        ops[i].state = DOCUMENT_DONE;
        ops[i].code = ops[i].message = STR("rejected");
        ops[i].gateway = doc->gateway;
        ops[i].seq = doc->seq;
    }
    CHECK(settle_ops(s, ops, 3) && ask(&h, "SELECT count(*) FROM order_open") == 0);
    store_close(s);
}

/* proves: BA5 */
TEST(a_time_of_the_schedule_is_served_once)
{
    static struct accept_op docs[1];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct batch_close c = { .name = NAME,
                             .receiver = RECEIVER,
                             .opened_until_us = INT64_MAX,
                             .why = BATCH_TIME,
                             .by = STR(""),
                             .slot_from_us = 1000,
                             .slot_us = 2000,
                             .empty = true };
    struct err err = { 0 };
    int64_t slot;

    CHECK(s != NULL);
    docs[0] = doc_of(STR("body"));
    CHECK(batch_slot(s, NAME, 1000, &slot, &err) && slot == 1000);
    CHECK(batch_slot(s, NAME, 5000, &slot, &err) && slot == 1000);
    CHECK(join_some(s, docs, 1) && batch_close(s, &c, &err) && c.ours && c.closed == 1);
    CHECK(batch_close(s, &c, &err) && !c.ours && c.closed == 0); /* another node was first */
    c.slot_from_us = 2000;
    c.slot_us = 3000;
    CHECK(batch_close(s, &c, &err) && c.ours && c.closed == 1); /* an empty one */
    CHECK(ask(&h, "SELECT count(*) FROM batch WHERE state = 1 AND members = 0") == 1);
    CHECK(batch_slot(s, NAME, 1, &slot, &err) && slot == 3000 && is_healthy(s));
    CHECK(batch_slot_reset(s, NAME, 3000, 500, &err) && batch_slot(s, NAME, 1, &slot, &err));
    CHECK(slot == 500);
    store_close(s);
}

TEST(the_doctor_finds_what_is_wrong_with_a_batch)
{
    static const char *const wrongs[] = {
        "UPDATE batch SET members = 9",
        "UPDATE batch SET state = 2",
        "UPDATE batch SET state = 3",
        "UPDATE batch_member SET batch = 5",
        "UPDATE batch_member SET doc = 5 WHERE doc = (SELECT max(doc) FROM batch_member)",
    };

    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        static struct accept_op docs[2];
        struct home h = fresh_home();
        struct store *s = open_store(&h);
        struct check_result r;
        struct err err = { 0 };

        CHECK(s != NULL);
        docs[0] = doc_of(STR("a"));
        docs[1] = doc_of(STR("b"));
        CHECK(join_some(s, docs, 2) && is_healthy(s));
        store_close(s);
        CHECK(tell(&h, wrongs[i]) && (s = open_store(&h)) != NULL);
        for (size_t k = 0; k < check_count(); k++)
            if (strcmp(check_name(k), "batches") == 0)
                CHECK(check_run(s, k, true, &r, &err) && r.bad > 0);
        store_close(s);
    }
}

/* ---- crashes ---- */

/* Joins, closes, builds and ends, over and over; says "told N" for each member that was told. */
CHILD(join_and_tell)
{
    enum { GROUP = 10, GROUPS = 6 };
    static struct accept_op docs[GROUP];
    struct store *s = open_store(h);
    struct accept_op doc;
    struct batch b;
    bool ours;

    (void)arg;
    if (s == NULL)
        return 1;
    for (int g = 0; g < GROUPS; g++) {
        for (int i = 0; i < GROUP; i++)
            docs[i] = doc_of(STR("body"));
        if (!join_some(s, docs, GROUP))
            return 1;
        for (int i = 0; i < GROUP; i++)
            printf("told %lld\n", (long long)docs[i].num);
        (void)fflush(stdout);
        if (close_all(s) != 1 || !claim_one(s, &b) || !build(s, &b, &doc, &ours) || !ours ||
            !run_over(s, &doc) || (g % 2 == 0 && !end_all(s)))
            return 1;
    }
    store_close(s);
    return 0;
}

/* What was left is carried on; then each member is in one batch, and all is over. */
static bool carry_on(struct home *h)
{
    struct store *s = open_store(h);
    struct err err = { 0 };
    struct accept_op doc;
    struct batch b;
    struct task t;
    bool ours = true, ok = s != NULL && is_healthy(s) && batch_start(s, &err) && close_all(s) >= 0;

    while (ok && claim_one(s, &b))
        ok = build(s, &b, &doc, &ours) && ours;
    while (ok && claim(s, 1, &t) == 1) { /* documents of batches, and some that never joined */
        struct settle_op o = settle_of(&t, t.id, SETTLE_OVER);

        o.state = DOCUMENT_DELIVERED;
        ok = settle_ops(s, &o, 1);
    }
    ok = ok && end_all(s) && is_healthy(s) && ask(h, "SELECT count(*) FROM batch_member") == 0 &&
         ask(h, "SELECT count(*) FROM batch WHERE state < 3") == 0 &&
         ask(h, "SELECT count(*) FROM (SELECT child FROM link WHERE kind = 2 GROUP BY child "
                "HAVING count(*) > 1) AS twice") == 0;
    if (s != NULL)
        store_close(s);
    return ok;
}

/* proves: BA2 BA3 */
TEST(killed_at_every_point_each_member_is_in_one_batch)
{
    static const char *const faults[] = { "batch.joined:kill:3",  "batch.frozen:kill:3",
                                          "batch.stored:kill:3",  "batch.ending:kill:2",
                                          "group.written:kill:9", "group.committed:kill:12",
                                          "group.written:kill:14" };

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        AUTO(buf_done) struct buf said = BUF_INIT(1 << 20);
        struct home h = fresh_home();
        struct str line, rest;
        int status = run_child("join_and_tell", &h, faults[i], "", &said);

        CHECK(was_killed(status) && carry_on(&h));
        for (rest = buf_view(&said); rest.len > 0;) {
            char text[120];

            rest = str_cut(rest, '\n', &line);
            if (!str_starts(line, STR("told ")))
                continue;
            (void)snprintf(text, sizeof text,
                           "SELECT count(*) FROM link WHERE kind = 2 AND child = %.*s",
                           (int)(line.len - 5), line.ptr + 5);
            CHECK(ask(&h, text) == 1);
        }
    }
}

/* ---- races ---- */

struct racer {
    struct store *store;
    bool ok;
    struct accept_op docs[MOST];
    struct batch_join joins[MOST];
    struct settle_op ops[MOST];
};

static void *race(void *arg)
{
    struct racer *r = arg;

    r->ok = true;
    for (size_t i = 0; r->ok && i < MOST; i++)
        r->docs[i] = doc_of(STR("body"));
    r->ok = born_docs(r->store, r->docs, MOST);
    for (size_t i = 0; r->ok && i < MOST; i += 4) {
        for (size_t k = i; k < i + 4; k++) {
            r->joins[k] = join_of(RECEIVER + (int64_t)k % 2, 4);
            r->joins[k].members_most = 5;
            r->ops[k] = settle_of(&r->docs[k].task, r->docs[k].num, SETTLE_JOIN);
            r->ops[k].join = &r->joins[k];
        }
        r->ok = settle_ops(r->store, &r->ops[i], 4) && (i % 16 != 0 || close_all(r->store) >= 0);
    }
    return NULL;
}

/* proves: BA4 */
TEST(who_joins_while_it_closes_is_in_one_batch)
{
    static struct racer racers[2];
    struct home h = fresh_home(), beside = on_postgres() ? home_beside(&h) : h;
    pthread_t threads[2];

    CHECK((racers[0].store = open_store(&h)) != NULL);
    racers[1].store = on_postgres() ? open_store(&beside) : racers[0].store;
    CHECK(racers[1].store != NULL);
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, race, &racers[i]) == 0);
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0 && racers[i].ok);
    CHECK(is_healthy(racers[0].store) && close_all(racers[0].store) >= 0);
    CHECK(ask(&h, "SELECT count(*) FROM batch_member") == 2 * MOST);
    CHECK(ask(&h, "SELECT count(*) FROM (SELECT doc FROM batch_member GROUP BY doc) AS d") ==
          2 * MOST);
    CHECK(ask(&h, "SELECT count(*) FROM batch WHERE members > 5 OR members < 1") == 0);
    if (on_postgres())
        store_close(racers[1].store);
    store_close(racers[0].store);
}

STORE_TEST_MAIN
