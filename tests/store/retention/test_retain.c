/* What may go goes whole, with its bytes, and nothing else does. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/chance.h"
#include "retain_scene.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload_days.h"
#include "store/retention/retain_bytes.h"
#include "store/road/done.h"
#include "store/road/retain_days.h"

static int64_t segment_files(const struct home *h)
{
    char path[300];
    int64_t n = 0;

    (void)snprintf(path, sizeof path, "%s/payload", h->folder);
    DIR *dir = opendir(path);

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        n += strstr(e->d_name, ".seg") != NULL;
    if (dir != NULL)
        (void)closedir(dir);
    return n;
}

/* proves: RE1 RE3 RE4 */
TEST(a_day_that_is_over_goes_whole_and_nothing_else)
{
    static struct accept_op old[150], young[50], live[3];
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    struct retain_bytes sum;
    struct err err = { 0 };
    int64_t days[8], dropped, first;
    size_t n;
    bool closed;

    CHECK(s != NULL);
    CHECK(ended_docs(s, old, 150, STR("old"), OLD) && ended_docs(s, young, 50, STR("young"), 45));
    for (int i = 0; i < 3; i++)
        live[i] = doc_of(STR("live"));
    CHECK(accept_docs(s, live, 3));
    clock_sleep_us(200 * CLOCK_MS); /* the index has them */
    CHECK(listed(s, (struct document_filter){ .sender = 101 }) == 50 + 17);
    CHECK(retain_due(s, today(), days, 8, &n, &err) && n == 1 && days[0] == today() + OLD);
    char links[200]; /* of what goes to what stays, and the other way round; and one that stays */

    (void)snprintf(links, sizeof links,
                   "INSERT INTO link(parent, kind, child) VALUES (%lld, 1, %lld), (%lld, 2, %lld), "
                   "(%lld, 1, %lld)",
                   (long long)old[0].num, (long long)young[0].num, (long long)live[0].num,
                   (long long)old[1].num, (long long)young[1].num, (long long)live[1].num);
    CHECK(retain_first(s, days[0], &first, &err) && first == old[0].num);
    CHECK(retain_close(s, days[0], &closed, &err) && !closed);
    CHECK(tell(&h, links) && purge(s, days[0]) == 150);
    CHECK(retain_first(s, days[0], &first, &err) && first == 0);
    CHECK(ask(&h, "SELECT count(*) FROM link") == 1);
    CHECK(!is_there(s, &old[0]) && !is_there(s, &old[149]));
    CHECK(is_there(s, &young[0]) && payload_is(s, &young[0], STR("young")));
    CHECK(is_there(s, &live[0]) && payload_is(s, &live[0], STR("live")));
    CHECK(listed(s, (struct document_filter){ .sender = 101 }) == 17);
    CHECK(listed(s, (struct document_filter){ .gateway = 1 }) == 53);
    CHECK(on_postgres() || ask(&h, "SELECT sum(length(more)) FROM facet") < 60 * 5);
    CHECK(retain_close(s, days[0], &closed, &err) && closed);
    CHECK(retain_due(s, today(), days, 8, &n, &err) && n == 0);
    CHECK(retain_drop(s, RETAIN_HOUR_US, &dropped, &err) && dropped == 0);
    CHECK(retain_drop(s, -CLOCK_S, &dropped, &err) && dropped == 1);
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 3") == 0);
    CHECK(clean(s, &sum) && sum.damaged == 0);
    CHECK(all_is_well(s));
    if (on_postgres())
        CHECK(ask(&h, "SELECT count(*) FROM payload_0") == 53);
    store_close(s);
    s = open_small(&h);
    CHECK(s != NULL && all_is_well(s) && is_there(s, &young[7]));
    store_close(s);
}

