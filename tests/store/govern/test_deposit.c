#include "engine/intake/deposit.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "store/govern/ledger.h"
#include "store/payload/payload.h"
#include "store_test.h"

/* A depositor without a road: documents wait in the store. */
struct background {
    struct store *store;
    struct depositor depositor;
    struct rate rate;
    struct metric accepted, repeated;
    const char *closed;
    bool lost, stopping;
    int holds, complaints;
    struct id id;
    bool was_repeated;
};

static const char *closed(void *arg)
{
    return ((struct background *)arg)->closed;
}

static bool hold(void *arg, struct err *err)
{
    struct background *d = arg;

    d->holds++;
    return !d->lost || err_set(err, ERR_TRANSIENT, 0, "another node took over");
}

static bool stopping(void *arg)
{
    return ((struct background *)arg)->stopping;
}

static void complain(void *arg, struct str name, const char *why, const char *hint)
{
    (void)name;
    (void)why;
    (void)hint;
    ((struct background *)arg)->complaints++;
}

static bool set_up(struct background *d, const struct home *h, int64_t gateway)
{
    struct err err = { 0 };

    *d = (struct background){ .store = open_store(h) };
    d->depositor = (struct depositor){ .store = d->store,
                                       .gateway = "drop",
                                       .word = gateway,
                                       .config = 1,
                                       .size_most = 8 << 20,
                                       .rate = &d->rate,
                                       .accepted = &d->accepted,
                                       .repeated = &d->repeated,
                                       .closed = closed,
                                       .hold = hold,
                                       .stopping = stopping,
                                       .complain = complain,
                                       .arg = d };
    return d->store != NULL && accept_keep_tables(d->store, DEPOSIT_KEY_PERIOD_US, &err);
}

static bool deposit(struct background *d, struct str bytes, const char *key, struct err *err)
{
    struct deposit *open;

    *err = (struct err){ 0 };
    if (!deposit_port.open(&d->depositor, STR("a.xml"), STR(""), &open, err))
        return false;
    for (struct str rest = bytes; rest.len > 0; rest = str_from(rest, 60000))
        if (!deposit_port.put(open, str_mem(rest.ptr, rest.len < 60000 ? rest.len : 60000), err)) {
            deposit_port.abandon(open);
            return false;
        }
    return deposit_port.commit(open, str_of(key), &d->id, &d->was_repeated, err);
}

/* Its bytes as the store gives them. */
static bool is_stored(struct background *d, struct str want)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf got = BUF_INIT(16 << 20);
    struct document doc;
    struct err err = { 0 };

    return document_get(d->store, &d->id, &arena, &doc, &err) && str_is(doc.name, "a.xml") &&
           read_payload(d->store, &doc.source, &got, &err) && str_eq(buf_view(&got), want);
}

/* proves: IN3 IN4 */
TEST(a_source_is_stored_once)
{
    struct home h = fresh_home();
    struct background d;
    struct err err;
    struct id first;

    CHECK(set_up(&d, &h, 1) && deposit(&d, STR("order"), "claim a", &err) && !d.was_repeated);
    CHECK(is_stored(&d, STR("order")) && metric_value(&d.accepted) == 1);
    first = d.id;
    CHECK(deposit(&d, STR("order"), "claim a", &err) && d.was_repeated && id_eq(&d.id, &first));
    CHECK(deposit(&d, STR("order"), "claim b", &err) && !d.was_repeated && !id_eq(&d.id, &first));
    CHECK(!deposit(&d, STR("other"), "claim a", &err) && err.kind == ERR_PERMANENT);
    CHECK(metric_value(&d.repeated) == 1 && places(d.store).ready == 2);
    store_close(d.store); /* the key outlives the process */
    CHECK(set_up(&d, &h, 1) && deposit(&d, STR("order"), "claim a", &err) && d.was_repeated);
    d.depositor.word = 2; /* and is its gateway's own */
    CHECK(deposit(&d, STR("order"), "claim a", &err) && !d.was_repeated);
    CHECK(deposit(&d, STR(""), "claim c", &err) && is_stored(&d, STR("")));
    store_close(d.store);
}

/* A deposit that is not committed yet. */
static struct deposit *begin(struct background *d, struct str bytes)
{
    struct deposit *open = NULL;
    struct err err = { 0 };

    if (!deposit_port.open(&d->depositor, STR("a.xml"), STR(""), &open, &err))
        return NULL;
    for (struct str rest = bytes; rest.len > 0; rest = str_from(rest, 60000))
        if (!deposit_port.put(open, str_mem(rest.ptr, rest.len < 60000 ? rest.len : 60000), &err)) {
            deposit_port.abandon(open);
            return NULL;
        }
    return open;
}

