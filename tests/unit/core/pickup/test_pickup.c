#include "test.h"

#include <malloc.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/grammar.h"
#include "memory_source.h"

struct box {
    struct memory *m;
    struct pickup p;
    struct pickup_source src;
    struct err err;
};

static const struct str everything = STR("*");

static struct box box_of(enum pickup_after after, bool claims)
{
    struct box b = { .m = NEW(struct memory),
                     .p = { .title = "folder",
                            .after = after,
                            .match = &everything,
                            .match_count = 1,
                            .every_us = INT64_C(3600) * CLOCK_S },
                     .src = memory_source };

    b.src.claims = claims;
    b.m->size_most = 1 << 20;
    memory_folder(b.m, ".waybill");
    return b;
}

static void box_done(struct box *b)
{
    pickup_done(&b->p);
    memory_free(b->m);
}

/* How many were taken, -1 when the poll failed. */
static int look(struct box *b)
{
    int64_t taken = -1;

    b->err = (struct err){ 0 };
    if (!pickup_look(&b->p, &b->src, b->m, &memory_port, b->m, &taken, &b->err))
        return -1;
    return (int)taken;
}

static void put_three(struct memory *m)
{
    memory_put(m, "a", "one", 3);
    memory_put(m, "b", "two", 1);
    memory_put(m, "c", "three", 2);
}

static bool has_three(const struct memory *m)
{
    return memory_stored(m, "one") == 1 && memory_stored(m, "two") == 1 &&
           memory_stored(m, "three") == 1 && m->doc_count == 3;
}

static struct box box_with_marker(enum pickup_after after, bool claims, bool marker)
{
    struct box b = box_of(after, claims);

    put_three(b.m);
    if (!marker)
        return b;
    b.p.marker = STR(".ok");
    memory_put(b.m, "a.ok", "", 1);
    memory_put(b.m, "b.ok", "", 1);
    memory_put(b.m, "c.ok", "", 1);
    return b;
}

/* ---- order ---- */

TEST(the_oldest_is_taken_first)
{
    static const enum pickup_after afters[] = { PICKUP_KEEP, PICKUP_DELETE };

    for (size_t i = 0; i < 2; i++) {
        AUTO(box_done) struct box b = box_of(afters[i], true);

        put_three(b.m);
        memory_put(b.m, "also", "four", 2); /* of the same time: by name */
        CHECK(look(&b) == 4);
        CHECK(strcmp(b.m->docs[0].name, "b") == 0 && strcmp(b.m->docs[1].name, "also") == 0);
        CHECK(strcmp(b.m->docs[2].name, "c") == 0 && strcmp(b.m->docs[3].name, "a") == 0);
    }
}

TEST(what_was_left_is_taken_oldest_first)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, true);

    memory_folder(b.m, ".waybill/0123456789abcdef");
    memory_put(b.m, ".waybill/0123456789abcdef/young", "young", 9);
    memory_put(b.m, ".waybill/0123456789abcdef/old", "old", 4);
    CHECK(look(&b) == 2 && strcmp(b.m->docs[0].name, "old") == 0);
    CHECK(memory_count_files(b.m) == 0 && memory_find(b.m, ".waybill/0123456789abcdef") == NULL);
}

/* ---- many ---- */

static size_t heap_most;

static void measure(struct memory *m)
{
    size_t used = mallinfo2().uordblks;

    (void)m;
    heap_most = used > heap_most ? used : heap_most;
}