/* proves: RE6 */
TEST(the_first_document_of_a_day_is_found_far_up)
{
    enum { FAR_UP = 6400000 };
    static struct accept_op docs[3];
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    struct err err = { 0 };
    int64_t first;

    CHECK(s != NULL);
    CHECK(tell(&h, on_postgres() ? "SELECT setval('num_block', 6400000)"
                                 : "UPDATE mark SET value = 6400000 WHERE name = 'num'"));
    CHECK(ended_docs(s, docs, 3, STR("old"), OLD) && docs[0].num > FAR_UP);
    CHECK(retain_first(s, today() + OLD, &first, &err) && first == docs[0].num);
    CHECK(purge(s, today() + OLD) == 3);
    CHECK(retain_first(s, today() + OLD, &first, &err) && first == 0);
    store_close(s);
}

/* proves: RE6 */
TEST(a_day_goes_in_slices_between_which_documents_come_in)
{
    enum { OLD_DOCS = 1200, AT_ONCE = 200 };
    static struct accept_op docs[AT_ONCE];
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    struct retain_order order = { .day = today() + OLD,
                                  .now_us = clock_wall_us(),
                                  .unguarded = true };
    struct retain_slice got = { .upto = 1 };
    struct accept_op young;
    struct err err = { 0 };
    int64_t went = 0, slices = 0;

    for (int i = 0; i < OLD_DOCS / AT_ONCE; i++)
        CHECK(ended_docs(s, docs, AT_ONCE, STR("old"), OLD));
    for (; got.upto != 0; order.above = got.upto) {
        CHECK(retain_slice(s, &order, &got, &err) && !got.busy);
        CHECK(got.documents <= RETAIN_SLICE_MOST && got.bytes <= RETAIN_SLICE_BYTES);
        went += got.documents;
        slices++;
        young = doc_of(STR("young"));
        CHECK(accept_docs(s, &young, 1) && is_there(s, &young));
    }
    CHECK(went == OLD_DOCS && slices > OLD_DOCS / RETAIN_SLICE_MOST);
    CHECK(all_is_well(s));
    store_close(s);
}

/* proves: RE5 */
TEST(a_table_is_made_when_a_document_needs_it_and_again_after_it_went)
{
    static struct accept_op docs[4];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t dropped;
    bool closed;

    CHECK(s != NULL);
    for (int i = 0; i < 3; i++) {
        CHECK(ended_docs(s, docs, 4, STR("x"), OLD));
        CHECK(!retain_close(s, today() + OLD, &closed, &err) || !closed);
        CHECK(purge(s, today() + OLD) == 4);
        CHECK(retain_close(s, today() + OLD, &closed, &err) && closed);
        /* It is used again before it is dropped. */
        CHECK(ended_docs(s, docs, 1, STR("y"), OLD) && is_there(s, &docs[0]));
        CHECK(retain_drop(s, -CLOCK_S, &dropped, &err) && dropped == 0);
        CHECK(is_there(s, &docs[0]) && purge(s, today() + OLD) == 1);
        CHECK(retain_close(s, today() + OLD, &closed, &err) && closed);
        CHECK(retain_drop(s, -CLOCK_S, &dropped, &err) && dropped == 1);
    }
    CHECK(done_keep_tables(s, 45, &err) && done_keep_tables(s, 200, &err));
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 2") >= 3);
    CHECK(all_is_well(s));
    store_close(s);
}

