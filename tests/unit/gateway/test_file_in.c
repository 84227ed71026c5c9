#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "again.h"
#include "base/clock.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/pickup/sighting.h"
#include "fake_deposit.h"
#include "folder.h"

/* A gateway over the folder "in", with a store and a ledger beside it. */
struct box {
    struct folder home;
    struct arena arena;
    void *self;
    int in;
    struct fake fake;
    struct err err;
};

static void box_done(struct box *b)
{
    if (b->self != NULL)
        gateway_file.unmake(b->self);
    (void)close(b->in);
    (void)close(b->fake.store);
    (void)close(b->fake.ledger);
    arena_done(&b->arena);
    folder_done(&b->home);
}

static bool box_make(struct box *b, const char *options)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    char *text = arena_printf(&b->arena, "{ kind: file, path: in%s }", options);
    struct settings settings = { .node = yaml_load(str_of(text), &b->arena, &problems),
                                 .common = grammar_gateway,
                                 .own = gateway_file.kind.keys,
                                 .file = arena_printf(&b->arena, "%s/waybill.yaml", b->home.path),
                                 .arena = &b->arena };

    if (b->self != NULL)
        gateway_file.unmake(b->self);
    b->self = NULL;
    b->err = (struct err){ 0 };
    return gateway_file.make(&settings, &b->self, &b->err);
}

