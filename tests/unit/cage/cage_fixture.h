/* cage_fixture.h - a step that does what its document says, and a cage around it.
 *
 * A test program is its own cage: main() begins with
 *
 *     if (cage_main_is(argc, argv))
 *         return cage_main(argc, argv, &fixture_connectors);
 *
 * The first word of a document is what the step does: see `acts`.
 */
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "cage/cage.h"
#include "cage/cage_main.h"
#include "cage/frame.h"
#include "cage/inside.h"
#include "cage/keeper_word.h"
#include "core/connector.h"

/* ---- the step, in its process ---- */

struct fixture_step {
    struct str text;
    pid_t maker; /* the process that made it */
};

typedef bool fixture_act(struct fixture_step *s, struct service_io *io, struct str in,
                         struct service_failure *f);

static bool act_echo(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)s;
    return io->put(io, in, f);
}

static bool act_text(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)in;
    return io->put(io, s->text, f);
}

/* Who made the step, and who serves. */
static bool act_maker(struct fixture_step *s, struct service_io *io, struct str in,
                      struct service_failure *f)
{
    char text[64];

    (void)in;
    (void)snprintf(text, sizeof text, "%d %d", (int)s->maker, (int)getpid());
    return io->put(io, str_of(text), f);
}

/* `burn MS`: computes for so long. */
static bool act_burn(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    struct timespec now, end;
    uint64_t ms = 0;

    (void)s;
    (void)str_to_u64(str_from(in, sizeof "burn " - 1), &ms);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    end.tv_nsec += (long)ms * 1000 * 1000;
    do
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec);
    return io->put(io, in, f);
}

static bool act_facts(struct fixture_step *s, struct service_io *io, struct str in,
                      struct service_failure *f)
{
    const struct service_document *d = io->document;
    char text[600], id[ID_TEXT];

    (void)s;
    (void)in;
    (void)snprintf(text, sizeof text, "%s %lld %.*s>%.*s:%.*s %.*s %.*s %.*s %.*s %d",
                   id_text(&d->id, id), (long long)d->received_us, STR_ARG(d->facts->sender),
                   STR_ARG(d->facts->receiver), STR_ARG(d->facts->type), STR_ARG(d->name),
                   STR_ARG(d->ctype), STR_ARG(d->gateway),
                   STR_ARG(facts_attribute(d->facts, STR("colour"))), d->facts->type.ptr == NULL);
    return io->put(io, str_of(text), f);
}

static bool act_fail(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)s;
    io->note(io, STR("before it failed"));
    return service_fail(f, DEAD_SERVICE_FAILED, "line 3: \x01%.*s", STR_ARG(in));
}

static bool act_none(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)s;
    (void)in;
    for (int i = 0; i < SERVICE_NOTES_MOST + 5; i++)
        io->note(io, STR("a note"));
    return io->none(io, f);
}

static bool act_parts(struct fixture_step *s, struct service_io *io, struct str in,
                      struct service_failure *f)
{
    const struct fact colour = { STR("colour"), STR("red") };
    struct service_part head = { .receiver = STR("erp"),
                                 .name = STR("part.txt"),
                                 .attributes = &colour,
                                 .attribute_count = 1,
                                 .parts = 3 };

    (void)s;
    for (int i = 0; i < 3; i++)
        if (!io->part(io, &head, f) || !io->put(io, in, f))
            return false;
    return true;
}

static bool act_bad_part(struct fixture_step *s, struct service_io *io, struct str in,
                         struct service_failure *f)
{
    struct service_part head = { .name = STR("../\n") };

    (void)s;
    return io->part(io, &head, f) && io->put(io, in, f);
}

/* ---- budgets ---- */

static bool act_loop(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)s;
    (void)in;
    (void)f;
    for (volatile unsigned n = 0;; n++)
        if (io == NULL)
            return false;
}

/* Without using the processor. */
static bool act_sleep(struct fixture_step *s, struct service_io *io, struct str in,
                      struct service_failure *f)
{
    static _Atomic int never;