/* proves: FI13 */
TEST(a_hundred_thousand_files_take_bounded_memory)
{
    AUTO(box_done) struct box b = box_of(PICKUP_KEEP, true);
    size_t before;
    int lists;

    b.m->many = 100000; /* listed youngest first */
    b.m->at_commit = measure;
    heap_most = 0;
    before = mallinfo2().uordblks; /* 0 with a sanitizer */
    CHECK(look(&b) == DEPOSIT_LOOK_MOST && strcmp(b.m->docs[0].name, "many 1") == 0);
    CHECK(strcmp(b.m->docs[DEPOSIT_LOOK_MOST - 1].name, "many 500") == 0);
    CHECK(heap_most < before + (4 << 20));
    /* The poll after that goes on without another listing. */
    lists = b.m->lists;
    CHECK(look(&b) == DEPOSIT_LOOK_MOST && b.m->lists == lists);
    CHECK(strcmp(b.m->docs[DEPOSIT_LOOK_MOST].name, "many 501") == 0);
    CHECK(b.m->commits == 2 * DEPOSIT_LOOK_MOST && b.m->repeats == 0 && b.m->complaints == 0);
}

TEST(small_files_share_commits)
{
    static const enum pickup_after afters[] = { PICKUP_DELETE, PICKUP_KEEP };

    for (size_t a = 0; a < 2; a++) {
        AUTO(box_done) struct box b = box_of(afters[a], true);
        char path[32];

        for (int i = 0; i < 200; i++) {
            (void)snprintf(path, sizeof path, "file %03d", i);
            memory_put(b.m, path, path, i);
        }
        CHECK(look(&b) == 200 && b.m->commits == 200 && b.m->groups <= 100);
        for (size_t i = 0; i < 200; i++) { /* in their order */
            (void)snprintf(path, sizeof path, "file %03d", (int)i);
            CHECK(strcmp(b.m->docs[i].name, path) == 0);
        }
        CHECK(look(&b) == 0 && memory_count_files(b.m) == (a == 0 ? 0 : 200));
    }
}

static void fail_second(struct memory *m)
{
    if (m->commits == 1 && m->fail_kind == ERR_NONE) {
        m->fail_kind = ERR_TRANSIENT;
        m->fail_nth = 1;
        m->fail_call = CALL_REMOVE;
    }
}

/* All three are stored with one commit; then the server is gone. */
TEST(what_is_stored_and_not_removed_is_no_second_document)
{
    AUTO(box_done) struct box b = box_with_marker(PICKUP_DELETE, true, false);

    b.m->at_commit = fail_second;
    CHECK(look(&b) == -1 && b.m->commits == 3 && memory_count_files(b.m) == 3);
    CHECK(look(&b) == 3 && b.m->repeats == 3 && has_three(b.m) && memory_count_files(b.m) == 0);
}

TEST(a_long_listing_keeps_the_turn)
{
    AUTO(box_done) struct box b = box_of(PICKUP_KEEP, true);

    b.m->many = 100000;
    CHECK(look(&b) == DEPOSIT_LOOK_MOST && b.m->turns >= 300);
    b.m->turn_lost = true;
    pickup_queue_done(&b.p.queue);
    CHECK(look(&b) == -1 && strstr(b.err.text, "another node") != NULL);
    CHECK(b.m->commits == DEPOSIT_LOOK_MOST);
}

static void stop_it(struct memory *m, enum memory_call call, const char *path)
{
    (void)path;
    if (call == CALL_NEXT && ++m->moved == 1000)
        m->stopping = true;
}

TEST(a_long_listing_ends_when_the_node_stops)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, true);

    b.m->many = 100000;
    b.m->at_call = stop_it;
    CHECK(look(&b) == 0 && b.m->moved == 1000 && b.m->commits == 0);
}

/* ---- hostile names ---- */

/* proves: S3 */
TEST(no_name_leads_out_of_the_folder)
{
    static const char *const hostile[] = { "../up",   "a/b",       "/abs", "..",     ".",
                                           "..\\x\n", "new\nline", "\xfc", "a/../b", "" };
    char longest[301];

    memset(longest, 'x', 300);
    longest[300] = '\0';
    for (int keep = 0; keep < 2; keep++)
        for (size_t i = 0; i <= sizeof hostile / sizeof hostile[0]; i++) {
            AUTO(box_done) struct box b = box_of(keep ? PICKUP_KEEP : PICKUP_DELETE, true);

            b.p.marker = i % 2 == 0 ? STR("") : STR(".ok");
            b.p.depth = 3;
            b.m->alone = i < sizeof hostile / sizeof hostile[0] ? hostile[i] : longest;
            memory_put(b.m, "good", "good", 1);
            memory_put(b.m, "good.ok", "", 1);
            CHECK(look(&b) >= 1 && memory_stored(b.m, "good") == 1);
            CHECK(b.m->unsafe == 0);
            /* Names with a dot in front are never wanted; any other is reported. */
            CHECK(b.m->complaints == (b.m->alone[0] != '.' && b.m->alone[0] != '\0'));
        }
}