TEST(rules_go_by_type_then_by_state)
{
    struct retain_type types[] = { { .type = 7, .days = 3 }, { .type = 9, .days = 400 } };
    struct retain_rules rules = { .types = types, .type_count = 2, .other_days = -1 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t all[8];

    CHECK(s != NULL && retain_days(s, 7, DOCUMENT_DELIVERED) == RETAIN_DAYS);
    for (int i = 0; i < DOCUMENT_STATES; i++)
        rules.days[i] = i == DOCUMENT_CANCELLED ? 10 : 20;
    retain_use(s, &rules);
    CHECK(retain_days(s, 7, DOCUMENT_CANCELLED) == 3 && retain_days(s, 9, DOCUMENT_DONE) == 400);
    CHECK(retain_days(s, 8, DOCUMENT_CANCELLED) == 10 && retain_days(s, 0, DOCUMENT_DONE) == 20);
    CHECK(retain_days_all(s, all, 8) == 4);
    rules.other_days = 5;
    retain_use(s, &rules);
    CHECK(retain_days(s, 8, DOCUMENT_CANCELLED) == 5 && retain_days(s, 7, DOCUMENT_DONE) == 3);
    store_close(s);
}

/* ---- bytes ---- */

static bool upload(struct store *s, struct str bytes, struct payload_ref *ret)
{
    struct upload *u = NULL;
    struct err err = { 0 };
    bool ok = upload_open(s, &u, &err) && upload_add(u, bytes, &err) && upload_finish(u, ret, &err);

    upload_close(u);
    return ok;
}

static int64_t large_files(const struct home *h)
{
    char path[300];
    int64_t n = 0;

    (void)snprintf(path, sizeof path, "%s/large", h->folder);
    DIR *dir = opendir(path);

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    if (dir != NULL)
        (void)closedir(dir);
    return n;
}

/* A large document, and one whose step made large bytes. */
static bool large_docs(struct store *s, struct accept_op docs[2], struct str body, int64_t keep)
{
    struct timeline_line step = { .stage = TIMELINE_STEP, .what = STR("made"), .took_us = -1 };
    struct settle_bytes made = {
        .uploaded = true, .size = (int64_t)body.len, .sha256 = digest_of(body), .line = &step
    };
    struct settle_delivery part = part_of(STR("D.a"), 1001, DELIVERY_DELIVERED);
    struct settle_op ops[2];

    docs[0] = doc_of(body);
    docs[0].is_spooled = true;
    docs[0].body = STR("");
    docs[1] = doc_of(STR("small"));
    docs[0].claim_wanted = docs[1].claim_wanted = true;
    if (!upload(s, body, &docs[0].spooled) || !upload(s, body, &made.stored.place) ||
        !accept_docs(s, docs, 2))
        return false;
    part.bytes = &made;
    for (int i = 0; i < 2; i++) {
        ops[i] = settle_of(&docs[i].task, docs[i].num, i == 0 ? SETTLE_OVER : SETTLE_DELIVERIES);
        ops[i].keep_days = keep;
    }
    ops[1].parts = &part;
    ops[1].part_count = 1;
    return settle_ops(s, ops, 2);
}

/* proves: RE3 */
TEST(large_payloads_go_with_their_documents)
{
    enum { SIZE = 9 << 20 };
    static struct accept_op old[2], young[2];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char *bytes = malloc(SIZE);
    struct str body = str_mem(bytes, SIZE);
    struct retain_bytes sum;
    struct err err = { 0 };
    int64_t waiting;

    CHECK(s != NULL);
    chance_bytes(bytes, SIZE);
    CHECK(large_docs(s, old, body, OLD) && large_docs(s, young, body, 45));
    CHECK(on_postgres() || large_files(&h) == 4);
    CHECK(purge(s, today() + OLD) == 2);
    CHECK(retain_waiting(s, &waiting, &err) && waiting >= 2);
    CHECK(clean(s, &sum) && sum.bytes >= 2 * SIZE);
    if (on_postgres())
        CHECK(ask(&h, "SELECT count(DISTINCT upload) FROM payload_piece_0") == 2);
    else
        CHECK(large_files(&h) == 2 && ask(&h, "SELECT count(*) FROM large") == 2);
    CHECK(payload_is(s, &young[0], body) && all_is_well(s));
    store_close(s);
    free(bytes);
}

/* Dropped, given up half way, and left behind by a node that died. */
/* New payloads go into the table of a day long ago. */
static bool use_day(const struct home *h, struct store *s, int64_t day)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO part(family, slot) VALUES (4, %lld);"
                   "CREATE TABLE payload_%lld(LIKE payload_0 INCLUDING ALL)",
                   (long long)day, (long long)day);
    s->payload_day = day;
    return tell(h, sql);
}

