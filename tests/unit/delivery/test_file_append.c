#include "delivery/file_append.h"

#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "again.h"
#include "file_sender.h"
#include "test.h"

static const char appending[] = ", name: '${name}', append: true";

static enum verdict_kind add(struct sender *s, const char *delivery, const char *bytes)
{
    return sender_send_as(s, delivery, STR("log"), str_of(bytes)).kind;
}

static enum verdict_kind ask(struct sender *s, const char *delivery, const char *bytes)
{
    struct sending sending = sending_of(delivery, STR("log"), str_of(bytes));
    struct verdict v;

    endpoint_file.ask(s->self, &sending, NULL, &v);
    return v.kind;
}

TEST(documents_are_added_one_after_the_other)
{
    AUTO(sender_done) struct sender s = sender_of(appending);

    CHECK(fchmod(s.out, 0750) == 0);
    CHECK(add(&s, "d1", "one\n") == VERDICT_DELIVERED);
    CHECK(add(&s, "d2", "two\n") == VERDICT_DELIVERED);
    CHECK(add(&s, "d3", "") == VERDICT_DELIVERED);
    CHECK(add(&s, "d4", "one\n") == VERDICT_DELIVERED); /* equal bytes, another document */
    struct stat st;

    CHECK(holds(s.out, "log", "one\ntwo\none\n") && fstatat(s.out, "log", &st, 0) == 0);
    CHECK((st.st_mode & 07777) == 0640);
    CHECK(entries(s.out, ".") == 2); /* and its journal */
}

/* proves: FI6 */
TEST(a_delivery_that_comes_again_is_not_added_again)
{
    AUTO(sender_done) struct sender s = sender_of(appending);

    for (int i = 0; i < 3; i++) {
        CHECK(add(&s, "d1", "one\n") == VERDICT_DELIVERED);
        CHECK(add(&s, "d2", "two\n") == VERDICT_DELIVERED);
        CHECK(add(&s, "d3", "") == VERDICT_DELIVERED);
    }
    CHECK(holds(s.out, "log", "one\ntwo\n"));
    /* Also when the reader took the file away in between. */
    CHECK(renameat(s.out, "log", s.out, "taken") == 0);
    CHECK(add(&s, "d1", "one\n") == VERDICT_DELIVERED);
    CHECK(add(&s, "d2", "two\n") == VERDICT_DELIVERED);
    CHECK(holds(s.out, "log", ""));
    CHECK(add(&s, "d5", "new\n") == VERDICT_DELIVERED);
    CHECK(holds(s.out, "log", "new\n") && holds(s.out, "taken", "one\ntwo\n"));
    /* Or emptied it. */
    CHECK(put(s.out, "log", "") && add(&s, "d5", "new\n") == VERDICT_DELIVERED);
    CHECK(add(&s, "d6", "more\n") == VERDICT_DELIVERED && holds(s.out, "log", "more\n"));
}

/* proves: DE9 */
TEST(who_asks_hears_what_the_journal_knows)
{
    AUTO(sender_done) struct sender s = sender_of(appending);

    CHECK(ask(&s, "d1", "one\n") == VERDICT_RETRY && entries(s.out, ".") == 0);
    CHECK(add(&s, "d1", "one\n") == VERDICT_DELIVERED);
    CHECK(ask(&s, "d1", "one\n") == VERDICT_DELIVERED && ask(&s, "d2", "two\n") == VERDICT_RETRY);
    CHECK(renameat(s.out, "log", s.out, "taken") == 0); /* its reader was fast */
    CHECK(ask(&s, "d1", "one\n") == VERDICT_DELIVERED && ask(&s, "d2", "two\n") == VERDICT_RETRY);
    CHECK(holds(s.out, "taken", "one\n") && entries(s.out, ".") == 2);
}

/* ---- crashes ---- */

static char large[300001];

static const char *large_body(void)
{
    for (size_t i = 0; i < sizeof large - 1; i++)
        large[i] = (char)('a' + i % 23);
    return large;
}