/* ---- sub folders ---- */

static void put_tree(struct memory *m)
{
    memory_folder(m, "x");
    memory_folder(m, "x/y");
    memory_folder(m, "x/y/z");
    memory_folder(m, ".hidden");
    memory_put(m, "same", "top", 4);
    memory_put(m, "x/same", "one down", 3);
    memory_put(m, "x/y/same", "two down", 2);
    memory_put(m, "x/y/z/same", "three down", 1);
    memory_put(m, ".hidden/same", "hidden", 1);
}

TEST(sub_folders_are_looked_into_as_deep_as_is_said)
{
    static const enum pickup_after afters[] = { PICKUP_DELETE, PICKUP_MOVE, PICKUP_KEEP };

    for (size_t a = 0; a < 3; a++)
        for (int64_t depth = 0; depth <= 3; depth++) {
            AUTO(box_done) struct box b = box_of(afters[a], true);
            size_t files;

            b.p.depth = depth;
            put_tree(b.m);
            files = memory_count_files(b.m);
            CHECK(look(&b) == depth + 1 && memory_stored(b.m, "hidden") == 0);
            CHECK(memory_stored(b.m, "top") == 1 && strcmp(b.m->docs[0].name, "same") == 0);
            CHECK(memory_stored(b.m, "two down") == (depth >= 2));
            CHECK(depth == 0 || memory_stored(b.m, "top") == 1);
            /* Oldest first, over all folders. */
            CHECK(strcmp(b.m->docs[depth].bytes, "top") == 0);
            CHECK(look(&b) == 0 && b.m->complaints == 0 && b.m->unsafe == 0);
            if (afters[a] == PICKUP_DELETE)
                files -= (size_t)depth + 1;
            CHECK(memory_count_files(b.m) == files);
            CHECK(memory_find(b.m, "x/y/z") != NULL); /* folders stay */
            for (size_t i = 0; i < MEMORY_FILES; i++) /* and no work folder does */
                CHECK(b.m->files[i].path == NULL ||
                      strncmp(b.m->files[i].path, ".waybill/", 9) != 0);
        }
}

/* proves: FI1 */
TEST(claimed_files_of_sub_folders_are_found_after_a_crash)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, true);

    memory_folder(b.m, ".waybill/0123456789abcdef");
    memory_folder(b.m, ".waybill/0123456789abcdef/x");
    memory_folder(b.m, ".waybill/0123456789abcdef/x/y");
    memory_put(b.m, ".waybill/0123456789abcdef/same", "top", 1);
    memory_put(b.m, ".waybill/0123456789abcdef/x/y/same", "down", 1);
    CHECK(look(&b) == 2 && memory_stored(b.m, "top") == 1 && memory_stored(b.m, "down") == 1);
    CHECK(strstr(b.m->docs[1].key, "0123456789abcdef\nx/y/same\n") == b.m->docs[1].key);
    CHECK(memory_find(b.m, ".waybill/0123456789abcdef") == NULL);
}

static void unfit_at_open(struct memory *m, enum memory_call call, const char *path)
{
    if (call == CALL_OPEN && memory_find(m, path) != NULL && strstr(path, "x/same") != NULL)
        m->size_most = 3;
}

TEST(what_is_put_back_goes_to_its_own_folder)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, true);

    b.p.depth = 1;
    b.p.marker = STR(".ok");
    put_tree(b.m);
    memory_put(b.m, "x/same.ok", "", 1);
    b.m->at_call = unfit_at_open;
    CHECK(look(&b) == 0 && b.m->complaints == 1 && strcmp(b.m->complained, "x/same") == 0);
    CHECK(memory_find(b.m, "x/same") != NULL && memory_find(b.m, "x/same.ok") != NULL);
}