static bool has_table(const struct home *h, const char *name)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM pg_tables WHERE tablename = '%s'", name);
    return ask(h, sql) == 1;
}

/* The server counts rows a moment after the commit: tidy until something came back. */
static int64_t tidy(struct store *s)
{
    int64_t bytes = 0, until = clock_mono_us() + 120 * CLOCK_S;
    struct err err = { 0 };

    while (payload_days_tidy(s, &bytes, &err) && bytes == 0 && clock_mono_us() < until)
        clock_sleep_us(100 * CLOCK_MS);
    return bytes;
}

/* proves: RE6 */
TEST(postgres_space_of_payloads_comes_back_with_the_table_of_their_day)
{
    enum { MANY = 100, FEW = 3, BODY = 200 << 10 };
    static struct accept_op many[MANY], few[FEW];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char *zeros = calloc(1, BODY);
    struct str body = str_mem(zeros, BODY);
    struct err err = { 0 };
    int64_t bytes;

    CHECK(s != NULL && use_day(&h, s, 5) && ended_docs(s, many, MANY, body, OLD) &&
          ended_docs(s, few, FEW, body, OLD + 1));
    CHECK(payload_days_keep(s, &err) && payload_day(s) == today());
    CHECK(payload_days_tidy(s, &bytes, &err) && bytes == 0); /* it is full */
    CHECK(purge(s, today() + OLD) == MANY && tidy(s) > (MANY - 10) * BODY);
    CHECK(ask(&h, "SELECT pg_total_relation_size('payload_5')") < 2 * FEW * BODY);
    for (size_t i = 0; i < FEW; i++)
        CHECK(payload_is(s, &few[i], body));
    CHECK(payload_days_tidy(s, &bytes, &err) && bytes == 0 && has_table(&h, "payload_5"));
    CHECK(purge(s, today() + OLD + 1) == FEW);
    CHECK(tidy(s) > 0);
    CHECK(!has_table(&h, "payload_5"));
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 4 AND slot = 5") == 0);
    CHECK(ended_docs(s, few, 1, body, 9) && payload_is(s, &few[0], body)); /* today's */
    store_close(s);
    free(zeros);
}

/* An ANALYZE beside a purge leaves counts behind that nothing corrects.  Here the server does not
 * count a deletion. */
TEST(postgres_a_table_that_the_server_miscounts_goes_too)
{
    static const char counted[] =
        "SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'payload_5'";
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t until = clock_mono_us() + 120 * CLOCK_S, bytes;
    struct err err = { 0 };

    CHECK(s != NULL && use_day(&h, s, 5) && payload_days_keep(s, &err));
    CHECK(tell(&h, "INSERT INTO payload_5(num, bytes) VALUES (1, 'x')"));
    while (ask(&h, counted) != 1 && clock_mono_us() < until)
        clock_sleep_us(20 * CLOCK_MS);
    CHECK(payload_days_tidy(s, &bytes, &err) && bytes == 0 && has_table(&h, "payload_5"));
    CHECK(tell(&h, "SET track_counts = off; DELETE FROM payload_5"));
    CHECK(ask(&h, counted) == 1);
    CHECK(payload_days_tidy(s, &bytes, &err) && bytes > 0 && !has_table(&h, "payload_5"));
    store_close(s);
}

static bool use_piece_day(const struct home *h, struct store *s, int64_t day)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO part(family, slot) VALUES (5, %lld);"
                   "CREATE TABLE payload_piece_%lld(LIKE payload_piece_0 INCLUDING ALL)",
                   (long long)day, (long long)day);
    s->payload_day = day;
    return tell(h, sql);
}

