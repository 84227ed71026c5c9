/* The audit log: one line for each change, in its transaction, in a chain. */
#include "store/audit/audit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "store/batch/batch.h"
#include "store/govern/hold.h"
#include "store/govern/pause.h"
#include "store/govern/version.h"
#include "store/manual/edit.h"
#include "store/manual/operate.h"
#include "store/people/caller.h"
#include "store/people/secret.h"
#include "store/retention/kept.h"
#include "store/watch/check.h"
#include "store_test.h"

enum { KEEP = 45 };

static struct audit_entry entry_of(const char *action, const char *object)
{
    return (struct audit_entry){ .actor = STR("alice"),
                                 .kind = STR("user"),
                                 .address = STR("10.1.2.3"),
                                 .action = str_of(action),
                                 .object = str_of(object),
                                 .became = STR("{\"asked\":1}"),
                                 .reason = STR("because") };
}

static bool append(struct store *s, const char *action, const char *object)
{
    struct audit_entry e = entry_of(action, object);
    struct err err = { 0 };

    return audit_append(s, &e, &err);
}

static bool append_many(struct store *s, int count)
{
    for (int i = 0; i < count; i++) {
        char object[40];

        (void)snprintf(object, sizeof object, "object %d", i);
        if (!append(s, "look", object))
            return false;
    }
    return true;
}

static int64_t lines(const struct home *h)
{
    return ask(h, "SELECT count(*) FROM audit");
}

static struct audit_check verify(struct store *s)
{
    struct audit_check c = { 0 };
    struct err err = { 0 };

    if (!audit_verify(s, 0, NULL, &c, &err)) {
        printf("# %s\n", err.text);
        c.bad = -1;
    }
    return c;
}

static bool newest(struct store *s, struct arena *a, struct audit_line *ret)
{
    struct audit_filter any = { 0 };
    struct audit_place place = { 0 };
    struct err err = { 0 };
    size_t n;

    return audit_list(s, &any, 1, a, ret, &n, &place, &err) && n == 1;
}

/* ---- the chain ---- */

TEST(lines_follow_each_other)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    struct audit_line l;

    CHECK(s != NULL && verify(s).bad == 0 && verify(s).seq == 0);
    CHECK(append(s, "holdAdd", "hub"));
    CHECK(newest(s, &a, &l) && l.seq == 1);
    CHECK(l.time_us > clock_wall_us() - 60 * (int64_t)CLOCK_S);
    CHECK(str_is(l.entry.actor, "alice") && str_is(l.entry.kind, "user"));
    CHECK(str_is(l.entry.address, "10.1.2.3") && str_is(l.entry.action, "holdAdd"));
    CHECK(str_is(l.entry.object, "hub") && str_is(l.entry.became, "{\"asked\":1}"));
    CHECK(str_is(l.entry.reason, "because") && l.entry.was.len == 0);
    CHECK(append_many(s, 20));
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && append(s, "after a start", ""));
    struct audit_check c = verify(s);

    CHECK(c.bad == 0 && c.lines == 22 && c.seq == 22);
    CHECK(newest(s, &a, &l) && digest_same(&l.hash, &c.hash));
    CHECK(ask(&h, "SELECT value FROM mark WHERE name = 'audit'") == 22);
    store_close(s);
}

enum { MANY = 300 };

/* Documents that come in together, all cancelled in one change. */
static bool cancel_many(struct store *s, const struct home *h)
{
    static struct accept_op docs[MANY];
    static struct operate_target targets[MANY];
    static struct operate_answer answers[MANY];
    struct operate_order order = { .who = STR("alice"), .keep_days = KEEP };
    struct audit_entry e = entry_of("cancel", "");
    struct err err = { 0 };
    int64_t before = lines(h);

    for (size_t i = 0; i < MANY; i++)
        docs[i] = doc_of(STR("body"));
    if (!accept_docs(s, docs, MANY) || lines(h) != before) /* what comes in has no lines */
        return false;
    for (size_t i = 0; i < MANY; i++)
        targets[i] = (struct operate_target){ .id = docs[i].id };
    audit_begin(&e);
    bool ok =
        operate(s, OPERATE_CANCEL, targets, MANY, &order, answers, &err) &&
        operate(s, OPERATE_CANCEL, targets, MANY, &order, answers, &err); /* nothing is left */

    audit_end();
    return ok;
}