TEST(a_sub_folder_that_cannot_be_read_hides_no_other)
{
    static const struct {
        enum err_kind kind;
        int sys, taken, complaints;
    } cases[] = { { ERR_PERMANENT, EACCES, 1, 1 },
                  { ERR_TRANSIENT, ENOENT, 1, 0 },
                  { ERR_TRANSIENT, ETIMEDOUT, -1, 0 } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(box_done) struct box b = box_of(PICKUP_KEEP, true);

        b.p.depth = 3;
        put_tree(b.m);
        b.m->fail_call = CALL_LIST;
        b.m->fail_nth = 2;
        b.m->fail_kind = cases[i].kind;
        b.m->fail_sys = cases[i].sys;
        CHECK(look(&b) == cases[i].taken && b.m->complaints == cases[i].complaints);
        CHECK(look(&b) == 4 - (cases[i].taken > 0 ? 1 : 0)); /* a failed poll has lost nothing */
    }
}

TEST(sub_folders_are_bounded)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, true);

    b.p.depth = GRAMMAR_DEPTH_MOST;
    memory_folder(b.m, "x");
    memory_put(b.m, "x/a", "one", 1);
    b.m->folders = PICKUP_FOLDERS_MOST - 1;
    CHECK(look(&b) == 1 && b.m->complaints == 0);
    b.m->folders = 100000;
    CHECK(look(&b) == 0 && b.m->complaints == 1 && strstr(b.m->why, "sub folders") != NULL);
}

/* ---- failures: each call of a poll fails once, in each way ---- */

struct way {
    enum err_kind kind;
    int sys;
};

static const struct way ways[] = { { ERR_TRANSIENT, ETIMEDOUT },
                                   { ERR_PERMANENT, EACCES },
                                   { ERR_TRANSIENT, ENOENT },
                                   { ERR_LIMIT, ENOSPC } };

/* One of the three lies in a sub folder. */
static struct box box_with_folder(enum pickup_after after, bool claims)
{
    struct box b = box_of(after, claims);

    b.p.depth = 1;
    memory_folder(b.m, "x");
    memory_put(b.m, "a", "one", 3);
    memory_put(b.m, "x/a", "two", 1);
    memory_put(b.m, "c", "three", 2);
    return b;
}

/* Fails the n-th call; true: there was one. */
static bool survives(enum pickup_after after, bool claims, bool marker, bool folder,
                     const struct way *way, int nth, bool *ret_ok)
{
    AUTO(box_done)
    struct box b = folder ? box_with_folder(after, claims) : box_with_marker(after, claims, marker);
    bool removed = true;

    b.m->fail_nth = nth;
    b.m->fail_kind = way->kind;
    b.m->fail_sys = way->sys;
    (void)look(&b);
    b.m->fail_nth = 0;
    for (int i = 0; i < 3; i++)
        if (look(&b) < 0)
            return *ret_ok = false;
    /* Without a claim, what may not be removed is left, and so is a file whose marker is gone. */
    if (after == PICKUP_DELETE && (claims || (way->kind != ERR_PERMANENT && !marker)))
        removed = memory_count_files(b.m) == 0;
    *ret_ok = has_three(b.m) && removed && b.m->unsafe == 0;
    if (!*ret_ok)
        printf("# call %d failed as %d %d: %zu documents, %zu files left\n", nth, way->kind,
               way->sys, b.m->doc_count, memory_count_files(b.m));
    return b.m->hits > 0;
}