/* Large documents that end at once and may go `keep` days from now. */
static bool ended_large(struct store *s, struct accept_op *docs, size_t count, struct str body,
                        int64_t keep)
{
    for (size_t i = 0; i < count; i++) {
        struct settle_op end;

        docs[i] = doc_of(body);
        docs[i].is_spooled = docs[i].claim_wanted = true;
        docs[i].body = STR("");
        if (!upload(s, body, &docs[i].spooled) || !accept_docs(s, &docs[i], 1))
            return false;
        end = settle_of(&docs[i].task, docs[i].num, SETTLE_OVER);
        end.keep_days = keep;
        if (!settle_ops(s, &end, 1))
            return false;
    }
    return true;
}

/* Missing, not damaged. */
static bool payload_is_missing(struct store *s, const struct accept_op *doc)
{
    AUTO(buf_done) struct buf got = BUF_INIT(64 << 20);
    struct payload_source source = source_of(doc);
    struct err err = { 0 };

    return !read_payload(s, &source, &got, &err) && err.kind == ERR_PERMANENT && err.sys == ENOENT;
}

/* proves: RE6 */
TEST(postgres_space_of_large_payloads_comes_back_with_the_table_of_their_day)
{
    enum { MANY = 12, SIZE = 2 << 20 };
    static struct accept_op many[MANY], kept;
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char *bytes = calloc(1, SIZE);
    struct str body = str_mem(bytes, SIZE);
    struct retain_bytes sum;
    struct err err = { 0 };

    CHECK(s != NULL && use_piece_day(&h, s, 6) && ended_large(s, many, MANY, body, OLD) &&
          ended_large(s, &kept, 1, body, OLD + 1));
    CHECK(payload_days_keep(s, &err) && ask(&h, "SELECT count(*) FROM payload_piece_0") == 0);
    CHECK(ask(&h, "SELECT pg_total_relation_size('payload_piece_6')") > MANY * SIZE);
    CHECK(purge(s, today() + OLD) == MANY && clean(s, &sum) && sum.pieces == MANY * 8);
    CHECK(tidy(s) > (MANY - 1) * SIZE);
    CHECK(ask(&h, "SELECT pg_total_relation_size('payload_piece_6')") < 2 * SIZE);
    CHECK(payload_is(s, &kept, body) && all_is_well(s));
    CHECK(purge(s, today() + OLD + 1) == 1 && clean(s, &sum) && tidy(s) > 0);
    CHECK(!has_table(&h, "payload_piece_6") && payload_is_missing(s, &kept));
    CHECK(ask(&h, "SELECT count(*) FROM part WHERE family = 5 AND slot = 6") == 0);
    CHECK(ended_large(s, &kept, 1, body, 9) && payload_is(s, &kept, body)); /* today's */
    CHECK(tell(&h, "INSERT INTO payload_gone(seg, pos, state) VALUES (-2, -1 - (6::bigint << 44), "
                   "1)")); /* its table went with its last piece */
    CHECK(clean(s, &sum) && ask(&h, "SELECT count(*) FROM payload_gone") == 0);
    store_close(s);
    free(bytes);
}

static void *drop_piece_day(void *home)
{
    /* Holds the table until somebody waits for it. */
    bool ok = tell(home, "DO $$ BEGIN DROP TABLE payload_piece_6;"
                         "DELETE FROM part WHERE family = 5 AND slot = 6;"
                         "WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND database ="
                         "(SELECT oid FROM pg_database WHERE datname = current_database())) LOOP "
                         "PERFORM pg_sleep(0.01); END LOOP; END $$");

    return ok ? home : NULL;
}