/* Longer than a slice of the reader. */
TEST(a_long_chain_is_followed_to_its_end)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL && cancel_many(s, &h) && lines(&h) == MANY);
    CHECK(cancel_many(s, &h) && append(s, "look", "x"));
    CHECK(verify(s).bad == 0 && verify(s).lines == 2 * MANY + 1);
    CHECK(tell(&h, "UPDATE audit SET actor = 'mallory' WHERE seq = 530"));
    CHECK(verify(s).bad == 530);
    store_close(s);
}

static const struct {
    const char *what, *sql;
    int64_t bad;
} tampers[] = {
    { "another actor", "UPDATE audit SET actor = 'bob' WHERE seq = 4", 4 },
    { "another kind", "UPDATE audit SET kind = 'token' WHERE seq = 4", 4 },
    { "another address", "UPDATE audit SET address = '::1' WHERE seq = 4", 4 },
    { "another action", "UPDATE audit SET action = 'x' WHERE seq = 4", 4 },
    { "another object", "UPDATE audit SET object = '' WHERE seq = 4", 4 },
    { "another before", "UPDATE audit SET was = 'x' WHERE seq = 4", 4 },
    { "another after", "UPDATE audit SET became = '' WHERE seq = 4", 4 },
    { "another reason", "UPDATE audit SET reason = 'Because' WHERE seq = 4", 4 },
    { "another time", "UPDATE audit SET time_us = time_us + 1 WHERE seq = 4", 4 },
    { "text that moved from one column to the next",
      "UPDATE audit SET was = became, became = '' WHERE seq = 4", 4 },
    { "the first is gone", "DELETE FROM audit WHERE seq = 1", 1 },
    { "one is gone", "DELETE FROM audit WHERE seq = 5", 5 },
    { "the last is gone", "DELETE FROM audit WHERE seq = 10", 10 },
    { "the last three are gone", "DELETE FROM audit WHERE seq > 7", 8 },
    { "all are gone", "DELETE FROM audit", 1 },
    { "two have changed places",
      "UPDATE audit SET seq = -seq WHERE seq IN (3, 6); UPDATE audit SET seq = 9 + seq WHERE seq < "
      "0",
      3 },
    { "one is gone and the others moved up",
      "DELETE FROM audit WHERE seq = 5; UPDATE audit SET seq = -seq WHERE seq > 5; UPDATE audit "
      "SET "
      "seq = -seq - 1 WHERE seq < 0",
      5 },
    { "one was copied behind the end",
      "INSERT INTO audit SELECT 11, time_us, actor, kind, address, action, object, was, became, "
      "reason, prev, hash FROM audit WHERE seq = 10",
      11 },
    { "its hash was taken from another",
      "UPDATE audit SET hash = (SELECT hash FROM audit WHERE seq = 3) WHERE seq = 4", 4 },
    { "the count was lowered", "UPDATE mark SET value = 8 WHERE name = 'audit'", 10 },
    { "the count was raised", "UPDATE mark SET value = 12 WHERE name = 'audit'", 11 },
};

/* Statements between "; ". */
static bool tell_all(const struct home *h, const char *sql)
{
    char one[600];

    for (const char *at = sql, *rest; at != NULL; at = rest != NULL ? rest + 2 : NULL) {
        rest = strstr(at, "; ");
        (void)snprintf(one, sizeof one, "%.*s", rest != NULL ? (int)(rest - at) : 599, at);
        if (!tell(h, one))
            return false;
    }
    return true;
}

