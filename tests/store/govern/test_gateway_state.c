/* What a polling gateway remembers is in the commit of what it took: both are there, or neither. */
#include "store/govern/gateway_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fault.h"
#include "store/backup/backup.h"
#include "store/backup/restore_files.h"
#include "store/compact.h"
#include "store/govern/ledger.h"
#include "store_test.h"

enum { EACH = 3 };
#define DAY_US (INT64_C(86400) * CLOCK_S)

static int64_t version;

static int64_t state_of(struct store *s)
{
    AUTO(buf_done) struct buf text = BUF_INIT(GATEWAY_STATE_MOST);
    struct err err = { 0 };
    int64_t n = 0;

    if (!gateway_state_get(s, 1, &text, &version, &err) ||
        (text.len > 0 && !str_to_i64(buf_view(&text), &n))) {
        printf("# state: %s %s\n", text.ptr, err.text);
        return -1;
    }
    return n;
}

/* Commits `count` documents, keyed by their numbers from `from` on, with the state behind them. */
static bool take(struct store *s, int64_t from, size_t count, int64_t before,
                 struct gateway_state_op *ret, struct err *err)
{
    static struct accept_op docs[GATEWAY_DOCS_MOST];
    static char bodies[GATEWAY_DOCS_MOST][32];
    struct store_op *ops[GATEWAY_DOCS_MOST];
    char text[32];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(bodies[i], sizeof bodies[i], "row %lld", (long long)from + (long long)i);
        docs[i] = keyed_doc(str_of(bodies[i]), bodies[i], DAY_US);
        ops[i] = &docs[i].op;
    }
    (void)snprintf(text, sizeof text, "%lld", (long long)from + (long long)count);
    *ret = (struct gateway_state_op){
        .gateway = 1, .state = str_of(text), .before = before, .docs = ops, .doc_count = count
    };
    *err = (struct err){ 0 };
    return writers_call(store_writers(s), &gateway_state_verb, &ret->op, err);
}

static struct store *open_keyed(const struct home *h)
{
    struct store *s = open_store(h);
    struct err err = { 0 };

    return s != NULL && accept_keep_tables(s, DAY_US, &err) ? s : NULL;
}

static int64_t documents(const struct home *h)
{
    return ask(h, "SELECT count(*) FROM doc");
}

/* proves: IN3 */
TEST(state_and_documents_are_one_commit)
{
    struct home h = fresh_home();
    struct store *s = open_keyed(&h);
    struct gateway_state_op o;
    struct err err;

    CHECK(s != NULL && state_of(s) == 0 && version == 0);
    CHECK(take(s, 0, EACH, 0, &o, &err) && !o.overtaken && o.version > 0);
    CHECK(state_of(s) == EACH && version == o.version && documents(&h) == EACH);
    CHECK(take(s, 7, 0, version, &o, &err) && !o.overtaken); /* a state alone */
    CHECK(state_of(s) == 7 && documents(&h) == EACH && places(s).ready == EACH);
    store_close(s);
    s = open_keyed(&h);
    CHECK(s != NULL && state_of(s) == 7);
    store_close(s);
}

TEST(a_state_belongs_to_one_gateway)
{
    struct home h = fresh_home();
    struct store *s = open_keyed(&h);
    struct gateway_state_op o, other = { .gateway = 2, .state = STR("its own") };
    struct err err = { 0 };

    CHECK(take(s, 0, 1, 0, &o, &err));
    CHECK(writers_call(store_writers(s), &gateway_state_verb, &other.op, &err) && !other.overtaken);
    CHECK(state_of(s) == 1 && ask(&h, "SELECT count(*) FROM gateway_state") == 2);
    store_close(s);
}

