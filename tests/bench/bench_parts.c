/* bench_parts - how fast the store alone makes documents of one.
 *
 *     bench_parts -d sqlite FOLDER | -d postgres ADDRESS [parts]
 *
 * A document becomes so many parts of 1 KiB (100000), in chunks of 1000; then the parts are claimed
 * and settled as done.  Prints parts a second over all, and for each of the two what it took and
 * the CPU time of this process.  bench_store with batches of 1000 and settle is the reference. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/require.h"
#include "store/kernel/node.h"
#include "store/kernel/store_state.h"
#include "store/open.h"
#include "store/road/accept.h"
#include "store/road/offspring.h"
#include "store/road/settle.h"
#include "store/store.h"

enum { BODY = 1024, CLAIM = TASK_CLAIM_MOST };

static struct {
    struct store *store;
    long parts;
    struct accept_op parent;
    _Atomic bool stop;
    sem_t done;
} parts_bench;

static void *parts_beat(void *arg)
{
    struct err err = { 0 };
    struct db *db;
    int64_t sent_us;

    (void)arg;
    require(store_connect(parts_bench.store, false, &db, &err));
    while (!parts_bench.stop) {
        require(node_beat(parts_bench.store, db, &sent_us, &err));
        node_renew(parts_bench.store, sent_us);
        clock_sleep_us(CLOCK_S / 2);
    }
    db_close(db);
    return NULL;
}

static double parts_cpu_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool parts_start(int argc, char **argv)
{
    struct err err = { 0 };
    bool postgres = argc > 3 && strcmp(argv[2], "postgres") == 0;
    char folder[] = "/tmp/bench-parts-XXXXXX";
    struct store_options o = { .data = postgres   ? mkdtemp(folder)
                                       : argc > 3 ? argv[3]
                                                  : "",
                               .url = postgres ? argv[3] : NULL,
                               .area = "internal",
                               .queue_most = 1 << 20 };
    struct accept_op *p = &parts_bench.parent;

    if (argc < 4 || strcmp(argv[1], "-d") != 0) {
        (void)fprintf(stderr,
                      "usage: bench_parts -d sqlite FOLDER | -d postgres ADDRESS [parts]\n");
        return false;
    }
    parts_bench.parts = argc > 4 ? strtol(argv[4], NULL, 10) : 100000;
    *p = (struct accept_op){ .config = 1,
                             .received_us = clock_wall_us(),
                             .size = 5,
                             .body = STR("whole"),
                             .sha256 = digest_of(STR("whole")),
                             .claim_wanted = true };
    if (store_open(&o, &parts_bench.store, &err) &&
        name_add(parts_bench.store, NAME_GATEWAY, STR("orders"), &p->gateway, &err) &&
        accept_keep_tables(parts_bench.store, INT64_C(3600) * CLOCK_S, &err) &&
        writers_call(store_writers(parts_bench.store), &accept_verb, &p->op, &err))
        return true;
    (void)fprintf(stderr, "%s\n", err.text);
    return false;
}

/* ---- making ---- */

static void fill_part(struct offspring_part *p, char *body)
{
    memset(body, 'x', BODY);
    chance_bytes(body, 16);
    *p = (struct offspring_part){ .kind = LINK_SPLIT,
                                  .bytes = str_mem(body, BODY),
                                  .size = BODY,
                                  .sha256 = digest_of(str_mem(body, BODY)),
                                  .sender = 1,
                                  .receiver = 2,
                                  .type = 3,
                                  .facts = STR("\x01\x40\x01\x02\x04part\x05"
                                               "99999\x05parts\x06"
                                               "100000"),
                                  .ctype = STR("application/xml") };
}

static void parts_make(void)
{
    struct offspring_part *parts = xcalloc(OFFSPRING_PARTS_MOST, sizeof *parts);
    char *bodies = xcalloc(OFFSPRING_PARTS_MOST, BODY);
    struct settle_op end = { .task = parts_bench.parent.task,
                             .doc = parts_bench.parent.num,
                             .end = SETTLE_OVER,
                             .state = DOCUMENT_DONE,
                             .keep_days = 45 };

    for (long from = 0; from < parts_bench.parts; from += OFFSPRING_PARTS_MOST) {
        long left = parts_bench.parts - from,
             n = left < OFFSPRING_PARTS_MOST ? left : OFFSPRING_PARTS_MOST;
        struct offspring_op op = { .task = end.task,
                                   .doc = end.doc,
                                   .config = 1,
                                   .from = from,
                                   .total = parts_bench.parts,
                                   .parts = parts,
                                   .count = (size_t)n,
                                   .end = n == left ? &end : NULL };
        struct err err = { 0 };

        for (long i = 0; i < n; i++)
            fill_part(&parts[i], bodies + i * BODY);
        require(writers_call(store_writers(parts_bench.store), &offspring_verb, &op.op, &err) &&
                op.result == OFFSPRING_MADE);
    }
    free(bodies);
    free(parts);
}

/* ---- ending ---- */

static void parts_settled(struct store_op *op)
{
    require(op->ok && ((struct settle_op *)op)->over);
    (void)sem_post(&parts_bench.done);
}

static void parts_end(void)
{
    static struct settle_op ops[CLAIM];
    struct task t[CLAIM];
    struct err err = { 0 };
    size_t n;

    _Static_assert(offsetof(struct settle_op, op) == 0, "parts_settled() casts");
    for (long left = parts_bench.parts; left > 0; left -= (long)n) {
        require(task_claim(parts_bench.store, QUEUE_INTAKE, CLAIM, 60 * CLOCK_S, t, &n, &err) &&
                n > 0);
        for (size_t i = 0; i < n; i++) {
            ops[i] = (struct settle_op){ .op = { .verb = &settle_verb, .done = parts_settled },
                                         .task = t[i],
                                         .doc = t[i].id,
                                         .is_first = true,
                                         .timeline = STR(""),
                                         .end = SETTLE_OVER,
                                         .state = DOCUMENT_DONE,
                                         .keep_days = 45 };
            if (i > 0)
                ops[i - 1].op.next = &ops[i].op;
        }
        require(writers_submit(store_writers(parts_bench.store), &ops[0].op, &ops[n - 1].op, n));
        for (size_t i = 0; i < n; i++)
            (void)sem_wait(&parts_bench.done);
    }
}

struct spent {
    double us, cpu_us;
};

static struct spent parts_clock(void (*work)(void))
{
    int64_t from = clock_mono_us();
    double cpu = parts_cpu_us();

    work();
    return (struct spent){ (double)(clock_mono_us() - from), parts_cpu_us() - cpu };
}

int main(int argc, char **argv)
{
    pthread_t beat;

    if (!parts_start(argc, argv))
        return 2;
    bool sqlite = store_kind(parts_bench.store) == DB_SQLITE;
    double n = (double)parts_bench.parts;

    (void)sem_init(&parts_bench.done, 0, 0);
    if (!sqlite)
        require(pthread_create(&beat, NULL, parts_beat, NULL) == 0);
    struct spent making = parts_clock(parts_make), ending = parts_clock(parts_end);

    printf("bench parts %s: %.0f parts/s; making %.2f us/part (cpu %.2f), claim and settle %.2f "
           "us/part (cpu %.2f)\n",
           sqlite ? "sqlite" : "postgres", n * 1e6 / (making.us + ending.us), making.us / n,
           making.cpu_us / n, ending.us / n, ending.cpu_us / n);
    parts_bench.stop = true;
    if (!sqlite)
        (void)pthread_join(beat, NULL);
    store_close(parts_bench.store);
    return 0;
}