static int play(const char *home)
{
    struct sender s = { .arena = ARENA_INIT(256 << 20), .out = -1 };

    (void)snprintf(s.home.path, sizeof s.home.path, "%s", home);
    s.home.fd = open(home, O_RDONLY | O_DIRECTORY);
    if (!sender_make(&s, appending))
        return 1;
    return add(&s, "crashed", large_body()) != VERDICT_DELIVERED;
}

#ifdef WAYBILL_FAULTS
/* "first" + the large body + "last" */
static bool is_right(int dirfd, bool with_large)
{
    AUTO(buf_done) struct buf want = BUF_INIT(1 << 20);

    buf_puts(&want, "first");
    if (with_large)
        buf_puts(&want, large_body());
    buf_puts(&want, "last");
    return holds(dirfd, "log", want.ptr);
}

static const char *const faults[] = { "file.writing:kill:2",   "file.staged:kill",
                                      "file.intent:kill",      "file.appending:kill:1",
                                      "file.appending:kill:3", "file.appended:kill" };

enum after { REPLAYED, OTHER_FIRST, RECOVERED };

static bool survives(const char *fault, enum after after)
{
    AUTO(sender_done) struct sender s = sender_of(appending);

    if (add(&s, "d1", "first") != VERDICT_DELIVERED ||
        again("append", fault, s.home.path).signal != SIGKILL || !sender_make(&s, appending))
        return false;
    if (after == RECOVERED)
        endpoint_file.recover(s.self, NULL);
    bool staged_only =
        str_is(str_of(fault), "file.writing:kill:2") || str_is(str_of(fault), "file.staged:kill");

    if (after == OTHER_FIRST && staged_only) /* nothing was begun: no place is taken */
        return add(&s, "d2", "last") == VERDICT_DELIVERED && is_right(s.out, false);
    if (after == OTHER_FIRST && (add(&s, "d2", "last") != VERDICT_DELIVERED ||
                                 !is_right(s.out, true))) /* it was finished on the way */
        return false;
    if (add(&s, "crashed", large_body()) != VERDICT_DELIVERED ||
        add(&s, "d2", "last") != VERDICT_DELIVERED || !is_right(s.out, true))
        return false;
    if (!sender_make(&s, appending))
        return false;
    endpoint_file.recover(s.self, NULL);
    return entries(s.out, ".") == 2; /* nothing staged is left */
}

/* proves: FI6 */
TEST(an_append_survives_a_crash_anywhere)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        for (enum after a = REPLAYED; a <= RECOVERED; a++)
            CHECK(survives(faults[i], a));
}

/* What was begun is finished, what was not is not there; it is never added twice. */
TEST(who_asks_after_a_crash_hears_the_truth)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        AUTO(sender_done) struct sender s = sender_of(appending);

        CHECK(add(&s, "d1", "first") == VERDICT_DELIVERED &&
              again("append", faults[i], s.home.path).signal == SIGKILL &&
              sender_make(&s, appending));
        CHECK(ask(&s, "crashed", large_body()) == (i < 2 ? VERDICT_RETRY : VERDICT_DELIVERED));
        CHECK(add(&s, "crashed", large_body()) == VERDICT_DELIVERED);
        CHECK(add(&s, "d2", "last") == VERDICT_DELIVERED && is_right(s.out, true));
    }
}

/* A power cut keeps the new length of a file, and of the bytes any pages: [from, to) of the large
 * body reads as zeros, and the file ends at `end` of it. */
static bool cut_power(struct sender *s, off_t from, off_t to, off_t end)
{
    static const char zeros[sizeof large];
    off_t at = (off_t)strlen("first");
    struct err err;

    if (add(s, "d1", "first") != VERDICT_DELIVERED ||
        again("append", "file.appended:kill", s->home.path).signal != SIGKILL ||
        !sender_make(s, appending))
        return false;
    AUTO_FD fd = openat(s->out, "log", O_WRONLY);

    return fd >= 0 && ftruncate(fd, at + end) == 0 &&
           file_write_at(fd, str_mem(zeros, (size_t)(to - from)), at + from, &err);
}

