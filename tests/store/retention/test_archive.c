/* What goes is in an archive first, whole; and a database that is written anew has everything. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/file.h"
#include "core/call.h"
#include "store/compact.h"
#include "store/kernel/store_state.h"
#include "store/payload/archive_read.h"
#include "store/retention/archive.h"
#include "store/retention/retain.h"
#include "store/road/done.h"
#include "store/watch/check.h"
#include "store_test.h"

enum { OLD = -3 };

static int64_t today(void)
{
    return clock_wall_us() / RETAIN_DAY_US;
}

static bool ended_docs(struct store *s, struct accept_op *docs, size_t count, struct str body)
{
    static struct settle_op ops[200];

    for (size_t i = 0; i < count; i++) {
        docs[i] = doc_of(body);
        docs[i].claim_wanted = true;
    }
    if (count > 200 || !accept_docs(s, docs, count)) {
        printf("# accept: %s\n", docs[0].op.err.text);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_OVER);
        ops[i].keep_days = OLD;
    }
    if (settle_ops(s, ops, count))
        return true;
    printf("# settle: %s\n", ops[0].op.err.text);
    return false;
}

static struct str folder_of(const struct home *h, char to[static 300])
{
    (void)snprintf(to, 300, "%s.archive", h->folder);
    return str_of(to);
}

static bool one_slice(struct store *s, const struct archive_made *made, struct retain_slice *got)
{
    struct retain_order order = { .day = today() + OLD,
                                  .now_us = clock_wall_us(),
                                  .unguarded = true,
                                  .archived_us = made->until_us };
    struct err err = { 0 };

    return retain_slice(s, &order, got, &err);
}

static bool archived_stage_is(struct store *s, const struct accept_op *op, int64_t stage,
                              struct str want)
{
    AUTO(buf_done) struct buf got = BUF_INIT(16 << 20);
    struct payload_source source;
    struct err err = { 0 };
    bool found;

    return archive_source(s, &op->id, stage, &source, &found, &err) && found &&
           read_payload(s, &source, &got, &err) && str_eq(buf_view(&got), want);
}

static bool archived_is(struct store *s, const struct accept_op *op, struct str want)
{
    return archived_stage_is(s, op, 0, want);
}

static bool archive_at_once(struct store *s, struct str folder, struct archive_made *made,
                            struct err *err)
{
    (void)setenv("WAYBILL_TEST_ARCHIVE_AT_ONCE", "1", 1);
    clock_sleep_us(2 * CLOCK_MS); /* what ended before is before */
    if (archive_day(s, folder, today() + OLD, NULL, made, err))
        return true;
    printf("# archive: %s\n", err->text);
    return false;
}

/* proves: RE2 RE9 */
TEST(nothing_goes_that_is_not_in_an_archive)
{
    static struct accept_op docs[120], more[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made made = { .until_us = clock_wall_us() }, first;
    struct retain_slice got;
    struct err err = { 0 };
    char path[300], file[500];
    struct str folder = folder_of(&h, path);

    CHECK(s != NULL && ended_docs(s, docs, 120, STR("paper")));
    CHECK(one_slice(s, &made, &got) && got.unarchived && got.documents == 0);
    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 120 && made.bytes == 600);
    first = made;
    CHECK(ended_docs(s, more, 3, STR("late"))); /* it is in no archive */
    int64_t went = 0;                           /* a slice may be smaller */

    for (int i = 0; i < 3; i++) {
        CHECK(one_slice(s, &made, &got) && !got.unarchived);
        went += got.documents;
    }
    CHECK(went == 120);
    CHECK(archived_is(s, &docs[0], STR("paper")) && archived_is(s, &docs[119], STR("paper")));
    CHECK(!archived_is(s, &more[0], STR("late")) && payload_is(s, &more[0], STR("late")));
    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 3);
    CHECK(one_slice(s, &made, &got) && got.documents == 3 && archived_is(s, &more[2], STR("late")));
    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 0);
    /* A manifest that is not the one that was verified: nobody goes on. */
    (void)snprintf(file, sizeof file, "%s/%s.manifest", path, first.name);
    FILE *f = fopen(file, "a");

    CHECK(f != NULL && fputc(' ', f) == ' ' && fclose(f) == 0);
    CHECK(!archive_at_once(s, folder, &made, &err) && strstr(err.text, "not the one") != NULL);
    store_close(s);
}

