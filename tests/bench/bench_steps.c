/* bench_steps - what a step costs when its library is called in a loop, in one process.
 *
 *     bench_steps KIND OPTIONS FILE [documents]      the options in JSON, as a cage gets them
 *
 * Runs the step over the bytes of the file again and again, without a node, a store or a process of
 * its own, and prints the processor time of each document.  bench/cage.py compares with that. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/connector.h"
#include "core/settings.h"

enum { BYTES_MOST = 1 << 20, WARM = 200 };

static const struct service_type *const measured[] = { &service_lua, &service_jq, &service_xslt,
                                                       &service_replace, NULL };

static struct {
    const struct service_type *type;
    void *self;
    struct str in;
    struct service_document document;
    struct facts facts;
    struct arena arena;
} steps_bench = { .arena = ARENA_INIT(64 << 20) };

static bool steps_run(long documents)
{
    for (long i = 0; i < documents; i++) {
        struct arena arena = ARENA_INIT(BYTES_MOST);
        struct service_failure failure;
        struct service_memory m;

        service_memory_init(&m, &steps_bench.document, steps_bench.in, BYTES_MOST, &arena);
        bool ok = service_run(steps_bench.type, steps_bench.self, &m.io, &failure);

        service_memory_done(&m);
        arena_done(&arena);
        if (!ok) {
            (void)fprintf(stderr, "%s\n", failure.message);
            return false;
        }
    }
    return true;
}

static bool steps_make(char **argv, struct err *err)
{
    static struct buf bytes = BUF_INIT(BYTES_MOST);
    const struct connectors all = { .services = measured };
    struct settings s;

    steps_bench.document.facts = &steps_bench.facts;
    steps_bench.type = connector_service(&all, str_of(argv[1]));
    if (steps_bench.type == NULL)
        return err_set(err, ERR_CONFIG, 0, "there is no step %s", argv[1]);
    if (!file_read_whole(AT_FDCWD, argv[3], &bytes, err))
        return false;
    steps_bench.in = buf_view(&bytes);
    return settings_of_json(str_of(argv[2]), steps_bench.type->kind.keys, &steps_bench.arena, &s,
                            err) &&
           steps_bench.type->make(&s, &steps_bench.self, err);
}

int main(int argc, char **argv)
{
    long documents = argc > 4 ? strtol(argv[4], NULL, 10) : 10000;
    struct err err = { 0 };

    if (argc < 4) {
        (void)fprintf(stderr, "usage: bench_steps KIND OPTIONS FILE [documents]\n");
        return 2;
    }
    if (!steps_make(argv, &err)) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (!steps_run(WARM))
        return 1;
    clock_t from = clock();

    if (!steps_run(documents))
        return 1;
    printf("bench step %s: %.2f us/doc\n", argv[1],
           (double)(clock() - from) * 1e6 / CLOCKS_PER_SEC / (double)documents);
    return 0;
}
