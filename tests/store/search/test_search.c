/* Finding documents: whatever is asked for, exactly those that match, newest first, at every
 * moment: before the index came, behind it, live and ended. */
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "core/facts.h"
#include "store/kernel/node.h"
#include "store/road/term.h"
#include "store/search/index.h"
#include "store/search/key_find.h"
#include "store/search/term_sweep.h"
#include "store_test.h"

enum { N = 240, GROUP = 12, SIZE_MOST = 5000 };

enum fate { RECEIVED, DEAD, DELIVERED, CANCELLED, RETRYING, IN_DOUBT, FATES };

static const char *const states[] = { "received",  "dead",     "delivered",
                                      "cancelled", "retrying", "in_doubt" };

/* What a test knows about a document. */
struct known {
    int64_t num, gateway, sender, receiver, type, size, received_us;
    enum fate fate;
    char name[100], po[20], stranger[20], message[60];
};

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state = chance_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(chance_state >> 33) % below;
}

static struct known make(int i)
{
    struct known k = { .gateway = 1 + chance(2),
                       .size = 1 + (chance(3) == 0 ? chance(SIZE_MOST - 1) : chance(40)),
                       .fate = (enum fate)chance(FATES) };

    k.received_us =
        clock_wall_us() - (int64_t)(N - i) * 600 * CLOCK_S + (int64_t)chance(50) * CLOCK_S;
    if (chance(3) > 0)
        (void)snprintf(k.name, sizeof k.name, "%s%03u%s", chance(2) == 0 ? "ORD_" : "inv-\u00e4",
                       chance(40),
                       chance(9) == 0 ? "-a-name-that-is-longer-than-what-is-kept-of-"
                                        "it-by-far-and-goes-on-for-a-while"
                                      : "");
    if (k.fate == RECEIVED)
        return k;
    k.sender = 100 + chance(3);
    k.receiver = chance(8) == 0 ? 0 : 200 + chance(3);
    k.type = 300 + chance(2);
    if (chance(2) == 0)
        (void)snprintf(k.po, sizeof k.po, "%u", chance(30));
    if (k.receiver == 0)
        (void)snprintf(k.stranger, sizeof k.stranger, "GLN%u", chance(4));
    if (k.fate == DEAD)
        (void)snprintf(k.message, sizeof k.message, "The receiver said %u: No such order",
                       chance(5));
    return k;
}

static struct str facts_of(const struct known *k, struct arena *a)
{
    AUTO(buf_done) struct buf b = BUF_INIT(FACTS_BYTES_MOST);
    struct fact list[] = { { STR("region"), STR("north") }, { STR("po"), str_of(k->po) } };
    struct facts f = { .attributes = list, .attribute_count = k->po[0] != '\0' ? 2 : 0 };

    if (k->stranger[0] != '\0') {
        f.receiver = str_of(k->stranger);
        f.receiver_unknown = true;
    }
    facts_write(&f, &b);
    return arena_copy(a, buf_view(&b));
}

static struct settle_op settlement(const struct known *k, const struct accept_op *doc,
                                   struct settle_delivery *part, struct arena *a)
{
    static const enum settle_outcome ends[] = {
        SETTLE_AGAIN, SETTLE_DEAD, SETTLE_OVER, SETTLE_OVER, SETTLE_DELIVERIES, SETTLE_DELIVERIES
    };
    bool doubt = k->fate == IN_DOUBT;
    struct settle_op o = settle_of(&doc->task, doc->num, ends[k->fate]);

