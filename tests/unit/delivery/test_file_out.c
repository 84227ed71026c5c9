#include "base/clock.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include "again.h"
#include "file_sender.h"

static const char named[] = ", name: '${name}'";

/* Its date is that of the acceptance, so that a replay on another day has the same name.
 * proves: FI9 */
TEST(a_document_becomes_a_file)
{
    AUTO(sender_done) struct sender s = sender_of(", name: '${sender}/${date}/${id}.xml'");
    struct stat st;

    CHECK(fchmod(s.out, 02750) == 0);
    struct verdict v = sender_send(&s, "", "<order/>");

    CHECK(v.kind == VERDICT_DELIVERED);
    CHECK(strstr(v.message, "acme/2025-11-15/" DOCUMENT ".xml") != NULL);
    CHECK(holds(s.out, "acme/2025-11-15/" DOCUMENT ".xml", "<order/>"));
    CHECK(entries(s.out, "acme/2025-11-15") == 1);
    /* As readable as the folder, whatever the umask is. */
    CHECK(fstatat(s.out, "acme", &st, 0) == 0 && (st.st_mode & 07777) == 02750);
    CHECK(fstatat(s.out, "acme/2025-11-15/" DOCUMENT ".xml", &st, 0) == 0);
    CHECK((st.st_mode & 07777) == 0640);
    v = sender_send_as(&s, "x", STR("empty"), STR(""));
    CHECK(v.kind == VERDICT_RETRY); /* the same name for another delivery */
}

/* proves: FI11 */
TEST(a_name_from_a_document_stays_in_the_folder)
{
    AUTO(sender_done) struct sender s = sender_of(named);
    char long_name[300];
    const struct str names[] = { STR(".."),   STR("../x"),    STR("/etc/x"),     STR("a/../../x"),
                                 STR("a\nb"), STR("a\0b"),    STR("a//b"),       STR("a\x1b[2J"),
                                 STR(""),     STR("\xff"),    STR("a/"),         { long_name, 256 },
                                 STR("."),    STR(".x.part"), STR(".x.waybill"), STR("a/b"),
                                 STR(".ssh") };

    memset(long_name, 'n', sizeof long_name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct verdict v = sender_send_as(&s, DELIVERY, names[i], STR("x"));

        CHECK(v.kind == VERDICT_FAILED && v.message[0] != '\0');
    }
    CHECK(sender_send_as(&s, DELIVERY, names[1], STR("x")).code == dead_codes[DEAD_REJECTED]);
    CHECK(entries(s.out, ".") == 0 && entries(s.home.fd, ".") == 1);
    /* A link does not lead out either. */
    CHECK(symlinkat("..", s.out, "way") == 0);
    CHECK(sender_make(&s, ", name: 'way/${name}'"));
    struct verdict v = sender_send(&s, "x", "x");

    CHECK(v.kind == VERDICT_RETRY && strstr(v.message, "symbolic link") != NULL);
    CHECK(sender_make(&s, named));
    CHECK(symlinkat("../target", s.out, "link") == 0);
    CHECK(sender_send(&s, "link", "x").kind == VERDICT_RETRY);
    CHECK(entries(s.home.fd, ".") == 1);
}

/* proves: FI8 */
TEST(a_foreign_file_is_never_replaced)
{
    AUTO(sender_done) struct sender s = sender_of(named);

    CHECK(put(s.out, "a", "theirs"));
    struct verdict v = sender_send(&s, "a", "ours");

    CHECK(v.kind == VERDICT_RETRY && strstr(v.message, "not replaced") != NULL);
    CHECK(sender_send(&s, "a", "OURS!!").kind == VERDICT_RETRY); /* as long as theirs */
    CHECK(holds(s.out, "a", "theirs") && entries(s.out, ".") == 1);
    CHECK(unlinkat(s.out, "a", 0) == 0 && mkdirat(s.out, "a", 0700) == 0);
    CHECK(sender_send(&s, "a", "ours").kind == VERDICT_RETRY);
    CHECK(unlinkat(s.out, "a", AT_REMOVEDIR) == 0 && entries(s.out, ".") == 0);
    CHECK(sender_send(&s, "a", "ours").kind == VERDICT_DELIVERED && holds(s.out, "a", "ours"));
}

