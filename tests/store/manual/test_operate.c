/* What people do to documents: retry, cancel, discard. */
#include <stdio.h>

#include "base/auto.h"
#include "core/retain_rule.h"
#include "scene.h"
#include "store/road/claims.h"
#include "store/road/done.h"

static enum operate_result act(struct scene *c, enum operate_action action, enum retry_from from,
                               bool again)
{
    struct operate_target target = { .id = c->doc.id };
    struct operate_order order = {
        .who = STR("admin"), .from = from, .again = again, .config = NEWEST, .keep_days = KEEP
    };
    struct err err = { 0 };

    if (!operate(c->s, action, &target, 1, &order, &c->answer, &err)) {
        printf("# operate: %s (%s)\n", err.text, err.where);
        return (enum operate_result) - 1;
    }
    return c->answer.result;
}

static bool look(struct scene *c)
{
    struct err err = { 0 };

    if (!document_get(c->s, &c->doc.id, &c->a, &c->d, &err) ||
        !delivery_of_document(c->s, c->doc.num, &c->a, c->deliveries, &c->delivery_count, &err)) {
        printf("# look: %s\n", err.text);
        return false;
    }
    return true;
}

static bool last_line_is(struct scene *c, enum timeline_outcome outcome, int64_t config)
{
    struct timeline_reader r = timeline_read(c->d.timeline);
    struct timeline_line line, last = { 0 };
    bool damaged;

    while (timeline_next(&r, &line, &damaged))
        last = line;
    return !damaged && last.stage == TIMELINE_OPERATOR && last.outcome == outcome &&
           last.config == config && str_is(last.what, "admin") &&
           str_is(last.message, c->answer.text);
}

/* One task of this queue, claimed. */
static bool claim_one(struct scene *c, int64_t queue, struct task *ret)
{
    struct err err = { 0 };
    size_t n;

    return task_claim(c->s, queue, 1, LEASE_US, ret, &n, &err) && n == 1;
}

/* ---- retry ---- */

TEST(a_dead_delivery_is_ready_again)
{
    struct scene c;
    struct task t;

    CHECK(begin(&c));
    add_part(&c, "archive", DELIVERY_DELIVERED);
    add_part(&c, "api", DELIVERY_DEAD);
    CHECK(settle_parts(&c) && places(c.s).dead == 1);
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, false) == OPERATE_DONE);
    CHECK(strcmp(c.answer.text, "1 delivery is ready again: api") == 0);
    CHECK(look(&c) && c.d.is == DOCUMENT_ACTIVE && c.d.config == 3 && c.d.again == 0);
    CHECK(last_line_is(&c, TIMELINE_AGAIN, 0));
    CHECK(c.deliveries[0].state == DELIVERY_DELIVERED && c.deliveries[1].state == DELIVERY_READY);
    CHECK(c.deliveries[1].attempts == 0 && c.deliveries[1].first_us > 5 &&
          c.deliveries[1].code.len == 0 && c.deliveries[1].status == 0);
    CHECK(str_eq(c.deliveries[1].id, c.parts[1].id));
    CHECK(places(c.s).dead == 0);
    CHECK(claim_one(&c, c.queue, &t) && t.id == c.deliveries[1].num && t.kind == TASK_DELIVER);
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, false) == OPERATE_NOTHING);
    end(&c);
}

TEST(a_delivery_that_waits_for_its_time_goes_now)
{
    struct scene c;
    struct task t;

    CHECK(begin(&c));
    add_part(&c, "api", DELIVERY_RETRYING);
    CHECK(settle_parts(&c) && places(c.s).later == 1);
    CHECK(act(&c, OPERATE_RETRY, RETRY_DELIVERY, false) == OPERATE_DONE);
    CHECK(places(c.s).later == 0 && claim_one(&c, c.queue, &t));
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, false) == OPERATE_NOTHING);
    CHECK(strcmp(c.answer.text, "it is waiting for its turn already") == 0);
    end(&c);
}

