#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "folder.h"

/* ---- a reader at the other end of a pipe ---- */

struct reader {
    int fd[2]; /* read end, write end */
    pthread_t thread;
    struct buf got;
};

static void *read_all(void *arg)
{
    struct reader *r = arg;
    char block[4096];

    for (ssize_t n; (n = read(r->fd[0], block, sizeof block)) > 0;)
        buf_put(&r->got, str_mem(block, (size_t)n));
    return NULL;
}

static void reader_open(struct reader *r)
{
    *r = (struct reader){ .got = BUF_INIT(64 << 20) };
    if (pipe(r->fd) < 0)
        exit(1);
}

static void reader_begin(struct reader *r)
{
    if (pthread_create(&r->thread, NULL, read_all, r) != 0)
        exit(1);
}

static struct str reader_end(struct reader *r)
{
    (void)close(r->fd[1]);
    (void)pthread_join(r->thread, NULL);
    (void)close(r->fd[0]);
    return buf_view(&r->got);
}

static json_t *next_line(struct str *text)
{
    struct str line;

    *text = str_cut(*text, '\n', &line);
    return json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES, NULL);
}

static const char *get(json_t *j, const char *key)
{
    const char *z = json_string_value(json_object_get(j, key));

    return z != NULL ? z : "(none)";
}

/* ---- lines ---- */

TEST(log_line_has_its_fields_with_their_types)
{
    struct reader r;

    reader_open(&r);
    reader_begin(&r);
    log_start(r.fd[1]);
    log_event(LOG_WARN, "test.typed", kv_int("int", INT64_MIN), kv_bool("yes", true),
              kv_bool("no", false), kv_z("text", "a b"), kv_str("part", str_mem("xyz", 2)),
              kv_str("none", STR("")));
    log_event(LOG_ERROR, "test.bare");
    log_stop();
    struct str text = reader_end(&r);
    json_t *j = next_line(&text);

    CHECK(j != NULL && json_object_size(j) == 9);
    CHECK(strcmp(get(j, "level"), "warn") == 0 && strcmp(get(j, "event"), "test.typed") == 0);
    CHECK(strlen(get(j, "time")) == 27 && get(j, "time")[26] == 'Z');
    CHECK(json_integer_value(json_object_get(j, "int")) == INT64_MIN);
    CHECK(json_is_true(json_object_get(j, "yes")) && json_is_false(json_object_get(j, "no")));
    CHECK(strcmp(get(j, "text"), "a b") == 0 && strcmp(get(j, "part"), "xy") == 0);
    CHECK(strcmp(get(j, "none"), "") == 0);
    json_decref(j);
    j = next_line(&text);
    CHECK(j != NULL && json_object_size(j) == 3 && strcmp(get(j, "level"), "error") == 0);
    json_decref(j);
    CHECK(text.len == 0);
    buf_done(&r.got);
}

TEST(log_value_cannot_forge_a_line)
{
    struct reader r;
    char every[256];

    for (int i = 0; i < 256; i++)
        every[i] = (char)i;
    reader_open(&r);
    reader_begin(&r);
    log_start(r.fd[1]);
    log_event(LOG_INFO, "test.forge", kv_z("v", "x\"}\n{\"event\":\"forged\"}\n"));
    log_event(LOG_INFO, "test.forge", kv_str("v", str_mem(every, sizeof every)));
    log_stop();
    struct str text = reader_end(&r);
    json_t *j = next_line(&text);

    CHECK(j != NULL && strcmp(get(j, "v"), "x\"}\n{\"event\":\"forged\"}\n") == 0);
    json_decref(j);
    struct str line;

    text = str_cut(text, '\n', &line);
    CHECK(text.len == 0 && line.len > 0);
    for (size_t i = 0; i < line.len; i++)
        CHECK((unsigned char)line.ptr[i] >= 0x20);
    j = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, NULL);
    CHECK(j != NULL);
    json_decref(j);
    buf_done(&r.got);
}

TEST(log_long_values_are_cut_and_lines_have_an_end)
{
    static char most[3000], awkward[3000], euros[3000];
    struct reader r;

    memset(most, 'x', sizeof most);
    memset(awkward, 1, sizeof awkward); /* six bytes each, as JSON */
    for (size_t i = 0; i + 3 <= sizeof euros; i += 3)
        memcpy(euros + i, "\xe2\x82\xac", 3);
    struct str x = str_mem(most, sizeof most), bad = str_mem(awkward, sizeof awkward),
               euro = str_mem(euros, sizeof euros);

    reader_open(&r);
    reader_begin(&r);
    log_start(r.fd[1]);
    log_event(LOG_INFO, "test.long", kv_str("v", x), kv_str("e", euro),
              kv_str("w", str_mem(most, 2048)), kv_int("n", 1));
    log_event(LOG_INFO, "test.long", kv_str("a", bad), kv_str("b", bad), kv_str("c", x),
              kv_int("last", 7));
    log_event(LOG_INFO, "test.long", kv_str("k1", x), kv_str("k2", x), kv_str("k3", x),
              kv_str("k4", x), kv_str("k5", x), kv_str("k6", x), kv_str("k7", x), kv_str("k8", x),
              kv_str("k9", x), kv_int("last", 9));
    log_stop();
    struct str text = reader_end(&r);
    json_t *j = next_line(&text);

    CHECK(j != NULL && strlen(get(j, "v")) == 2048 && strlen(get(j, "w")) == 2048);
    CHECK(strlen(get(j, "e")) == 2046); /* no half of a character */
    CHECK(json_integer_value(json_object_get(j, "n")) == 1);
    json_decref(j);
    j = next_line(&text);
    CHECK(j != NULL && json_object_get(j, "a") != NULL && json_object_get(j, "b") == NULL);
    CHECK(json_integer_value(json_object_get(j, "last")) == 7);
    json_decref(j);
    CHECK(str_find(text, '\n') == (ptrdiff_t)text.len - 1 && text.len <= 16 << 10);
    j = next_line(&text);
    CHECK(j != NULL && json_integer_value(json_object_get(j, "last")) == 9);
    json_decref(j);
    buf_done(&r.got);
}