    o.has_facts = true;
    o.sender = k->sender;
    o.receiver = k->receiver;
    o.type = k->type;
    o.facts = facts_of(k, a);
    o.keep_days = 40 + (int64_t)chance(3);
    o.state = k->fate == CANCELLED ? DOCUMENT_CANCELLED : DOCUMENT_DELIVERED;
    o.code = STR("rejected");
    o.message = str_of(k->message);
    if (k->fate == RETRYING || doubt) {
        *part = part_of(STR("D.a"), 1001, doubt ? DELIVERY_IN_DOUBT : DELIVERY_RETRYING);
        part->due_us = INT64_C(4000000000) * CLOCK_S;
        part->code = doubt ? STR("in_doubt") : STR("timeout");
        part->message = STR("no answer");
        o.parts = part;
        o.part_count = 1;
    }
    return o;
}

/* A group of documents; some are settled before the index comes, some behind it. */
static bool add_group(struct store *s, struct known *all, int from, bool late)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    static char body[SIZE_MOST];
    struct accept_op docs[GROUP];
    struct settle_op ops[GROUP];
    struct settle_delivery parts[GROUP];
    size_t n = 0;

    for (int i = 0; i < GROUP; i++) {
        struct known *k = &all[from + i];

        *k = make(from + i);
        docs[i] = doc_of(str_mem(body, (size_t)k->size));
        docs[i].gateway = k->gateway;
        docs[i].received_us = k->received_us;
        docs[i].name = str_of(k->name);
        docs[i].claim_wanted = true;
        if (!accept_doc(s, &docs[i])) {
            printf("# accept: %s\n", docs[i].op.err.text);
            return false;
        }
        k->num = docs[i].num;
    }
    if (late)
        clock_sleep_us(3 * INDEX_EVERY_US);
    for (int i = 0; i < GROUP; i++)
        if (all[from + i].fate != RECEIVED) {
            ops[n] = settlement(&all[from + i], &docs[i], &parts[n], &a);
            n++;
        }
    if (n == 0 || settle_ops(s, ops, n))
        return true;
    for (size_t i = 0; i < n; i++)
        printf("# settle: %s, ours %d, claimed %d\n", ops[i].op.err.text, ops[i].ours,
               ops[i].task.claim != 0);
    return false;
}

static bool party(int64_t want, int64_t is)
{
    return want == 0 || want == is;
}

static bool name_is(struct str want, const char *name)
{
    struct str is = str_of(name);

    if (want.len > 0 && want.ptr[want.len - 1] == '*')
        return str_starts(is, str_mem(want.ptr, want.len - 1));
    return want.len == 0 || str_eq(want, is);
}

static bool where_is(const struct document_filter *f, const struct known *k)
{
    for (size_t i = 0; i < f->where_count; i++)
        if (k->po[0] == '\0' ||
            !(str_is(f->where[i].name, "po") ? str_eq(f->where[i].value, str_of(k->po))
                                             : str_is(f->where[i].value, "north")))
            return false;
    return true;
}

static bool error_is(struct str want, const struct known *k)
{
    if (want.len == 0)
        return true;
    if (k->fate == DEAD)
        return str_is(want, "rejected") || strcasestr(k->message, want.ptr) != NULL;
    return (k->fate == RETRYING && str_is(want, "timeout")) ||
           ((k->fate == RETRYING || k->fate == IN_DOUBT) && str_is(want, "NO ANSWER"));
}

/* proves: ME5 */
static bool scope_is(const struct document_scope *scope, const struct known *k)
{
    if (scope == NULL)
        return true;
    for (size_t i = 0; i < scope->count; i++)
        if (k->sender == scope->systems[i] || k->receiver == scope->systems[i])
            return true;
    return false;
}

static bool should(const struct document_filter *f, const struct known *k)
{
    bool over = k->fate == DELIVERED || k->fate == CANCELLED;

    return scope_is(f->scope, k) && party(f->gateway, k->gateway) && party(f->sender, k->sender) &&
           party(f->receiver, k->receiver) && party(f->type, k->type) &&
           (f->receiver_name.len == 0 || str_eq(f->receiver_name, str_of(k->stranger))) &&
           k->size >= f->size_least && (f->size_below == 0 || k->size < f->size_below) &&
           k->received_us >= f->since_us && (f->until_us == 0 || k->received_us < f->until_us) &&
           (f->state.len == 0 || str_is(f->state, states[k->fate])) && (!f->live || !over) &&
           name_is(f->name, k->name) && where_is(f, k) && error_is(f->error, k);
}

