/* Documents that an older database lacks, taken in again from their segments (store/recover.h). */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "retain_scene.h"
#include "store/kernel/store_state.h"
#include "store/kernel/told.h"
#include "store_test.h"

#define HOUR_US (INT64_C(3600) * CLOCK_S)

enum { OLDS = 100, NEWS = 5, BETWEEN = 10, BODY = 10 << 10 };

/* The database of a closed store is one file. */
static bool copy_database(const struct home *h, const char *from, const char *to)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(64 << 20);
    AUTO_FD dir = open(h->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = { 0 };

    return dir >= 0 && file_read_whole(dir, from, &bytes, &err) &&
           publish_bytes(dir, to, buf_view(&bytes), 0600, &err);
}

static bool keep_database(const struct home *h)
{
    return copy_database(h, "waybill.db", "older.db");
}

static bool put_database_back(const struct home *h)
{
    return copy_database(h, "older.db", "waybill.db");
}

static struct str large_body(void)
{
    static char bytes[BODY];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)('a' + i % 23);
    return str_mem(bytes, sizeof bytes);
}

/* Every second one of 100 documents may go, then the database is kept.  Five documents follow, with
 * others between them that may go; then retention copies what is left of the segments, so that the
 * newest ones have copies alone, and the entries of some of the five are gone. */
struct copied_scene {
    struct home h;
    struct accept_op olds[OLDS], news[NEWS];
    struct accept_op *last; /* accepted behind the copies; NULL: none */
};

static bool accept_news(struct store *s, struct copied_scene *c)
{
    static struct accept_op between[BETWEEN];

    for (int i = 0; i < NEWS; i++) {
        c->news[i] = doc_of(STR("lost"));
        if (!accept_doc(s, &c->news[i]) || !ended_docs(s, between, BETWEEN, large_body(), OLD))
            return false;
    }
    return true;
}

static bool copied_scene(struct copied_scene *c)
{
    struct store *s;
    struct retain_bytes sum;

    c->h = fresh_home();
    s = open_small(&c->h);
    if (s == NULL)
        return false;
    for (int i = 0; i < OLDS; i++)
        if (!ended_docs(s, &c->olds[i], 1, large_body(), i % 2 == 0 ? OLD : 30))
            return false;
    store_close(s);
    if (!keep_database(&c->h) || (s = open_small(&c->h)) == NULL)
        return false;
    bool ok = accept_news(s, c) && purge(s, today() + OLD) == OLDS / 2 + NEWS * BETWEEN &&
              clean(s, &sum) && sum.moved >= 40 && sum.segments >= 4 &&
              (c->last == NULL || accept_doc(s, c->last));

    store_close(s);
    return ok && put_database_back(&c->h);
}

/* proves: FO14 */
TEST(sqlite_numbers_are_above_those_of_all_lost_documents)
{
    static struct copied_scene c;
    struct accept_op next = doc_of(STR("next"));
    struct store *s;

    CHECK(copied_scene(&c));
    s = open_small(&c.h);
    CHECK(s != NULL);
    for (int i = 0; i < NEWS; i++)
        CHECK(is_there(s, &c.news[i]) && payload_is(s, &c.news[i], STR("lost")));
    CHECK(ask(&c.h, "SELECT upto FROM restore") >= c.news[NEWS - 1].num);
    CHECK(accept_doc(s, &next) && next.num > c.news[NEWS - 1].num);
    store_close(s);
}

TEST(sqlite_payloads_that_retention_copied_are_found_again)
{
    static struct copied_scene c;
    struct retain_bytes sum;
    struct store *s;

    CHECK(copied_scene(&c));
    s = open_small(&c.h);
    CHECK(s != NULL);
    for (int i = 1; i < OLDS; i += 2)
        CHECK(payload_is(s, &c.olds[i], large_body()));
    CHECK(purge(s, today() + OLD) == OLDS / 2 && clean(s, &sum) && all_is_well(s));
    store_close(s);
}