TEST(what_was_changed_is_found_at_its_number)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    for (size_t i = 0; i < sizeof tampers / sizeof tampers[0]; i++) {
        CHECK(tell_all(&h, "DELETE FROM audit; UPDATE mark SET value = 0 WHERE name = 'audit'"));
        CHECK(append_many(s, 10) && verify(s).bad == 0 && tell_all(&h, tampers[i].sql));
        struct audit_check c = verify(s);

        if (c.bad != tampers[i].bad)
            printf("# %s: %lld (%s)\n", tampers[i].what, (long long)c.bad, c.message);
        CHECK(c.bad == tampers[i].bad && c.message[0] != '\0' && c.lines < 11);
        CHECK(append(s, "it goes on", "")); /* who tampers does not stop the node */
    }
    store_close(s);
}

/* Who writes the whole log anew makes a chain that holds; a head that was noted does not fit. */
TEST(a_noted_head_tells_a_new_chain)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct audit_check before, c;
    struct err err = { 0 };

    CHECK(s != NULL && append_many(s, 5));
    before = verify(s);
    CHECK(append_many(s, 3));
    CHECK(audit_verify(s, before.seq, &before.hash, &c, &err) && c.bad == 0 && c.seq == 8);
    CHECK(tell(&h, "DELETE FROM audit") &&
          tell(&h, "UPDATE mark SET value = 0 WHERE name = 'audit'"));
    CHECK(audit_verify(s, before.seq, &before.hash, &c, &err) && c.bad == 1);
    CHECK(append_many(s, 8) && verify(s).bad == 0);
    CHECK(audit_verify(s, before.seq, &before.hash, &c, &err) && c.bad == 5);
    store_close(s);
}

TEST(the_doctor_follows_the_chain)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct check_result r;
    struct err err = { 0 };
    size_t at = 0;

    while (at < check_count() && strcmp(check_name(at), "audit-chain") != 0)
        at++;
    CHECK(s != NULL && append_many(s, 3) && at < check_count());
    CHECK(check_run(s, at, true, &r, &err) && r.bad == 0 && r.looked_at == 3);
    CHECK(tell(&h, "UPDATE audit SET actor = 'bob' WHERE seq = 2"));
    CHECK(check_run(s, at, true, &r, &err) && r.bad == 1 && strstr(r.message, "line 2 ") != NULL);
    store_close(s);
}

TEST(texts_are_made_fit)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    struct audit_entry e = entry_of("look", "x");
    struct audit_line l;
    struct err err = { 0 };
    char *long_text = malloc(AUDIT_TEXT_MOST + 100);

    memset(long_text, 'x', AUDIT_TEXT_MOST + 100);
    e.actor = str_mem("a\nb\0c\x7f", 6);
    e.object = STR("caf\xc3\xa9");
    e.was = STR("\xff\xfe broken");
    e.became = str_mem(long_text, AUDIT_TEXT_MOST + 100);
    CHECK(s != NULL && audit_append(s, &e, &err) && newest(s, &a, &l));
    CHECK(str_is(l.entry.actor, "a b c ") && str_is(l.entry.object, "caf\xc3\xa9"));
    CHECK(str_is(l.entry.was, "?? broken") && l.entry.became.len == AUDIT_TEXT_MOST);
    CHECK(verify(s).bad == 0);
    free(long_text);
    store_close(s);
}

static int64_t trim(struct store *s, int64_t before_us, int64_t slack_us)
{
    struct err err = { 0 };
    int64_t gone = -1;

    if (!audit_trim(s, before_us, slack_us, &gone, &err))
        printf("# %s\n", err.text);
    return gone;
}