/* None, a few systems, or so many that they are only compared. */
static const struct document_scope *a_scope(void)
{
    static int64_t systems[300];
    static struct document_scope scope = { .systems = systems };
    static const size_t counts[] = { 0, 1, 2, 3, 300 };

    if (chance(3) > 0)
        return NULL;
    scope.count = counts[chance(sizeof counts / sizeof counts[0])];
    for (size_t i = 0; i < scope.count; i++)
        systems[i] = i > 2 ? 1000 + (int64_t)i : (chance(2) == 0 ? 100 : 200) + chance(3);
    return &scope;
}

/* Several things at once; each with some chance. */
static struct document_filter ask_for(const struct known *all, int count)
{
    static const char *const errors[] = { "said 3", "rejected", "no SUCH", "timeout", "NO ANSWER" };
    const struct known *k = &all[chance((unsigned)count)];
    static char name[120];
    struct document_filter f = { 0 };
    unsigned what = chance(12);

    f.gateway = chance(4) == 0 ? k->gateway : 0;
    f.sender = chance(4) == 0 ? k->sender : 0;
    f.receiver = chance(4) == 0 ? k->receiver : 0;
    f.type = chance(4) == 0 ? k->type : 0;
    if (what == 0 || what == 1)
        f.where[f.where_count++] = (struct fact){ STR("po"), str_of(k->po) };
    if (what == 1 || what == 2)
        f.where[f.where_count++] = (struct fact){ STR("region"), STR("north") };
    if (what == 3)
        f.receiver_name = str_of(k->stranger);
    if (what == 4 || what == 5) {
        (void)snprintf(name, sizeof name, "%.*s%s", what == 4 ? 100 : (int)chance(8) + 1, k->name,
                       what == 4 ? "" : "*");
        f.name = str_of(name);
    }
    if (what >= 6 && what < 9)
        f.state = str_of(states[what == 6 ? DEAD : chance(FATES)]);
    if (what == 6 || what == 9)
        f.error = str_of(errors[what == 6 ? chance(3) : chance(5)]);
    f.live = what == 10;
    if (chance(5) == 0) {
        f.size_least = chance(2) == 0 ? k->size : 0;
        f.size_below = k->size + 1 + chance(100);
    }
    if (chance(40) == 0) { /* none is so */
        f.size_least = chance(2) == 0 ? 1 << (2 + chance(30)) : INT64_MAX - chance(9);
        f.size_below = chance(2) == 0 ? 1 + chance(9) : 0;
    }
    if (chance(4) == 0)
        f.since_us = k->received_us - (int64_t)chance(5000) * CLOCK_S;
    if (chance(4) == 0)
        f.until_us = k->received_us + (int64_t)chance(5000) * CLOCK_S + 1;
    f.scope = a_scope();
    return f;
}

static bool is_cut(const struct document_filter *f)
{
    return f->name.len > 0 && !str_is_utf8(f->name);
}

/* The list, page by page, is what it should be. */
static bool agrees(struct store *s, const struct document_filter *f, const struct known *all,
                   int count)
{
    static struct document docs[DOCUMENTS_PAGE_MOST];
    size_t page = 1 + chance(60), n;
    int64_t below = 0;
    int at = count;

    do {
        AUTO(arena_done) struct arena a = ARENA_INIT(32 << 20);
        struct err err = { 0 };

        if (!document_list(s, f, below, page, &a, docs, &n, &below, &err)) {
            printf("# list: %s\n", err.text);
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            while (--at >= 0 && !should(f, &all[at]))
                ;
            if (at < 0 || all[at].num != docs[i].source.num)
                return false;
        }
    } while (below != 0);
    while (--at >= 0 && !should(f, &all[at]))
        ;
    return at < 0;
}