TEST(log_levels)
{
    CHECK(!log_wants(LOG_DEBUG) && log_wants(LOG_INFO));
    log_set_level(LOG_ERROR);
    CHECK(!log_wants(LOG_WARN) && log_wants(LOG_ERROR));
    log_set_level(LOG_INFO);
}

TEST(log_without_its_thread_writes_directly)
{
    struct reader r;
    char line[200] = "";

    reader_open(&r);
    log_start(r.fd[1]);
    log_stop();
    log_stop(); /* twice does no harm */
    log_event(LOG_INFO, "test.direct");
    CHECK(read(r.fd[0], line, sizeof line - 1) > 0 && strstr(line, "\"test.direct\"") != NULL);
    (void)close(r.fd[0]);
    (void)close(r.fd[1]);
    uint64_t before = log_dropped();

    log_event(LOG_INFO, "test.nowhere");
    CHECK(log_dropped() == before + 1);
}

/* ---- many threads ---- */

enum { THREADS = 8, EACH = 2000 };

static void *log_many(void *arg)
{
    static const char filler[] = "0123456789012345678901234567890123456789";

    for (int i = 0; i < EACH; i++)
        log_event(LOG_INFO, "test.many", kv_int("thread", *(int *)arg), kv_int("i", i),
                  kv_str("filler", str_mem(filler, (size_t)i % 40)));
    return NULL;
}