    (void)s;
    (void)in;
    (void)f;
    for (;;) {
        (void)syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        if (io == NULL)
            return false;
    }
}

static bool act_bomb(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)s;
    (void)io;
    (void)in;
    for (;;) {
        char *p = malloc(1 << 20);

        if (p == NULL)
            abort(); /* as libraries do */
        memset(p, 1, 1 << 20);
        if (p[77] == 2)
            return service_fail(f, DEAD_BUDGET, "never");
    }
}

static bool act_flood(struct fixture_step *s, struct service_io *io, struct str in,
                      struct service_failure *f)
{
    (void)s;
    (void)in;
    for (;;)
        if (!io->put(io, STR("0123456789abcdef0123456789abcdef"), f))
            return false;
}

/* As a process that was taken over: what it writes is not counted there. */
static bool act_raw_flood(struct fixture_step *s, struct service_io *io, struct str in,
                          struct service_failure *f)
{
    static char bytes[4096];
    struct buf out = BUF_INIT(16384);

    (void)s;
    (void)io;
    (void)in;
    frame_put(&out, FRAME_OUT, false, str_mem(bytes, sizeof bytes));
    for (;;)
        if (write(0, out.ptr, out.len) < 0)
            return service_fail(f, DEAD_LIMIT, "never");
}

static bool act_raw(struct fixture_step *s, struct service_io *io, struct str in,
                    struct service_failure *f)
{
    (void)s;
    (void)io;
    in = str_from(in, 4); /* "raw " */
    return write(0, in.ptr, in.len) > 0 || service_fail(f, DEAD_LIMIT, "never");
}

/* What the io of a document stands in, to somebody who has taken over the process. */
struct taken_over {
    struct service_io io;
    struct inside *s;
};

/* Its answer stays in the process. */
static bool act_keep(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)s;
    ((struct taken_over *)io)->s->oldest_us = INT64_MAX;
    return io->put(io, in, f);
}

/* Says in turn that it is at the document before, and at its own; and ends after a while. */
static bool act_back(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    enum { TURNS = 50, TURN_US = 400 * CLOCK_MS };
    _Atomic uint64_t *begun = &((struct taken_over *)io)->s->progress->begun;
    uint64_t own = atomic_load(begun);

    (void)s;
    for (int i = 0; i < TURNS; i++) {
        int64_t until = clock_mono_us() + TURN_US;

        atomic_store(begun, i % 2 == 0 ? own - 1 : own);
        while (clock_mono_us() < until)
            continue;
    }
    return io->put(io, in, f);
}

/* ---- ends ---- */

static bool act_abort(struct fixture_step *s, struct service_io *io, struct str in,
                      struct service_failure *f)
{
    (void)s;
    (void)io;
    (void)in;
    (void)f;
    abort();
}

static bool act_exit(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    (void)s;
    (void)io;
    (void)in;
    (void)f;
    _exit(7);
}

/* Answers, and ends before the next document. */
static bool act_leave(struct fixture_step *s, struct service_io *io, struct str in,
                      struct service_failure *f)
{
    struct buf out = BUF_INIT(1024);

    (void)s;
    (void)io;
    (void)in;
    (void)f;
    frame_put(&out, FRAME_END, false, STR(""));
    _exit(write(0, out.ptr, out.len) < 0);
}

__attribute__((noinline)) static int fixture_deep(volatile char *up)
{
    volatile char here[4096];

    here[0] = up[0];
    return here[0] == 2 ? 0 : fixture_deep(here) + here[0];
}

static bool act_deep(struct fixture_step *s, struct service_io *io, struct str in,
                     struct service_failure *f)
{
    char top[1] = { 0 };

    (void)s;
    (void)io;
    (void)in;
    return fixture_deep(top) == 0 || service_fail(f, DEAD_LIMIT, "never");
}

#include "escape_acts.h"

#define ACT(name)         \
    {                     \
#name, act_##name \
    }