TEST(old_lines_go_and_the_chain_begins_behind_them)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    struct audit_check noted, c;
    struct audit_line l;
    struct err err = { 0 };
    int64_t sixth;

    CHECK(s != NULL && trim(s, INT64_MAX, 0) == 0 && append_many(s, 5));
    noted = verify(s);
    do /* a time of its own */
        CHECK(tell(&h, "DELETE FROM audit WHERE seq > 5") &&
              tell(&h, "UPDATE mark SET value = 5 WHERE name = 'audit'") && append_many(s, 3));
    while (ask(&h, "SELECT count(*) FROM audit a, audit b WHERE a.seq = 5 AND b.seq = 6 AND "
                   "a.time_us = b.time_us") > 0);
    sixth = ask(&h, "SELECT time_us FROM audit WHERE seq = 6");
    CHECK(trim(s, sixth, 1000 * (int64_t)CLOCK_S) == 0 && lines(&h) == 8);
    CHECK(trim(s, sixth, 0) == 5 && lines(&h) == 4);
    CHECK(newest(s, &a, &l) && l.seq == 9 && str_is(l.entry.action, "auditTrim"));
    CHECK(str_is(l.entry.was, "lines 1 to 5") && str_starts(l.entry.became, STR("5:")));
    c = verify(s);
    CHECK(c.bad == 0 && c.lines == 4 && c.seq == 9 && trim(s, sixth, 0) == 0);
    CHECK(audit_verify(s, noted.seq, &noted.hash, &c, &err) && c.bad == 0);
    CHECK(trim(s, INT64_MAX, 0) == 3 && trim(s, INT64_MAX, 0) == 1); /* the newest stays */
    CHECK(lines(&h) == 2 && verify(s).bad == 0 && append_many(s, 5) && verify(s).bad == 0);
    CHECK(tell(&h, "UPDATE audit SET actor = 'bob' WHERE seq = 12") && verify(s).bad == 12);

    /* Somebody else lets go of lines, and says so only in the mark. */
    CHECK(tell(&h, "UPDATE audit SET actor = 'alice' WHERE seq = 12") && verify(s).bad == 0);
    CHECK(tell(&h, "DELETE FROM audit WHERE seq < 14") && verify(s).bad == 10);
    CHECK(tell(&h, "UPDATE mark SET value = 13 WHERE name = 'audit_gone'") && verify(s).bad == 13);
    store_close(s);
}

/* ---- pages ---- */

static size_t count_of(struct store *s, const struct audit_filter *f, size_t first)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    struct audit_line *list = ARENA_ARRAY(&a, struct audit_line, AUDIT_PAGE_MOST);
    struct audit_place place = { 0 };
    struct err err = { 0 };
    size_t all = 0, n;
    int64_t below = INT64_MAX;

    do {
        if (!audit_list(s, f, first, &a, list, &n, &place, &err))
            return SIZE_MAX;
        for (size_t i = 0; i < n; i++) {
            if (list[i].seq >= below) /* the newest first, none twice */
                return SIZE_MAX;
            below = list[i].seq;
        }
        all += n;
    } while (place.seq != 0);
    return all;
}

TEST(lines_are_found_by_who_what_and_when)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };

    CHECK(s != NULL);
    for (int i = 0; i < 60; i++) {
        char object[20];
        struct audit_entry e = entry_of(i % 2 == 0 ? "holdAdd" : "holdEnd", object);

        (void)snprintf(object, sizeof object, "o%d", i % 5);
        e.object = str_of(object);
        if (i % 3 == 0)
            e.actor = STR("bob");
        CHECK(audit_append(s, &e, &err));
    }
    int64_t middle = ask(&h, "SELECT time_us FROM audit WHERE seq = 31");

    for (size_t first = 1; first <= 60; first = first * 3 + 4) {
        CHECK(count_of(s, &(struct audit_filter){ 0 }, first) == 60);
        CHECK(count_of(s, &(struct audit_filter){ .actor = STR("bob") }, first) == 20);
        CHECK(count_of(s, &(struct audit_filter){ .action = STR("holdEnd") }, first) == 30);
        CHECK(count_of(s, &(struct audit_filter){ .object = STR("o2") }, first) == 12);
    }
    CHECK(count_of(s, &(struct audit_filter){ .actor = STR("bob"), .action = STR("holdEnd") }, 7) ==
          10);
    CHECK(count_of(s, &(struct audit_filter){ .actor = STR("bob"), .object = STR("o0") }, 7) == 4);
    CHECK(count_of(s,
                   &(struct audit_filter){
                       .actor = STR("bob"), .action = STR("holdAdd"), .object = STR("o0") },
                   7) == 2);
    CHECK(count_of(s, &(struct audit_filter){ .actor = STR("nobody") }, 7) == 0);
    size_t since = count_of(s, &(struct audit_filter){ .since_us = middle }, 7),
           until = count_of(s, &(struct audit_filter){ .until_us = middle }, 7);

    CHECK(since + until == 60 && since >= 30);
    CHECK(count_of(s, &(struct audit_filter){ .actor = STR("bob"), .since_us = middle }, 7) +
              count_of(s, &(struct audit_filter){ .actor = STR("bob"), .until_us = middle }, 7) ==
          20);
    store_close(s);
}