static bool agrees_often(struct store *s, const struct known *all, int count, int times)
{
    for (int i = 0; i < times; i++) {
        struct document_filter f = ask_for(all, count);

        if (is_cut(&f) || agrees(s, &f, all, count))
            continue;
        printf(
            "# words %lld %lld %lld %lld state %.*s name %.*s error %.*s where %zu size %lld %lld "
            "times %d %d live %d stranger %.*s scope %d\n",
            (long long)f.gateway, (long long)f.sender, (long long)f.receiver, (long long)f.type,
            STR_ARG(f.state), STR_ARG(f.name), STR_ARG(f.error), f.where_count,
            (long long)f.size_least, (long long)f.size_below, f.since_us != 0, f.until_us != 0,
            f.live, STR_ARG(f.receiver_name), f.scope != NULL ? (int)f.scope->count : -1);
        return false;
    }
    return true;
}

/* Every number that was given out is behind it: it has nothing more to do. */
static bool index_is_complete(const struct home *h, const struct known *last)
{
    const char *left = "SELECT max((SELECT coalesce(max(num), 0) FROM doc), (SELECT "
                       "coalesce(max(num), 0) FROM delivery)) - (SELECT value FROM mark WHERE name "
                       "= 'indexed')";
    const char *at = "SELECT value FROM mark WHERE name = 'indexed'";

    for (int i = 0; i < 1000 && (ask(h, left) > 0 || ask(h, at) < last->num); i++)
        clock_sleep_us(20 * CLOCK_MS);
    return ask(h, left) <= 0 && ask(h, at) >= last->num;
}

TEST(a_search_finds_what_matches_and_nothing_else)
{
    static struct known all[N];
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    chance_state = 20261115;
    CHECK(s != NULL);
    for (int i = 0; i < N; i += GROUP) {
        CHECK(add_group(s, all, i, i % (3 * GROUP) == 0));
        CHECK(agrees_often(s, all, i + GROUP, 15)); /* while the index runs behind */
    }
    CHECK(!on_sqlite() || index_is_complete(&h, &all[N - 1]));
    CHECK(agrees_often(s, all, N, 400));
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && agrees_often(s, all, N, 100));
    store_close(s);
}

/* The index stands still in the middle: what is above it is found by its rows. */
TEST(sqlite_nothing_is_invisible_while_the_index_stands)
{
    static struct known all[N];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char sql[200];

    chance_state = 77;
    CHECK(s != NULL);
    for (int i = 0; i < N; i += GROUP)
        CHECK(add_group(s, all, i, false));
    CHECK(index_is_complete(&h, &all[N - 1]));
    (void)snprintf(sql, sizeof sql, "UPDATE mark SET value = %lld WHERE name = 'indexed'",
                   (long long)all[N / 3].num);
    CHECK(tell(&h, sql));
    (void)snprintf(sql, sizeof sql, "DELETE FROM term WHERE num > %lld", (long long)all[N / 3].num);
    CHECK(tell(&h, sql));
    (void)snprintf(sql, sizeof sql, "DELETE FROM name_index WHERE num > %lld",
                   (long long)all[N / 3].num);
    CHECK(tell(&h, sql) && agrees_often(s, all, N, 300));
    store_close(s);
}

TEST(documents_are_found_by_the_document_they_come_from)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[6];
    char sql[200];
    struct document page[10];
    struct err err = { 0 };
    int64_t next;
    size_t n;

    for (int i = 0; i < 6; i++)
        docs[i] = doc_of(STR("x"));
    CHECK(s != NULL && accept_docs(s, docs, 6));
    for (int i = 1; i < 5; i++) {
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO link(parent, kind, child) VALUES (%lld, %d, %lld)",
                       (long long)docs[0].num, 1 + i % 2, (long long)docs[i].num);
        CHECK(tell(&h, sql));
    }
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct document_filter f = { .parent = docs[0].num };

    CHECK(document_list(s, &f, 0, 3, &a, page, &n, &next, &err) && n == 3 && next != 0 &&
          page[0].source.num == docs[4].num);
    CHECK(document_list(s, &f, next, 3, &a, page, &n, &next, &err) && n == 1 &&
          page[0].source.num == docs[1].num);
    f.parent = docs[5].num;
    CHECK(document_list(s, &f, 0, 3, &a, page, &n, &next, &err) && n == 0 && next == 0);
    store_close(s);
}

