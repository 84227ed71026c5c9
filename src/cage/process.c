#include "cage/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/require.h"
#include "cage/keeper.h"
#include "cage/lock.h"
#include "cage/process_end.h"
#include "cage/progress.h"
#include "cage/talk.h"

enum {
    IN_ROOM = FRAME_WHOLE_MOST * 2,
    START_US = 60 * CLOCK_S, /* a start takes milliseconds, and much longer on a busy machine */
    LOOKS = 8,               /* how often the time of a document is looked at ... */
    LOOKS_SUSPECTED = 64,    /* ... of a step whose last document did not end */
    BUSY_TIMES = 10,         /* on a busy machine a document's time may last so much longer */
    STOP_LOOK_US = 200 * CLOCK_MS, /* how often it is asked whether to stop */
    LARGE_SHARES = 64              /* of time, that a document has on average at most: 1 GiB */
};

#define SIZE_MOST (INT64_C(1) << 40) /* a size beyond it has no more time */

struct process {
    int fd;
    struct leash leash;
    struct progress *page;
    clockid_t clock; /* its processor time */
    bool has_clock;
    int64_t served;
    bool deaf;    /* it has closed its end: nothing is sent any more */
    bool lowered; /* it runs only when nobody else does: see lower_slow() */
    int64_t looks;
    size_t at, len;
    char in[IN_ROOM];
};

/* ---- start ---- */