TEST(a_delivery_that_is_due_is_left_where_it_is)
{
    struct scene c;
    struct err err = { 0 };
    int64_t moved, next;

    CHECK(begin(&c));
    add_part(&c, "api", DELIVERY_RETRYING);
    CHECK(settle_parts(&c));
    CHECK(task_wake(c.s, c.parts[0].due_us, 10, &moved, &next, &err) && moved == 1);
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, false) == OPERATE_NOTHING);
    CHECK(places(c.s).ready == 1);
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_DONE && places(c.s).ready == 0);
    end(&c);
}

TEST(what_was_delivered_goes_again_under_a_new_id)
{
    struct scene c;
    AUTO(buf_done) struct buf want = BUF_INIT(500);

    CHECK(begin(&c));
    add_part(&c, "archive", DELIVERY_DELIVERED);
    add_part(&c, "api", DELIVERY_DEAD);
    CHECK(settle_parts(&c));
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, true) == OPERATE_DONE);
    CHECK(look(&c) && c.d.again == 1 && c.delivery_count == 2);
    for (int i = 0; i < 2; i++) {
        buf_clear(&want);
        buf_printf(&want, "%.*s.again1", STR_ARG(c.parts[i].id));
        CHECK(c.deliveries[i].state == DELIVERY_READY);
        CHECK(str_eq(c.deliveries[i].id, buf_view(&want)));
    }
    CHECK(places(c.s).ready == 2 && places(c.s).dead == 0);
    end(&c);
}