/* proves: IN3 IN4 */
TEST(a_failure_of_any_call_loses_and_doubles_nothing)
{
    static const struct {
        enum pickup_after after;
        bool claims, marker, folder;
    } cases[] = { { PICKUP_DELETE, true, false },       { PICKUP_DELETE, true, true },
                  { PICKUP_MOVE, true, false },         { PICKUP_KEEP, true, false },
                  { PICKUP_KEEP, true, true },          { PICKUP_DELETE, false, false },
                  { PICKUP_DELETE, false, true },       { PICKUP_MOVE, false, false },
                  { PICKUP_DELETE, true, false, true }, { PICKUP_KEEP, true, false, true } };
    int calls = 0;

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            bool ok = true;

            /* A file that is said to be gone has no use for its marker. */
            if (cases[c].marker && ways[w].sys == ENOENT)
                continue;
            int n = 1;

            while (survives(cases[c].after, cases[c].claims, cases[c].marker, cases[c].folder,
                            &ways[w], n, &ok)) {
                CHECK(ok && n < 1000);
                n++;
            }
            CHECK(ok && n > 15);
            calls += n;
        }
    printf("# %d failures\n", calls);
}

/* A server that lets nobody rename one of the files. */
TEST(a_refused_rename_is_reported_and_stops_nothing)
{
    for (int marker = 0; marker < 2; marker++) {
        AUTO(box_done) struct box b = box_with_marker(PICKUP_DELETE, true, marker == 1);

        b.m->fail_call = CALL_RENAME;
        b.m->fail_nth = marker == 1 ? 2 : 1; /* the file, not its marker */
        b.m->fail_kind = ERR_PERMANENT;
        b.m->fail_sys = EACCES;
        CHECK(look(&b) == 2 && b.m->complaints == 1 && strcmp(b.m->complained, "b") == 0);
        CHECK(strstr(b.m->why, "right to rename") != NULL);
        CHECK(memory_find(b.m, "b") != NULL && (marker == 0 || memory_find(b.m, "b.ok") != NULL));
        CHECK(look(&b) == 1 && has_three(b.m) && memory_count_files(b.m) == 0);
    }
}

TEST(a_file_that_vanishes_is_nobodys_fault)
{
    static const enum memory_call calls[] = { CALL_OPEN, CALL_RENAME };

    for (size_t i = 0; i < 2; i++) {
        AUTO(box_done) struct box b = box_with_marker(PICKUP_DELETE, i == 1, false);

        b.m->fail_call = calls[i];
        b.m->fail_nth = 1;
        b.m->fail_kind = ERR_TRANSIENT;
        b.m->fail_sys = ENOENT;
        CHECK(look(&b) == 2 && b.m->complaints == 0 && b.m->hits == 1);
    }
}

/* ---- files that change ---- */

static const char *grows_at_path;
static enum memory_call grows_at;

static void grow_once(struct memory *m, enum memory_call call, const char *path)
{
    if (call != grows_at || strstr(path, grows_at_path) == NULL)
        return;
    grows_at = CALL_ANY;
    memory_put(m, path, "whole", 5);
}

/* proves: FI15 */
TEST(a_file_that_grows_is_taken_whole)
{
    static const struct {
        enum pickup_after after;
        bool claims;
        enum memory_call at;
    } cases[] = { { PICKUP_DELETE, true, CALL_READ },  { PICKUP_DELETE, true, CALL_RENAME },
                  { PICKUP_KEEP, true, CALL_OPEN },    { PICKUP_KEEP, true, CALL_READ },
                  { PICKUP_DELETE, false, CALL_OPEN }, { PICKUP_DELETE, false, CALL_READ },
                  { PICKUP_MOVE, false, CALL_READ } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(box_done) struct box b = box_of(cases[i].after, cases[i].claims);

        b.p.min_age_us = 1000;
        grows_at = cases[i].at;
        grows_at_path = "a";
        b.m->at_call = grow_once;
        memory_put(b.m, "a", "half", 1);
        CHECK(look(&b) == 0 && grows_at == CALL_ANY && b.m->doc_count == 0);
        for (int tries = 0; tries < 3; tries++)
            CHECK(look(&b) >= 0);
        CHECK(memory_stored(b.m, "whole") == 1 && b.m->doc_count == 1);
        CHECK(memory_count_files(b.m) == (cases[i].after != PICKUP_DELETE));
    }
}

