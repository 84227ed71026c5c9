/* Backups of a store that works, and what may be sent from one that was restored. */
#include "store/backup/restore.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/backup/backup.h"
#include "store/backup/restore_files.h"
#include "store/batch/batch.h"
#include "store/manual/operate.h"
#include "store/retention/retain.h"
#include "store/retention/retain_gate.h"
#include "store/road/delivery.h"
#include "store/watch/check.h"
#include "store_test.h"

static bool is_clean(struct store *s)
{
    bool ok = true;

    for (size_t i = 0; i < check_count(); i++) {
        struct check_result r;
        struct err err = { 0 };

        if (check_run(s, i, true, &r, &err) && r.bad == 0)
            continue;
        printf("# %s: %s %s\n", check_name(i), r.message, err.text);
        ok = false;
    }
    return ok;
}

/* ---- backup ---- */

struct busy {
    struct store *s;
    _Atomic bool stop;
    _Atomic int count;
    bool ok;
};

static void *work(void *arg)
{
    struct busy *b = arg;

    for (b->ok = true; b->ok && !b->stop; b->count += 20)
        b->ok = accept_many(b->s, b->count, 20, 7);
    return NULL;
}

static bool backup_to(struct store *s, const char *folder, struct backup_result *ret,
                      struct err *err)
{
    struct backup_options o = { .folder = folder };
    struct backup_progress p = { 0 };
    bool ok = backup_run(s, &o, &p, ret, err);

    if (!ok)
        printf("# backup: %s (%s)\n", err->text, err->where);
    return ok;
}

struct copy {
    struct store *s;
    const char *folder;
    struct backup_result result;
    _Atomic bool done, ok;
};

static void *copy_all(void *arg)
{
    struct copy *c = arg;
    struct err err = { 0 };

    c->ok = backup_to(c->s, c->folder, &c->result, &err);
    c->done = true;
    return NULL;
}

TEST(sqlite_a_backup_waits_for_what_is_going_and_nothing_goes_until_it_is_taken)
{
    struct home h = fresh_home(), new = fresh_home();
    struct store *s = open_store(&h);
    struct copy c = { .s = s, .folder = new.folder };
    struct retain_order order = { .day = 1, .now_us = clock_wall_us(), .unguarded = true };
    struct retain_slice got;
    struct err err = { 0 };
    pthread_t thread;

    CHECK(s != NULL && accept_many(s, 0, 10, 7));
    CHECK(retain_enter(s)); /* as a slice does */
    CHECK(pthread_create(&thread, NULL, copy_all, &c) == 0);
    while (!retain_is_paused(s) && !c.done)
        clock_sleep_us(CLOCK_MS);
    CHECK(retain_slice(s, &order, &got, &err) && got.busy && !retain_enter(s));
    clock_sleep_us(50 * CLOCK_MS);
    CHECK(!c.done);
    retain_leave(s);
    (void)pthread_join(thread, NULL);
    CHECK(c.ok && !retain_is_paused(s) && c.result.damaged == 0);
    store_close(s);
}

TEST(sqlite_a_backup_is_of_one_moment)
{
    struct home h = fresh_home(), new = fresh_home();
    struct store *s = open_store(&h);
    struct busy b = { .s = s };
    struct backup_result r;
    struct err err = { 0 };
    pthread_t thread;
    char folder[300];

    (void)snprintf(folder, sizeof folder, "%s/copy", h.folder);
    (void)rmdir(new.folder);
    CHECK(accept_many(s, 0, 500, 100));
    (void)pthread_create(&thread, NULL, work, &b);
    while (b.count < 200)
        clock_sleep_us(1000);
    int before = b.count;

    CHECK(backup_to(s, folder, &r, &err));
    int after = b.count;

    b.stop = true;
    (void)pthread_join(thread, NULL);
    CHECK(b.ok && r.damaged == 0 && r.documents >= 500 + before && r.documents <= 500 + after + 20);
    CHECK(!retain_is_paused(s));
    store_close(s);

    struct restore_files f = { .backup = folder, .data = new.folder };

    CHECK(restore_files_run(&f, &err));
    CHECK(ask(&new, "SELECT count(*) FROM doc") == r.documents);
    s = open_store(&new);
    CHECK(s != NULL && is_clean(s));
    CHECK(accept_many(s, 0, 10, 10)); /* it goes on behind the last payload of the backup */
    CHECK(is_clean(s));
    store_close(s);
}