/* proves: RO10 */
TEST(a_dead_document_starts_again_with_the_newest_configuration)
{
    static const struct {
        enum retry_from from;
        bool has_facts, keeps;
        const char *text;
    } cases[] = {
        { RETRY_AUTO, true, true, "it starts again at the router with version 9" },
        { RETRY_AUTO, false, false, "it starts again at extraction with version 9" },
        { RETRY_ROUTE, true, true, "it starts again at the router with version 9" },
        { RETRY_EXTRACT, true, false, "it starts again at extraction with version 9" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene c;
        struct task t;

        CHECK(begin(&c) && settle_dead(&c, "no_route", cases[i].has_facts));
        CHECK(act(&c, OPERATE_RETRY, cases[i].from, false) == OPERATE_DONE);
        CHECK(strcmp(c.answer.text, cases[i].text) == 0);
        CHECK(look(&c) && c.d.is == DOCUMENT_ACTIVE && c.d.config == NEWEST);
        CHECK((c.d.receiver == 77) == cases[i].keeps && c.d.code.len == 0);
        CHECK(last_line_is(&c, TIMELINE_AGAIN, NEWEST));
        CHECK(places(c.s).dead == 0 && claim_one(&c, QUEUE_INTAKE, &t));
        CHECK(t.id == c.doc.num && t.kind == TASK_RUN && t.attempts == 1);
        end(&c);
    }
}

TEST(deliveries_that_did_not_get_through_are_made_anew)
{
    struct scene c;

    CHECK(begin(&c));
    add_part(&c, "api", DELIVERY_DEAD);
    add_part(&c, "slow", DELIVERY_RETRYING);
    add_part(&c, "idle", DELIVERY_READY);
    CHECK(settle_parts(&c));
    CHECK(act(&c, OPERATE_RETRY, RETRY_ROUTE, false) == OPERATE_DONE);
    CHECK(look(&c) && c.delivery_count == 0 && c.d.config == NEWEST && c.d.receiver == 77);
    struct task_places p = places(c.s);

    CHECK(p.ready == 1 && p.later == 0 && p.dead == 0);
    end(&c);
}

TEST(a_restart_does_not_send_twice_unasked)
{
    static const enum delivery_state reached[] = { DELIVERY_DELIVERED, DELIVERY_IN_DOUBT };

    for (size_t i = 0; i < 2; i++) {
        struct scene c;

        CHECK(begin(&c));
        add_part(&c, "archive", reached[i]);
        add_part(&c, "api", DELIVERY_DEAD);
        CHECK(settle_parts(&c));
        CHECK(act(&c, OPERATE_RETRY, RETRY_EXTRACT, false) == OPERATE_NOTHING);
        CHECK(look(&c) && c.delivery_count == 2);
        CHECK(act(&c, OPERATE_RETRY, RETRY_EXTRACT, true) == OPERATE_DONE);
        CHECK(look(&c) && c.delivery_count == 0 && c.d.again == 1 && c.d.sender == 0);
        CHECK(places(c.s).ready == 1 && places(c.s).dead == 0);
        end(&c);
    }
}

TEST(an_ended_document_lives_again)
{
    static const struct {
        enum retry_from from;
        int64_t config, sender;
    } cases[] = {
        { RETRY_AUTO, NEWEST, 77 },
        { RETRY_EXTRACT, NEWEST, 0 },
        { RETRY_DELIVERY, 3, 77 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene c;
        struct task t;
        char sql[80];

        CHECK(begin(&c));
        add_part(&c, "api", DELIVERY_DELIVERED);
        CHECK(settle_parts(&c) && look(&c) && c.d.is == DOCUMENT_DELIVERED);
        CHECK(act(&c, OPERATE_RETRY, cases[i].from, false) == OPERATE_NOTHING);
        CHECK(strcmp(c.answer.text, "it is delivered; --again starts it again") == 0);
        CHECK(act(&c, OPERATE_RETRY, cases[i].from, true) == OPERATE_DONE);
        CHECK(look(&c) && c.d.is == DOCUMENT_ACTIVE && c.d.again == 1);
        CHECK(c.d.config == cases[i].config && c.d.sender == cases[i].sender);
        CHECK(payload_is(c.s, &c.doc, STR("body")));
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM done_%lld",
                       (long long)done_day(KEEP));
        CHECK(ask(&c.h, sql) == 0 && ask(&c.h, "SELECT count(*) FROM doc") == 1);
        CHECK(claim_one(&c, QUEUE_INTAKE, &t) && t.id == c.doc.num);
        struct settle_op over = settle_of(&t, c.doc.num, SETTLE_OVER);

        CHECK(settle_ops(c.s, &over, 1) && ask(&c.h, sql) == 1);
        end(&c);
    }
}

/* ---- cancel and discard ---- */

TEST(a_document_that_waits_is_cancelled)
{
    struct scene c;

    CHECK(begin(&c) && give_back(c.s, &c.doc.task));
    CHECK(act(&c, OPERATE_DISCARD, RETRY_AUTO, false) == OPERATE_NOTHING);
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_DONE);
    CHECK(look(&c) && c.d.is == DOCUMENT_CANCELLED && last_line_is(&c, TIMELINE_CANCELLED, 0));
    CHECK(places(c.s).ready == 0 && ask(&c.h, "SELECT count(*) FROM doc") == 0);
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_NOTHING);
    CHECK(strcmp(c.answer.text, "it is over: cancelled") == 0);
    end(&c);
}

TEST(a_document_that_is_due_later_is_cancelled)
{
    struct scene c;
    struct err err = { 0 };
    bool ours;

    CHECK(begin(&c));
    CHECK(task_fail(c.s, &c.doc.task, clock_wall_us() + 99 * CLOCK_S, STR("x"), &ours, &err));
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_DONE && places(c.s).later == 0);
    CHECK(look(&c) && c.d.is == DOCUMENT_CANCELLED);
    end(&c);
}

TEST(cancel_leaves_what_was_delivered)
{
    struct scene c;

    CHECK(begin(&c));
    add_part(&c, "archive", DELIVERY_DELIVERED);
    add_part(&c, "api", DELIVERY_DEAD);
    add_part(&c, "slow", DELIVERY_RETRYING);
    add_part(&c, "idle", DELIVERY_READY);
    CHECK(settle_parts(&c));
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_DONE);
    CHECK(strcmp(c.answer.text, "3 deliveries are cancelled: api, slow, idle") == 0);
    CHECK(look(&c) && c.d.is == DOCUMENT_DELIVERED && c.delivery_count == 0);
    struct task_places p = places(c.s);

    CHECK(p.ready == 0 && p.later == 0 && p.dead == 0 && p.lease == 0);
    end(&c);
}