/* proves: FI6 */
TEST(zeros_that_a_power_cut_left_become_the_bytes_of_the_append)
{
    static const struct {
        off_t from, to, end;
    } cuts[] = {
        { 0, 300000, 300000 },      { 0, 4000, 300000 }, { 4000, 70000, 300000 },
        { 299999, 300000, 300000 }, { 0, 100, 100 },     { 0, 100, 200000 },
    };

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        for (enum after a = REPLAYED; a <= RECOVERED; a++) {
            AUTO(sender_done) struct sender s = sender_of(appending);

            CHECK(cut_power(&s, cuts[i].from, cuts[i].to, cuts[i].end));
            if (a == RECOVERED)
                endpoint_file.recover(s.self, NULL);
            if (a == OTHER_FIRST)
                CHECK(add(&s, "d2", "last") == VERDICT_DELIVERED && is_right(s.out, true));
            CHECK(add(&s, "crashed", large_body()) == VERDICT_DELIVERED);
            CHECK(add(&s, "d2", "last") == VERDICT_DELIVERED && is_right(s.out, true));
        }
}

/* The staged bytes are gone as well: the zeros are cut off, and the delivery is sent anew. */
TEST(zeros_of_an_append_whose_bytes_are_gone_are_cut_off)
{
    AUTO(sender_done) struct sender s = sender_of(appending);
    char staged[STAGED_NAME];

    CHECK(cut_power(&s, 0, 300000, 300000));
    file_append_staged_name(STR("crashed"), staged);
    CHECK(unlinkat(s.out, staged, 0) == 0);
    CHECK(add(&s, "d2", "last") == VERDICT_DELIVERED && is_right(s.out, false));
    CHECK(add(&s, "crashed", large_body()) == VERDICT_DELIVERED);
}

/* A file that was changed by somebody else between the crash and the replay. */
static bool crash_half(struct sender *s)
{
    return add(s, "d1", "first") == VERDICT_DELIVERED &&
           again("append", "file.appending:kill:2", s->home.path).signal == SIGKILL &&
           sender_make(s, appending);
}

static bool is_told_once(struct sender *s)
{
    struct verdict v = sender_send_as(s, "crashed", STR("log"), str_of(large_body()));

    return v.kind == VERDICT_DOUBT && strstr(v.message, "somebody else") != NULL &&
           add(s, "crashed", large_body()) == VERDICT_DELIVERED && /* sent again all the same */
           add(s, "crashed", large_body()) == VERDICT_DELIVERED;
}

/* proves: FI6 */
TEST(what_others_wrote_is_never_cut)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1 << 20);
    struct err err = { 0 };

    for (int other_first = 0; other_first < 2; other_first++) { /* a foreign tail */
        AUTO(sender_done) struct sender s = sender_of(appending);

        CHECK(crash_half(&s));
        AUTO_FD fd = openat(s.out, "log", O_WRONLY | O_APPEND);

        CHECK(file_write_all(fd, STR("THEIRS"), &err));
        if (other_first)
            CHECK(add(&s, "d2", "last") == VERDICT_DELIVERED);
        CHECK(is_told_once(&s));
        buf_clear(&got);
        CHECK(file_read_whole(s.out, "log", &got, &err) && strstr(got.ptr, "THEIRS") != NULL);
    }
    { /* who asks is told that nobody knows; what is sent after that was decided */
        AUTO(sender_done) struct sender s = sender_of(appending);

        CHECK(crash_half(&s));
        AUTO_FD fd = openat(s.out, "log", O_WRONLY | O_APPEND);

        CHECK(file_write_all(fd, STR("THEIRS"), &err));
        for (int i = 0; i < 3; i++)
            CHECK(ask(&s, "crashed", large_body()) == VERDICT_DOUBT);
        CHECK(add(&s, "crashed", large_body()) == VERDICT_DELIVERED);
        CHECK(ask(&s, "crashed", large_body()) == VERDICT_DELIVERED);
    }
    { /* another file */
        AUTO(sender_done) struct sender s = sender_of(appending);

        CHECK(crash_half(&s));
        CHECK(renameat(s.out, "log", s.out, "taken") == 0 && put(s.out, "log", "new"));
        CHECK(is_told_once(&s));
        buf_clear(&got);
        CHECK(file_read_whole(s.out, "log", &got, &err) && got.len == 3 + sizeof large - 1);
    }
    { /* a shorter one */
        AUTO(sender_done) struct sender s = sender_of(appending);

        CHECK(crash_half(&s) && put(s.out, "log", "x") && is_told_once(&s));
    }
    { /* one that is gone */
        AUTO(sender_done) struct sender s = sender_of(appending);

        CHECK(crash_half(&s) && renameat(s.out, "log", s.out, "taken") == 0);
        endpoint_file.recover(s.self, NULL);
        CHECK(is_told_once(&s));
    }
}
#endif