TEST(sqlite_a_backup_that_cannot_be_written_leaves_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct backup_options o = { .folder = "/proc/no" };
    struct backup_progress p = { 0 };
    struct backup_result r;
    struct err err = { 0 };
    char folder[300];

    CHECK(accept_many(s, 0, 10, 10));
    CHECK(!backup_run(s, &o, &p, &r, &err) && err.kind == ERR_PERMANENT);
    (void)snprintf(folder, sizeof folder, "%s/copy", h.folder);
    o.folder = folder;
    p.stop = true;
    err = (struct err){ 0 };
    CHECK(!backup_run(s, &o, &p, &r, &err) && strstr(err.text, "stops") != NULL);
    CHECK(rmdir(folder) == 0); /* it is empty */
    p.stop = false;
    err = (struct err){ 0 };
    CHECK(backup_run(s, &o, &p, &r, &err) && r.documents == 10);
    CHECK(accept_many(s, 10, 10, 10) && is_clean(s));
    store_close(s);
}

/* Entries of segments that were copied forward are found by the table that says so. */
TEST(sqlite_a_backup_follows_what_was_copied_forward)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct backup_result r;
    struct err err = { 0 };
    char folder[300];

    CHECK(accept_many(s, 0, 3, 3));
    CHECK(tell(&h, "CREATE TABLE IF NOT EXISTS moved(seg INTEGER NOT NULL, pos INTEGER NOT NULL, "
                   "to_seg INTEGER NOT NULL, to_pos INTEGER NOT NULL)") &&
          tell(&h, "INSERT INTO moved SELECT 7, pos, seg, pos FROM doc") &&
          tell(&h, "UPDATE doc SET seg = 7"));
    (void)snprintf(folder, sizeof folder, "%s/copy", h.folder);
    CHECK(backup_to(s, folder, &r, &err) && r.documents == 3 && r.damaged == 0);
    CHECK(tell(&h, "DELETE FROM moved"));
    (void)snprintf(folder, sizeof folder, "%s/copy2", h.folder);
    CHECK(backup_to(s, folder, &r, &err) && r.documents == 3 && r.damaged == 3);
    store_close(s);
}

/* ---- what is sent after it ---- */

enum { PARTS = 5 };

struct scene {
    struct home h;
    struct store *s;
    struct accept_op docs[2]; /* one with deliveries, one that is not routed */
    struct arena a;
};

static bool add_parts(struct scene *c)
{
    static const enum delivery_state states[PARTS] = { DELIVERY_READY, DELIVERY_RETRYING,
                                                       DELIVERY_DEAD, DELIVERY_IN_DOUBT,
                                                       DELIVERY_DELIVERED };
    static const char *const names[PARTS] = { "e0", "e1", "e2", "e3", "e4" };
    struct settle_op op = settle_of(&c->docs[0].task, c->docs[0].num, SETTLE_DELIVERIES);
    struct settle_delivery parts[PARTS];
    struct err err = { 0 };

    for (size_t i = 0; i < PARTS; i++) {
        struct settle_delivery *p = &parts[i];

        *p = part_of(str_of(names[i]), 0, states[i]);
        p->due_us = clock_wall_us() + (int64_t)3600 * CLOCK_S;
        p->code = STR("rejected");
        p->message = STR("no");
        if (!name_add(c->s, NAME_SYSTEM, STR("hub"), &p->system, &err) ||
            !name_add(c->s, NAME_ENDPOINT, str_of(names[i]), &p->endpoint, &err) ||
            !queue_for(c->s, p->system, p->endpoint, &p->queue, &err))
            return false;
    }
    op.parts = parts;
    op.part_count = PARTS;
    return settle_ops(c->s, &op, 1);
}

static bool begin(struct scene *c)
{
    *c = (struct scene){ .h = fresh_home(), .a = ARENA_INIT(8 << 20) };
    c->s = open_store(&c->h);
    c->docs[1] = doc_of(STR("not routed"));
    return c->s != NULL && born_docs(c->s, &c->docs[0], 1) && add_parts(c) &&
           accept_doc(c->s, &c->docs[1]) &&
           tell(&c->h, "INSERT INTO restore(num, made_us, taken_us, source, upto) SELECT 1, 2, 1, "
                       "'x', max(num) FROM doc") &&
           accept_many(c->s, 0, 1, 1); /* after the restore */
}