/* proves: IN11 */
TEST(an_old_cursor_is_never_put_back)
{
    struct home h = fresh_home(), beside = on_postgres() ? home_beside(&h) : h;
    struct store *s = open_keyed(&h), *late = on_postgres() ? open_keyed(&beside) : s;
    struct gateway_state_op o;
    struct err err;
    int64_t first;

    CHECK(take(s, 0, EACH, 0, &o, &err) && !o.overtaken);
    first = o.version;
    CHECK(take(s, EACH, EACH, first, &o, &err) && !o.overtaken);
    /* Two that have read what was before: with documents, which are not stored, and without. */
    CHECK(take(late, EACH, EACH, first, &o, &err) && o.overtaken);
    CHECK(take(late, EACH, 0, first, &o, &err) && o.overtaken);
    CHECK(take(late, 0, EACH, 0, &o, &err) && o.overtaken);
    CHECK(state_of(s) == 2 * EACH && documents(&h) == 2 * EACH && places(s).ready == 2 * EACH);
    /* The one that lost its turn reads again, and goes on from there. */
    CHECK(state_of(late) == 2 * EACH && take(late, 2 * EACH, 1, version, &o, &err) && !o.overtaken);
    CHECK(documents(&h) == 2 * EACH + 1);
    if (late != s)
        store_close(late);
    store_close(s);
}

TEST(a_key_that_was_used_for_other_bytes_stores_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_keyed(&h);
    struct accept_op other = keyed_doc(STR("other bytes"), "row 1", DAY_US);
    struct gateway_state_op o;
    struct err err;

    CHECK(accept_doc(s, &other));
    CHECK(!take(s, 0, EACH, 0, &o, &err) && err.kind == ERR_PERMANENT);
    CHECK(state_of(s) == 0 && documents(&h) == 1);
    store_close(s);
}

/* A source that was stored before its state was lost, by a restore: the same document again. */
TEST(a_source_with_a_key_stays_one_document)
{
    struct home h = fresh_home();
    struct store *s = open_keyed(&h);
    struct gateway_state_op o;
    struct err err;

    CHECK(take(s, 0, EACH, 0, &o, &err) && take(s, 0, EACH + 2, o.version, &o, &err));
    CHECK(state_of(s) == EACH + 2 && documents(&h) == EACH + 2);
    store_close(s);
}

TEST(what_was_taken_is_known_until_it_is_forgotten)
{
    enum { MANY = 300 };
    static struct sha256 keys[MANY];
    static bool are_known[MANY];
    struct home h = fresh_home();
    struct store *s = open_keyed(&h);
    struct gateway_state_op o = { .gateway = 1, .state = STR("1"), .notes = keys, .noted_us = 100 };
    struct err err = { 0 };
    bool right = true;

    for (int i = 0; i < MANY; i++)
        keys[i] = digest_of(str_mem(&i, sizeof i));
    o.note_count = MANY / 2;
    CHECK(writers_call(store_writers(s), &gateway_state_verb, &o.op, &err));
    o.before = o.version;
    o.notes = keys + MANY / 2;
    o.note_count = 10;
    o.noted_us = 200;
    CHECK(writers_call(store_writers(s), &gateway_state_verb, &o.op, &err) && !o.overtaken);
    CHECK(gateway_state_known(s, 1, keys, MANY, are_known, &err));
    for (int i = 0; i < MANY; i++)
        right = right && are_known[i] == (i < MANY / 2 + 10);
    CHECK(right);
    CHECK(gateway_state_known(s, 2, keys, 1, are_known, &err) && !are_known[0]);
    CHECK(gateway_state_known(s, 1, keys, 0, are_known, &err));
    o.notes = keys + MANY - 1; /* the version is old: nothing is noted */
    o.note_count = 1;
    CHECK(writers_call(store_writers(s), &gateway_state_verb, &o.op, &err) && o.overtaken);
    CHECK(gateway_state_known(s, 1, keys + MANY - 1, 1, are_known, &err) && !are_known[0]);
    CHECK(ledger_sweep(s, 1, 200, &err));
    CHECK(gateway_state_known(s, 1, keys, MANY, are_known, &err));
    for (int i = 0; i < MANY; i++)
        right = right && are_known[i] == (i >= MANY / 2 && i < MANY / 2 + 10);
    CHECK(right);
    store_close(s);
}

/* ---- crashes ---- */

/* Takes rows, EACH at a time; arg: how often.  Says "told N" for a state that was committed. */
CHILD(take_and_tell)
{
    struct store *s = open_keyed(h);
    struct gateway_state_op o;
    struct err err;
    int64_t at, n;

    if (s == NULL || !str_to_i64(str_of(arg), &n) || (at = state_of(s)) < 0)
        return 1;
    for (int64_t before = version; n > 0; n--, at += EACH, before = o.version) {
        if (!take(s, at, EACH, before, &o, &err) || o.overtaken) {
            printf("# %s\n", err.text);
            return 1;
        }
        printf("told %lld\n", (long long)at + EACH);
    }
    store_close(s);
    return 0;
}