/* ---- changes ---- */

static bool line_is(struct store *s, const char *object, const char *was, const char *became)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct audit_line l;

    if (!newest(s, &a, &l))
        return false;
    bool ok = str_is(l.entry.object, object) && str_is(l.entry.was, was) &&
              str_is(l.entry.became, became);

    if (!ok)
        printf("# %.*s | %.*s | %.*s\n", STR_ARG(l.entry.object), STR_ARG(l.entry.was),
               STR_ARG(l.entry.became));
    return ok;
}

/* proves: AU1 */
TEST(every_verb_of_people_carries_its_line)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct audit_entry e = entry_of("changed", "as it was begun");
    struct audit_line l;
    struct err err = { 0 };
    int64_t system, gateway, num;
    char name[KEY_NAME], key[KEY_TEXT], print[40];
    struct hold hold = { .reason = STR("stocktaking"), .owner = STR("ann") };
    bool was;

    CHECK(s != NULL);
    audit_begin(&e);
    CHECK(name_add(s, NAME_SYSTEM, STR("hub"), &system, &err));
    CHECK(name_add(s, NAME_GATEWAY, STR("door"), &gateway, &err));
    CHECK(lines(&h) == 0); /* words are no change */

    CHECK(secret_put(s, STR("pin"), STR("1234"), STR("alice"), &err) && lines(&h) == 1);
    CHECK(newest(s, &a, &l) && str_is(l.entry.object, "pin") && l.entry.was.len == 0);
    CHECK(l.entry.became.len == 16);
    (void)snprintf(print, sizeof print, "%.*s", STR_ARG(l.entry.became));
    CHECK(secret_put(s, STR("pin"), STR("4321"), STR("alice"), &err) && lines(&h) == 2);
    CHECK(newest(s, &a, &l) && str_is(l.entry.was, print) && !str_is(l.entry.became, print));
    CHECK(secret_drop(s, STR("pin"), &was, &err) && was && lines(&h) == 3);
    CHECK(secret_drop(s, STR("pin"), &was, &err) && !was && lines(&h) == 3);

    hold.system = system;
    CHECK(hold_add(s, &hold, &num, &err) && line_is(s, "hub", "", "{\"asked\":1}"));
    CHECK(hold_end(s, num, STR("bob"), &was, &err) && lines(&h) == 5);
    CHECK(line_is(s, "hub", "stocktaking", "{\"asked\":1}"));
    CHECK(hold_end(s, num, STR("bob"), &was, &err) && lines(&h) == 5);

    CHECK(pause_put(s, 0, 1u << PAUSE_INTAKE, STR("why"), STR("bob"), &err));
    CHECK(line_is(s, "all nodes", "", "{\"asked\":1}") && lines(&h) == 6);
    CHECK(pause_drop(s, 0, 1u << PAUSE_INTAKE, &num, &err) && lines(&h) == 7);
    CHECK(pause_drop(s, 0, 1u << PAUSE_INTAKE, &num, &err) && lines(&h) == 7);

    CHECK(caller_add(s, &(struct caller){ .gateway = gateway, .title = STR("shop") }, name, key,
                     &err) &&
          lines(&h) == 8);
    CHECK(line_is(s, name, "", "{\"asked\":1}"));
    CHECK(caller_remove(s, str_of(name), &was, &err) && was && lines(&h) == 9);
    CHECK(line_is(s, name, "door: shop", "removed"));

    const struct version_draft draft = { .body = STR("types: {}"),
                                         .by = STR("bob"),
                                         .note = STR("note") };

    CHECK(version_add(s, 0, &draft, &num, &err));
    CHECK(version_add(s, 1, &draft, &num, &err));
    CHECK(newest(s, &a, &l) && str_is(l.entry.was, "version 1"));
    CHECK(str_starts(l.entry.became, STR("version 2, sha256 ")) && lines(&h) == 11);
    CHECK(!version_add(s, 1, &draft, &num, &err)); /* late */
    audit_end();
    CHECK(lines(&h) == 11);
    CHECK(secret_put(s, STR("pin"), STR("1234"), STR("alice"), &err) && lines(&h) == 11);
    CHECK(ask(&h,
              "SELECT count(*) FROM audit WHERE actor = 'alice' AND kind = 'user' AND address = "
              "'10.1.2.3' AND action = 'changed' AND reason = 'because'") == 11);
    CHECK(verify(s).bad == 0);
    store_close(s);
}

