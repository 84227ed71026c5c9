#include "store/road/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/require.h"

#define MAGIC UINT64_C(0x3152454352594257)

struct entry {
    int64_t id, queue, prio, rank, alone, thread, unused[2];
};

struct page {
    uint64_t magic, crashed, running, culprit, unused[4];
    struct entry entries[RECORDER_SLOTS];
};

_Static_assert(sizeof(struct page) == 4096, "one page");

struct recorder {
    struct page *page;
    struct suspect suspects[RECORDER_SLOTS];
    size_t suspect_count;
    bool unclean;
};

static struct page *watched; /* for the signal handler */

static int64_t this_thread(void)
{
    return (int64_t)(uintptr_t)pthread_self();
}

static void read_predecessor(struct recorder *r)
{
    const struct page *p = r->page;

    r->unclean = p->magic == MAGIC && p->running != 0;
    if (p->magic != MAGIC || p->crashed == 0 || p->culprit == 0 || p->culprit > RECORDER_SLOTS)
        return;
    const struct entry *e = &p->entries[p->culprit - 1];

    if (e->id != 0)
        r->suspects[r->suspect_count++] = (struct suspect){
            .task = { .id = e->id, .queue = e->queue, .prio = e->prio, .rank = e->rank },
            .alone = e->alone != 0
        };
}

bool recorder_open(int data_fd, struct recorder **ret, struct err *err)
{
    AUTO_FD fd = openat(data_fd, "recorder", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct recorder *r;
    void *page;

    if (fd < 0)
        return err_set(err, ERR_CONFIG, errno, "open recorder: %s", strerror(errno));
    /* Allocate the block: on a full disk the first write to a mapped hole raises SIGBUS. */
    int rc = posix_fallocate(fd, 0, sizeof(struct page));

    if (rc != 0)
        return err_set(err, file_err_kind(rc), rc, "make recorder: %s", strerror(rc));
    page = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return err_set(err, ERR_CONFIG, errno, "map recorder: %s", strerror(errno));
    r = NEW(struct recorder);
    r->page = page;
    read_predecessor(r);
    memset(page, 0, sizeof(struct page));
    r->page->magic = MAGIC;
    r->page->running = 1;
    (void)msync(page, sizeof(struct page), MS_SYNC); /* best effort, for a power cut */
    *ret = r;
    return true;
}

void recorder_close(struct recorder *r)
{
    if (r == NULL)
        return;
    if (watched == r->page)
        watched = NULL;
    r->page->running = 0;
    (void)munmap(r->page, sizeof(struct page));
    free(r);
}

bool recorder_unclean(const struct recorder *r)
{
    return r->unclean;
}

size_t recorder_suspects(const struct recorder *r, struct suspect *ret)
{
    memcpy(ret, r->suspects, r->suspect_count * sizeof *ret);
    return r->suspect_count;
}

void recorder_drop_suspect(struct recorder *r, int64_t id)
{
    for (size_t i = 0; i < r->suspect_count; i++)
        if (r->suspects[i].task.id == id)
            r->suspects[i--] = r->suspects[--r->suspect_count];
}

void recorder_mark(struct recorder *r, size_t slot, const struct task *t, bool alone)
{
    struct entry *e = &r->page->entries[slot];

    require(slot < RECORDER_SLOTS && t->id != 0);
    e->queue = t->queue;
    e->prio = t->prio;
    e->rank = t->rank;
    e->alone = alone;
    __atomic_store_n(&e->thread, this_thread(), __ATOMIC_RELAXED);
    __atomic_store_n(&e->id, t->id, __ATOMIC_RELEASE);
}

void recorder_clear(struct recorder *r, size_t slot)
{
    require(slot < RECORDER_SLOTS);
    __atomic_store_n(&r->page->entries[slot].id, 0, __ATOMIC_RELEASE);
}

/* The signal of a crash runs on the thread that crashed.  SA_RESETHAND has removed the handler, so
 * raise() ends the process as without a handler. */
static void on_fatal(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (watched != NULL && info->si_code != SI_USER) { /* else somebody else sent it */
        int64_t thread = this_thread();

        for (size_t i = 0; i < RECORDER_SLOTS; i++)
            if (__atomic_load_n(&watched->entries[i].id, __ATOMIC_ACQUIRE) != 0 &&
                __atomic_load_n(&watched->entries[i].thread, __ATOMIC_RELAXED) == thread)
                watched->culprit = i + 1;
        watched->crashed = (uint64_t)sig;
    }
    (void)raise(sig);
}

void recorder_watch_signals(struct recorder *r)
{
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    struct sigaction a = { .sa_sigaction = on_fatal, .sa_flags = (int)SA_RESETHAND | SA_SIGINFO };

    watched = r->page;
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        (void)sigaction(fatal[i], &a, NULL);
}