/* ---- exists: replace ---- */

static const char replacing[] = ", name: '${name}', exists: replace";

/* proves: FI7 FI8 */
TEST(a_plain_file_is_replaced_at_once_when_it_may_be)
{
    AUTO(sender_done) struct sender s = sender_of(replacing);
    struct stat before, after;

    CHECK(put(s.out, "a", "theirs") && fstatat(s.out, "a", &before, 0) == 0);
    AUTO_FD reader = openat(s.out, "a", O_RDONLY);
    char bytes[10];

    CHECK(sender_send(&s, "a", "ours").kind == VERDICT_DELIVERED && holds(s.out, "a", "ours"));
    CHECK(fstatat(s.out, "a", &after, 0) == 0 && before.st_ino != after.st_ino);
    CHECK(read(reader, bytes, sizeof bytes) == 6 && memcmp(bytes, "theirs", 6) == 0);
    CHECK(sender_send_as(&s, "next", STR("a"), STR("newer")).kind == VERDICT_DELIVERED);
    CHECK(holds(s.out, "a", "newer") && entries(s.out, ".") == 1);
    /* A name that nobody has. */
    CHECK(sender_send(&s, "b", "ours").kind == VERDICT_DELIVERED && holds(s.out, "b", "ours"));
    /* A replay leaves its file as it is. */
    CHECK(fstatat(s.out, "b", &before, 0) == 0);
    CHECK(sender_send(&s, "b", "ours").kind == VERDICT_DELIVERED);
    CHECK(fstatat(s.out, "b", &after, 0) == 0 && before.st_ino == after.st_ino);
    CHECK(entries(s.out, ".") == 2);
}

/* proves: FI8 */
TEST(nothing_but_a_plain_file_is_replaced)
{
    AUTO(sender_done) struct sender s = sender_of(replacing);
    static const char *const names[] = { "folder", "full", "pipe", "link", "dangling" };

    CHECK(mkdirat(s.out, "folder", 0700) == 0 && mkdirat(s.out, "full", 0700) == 0);
    CHECK(put(s.out, "full/x", "x") && mkfifoat(s.out, "pipe", 0600) == 0);
    CHECK(put(s.home.fd, "target", "target") && symlinkat("../target", s.out, "link") == 0);
    CHECK(symlinkat("nowhere", s.out, "dangling") == 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct verdict v = sender_send(&s, names[i], "ours");
        struct stat st;

        CHECK(v.kind == VERDICT_RETRY && strstr(v.message, "not a plain file") != NULL);
        CHECK(fstatat(s.out, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode));
    }
    CHECK(holds(s.home.fd, "target", "target") && holds(s.out, "full/x", "x"));
    CHECK(entries(s.out, ".") == 5);
}

/* proves: FI9 */
TEST(a_replay_finds_its_own_file)
{
    AUTO(sender_done) struct sender s = sender_of(named);
    struct stat first, again_st;
    char owner[200];

    CHECK(sender_send(&s, "a", "bytes").kind == VERDICT_DELIVERED);
    CHECK(fstatat(s.out, "a", &first, 0) == 0);
    CHECK(sender_send(&s, "a", "bytes").kind == VERDICT_DELIVERED);
    CHECK(fstatat(s.out, "a", &again_st, 0) == 0 && first.st_ino == again_st.st_ino);
    CHECK(entries(s.out, ".") == 1);
    /* Other bytes under the same delivery are not its file. */
    CHECK(sender_send(&s, "a", "BYTES").kind == VERDICT_RETRY && holds(s.out, "a", "bytes"));
    AUTO_FD fd = openat(s.out, "a", O_RDWR);

    if (fgetxattr(fd, "user.waybill.delivery", owner, sizeof owner) > 0) {
        /* Equal bytes of another delivery are another document. */
        CHECK(sender_send_as(&s, "other", STR("a"), STR("bytes")).kind == VERDICT_RETRY);
        CHECK(fremovexattr(fd, "user.waybill.delivery") == 0);
    }
    CHECK(sender_send(&s, "a", "bytes").kind == VERDICT_DELIVERED); /* the bytes tell */
}