TEST(discard_ends_only_what_is_dead)
{
    struct scene c;

    CHECK(begin(&c));
    add_part(&c, "api", DELIVERY_DEAD);
    add_part(&c, "slow", DELIVERY_RETRYING);
    CHECK(settle_parts(&c));
    CHECK(act(&c, OPERATE_DISCARD, RETRY_AUTO, false) == OPERATE_DONE);
    CHECK(look(&c) && c.d.is == DOCUMENT_RETRYING && c.deliveries[0].state == DELIVERY_CANCELLED);
    CHECK(last_line_is(&c, TIMELINE_CANCELLED, 0) && places(c.s).dead == 0 &&
          places(c.s).later == 1);
    CHECK(act(&c, OPERATE_DISCARD, RETRY_AUTO, false) == OPERATE_NOTHING);
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_DONE);
    CHECK(look(&c) && c.d.is == DOCUMENT_CANCELLED);
    end(&c);
}

TEST(a_dead_document_is_discarded)
{
    struct scene c;

    CHECK(begin(&c) && settle_dead(&c, "no_route", true));
    CHECK(act(&c, OPERATE_DISCARD, RETRY_AUTO, false) == OPERATE_DONE);
    CHECK(look(&c) && c.d.is == DOCUMENT_CANCELLED && places(c.s).dead == 0);
    CHECK(payload_is(c.s, &c.doc, STR("body")));
    end(&c);
}

/* As retention discards dead letters: in a table that is over with this day. */
TEST(what_a_receiver_has_is_kept_by_its_rule_whatever_was_discarded)
{
    static const enum delivery_state others[] = { DELIVERY_DELIVERED, DELIVERY_CANCELLED };

    for (int i = 0; i < 2; i++) {
        struct scene c;
        struct operate_order order = { .who = STR("retention"), .config = NEWEST, .keep_days = 0 };
        struct operate_target target;
        struct err err = { 0 };
        char sql[100];

        CHECK(begin(&c));
        add_part(&c, "archive", others[i]);
        add_part(&c, "api", DELIVERY_DEAD);
        CHECK(settle_parts(&c));
        target = (struct operate_target){ .id = c.doc.id };
        CHECK(operate(c.s, OPERATE_DISCARD, &target, 1, &order, &c.answer, &err));
        CHECK(c.answer.result == OPERATE_DONE && look(&c));
        CHECK(c.d.is == (i == 0 ? DOCUMENT_DELIVERED : DOCUMENT_CANCELLED));
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM done_%lld",
                       (long long)done_day(i == 0 ? RETAIN_DAYS : 0));
        CHECK(ask(&c.h, sql) == 1);
        end(&c);
    }
}

/* ---- left alone ---- */

TEST(what_is_worked_on_is_left_alone)
{
    struct scene c;
    struct task t;

    CHECK(begin(&c));
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_BUSY);
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, false) == OPERATE_BUSY);
    CHECK(act(&c, OPERATE_DISCARD, RETRY_AUTO, false) == OPERATE_NOTHING);
    add_part(&c, "api", DELIVERY_DEAD);
    add_part(&c, "idle", DELIVERY_READY);
    CHECK(settle_parts(&c) && claim_one(&c, c.queue, &t));
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_BUSY);
    CHECK(act(&c, OPERATE_RETRY, RETRY_ROUTE, false) == OPERATE_BUSY);
    CHECK(look(&c) && c.delivery_count == 2 && c.deliveries[0].state == DELIVERY_DEAD);
    CHECK(places(c.s).dead == 1);
    /* The dead one has nothing to do with it. */
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, false) == OPERATE_DONE && places(c.s).dead == 0);
    end(&c);
}