static const struct {
    const char *word;
    fixture_act *act;
} acts[] = {
    ACT(echo),
    ACT(text),
    ACT(maker),
    ACT(burn),
    ACT(facts),
    ACT(fail),
    ACT(none),
    ACT(parts),
    ACT(bad_part),
    ACT(loop),
    ACT(sleep),
    ACT(bomb),
    ACT(flood),
    ACT(raw_flood),
    ACT(raw),
    ACT(keep),
    ACT(back),
    ACT(abort),
    ACT(exit),
    ACT(leave),
    ACT(deep),
    ACT(open),
    ACT(create),
    ACT(proc),
    ACT(memory),
    ACT(list),
    ACT(stat),
    ACT(link),
    ACT(unlink),
    ACT(socket),
    ACT(unix),
    ACT(pair),
    ACT(fork),
    ACT(exec),
    ACT(kill_parent),
    ACT(kill_all),
    ACT(kill_other),
    ACT(ptrace),
    ACT(dup),
    ACT(write_other),
    ACT(read_other),
    ACT(limit),
    ACT(priority),
    ACT(shared),
    ACT(memfd),
    ACT(thread),
    ACT(setuid),
    ACT(rename),
    ACT(mount),
    ACT(namespace),
    ACT(exec_at),
    ACT(send_descriptor),
    ACT(take_descriptor),
    ACT(uring),
    ACT(program),
    ACT(keys),
    ACT(peek),
    ACT(open_process),
    ACT(dumpable),
    ACT(timer),
    ACT(wait),
    ACT(print),
    ACT(environ),
};

static bool fixture_run(void *self, struct service_io *io, struct service_failure *f)
{
    AUTO(buf_done) struct buf in = BUF_INIT(1 << 20);
    struct str piece, word;
    struct err err;

    do {
        if (!io->next(io, &piece, f))
            return false;
        if (!buf_append(&in, piece, &err))
            return service_fail(f, DEAD_LIMIT, "too large");
    } while (piece.len > 0);
    (void)str_cut(buf_view(&in), ' ', &word);
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (str_is(word, acts[i].word))
            return acts[i].act(self, io, buf_view(&in), f);
    return service_fail(f, DEAD_EXTRACT_FAILED, "there is no such act");
}

static bool fixture_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct fixture_step *step = ARENA_NEW(s->arena, struct fixture_step);
    struct str bad;

    *ret_self = step;
    step->maker = getpid();
    if (!settings_text(s, "bad", &bad, err) || !settings_text(s, "text", &step->text, err))
        return false;
    if (str_is(bad, "crash"))
        abort();
    return bad.ptr == NULL || err_set(err, ERR_CONFIG, 0, "line 4, column 2: %.*s", STR_ARG(bad));
}

/* Reads everything twice and gives it on in pieces of its own. */
static bool fixture_twice(void *self, struct service_io *io, struct service_failure *f)
{
    int64_t first = 0, second = 0;
    struct str piece;

    (void)self;
    do {
        if (!io->next(io, &piece, f))
            return false;
        first += (int64_t)piece.len;
    } while (piece.len > 0);
    if (!io->rewind(io, f))
        return false;
    do {
        if (!io->next(io, &piece, f) || !io->put(io, piece, f))
            return false;
        second += (int64_t)piece.len;
    } while (piece.len > 0);
    /* What is said of its size before is what came. */
    return (first == second && first == io->size) ||
           service_fail(f, DEAD_SERVICE_FAILED, "the second time is another");
}

static const struct option fixture_keys[] = {
    OPTION("text", OPT_TEXT, "what `text` gives"),
    OPTION("bad", OPT_TEXT, "a mistake"),
    { 0 },
};

static const struct service_type fixture_does = {
    .kind = { .name = "does", .help = "does what it is told", .keys = fixture_keys },
    .caged = true,
    .copied = true,
    .make = fixture_make,
    .stream = fixture_run,
};

/* The same, and each of its processes makes it for itself. */
static const struct service_type fixture_does_alone = {
    .kind = { .name = "alone", .help = "does what it is told", .keys = fixture_keys },
    .caged = true,
    .make = fixture_make,
    .stream = fixture_run,
};