static struct verdict ask_as(struct sender *s, const char *delivery, const char *name,
                             const char *bytes)
{
    static const struct facts facts = { .sender = { "acme", 4 } };
    struct sending sending = { .document = STR(DOCUMENT),
                               .delivery = str_of(delivery),
                               .facts = &facts,
                               .name = str_of(name),
                               .gateway = STR("drop"),
                               .endpoint = STR("archive"),
                               .received_us = INT64_C(1763175130) * CLOCK_S,
                               .size = (int64_t)strlen(bytes),
                               .bytes = str_of(bytes) };
    struct verdict v;

    endpoint_file.ask(s->self, &sending, NULL, &v);
    return v;
}

/* proves: DE9 */
TEST(a_file_that_was_sent_is_found_by_its_name_and_bytes)
{
    AUTO(sender_done) struct sender s = sender_of(", name: 'sub/${name}'");
    char owner[200];

    CHECK(ask_as(&s, DELIVERY, "a", "bytes").kind == VERDICT_RETRY); /* its folder is not there */
    CHECK(entries(s.out, ".") == 0);                                 /* nothing is made */
    CHECK(sender_send(&s, "a", "bytes").kind == VERDICT_DELIVERED);
    CHECK(ask_as(&s, DELIVERY, "a", "bytes").kind == VERDICT_DELIVERED);
    CHECK(sender_make(&s, named));
    CHECK(ask_as(&s, DELIVERY, "a", "bytes").kind == VERDICT_RETRY); /* it is not there */
    CHECK(sender_send(&s, "a", "bytes").kind == VERDICT_DELIVERED);
    struct verdict v = ask_as(&s, DELIVERY, "a", "bytes");

    CHECK(v.kind == VERDICT_DELIVERED && strstr(v.message, "a is there with these bytes") != NULL);
    CHECK(ask_as(&s, DELIVERY, "a", "BYTES").kind == VERDICT_RETRY);
    CHECK(ask_as(&s, DELIVERY, "a", "byte").kind == VERDICT_RETRY);
    CHECK(ask_as(&s, DELIVERY, "../a", "bytes").kind == VERDICT_FAILED);
    AUTO_FD fd = openat(s.out, "a", O_RDONLY);

    if (fgetxattr(fd, "user.waybill.delivery", owner, sizeof owner) > 0)
        CHECK(ask_as(&s, "other", "a", "bytes").kind == VERDICT_RETRY);
    CHECK(put(s.out, "empty", "") && ask_as(&s, DELIVERY, "empty", "").kind == VERDICT_DELIVERED);
    CHECK(renameat(s.home.fd, "out", s.home.fd, "away") == 0);
    CHECK(ask_as(&s, DELIVERY, "a", "bytes").kind == VERDICT_UNREACHED);
}

/* Another document that has the name was there before, or came since: nobody can tell. */
TEST(a_file_that_may_have_been_replaced_stays_in_doubt)
{
    AUTO(sender_done) struct sender s = sender_of(replacing);

    CHECK(ask_as(&s, DELIVERY, "a", "bytes").kind == VERDICT_RETRY); /* nothing is there */
    CHECK(sender_send(&s, "a", "bytes").kind == VERDICT_DELIVERED);
    CHECK(ask_as(&s, DELIVERY, "a", "bytes").kind == VERDICT_DELIVERED);
    CHECK(sender_send_as(&s, "next", STR("a"), STR("newer")).kind == VERDICT_DELIVERED);
    struct verdict v = ask_as(&s, DELIVERY, "a", "bytes");

    CHECK(v.kind == VERDICT_DOUBT && strstr(v.message, "replaced since") != NULL);
}

