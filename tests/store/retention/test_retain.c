/* What may go goes whole, with its bytes, and nothing else does. */
#include <dirent.h>
#include <unistd.h>

#include "base/chance.h"
#include "retain_scene.h"
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
        CHECK(ask(&h, "SELECT count(*) FROM payload") == 53);
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
        CHECK(ask(&h, "SELECT count(DISTINCT upload) FROM payload_piece") == 2);
    else
        CHECK(large_files(&h) == 2 && ask(&h, "SELECT count(*) FROM large") == 2);
    CHECK(payload_is(s, &young[0], body) && all_is_well(s));
    store_close(s);
    free(bytes);
}

/* Dropped, given up half way, and left behind by a node that died. */
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
          ask(&h, "SELECT count(*) FROM payload_piece") > 32);
    upload_drop(s, place);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece") == 0);
    CHECK(upload_open(s, &u, &err) && upload_add(u, body, &err));
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece") > 32);
    upload_close(u);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM payload_gone") == 0);
    CHECK(upload(s, body, &place) && payload_sweep_uploads(s, &swept, &err) && swept == 0);
    CHECK(tell(&h, "UPDATE payload_upload SET started_us = 0"));
    CHECK(payload_sweep_uploads(s, &swept, &err) && swept == 1);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece") > 32); /* others' commits do not wait */
    CHECK(clean(s, &sum) && sum.bytes >= SIZE);
    CHECK(ask(&h, "SELECT count(*) FROM payload_piece") == 0);
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