static struct progress *make_page(int *ret_fd)
{
    int fd = memfd_create("progress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *page = MAP_FAILED;

    /* Sealed: a page that the other side cuts off would be the end of this process. */
    if (fd >= 0 && ftruncate(fd, PROGRESS_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        page = mmap(NULL, PROGRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *ret_fd = fd;
    return page == MAP_FAILED ? NULL : page;
}

/* The process ends by itself when no document comes for so long. */
static void set_idle_limit(int fd)
{
    const struct timeval idle = { .tv_sec = PROCESS_IDLE_US / CLOCK_S };

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
}

/* mould NULL: the keeper executes it. */
static bool open_process(struct process *p, const struct process *mould, struct err *err)
{
    AUTO_FD page = -1;
    int ends[2];

    p->page = make_page(&page);
    if (p->page == NULL)
        return err_set(err, ERR_TRANSIENT, errno, "memfd_create: %s", strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "socketpair: %s", strerror(errno));
    p->fd = ends[0];
    set_idle_limit(ends[1]);
    bool started = mould == NULL ? keeper_start(KEEPER_CAGE, ends[1], page, &p->leash, err)
                                 : keeper_copy(mould->fd, ends[1], page, &p->leash, err);

    (void)close(ends[1]);
    if (started)
        p->has_clock = clock_getcpuclockid(p->leash.pid, &p->clock) == 0;
    return started;
}

static bool send_all(struct process *p, struct str bytes, int64_t until_us)
{
    while (bytes.len > 0) {
        ssize_t n = send(p->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd ready = { .fd = p->fd, .events = POLLOUT };
        int64_t left = until_us - clock_mono_us();

        if (n > 0)
            bytes = str_from(bytes, (size_t)n);
        else if (left <= 0 || (errno != EAGAIN && errno != EINTR))
            return false;
        else
            (void)poll(&ready, 1, (int)(left / CLOCK_MS) + 1);
    }
    return true;
}

static bool send_recipe(struct process *p, const struct cage_recipe *recipe,
                        const struct cage_limits *limits, bool mould, int64_t until_us)
{
    AUTO(buf_done) struct buf out = BUF_INIT(FRAME_WHOLE_MOST * 2);
    int64_t often = limits->share > 0 ? LARGE_SHARES : 1;
    const struct frame_setup setup = { .time_us = limits->time_us * often,
                                       .memory = limits->memory,
                                       .output = limits->output,
                                       .documents = PROCESS_DOCUMENTS_MOST,
                                       .mould = mould };
    struct str rest = recipe->options;
    size_t begun = frame_begin(&out, FRAME_SETUP);

    buf_put(&out, str_mem(&setup, sizeof setup));
    buf_put(&out, str_first(recipe->service, 200));
    frame_end(&out, begun, false);
    do {
        size_t n = rest.len < FRAME_BODY_MOST ? rest.len : FRAME_BODY_MOST;

        frame_put(&out, FRAME_RECIPE, n == rest.len, str_mem(rest.ptr, n));
        if (!send_all(p, buf_view(&out), until_us))
            return false;
        buf_clear(&out);
        rest = str_from(rest, n);
    } while (rest.len > 0);
    return true;
}

/* 0: it ended; -1: nothing came in time. */
static ssize_t receive(struct process *p, int64_t wait_us, short more)
{
    struct pollfd ready = { .fd = p->fd, .events = (short)(POLLIN | more) };
    int64_t ms = wait_us / CLOCK_MS + 1;

    if (p->at > 0) {
        memmove(p->in, p->in + p->at, p->len - p->at);
        p->len -= p->at;
        p->at = 0;
    }
    if (poll(&ready, 1, wait_us <= 0 ? 0 : (int)(ms < 60000 ? ms : 60000)) <= 0 ||
        (ready.revents & (POLLIN | POLLHUP | POLLERR)) == 0)
        return -1;
    ssize_t n = recv(p->fd, p->in + p->len, IN_ROOM - p->len, MSG_DONTWAIT);

    if (n > 0)
        p->len += (size_t)n;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : n < 0 ? 0 : n;
}

static enum frame_take next_frame(struct process *p, struct frame *ret)
{
    struct str rest = str_mem(p->in + p->at, p->len - p->at);
    enum frame_take got = frame_take(&rest, ret);

    p->at = p->len - rest.len;
    return got;
}

static bool await_ready(struct process *p, int64_t until_us, bool *ret_is_mould, struct err *err)
{
    struct verdict clean;
    struct frame f;

    for (enum frame_take got; (got = next_frame(p, &f)) != FRAME_TAKEN;) {
        int64_t left = until_us - clock_mono_us();

        if (got == FRAME_MALFORMED || left <= 0 || receive(p, left, 0) == 0)
            return err_set(err, ERR_TRANSIENT, 0, "the process did not start");
    }
    *ret_is_mould = f.kind == FRAME_READY && f.last;
    if (f.kind == FRAME_READY)
        return true;
    if (f.kind != FRAME_REFUSED)
        return err_set(err, ERR_TRANSIENT, 0, "the process did not start");
    f.body = str_first(f.body, sizeof err->text - 1);
    (void)verdict_say(&clean, VERDICT_FAILED, "%.*s", STR_ARG(f.body));
    return err_set(err, f.last ? ERR_CONFIG : ERR_TRANSIENT, 0, "%s", clean.message);
}

static struct process *process_new(void)
{
    struct process *p = xmalloc(sizeof *p);

    /* Without clearing `in`: pages that are not used take no memory. */
    p->fd = p->leash.fd = -1;
    p->page = NULL;
    p->has_clock = p->deaf = p->lowered = false;
    p->served = 0;
    p->looks = LOOKS;
    p->at = p->len = 0;
    return p;
}

static bool process_begun(struct process *p, bool ok, struct process **ret)
{
    if (ok)
        *ret = p;
    else
        process_free(p);
    return ok;
}

static bool execute_process(const struct cage_recipe *recipe, const struct cage_limits *limits,
                            bool mould, struct process **ret, bool *ret_is_mould, struct err *err)
{
    int64_t until_us = clock_mono_us() + START_US;
    struct process *p = process_new();
    bool ok = open_process(p, NULL, err);

    if (ok) {
        /* A process that ends while it is sent its recipe may have said why. */
        (void)send_recipe(p, recipe, limits, mould, until_us);
        ok = await_ready(p, until_us, ret_is_mould, err);
    }
    return process_begun(p, ok, ret);
}

bool process_start(const struct cage_recipe *recipe, const struct cage_limits *limits,
                   struct process **ret, struct err *err)
{
    bool is_mould;

    return execute_process(recipe, limits, false, ret, &is_mould, err);
}

bool process_start_mould(const struct cage_recipe *recipe, const struct cage_limits *limits,
                         struct process **ret, bool *ret_is_mould, struct err *err)
{
    return execute_process(recipe, limits, true, ret, ret_is_mould, err);
}

bool process_copy(const struct process *mould, struct process **ret, struct err *err)
{
    int64_t until_us = clock_mono_us() + START_US;
    struct process *p = process_new();
    bool is_mould;
    bool ok = open_process(p, mould, err) && await_ready(p, until_us, &is_mould, err);

    return process_begun(p, ok, ret);
}

void process_free(struct process *p)
{
    if (p == NULL)
        return;
    if (p->leash.fd >= 0)
        (void)leash_pull(&p->leash, NULL);
    if (p->fd >= 0)
        (void)close(p->fd);
    if (p->page != NULL)
        (void)munmap(p->page, PROGRESS_BYTES);
    free(p);
}

bool process_lasts(const struct process *p, size_t next)
{
    return !p->lowered && p->served + (int64_t)next <= PROCESS_DOCUMENTS_MOST;
}

enum { STATUS_MOST = 16 << 10 };

int64_t process_memory(const struct process *p)
{
    static const char label[] = "\nVmHWM:";
    AUTO(buf_done) struct buf text = BUF_INIT(STATUS_MOST);
    char path[64];
    struct err err = { 0 };
    uint64_t kib = 0;

    (void)snprintf(path, sizeof path, "/proc/%lld/status", (long long)p->leash.pid);
    if (!file_read_whole(AT_FDCWD, path, &text, &err))
        return 0;
    const char *at = strstr(text.ptr, label);

    if (at == NULL)
        return 0;
    struct str line = str_of(at + sizeof label - 1), number;

    (void)str_cut(line, '\n', &line);
    (void)str_cut(str_trim(line), ' ', &number);
    return str_to_u64(number, &kib) ? (int64_t)kib * 1024 : 0;
}

/* ---- time ---- */

struct stopwatch {
    const struct cage_limits *limits;
    size_t job;      /* whose time it is */
    int64_t from_us; /* by the clock, moved on by the time of the caller's io */
    int64_t cpu_us;  /* of the process, then */
    int64_t io_us;   /* of the conversation, at the last look */
};

/* 0 if the kernel does not tell. */
static int64_t process_cpu_us(const struct process *p)
{
    struct timespec t;

    if (!p->has_clock || clock_gettime(p->clock, &t) < 0)
        return 0;
    return t.tv_sec * (int64_t)CLOCK_S + t.tv_nsec / 1000;
}

/* The job that the process works on: among those that were sent and are not answered. */
static size_t current_job(const struct process *p, const struct talk *t)
{
    uint64_t begun = atomic_load_explicit(&p->page->begun, memory_order_acquire);
    int64_t nth = begun > INT64_MAX ? INT64_MAX : (int64_t)begun - p->served;
    size_t at = t->ended;

    /* The nth of those that really were sent. */
    for (size_t i = 0; i < t->sent; i++)
        if ((t->unsent >> i & 1) == 0) {
            if (nth-- <= 0)
                break;
            at = i > at ? i : at;
        }
    return at;
}

/* It has begun a document that is not answered. */
static bool process_works(const struct process *p, const struct talk *t)
{
    uint64_t begun = atomic_load_explicit(&p->page->begun, memory_order_acquire);
    uint32_t answered = t->ended == 0 ? 0 : ~t->unsent & (UINT32_MAX >> (32 - t->ended));

    return begun > (uint64_t)p->served + (unsigned)__builtin_popcount(answered);
}

static void watch_restart(struct stopwatch *w, const struct process *p, const struct talk *t,
                          int64_t now_us)
{
    w->job = current_job(p, t);
    w->from_us = now_us;
    w->cpu_us = process_cpu_us(p);
    w->io_us = t->io_us;
}

/* What a document may take; that of a large one goes by its size. */
static int64_t job_time(const struct cage_limits *l, const struct talk *t, size_t job)
{
    int64_t bytes = job < t->count ? t->jobs[job].io->size : 0;

    if (l->share == 0)
        return l->time_us;
    if (job == t->ended && t->answer.put > bytes)
        bytes = t->answer.put;
    if (bytes > SIZE_MOST)
        bytes = SIZE_MOST;
    return bytes > 0 ? l->time_us * (1 + bytes / l->share) : l->time_us;
}

/* The kernel does not interrupt a process at once for one that wakes up, whatever their nice
 * values: on all cores, loops would make every thread of the node wait for some milliseconds each
 * time. Whom SCHED_IDLE holds is interrupted at once.  It may starve on a busy machine, so it is
 * only for those that take long. */
static void lower_slow(struct process *p, int64_t cpu_us, int64_t time_us)
{
    if (p->lowered || cpu_us < time_us / p->looks)
        return;
    leash_lower(&p->leash);
    p->lowered = true;
}

/* How long to wait for the process before the next look; 0: its time is over. */
static int64_t watch_look(struct stopwatch *w, struct process *p, const struct talk *t)
{
    int64_t now_us = clock_mono_us(), look = w->limits->time_us / p->looks + 1;

    if (current_job(p, t) > w->job) /* an honest count never goes back */
        watch_restart(w, p, t, now_us);
    w->from_us += t->io_us - w->io_us;
    w->io_us = t->io_us;
    int64_t used = now_us - w->from_us, time_us = job_time(w->limits, t, w->job);

    if (used < time_us / p->looks)
        return time_us / p->looks - used + 1;
    int64_t cpu = p->has_clock ? process_cpu_us(p) - w->cpu_us : used;

    if (w->limits->share == 0)
        lower_slow(p, cpu, time_us);
    if (used < time_us)
        return look < time_us - used ? look : time_us - used;
    int64_t most_us = (p->has_clock ? BUSY_TIMES : 2) * time_us;

    if (cpu >= time_us || used >= most_us)
        return 0;
    return look < most_us - used ? look : most_us - used;
}

/* ---- the conversation ---- */

static void send_some(struct process *p, struct talk *t)
{
    if (p->deaf || t->out.len == 0)
        return;
    ssize_t n = send(p->fd, t->out.ptr, t->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        p->deaf = true; /* what it has said before is still read */
    if (n <= 0)
        return;
    memmove(t->out.ptr, t->out.ptr + n, t->out.len - (size_t)n);
    t->out.len -= (size_t)n;
}

static bool hear_frames(struct process *p, struct talk *t)
{
    struct frame f;
    enum frame_take got;

    while ((got = next_frame(p, &f)) == FRAME_TAKEN)
        if (!talk_hear(t, &f))
            return false;
    if (got == FRAME_MALFORMED)
        t->broken = "a malformed frame";
    return got != FRAME_MALFORMED;
}

static enum process_end converse(struct process *p, struct talk *t,
                                 const struct cage_limits *limits, const _Atomic bool *stopped)
{
    struct stopwatch w = { .limits = limits };

    talk_fill(t);
    watch_restart(&w, p, t, clock_mono_us());
    while (t->ended < t->count) {
        talk_fill(t);
        if (t->ended == t->count) /* not one could be sent */
            break;
        send_some(p, t);
        int64_t wait_us = watch_look(&w, p, t);

        if (wait_us == 0)
            return END_TIME;
        if (atomic_load(stopped) || call_is_over(t->jobs[0].call))
            return END_STOPPED;
        if (wait_us > STOP_LOOK_US)
            wait_us = STOP_LOOK_US;
        if (receive(p, wait_us, t->out.len > 0 && !p->deaf ? POLLOUT : 0) == 0)
            return END_BY_ITSELF;
        if (!hear_frames(p, t))
            return t->broken != NULL ? END_BROKEN : END_OUTPUT;
    }
    return END_NONE;
}

void process_suspect(struct process *p, bool suspected)
{
    p->looks = suspected ? LOOKS_SUSPECTED : LOOKS;
}

static int64_t count_sent(const struct talk *t)
{
    return (int64_t)t->sent - __builtin_popcount(t->unsent);
}

enum process_state process_run(struct process *p, struct cage_job *jobs, size_t count,
                               const struct cage_limits *limits, const _Atomic bool *stopped)
{
    AUTO(talk_done) struct talk t;

    talk_init(&t, jobs, count, limits->output);
    enum process_end how = converse(p, &t, limits, stopped);

    if (how == END_NONE) {
        p->served += count_sent(&t);
        return PROCESS_ALIVE;
    }
    size_t guilty = current_job(p, &t);
    struct process_death death = {
        .how = how, .guilty = guilty, .limits = limits, .time_us = job_time(limits, &t, guilty)
    };

    death.known = leash_pull(&p->leash, &death.status);
    bool idle = how == END_BY_ITSELF && !process_works(p, &t) && !t.answer.begun;

    if (!idle && how != END_STOPPED)
        process_blame(&t, &death);
    talk_rewind(&t);
    return idle && t.ended == 0 ? PROCESS_STALE : PROCESS_GONE;
}
