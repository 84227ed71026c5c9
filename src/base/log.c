#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"

enum { RING = 4 << 20, LINE = 16 << 10, GATHER_US = 5000 };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    pthread_t thread;
    char *ring; /* two halves: one is filled while the other is written */
    char *writing;
    size_t used;
    bool running, stopping, sleeping, gathering;
    int fd;
} self = { .mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .fd = 2 };

static _Atomic int level_now = LOG_INFO;
static _Atomic uint64_t dropped;

bool log_wants(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&level_now, memory_order_relaxed);
}

void log_set_level(enum log_level level)
{
    atomic_store(&level_now, (int)level);
}

bool log_level_of(struct str name, enum log_level *ret)
{
    for (int i = LOG_DEBUG; i <= LOG_ERROR; i++)
        if (str_is(name, level_names[i])) {
            *ret = (enum log_level)i;
            return true;
        }
    return false;
}

uint64_t log_dropped(void)
{
    return atomic_load(&dropped);
}

/* The log has nowhere to complain: a line that cannot be written is counted. */
static void write_out(int fd, struct str text)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            atomic_fetch_add(&dropped, 1);
            return;
        }
        text = str_from(text, (size_t)n);
    }
}

/* What was lost is said as soon as something can be said again. */
static void tell_drops(uint64_t *told)
{
    uint64_t now = atomic_load(&dropped);
    char line[160], when[CLOCK_TEXT];

    if (now == *told)
        return;
    int n = snprintf(line, sizeof line,
                     "{\"time\":\"%s\",\"level\":\"warn\",\"event\":\"log.drop\",\"count\":%llu}\n",
                     clock_utc_text(clock_wall_us(), when), (unsigned long long)(now - *told));

    *told = now;
    write_out(self.fd, (struct str){ line, (size_t)n });
}

/* With the mutex held: wait for the first line, then a moment for others, so that busy
 * times cost one write for many lines. */
static void wait_for_lines(void)
{
    struct timespec until;

    while (self.used == 0 && !self.stopping) {
        self.sleeping = true;
        (void)pthread_cond_wait(&self.filled, &self.mutex);
    }
    self.sleeping = false;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)GATHER_US * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    self.gathering = true;
    while (!self.stopping && self.used < RING / 2 &&
           pthread_cond_timedwait(&self.filled, &self.mutex, &until) == 0) {
    }
    self.gathering = false;
}

static void *log_main(void *arg)
{
    uint64_t told = 0;

    (void)arg;
    (void)pthread_mutex_lock(&self.mutex);
    for (;;) {
        wait_for_lines();
        if (self.used == 0)
            break;
        char *full = self.ring;
        size_t n = self.used;

        self.ring = self.writing;
        self.writing = full;
        self.used = 0;
        (void)pthread_mutex_unlock(&self.mutex);
        write_out(self.fd, (struct str){ full, n });
        tell_drops(&told);
        (void)pthread_mutex_lock(&self.mutex);
    }
    (void)pthread_mutex_unlock(&self.mutex);
    return NULL;
}

void log_start(int fd)
{
    self.fd = fd;
    self.ring = xmalloc(RING);
    self.writing = xmalloc(RING);
    self.running = true;
    self.stopping = false;
    if (pthread_create(&self.thread, NULL, log_main, NULL) != 0)
        self.running = false; /* lines are then written directly */
}

void log_stop(void)
{
    if (!self.running)
        return;
    (void)pthread_mutex_lock(&self.mutex);
    self.stopping = true;
    (void)pthread_cond_signal(&self.filled);
    (void)pthread_mutex_unlock(&self.mutex);

    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (pthread_timedjoin_np(self.thread, NULL, &until) != 0)
        return; /* its disk hangs: leave the thread and its buffers alone */
    (void)pthread_mutex_lock(&self.mutex);
    self.running = false;
    free(self.ring);
    free(self.writing);
    self.ring = self.writing = NULL;
    (void)pthread_mutex_unlock(&self.mutex);
}

static void put_line(struct str line)
{
    (void)pthread_mutex_lock(&self.mutex);
    if (!self.running || self.stopping) {
        (void)pthread_mutex_unlock(&self.mutex);
        write_out(self.fd, line);
        return;
    }
    if (line.len > RING - self.used) {
        atomic_fetch_add(&dropped, 1);
    } else {
        memcpy(self.ring + self.used, line.ptr, line.len);
        self.used += line.len;
    }
    bool wake = self.sleeping || (self.gathering && self.used >= RING / 2);

    self.sleeping = false;
    (void)pthread_mutex_unlock(&self.mutex);
    if (wake)
        (void)pthread_cond_signal(&self.filled);
}

static void put_field(struct json_out *j, const struct log_field *f)
{
    json_key(j, f->key);
    switch (f->type) {
    case LOG_T_INT:
        json_int(j, f->i);
        break;
    case LOG_T_BOOL:
        json_bool(j, f->i != 0);
        break;
    case LOG_T_STR:
    case LOG_T_END:
        json_str(j, f->s.len > 2048 ? (struct str){ f->s.ptr, 2048 } : f->s);
        break;
    }
}

/* The line is built in memory of the thread's own, so that a line costs no
 * allocation; a field is at most 2 KiB, and what does not fit LINE is left out. */
void log_emit(enum log_level level, const char *name, const struct log_field *fields)
{
    static _Thread_local char room[LINE + 1];
    struct buf line = { .ptr = room, .size = sizeof room, .cap = LINE };
    struct json_out j = { .to = &line };
    char when[CLOCK_TEXT];

    json_open(&j, '{');
    json_key(&j, "time");
    json_z(&j, clock_utc_text(clock_wall_us(), when));
    json_key(&j, "level");
    json_z(&j, level_names[level]);
    json_key(&j, "event");
    json_z(&j, name);
    for (const struct log_field *f = fields; f->type != LOG_T_END; f++)
        if (line.len + f->s.len * 6 + 256 < LINE || (f->s.len > 2048 && line.len + 13000 < LINE))
            put_field(&j, f);
    json_close(&j, '}');
    buf_putc(&line, '\n');
    put_line(buf_view(&line));
}