static void end(struct scene *c)
{
    arena_done(&c->a);
    store_close(c->s);
}

static bool apply(struct scene *c, enum restore_rule rule, struct restore_progress *ret)
{
    struct restore_order order = {
        .arena = &c->a, .who = STR("ann"), .keep_days = 45, .patience_us = 100 * CLOCK_MS
    };
    struct err err = { 0 };
    bool ok =
        restore_choose(c->s, rule, order.who, &err) && restore_apply(c->s, rule, &order, ret, &err);

    if (!ok)
        printf("# %s\n", err.text);
    return ok;
}

/* As the command line does: called again until nothing is left. */
static bool apply_all(struct scene *c, enum restore_rule rule, int64_t *ret_changed)
{
    int64_t until = clock_mono_us() + (int64_t)30 * CLOCK_S;
    struct restore_progress p = { 0 };

    for (*ret_changed = 0; !p.done; *ret_changed += p.changed)
        if (clock_mono_us() > until || !apply(c, rule, &p))
            return false;
    return true;
}

/* Until so many are changed; the rest cannot be done yet. */
static bool apply_some(struct scene *c, enum restore_rule rule, int64_t want)
{
    int64_t until = clock_mono_us() + (int64_t)30 * CLOCK_S, changed = 0;
    struct restore_progress p = { 0 };

    for (; changed < want; changed += p.changed)
        if (clock_mono_us() > until || !apply(c, rule, &p) || p.done)
            return false;
    return apply(c, rule, &p) && !p.done && p.left >= 1 && p.changed == 0 && changed == want;
}

static bool states_are(struct scene *c, const char *want)
{
    char text[64];

    (void)ask_text(&c->h,
                   on_sqlite() ? "SELECT group_concat(state, ' ') FROM (SELECT state FROM "
                                 "delivery ORDER BY id)"
                               : "SELECT string_agg(state::text, ' ' ORDER BY id) FROM "
                                 "delivery",
                   text, sizeof text);
    if (strcmp(text, want) != 0)
        printf("# states: %s\n", text);
    return strcmp(text, want) == 0;
}

static bool waits(struct scene *c)
{
    struct restore r = { 0 };
    struct err err = { 0 };

    return restore_newest(c->s, &c->a, &r, &err) && r.done_us == 0;
}

/* proves: FO14 */
TEST(restore_resend_leaves_everything_as_it_is)
{
    struct scene c;
    struct restore_progress p;
    struct restore r;
    struct err err = { 0 };

    CHECK(begin(&c) && waits(&c));
    CHECK(apply(&c, RESTORE_RESEND, &p) && p.done && p.changed == 0);
    CHECK(states_are(&c, "0 3 6 4 5"));
    CHECK(restore_newest(c.s, &c.a, &r, &err) && r.done_us != 0 && r.rule == RESTORE_RESEND &&
          str_is(r.chosen_by, "ann") && r.taken_us == 1);
    CHECK(!restore_choose(c.s, RESTORE_RESEND, STR("bob"), &err) && err.kind == ERR_PERMANENT);
    end(&c);
}

/* proves: FO14 */
TEST(restore_in_doubt_waits_for_what_is_not_routed)
{
    struct scene c;
    int64_t changed;
    struct err err = { 0 };
    struct task t;

    CHECK(begin(&c));
    CHECK(apply_some(&c, RESTORE_IN_DOUBT, 2));
    CHECK(states_are(&c, "4 4 6 4 5") && waits(&c) && is_clean(c.s));
    CHECK(!restore_choose(c.s, RESTORE_CANCEL, STR("bob"), &err) &&
          strstr(err.text, "in_doubt was chosen") != NULL);
    CHECK(claim(c.s, 1, &t) == 1 && t.id == c.docs[1].num);
    struct settle_op op = settle_of(&t, t.id, SETTLE_DELIVERIES);
    struct settle_delivery part = part_of(STR("e9"), 0, DELIVERY_READY);

    err = (struct err){ 0 };
    CHECK(name_add(c.s, NAME_SYSTEM, STR("hub"), &part.system, &err) &&
          name_add(c.s, NAME_ENDPOINT, STR("e9"), &part.endpoint, &err) &&
          queue_for(c.s, part.system, part.endpoint, &part.queue, &err));
    op.parts = &part;
    op.part_count = 1;
    CHECK(settle_ops(c.s, &op, 1));
    CHECK(apply_all(&c, RESTORE_IN_DOUBT, &changed) && changed == 1);
    CHECK(states_are(&c, "4 4 6 4 5 4") && !waits(&c) && is_clean(c.s));
    CHECK(ask(&c.h, "SELECT count(*) FROM task_ready") == 1); /* what came in since */
    end(&c);
}

