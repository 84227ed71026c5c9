/* proves: QC4 */
#include "store/road/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static int fresh_folder(void)
{
    char name[] = "/tmp/recorder.XXXXXX";

    return open(mkdtemp(name), O_RDONLY | O_DIRECTORY);
}

static const struct task task = { .id = 7, .queue = 1, .prio = 4, .rank = 1234 };

/* A child that marks a task and dies of `sig`. */
static void die_of(int dir, int sig, bool alone)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit none = { 0 };
        struct recorder *r;
        struct err err = { 0 };

        (void)setrlimit(RLIMIT_CORE, &none);
        if (!recorder_open(dir, &r, &err))
            _exit(1);
        recorder_watch_signals(r);
        recorder_mark(r, 3, &task, alone);
        recorder_mark(r, 4, &task, false);
        recorder_clear(r, 4);
        (void)raise(sig);
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
}

TEST(recorder_tells_what_ran_when_the_process_crashed)
{
    static const struct {
        int sig;
        bool alone;
        size_t suspects;
    } cases[] = {
        { SIGABRT, false, 1 }, { SIGABRT, true, 1 },
        { SIGSEGV, true, 1 },  { SIGKILL, true, 0 }, /* somebody else's doing never counts */
        { SIGTERM, true, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int dir = fresh_folder();
        struct suspect got[RECORDER_SLOTS];
        struct recorder *r;
        struct err err = { 0 };

        die_of(dir, cases[i].sig, cases[i].alone);
        CHECK(recorder_open(dir, &r, &err));
        CHECK(recorder_suspects(r, got) == cases[i].suspects);
        if (cases[i].suspects == 1) {
            CHECK(got[0].task.id == 7 && got[0].task.queue == 1 && got[0].task.rank == 1234);
            CHECK(got[0].alone == cases[i].alone);
            recorder_drop_suspect(r, 8);
            CHECK(recorder_suspects(r, got) == 1);
            recorder_drop_suspect(r, 7);
            CHECK(recorder_suspects(r, got) == 0);
        }
        recorder_close(r);
        CHECK(recorder_open(dir, &r, &err));
        CHECK(recorder_suspects(r, got) == 0); /* told once */
        recorder_close(r);
        (void)close(dir);
    }
}

struct other {
    struct recorder *recorder;
    pthread_barrier_t ready;
};

static void *wait_for_the_network(void *arg)
{
    struct other *o = arg;

    recorder_mark(o->recorder, 5, &(struct task){ .id = 8, .queue = 2 }, true);
    (void)pthread_barrier_wait(&o->ready);
    for (;;)
        (void)pause();
    return NULL;
}

/* A child in which one thread waits in a marked send and another, marked or not, crashes; or a
 * signal comes from outside. */
static void crash_beside(int dir, bool marked, bool outside)
{
    (void)fflush(stdout); /* or a sanitizer that reports the crash writes it once more */
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit none = { 0 };
        struct other other;
        struct err err = { 0 };
        pthread_t thread;

        (void)setrlimit(RLIMIT_CORE, &none);
        if (!recorder_open(dir, &other.recorder, &err))
            _exit(1);
        recorder_watch_signals(other.recorder);
        (void)pthread_barrier_init(&other.ready, NULL, 2);
        (void)pthread_create(&thread, NULL, wait_for_the_network, &other);
        (void)pthread_barrier_wait(&other.ready);
        if (marked)
            recorder_mark(other.recorder, 3, &task, false);
        if (outside)
            (void)kill(getpid(), SIGSEGV);
        else
            abort();
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
}

TEST(recorder_suspects_no_bystanders)
{
    static const struct {
        bool marked, outside;
        size_t suspects;
    } cases[] = { { true, false, 1 }, { false, false, 0 }, { true, true, 0 } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int dir = fresh_folder();
        struct suspect got[RECORDER_SLOTS];
        struct recorder *r;
        struct err err = { 0 };

        crash_beside(dir, cases[i].marked, cases[i].outside);
        CHECK(recorder_open(dir, &r, &err));
        CHECK(recorder_suspects(r, got) == cases[i].suspects);
        CHECK(cases[i].suspects == 0 || got[0].task.id == task.id);
        recorder_close(r);
        (void)close(dir);
    }
}

int main(void)
{
    return test_main();
}