static const struct service_type fixture_reads_twice = {
    .kind = { .name = "twice", .help = "reads twice", .keys = fixture_keys },
    .caged = true,
    .make = fixture_make,
    .stream = fixture_twice,
};

static const struct service_type *const fixture_services[] = { &fixture_does, &fixture_does_alone,
                                                               &fixture_reads_twice, NULL };
static const struct gateway_type *const fixture_gateways[] = { NULL };
static const struct endpoint_type *const fixture_endpoints[] = { NULL };

__attribute__((unused)) static const struct connectors fixture_connectors = {
    .gateways = fixture_gateways, .services = fixture_services, .endpoints = fixture_endpoints
};

/* ---- the caller ---- */

enum { FIXTURE_MEMORY = 64 << 20, FIXTURE_OUTPUT = 1 << 20 };

__attribute__((unused)) static struct cage *fixture_cage_of(const char *service,
                                                            int64_t concurrency, int64_t time_us)
{
    const struct cage_recipe recipe = {
        .service = str_of(service),
        .options = STR("{\"text\":\"as it is: ${env:HOME}\"}"),
    };
    const struct cage_limits limits = { .time_us = time_us,
                                        .memory = FIXTURE_MEMORY,
                                        .output = FIXTURE_OUTPUT,
                                        .concurrency = concurrency };

    return cage_new(&recipe, &limits);
}

__attribute__((unused)) static struct cage *fixture_cage(int64_t concurrency, int64_t time_us)
{
    return fixture_cage_of("does", concurrency, time_us);
}

/* The value of a metric, by its name. */
struct cage_metric {
    const char *name;
    int64_t value;
};

static void see_metric(void *arg, const struct metric *m, int64_t value)
{
    struct cage_metric *w = arg;

    if (strcmp(m->name, w->name) == 0)
        w->value = value;
}

__attribute__((unused)) static int64_t metric_now(const char *name)
{
    struct cage_metric w = { .name = name };

    metrics_each(see_metric, &w);
    return w.value;
}

/* Documents in memory, and what became of them. */
struct fixture_jobs {
    struct cage_job jobs[CAGE_JOBS_MOST];
    struct service_memory memory[CAGE_JOBS_MOST];
    struct service_document document;
    struct facts facts;
    struct arena arena;
    size_t count;
};

__attribute__((unused)) static void fixture_add(struct fixture_jobs *j, struct str in)
{
    struct service_memory *m = &j->memory[j->count];

    if (j->count == 0) {
        j->arena = (struct arena)ARENA_INIT(16 << 20);
        j->document.facts = &j->facts;
    }
    service_memory_init(m, &j->document, in, 300 << 20, &j->arena);
    j->jobs[j->count++].io = &m->io;
}

static void fixture_done(struct fixture_jobs *j)
{
    for (size_t i = 0; i < j->count; i++)
        service_memory_done(&j->memory[i]);
    arena_done(&j->arena);
    free(j);
}

/* On the heap: it is large. */
#define FIXTURE_JOBS(name) struct fixture_jobs *name = calloc(1, sizeof *name)

__attribute__((unused)) static bool fixture_is(const struct fixture_jobs *j, size_t i,
                                               enum cage_result result, const char *out)
{
    bool same =
        j->jobs[i].result == result && (out == NULL || str_is(buf_view(&j->memory[i].out), out));

    if (!same)
        printf("# job %zu: result %d, failure %d %s, out %.*s\n", i, (int)j->jobs[i].result,
               (int)j->jobs[i].failure.code, j->jobs[i].failure.message,
               (int)(j->memory[i].out.len < 100 ? j->memory[i].out.len : 100),
               j->memory[i].out.ptr);
    return same;
}

__attribute__((unused)) static bool fixture_failed(const struct fixture_jobs *j, size_t i,
                                                   enum cage_result result, enum dead_code code,
                                                   const char *part)
{
    bool same = j->jobs[i].result == result && j->jobs[i].failure.code == code &&
                strstr(j->jobs[i].failure.message, part) != NULL;

    if (!same)
        (void)fixture_is(j, i, CAGE_NOT_RUN, "-");
    return same;
}
