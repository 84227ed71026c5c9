/* bench_claim - how long a claim takes when very many tasks wait.
 *
 *     bench_claim -d sqlite FOLDER | -d postgres ADDRESS [tasks]
 *
 * Fills the store with tasks, then claims 100 times 100 of them and finishes none. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "store/kernel/node.h"
#include "store/kernel/store_state.h"
#include "store/open.h"
#include "store/road/accept.h"
#include "store/road/task.h"

enum { GROUP = 2000, CLAIMS = 100, CLAIM = 100 };

static sem_t done;

static void one_done(struct store_op *op)
{
    require(op->ok);
    (void)sem_post(&done);
}

static void beat(struct store *s)
{
    struct err err = { 0 };
    struct db *db;
    int64_t sent_us;

    if (store_kind(s) == DB_SQLITE)
        return;
    require(store_connect(s, false, &db, &err) && node_beat(s, db, &sent_us, &err));
    node_renew(s, sent_us);
    db_close(db);
}

static void fill(struct store *s, long tasks)
{
    struct accept_op *ops = xcalloc(GROUP, sizeof *ops);
    struct str body = STR("one of very many");
    struct sha256 sha = digest_of(body);

    for (long n = 0; n < tasks; n += GROUP) {
        for (int i = 0; i < GROUP; i++) {
            ops[i] = (struct accept_op){ .op = { .verb = &accept_verb, .done = one_done },
                                         .gateway = 1,
                                         .config = 1,
                                         .received_us = clock_wall_us(),
                                         .size = (int64_t)body.len,
                                         .sha256 = sha,
                                         .body = body };
            if (i > 0)
                ops[i - 1].op.next = &ops[i].op;
        }
        require(writers_submit(store_writers(s), &ops[0].op, &ops[GROUP - 1].op, GROUP));
        for (int i = 0; i < GROUP; i++)
            (void)sem_wait(&done);
        beat(s);
    }
    free(ops);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    bool postgres = argc > 3 && strcmp(argv[2], "postgres") == 0;
    char folder[] = "/tmp/bench-claim-XXXXXX";
    struct store_options o = { .data = postgres   ? mkdtemp(folder)
                                       : argc > 3 ? argv[3]
                                                  : "",
                               .url = postgres ? argv[3] : NULL,
                               .area = "internal",
                               .queue_most = 1 << 20 };
    long tasks = argc > 4 ? strtol(argv[4], NULL, 10) : 100000;
    static struct task claimed[CLAIM];
    double ms[CLAIMS];
    struct store *s;
    struct err err = { 0 };
    size_t n;

    if (argc < 4 || strcmp(argv[1], "-d") != 0) {
        (void)fprintf(stderr,
                      "usage: bench_claim -d sqlite FOLDER | -d postgres ADDRESS [tasks]\n");
        return 2;
    }
    if (!store_open(&o, &s, &err)) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    (void)sem_init(&done, 0, 0);
    fill(s, tasks);
    beat(s);
    for (int i = 0; i < CLAIMS; i++) {
        int64_t from = clock_mono_us();

        if (!task_claim(s, QUEUE_INTAKE, CLAIM, INT64_C(600) * CLOCK_S, claimed, &n, &err) ||
            n != CLAIM) {
            (void)fprintf(stderr, "claim: %zu tasks %s\n", n, err.text);
            return 1;
        }
        ms[i] = (double)(clock_mono_us() - from) / 1e3;
    }
    qsort(ms, CLAIMS, sizeof ms[0], by_value);
    printf("bench claim %s: p50 %.2f ms, p99 %.2f ms\n", postgres ? "postgres" : "sqlite",
           ms[CLAIMS / 2], ms[CLAIMS * 99 / 100 - 1]);
    store_close(s);
    return 0;
}