/* proves: FI12 */
TEST(a_folder_that_is_gone_is_not_made_again)
{
    AUTO(sender_done) struct sender s = sender_of(named);

    CHECK(sender_send(&s, "before", "x").kind == VERDICT_DELIVERED); /* it is known now */
    CHECK(renameat(s.home.fd, "out", s.home.fd, "unmounted") == 0);
    struct verdict v = sender_send(&s, "a", "x");

    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "/out") != NULL);
    CHECK(faccessat(s.home.fd, "out", F_OK, 0) < 0);
    CHECK(mkdirat(s.home.fd, "out", 0700) == 0); /* an empty mount point */
    v = sender_send(&s, "a", "x");
    CHECK(v.kind == VERDICT_STRANGE && strstr(v.message, "mounted") != NULL);
    CHECK(entries(s.home.fd, "out") == 0);
    CHECK(unlinkat(s.home.fd, "out", AT_REMOVEDIR) == 0);
    CHECK(renameat(s.home.fd, "unmounted", s.home.fd, "out") == 0);
    CHECK(sender_send(&s, "a", "x").kind == VERDICT_DELIVERED);
}

/* proves: FI12 */
TEST(a_folder_that_may_not_be_written_is_waited_for)
{
    AUTO(sender_done) struct sender s = sender_of(named);

    CHECK(sender_send(&s, "before", "x").kind == VERDICT_DELIVERED);
    CHECK(fchmod(s.out, 0500) == 0);
    (void)setfsuid(65534); /* root may write everywhere; for others it changes nothing */
    struct verdict v = sender_send(&s, "a", "x");

    (void)setfsuid(geteuid());
    CHECK(fchmod(s.out, 0700) == 0);
    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "ermission denied") != NULL);
    CHECK(entries(s.out, ".") == 1);
    CHECK(sender_send(&s, "a", "x").kind == VERDICT_DELIVERED);
}

/* proves: FI12 */
TEST(a_file_that_finds_no_room_leaves_nothing)
{
    AUTO(sender_done) struct sender s = sender_of(named);
    struct rlimit before, small;
    char bytes[20000];

    memset(bytes, 'b', sizeof bytes - 1);
    bytes[sizeof bytes - 1] = '\0';
    (void)signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = (struct rlimit){ .rlim_cur = 10000, .rlim_max = before.rlim_max };
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    struct verdict v = sender_send(&s, "a", bytes);

    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(v.kind == VERDICT_RETRY && entries(s.out, ".") == 0);
    CHECK(sender_send(&s, "a", bytes).kind == VERDICT_DELIVERED && holds(s.out, "a", bytes));
}

/* ---- large bodies ---- */

struct pieces {
    int left;
    enum err_kind fails; /* after the last piece */
    _Atomic bool *stop;
};

static bool next_piece(void *arg, struct str *ret, struct err *err)
{
    struct pieces *p = arg;

    if (p->left == 0 && p->fails != ERR_NONE)
        return err_set(err, p->fails, 0, "the payload is damaged");
    *ret = p->left > 0 ? STR("0123456789") : STR("");
    p->left -= p->left > 0;
    if (p->stop != NULL)
        *p->stop = true;
    return true;
}

static enum verdict_kind send_pieces(struct sender *s, struct pieces p, int64_t size)
{
    static const struct facts facts = { 0 };
    _Atomic bool stop = false;
    struct call call = { .stop = &stop };
    struct sending sending = { .document = STR(DOCUMENT),
                               .delivery = STR(DELIVERY),
                               .facts = &facts,
                               .name = STR("large"),
                               .size = size,
                               .next = next_piece,
                               .next_arg = &p };
    struct verdict v;

    if (p.stop != NULL)
        p.stop = &stop;
    endpoint_file.send(s->self, &sending, &call, &v);
    return v.kind;
}

TEST(a_large_document_comes_in_pieces)
{
    AUTO(sender_done) struct sender s = sender_of(named);
    _Atomic bool stop;
    struct stat st;

    CHECK(send_pieces(&s, (struct pieces){ 3, ERR_PERMANENT, NULL }, 100) == VERDICT_FAILED);
    CHECK(send_pieces(&s, (struct pieces){ 3, ERR_TRANSIENT, NULL }, 100) == VERDICT_RETRY);
    CHECK(send_pieces(&s, (struct pieces){ 3, ERR_NONE, NULL }, 100) == VERDICT_FAILED);
    CHECK(send_pieces(&s, (struct pieces){ 10, ERR_NONE, &stop }, 100) == VERDICT_RETRY);
    CHECK(entries(s.out, ".") == 0);
    CHECK(send_pieces(&s, (struct pieces){ 10, ERR_NONE, NULL }, 100) == VERDICT_DELIVERED);
    CHECK(send_pieces(&s, (struct pieces){ 10, ERR_NONE, NULL }, 100) == VERDICT_DELIVERED);
    CHECK(fstatat(s.out, "large", &st, 0) == 0 && st.st_size == 100 && entries(s.out, ".") == 1);
}

