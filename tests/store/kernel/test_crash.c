/* Killed at every named point, the store keeps what it promised. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/fault.h"
#include "store/db/migrate.h"
#include "store/payload/payload.h"
#include "store_test.h"

enum { GROUP = 25, GROUPS = 12, GROUPS_TO_CHECKPOINT = 400, LARGE_EVERY = 100, LARGE = 1500000 };
#define DAY_US (INT64_C(86400) * CLOCK_S)

/* The body of document n, a function of its number; some are large. */
static struct str body_of(int n, struct buf *to)
{
    buf_clear(to);
    buf_printf(to, "document %d ", n);
    for (int i = 0; i < n % 7; i++)
        buf_printf(to, "and more of %d ", n);
    if (n % LARGE_EVERY == 1 && n < 20 * LARGE_EVERY)
        while (to->len < LARGE)
            buf_printf(to, "and very much more of %d, it is large ", n);
    return buf_view(to);
}

static bool make_op(struct store *s, int n, struct buf *body, struct accept_op *op)
{
    char key[40];
    struct err err = { 0 };
    struct upload *u = NULL;

    (void)snprintf(key, sizeof key, "key %d", n);
    *op = keyed_doc(body_of(n, body), key, DAY_US);
    if (op->body.len <= SEGMENT_PAYLOAD_MOST)
        return true;
    op->is_spooled = true;
    bool ok = upload_open(s, &u, &err) && upload_add(u, op->body, &err) &&
              upload_finish(u, &op->spooled, &err);

    upload_close(u);
    return ok;
}

/* Says "told N ID" for every document that it was told is stored; arg: the first number,
 * and how many groups. */
CHILD(accept_and_tell)
{
    static struct accept_op ops[GROUP];
    static struct buf bodies[GROUP];
    struct store *s = open_store(h);
    struct err err = { 0 };
    char *rest;
    int at = (int)strtol(arg, &rest, 10), groups = (int)strtol(rest, NULL, 10);

    if (s == NULL || !accept_keep_tables(s, DAY_US, &err))
        return 1;
    for (int i = 0; i < GROUP; i++)
        bodies[i] = (struct buf)BUF_INIT(4 << 20);
    for (int g = 0; g < groups; g++, at += GROUP) {
        for (int i = 0; i < GROUP; i++)
            if (!make_op(s, at + i, &bodies[i], &ops[i]))
                return 1;
        if (!accept_docs(s, ops, GROUP)) {
            printf("# %s\n", ops[0].op.err.text);
            return 1;
        }
        for (int i = 0; i < GROUP; i++) {
            char text[ID_TEXT];

            printf("told %d %s\n", at + i, id_text(&ops[i].id, text));
        }
        if (groups == GROUPS)
            clock_sleep_us(10 * CLOCK_MS); /* let the index move */
    }
    store_close(s);
    for (int i = 0; i < GROUP; i++)
        buf_done(&bodies[i]);
    return 0;
}

/* Every document that the child was told is stored is there whole; *ret_last is the
 * highest of them. */
static bool check_told(struct store *s, struct str said, int *ret_last)
{
    AUTO(buf_done) struct buf want = BUF_INIT(4 << 20), got = BUF_INIT(4 << 20);
    struct str line;
    bool ok = true;

    while (said.len > 0 && ok) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
        struct str word, number;
        struct document d;
        struct err err = { 0 };
        struct id id;
        int64_t n;

        said = str_cut(said, '\n', &line);
        line = str_cut(line, ' ', &word);
        line = str_cut(line, ' ', &number);
        if (!str_is(word, "told") || !str_to_i64(number, &n) || !id_parse(line, &id))
            continue; /* cut off by the kill */
        ok = document_get(s, &id, &a, &d, &err) && read_payload(s, &d.source, &got, &err) &&
             str_eq(body_of((int)n, &want), buf_view(&got));
        if (!ok)
            printf("# document %lld: %s\n", (long long)n, err.text);
        *ret_last = (int)n;
    }
    return ok;
}

/* The rows agree with each other, whatever was cut. */
static bool check_rows(const struct home *h)
{
    static const char *const none[] = {
        "SELECT count(*) FROM (SELECT num FROM doc EXCEPT SELECT id FROM task_ready) AS d",
        "SELECT count(*) FROM (SELECT id FROM task_ready EXCEPT SELECT num FROM doc) AS t",
        "SELECT (SELECT count(*) FROM doc) - (SELECT coalesce(CAST(sum(n) AS BIGINT), 0) FROM "
        "tally WHERE kind = 1)",
        "SELECT count(*) - count(DISTINCT id) FROM doc",
    };

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (ask(h, none[i]) != 0) {
            printf("# %s: %lld\n", none[i], (long long)ask(h, none[i]));
            return false;
        }
    return true;
}

/* A sender that was not told sends again with its key: still one document each. */
static bool send_again(struct store *s, int last)
{
    static struct accept_op ops[GROUP];
    static struct buf bodies[GROUP];
    bool ok = true;

    for (int i = 0; i < GROUP && ok; i++) {
        bodies[i] = (struct buf)BUF_INIT(4 << 20);
        ok = make_op(s, last + 1 + i, &bodies[i], &ops[i]);
    }
    ok = ok && accept_docs(s, ops, GROUP);
    for (int i = 0; i < GROUP; i++) {
        ok = ok && ops[i].result != ACCEPT_KEY_DIFFERS;
        buf_done(&bodies[i]);
    }
    return ok;
}

