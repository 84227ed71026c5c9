/* bench_store - how fast the store alone takes documents in.
 *
 *     bench_store -d sqlite FOLDER | -d postgres ADDRESS [batch [keyed [seconds [senders]]]]
 *
 * Each sender hands over `batch` documents of 1 KiB and waits until all are durable.  Prints
 * documents a second, the CPU time of this process for each, and its syncs. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/require.h"
#include "store/accept.h"
#include "store/inside.h"
#include "store/node.h"
#include "store/store.h"

enum { BODY = 1024, SENDERS_MOST = 16 };
#define DAY_US (INT64_C(86400) * CLOCK_S)

static struct {
    struct store *store;
    long batch, keyed, seconds, senders;
    int64_t gateway, until;
    _Atomic bool stop;
} bench;

struct sender {
    pthread_t thread;
    sem_t done;
    long count, failed;
};

struct one {
    struct accept_op accept;
    struct sender *sender;
    char body[BODY];
};

static void one_done(struct store_op *op)
{
    struct one *o = (struct one *)op;

    o->sender->failed += !op->ok;
    (void)sem_post(&o->sender->done);
}

static void make(struct one *o, struct sender *me)
{
    o->sender = me;
    memset(o->body, 'x', sizeof o->body);
    chance_bytes(o->body, 16);
    o->accept = (struct accept_op){ .op = { .verb = &accept_verb, .done = one_done },
                                    .gateway = bench.gateway,
                                    .config = 1,
                                    .received_us = clock_wall_us(),
                                    .size = BODY,
                                    .body = str_mem(o->body, BODY),
                                    .ctype = STR("application/xml"),
                                    .has_key = bench.keyed != 0,
                                    .key_period_us = DAY_US };
    o->accept.sha256 = digest_of(o->accept.body);
    if (bench.keyed != 0)
        chance_bytes(o->accept.key.bytes, sizeof o->accept.key.bytes);
}

static void *sender_main(void *arg)
{
    struct sender *me = arg;
    struct one *ops = xcalloc((size_t)bench.batch, sizeof *ops);

    while (clock_mono_us() < bench.until) {
        for (long i = 0; i < bench.batch; i++) {
            make(&ops[i], me);
            if (i > 0)
                ops[i - 1].accept.op.next = &ops[i].accept.op;
        }
        require(writers_submit(store_writers(bench.store), &ops[0].accept.op,
                               &ops[bench.batch - 1].accept.op, (size_t)bench.batch));
        for (long i = 0; i < bench.batch; i++)
            (void)sem_wait(&me->done);
        me->count += bench.batch;
    }
    free(ops);
    return NULL;
}

static void *beat_main(void *arg)
{
    struct err err = { 0 };
    struct db *db;

    (void)arg;
    require(store_connect(bench.store, false, &db, &err));
    while (!bench.stop) {
        require(node_beat(bench.store, db, &err));
        clock_sleep_us(CLOCK_S / 2);
    }
    db_close(db);
    return NULL;
}

static double cpu_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool start(int argc, char **argv)
{
    struct err err = { 0 };
    bool postgres = argc > 3 && strcmp(argv[2], "postgres") == 0;
    char folder[] = "/tmp/bench-store-XXXXXX";
    struct store_options o = { .data = postgres   ? mkdtemp(folder)
                                       : argc > 3 ? argv[3]
                                                  : "",
                               .url = postgres ? argv[3] : NULL,
                               .area = "internal",
                               .queue_most = 1 << 20 };

    if (argc < 4 || strcmp(argv[1], "-d") != 0) {
        (void)fprintf(stderr, "usage: bench_store -d sqlite FOLDER | -d postgres ADDRESS "
                              "[batch [keyed [seconds [senders]]]]\n");
        return false;
    }
    bench.batch = argc > 4 ? strtol(argv[4], NULL, 10) : 100;
    bench.keyed = argc > 5 ? strtol(argv[5], NULL, 10) : 0;
    bench.seconds = argc > 6 ? strtol(argv[6], NULL, 10) : 4;
    bench.senders = argc > 7 ? strtol(argv[7], NULL, 10) : 4;
    require(bench.batch > 0 && bench.senders > 0 && bench.senders <= SENDERS_MOST);
    if (store_open(&o, &bench.store, &err) &&
        store_word(bench.store, WORD_GATEWAY, STR("orders"), &bench.gateway, &err) &&
        accept_keep_tables(bench.store, DAY_US, &err))
        return true;
    (void)fprintf(stderr, "%s\n", err.text);
    return false;
}

int main(int argc, char **argv)
{
    static struct sender senders[SENDERS_MOST];
    pthread_t beat;
    long count = 0, failed = 0;

    if (!start(argc, argv))
        return 2;
    bool sqlite = store_kind(bench.store) == DB_SQLITE;

    if (!sqlite)
        require(pthread_create(&beat, NULL, beat_main, NULL) == 0);
    int64_t from = clock_mono_us();
    double cpu = cpu_us();
    uint64_t syncs = file_syncs();

    bench.until = from + bench.seconds * CLOCK_S;
    for (long i = 0; i < bench.senders; i++) {
        (void)sem_init(&senders[i].done, 0, 0);
        require(pthread_create(&senders[i].thread, NULL, sender_main, &senders[i]) == 0);
    }
    for (long i = 0; i < bench.senders; i++) {
        (void)pthread_join(senders[i].thread, NULL);
        count += senders[i].count;
        failed += senders[i].failed;
    }
    double seconds = (double)(clock_mono_us() - from) / 1e6;

    printf(
        "bench store %s: batch %ld%s, %ld senders: %.0f docs/s, cpu %.2f us/doc, %.4f syncs/doc, "
        "%ld failed\n",
        sqlite ? "sqlite" : "postgres", bench.batch, bench.keyed != 0 ? " keyed" : "",
        bench.senders, (double)count / seconds, (cpu_us() - cpu) / (double)count,
        (double)(file_syncs() - syncs) / (double)count, failed);
    bench.stop = true;
    if (!sqlite)
        (void)pthread_join(beat, NULL);
    store_close(bench.store);
    return failed != 0;
}