/* proves: FO14 */
TEST(restore_cancel_ends_what_was_in_flight)
{
    struct scene c;
    int64_t changed;
    struct task t;

    CHECK(begin(&c));
    CHECK(claim(c.s, 1, &t) == 1 && t.id == c.docs[1].num); /* somebody has it in hand */
    CHECK(apply_some(&c, RESTORE_CANCEL, 2));
    CHECK(states_are(&c, "7 7 6 4 5") && waits(&c));
    store_close(c.s); /* what was in hand is free again, and the choice stands */
    c.s = open_store(&c.h);
    CHECK(c.s != NULL && waits(&c));
    CHECK(apply_all(&c, RESTORE_CANCEL, &changed) && changed == 1);
    CHECK(states_are(&c, "7 7 6 4 5") && is_clean(c.s));
    CHECK(ask(&c.h, "SELECT count(*) FROM doc") == 2);
    end(&c);
}

/* ---- members of batches ---- */

enum { OLD = 5, BATCH_NAME = 71, BATCH_OPENED = 73, BATCH_FULL, BATCH_MIXED };

static struct accept_op members[OLD + 1];

static bool join(struct store *s, struct accept_op *doc, int64_t receiver, int64_t members_most)
{
    struct batch_join j = { .name = BATCH_NAME,
                            .route = 72,
                            .receiver = receiver,
                            .config = 1,
                            .part = STR(""),
                            .size = 4,
                            .members_most = members_most,
                            .bytes_most = 1 << 30 };
    struct settle_op op;

    *doc = doc_of(STR("body"));
    if (!born_docs(s, doc, 1))
        return false;
    op = settle_of(&doc->task, doc->num, SETTLE_JOIN);
    op.join = &j;
    return settle_ops(s, &op, 1);
}

/* At the backup: an open batch of one member, a closing one of two, one more of one that is open,
 * which another joins after the restore, a closing one that a node was building, and an empty one.
 */
static bool begin_batches(struct scene *c)
{
    struct batch_close empty = { .name = BATCH_NAME + 100,
                                 .receiver = BATCH_OPENED,
                                 .opened_until_us = INT64_MAX,
                                 .why = BATCH_HAND,
                                 .by = STR("test"),
                                 .empty = true };
    struct batch building;
    struct err err = { 0 };
    bool found;

    *c = (struct scene){ .h = fresh_home(), .a = ARENA_INIT(8 << 20) };
    c->s = open_store(&c->h);
    if (c->s == NULL || !join(c->s, &members[0], BATCH_FULL, 1) ||
        !batch_claim(c->s, &c->a, &building, &found, &err) || !found ||
        !join(c->s, &members[1], BATCH_FULL, 2) || !join(c->s, &members[2], BATCH_FULL, 2) ||
        !join(c->s, &members[3], BATCH_OPENED, 1000) ||
        !join(c->s, &members[4], BATCH_MIXED, 1000) || !batch_close(c->s, &empty, &err))
        return false;
    store_close(c->s); /* new numbers are above all old ones */
    c->s = NULL;
    if (!tell(&c->h, on_sqlite() ? "INSERT INTO restore(num, made_us, taken_us, source, upto) "
                                   "SELECT 1, 2, 1, 'x', value FROM mark WHERE name = 'num'"
                                 : "INSERT INTO restore(num, made_us, taken_us, source, upto) "
                                   "SELECT 1, 2, 1, 'x', last_value FROM num_block"))
        return false;
    c->s = open_store(&c->h);
    return c->s != NULL && join(c->s, &members[OLD], BATCH_MIXED, 1000) &&
           ask(&c->h, "SELECT count(*) FROM batch WHERE state < 2") == 5;
}