/* Also those whose run into the tree has come (KEY_RUN), and after a new start. */
TEST(documents_are_found_by_their_key)
{
    enum { KEYS = 300 };
    static struct accept_op docs[KEYS];
    static char keys[KEYS][20];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct sha256 want[3];
    struct err err = { 0 };
    int64_t nums[4];
    size_t n;

    CHECK(s != NULL && accept_keep_tables(s, INT64_C(3600) * CLOCK_S, &err));
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "key-%d", i);
        docs[i] = keyed_doc(STR("k"), keys[i], INT64_C(3600) * CLOCK_S);
    }
    CHECK(accept_docs(s, docs, KEYS));
    for (int round = 0; round < 2; round++) {
        want[0] = digest_of(STR("key-17"));
        want[1] = digest_of(STR("nobody"));
        want[2] = digest_of(STR("key-299"));
        CHECK(key_find(s, want, 3, nums, 4, &n, &err) && n == 2);
        CHECK(nums[0] + nums[1] == docs[17].num + docs[299].num);
        CHECK(key_find(s, want + 1, 1, nums, 4, &n, &err) && n == 0);
        store_close(s);
        s = open_store(&h);
        CHECK(s != NULL);
    }
    store_close(s);
}

/* Entries go with the last document of their slot, and not before. */
TEST(entries_of_documents_that_are_gone_are_swept)
{
    enum { SLOT_MOST = 1 << 22 };
    static struct known all[GROUP];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t slot = 0, gone, had;
    struct err err = { 0 };
    char sql[200];

    chance_state = 4;
    CHECK(s != NULL && add_group(s, all, 0, false) &&
          (!on_sqlite() || index_is_complete(&h, &all[GROUP - 1])));
    had = ask(&h, "SELECT count(*) FROM term");
    CHECK(had > 0 && terms_sweep(s, &slot, &gone, &err) && gone == 0 && slot == 0);
    for (int i = 0; i < 5000; i += 500) { /* of documents that were dropped with their day */
        (void)snprintf(
            sql, sizeof sql,
            "INSERT INTO term(key, num) SELECT key + %lld, num + %lld FROM term WHERE key "
            "< %lld LIMIT 1",
            (long long)term_key(1 + i / 1000, i), (long long)(1 + i / 1000) * SLOT_MOST,
            (long long)term_key(1, 0));
        CHECK(tell(&h, sql));
    }
    CHECK(!on_sqlite() ||
          tell(&h, "INSERT INTO name_index SELECT slot + 2, name, num FROM name_index"));
    CHECK(terms_sweep(s, &slot, &gone, &err) && gone >= 10 && slot == 0);
    CHECK(ask(&h, "SELECT count(*) FROM term") == had);
    CHECK(!on_sqlite() || ask(&h, "SELECT count(*) FROM name_index WHERE slot > 0") == 0);
    CHECK(agrees_often(s, all, GROUP, 50));
    store_close(s);
}

TEST(sizes_fall_into_classes_in_their_order)
{
    int64_t last = 0;

    for (int64_t size = 0; size < 3000000; size += 1 + size / 50) {
        int64_t class = index_size_class(size);

        CHECK(class >= 1 && class >= last && class < 1 << 10);
        last = class;
    }
    CHECK(index_size_class(INT64_C(1) << 50) < 1 << 10);
}

STORE_TEST_MAIN