static bool damage_payload(const struct home *h, struct payload_ref place)
{
    char path[400];

    (void)snprintf(path, sizeof path, "%s/payload/%lld.seg", h->folder, (long long)place.seg);
    AUTO_FD fd = open(path, O_RDWR | O_CLOEXEC);

    return fd >= 0 && pwrite(fd, "x", 1, place.pos + 104) == 1;
}

/* Entries are read in two turns if there are copies. */
TEST(sqlite_an_entry_that_cannot_be_read_is_counted_once)
{
    static struct copied_scene c;
    struct accept_op last = doc_of(STR("last"));
    struct store *s;
    char source[400];

    c.last = &last;
    CHECK(copied_scene(&c) && damage_payload(&c.h, last.place));
    s = open_small(&c.h);
    CHECK(s != NULL && !is_there(s, &last) && is_there(s, &c.news[0]));
    (void)ask_text(&c.h, "SELECT source FROM restore", source, sizeof source);
    CHECK(strstr(source, " 1 entries could not be read") != NULL);
    store_close(s);
}

/* A group that finds no space at its COMMIT, and one behind it that is smaller, or has no
 * documents. */
CHILD(failed_group)
{
    struct accept_op five[5], two[2];
    struct store *s = open_store(h);
    struct err err = { 0 };
    int refused = 0;

    for (size_t i = 0; i < 5; i++)
        five[i] = doc_of(STR("refused"));
    if (s == NULL || accept_docs(s, five, 5))
        return 1; /* the fault struck elsewhere */
    for (size_t i = 0; i < 5; i++)
        refused += !five[i].op.ok;
    two[0] = two[1] = doc_of(STR("accepted"));
    if (refused < 5 ||
        (arg[0] != '\0' ? !accept_keep_tables(s, 2 * HOUR_US, &err) : !accept_docs(s, two, 2)))
        return 2;
    store_close(s);
    return 0;
}

/* Fails the n-th write to the log, for the n that strikes a whole group after its entries were
 * synced. */
static bool failed_group(struct home *h, const char *quiet)
{
    for (int n = 1; n < 200; n++) {
        char fault[40];
        struct store *s;

        *h = fresh_home();
        s = open_store(h);
        if (s == NULL)
            return false;
        store_close(s);
        (void)snprintf(fault, sizeof fault, "db.full:error:%d", n);
        if (!keep_database(h))
            return false;
        if (ended_well(run_child("failed_group", h, fault, quiet, NULL)))
            return true;
    }
    return false;
}

/* A person is told how many. */
static bool were_left_out(const struct home *h, int count)
{
    char source[500], want[40];

    (void)ask_text(h, "SELECT source FROM restore", source, sizeof source);
    (void)snprintf(want, sizeof want, " %d were left out", count);
    return strstr(source, want) != NULL;
}

/* Its senders were answered with an error and send again. */
TEST(sqlite_a_group_that_failed_does_not_come_back)
{
    struct home h;
    struct store *s;

    CHECK(failed_group(&h, "") && put_database_back(&h));
    s = open_store(&h);
    CHECK(s != NULL && ask(&h, "SELECT count(*) FROM doc") == 2);
    CHECK(ask(&h, "SELECT count(*) FROM doc WHERE size = 8") == 2 && were_left_out(&h, 5));
    store_close(s);
}

/* Nothing was accepted since, or only by the next process, with numbers of another block. */
TEST(sqlite_a_group_that_failed_does_not_come_back_alone)
{
    for (int next = 0; next < 2; next++) {
        struct home h;
        struct store *s;

        CHECK(failed_group(&h, "quiet"));
        s = next ? open_store(&h) : NULL;
        CHECK(!next || (s != NULL && accept_many(s, 0, 3, 1)));
        store_close(s);
        CHECK(put_database_back(&h));
        s = open_store(&h);
        CHECK(s != NULL && ask(&h, "SELECT count(*) FROM restore") == 1);
        CHECK(ask(&h, "SELECT count(*) FROM doc") == (next ? 3 : 0));
        store_close(s);
    }
}

