/* Records of sets: written with the settlement that follows from them, in chains without a gap. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "family.h"
#include "retain_scene.h"
#include "store/road/set_record.h"

static int64_t set;

static bool open_set(struct store *s)
{
    struct err err = { 0 };

    return s != NULL && name_add(s, NAME_SET, STR("articles"), &set, &err);
}

static struct set_record get(struct store *s, const char *key, struct arena *a)
{
    struct set_record r = { .version = -1 };
    struct err err = { 0 };

    if (!set_record_get(s, set, str_of(key), a, &r, &err))
        printf("# record: %s\n", err.text);
    return r;
}

static bool is_value(struct store *s, const char *key, const char *value)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(2 << 20);
    struct set_record r = get(s, key, &a);

    return r.version > 0 && str_is(r.value, value);
}

static struct set_write write_of(const char *key, const char *value, int64_t version)
{
    return (struct set_write){
        .set = set, .key = str_of(key), .value = str_of(value), .version = version
    };
}

static struct settle_op end_with(const struct accept_op *doc, const struct set_write *w, size_t n)
{
    struct settle_op o = settle_of(&doc->task, doc->num, SETTLE_OVER);

    o.records = w;
    o.record_count = n;
    return o;
}

/* Settles together; true when all were committed, ours or not. */
static bool commit(struct store *s, struct settle_op *ops, size_t count)
{
    (void)settle_ops(s, ops, count);
    for (size_t i = 0; i < count; i++)
        if (!ops[i].op.ok)
            return false;
    return true;
}

/* proves: PR4 */
TEST(a_record_is_written_with_the_settlement)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(2 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2];
    struct set_write w[2];
    struct settle_op o;

    CHECK(open_set(s) && born_docs(s, docs, 2) && get(s, "a", &a).version == 0);
    w[0] = write_of("a", "one", 0);
    w[1] = write_of("b", "other", 0);
    o = end_with(&docs[0], w, 2);
    CHECK(commit(s, &o, 1) && o.ours && o.over && !o.overtaken);
    CHECK(is_value(s, "a", "one") && is_value(s, "b", "other"));
    struct set_record before = get(s, "a", &a);

    CHECK(before.doc == docs[0].num && before.updated_us > 0);
    w[0] = write_of("a", "two", before.version);
    o = end_with(&docs[1], w, 1);
    CHECK(commit(s, &o, 1) && o.ours && is_value(s, "a", "two") && is_value(s, "b", "other"));
    CHECK(get(s, "a", &a).version > before.version && all_is_well(s));
    store_close(s);
}

/* What a document needs to give the same pair again, and to know that it is late. */
TEST(a_record_knows_what_it_was_and_whose_it_is)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(2 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2];
    struct set_write w;
    struct settle_op o;

    CHECK(open_set(s) && born_docs(s, docs, 2));
    w = write_of("a", "one", 0);
    o = end_with(&docs[0], &w, 1);
    CHECK(commit(s, &o, 1) && o.ours);
    struct set_record r = get(s, "a", &a);

    CHECK(r.previous.ptr == NULL && r.doc == docs[0].num && r.seq == 0 && r.gateway == 0);
    w = write_of("a", "two", r.version);
    w.previous = r.value;
    o = end_with(&docs[1], &w, 1);
    o.gateway = 7;
    o.seq = 3;
    o.child = 5;
    CHECK(commit(s, &o, 1) && o.ours);
    r = get(s, "a", &a);
    CHECK(str_is(r.value, "two") && str_is(r.previous, "one") && r.doc == docs[1].num);
    CHECK(r.gateway == 7 && r.seq == 3 && r.child == 5);
    store_close(s);
}

/* A document that brings the value which is there takes its place in the order, and nothing else.
 */
TEST(a_record_that_stays_knows_who_said_so_last)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(2 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[3];
    struct set_write w;
    struct settle_op o;

    CHECK(open_set(s) && born_docs(s, docs, 3));
    w = write_of("a", "one", 0);
    o = end_with(&docs[0], &w, 1);
    CHECK(commit(s, &o, 1) && o.ours);
    struct set_record before = get(s, "a", &a);

    w = write_of("a", "one", before.version);
    w.stays = true;
    o = end_with(&docs[1], &w, 1);
    o.gateway = 7;
    o.seq = 4;
    CHECK(commit(s, &o, 1) && o.ours);
    struct set_record r = get(s, "a", &a);

    CHECK(r.version > before.version && r.gateway == 7 && r.seq == 4 && r.child == 0);
    CHECK(str_is(r.value, "one") && r.previous.ptr == NULL && r.doc == docs[0].num);
    CHECK(r.updated_us == before.updated_us);
    o = end_with(&docs[2], &w, 1); /* it has read what was before */
    CHECK(commit(s, &o, 1) && !o.ours && o.overtaken && all_is_well(s));
    store_close(s);
}

/* Of two that read the same value one goes on, the other one runs again, in one group or in two. */
TEST(who_was_overtaken_runs_again)
{
    for (int together = 0; together < 2; together++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(2 << 20);
        struct home h = fresh_home();
        struct store *s = open_store(&h);
        struct accept_op docs[2];
        struct set_write w[2] = { 0 };
        struct settle_op o[2];

        CHECK(open_set(s) && born_docs(s, docs, 2));
        for (int i = 0; i < 2; i++) {
            w[i] = write_of("a", i == 0 ? "one" : "two", 0);
            o[i] = end_with(&docs[i], &w[i], 1);
        }
        CHECK(together ? commit(s, o, 2) : commit(s, &o[0], 1) && commit(s, &o[1], 1));
        int late = o[0].ours ? 1 : 0;

        CHECK(o[1 - late].ours && !o[late].ours && o[late].overtaken && !o[late].over);
        CHECK(is_value(s, "a", late == 1 ? "one" : "two"));
        w[late].version = get(s, "a", &a).version;
        CHECK(commit(s, &o[late], 1) && o[late].ours && !o[late].overtaken); /* the same claim */
        CHECK(is_value(s, "a", late == 1 ? "two" : "one") && all_is_well(s));
        store_close(s);
    }
}