/* ---- readers ---- */

enum { WATCHED = 300000, ROUNDS = 60 };

struct watcher {
    int dirfd;
    _Atomic bool stop;
    _Atomic int whole, torn;
};

static void *watch(void *arg)
{
    struct watcher *w = arg;

    while (!w->stop) {
        int fd = openat(w->dirfd, "seen", O_RDONLY);
        struct stat st;

        if (fd < 0)
            continue;
        if (fstat(fd, &st) == 0 && st.st_size == WATCHED)
            w->whole++;
        else
            w->torn++;
        (void)close(fd);
        (void)unlinkat(w->dirfd, "seen", 0);
    }
    return NULL;
}

/* proves: FI7 */
TEST(a_reader_never_sees_half_a_file)
{
    AUTO(sender_done) struct sender s = sender_of(", name: seen");
    struct watcher w = { .dirfd = s.out };
    static char bytes[WATCHED];
    pthread_t thread;
    int sent = 0;

    memset(bytes, 's', sizeof bytes);
    CHECK(pthread_create(&thread, NULL, watch, &w) == 0);
    for (int i = 0; i < ROUNDS; i++)
        sent += sender_send_as(&s, DELIVERY, STR(""), str_mem(bytes, WATCHED)).kind ==
                VERDICT_DELIVERED;
    for (int i = 0; i < 2000 && faccessat(s.out, "seen", F_OK, 0) == 0; i++)
        clock_sleep_us(1000);
    w.stop = true;
    (void)pthread_join(thread, NULL);
    CHECK(sent > 0 && w.torn == 0 && w.whole > 0);
}

/* ---- after a crash ---- */

static char body[200001];

static const char *big_body(void)
{
    for (size_t i = 0; i < sizeof body - 1; i++)
        body[i] = (char)('a' + i % 23);
    return body;
}

/* In a process that is killed on its way. */
static int play(const char *home, const char *options)
{
    struct sender s = { .arena = ARENA_INIT(256 << 20), .out = -1 };

    (void)snprintf(s.home.path, sizeof s.home.path, "%s", home);
    s.home.fd = open(home, O_RDONLY | O_DIRECTORY);
    if (!sender_make(&s, options))
        return 1;
    return sender_send(&s, "a", big_body()).kind != VERDICT_DELIVERED;
}

#ifdef WAYBILL_FAULTS
/* proves: FI5 FI9 */
TEST(a_crash_leaves_no_half_file)
{
    static const struct {
        const char *fault;
        bool published;
    } cases[] = { { "file.writing:kill:1", false },
                  { "file.writing:kill:3", false },
                  { "file.staged:kill", false },
                  { "file.named:kill", true } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int recovers = 0; recovers < 2; recovers++) {
            AUTO(sender_done) struct sender s = sender_of(", name: 'sub/${name}'");

            CHECK(again("publish", cases[i].fault, s.home.path).signal == SIGKILL);
            CHECK(holds(s.out, "sub/a", big_body()) == cases[i].published);
            CHECK(entries(s.out, "sub") == 1); /* the file, or what was begun */
            CHECK(sender_make(&s, ", name: 'sub/${name}'"));
            if (recovers) {
                endpoint_file.recover(s.self, NULL);
                CHECK(entries(s.out, "sub") == cases[i].published);
            }
            CHECK(sender_send(&s, "a", big_body()).kind == VERDICT_DELIVERED);
            CHECK(holds(s.out, "sub/a", big_body()) && entries(s.out, "sub") == 1);
        }
}