TEST(many_sources_share_a_commit_in_their_order)
{
    struct home h = fresh_home();
    struct deposit_commit list[DEPOSIT_COMMIT_MOST] = { 0 };
    char keys[DEPOSIT_COMMIT_MOST][16];
    struct background d;
    uint64_t syncs;

    CHECK(set_up(&d, &h, 1));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < DEPOSIT_COMMIT_MOST; i++) {
            (void)snprintf(keys[i], sizeof keys[i], "claim %zu", i);
            list[i] = (struct deposit_commit){ .deposit = begin(&d, str_of(keys[i])),
                                               .key = str_of(keys[i]) };
            CHECK(list[i].deposit != NULL);
        }
        syncs = file_syncs();
        deposit_port.commit_all(list, DEPOSIT_COMMIT_MOST);
        syncs = file_syncs() - syncs;
        for (size_t i = 0; i < DEPOSIT_COMMIT_MOST; i++) {
            CHECK(list[i].ok && list[i].repeated == (round == 1) && list[i].deposit == NULL);
            d.id = list[i].id;
            CHECK(is_stored(&d, str_of(keys[i])));
            CHECK(i == 0 || id_row(&list[i - 1].id) < id_row(&list[i].id));
        }
        CHECK(on_postgres() || syncs < DEPOSIT_COMMIT_MOST); /* one by one: two each */
    }
    CHECK(metric_value(&d.accepted) == DEPOSIT_COMMIT_MOST);
    CHECK(metric_value(&d.repeated) == DEPOSIT_COMMIT_MOST);
    CHECK(places(d.store).ready == DEPOSIT_COMMIT_MOST);
    store_close(d.store);
}

TEST(each_source_of_a_commit_has_its_own_answer)
{
    struct home h = fresh_home();
    size_t size = (2 << 20) + 5;
    char *large = xcalloc(1, size);
    struct background d;
    struct err err;

    CHECK(set_up(&d, &h, 1) && deposit(&d, STR("known"), "known", &err));
    CHECK(deposit(&d, STR("other"), "used", &err));
    struct deposit_commit list[] = {
        { .deposit = begin(&d, STR("new")), .key = STR("new") },
        { .deposit = begin(&d, STR("known")), .key = STR("known") },
        { .deposit = begin(&d, STR("other bytes")), .key = STR("used") },
        { .deposit = begin(&d, str_mem(large, size)), .key = STR("large") },
        { .deposit = begin(&d, STR("new")), .key = STR("new") }, /* twice in one commit */
        { .deposit = begin(&d, str_mem(large, size)), .key = STR("used") },
    };

    deposit_port.commit_all(list, sizeof list / sizeof list[0]);
    CHECK(list[0].ok && !list[0].repeated && list[1].ok && list[1].repeated);
    CHECK(!list[2].ok && list[2].err.kind == ERR_PERMANENT);
    CHECK(list[3].ok && !list[3].repeated && list[4].ok && list[4].repeated);
    CHECK(id_eq(&list[0].id, &list[4].id));
    CHECK(!list[5].ok && list[5].err.kind == ERR_PERMANENT);
    d.id = list[3].id;
    CHECK(is_stored(&d, str_mem(large, size)) && places(d.store).ready == 4);
    store_close(d.store);
    free(large);
}

TEST(a_sign_of_life_renews_the_turn)
{
    struct home h = fresh_home();
    struct background d;
    struct err err = { 0 };

    CHECK(set_up(&d, &h, 1) && deposit_port.alive(&d.depositor, &err) && d.holds == 1);
    d.lost = true;
    CHECK(!deposit_port.alive(&d.depositor, &err) && err.kind == ERR_TRANSIENT);
    store_close(d.store);
}

TEST(a_large_source_goes_through_an_upload)
{
    struct home h = fresh_home();
    size_t size = (3 << 20) + 17;
    char *bytes = xmalloc(size);
    struct background d;
    struct err err;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 7 / 3);
    CHECK(set_up(&d, &h, 1));
    CHECK(deposit(&d, str_mem(bytes, size), "large", &err) && !d.was_repeated);
    CHECK(is_stored(&d, str_mem(bytes, size)) && d.holds > 1);
    CHECK(deposit(&d, str_mem(bytes, size), "large", &err) && d.was_repeated);
    d.lost = false;
    d.depositor.size_most = 2 << 20;
    CHECK(!deposit(&d, str_mem(bytes, size), "too large", &err) && err.kind == ERR_PERMANENT);
    store_close(d.store);
    if (on_postgres()) /* what no document took is gone */
        CHECK(ask(&h, "SELECT count(DISTINCT upload) FROM payload_piece_0") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 1);
    free(bytes);
}