/* proves: QC7 */
TEST(an_archive_that_was_given_up_is_not_recorded)
{
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_look list[1];
    struct arena a = ARENA_INIT(1 << 16);
    struct archive_made made;
    struct call call = { 0 };
    struct err err = { 0 };
    char path[300];
    struct str folder = folder_of(&h, path);
    size_t n;

    CHECK(s != NULL && ended_docs(s, docs, 3, STR("paper")));
    (void)setenv("WAYBILL_TEST_ARCHIVE_AT_ONCE", "1", 1);
    clock_sleep_us(2 * CLOCK_MS);
    (void)call_give_up(&call);
    CHECK(!archive_day(s, folder, today() + OLD, &call, &made, &err));
    CHECK(archive_list(s, 1, &a, list, &n, &err) && n == 0);
    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 3);
    arena_done(&a);
    store_close(s);
}

/* ---- clocks ---- */

static int64_t went(struct store *s, const struct archive_made *made)
{
    struct retain_slice got;

    return one_slice(s, made, &got) ? got.documents : -1;
}

/* proves: RE2 RE7 */
TEST(behind_a_clock_that_ran_ahead_nothing_goes_unarchived)
{
    static struct accept_op docs[3], late[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made made, ahead;
    struct err err = { 0 };
    char path[300], sql[200];
    struct str folder = folder_of(&h, path);

    CHECK(s != NULL && ended_docs(s, docs, 3, STR("paper")));
    (void)snprintf(sql, sizeof sql, "SELECT max(ended_us) FROM done_%lld",
                   (long long)(today() + OLD));
    int64_t ended = ask(&h, sql);

    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 3);
    CHECK(ask(&h, "SELECT upto_us FROM archive") == ended);
    /* As if the last of them had ended, and the archive been made, three days from now. */
    (void)snprintf(sql, sizeof sql, "UPDATE archive SET upto_us = %lld",
                   (long long)(ended + 3 * RETAIN_DAY_US));
    CHECK(tell(&h, sql) && ended_docs(s, late, 3, STR("late")));
    ahead = made;
    ahead.until_us += 3 * RETAIN_DAY_US;
    CHECK(went(s, &ahead) == 0 && went(s, &made) == 3);
    CHECK(payload_is(s, &late[0], STR("late")));
    /* One of them was kept: it came to this day long after it ended. */
    (void)snprintf(sql, sizeof sql, "UPDATE done_%lld SET ended_us = 5 WHERE num = %lld",
                   (long long)(today() + OLD), (long long)late[1].num);
    CHECK(tell(&h, sql) && archive_at_once(s, folder, &made, &err) && made.documents == 3);
    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 0);
    CHECK(went(s, &made) == 3);
    for (int i = 0; i < 3; i++)
        CHECK(archived_is(s, &docs[i], STR("paper")) && archived_is(s, &late[i], STR("late")));
    store_close(s);
}

TEST(long_indices_are_gone_through_in_pages)
{
    static struct accept_op docs[200], more[200];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made made;
    struct err err = { 0 };
    char path[300];
    struct str folder = folder_of(&h, path);

    CHECK(s != NULL && ended_docs(s, docs, 200, STR("paper")) &&
          archive_at_once(s, folder, &made, &err) && made.documents == 200);
    CHECK(ended_docs(s, more, 200, STR("more")));
    CHECK(tell(&h, "UPDATE archive SET upto_us = upto_us * 2"));
    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 200);
    CHECK(archive_at_once(s, folder, &made, &err) && made.documents == 0);
    CHECK(archived_is(s, &more[0], STR("more")) && archived_is(s, &more[199], STR("more")));
    store_close(s);
}

/* ---- several nodes ---- */

static int files_in(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    if (dir != NULL)
        (void)closedir(dir);
    return n;
}