/* One record that changed is enough: none of them is written. */
TEST(all_records_of_a_settlement_or_none)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2];
    struct set_write first, both[2];
    struct settle_op o;

    CHECK(open_set(s) && born_docs(s, docs, 2));
    first = write_of("b", "first", 0);
    o = end_with(&docs[0], &first, 1);
    CHECK(commit(s, &o, 1) && o.ours);
    both[0] = write_of("a", "late", 0);
    both[1] = write_of("b", "late", 0);
    o = end_with(&docs[1], both, 2);
    CHECK(commit(s, &o, 1) && o.overtaken && ask(&h, "SELECT count(*) FROM set_record") == 1);
    store_close(s);
}

TEST(without_its_claim_a_run_writes_no_record)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    struct set_write w;
    struct settle_op o;

    CHECK(open_set(s) && born_docs(s, &doc, 1) && give_back(s, &doc.task));
    w = write_of("a", "one", 0);
    o = end_with(&doc, &w, 1);
    CHECK(commit(s, &o, 1) && !o.ours && !o.overtaken);
    CHECK(ask(&h, "SELECT count(*) FROM set_record") == 0);
    store_close(s);
}

/* A chain that keeps a record and then becomes copies: both, or neither. */
TEST(a_run_that_is_overtaken_makes_no_documents)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(2 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2];
    struct set_write w[2];
    AUTO(family_done) struct family f;

    CHECK(open_set(s) && born_docs(s, docs, 2));
    w[0] = write_of("a", "first", 0);
    struct settle_op o = end_with(&docs[0], &w[0], 1);

    CHECK(commit(s, &o, 1) && o.ours);
    family_init(&f, &docs[1].task, docs[1].num, 0, 3, 3);
    w[1] = write_of("a", "second", 0);
    f.end.records = &w[1];
    f.end.record_count = 1;
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_OVERTAKEN && !f.end.ours);
    CHECK(ask(&h, "SELECT count(*) FROM link") == 0 && is_value(s, "a", "first"));
    w[1].version = get(s, "a", &a).version;
    CHECK(family_commit(s, &f) && f.op.result == OFFSPRING_MADE && f.end.over);
    CHECK(ask(&h, "SELECT count(*) FROM link") == 3 && is_value(s, "a", "second"));
    CHECK(all_is_well(s));
    store_close(s);
}

/* ---- chains ---- */

/* A run: one more than the record says.  Repeated while it is overtaken. */
static bool count_up(struct store *s, const struct task *t)
{
    for (;;) {
        AUTO(arena_done) struct arena a = ARENA_INIT(2 << 20);
        struct set_record now = get(s, "n", &a);
        int64_t n = 0;

        if (now.version < 0 || (now.version > 0 && !str_to_i64(now.value, &n)))
            return false;
        struct set_write w = write_of("n", arena_printf(&a, "%lld", (long long)n + 1), now.version);
        struct settle_op o = settle_of(t, t->id, SETTLE_OVER);

        o.records = &w;
        o.record_count = 1;
        if (!commit(s, &o, 1))
            return false;
        if (!o.overtaken)
            return o.ours;
    }
}

static bool count_all(struct store *s)
{
    struct task t[4];
    int n;

    while ((n = claim(s, 4, t)) > 0)
        for (int i = 0; i < n; i++)
            if (!count_up(s, &t[i]))
                return false;
    return n == 0;
}

CHILD(count_until_killed)
{
    struct store *s = open_store(h);

    (void)arg;
    if (!open_set(s) || !count_all(s))
        return 1;
    store_close(s);
    return 0;
}

/* Each document counts once, whenever the process dies.  proves: PR4 */
TEST(killed_anywhere_no_value_is_lost_or_doubled)
{
    enum { DOCS = 10 };
    static const char *const points[] = { "settle.written", "group.commit", "group.committed" };

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct home h = fresh_home();
        struct store *s = open_store(&h);
        char fault[80];

        CHECK(open_set(s) && accept_many(s, 0, DOCS, DOCS));
        store_close(s);
        for (int kill = 1; kill <= 3; kill++) {
            (void)snprintf(fault, sizeof fault, "%s:kill:%d", points[i], kill);
            CHECK(was_killed(run_child("count_until_killed", &h, fault, "", NULL)));
        }
        s = open_store(&h);
        CHECK(open_set(s) && count_all(s) && is_value(s, "n", "10") && all_is_well(s));
        store_close(s);
    }
}

static void *count_main(void *arg)
{
    return count_all(arg) ? arg : NULL;
}

TEST(postgres_two_nodes_make_one_chain)
{
    enum { DOCS = 40 };
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *s[2] = { open_store(&h), open_store(&other) };
    pthread_t thread[2];

    CHECK(open_set(s[0]) && s[1] != NULL && accept_many(s[0], 0, DOCS, DOCS));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, count_main, s[i]) == 0);
    for (int i = 0; i < 2; i++) {
        void *done = NULL;

        CHECK(pthread_join(thread[i], &done) == 0 && done != NULL);
    }
    CHECK(is_value(s[0], "n", "40") && all_is_well(s[1]));
    store_close(s[0]);
    store_close(s[1]);
}

STORE_TEST_MAIN