TEST(a_deposit_is_refused_before_it_is_read)
{
    struct home h = fresh_home();
    struct background d;
    struct err err;

    CHECK(set_up(&d, &h, 1));
    d.closed = "the disk is full";
    CHECK(!deposit(&d, STR("x"), "k", &err) && err.kind == ERR_LIMIT && err.sys != DEPOSIT_WAIT);
    d.closed = NULL;
    d.lost = true;
    CHECK(!deposit(&d, STR("x"), "k", &err) && err.kind == ERR_TRANSIENT);
    d.lost = false;
    d.depositor.limit = (struct units_rate){ .count = 1, .per_us = INT64_C(3600) * CLOCK_S };
    d.depositor.burst = 2;
    CHECK(deposit(&d, STR("x"), "k1", &err) && deposit(&d, STR("x"), "k2", &err));
    CHECK(!deposit(&d, STR("x"), "k3", &err) && err.kind == ERR_LIMIT && err.sys == DEPOSIT_WAIT);
    CHECK(places(d.store).ready == 2);
    store_close(d.store);
}

TEST(the_ledger_is_behind_the_port)
{
    struct home h = fresh_home();
    struct background d;
    struct err err = { 0 };
    bool seen = true;

    CHECK(set_up(&d, &h, 1) && deposit_port.seen(&d.depositor, STR("a"), &seen, &err) && !seen);
    CHECK(deposit_port.note_seen(&d.depositor, STR("a"), &err));
    CHECK(deposit_port.seen(&d.depositor, STR("a"), &seen, &err) && seen);
    CHECK(!deposit_port.stopping(&d.depositor) && deposit_port.size_most(&d.depositor) == 8 << 20);
    deposit_port.complain(&d.depositor, STR("a"), "why", "hint");
    CHECK(d.complaints == 1);
    store_close(d.store);
}

static bool state_is(struct background *d, const char *want)
{
    AUTO(buf_done) struct buf text = BUF_INIT(DEPOSIT_STATE_MOST);
    struct err err = { 0 };

    return deposit_port.state(&d->depositor, &text, &err) && str_is(buf_view(&text), want);
}

/* proves: IN3 */
TEST(a_state_is_stored_with_its_documents_or_not_at_all)
{
    struct home h = fresh_home();
    size_t size = (2 << 20) + 5;
    char *large = xcalloc(1, size);
    struct background d;
    struct err err = { 0 };

    CHECK(set_up(&d, &h, 1) && state_is(&d, ""));
    struct deposit_commit list[] = { { .deposit = begin(&d, STR("one")), .key = STR("one") },
                                     { .deposit = begin(&d, str_mem(large, size)) },
                                     { .deposit = begin(&d, STR("no key")) },
                                     { .deposit = begin(&d, STR("no key")) } };
    struct deposit_state s = { .state = STR("at 4"), .list = list, .count = 4 };

    CHECK(deposit_port.commit_state(&d.depositor, &s, &err) && places(d.store).ready == 4);
    for (size_t i = 0; i < s.count; i++)
        CHECK(list[i].ok && !list[i].repeated && list[i].deposit == NULL);
    d.id = list[1].id;
    CHECK(is_stored(&d, str_mem(large, size)) && metric_value(&d.accepted) == 4);
    /* A poll may commit several times; a state needs no document. */
    s = (struct deposit_state){ .state = STR("at 5") };
    CHECK(deposit_port.commit_state(&d.depositor, &s, &err) && state_is(&d, "at 5"));
    /* The turn is lost: nothing is stored, and the bytes of a large one are dropped. */
    int64_t version = d.depositor.state_version;

    for (int round = 0; round < 2; round++) {
        list[0] = (struct deposit_commit){ .deposit = begin(&d, str_mem(large, size)) };
        list[1] = (struct deposit_commit){ .deposit = begin(&d, STR("six")), .key = STR("six") };
        s = (struct deposit_state){ .state = STR("at 6"), .list = list, .count = 2 };
        d.lost = round == 0;
        d.depositor.state_version = round == 0 ? version : version - 1; /* overtaken */
        err = (struct err){ 0 };
        CHECK(!deposit_port.commit_state(&d.depositor, &s, &err) && err.kind == ERR_TRANSIENT);
        CHECK(!list[0].ok && !list[1].ok && list[0].deposit == NULL && list[1].deposit == NULL);
        d.lost = false;
    }
    CHECK(state_is(&d, "at 5") && places(d.store).ready == 4);
    s = (struct deposit_state){ .state = str_mem(large, DEPOSIT_STATE_MOST + 1) };
    CHECK(!deposit_port.commit_state(&d.depositor, &s, &err) && err.kind == ERR_LIMIT);
    store_close(d.store);
    CHECK(set_up(&d, &h, 1) && state_is(&d, "at 5"));
    d.depositor.word = 2;
    CHECK(state_is(&d, ""));
    store_close(d.store);
    free(large);
}

STORE_TEST_MAIN