TEST(an_append_that_finds_no_room_is_taken_back)
{
    AUTO(sender_done) struct sender s = sender_of(appending);
    struct rlimit before, small;
    char log[8001], more[6001];

    memset(log, 'l', sizeof log);
    memset(more, 'm', sizeof more);
    log[sizeof log - 1] = more[sizeof more - 1] = '\0';
    CHECK(add(&s, "d1", log) == VERDICT_DELIVERED);
    (void)signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = (struct rlimit){ .rlim_cur = 10000, .rlim_max = before.rlim_max };
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    enum verdict_kind kind = add(&s, "d2", more);

    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(kind == VERDICT_RETRY && holds(s.out, "log", log) && entries(s.out, ".") == 2);
    CHECK(add(&s, "d2", more) == VERDICT_DELIVERED);
    CHECK(add(&s, "d2", more) == VERDICT_DELIVERED);
    struct stat st;

    CHECK(fstatat(s.out, "log", &st, 0) == 0 && st.st_size == 14000);
}

/* ---- the journal ---- */

/* A journal of `count` finished appends of one byte, as the format says. */
static bool write_journal(int dirfd, const char *name, int count, uint64_t ino)
{
    AUTO_FD fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    AUTO(buf_done) struct buf all = BUF_INIT(8 << 20);
    struct sha256 byte = digest_of(STR("x"));
    struct err err = { 0 };

    for (int64_t i = 0; i < count; i++) {
        char id[32];
        unsigned char record[64];
        int64_t numbers[3] = { (int64_t)ino, i, 1 };

        (void)snprintf(id, sizeof id, "old%lld", (long long)i);
        struct sha256 delivery = digest_of(str_of(id));

        memcpy(record, delivery.bytes, 16);
        memcpy(record + 16, byte.bytes, 16);
        memcpy(record + 32, numbers, 24);
        struct sha256 check = digest_of(str_mem(record, 56));

        memcpy(record + 56, check.bytes, 7);
        record[63] = 1;
        buf_put(&all, str_mem(record, sizeof record));
    }
    return fd >= 0 && file_write_all(fd, buf_view(&all), &err);
}

TEST(a_full_journal_forgets_the_oldest)
{
    AUTO(sender_done) struct sender s = sender_of(appending);
    struct stat st;

    CHECK(put(s.out, "log", "x") && fstatat(s.out, "log", &st, 0) == 0);
    CHECK(write_journal(s.out, ".log.waybill", JOURNAL_MOST, st.st_ino));
    CHECK(add(&s, "new", "n") == VERDICT_DELIVERED && holds(s.out, "log", "xn"));
    CHECK(fstatat(s.out, ".log.waybill", &st, 0) == 0);
    CHECK(st.st_size == (JOURNAL_KEEP + 1) * 64 && entries(s.out, ".") == 2);
    CHECK(add(&s, "old16383", "x") == VERDICT_DELIVERED && holds(s.out, "log", "xn"));
    CHECK(add(&s, "new", "n") == VERDICT_DELIVERED && holds(s.out, "log", "xn"));
    CHECK(add(&s, "old1", "y") == VERDICT_DELIVERED && holds(s.out, "log", "xny"));
}