static void replace_stored(struct memory *m)
{
    m->at_commit = NULL;
    memory_put(m, "a", "next", 5);
}

TEST(an_object_that_is_replaced_after_it_was_stored_is_another_document)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, false);

    memory_put(b.m, "a", "first", 1);
    b.m->at_commit = replace_stored;
    CHECK(look(&b) == 1 && memory_find(b.m, "a") != NULL);
    CHECK(look(&b) == 1 && memory_count_files(b.m) == 0);
    CHECK(memory_stored(b.m, "first") == 1 && memory_stored(b.m, "next") == 1);
}

TEST(what_cannot_be_removed_is_taken_once_and_reported)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, false);

    memory_put(b.m, "a", "one", 1);
    b.m->fail_call = CALL_REMOVE;
    b.m->fail_nth = 1;
    b.m->fail_kind = ERR_PERMANENT;
    b.m->fail_sys = EACCES;
    CHECK(look(&b) == 1 && b.m->complaints == 1 && strstr(b.m->why, "not taken again") != NULL);
    CHECK(look(&b) == 0 && b.m->commits == 1 && b.m->repeats == 0);
    memory_put(b.m, "a", "two", 1); /* another version is another document */
    CHECK(look(&b) == 1 && memory_count_files(b.m) == 0);
}

TEST(what_was_taken_before_it_could_be_claimed_is_not_taken_again)
{
    AUTO(box_done) struct box b = box_of(PICKUP_DELETE, false);

    memory_put(b.m, "a", "one", 1);
    b.m->fail_call = CALL_REMOVE;
    b.m->fail_nth = 1;
    b.m->fail_kind = ERR_PERMANENT;
    b.m->fail_sys = EACCES;
    CHECK(look(&b) == 1 && memory_count_files(b.m) == 1);
    memory_put(b.m, "b", "one", 1);
    b.src.claims = b.src.noted = true; /* the folder may be written to now */
    CHECK(look(&b) == 1 && memory_count_files(b.m) == 0 && b.p.rested);
    CHECK(memory_stored(b.m, "one") == 2 && b.m->doc_count == 2);
}

TEST(a_marker_goes_back_when_its_file_cannot_be_claimed)
{
    for (int kind = 0; kind < 2; kind++) {
        AUTO(box_done) struct box b = box_of(PICKUP_DELETE, true);

        memory_put(b.m, "a", "one", 1);
        memory_put(b.m, "a.ok", "", 1);
        b.p.marker = STR(".ok");
        b.m->fail_call = CALL_RENAME;
        b.m->fail_nth = 2; /* the marker is the first */
        b.m->fail_kind = kind == 0 ? ERR_PERMANENT : ERR_TRANSIENT;
        b.m->fail_sys = EACCES;
        CHECK(look(&b) == (kind == 0 ? 0 : -1));
        CHECK(memory_find(b.m, "a") != NULL && memory_find(b.m, "a.ok") != NULL);
        CHECK(look(&b) == 1 && memory_count_files(b.m) == 0);
    }
}

TEST(a_moved_file_never_replaces_another)
{
    for (int claims = 0; claims < 2; claims++) {
        AUTO(box_done) struct box b = box_of(PICKUP_MOVE, claims == 1);

        memory_put(b.m, "a", "one", 1);
        CHECK(look(&b) == 1);
        memory_put(b.m, "a", "two", 1);
        CHECK(look(&b) == 1 && b.m->moved == 2 && memory_count_files(b.m) == 2);
    }
}

/* Two writes within one second leave size and time as they are: a file is not taken in its second.
 */
TEST(times_of_whole_seconds_are_not_trusted_alone)
{
    AUTO(box_done) struct box b = box_of(PICKUP_KEEP, true);
    int64_t began_us = clock_mono_us();
    int taken;

    b.src.coarse = true;
    b.p.every_us = CLOCK_MS; /* no second check within a poll */
    memory_put(b.m, "a", "one", 1000000000);
    while ((taken = look(&b)) == 0)
        clock_sleep_us(20 * CLOCK_MS);
    CHECK(taken == 1 && clock_mono_us() - began_us >= 2 * CLOCK_S);
}