/* proves: FI5 */
TEST(a_crash_leaves_the_old_file_or_the_new_one)
{
    static const struct {
        const char *fault;
        bool replaced;
    } cases[] = { { "file.writing:kill:1", false },
                  { "file.writing:kill:3", false },
                  { "file.staged:kill", false },
                  { "file.named:kill", true } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(sender_done) struct sender s = sender_of(replacing);

        CHECK(put(s.out, "a", "yesterday's"));
        CHECK(again("replace", cases[i].fault, s.home.path).signal == SIGKILL);
        CHECK(holds(s.out, "a", cases[i].replaced ? big_body() : "yesterday's"));
        CHECK(sender_make(&s, replacing));
        CHECK(sender_send(&s, "a", big_body()).kind == VERDICT_DELIVERED);
        CHECK(holds(s.out, "a", big_body()) && entries(s.out, ".") == 1);
    }
}
#endif

/* proves: FI9 */
TEST(only_left_overs_of_ours_are_removed)
{
    AUTO(sender_done) struct sender s = sender_of(named);
    static const char *const keep[] = { ".part",      ".x.part",
                                        "a.part",     "." DOCUMENT ".x.tmp",
                                        ".0123.part", "." DOCUMENT ".archive" };
    const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
    static const char left[] = "." DELIVERY ".part",
                      append[] = ".0123456789abcdef0123456789abcdef.part";

    CHECK(mkdirat(s.out, "sub", 0700) == 0 && symlinkat("/", s.out, "way") == 0);
    for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++)
        CHECK(put(s.out, keep[i], "x") && utimensat(s.out, keep[i], old, 0) == 0);
    clock_sleep_us(20 * CLOCK_MS); /* the clock that stamps files goes in ticks, behind ours */
    CHECK(put(s.out, left, "x") && put(s.out, append, "x"));
    endpoint_file.recover(s.self, NULL);
    CHECK(faccessat(s.out, left, F_OK, 0) == 0); /* younger than the endpoint */
    CHECK(utimensat(s.out, left, old, 0) == 0 && utimensat(s.out, append, old, 0) == 0);
    AUTO_FD fd = openat(s.out, left, O_RDWR);

    CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0);
    endpoint_file.recover(s.self, NULL);
    CHECK(faccessat(s.out, left, F_OK, 0) == 0); /* somebody is writing it */
    struct verdict v = sender_send(&s, "a", "x");

    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "an earlier attempt") != NULL);
    CHECK(faccessat(s.out, left, F_OK, 0) == 0);
    CHECK(flock(fd, LOCK_UN) == 0);
    endpoint_file.recover(s.self, NULL);
    CHECK(faccessat(s.out, left, F_OK, 0) < 0 && faccessat(s.out, append, F_OK, 0) < 0);
    for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++)
        CHECK(faccessat(s.out, keep[i], F_OK, 0) == 0);
}

/* A left-over that is the published file by another name is not written into. */
TEST(a_left_over_with_two_names_is_let_go)
{
    AUTO(sender_done) struct sender s = sender_of(named);

    CHECK(put(s.out, "other", "published"));
    CHECK(linkat(s.out, "other", s.out, "." DELIVERY ".part", 0) == 0);
    CHECK(sender_send(&s, "a", "bytes").kind == VERDICT_DELIVERED);
    CHECK(holds(s.out, "a", "bytes") && holds(s.out, "other", "published"));
    CHECK(entries(s.out, ".") == 2);
}

TEST(a_call_that_was_given_up_has_no_effect)
{
    AUTO(sender_done) struct sender s = sender_of("");
    struct sending sending = sending_of(DELIVERY, STR("x"), STR("late"));
    struct call call = { 0 };
    struct verdict v;

    CHECK(!call_give_up(&call)); /* nothing was committed, so nothing was sent ... */
    endpoint_file.send(s.self, &sending, &call, &v);
    CHECK(v.kind == VERDICT_RETRY && strstr(v.message, "given up") != NULL);
    CHECK(entries(s.home.fd, "out") == 0); /* ... and nothing will be */

    call = (struct call){ 0 };
    endpoint_file.send(s.self, &sending, &call, &v);
    CHECK(v.kind == VERDICT_DELIVERED && call_give_up(&call)); /* from then on it is unclear */
}

int main(int argc, char **argv)
{
    const char *scene = again_scene(argc, argv);

    if (scene != NULL)
        _exit(play(argv[2], strcmp(scene, "replace") == 0 ? replacing : ", name: 'sub/${name}'"));
    return test_main();
}