TEST(ids_that_are_not_there)
{
    struct scene c;
    struct accept_op kept;

    CHECK(begin(&c));
    kept = c.doc;
    c.doc.id = id_make(clock_wall_us(), kept.num, 12345); /* the row is there, under another id */
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_NONE);
    c.doc.id = id_make(clock_wall_us(), kept.num + 1000, 12345);
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, true) == OPERATE_NONE);
    end(&c);
}

TEST(one_delivery_of_several)
{
    struct scene c;
    struct operate_order order = { .who = STR("admin"), .config = NEWEST, .keep_days = KEEP };
    struct operate_target target;
    struct err err = { 0 };

    CHECK(begin(&c));
    add_part(&c, "api", DELIVERY_DEAD);
    add_part(&c, "archive", DELIVERY_DEAD);
    CHECK(settle_parts(&c) && look(&c));
    target = (struct operate_target){ .id = c.doc.id, .delivery = c.deliveries[1].num };
    CHECK(operate(c.s, OPERATE_RETRY, &target, 1, &order, &c.answer, &err));
    CHECK(c.answer.result == OPERATE_DONE && look(&c));
    CHECK(c.deliveries[0].state == DELIVERY_DEAD && c.deliveries[1].state == DELIVERY_READY);
    end(&c);
}

/* proves: DL3 */
TEST(many_at_once_stand_behind_what_comes_in)
{
    enum { COUNT = OPERATE_MOST };
    static struct accept_op docs[COUNT];
    static struct settle_op ops[COUNT];
    static struct operate_target targets[COUNT];
    static struct operate_answer answers[COUNT];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct operate_order order = {
        .who = STR("admin"), .config = NEWEST, .keep_days = KEEP, .bulk = true
    };
    struct accept_op late = doc_of(STR("late"));
    struct task t[2];
    struct err err = { 0 };

    for (int i = 0; i < COUNT; i++) {
        docs[i] = doc_of(STR("x"));
        docs[i].claim_wanted = true;
    }
    CHECK(s != NULL && accept_docs(s, docs, COUNT));
    for (int i = 0; i < COUNT; i++) {
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_DEAD);
        ops[i].code = STR("no_route");
        ops[i].message = STR("x");
        targets[i].id = docs[i].id;
    }
    CHECK(settle_ops(s, ops, COUNT) && places(s).dead == COUNT);
    CHECK(operate(s, OPERATE_RETRY, targets, COUNT, &order, answers, &err));
    for (int i = 0; i < COUNT; i++)
        CHECK(answers[i].result == OPERATE_DONE);
    CHECK(places(s).dead == 0 && places(s).ready == COUNT);
    CHECK(accept_doc(s, &late));
    CHECK(claim(s, 2, t) == 2 && t[0].id == late.num && t[1].prio == PRIO_BULK);
    CHECK(operate(s, OPERATE_CANCEL, targets + 9, 1, &order, answers, &err));
    CHECK(answers[0].result == OPERATE_DONE);
    store_close(s);
}

TEST(a_cancelled_document_stays_so_after_a_restart)
{
    struct scene c;

    CHECK(begin(&c));
    add_part(&c, "api", DELIVERY_DEAD);
    CHECK(settle_parts(&c));
    CHECK(act(&c, OPERATE_RETRY, RETRY_AUTO, false) == OPERATE_DONE);
    store_close(c.s);
    c.s = open_store(&c.h);
    CHECK(c.s != NULL && look(&c) && c.d.is == DOCUMENT_ACTIVE);
    CHECK(act(&c, OPERATE_CANCEL, RETRY_AUTO, false) == OPERATE_DONE);
    store_close(c.s);
    c.s = open_store(&c.h);
    CHECK(c.s != NULL && look(&c) && c.d.is == DOCUMENT_CANCELLED && places(c.s).ready == 0);
    end(&c);
}

STORE_TEST_MAIN