/* Retention has seen the table when another node drops it. */
TEST(postgres_pieces_whose_table_is_dropped_meanwhile_are_done)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct retain_bytes sum;
    pthread_t other;
    void *ok;

    CHECK(s != NULL && use_piece_day(&h, s, 6));
    CHECK(tell(&h, "INSERT INTO payload_gone(seg, pos, state) VALUES (-2, -1 - (6::bigint << 44), "
                   "1)"));
    CHECK(pthread_create(&other, NULL, drop_piece_day, &h) == 0);
    while (ask(&h,
               "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted "
               "AND relation = (SELECT oid FROM pg_class WHERE relname = 'payload_piece_6')") == 0)
        (void)usleep(1000);
    CHECK(clean(s, &sum) && ask(&h, "SELECT count(*) FROM payload_gone") == 0);
    CHECK(pthread_join(other, &ok) == 0 && ok != NULL);
    store_close(s);
}

/* Tables with few rows, most of which are needed, come before one that is empty. */
TEST(postgres_tables_that_cannot_be_tidied_do_not_hide_others)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL &&
          tell(&h, "DO $$ BEGIN FOR i IN 100..117 LOOP INSERT INTO part(family, slot) VALUES (4, "
                   "i); EXECUTE format('CREATE UNLOGGED TABLE payload_%s(LIKE payload_0 INCLUDING "
                   "ALL)', i); EXECUTE format('INSERT INTO payload_%s SELECT 1, "
                   "convert_to(repeat(''x'', 9000000), ''UTF8'')', i); END LOOP; END $$"));
    CHECK(tell(&h, "INSERT INTO part(family, slot) VALUES (4, 200);"
                   "CREATE TABLE payload_200(LIKE payload_0 INCLUDING ALL);"
                   "INSERT INTO payload_200 VALUES (1, 'x'); DELETE FROM payload_200"));
    CHECK(tidy(s) > 0 && !has_table(&h, "payload_200") && has_table(&h, "payload_117"));
    store_close(s);
}

TEST(postgres_payloads_of_before_there_were_days_are_read_after_an_upgrade)
{
    enum { SIZE = 2 << 20 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char *bytes = calloc(1, SIZE);
    struct str body = str_mem(bytes, SIZE);
    struct accept_op op = doc_of(STR("old")), large;

    CHECK(s != NULL && accept_doc(s, &op) && op.place.pos == 0);
    CHECK(ended_large(s, &large, 1, body, 9));
    store_close(s);
    large.place.pos = 4711; /* not negative, as numbers were */
    CHECK(tell(&h, "UPDATE payload_piece_0 SET upload = 4711") &&
          tell(&h, "ALTER TABLE payload_0 RENAME TO payload") &&
          tell(&h, "ALTER TABLE payload_piece_0 RENAME TO payload_piece") &&
          tell(&h, "DELETE FROM schema_version WHERE version >= 29"));
    s = open_store(&h);
    CHECK(s != NULL && payload_is(s, &op, STR("old")) && payload_is(s, &large, body));
    store_close(s);
    free(bytes);
}

TEST(postgres_uploads_that_nobody_took_go_some_pieces_at_a_time)
{
    enum { SIZE = 9 << 20 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char *bytes = calloc(1, SIZE);
    struct str body = str_mem(bytes, SIZE);
    struct payload_ref place;
    struct retain_bytes sum;
    struct err err = { 0 };
    struct upload *u;
    int64_t swept;

    CHECK(s != NULL && upload(s, body, &place) &&
          ask(&h, "SELECT count(*) FROM payload_piece_0") > 32);
    upload_drop(s, place);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece_0") == 0);
    CHECK(upload_open(s, &u, &err) && upload_add(u, body, &err));
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece_0") > 32);
    upload_close(u);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece_0") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM payload_gone") == 0);
    CHECK(upload(s, body, &place) && payload_sweep_uploads(s, &swept, &err) && swept == 0);
    CHECK(tell(&h, "UPDATE payload_upload SET started_us = 0"));
    CHECK(payload_sweep_uploads(s, &swept, &err) && swept == 1);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece_0") > 32); /* others' commits do not wait */
    CHECK(clean(s, &sum) && sum.bytes >= SIZE);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece_0") == 0);
    struct accept_op doc = doc_of(body);

    doc.is_spooled = true;
    doc.body = STR("");

    CHECK(upload(s, body, &doc.spooled) && accept_doc(s, &doc));
    upload_drop(s, doc.spooled); /* whoever was not sure: a document has it */
    CHECK(payload_is(s, &doc, body));
    CHECK(ask(&h, "SELECT count(*) FROM payload_upload") == 0 && all_is_well(s));
    store_close(s);
    free(bytes);
}