static bool members_are(struct scene *c, const char *want)
{
    for (size_t i = 0; i < OLD; i++) {
        struct document d;
        struct err err = { 0 };

        if (!document_get(c->s, &members[i].id, &c->a, &d, &err) || !str_is(d.state, want)) {
            printf("# member %zu is %.*s, not %s\n", i, STR_ARG(d.state), want);
            return false;
        }
    }
    return ask(&c->h, "SELECT count(*) FROM batch_member") == 1 &&
           ask(&c->h, "SELECT max(doc) FROM batch_member") == members[OLD].num;
}

/* Only what came in since is in a batch that could be sent. */
static bool one_waits(struct scene *c)
{
    return ask(&c->h, "SELECT members FROM batch WHERE state = 0") == 1 &&
           ask(&c->h, "SELECT receiver FROM batch WHERE state = 0") == BATCH_MIXED;
}

/* proves: FO14 */
TEST(restore_cancel_reaches_members_of_batches_that_are_open_or_closing)
{
    struct scene c;
    int64_t changed;
    struct batch b;
    struct err err = { 0 };
    bool found;

    CHECK(begin_batches(&c));
    CHECK(apply_all(&c, RESTORE_CANCEL, &changed) && changed == OLD + 1 && !waits(&c));
    CHECK(members_are(&c, "cancelled") && one_waits(&c) && is_clean(c.s));
    CHECK(ask(&c.h, "SELECT count(*) FROM batch WHERE state IN (1, 2)") == 0);
    CHECK(batch_claim(c.s, &c.a, &b, &found, &err) && !found);
    end(&c);
}

/* proves: FO14 */
TEST(restore_in_doubt_makes_members_of_batches_dead_letters)
{
    struct operate_order order = { .who = STR("ann"), .keep_days = 45, .config = 1 };
    struct operate_target target;
    struct operate_answer answer;
    struct scene c;
    int64_t changed;
    struct batch b;
    struct task t;
    struct err err = { 0 };
    bool found;

    CHECK(begin_batches(&c));
    CHECK(apply_all(&c, RESTORE_IN_DOUBT, &changed) && changed == OLD + 1 && !waits(&c));
    CHECK(members_are(&c, "dead") && one_waits(&c) && is_clean(c.s));
    CHECK(ask(&c.h, "SELECT count(*) FROM task_dead WHERE code = 'restored'") == OLD);
    /* The empty one is not built before somebody says so. */
    CHECK(ask(&c.h, "SELECT count(*) FROM batch WHERE state IN (1, 2)") == 1);
    CHECK(batch_claim(c.s, &c.a, &b, &found, &err) && !found);
    struct batch_close again = { .name = BATCH_NAME + 100,
                                 .receiver = BATCH_ANY_RECEIVER,
                                 .opened_until_us = INT64_MAX,
                                 .why = BATCH_HAND,
                                 .by = STR("ann") };

    CHECK(batch_close(c.s, &again, &err) && batch_claim(c.s, &c.a, &b, &found, &err) && found);
    /* A member that is retried is routed once more. */
    target = (struct operate_target){ .id = members[1].id };
    CHECK(operate(c.s, OPERATE_RETRY, &target, 1, &order, &answer, &err) &&
          answer.result == OPERATE_DONE);
    CHECK(claim(c.s, 1, &t) == 1 && t.id == members[1].num);
    end(&c);
}

/* ---- stores that went back ---- */

/* proves: FO14 */
TEST(a_store_that_went_back_in_time_is_noticed)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    store_close(s);
    s = open_store(&h);
    CHECK(ask(&h, "SELECT count(*) FROM restore") == 0);
    store_close(s);
    CHECK(tell(&h, "UPDATE mark SET value = 1 WHERE name = 'epoch'"));
    s = open_store(&h);
    CHECK(ask(&h, "SELECT count(*) FROM restore WHERE done_us = 0") == 1);
    store_close(s);
    CHECK(tell(&h, "UPDATE mark SET value = 1 WHERE name = 'epoch'") &&
          tell(&h, "UPDATE mark SET value = value + 1 WHERE name = 'store'"));
    s = open_store(&h); /* another store */
    CHECK(ask(&h, "SELECT count(*) FROM restore") == 1);
    store_close(s);
}

STORE_TEST_MAIN