static int folder_in(const struct box *b, const char *name)
{
    (void)mkdirat(b->home.fd, name, 0700);
    return openat(b->home.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct box box_at(struct folder home, const char *options)
{
    struct box b = { .home = home, .arena = ARENA_INIT(256 << 20) };

    b.in = folder_in(&b, "in");
    b.fake = (struct fake){ .store = folder_in(&b, "store"),
                            .ledger = folder_in(&b, "ledger"),
                            .size_most = 1 << 20 };
    if (!box_make(&b, options)) {
        printf("# %s\n", b.err.text);
        exit(1);
    }
    return b;
}

static struct box box_of(const char *options)
{
    return box_at(folder_make(), options);
}

/* How many were taken, -1 when the look failed. */
static int look(struct box *b)
{
    int64_t taken = -1;

    b->err = (struct err){ 0 };
    if (!gateway_file.look(b->self, &fake_port, &b->fake, &taken, &b->err))
        return -1;
    return (int)taken;
}

static bool put(int dirfd, const char *name, const char *bytes)
{
    AUTO_FD fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct err err = { 0 };

    return fd >= 0 && file_write_all(fd, str_of(bytes), &err);
}

static bool is_there(int dirfd, const char *name)
{
    return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int entries(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        (void)closedir(dir);
    return n - 2;
}

/* How many documents with this name and content are stored. */
static int stored(const struct box *b, const char *name, const char *bytes)
{
    DIR *dir = fdopendir(openat(b->fake.store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    AUTO(buf_done) struct buf want = BUF_INIT(64 << 20);
    const struct dirent *e;
    int n = 0;

    buf_printf(&want, "%s\n", name);
    buf_puts(&want, bytes);
    while ((e = readdir(dir)) != NULL) {
        AUTO(buf_done) struct buf got = BUF_INIT(64 << 20);
        struct err err = { 0 };

        n += e->d_type == DT_REG && file_read_whole(b->fake.store, e->d_name, &got, &err) &&
             str_eq(buf_view(&got), buf_view(&want));
    }
    (void)closedir(dir);
    return n;
}

/* Nothing but the lock is left of the work. */
static bool is_clean(const struct box *b)
{
    return entries(b->in, ".waybill") == 1 && is_there(b->in, ".waybill/lock");
}

static const char now_delete[] = ", min_age: 0s, after: delete";

/* ---- what is taken ---- */

TEST(files_become_documents_and_go)
{
    AUTO(box_done) struct box b = box_of(now_delete);

    CHECK(put(b.in, "a.xml", "one") && put(b.in, "b.xml", "two") && put(b.in, "empty", ""));
    CHECK(look(&b) == 3 && look(&b) == 0);
    CHECK(stored(&b, "a.xml", "one") == 1 && stored(&b, "b.xml", "two") == 1);
    CHECK(stored(&b, "empty", "") == 1);
    CHECK(entries(b.in, ".") == 1 && is_clean(&b) && b.fake.complaints == 0);
}

TEST(only_names_that_match_are_taken)
{
    AUTO(box_done) struct box b = box_of(", min_age: 0s, after: delete, match: ['*.xml', 'o?']");
    static const char *const stay[] = { "a.txt", ".a.xml", "a.xml.part",  "b.xml.tmp",
                                        "o",     "orders", ".waybill.xml" };

    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++)
        CHECK(put(b.in, stay[i], "x"));
    CHECK(mkdirat(b.in, "dir.xml", 0700) == 0 && put(b.in, "dir.xml/in.xml", "x"));
    CHECK(put(b.in, "a.xml", "x") && put(b.in, "ok", "x"));
    CHECK(look(&b) == 2 && stored(&b, "a.xml", "x") == 1 && stored(&b, "ok", "x") == 1);
    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++)
        CHECK(is_there(b.in, stay[i]));
    CHECK(b.fake.complaints == 0);
}

TEST(taken_files_are_moved_and_both_are_kept)
{
    AUTO(box_done) struct box b = box_of(", min_age: 0s, after: { move: done }");

    CHECK(put(b.in, "a", "one") && look(&b) == 1);
    CHECK(is_there(b.home.fd, "done/a") && !is_there(b.in, "a"));
    CHECK(put(b.in, "a", "two") && look(&b) == 1);
    CHECK(entries(b.home.fd, "done") == 2 && entries(b.fake.store, ".") == 2);
    /* Whoever moves one back wants it sent again. */
    CHECK(renameat(b.home.fd, "done/a", b.in, "a") == 0 && look(&b) == 1);
    CHECK(stored(&b, "a", "one") == 2 && is_clean(&b));
}

/* proves: FI4 */
TEST(the_same_name_and_content_again_is_another_document)
{
    AUTO(box_done) struct box b = box_of(now_delete);
    const struct timespec times[2] = { { .tv_sec = 1700000000 }, { .tv_sec = 1700000000 } };

    for (int i = 1; i <= 3; i++) {
        CHECK(put(b.in, "a", "same") && utimensat(b.in, "a", times, 0) == 0);
        CHECK(look(&b) == 1 && stored(&b, "a", "same") == i);
    }
    CHECK(b.fake.repeats == 0);
}

TEST(kept_files_are_taken_once)
{
    AUTO(box_done) struct box b = box_of(", min_age: 0s");

    CHECK(put(b.in, "a", "one") && put(b.in, "b", "two"));
    CHECK(look(&b) == 2 && look(&b) == 0 && is_there(b.in, "a") && is_there(b.in, "b"));
    CHECK(box_make(&b, ", min_age: 0s") && look(&b) == 0); /* the ledger knows, not we */
    CHECK(put(b.in, "a", "changed") && look(&b) == 1 && stored(&b, "a", "changed") == 1);
    CHECK(unlinkat(b.in, "b", 0) == 0 && put(b.in, "b", "two") && look(&b) == 1);
    CHECK(stored(&b, "b", "two") == 2);
    CHECK(!is_there(b.in, ".waybill") && entries(b.in, ".") == 2);
}

TEST(the_oldest_file_is_taken_first)
{
    static const char *const options[] = { now_delete, ", min_age: 0s" };

    for (size_t i = 0; i < 2; i++) {
        AUTO(box_done) struct box b = box_of(options[i]);
        struct timespec times[2] = { { .tv_sec = 1700000003 }, { .tv_sec = 1700000003 } };
        static const char *const names[] = { "c", "a", "d", "b" };

        for (size_t n = 0; n < 4; n++, times[1].tv_sec--)
            CHECK(put(b.in, names[n], names[n]) && utimensat(b.in, names[n], times, 0) == 0);
        b.fake.stop_after = 1; /* of one poll each */
        for (size_t n = 4; n-- > 0;) {
            CHECK(look(&b) == 1 && stored(&b, names[n], names[n]) == 1);
            b.fake.stopping = false;
            b.fake.stop_after++;
        }
    }
}

/* ---- sub folders ---- */

static bool make_tree(const struct box *b)
{
    return mkdirat(b->in, "x", 0700) == 0 && mkdirat(b->in, "x/y", 0700) == 0 &&
           put(b->in, "same", "top") && put(b->in, "x/same", "one down") &&
           put(b->in, "x/y/same", "two down");
}

TEST(sub_folders_are_looked_into)
{
    static const char *const options[] = { ", min_age: 0s, depth: 1, after: delete",
                                           ", min_age: 0s, depth: 1",
                                           ", min_age: 0s, depth: 1, after: { move: in/done }" };

    for (size_t i = 0; i < 3; i++) {
        AUTO(box_done) struct box b = box_of(options[i]);

        CHECK(make_tree(&b) && look(&b) == 2 && look(&b) == 0);
        CHECK(stored(&b, "same", "top") == 1 && stored(&b, "same", "one down") == 1);
        CHECK(stored(&b, "same", "two down") == 0 && is_there(b.in, "x/y/same"));
        CHECK(is_there(b.in, "x/same") == (i == 1) && (i == 1 || is_clean(&b)));
        CHECK(i != 2 || entries(b.in, "done") == 2); /* and not taken from there again */
        CHECK(b.fake.complaints == 0);
        /* A name that is used again is another file. */
        CHECK(unlinkat(b.in, "x/same", 0) == 0 || i != 1);
        CHECK(put(b.in, "x/same", "one down") && look(&b) == 1);
        CHECK(stored(&b, "same", "one down") == 2);
    }
}

/* proves: FI14 S3 */
TEST(no_link_leads_out_of_the_tree)
{
    AUTO(box_done) struct box b = box_of(", min_age: 0s, depth: 8, after: delete");

    CHECK(mkdirat(b.home.fd, "outside", 0700) == 0 && put(b.home.fd, "outside/secret", "secret"));
    CHECK(mkdirat(b.in, "x", 0700) == 0 && symlinkat("../outside", b.in, "way") == 0);
    CHECK(symlinkat("../../outside", b.in, "x/way") == 0);
    CHECK(symlinkat("../../outside/secret", b.in, "x/link") == 0);
    CHECK(mkdirat(b.in, "new\nline", 0700) == 0 && put(b.in, "new\nline/a", "a"));
    CHECK(look(&b) == 0 && b.fake.complaints == 4 && entries(b.fake.store, ".") == 0);
    CHECK(is_there(b.home.fd, "outside/secret") && is_there(b.in, "x/link"));
}

/* proves: FI2 */
TEST(a_sub_folder_on_another_file_system_is_reported)
{
    AUTO(box_done) struct box b = box_of(", min_age: 0s, depth: 1, after: delete");

    CHECK(mkdirat(b.in, "x", 0700) == 0 && put(b.in, "a", "a"));
    AUTO_TEXT at = NULL;

    CHECK(asprintf(&at, "%s/in/x", b.home.path) > 0);
    if (mount("none", at, "tmpfs", 0, "size=64k") < 0)
        return; /* only root may mount */
    bool ok = put(b.in, "x/b", "b") && look(&b) == 1 && b.fake.complaints == 1 &&
              is_there(b.in, "x/b") && strstr(b.fake.why, "file system") != NULL;

    CHECK(umount(at) == 0 && ok);
}

/* ---- complete files ---- */

/* proves: IN13 */
TEST(a_file_that_grows_is_left_alone)
{
    AUTO(box_done) struct box b = box_of(", min_age: 300ms, every: 300ms, after: delete");
    const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

    CHECK(put(b.in, "a", "half"));
    CHECK(utimensat(b.in, "a", old, 0) == 0); /* an old time proves nothing: copies keep it */
    CHECK(look(&b) == 0);
    clock_sleep_us(350 * CLOCK_MS);
    CHECK(put(b.in, "a", "half and more") && utimensat(b.in, "a", old, 0) == 0);
    CHECK(look(&b) == 0); /* it grew */
    clock_sleep_us(100 * CLOCK_MS);
    CHECK(look(&b) == 0);
    clock_sleep_us(250 * CLOCK_MS);
    CHECK(look(&b) == 1 && stored(&b, "a", "half and more") == 1);
}

TEST(looks_far_apart_see_a_file_twice)
{
    AUTO(box_done) struct box b = box_of(", min_age: 100ms, every: 1h, after: delete");

    CHECK(put(b.in, "a", "x") && look(&b) == 1);
    CHECK(look(&b) == 0);
}

/* proves: IN13 */
TEST(a_marker_says_that_a_file_is_complete)
{
    AUTO(box_done) struct box b = box_of(", marker: .ok, after: delete");

    CHECK(put(b.in, "a", "half") && look(&b) == 0);
    CHECK(put(b.in, "a", "whole") && put(b.in, "a.ok", "") && put(b.in, "b.ok", ""));
    CHECK(look(&b) == 1 && stored(&b, "a", "whole") == 1);
    CHECK(!is_there(b.in, "a.ok") && is_there(b.in, "b.ok") && is_clean(&b));
    CHECK(put(b.in, "a", "next") && look(&b) == 0); /* the old marker is spent */
    CHECK(put(b.in, "b", "late") && look(&b) == 1 && entries(b.fake.store, ".") == 2);
}

/* proves: FI1 */
TEST(a_marker_that_was_claimed_alone_is_followed_by_its_file)
{
    AUTO(box_done) struct box b = box_of(", marker: .ok, after: delete");

    CHECK(mkdirat(b.in, ".waybill/0123456789abcdef", 0700) == 0);
    CHECK(put(b.in, "a", "whole") && put(b.in, ".waybill/0123456789abcdef/a.ok", ""));
    CHECK(put(b.in, ".waybill/0123456789abcdef/gone.ok", ""));
    CHECK(look(&b) == 1 && stored(&b, "a", "whole") == 1 && is_clean(&b));
    CHECK(entries(b.in, ".") == 1);
}

/* proves: FI13 */
TEST(kept_files_leave_room_for_new_ones)
{
    AUTO(box_done) struct box b = box_of(", min_age: 100ms, every: 1h");

    for (int i = 0; i < SIGHTINGS_MOST; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "old %d", i);
        CHECK(mknodat(b.in, name, S_IFREG | 0600, 0) == 0);
    }
    b.fake.noted = "old";
    CHECK(look(&b) == 0 && put(b.in, "new", "x"));
    CHECK(look(&b) == 1 && stored(&b, "new", "x") == 1 && b.fake.complaints == 0);
    /* Nobody knows them, and all are new: then one has to wait, and it is said. */
    b.fake.noted = NULL;
    CHECK(put(b.in, "more", "x") && box_make(&b, ", min_age: 1h, every: 1h"));
    CHECK(look(&b) == 0 && b.fake.complaints == 1);
    CHECK(strstr(b.fake.why, "more files") != NULL);
}

/* proves: FI13 FI14 */
TEST(what_is_never_taken_is_not_watched)
{
    AUTO(box_done) struct box b = box_of(", min_age: 1h");

    b.fake.size_most = 3;
    CHECK(symlinkat("nowhere", b.in, "link") == 0 && look(&b) == 0 && b.fake.complaints == 1);
    CHECK(put(b.in, "large", "1234") && look(&b) == 0 && b.fake.complaints == 3);
    CHECK(put(b.in, "ripens", "123") && look(&b) == 0 && b.fake.complaints == 5);
}

TEST(the_ledger_is_not_asked_at_every_look_at_a_file_that_ripens)
{
    AUTO(box_done) struct box b = box_of(", min_age: 1h");

    CHECK(put(b.in, "a", "x") && look(&b) == 0 && b.fake.asked == 1);
    CHECK(look(&b) == 0 && look(&b) == 0 && b.fake.asked == 1);
    CHECK(put(b.in, "a", "other") && look(&b) == 0 && b.fake.asked == 2);
}

/* ---- what is refused ---- */

/* proves: FI14 */
TEST(only_plain_files_are_taken)
{
    AUTO(box_done) struct box b = box_of(now_delete);
    static const char *const names[] = { "link", "way", "pipe", "hard" };
    bool device = mknodat(b.in, "device", S_IFCHR | 0600, makedev(1, 3)) == 0; /* root only */

    CHECK(put(b.home.fd, "secret", "secret"));
    CHECK(symlinkat("../secret", b.in, "link") == 0 && symlinkat("..", b.in, "way") == 0);
    CHECK(mkfifoat(b.in, "pipe", 0600) == 0 && linkat(b.home.fd, "secret", b.in, "hard", 0) == 0);
    CHECK(look(&b) == 0 && b.fake.complaints == 4 + device);
    CHECK(entries(b.fake.store, ".") == 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(is_there(b.in, names[i]));
    /* Also when one slips into the work folder. */
    CHECK(mkdirat(b.in, ".waybill/0123456789abcdef", 0700) == 0);
    CHECK(symlinkat("../../../secret", b.in, ".waybill/0123456789abcdef/slip") == 0);
    CHECK(linkat(b.home.fd, "secret", b.in, ".waybill/0123456789abcdef/slip2", 0) == 0);
    CHECK(look(&b) == 0 && entries(b.fake.store, ".") == 0);
    CHECK(is_there(b.in, "slip") && is_there(b.in, "slip2") && is_clean(&b)); /* put back */
    CHECK(unlinkat(b.in, "slip2", 0) == 0 && unlinkat(b.home.fd, "secret", 0) == 0);
    CHECK(look(&b) == 1); /* "hard" has one name now */
}

TEST(what_is_too_large_or_badly_named_stays)
{
    AUTO(box_done) struct box b = box_of(now_delete);

    b.fake.size_most = 10;
    CHECK(put(b.in, "large", "01234567890") && put(b.in, "fits", "0123456789"));
    CHECK(look(&b) == 1 && b.fake.complaints == 1 && strcmp(b.fake.complained, "large") == 0);
    CHECK(strstr(b.fake.why, "limits.size") != NULL && is_there(b.in, "large"));
    b.fake.size_most = 11;
    CHECK(look(&b) == 1 && b.fake.complaints == 1);
    CHECK(put(b.in, "new\nline", "x") && put(b.in, "latin\xfc", "x"));
    CHECK(look(&b) == 0 && b.fake.complaints == 3 && entries(b.in, ".") == 3);
}

/* ---- failures ---- */

/* proves: IN3 */
TEST(what_cannot_be_stored_is_met_again)
{
    static const struct {
        enum err_kind open, put, commit;
    } cases[] = { { .open = ERR_LIMIT },
                  { .put = ERR_TRANSIENT },
                  { .commit = ERR_TRANSIENT },
                  { .commit = ERR_UNCERTAIN } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(box_done) struct box b = box_of(now_delete);

        b.fake.open_fails = cases[i].open;
        b.fake.put_fails = cases[i].put;
        b.fake.commit_fails = cases[i].commit;
        CHECK(put(b.in, "a", "one") && put(b.in, "b", "two"));
        CHECK(look(&b) == -1 && b.err.text[0] != '\0' && look(&b) == -1);
        CHECK(entries(b.fake.store, ".") == 0);
        b.fake.open_fails = b.fake.put_fails = b.fake.commit_fails = ERR_NONE;
        CHECK(look(&b) == 2 && is_clean(&b) && entries(b.in, ".") == 1);
        CHECK(stored(&b, "a", "one") == 1 && stored(&b, "b", "two") == 1);
    }
}

TEST(one_that_is_refused_for_ever_does_not_stop_the_others)
{
    AUTO(box_done) struct box b = box_of(now_delete);

    b.fake.commit_fails = ERR_PERMANENT;
    CHECK(put(b.in, "a", "one") && look(&b) == 0 && b.fake.complaints == 1);
    b.fake.commit_fails = ERR_NONE;
    CHECK(put(b.in, "b", "two") && look(&b) == 2 && is_clean(&b));
}

TEST(nothing_is_taken_that_cannot_be_moved_on)
{
    AUTO(box_done) struct box b = box_of(", min_age: 0s, after: { move: done }");

    CHECK(put(b.in, "a", "one") && put(b.in, "b", "two"));
    b.fake.stop_after = 1;
    CHECK(look(&b) == 1);
    b.fake.stopping = false;
    b.fake.stop_after = 0;
    CHECK(renameat(b.home.fd, "done", b.home.fd, "elsewhere") == 0);
    CHECK(look(&b) == -1 && strstr(b.err.text, "done") != NULL);
    CHECK(entries(b.fake.store, ".") == 1); /* nothing is taken that cannot be finished */
    CHECK(renameat(b.home.fd, "elsewhere", b.home.fd, "done") == 0);
    CHECK(look(&b) == 1 && entries(b.fake.store, ".") == 2 && entries(b.home.fd, "done") == 2);
}

/* proves: FI12 */
TEST(a_folder_that_is_not_mounted_is_an_error_and_not_empty)
{
    AUTO(box_done) struct box b = box_of(now_delete);

    CHECK(put(b.in, "a", "x") && renameat(b.home.fd, "in", b.home.fd, "unmounted") == 0);
    CHECK(look(&b) == -1);
    CHECK(mkdirat(b.home.fd, "in", 0700) == 0);
    CHECK(look(&b) == -1 && strstr(b.err.text, "mounted") != NULL);
    CHECK(entries(b.home.fd, "in") == 0);
}

/* A writer that still has the file open: the test writes through a descriptor. */
struct writer_in {
    int fd, times;
};

static void write_on(void *arg)
{
    struct writer_in *w = arg;

    if (w->times > 0 && write(w->fd, "+", 1) == 1)
        w->times--;
}

/* proves: FI15 */
TEST(a_file_that_changes_while_it_is_read_is_read_again)
{
    AUTO(box_done) struct box b = box_of(now_delete);
    struct writer_in w = { .times = 2 };

    CHECK(put(b.in, "a", "start"));
    w.fd = openat(b.in, "a", O_WRONLY | O_APPEND);
    b.fake.at_put = write_on;
    b.fake.arg = &w;
    CHECK(look(&b) == 0 && entries(b.fake.store, ".") == 0);
    CHECK(look(&b) >= 0);
    for (int i = 0; i < 4 && !is_clean(&b); i++)
        CHECK(look(&b) >= 0);
    CHECK(entries(b.fake.store, ".") == 1 && stored(&b, "a", "start++") == 1);
    /* And one that is written to when it is stored already: nothing of it is lost. */
    CHECK(put(b.in, "b", "start"));
    (void)close(w.fd);
    w = (struct writer_in){ .fd = openat(b.in, "b", O_WRONLY | O_APPEND), .times = 1 };
    b.fake.at_put = NULL;
    b.fake.at_commit = write_on;
    CHECK(look(&b) == 1 && stored(&b, "b", "start") == 1 && is_there(b.in, "b"));
    CHECK(b.fake.complaints == 1 && strstr(b.fake.why, "changed after") != NULL);
    CHECK(look(&b) == 1 && stored(&b, "b", "start+") == 1 && is_clean(&b));
    (void)close(w.fd);
}

/* ---- many, and several ---- */

/* proves: FI13 */
TEST(a_large_folder_is_taken_in_bounded_looks)
{
    AUTO(box_done) struct box b = box_of(now_delete);

    for (int i = 0; i < DEPOSIT_LOOK_MOST + 30; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "f%d", i);
        CHECK(put(b.in, name, name));
    }
    CHECK(look(&b) == DEPOSIT_LOOK_MOST && look(&b) == 30 && look(&b) == 0);
    CHECK(entries(b.fake.store, ".") == DEPOSIT_LOOK_MOST + 30 && is_clean(&b));
}

TEST(a_look_ends_when_the_node_stops)
{
    AUTO(box_done) struct box b = box_of(now_delete);
    char name[] = "a";

    for (; name[0] <= 'j'; name[0]++)
        CHECK(put(b.in, name, name));
    b.fake.stop_after = 3;
    CHECK(look(&b) == 3);
    b.fake.stopping = false;
    b.fake.stop_after = 0;
    CHECK(look(&b) == 7 && entries(b.fake.store, ".") == 10 && is_clean(&b));
}

/* proves: FI3 */
TEST(two_looks_do_not_harm_each_other)
{
    AUTO(box_done) struct box b = box_of(now_delete);
    AUTO_FD lock = openat(b.in, ".waybill/lock", O_RDWR | O_CREAT, 0600);
    char name[] = "a";

    CHECK(put(b.in, "x", "x") && flock(lock, LOCK_EX) == 0);
    CHECK(look(&b) == 0 && is_there(b.in, "x")); /* another one looks */
    CHECK(flock(lock, LOCK_UN) == 0 && look(&b) == 1);

    /* Two processes at the same time, many times: every file once. */
    for (; name[0] <= 'z'; name[0]++)
        CHECK(put(b.in, name, name));
    fflush(stdout);
    pid_t child = fork();

    if (child == 0) {
        int n = 0;

        for (int i = 0; i < 20; i++)
            n += look(&b) < 0;
        _exit(n > 0);
    }
    int failed = 0, status = -1;

    for (int i = 0; i < 20; i++)
        failed += look(&b) < 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && failed == 0);
    CHECK(look(&b) >= 0 && entries(b.fake.store, ".") == 27 && is_clean(&b));
}

/* Without locks a second look may take up the work folder of one that goes on. */
static void look_inside(void *arg)
{
    struct box *b = arg;
    struct fake other = { .store = b->fake.store, .ledger = b->fake.ledger, .size_most = 1 << 20 };
    int64_t taken;
    struct err err = { 0 };

    b->fake.at_commit = NULL;
    (void)unlinkat(b->in, ".waybill/lock", 0);
    if (!gateway_file.look(b->self, &fake_port, &other, &taken, &err))
        b->fake.complaints += 100;
}

/* proves: FI3 */
TEST(a_work_folder_taken_up_twice_gives_each_document_once)
{
    AUTO(box_done) struct box b = box_of(now_delete);

    CHECK(put(b.in, "a", "1") && put(b.in, "b", "2") && put(b.in, "c", "3"));
    b.fake.at_commit = look_inside;
    b.fake.arg = &b;
    CHECK(look(&b) >= 1 && b.fake.complaints == 0);
    CHECK(entries(b.fake.store, ".") == 3 && entries(b.in, ".") == 1);
    CHECK(look(&b) == 0 && is_clean(&b));
}

/* ---- configuration ---- */

/* proves: FI2 */
TEST(folders_that_cannot_work_are_refused)
{
    AUTO(box_done) struct box b = box_of(now_delete);

    CHECK(!box_make(&b, ", after: { move: in }") && b.err.kind == ERR_CONFIG);
    struct stat here, there;

    if (stat("/dev/shm", &there) == 0 && fstat(b.in, &here) == 0 && here.st_dev != there.st_dev) {
        CHECK(!box_make(&b, ", after: { move: /dev/shm }") && b.err.kind == ERR_CONFIG);
        CHECK(strstr(b.err.text, "another file system") != NULL);
        CHECK(unlinkat(b.in, ".waybill", AT_REMOVEDIR) == 0);
        CHECK(symlinkat("/dev/shm", b.in, ".waybill") == 0);
        CHECK(!box_make(&b, now_delete) && b.err.kind == ERR_CONFIG);
        CHECK(unlinkat(b.in, ".waybill", 0) == 0);
    }
    CHECK(box_make(&b, ", after: { move: in/done }") && is_there(b.in, "done"));
}

/* ---- crashes ---- */

static int play(const char *home, const char *options)
{
    struct folder f = { .fd = open(home, O_RDONLY | O_DIRECTORY) };

    (void)snprintf(f.path, sizeof f.path, "%s", home);
    struct box b = box_at(f, options);

    return look(&b) < 0;
}

#ifdef WAYBILL_FAULTS
/* proves: FI1 IN3 IN4 */
TEST(a_crash_anywhere_makes_no_second_document_and_loses_none)
{
    static const char *const faults[] = { "file.claimed:kill:1", "file.claimed:kill:3",
                                          "file.read:kill:1",    "file.read:kill:2",
                                          "file.taken:kill:1",   "file.taken:kill:3" };
    static const char *const options[] = { now_delete, ", min_age: 0s, after: { move: done }",
                                           ", marker: .ok, after: delete", ", min_age: 0s" };

    for (size_t o = 0; o < sizeof options / sizeof options[0]; o++)
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
            AUTO(box_done) struct box b = box_of(options[o]);
            bool keeps = o == 3;

            CHECK(put(b.in, "a", "one") && put(b.in, "b", "two") && put(b.in, "c", "three"));
            CHECK(put(b.in, "a.ok", "") && put(b.in, "b.ok", "") && put(b.in, "c.ok", ""));
            if (o != 2)
                CHECK(unlinkat(b.in, "a.ok", 0) == 0 && unlinkat(b.in, "b.ok", 0) == 0 &&
                      unlinkat(b.in, "c.ok", 0) == 0);
            if (keeps && i < 2)
                continue; /* nothing is claimed */
            (void)setenv("FILE_IN_OPTIONS", options[o], 1);
            CHECK(again("take", faults[i], b.home.path).signal == SIGKILL);
            CHECK(look(&b) >= 0);
            CHECK(stored(&b, "a", "one") == 1 && stored(&b, "b", "two") == 1);
            CHECK(stored(&b, "c", "three") == 1 && entries(b.fake.store, ".") == 3);
            CHECK(keeps || (is_clean(&b) && entries(b.in, ".") == 1));
            CHECK(look(&b) == 0);
        }
}
/* proves: FI1 */
TEST(a_crash_anywhere_loses_no_file_of_a_sub_folder)
{
    static const char *const faults[] = { "file.claimed:kill:1", "file.claimed:kill:2",
                                          "file.read:kill:2", "file.taken:kill:2" };
    static const char options[] = ", min_age: 0s, depth: 2, after: delete";

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        AUTO(box_done) struct box b = box_of(options);

        CHECK(make_tree(&b));
        (void)setenv("FILE_IN_OPTIONS", options, 1);
        CHECK(again("take", faults[i], b.home.path).signal == SIGKILL);
        CHECK(look(&b) >= 0 && look(&b) == 0 && is_clean(&b) && entries(b.in, "x/y") == 0);
        CHECK(stored(&b, "same", "top") == 1 && stored(&b, "same", "one down") == 1);
        CHECK(stored(&b, "same", "two down") == 1 && entries(b.fake.store, ".") == 3);
    }
}
#endif

int main(int argc, char **argv)
{
    const char *scene = again_scene(argc, argv);

    if (scene != NULL)
        _exit(play(argv[2], getenv("FILE_IN_OPTIONS")));
    return test_main();
}