TEST(what_is_done_to_documents_is_in_it)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct operate_order order = { .who = STR("alice"), .keep_days = KEEP };
    struct operate_answer answers[3], made;
    struct operate_target targets[3] = { 0 };
    struct audit_entry e = entry_of("retry", "");
    struct edit_order edited = {
        .has_original = true, .supersede = true, .who = STR("alice"), .keep_days = KEEP
    };
    struct accept_op docs[3], edit_doc = doc_of(STR("better"));
    char id[ID_TEXT], new_id[ID_TEXT], want[300];
    struct err err = { 0 };
    bool found;

    CHECK(s != NULL);
    for (int i = 0; i < 3; i++) {
        docs[i] = doc_of(STR("body"));
        CHECK(accept_doc(s, &docs[i]));
        targets[i].id = docs[i].id;
    }
    audit_begin(&e);
    CHECK(operate(s, OPERATE_CANCEL, targets, 1, &order, answers, &err));
    CHECK(answers[0].result == OPERATE_DONE && lines(&h) == 1);
    (void)snprintf(want, sizeof want, "{\"result\":\"%s\",\"asked\":{\"asked\":1}}",
                   answers[0].text);
    CHECK(line_is(s, id_text(&docs[0].id, id), "", want));
    order.bulk = true;
    CHECK(operate(s, OPERATE_CANCEL, targets, 2, &order, answers, &err) && lines(&h) == 2);
    CHECK(line_is(s, "", "", "{\"result\":\"1 documents of 2\",\"asked\":{\"asked\":1}}"));
    CHECK(kept_put(s, &docs[2].id, STR("court"), STR("alice"), &found, &err) && lines(&h) == 3);
    CHECK(line_is(s, id_text(&docs[2].id, id), "", "kept"));
    CHECK(kept_drop(s, &docs[2].id, STR("alice"), &found, &err) && lines(&h) == 4);
    CHECK(kept_drop(s, &docs[2].id, STR("alice"), &found, &err) && lines(&h) == 4);
    edited.original = docs[2].id;
    CHECK(edit(s, &edit_doc, &edited, &made, &err) && made.result == OPERATE_DONE);
    CHECK(lines(&h) == 5);
    (void)snprintf(want, sizeof want, "{\"result\":\"document %s: %s\",\"asked\":{\"asked\":1}}",
                   id_text(&edit_doc.id, new_id), made.text);
    CHECK(line_is(s, id, "", want));
    edit_doc = doc_of(STR("worse"));
    CHECK(edit(s, &edit_doc, &edited, &made, &err) && made.result != OPERATE_DONE);
    CHECK(lines(&h) == 5); /* refused */
    audit_end();
    CHECK(verify(s).bad == 0);
    store_close(s);
}

/* ---- together ---- */

struct hand {
    struct store *s;
    int number;
    bool ok;
};

enum { HANDS = 4, EACH = 25 };