TEST(log_many_threads_give_whole_lines)
{
    struct reader r;
    pthread_t t[THREADS];
    int name[THREADS];
    uint64_t before = log_dropped();
    int next[THREADS] = { 0 }, lines = 0;

    reader_open(&r);
    reader_begin(&r);
    log_start(r.fd[1]);
    for (int i = 0; i < THREADS; i++) {
        name[i] = i;
        CHECK(pthread_create(&t[i], NULL, log_many, &name[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(t[i], NULL);
    log_stop();
    struct str text = reader_end(&r);

    CHECK(log_dropped() == before);
    for (; text.len > 0; lines++) { /* each thread's in its order */
        json_t *j = next_line(&text);

        CHECK(j != NULL);
        if (strcmp(get(j, "event"), "test.many") == 0) {
            int who = (int)json_integer_value(json_object_get(j, "thread"));

            CHECK(who >= 0 && who < THREADS);
            CHECK(json_integer_value(json_object_get(j, "i")) == next[who]++);
        } else {
            lines--; /* what an earlier test lost */
        }
        json_decref(j);
    }
    CHECK(lines == THREADS * EACH);
    buf_done(&r.got);
}

/* ---- a log that does not work ---- */

static char filler[2048];

static void log_kilobytes(int lines)
{
    struct str s = str_mem(filler, sizeof filler);

    memset(filler, 'f', sizeof filler);
    for (int i = 0; i < lines; i++)
        log_event(LOG_INFO, "test.full", kv_int("i", i), kv_str("a", s), kv_str("b", s));
}

TEST(log_that_blocks_stops_nothing_and_says_what_was_lost)
{
    enum { LINES = 3000 }; /* 12 MB: more than both halves of the ring */
    struct reader r;
    uint64_t before = log_dropped();
    int64_t from = clock_mono_us();
    int here = 0;
    int64_t last = -1, said = -1;

    reader_open(&r);
    log_start(r.fd[1]);
    log_kilobytes(LINES);
    CHECK(clock_mono_us() - from < 20 * (int64_t)CLOCK_S); /* nobody reads, it went on */
    uint64_t lost = log_dropped() - before;

    CHECK(lost > 500 && lost < LINES);
    reader_begin(&r);
    log_stop();
    struct str text = reader_end(&r);

    while (text.len > 0) {
        json_t *j = next_line(&text);

        CHECK(j != NULL);
        if (strcmp(get(j, "event"), "log.drop") == 0) {
            CHECK(said == -1 && strcmp(get(j, "level"), "warn") == 0);
            said = json_integer_value(json_object_get(j, "count"));
        } else {
            CHECK(json_integer_value(json_object_get(j, "i")) > last);
            last = json_integer_value(json_object_get(j, "i"));
            here++;
        }
        json_decref(j);
    }
    CHECK(here + (int)lost == LINES);
    CHECK(said >= (int64_t)lost); /* and those that earlier tests lost */
    buf_done(&r.got);
}

TEST(log_that_fails_stops_nothing)
{
    for (int i = 0; i < 3; i++) {
        struct reader r;
        uint64_t before = log_dropped();
        AUTO_FD full = open("/dev/full", O_WRONLY);
        int64_t from = clock_mono_us();

        reader_open(&r);
        (void)close(r.fd[0]);
        log_start(i == 0 ? full : i == 1 ? r.fd[1] : 9999); /* no space, nobody there, no file */
        log_kilobytes(300);
        log_stop();
        CHECK(clock_mono_us() - from < 5 * (int64_t)CLOCK_S);
        CHECK(log_dropped() - before == 300);
        (void)close(r.fd[1]);
    }
}

TEST(log_waits_for_a_descriptor_that_is_not_ready)
{
    enum { LINES = 150 }; /* more than a pipe holds; the log waits for a second */
    struct reader r;
    uint64_t before = log_dropped();
    int lines = 0;

    reader_open(&r);
    CHECK(fcntl(r.fd[1], F_SETFL, O_NONBLOCK) == 0);
    log_start(r.fd[1]);
    log_kilobytes(LINES);
    reader_begin(&r);
    log_stop();
    struct str text = reader_end(&r);

    for (; text.len > 0; lines++) {
        json_t *j = next_line(&text);

        CHECK(j != NULL);
        lines -= strcmp(get(j, "event"), "log.drop") == 0;
        json_decref(j);
    }
    CHECK(lines == LINES && log_dropped() == before);
    buf_done(&r.got);
}

TEST(log_line_that_was_torn_does_not_spoil_the_next)
{
    AUTO(folder_done) struct folder f = folder_make();
    AUTO_FD fd = openat(f.fd, "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct rlimit was, now;
    uint64_t before = log_dropped();
    AUTO(buf_done) struct buf got = BUF_INIT(1 << 20);
    struct err err = { 0 };
    int torn = 0, whole = 0, notices = 0;

    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit(RLIMIT_FSIZE, &was);
    now = was;
    now.rlim_cur = 10000; /* room for two lines and a half */
    log_start(fd);
    (void)setrlimit(RLIMIT_FSIZE, &now);
    log_kilobytes(5);
    for (int i = 0; i < 1000 && log_dropped() - before < 3; i++)
        clock_sleep_us(1000);
    (void)setrlimit(RLIMIT_FSIZE, &was);
    CHECK(log_dropped() - before == 3);
    log_kilobytes(2);
    log_stop();
    CHECK(file_read_whole(f.fd, "log", &got, &err));
    for (struct str text = buf_view(&got); text.len > 0;) {
        json_t *j = next_line(&text);

        torn += j == NULL;
        whole += strcmp(get(j, "event"), "test.full") == 0;
        notices += strcmp(get(j, "event"), "log.drop") == 0;
        json_decref(j);
    }
    CHECK(whole == 4 && torn == 1 && notices == 1);
}

TEST(log_stop_with_a_log_that_hangs_returns)
{
    struct reader r;
    int64_t from, took;

    reader_open(&r);
    log_start(r.fd[1]);
    log_kilobytes(100);
    from = clock_mono_us();
    log_stop();
    took = clock_mono_us() - from;
    CHECK(took > 900 * CLOCK_MS && took < 1900 * CLOCK_MS);
    from = clock_mono_us();
    log_kilobytes(100); /* does not wait for it either */
    CHECK(clock_mono_us() - from < 900 * CLOCK_MS);
    (void)close(r.fd[0]); /* now it ends */
    from = clock_mono_us();
    log_stop();
    CHECK(clock_mono_us() - from < 900 * CLOCK_MS);
    (void)close(r.fd[1]);
}

static void *stop_it(void *arg)
{
    (void)arg;
    log_event(LOG_ERROR, "test.stop");
    log_stop();
    return NULL;
}

TEST(log_stop_from_many_threads)
{
    for (int round = 0; round < 20; round++) {
        struct reader r;
        pthread_t t[4];

        reader_open(&r);
        reader_begin(&r);
        log_start(r.fd[1]);
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&t[i], NULL, stop_it, NULL) == 0);
        for (int i = 0; i < 4; i++)
            (void)pthread_join(t[i], NULL);
        struct str text = reader_end(&r);
        int lines = 0;

        for (; text.len > 0; lines++)
            json_decref(next_line(&text));
        CHECK(lines >= 4); /* maybe one about what earlier tests lost */
        buf_done(&r.got);
    }
}

TEST(log_drops_are_a_metric)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    char want[100];

    metrics_print(&text);
    (void)snprintf(want, sizeof want, "\nwaybill_log_dropped_total %llu\n",
                   (unsigned long long)log_dropped());
    CHECK(strstr(text.ptr, want) != NULL);
}

int main(void)
{
    return test_main();
}