/* A power cut took the entries of a group that failed, which were not synced; the page has their
 * range. */
TEST(sqlite_documents_in_the_place_of_refused_entries_come_back)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op first = doc_of(STR("first")), news[2];

    CHECK(s != NULL && accept_doc(s, &first));
    struct payload_ref end = segments_end(s->segments), to = { end.seg, end.pos + BODY };

    told_refuse(s->told, (struct payload_ref){ end.seg, first.place.pos + 8 }, to);
    told_refuse(s->told, end, to);
    told_refuse(s->told, end, (struct payload_ref){ end.seg + 1, BODY });
    store_close(s);
    CHECK(keep_database(&h));
    s = open_store(&h);
    news[0] = news[1] = doc_of(STR("acknowledged"));
    CHECK(s != NULL && accept_docs(s, news, 2));
    CHECK(!told_is_refused(s->told, end) && news[0].place.pos >= end.pos);
    CHECK(told_is_refused(s->told, (struct payload_ref){ end.seg, end.pos - 8 }));
    store_close(s);
    CHECK(put_database_back(&h));
    s = open_store(&h);
    CHECK(s != NULL && is_there(s, &news[0]) && is_there(s, &news[1]));
    store_close(s);
}

CHILD(killed_group)
{
    struct accept_op first[2] = { doc_of(STR("1")), doc_of(STR("2")) };
    struct accept_op two[2] = { keyed_doc(STR("a"), "a", HOUR_US),
                                keyed_doc(STR("b"), "b", HOUR_US) };
    struct err err = { 0 };
    struct store *s = open_store(h);

    (void)arg;
    if (s == NULL || !accept_keep_tables(s, 2 * HOUR_US, &err) || !accept_docs(s, first, 2))
        return 1;
    (void)accept_docs(s, two, 2);
    return 2;
}

/* A document that was never answered and its repetition have one key: one of them comes back. */
TEST(sqlite_a_key_gives_one_document_back)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op again[2], third = keyed_doc(STR("b"), "b", HOUR_US);
    struct err err = { 0 };

    CHECK(s != NULL);
    store_close(s);
    CHECK(keep_database(&h));
    CHECK(was_killed(run_child("killed_group", &h, "group.written:kill:3", "", NULL)));
    s = open_store(&h);
    CHECK(s != NULL && accept_keep_tables(s, 2 * HOUR_US, &err));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 2);
    again[0] = keyed_doc(STR("a"), "a", HOUR_US);
    again[1] = keyed_doc(STR("b"), "b", HOUR_US);
    CHECK(accept_docs(s, again, 2));
    store_close(s);
    CHECK(put_database_back(&h));
    s = open_store(&h);
    CHECK(s != NULL && ask(&h, "SELECT count(*) FROM doc") == 4);
    CHECK(is_there(s, &again[0]) && is_there(s, &again[1]) && were_left_out(&h, 2));
    CHECK(accept_keep_tables(s, 2 * HOUR_US, &err) && accept_doc(s, &third));
    CHECK(third.result == ACCEPT_REPEATED && id_eq(&third.id, &again[1].id));
    store_close(s);
}

/* `waybill doctor --data` opens a store and commits nothing. */
TEST(sqlite_an_offline_command_does_not_forget_what_was_told)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc = doc_of(STR("lost"));

    CHECK(s != NULL);
    store_close(s);
    CHECK(keep_database(&h));
    s = open_store(&h);
    CHECK(s != NULL && accept_doc(s, &doc)); /* one commit: its entry alone proves nothing */
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL);
    store_close(s);
    CHECK(put_database_back(&h));
    s = open_store(&h);
    CHECK(s != NULL && is_there(s, &doc));
    store_close(s);
}

STORE_TEST_MAIN