static char block[40000];

/* proves: RE3 */
TEST(sqlite_segments_without_a_document_go_and_others_are_copied)
{
    static struct accept_op old[4][24], few[4];
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    struct retain_bytes sum;

    CHECK(s != NULL);
    memset(block, 'x', sizeof block);
    /* 24 x 9 800 bytes with their records is nearly a segment; one young document in each. */
    for (int i = 0; i < 4; i++)
        CHECK(ended_docs(s, old[i], 24, str_mem(block, 9800), OLD) &&
              ended_docs(s, &few[i], 1, str_mem(block, 7000), i == 3 ? OLD - 1 : 45));
    int64_t before = segment_files(&h);

    CHECK(before >= 4);
    CHECK(purge(s, today() + OLD) == 96 && clean(s, &sum));
    CHECK(sum.segments >= before - 1 && sum.moved >= 3 && sum.damaged == 0);
    CHECK(segment_files(&h) == before - sum.segments);
    for (int i = 0; i < 4; i++)
        CHECK(payload_is(s, &few[i], str_mem(block, 7000)));
    CHECK(all_is_well(s));
    store_close(s);
    s = open_small(&h);
    CHECK(s != NULL && payload_is(s, &few[0], str_mem(block, 7000)));
    /* They move on, and go. */
    for (int i = 0; i < 3; i++)
        CHECK(ended_docs(s, old[i], 24, str_mem(block, 9800), OLD));
    CHECK(purge(s, today() + OLD) == 72 && clean(s, &sum) && sum.moved >= 2);
    for (int i = 0; i < 4; i++)
        CHECK(payload_is(s, &few[i], str_mem(block, 7000)));
    CHECK(ask(&h, "SELECT count(*) FROM moved") == 4 || ask(&h, "SELECT count(*) FROM moved") == 3);
    CHECK(purge(s, today() + OLD - 1) == 1 && purge(s, today() + 45) == 3);
    for (int i = 0; i < 2; i++)
        CHECK(ended_docs(s, old[i], 24, str_mem(block, 9800), OLD));
    CHECK(purge(s, today() + OLD) == 48 && clean(s, &sum));
    CHECK(segment_files(&h) == 1 && ask(&h, "SELECT count(*) FROM moved") == 0);
    CHECK(all_is_well(s));
    store_close(s);
}

/* What is damaged is not made worse. */
TEST(sqlite_a_damaged_segment_is_left_alone)
{
    static struct accept_op old[24], one[1], more[24];
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    struct retain_bytes sum;
    char path[400];

    CHECK(s != NULL);
    memset(block, 'x', sizeof block);
    CHECK(ended_docs(s, one, 1, STR("precious"), 45));
    CHECK(ended_docs(s, old, 24, str_mem(block, 10000), OLD));
    CHECK(ended_docs(s, more, 24, str_mem(block, 10000), OLD));
    (void)snprintf(path, sizeof path, "%s/payload/%lld.seg", h.folder, (long long)one[0].place.seg);
    FILE *f = fopen(path, "r+");

    CHECK(f != NULL && fseek(f, 97, SEEK_SET) == 0 && fputc('P', f) == 'P' && fclose(f) == 0);
    CHECK(purge(s, today() + OLD) == 48 && clean(s, &sum) && sum.damaged == 1);
    CHECK(access(path, F_OK) == 0);
    store_close(s);
}