/* ---- objects ---- */

static int stats;

static void count_stats(struct memory *m, enum memory_call call, const char *path)
{
    (void)m, (void)path;
    stats += call == CALL_STAT;
}

static bool open_listed(void *arg, const char *path, struct pickup_entry *ret, void **ret_file,
                        struct err *err)
{
    char listed[PICKUP_VERSION];

    memcpy(listed, ret->version, sizeof listed);
    return memory_source_open(arg, path, ret, ret_file, err) &&
           (strcmp(listed, ret->version) == 0 || err_set(err, ERR_TRANSIENT, 0, "not told"));
}

static struct box box_of_objects(enum pickup_after after)
{
    struct box b = box_of(after, false);

    memory_drop(memory_find(b.m, ".waybill"));
    b.src.opaque = b.m->flat = true;
    b.src.open = open_listed;
    return b;
}

TEST(keys_of_objects_are_no_paths)
{
    static const enum pickup_after afters[] = { PICKUP_KEEP, PICKUP_DELETE };
    static const char *const keys[] = {
        "x/../y", "/lead", "a//b", "a/./c", "%41", "d/d/d/d/d/d/d/d"
    };
    char longest[1001];

    memset(longest, 'k', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < 2; i++) {
        AUTO(box_done) struct box b = box_of_objects(afters[i]);

        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            memory_put(b.m, keys[k], keys[k], (int64_t)k);
        memory_put(b.m, longest, "longest", 100);
        memory_put(b.m, "a/.hidden", "no", 1);
        memory_put(b.m, "a/half.part", "no", 1);
        memory_put(b.m, "folder/", "no", 1);
        CHECK(look(&b) == 7 && b.m->doc_count == 7 && b.m->complaints == 0);
        CHECK(strcmp(b.m->docs[0].name, "y") == 0 && strcmp(b.m->docs[1].name, "lead") == 0);
        CHECK(strcmp(b.m->docs[2].name, "b") == 0 && strcmp(b.m->docs[6].name, longest) == 0);
        CHECK(memory_stored(b.m, "no") == 0);
        CHECK(memory_count_files(b.m) == (afters[i] == PICKUP_KEEP ? 10 : 3));
        CHECK(look(&b) == 0 && b.m->commits == 7 && b.m->repeats == 0);
    }
}

static bool next_refused(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err)
{
    if (!memory_source_next(list, ret, ret_end, err))
        return false;
    if (!*ret_end && str_starts(ret->name, STR("bad"))) {
        ret->refused = "it cannot be told";
        ret->hint = "Rename it.";
    }
    return true;
}

TEST(an_object_that_its_source_refuses_is_reported)
{
    AUTO(box_done) struct box b = box_of_objects(PICKUP_DELETE);

    b.src.next = next_refused;
    b.p.marker = STR(".ok");
    memory_put(b.m, "bad\n", "x", 1);
    memory_put(b.m, "good", "good", 1);
    memory_put(b.m, "good.ok", "", 1);
    CHECK(look(&b) == 1 && memory_stored(b.m, "good") == 1 && memory_count_files(b.m) == 1);
    CHECK(b.m->complaints == 1 && strcmp(b.m->why, "it cannot be told Rename it.") == 0);
}

/* A server has to be asked for each marker. */
TEST(markers_of_what_was_taken_are_not_looked_at)
{
    AUTO(box_done) struct box b = box_with_marker(PICKUP_KEEP, false, true);

    memory_put(b.m, "d", "without", 9);
    b.m->at_call = count_stats;
    CHECK(look(&b) == 3);
    CHECK(look(&b) == 0); /* asks the ledger, and knows them now */
    stats = 0;
    CHECK(look(&b) == 0 && stats == 1 && b.m->commits == 3);
}

int main(void)
{
    return test_main();
}