static void *work(void *arg)
{
    struct hand *hand = arg;
    char name[20];
    struct audit_entry e = entry_of("secretAdd", "");
    struct err err = { 0 };

    (void)snprintf(name, sizeof name, "secret%d", hand->number);
    hand->ok = true;
    for (int i = 0; i < EACH && hand->ok; i++) {
        audit_begin(&e);
        hand->ok = secret_put(hand->s, str_of(name), STR("1234"), STR("alice"), &err);
        audit_end();
        hand->ok = hand->ok && append(hand->s, "look", name) && accept_many(hand->s, i, 5, 5);
    }
    if (!hand->ok)
        printf("# %s\n", err.text);
    return NULL;
}

/* Several writers, and on PostgreSQL several nodes: one chain. */
TEST(many_at_once_make_one_chain)
{
    struct home h = fresh_home(), other = on_postgres() ? home_beside(&h) : h;
    struct store *s = open_store(&h), *t = on_postgres() ? open_store(&other) : s;
    struct hand hands[HANDS];
    pthread_t threads[HANDS];
    struct err err = { 0 };

    CHECK(s != NULL && t != NULL);
    CHECK(secret_put(s, STR("first"), STR("1234"), STR("alice"), &err)); /* the key file */
    CHECK(secret_put(t, STR("first"), STR("1234"), STR("alice"), &err) || on_postgres());
    for (int i = 0; i < HANDS; i++) {
        hands[i] = (struct hand){ .s = i % 2 == 0 ? s : on_postgres() ? s : t, .number = i };
        CHECK(pthread_create(&threads[i], NULL, work, &hands[i]) == 0);
    }
    if (t != s)
        CHECK(append_many(t, EACH));
    for (int i = 0; i < HANDS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0 && hands[i].ok);
    struct audit_check c = verify(s);

    CHECK(c.bad == 0 && c.lines == HANDS * EACH * 2 + (t != s ? EACH : 0));
    if (t != s)
        store_close(t);
    store_close(s);
}

/* ---- crashes ---- */

/* Places holds on system 11, one after the other. */
CHILD(place_holds)
{
    struct store *s = open_store(h);
    struct hold hold = { .system = 11, .reason = STR("x"), .owner = STR("ann") };
    struct audit_entry e = entry_of("holdAdd", "");
    struct err err = { 0 };
    int64_t num;

    (void)arg;
    for (int i = 0; s != NULL && i < 6; i++) {
        audit_begin(&e);
        if (!hold_add(s, &hold, &num, &err))
            return 1;
        audit_end();
        printf("told\n");
    }
    store_close(s);
    return s == NULL;
}

/* proves: AU1 */
TEST(a_change_and_its_line_are_there_or_not_together)
{
    static const char *const points[] = { "group.taken",  "group.begun",     "group.written",
                                          "group.commit", "group.committed", "group.acked" };
    int64_t killed = 0;

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct home h = fresh_home();

        for (int pass = 1; pass <= 4; pass++) {
            AUTO(buf_done) struct buf said = BUF_INIT(1 << 16);
            char fault[60];

            (void)snprintf(fault, sizeof fault, "%s:kill:%d", points[i], pass);
            killed += was_killed(run_child("place_holds", &h, fault, "", &said));
        }
        struct store *s = open_store(&h);

        CHECK(s != NULL && verify(s).bad == 0);
        CHECK(ask(&h, "SELECT count(*) FROM hold") == lines(&h));
        store_close(s);
    }
    CHECK(killed > 12);
}

/* proves: AU1 */
TEST(a_change_that_is_refused_leaves_no_line)
{
    struct home h = fresh_home();
    AUTO(buf_done) struct buf said = BUF_INIT(1 << 16);
    int status = run_child("place_holds", &h, "operation:error:3", "", &said);

    CHECK(!ended_well(status) && !was_killed(status));
    struct store *s = open_store(&h);

    CHECK(s != NULL && verify(s).bad == 0);
    CHECK(ask(&h, "SELECT count(*) FROM hold") == lines(&h) && lines(&h) <= 2);
    store_close(s);
}

STORE_TEST_MAIN