/* ---- killed ---- */

/* Makes documents, lets some go, cleans; over and over.  Says "young NUM ID SEG POS" of those that
 * stay. */
CHILD(retain_and_tell)
{
    static struct accept_op old[24], young[2];
    struct store *s = open_small(h);
    struct retain_bytes sum;
    struct err err = { 0 };
    int64_t dropped;
    bool closed;

    (void)arg;
    memset(block, 'x', sizeof block);
    for (int round = 0; s != NULL && round < 6; round++) {
        if (!ended_docs(s, young, 2, str_mem(block, 20000), 45))
            return 1;
        for (int i = 0; i < 2; i++)
            printf("young %lld %lld %lld\n", (long long)young[i].num, (long long)young[i].place.seg,
                   (long long)young[i].place.pos);
        (void)fflush(stdout);
        if (!ended_docs(s, old, 24, str_mem(block, 10000), OLD) || purge(s, today() + OLD) < 24 ||
            !clean(s, &sum) || !retain_close(s, today() + OLD, &closed, &err) ||
            !retain_drop(s, -CLOCK_S, &dropped, &err))
            return 1;
    }
    store_close(s);
    return s == NULL;
}

static bool young_are_there(struct store *s, const struct home *h, struct str said)
{
    while (said.len > 0) {
        struct str line, word, num;
        char sql[100];
        int64_t n;

        if (memchr(said.ptr, '\n', said.len) == NULL)
            return true;
        said = str_cut(said, '\n', &line);
        line = str_cut(line, ' ', &word);
        (void)str_cut(line, ' ', &num);
        if (!str_is(word, "young") || !str_to_i64(num, &n))
            continue;
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM done_%lld WHERE num = %lld",
                       (long long)done_day(45), (long long)n);
        if (ask(h, sql) != 1) {
            printf("# %lld is gone\n", (long long)n);
            return false;
        }
    }
    return all_is_well(s); /* reads every payload */
}

static bool purge_due(struct store *s)
{
    int64_t days[8];
    struct err err = { 0 };
    size_t n;

    if (!retain_due(s, today(), days, 8, &n, &err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (purge(s, days[i]) < 0)
            return false;
    return true;
}

/* proves: RE3 EN4 */
TEST(killed_anywhere_nothing_is_lost_and_nothing_is_left)
{
    static const char *const points[] = { "retain.slice",    "retain.drop",   "retain.noted",
                                          "retain.unlinked", "retain.moved",  "group.written",
                                          "group.committed", "segment.synced" };
    static const int passes[] = { 1, 2, 4 };
    int kills = 0;

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct home h = fresh_home();

        for (size_t p = 0; p < sizeof passes / sizeof passes[0]; p++) {
            AUTO(buf_done) struct buf said = BUF_INIT(1 << 20);
            struct retain_bytes sum;
            struct err err = { 0 };
            char fault[60];
            int64_t waiting;

            (void)snprintf(fault, sizeof fault, "%s:kill:%d", points[i], passes[p]);
            int status = run_child("retain_and_tell", &h, fault, "", &said);

            CHECK(was_killed(status) || ended_well(status));
            kills += was_killed(status);
            struct store *s = open_small(&h);

            CHECK(s != NULL && retain_recover(s, &err));
            CHECK(young_are_there(s, &h, buf_view(&said)));
            CHECK(purge_due(s) && clean(s, &sum) && sum.damaged == 0);
            CHECK(young_are_there(s, &h, buf_view(&said)));
            /* Only the segment that is written to may wait. */
            CHECK(retain_waiting(s, &waiting, &err) && waiting <= 1);
            store_close(s);
        }
    }
    printf("# %d kills\n", kills);
    CHECK(kills > (on_sqlite() ? 18 : 8));
}

STORE_TEST_MAIN