TEST(a_torn_journal_is_mended_and_a_damaged_one_is_not_trusted)
{
    AUTO(sender_done) struct sender s = sender_of(appending);
    AUTO_FD fd = -1;
    struct err err = { 0 };
    struct stat st;

    CHECK(add(&s, "d1", "one") == VERDICT_DELIVERED);
    fd = openat(s.out, ".log.waybill", O_RDWR);
    CHECK(fstat(fd, &st) == 0 && st.st_size == 64);
    CHECK(file_write_at(fd, STR("half a record"), 64, &err));
    CHECK(add(&s, "d2", "two") == VERDICT_DELIVERED && holds(s.out, "log", "onetwo"));
    char zeros[64] = { 0 };

    CHECK(file_write_at(fd, str_mem(zeros, 64), 128, &err)); /* a place that was never written */
    CHECK(add(&s, "d2", "two") == VERDICT_DELIVERED && holds(s.out, "log", "onetwo"));
    CHECK(fstat(fd, &st) == 0 && st.st_size == 128);
    CHECK(file_write_at(fd, str_mem(zeros, 64), 0, &err));
    CHECK(file_write_at(fd, str_mem(zeros, 64), 64, &err));
    struct verdict v = sender_send_as(&s, "d3", STR("log"), STR("three"));

    CHECK(v.kind == VERDICT_DOUBT && strstr(v.message, ".log.waybill is damaged") != NULL);
    CHECK(holds(s.out, "log", "onetwo"));
}

/* ---- threads ---- */

enum { THREADS = 4, EACH = 15 };

struct adder {
    struct sender *s;
    int number, failed;
};

static void *add_many(void *arg)
{
    struct adder *a = arg;

    for (int i = 0; i < EACH; i++) {
        char id[32], text[40];

        (void)snprintf(id, sizeof id, "t%d.%d", a->number, i);
        (void)snprintf(text, sizeof text, "<%s>\n", id);
        a->failed += add(a->s, id, text) != VERDICT_DELIVERED;
    }
    return NULL;
}

TEST(threads_take_turns)
{
    AUTO(sender_done) struct sender s = sender_of(appending);
    AUTO(buf_done) struct buf got = BUF_INIT(1 << 20);
    struct adder adders[THREADS];
    pthread_t threads[THREADS];
    struct err err = { 0 };
    int lines = 0;

    for (int i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){ .s = &s, .number = i };
        CHECK(pthread_create(&threads[i], NULL, add_many, &adders[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK(adders[i].failed == 0);
    }
    CHECK(file_read_whole(s.out, "log", &got, &err));
    for (struct str rest = buf_view(&got), line; rest.len > 0; lines++) {
        rest = str_cut(rest, '\n', &line);
        CHECK(line.len > 3 && line.ptr[0] == '<' && line.ptr[line.len - 1] == '>');
    }
    CHECK(lines == THREADS * EACH);
}

TEST(a_process_that_holds_the_file_is_waited_for)
{
    AUTO(sender_done) struct sender s = sender_of(appending);
    _Atomic bool stop = true;
    struct call call = { .stop = &stop };
    static const struct facts facts = { 0 };
    struct sending sending = { .document = STR(DOCUMENT),
                               .delivery = STR("d2"),
                               .facts = &facts,
                               .name = STR("log"),
                               .size = 1,
                               .bytes = STR("x") };
    struct verdict v;

    CHECK(add(&s, "d1", "one") == VERDICT_DELIVERED);
    AUTO_FD fd = openat(s.out, ".log.waybill", O_RDWR);

    CHECK(flock(fd, LOCK_EX) == 0);
    endpoint_file.send(s.self, &sending, &call, &v);
    CHECK(v.kind == VERDICT_RETRY && holds(s.out, "log", "one"));
    CHECK(flock(fd, LOCK_UN) == 0);
    endpoint_file.send(s.self, &sending, &call, &v);
    CHECK(v.kind == VERDICT_DELIVERED && holds(s.out, "log", "onex"));
}

int main(int argc, char **argv)
{
    const char *scene = again_scene(argc, argv);

    if (scene != NULL)
        _exit(play(argv[2]));
    return test_main();
}