/* Whoever notes an archive finds that another noted the same part a moment before. */
static bool another_is_quicker(const struct home *h)
{
    static const char row[] = "INSERT INTO archive VALUES (NEW.day, NEW.part, NEW.folder, 'other', "
                              "NEW.sha256, 1, 1, 1, 1, 1, 1)";
    char sql[500];

    if (on_sqlite()) {
        (void)snprintf(sql, sizeof sql,
                       "CREATE TRIGGER quicker BEFORE INSERT ON archive WHEN NEW.name <> 'other' "
                       "BEGIN %s; END",
                       row);
        return tell(h, sql);
    }
    (void)snprintf(sql, sizeof sql,
                   "CREATE FUNCTION quicker() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF "
                   "NEW.name <> 'other' THEN %s; END IF; RETURN NEW; END $$",
                   row);
    return tell(h, sql) && tell(h, "CREATE TRIGGER quicker BEFORE INSERT ON archive FOR EACH ROW "
                                   "EXECUTE FUNCTION quicker()");
}

/* proves: RE2 */
TEST(of_two_that_archive_a_day_one_is_noted_and_the_other_goes_on)
{
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made made;
    struct err err = { 0 };
    char path[300];
    struct str folder = folder_of(&h, path);

    CHECK(s != NULL && ended_docs(s, docs, 3, STR("paper")) && another_is_quicker(&h));
    CHECK(archive_at_once(s, folder, &made, &err) && made.busy && made.documents == 0);
    CHECK(ask(&h, "SELECT count(*) FROM archive WHERE name = 'other'") == 1);
    CHECK(files_in(path) == 0);
    store_close(s);
}

/* proves: RE2 */
TEST(an_archive_is_never_written_over_another)
{
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made first, second;
    struct err err = { 0 };
    char path[300];
    struct str folder = folder_of(&h, path);

    CHECK(s != NULL && ended_docs(s, docs, 3, STR("paper")));
    CHECK(archive_at_once(s, folder, &first, &err) && tell(&h, "DELETE FROM archive"));
    CHECK(archive_at_once(s, folder, &second, &err) && strcmp(first.name, second.name) != 0);
    CHECK(first.documents == 3 && second.documents == 3 && files_in(path) == 6);
    store_close(s);
}

TEST(postgres_one_node_archives_at_a_time)
{
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made made;
    struct db *other = NULL;
    struct err err = { 0 };
    char path[300];
    int64_t turn;

    CHECK(s != NULL && ended_docs(s, docs, 3, STR("paper")));
    CHECK(db_open_postgres(h.url, true, NULL, &other, &err) &&
          db_one_int(other, SQL_ARCHIVE_TURN, DB_NO_ARGS, 0, &turn, &err) && turn == 1);
    CHECK(archive_at_once(s, folder_of(&h, path), &made, &err) && made.busy);
    db_close(other);
    for (int i = 0; i < 1000 && made.busy; i++) /* until the server has seen that it went */
        CHECK(archive_at_once(s, folder_of(&h, path), &made, &err));
    CHECK(made.documents == 3);
    store_close(s);
}

TEST(a_day_may_have_many_archives)
{
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made made;
    struct err err = { 0 };
    char path[300];
    struct str folder = folder_of(&h, path);

    CHECK(s != NULL && ended_docs(s, docs, 1, STR("paper")) &&
          archive_at_once(s, folder, &made, &err));
    CHECK(tell(&h, "INSERT INTO archive WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 "
                   "FROM n WHERE i < 250) SELECT day, i, folder, name, sha256, 1, 1, 1, 1, 1, 1 "
                   "FROM archive, n WHERE part = 1"));
    CHECK(ended_docs(s, docs, 3, STR("late")) && archive_at_once(s, folder, &made, &err));
    CHECK(made.documents == 3 && ask(&h, "SELECT max(part) FROM archive") == 251);
    store_close(s);
}

/* ---- reading back ---- */

/* Archives of later days whose numbers span everything. */
static bool note_others(const struct home *h, const char *name, const char *folder, int count)
{
    char sql[900];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO archive(day, part, folder, name, sha256, first_num, last_num, "
                   "documents, bytes, upto_us, made_us) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                   "SELECT i + 1 FROM n WHERE i < %d) SELECT day + i, 1, '%s', '%s', sha256, 1, "
                   "1000000, 1, 1, 1, 1 FROM archive, n WHERE day = (SELECT max(day) FROM archive)",
                   count, folder, name);
    return tell(h, sql);
}

