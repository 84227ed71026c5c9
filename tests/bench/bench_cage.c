/* bench_cage - what it costs that a step runs in a process of its own.
 *
 *     bench_cage [documents]
 *
 * Sends documents of 1 KiB through a cage whose step gives them back, one at a time and 32 at a
 * time, and prints for each of them the time by the clock, the processor time of the caller and of
 * the process, and the time in which a process starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "cage/cage.h"
#include "cage/cage_main.h"

enum { BODY = 1024, STARTS = 20 };

static int64_t own_cpu_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * (int64_t)CLOCK_S + t.tv_nsec / 1000;
}

/* ---- in the process ---- */

static bool echo_make(const struct settings *s, void **ret_self, struct err *err)
{
    (void)s;
    (void)err;
    *ret_self = NULL;
    return true;
}

/* Gives back what came, or for "cpu" the processor time of its process. */
static bool echo_run(void *self, struct str in, const struct service_document *d, struct buf *out,
                     struct service_failure *ret_failure)
{
    (void)self;
    (void)d;
    (void)ret_failure;
    if (str_is(in, "cpu"))
        buf_put_int(out, own_cpu_us());
    else
        buf_put(out, in);
    return true;
}

static const struct service_type echo = {
    .kind = { .name = "echo" }, .caged = true, .make = echo_make, .run = echo_run
};
static const struct service_type *const services[] = { &echo, NULL };
static const struct connectors connectors = { .services = services };

/* ---- the caller ---- */

struct batch {
    struct cage_job jobs[CAGE_JOBS_MOST];
    struct service_memory memory[CAGE_JOBS_MOST];
    struct service_document document;
    struct facts facts;
    struct arena arena;
};

static void run(struct cage *c, struct batch *b, struct str in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        service_memory_init(&b->memory[i], &b->document, in, 1 << 20, &b->arena);
        b->jobs[i].io = &b->memory[i].io;
    }
    cage_run(c, b->jobs, count);
    for (size_t i = 0; i < count; i++)
        require(b->jobs[i].result == CAGE_DONE);
}

static void done(struct batch *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        service_memory_done(&b->memory[i]);
}

static int64_t cage_cpu_us(struct cage *c, struct batch *b)
{
    int64_t us = 0;

    run(c, b, STR("cpu"), 1);
    (void)str_to_i64(buf_view(&b->memory[0].out), &us);
    done(b, 1);
    return us;
}

/* Within the life of one process: 1 000 documents. */
static void measure(struct batch *b, const struct cage_recipe *recipe,
                    const struct cage_limits *limits, size_t count, long documents)
{
    static const char body[BODY];
    double wall = 0, own = 0, cage = 0;
    long n = 0;

    while (n < documents) {
        struct cage *c = cage_new(recipe, limits);
        int64_t cage_us = cage_cpu_us(c, b), own_us = own_cpu_us(), wall_us = clock_mono_us();

        for (size_t i = 0; i + count <= 960; i += count, n += (long)count) {
            run(c, b, str_mem(body, BODY), count);
            done(b, count);
        }
        wall += (double)(clock_mono_us() - wall_us);
        own += (double)(own_cpu_us() - own_us);
        cage += (double)(cage_cpu_us(c, b) - cage_us);
        cage_free(c);
    }
    double per = (double)n;

    printf("bench cage hop of 1 KiB, %2zu at a time: %.1f us, CPU %.1f us (caller %.1f, process "
           "%.1f)\n",
           count, wall / per, (own + cage) / per, own / per, cage / per);
}

static void measure_start(const struct cage_recipe *recipe)
{
    struct err err;

    (void)cage_check(recipe, &err);
    int64_t from = clock_mono_us();

    for (int i = 0; i < STARTS; i++)
        require(cage_check(recipe, &err));
    printf("bench cage start: %.1f ms\n", (double)(clock_mono_us() - from) / STARTS / CLOCK_MS);
}

int main(int argc, char **argv)
{
    const struct cage_recipe recipe = { .service = STR("echo"), .options = STR("{}") };
    const struct cage_limits limits = {
        .time_us = 60 * CLOCK_S, .memory = 256 << 20, .output = 1 << 20, .concurrency = 1
    };
    static struct batch b = { .arena = ARENA_INIT(1 << 20) };
    long documents = argc > 1 ? strtol(argv[1], NULL, 10) : 50000;

    if (cage_main_is(argc, argv))
        return cage_main(argc, argv, &connectors);
    b.document.facts = &b.facts;
    measure_start(&recipe);
    measure(&b, &recipe, &limits, 1, documents);
    measure(&b, &recipe, &limits, CAGE_JOBS_MOST, documents);
    return 0;
}