/* One life that ends at a fault point, and the look afterwards.  False in *ret_passed: the
 * point was not passed so often. */
static bool die_at(const struct home *h, const char *point, int pass, int *at, bool *ret_passed)
{
    AUTO(buf_done) struct buf said = BUF_INIT(1 << 20);
    struct err err = { 0 };
    char fault[60], from[40];
    int last = *at - 1;

    (void)snprintf(fault, sizeof fault, "%s:kill:%d", point, pass);
    (void)snprintf(from, sizeof from, "%d %d", *at,
                   strcmp(point, "checkpoint") == 0 ? GROUPS_TO_CHECKPOINT : GROUPS);
    int status = run_child("accept_and_tell", h, fault, from, &said);

    *ret_passed = was_killed(status);
    if (!*ret_passed && !ended_well(status)) {
        printf("# %s: ended with %x: %s\n", fault, (unsigned)status, said.ptr);
        return false;
    }
    struct store *s = open_store(h);
    bool ok = s != NULL && accept_keep_tables(s, DAY_US, &err) &&
              check_told(s, buf_view(&said), &last) && check_rows(h);

    ok = ok && send_again(s, last) && check_rows(h);
    if (!ok)
        printf("# after %s\n", fault);
    store_close(s);
    *at = last + 1 + GROUP * 2;
    return ok;
}

static bool is_in(const char *point, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strncmp(point, *list, strlen(*list)) == 0)
            return true;
    return false;
}

static bool is_passed_here(const char *point)
{
    static const char *const sqlite[] = { "segment.",   "index.",          "checkpoint", "db.",
                                          "spool.sync", "spool.published", NULL };
    static const char *const postgres[] = { "commit.sent", NULL };
    /* Other parts of the program, test_settle_crash.c, test_offspring.c, the rig of tests/crash. */
    static const char *const others[] = { "ack.send", "settle.",  "road.",   "send.",    "file.",
                                          "intent.",  "pace.",    "retain.", "archive.", "compact.",
                                          "backup.",  "restore.", "move.",   "batch.",   "edit.",
                                          "recover.", "parts.",   "call.",   "answer.",  "answers.",
                                          "ftp.",     "sftp.",    "mail.",   "mllp.",    "s3.",
                                          "sql.",     "job.",     "holds.",  "link.",    NULL };

    return !is_in(point, others) && !is_in(point, on_sqlite() ? postgres : sqlite);
}

/* proves: IN2 IN7 EN1 EN4 EN5 FO12 IN6 */
TEST(killed_anywhere_the_store_keeps_what_it_told)
{
    int kills = 0;

    for (int i = 0; i < FAULT_COUNT; i++) {
        const char *point = fault_name((enum fault_id)i);
        static const int passes[] = { 1, 2, 9 };
        struct home h = empty_home();
        int at = 0;

        for (size_t p = 0; is_passed_here(point) && p < sizeof passes / sizeof passes[0]; p++) {
            bool passed;

            CHECK(die_at(&h, point, passes[p], &at, &passed));
            kills += passed;
            if (p == 0 && !passed)
                printf("# %s is not passed\n", point);
            CHECK(p > 0 || passed);
            if (!passed)
                break;
        }
    }
    printf("# %d kills\n", kills);
}

/* At any moment, not only at a named one.  proves: IN2 IN7 EN1 EN5 FO12 */
TEST(killed_at_any_moment_the_store_keeps_what_it_told)
{
    struct home h = empty_home();
    int at = 0;

    for (int round = 0; round < 12; round++) {
        AUTO(buf_done) struct buf said = BUF_INIT(1 << 20);
        char from[40];
        int last = at - 1;

        (void)snprintf(from, sizeof from, "%d %d", at, GROUPS);
        struct running r = start_child("accept_and_tell", &h, NULL, from);

        clock_sleep_us((int64_t)(chance_u64() % (250 * CLOCK_MS)));
        (void)kill(r.pid, SIGKILL);
        (void)end_child(&r, &said);
        struct store *s = open_store(&h);

        CHECK(s != NULL && check_told(s, buf_view(&said), &last) && check_rows(&h));
        store_close(s);
        at = last + 1 + GROUP * 2;
    }
}

/* A document that was uploaded and never accepted leaves no row behind, and its file or
 * pieces are nobody's.  proves: EN4 */
TEST(an_upload_that_is_never_accepted_is_no_document)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct upload *u = NULL;
    struct err err = { 0 };

    CHECK(s != NULL && upload_open(s, &u, &err) && upload_add(u, STR("half of it"), &err));
    upload_close(u);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0);
    if (on_sqlite()) {
        char command[300];

        (void)snprintf(command, sizeof command, "test -z \"$(ls %s/large)\"", h.folder);
        CHECK(system(command) == 0);
    }
    store_close(s);
}

STORE_TEST_MAIN