TEST(a_document_is_found_however_many_archives_span_its_number)
{
    static struct accept_op doc, other;
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct archive_made made;
    struct archive_place place;
    struct err err = { 0 };
    char path[300], file[400];
    bool found;

    CHECK(s != NULL && ended_docs(s, &doc, 1, STR("paper")) &&
          archive_at_once(s, folder_of(&h, path), &made, &err));
    (void)snprintf(file, sizeof file, "%s/others.index", path);
    FILE *f = fopen(file, "w");

    CHECK(f != NULL && fclose(f) == 0 && note_others(&h, "others", path, 150));
    CHECK(archived_is(s, &doc, STR("paper")));
    other = doc;
    other.id = id_make(clock_wall_us(), doc.num, 12345);
    CHECK(archive_find(s, &other.id, &place, NULL, &found, &err) && !found);
    /* One of them is not there: that is told only when no other has it. */
    CHECK(note_others(&h, "missing", path, 1) && archived_is(s, &doc, STR("paper")));
    CHECK(!archive_find(s, &other.id, &place, NULL, &found, &err) && !found);
    CHECK(strstr(err.text, "missing.index") != NULL);
    store_close(s);
}

/* What was sent, and what was answered, are there when the store has purged them. */
TEST(what_was_sent_is_archived_beside_what_was_received)
{
    struct timeline_line step = { .stage = TIMELINE_STEP, .what = STR("replace"), .took_us = 3 };
    struct timeline_line said = { .stage = TIMELINE_DELIVERY,
                                  .outcome = TIMELINE_DELIVERED,
                                  .what = STR("hub"),
                                  .is_answer = true };
    struct settle_bytes first = { .bytes = STR("sent\nonce"), .size = 9, .line = &step },
                        answer = { .bytes = STR("stage 1 5 x"), .size = 11, .line = &said },
                        second = { .bytes = STR("sent twice"), .size = 10, .line = &step };
    struct settle_bytes *const all[] = { &first, &answer, &second };
    struct settle_delivery parts[2] = { { .id = STR("D.a"), .state = DELIVERY_DELIVERED },
                                        { .id = STR("D.b"), .state = DELIVERY_DELIVERED } };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2];
    struct retain_slice got;
    struct archive_made made;
    struct err err = { 0 };
    char path[300];

    CHECK(s != NULL && born_docs(s, docs, 2));
    for (size_t i = 0; i < 3; i++) {
        all[i]->sha256 = digest_of(all[i]->bytes);
        all[i]->stored.id = docs[0].id;
    }
    parts[0].bytes = &first;
    parts[0].answer = &answer;
    parts[1].bytes = &second;
    struct settle_op ops[2] = { settle_of(&docs[0].task, docs[0].num, SETTLE_OVER),
                                settle_of(&docs[1].task, docs[1].num, SETTLE_OVER) };

    ops[0].parts = parts;
    ops[0].part_count = 2;
    ops[0].state = ops[1].state = DOCUMENT_DELIVERED;
    ops[0].keep_days = ops[1].keep_days = OLD;
    CHECK(settle_ops(s, ops, 2));
    CHECK(archive_at_once(s, folder_of(&h, path), &made, &err) && made.documents == 2);
    CHECK(one_slice(s, &made, &got) && got.documents == 2);
    CHECK(archived_is(s, &docs[0], STR("born")) && archived_is(s, &docs[1], STR("born")));
    CHECK(archived_stage_is(s, &docs[0], 1, STR("sent\nonce")));
    CHECK(archived_stage_is(s, &docs[0], 2, STR("sent twice")));
    CHECK(!archived_stage_is(s, &docs[0], 3, STR("")));
    CHECK(!archived_stage_is(s, &docs[1], 1, STR("sent\nonce"))); /* the last of the file */
    store_close(s);
}

TEST(large_payloads_are_archived_in_pieces)
{
    enum { SIZE = 5 << 20 };
    static struct accept_op doc;
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct upload *u = NULL;
    struct archive_made made;
    struct settle_op op;
    struct err err = { 0 };
    char *bytes = malloc(SIZE), path[300];
    struct str body = str_mem(bytes, SIZE);

    CHECK(s != NULL);
    chance_bytes(bytes, SIZE);
    doc = doc_of(body);
    doc.is_spooled = doc.claim_wanted = true;
    doc.body = STR("");
    CHECK(upload_open(s, &u, &err) && upload_add(u, body, &err) &&
          upload_finish(u, &doc.spooled, &err));
    upload_close(u);
    CHECK(accept_doc(s, &doc));
    op = settle_of(&doc.task, doc.num, SETTLE_OVER);
    op.keep_days = OLD;
    CHECK(settle_ops(s, &op, 1));
    CHECK(archive_at_once(s, folder_of(&h, path), &made, &err) && made.documents == 1);
    CHECK(archived_is(s, &doc, body));
    store_close(s);
    free(bytes);
}