static int64_t last_told(struct str said)
{
    int64_t last = 0;

    while (memchr(said.ptr, '\n', said.len) != NULL) { /* the last line may be cut */
        struct str line, word;

        said = str_cut(said, '\n', &line);
        line = str_cut(line, ' ', &word);
        if (str_is(word, "told"))
            (void)str_to_i64(line, &last);
    }
    return last;
}

/* One life that is killed, and what the next one finds.  *ret_killed false: it was not killed. */
static bool die_taking(const struct home *h, const char *fault, bool *ret_killed, bool *ret_agrees)
{
    AUTO(buf_done) struct buf said = BUF_INIT(1 << 20);
    int status = run_child("take_and_tell", h, fault, "12", &said);

    *ret_killed = was_killed(status);
    if (!*ret_killed && !ended_well(status)) {
        printf("# %s: %s\n", fault, said.ptr);
        return false;
    }
    struct store *s = open_keyed(h);
    int64_t state = s != NULL ? state_of(s) : -1, count = documents(h);

    *ret_agrees = state == count && state % EACH == 0 && state >= last_told(buf_view(&said)) &&
                  ask(h, "SELECT count(*) FROM task_ready") == count;
    if (!*ret_agrees)
        printf("# after %s: state %lld, %lld documents, told %lld\n", fault, (long long)state,
               (long long)count, (long long)last_told(buf_view(&said)));
    store_close(s);
    return s != NULL;
}

/* proves: IN2 IN3 */
TEST(killed_anywhere_state_and_documents_agree)
{
    static const char *const points[] = { "segment.write", "segment.sync", "segment.synced",
                                          "group.taken",   "group.begun",  "group.written",
                                          "group.commit",  "commit.sent",  "group.committed",
                                          "group.acked" };
    int kills = 0;

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct home h = fresh_home();

        for (int pass = 2; pass < 9; pass += 5) {
            char fault[60];
            bool killed, agrees;

            (void)snprintf(fault, sizeof fault, "%s:kill:%d", points[i], pass);
            CHECK(die_taking(&h, fault, &killed, &agrees) && agrees);
            kills += killed;
        }
    }
    printf("# %d kills\n", kills);
    CHECK(kills >= 12);
}

/* The control: a state that is not in the transaction is found out. */
TEST(a_state_apart_is_found_out)
{
    struct home h = fresh_home();
    bool killed, agrees = true;

    (void)setenv("WAYBILL_TEST_STATE_APART", "1", 1);
    CHECK(die_taking(&h, "group.committed:kill:4", &killed, &agrees) && killed && !agrees);
    (void)unsetenv("WAYBILL_TEST_STATE_APART");
}

/* ---- copies ---- */

TEST(sqlite_compact_and_backup_keep_it)
{
    struct home h = fresh_home(), new = fresh_home();
    struct store *s = open_keyed(&h);
    struct compact_result done;
    struct backup_result result;
    struct backup_progress progress = { 0 };
    struct gateway_state_op o;
    struct err err;
    char folder[300];

    (void)snprintf(folder, sizeof folder, "%s/copy", h.folder);
    (void)rmdir(new.folder);
    CHECK(take(s, 0, EACH, 0, &o, &err));
    CHECK(backup_run(s, &(struct backup_options){ .folder = folder }, &progress, &result, &err));
    CHECK(take(s, EACH, EACH, o.version, &o, &err)); /* not in the backup */
    store_close(s);
    CHECK(store_compact(h.folder, &done, &err));
    s = open_keyed(&h);
    CHECK(s != NULL && state_of(s) == 2 * EACH && version == o.version);
    store_close(s);

    struct restore_files f = { .backup = folder, .data = new.folder };

    CHECK(restore_files_run(&f, &err));
    s = open_keyed(&new);
    CHECK(s != NULL && state_of(s) == EACH && documents(&new) == EACH);
    store_close(s);
}

STORE_TEST_MAIN