/* ---- killed ---- */

CHILD(archive_and_go)
{
    struct store *s = open_store(h);
    struct archive_made made;
    struct retain_slice got;
    struct err err = { 0 };
    char path[300];
    bool ok = s != NULL && archive_at_once(s, folder_of(h, path), &made, &err) &&
              one_slice(s, &made, &got);

    (void)arg;
    store_close(s);
    return ok ? 0 : 1;
}

/* proves: RE2 */
TEST(killed_anywhere_a_document_is_here_or_in_the_archive)
{
    static const char *const points[] = { "archive.written:kill:1",  "archive.verified:kill:1",
                                          "archive.written:error:1", "group.written:kill:1",
                                          "group.written:kill:2",    "group.committed:kill:2" };
    static struct accept_op docs[40];

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct home h = fresh_home();
        struct store *s = open_store(&h);
        struct archive_made made;
        struct retain_slice got;
        struct err err = { 0 };
        char path[300];
        int here = 0, there = 0;

        CHECK(s != NULL && ended_docs(s, docs, 40, STR("paper")));
        store_close(s);
        CHECK(!ended_well(run_child("archive_and_go", &h, points[i], "", NULL)));
        s = open_store(&h);
        CHECK(s != NULL);
        for (int k = 0; k < 40; k++) {
            AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
            struct document d;

            if (document_get(s, &docs[k].id, &a, &d, &err))
                here += payload_is(s, &docs[k], STR("paper"));
            else
                there += archived_is(s, &docs[k], STR("paper"));
        }
        CHECK(here + there == 40 && (here == 40 || there == 40));
        CHECK(archive_at_once(s, folder_of(&h, path), &made, &err) && one_slice(s, &made, &got));
        CHECK(archived_is(s, &docs[0], STR("paper")) && archived_is(s, &docs[39], STR("paper")));
        store_close(s);
    }
}

/* ---- compact ---- */

CHILD(compact_folder)
{
    struct compact_result done;
    struct err err = { 0 };

    (void)arg;
    return store_compact(h->folder, &done, &err) ? 0 : 1;
}

static bool all_is_well(struct store *s)
{
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result r;
        struct err err = { 0 };

        if (!check_run(s, i, true, &r, &err) || r.bad > 0)
            return false;
    }
    return true;
}

TEST(sqlite_a_database_written_anew_has_everything_and_nothing_free)
{
    static struct accept_op docs[200], live[3];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct compact_result done;
    struct retain_order order = { .day = today() + OLD,
                                  .now_us = clock_wall_us(),
                                  .unguarded = true };
    struct retain_slice got;
    struct err err = { 0 };

    CHECK(s != NULL);
    for (int i = 0; i < 5; i++)
        CHECK(ended_docs(s, docs, 200, STR("paper")));
    for (int i = 0; i < 3; i++)
        live[i] = doc_of(STR("live"));
    CHECK(accept_docs(s, live, 3));
    CHECK(!store_compact(h.folder, &done, &err)); /* somebody is at it */
    do {
        CHECK(retain_slice(s, &order, &got, &err));
        order.above = got.upto;
    } while (got.upto != 0);
    store_close(s);
    CHECK(was_killed(run_child("compact_folder", &h, "compact.written:kill:1", "", NULL)));
    s = open_store(&h);
    CHECK(s != NULL && payload_is(s, &live[0], STR("live")) && all_is_well(s));
    store_close(s);
    err = (struct err){ 0 };
    CHECK(store_compact(h.folder, &done, &err) && done.after_bytes < done.before_bytes);
    s = open_store(&h);
    CHECK(s != NULL && payload_is(s, &live[2], STR("live")) && all_is_well(s));
    CHECK(ask(&h, "SELECT freelist_count FROM pragma_freelist_count") <= 4);
    store_close(s);
}

STORE_TEST_MAIN
