/* bench_store - how fast the store alone takes documents in.
 *
 *     bench_store -d sqlite FOLDER | -d postgres ADDRESS [batch [keyed [seconds [senders
 * [settle]]]]]
 *
 * Each sender hands over `batch` documents of 1 KiB and waits until all are durable; with
 * settle 1 it then settles them as delivered.  Prints documents a second, the CPU time of
 * this process for each, and its syncs; and, measured in the writers, what run() of accept
 * and of settle took for each document. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/require.h"
#include "store/kernel/node.h"
#include "store/kernel/store_state.h"
#include "store/open.h"
#include "store/road/accept.h"
#include "store/road/settle.h"
#include "store/store.h"

enum { BODY = 1024, SENDERS_MOST = 16 };
#define DAY_US (INT64_C(86400) * CLOCK_S)

static struct {
    struct store *store;
    long batch, keyed, seconds, senders, settle;
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
    struct settle_op settle;
    struct sender *sender;
    char body[BODY];
};

/* The verbs as they are, with a clock around them. */
static struct timed {
    const struct store_verb *inner;
    _Atomic int64_t us, count;
} timed_accept = { .inner = &accept_verb }, timed_settle = { .inner = &settle_verb };

static bool run_timed(struct timed *t, struct writer *w, struct store_op **ops, size_t count,
                      struct err *err)
{
    int64_t from = clock_mono_us();
    bool ok = t->inner->run(w, ops, count, err);

    t->us += clock_mono_us() - from;
    t->count += (int64_t)count;
    return ok;
}

static bool accept_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    return run_timed(&timed_accept, w, ops, count, err);
}

static bool settle_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    return run_timed(&timed_settle, w, ops, count, err);
}

static void accept_committed(struct writer *w, struct store_op **ops, size_t count)
{
    accept_verb.committed(w, ops, count);
}

static void settle_committed(struct writer *w, struct store_op **ops, size_t count)
{
    settle_verb.committed(w, ops, count);
}

static const struct store_verb accept_timed = { .name = "accept",
                                                .run = accept_run,
                                                .committed = accept_committed },
                               settle_timed = { .name = "settle",
                                                .run = settle_run,
                                                .committed = settle_committed };

static void one_done(struct store_op *op)
{
    struct one *o = (struct one *)op;

    o->sender->failed += !op->ok;
    (void)sem_post(&o->sender->done);
}

static void settle_done(struct store_op *op)
{
    struct one *o = (struct one *)((char *)op - offsetof(struct one, settle));

    o->sender->failed += !op->ok || !o->settle.over;
    (void)sem_post(&o->sender->done);
}

static void make(struct one *o, struct sender *me)
{
    o->sender = me;
    memset(o->body, 'x', sizeof o->body);
    chance_bytes(o->body, 16);
    o->accept = (struct accept_op){ .op = { .verb = &accept_timed, .done = one_done },
                                    .gateway = bench.gateway,
                                    .config = 1,
                                    .received_us = clock_wall_us(),
                                    .size = BODY,
                                    .body = str_mem(o->body, BODY),
                                    .ctype = STR("application/xml"),
                                    .has_key = bench.keyed != 0,
                                    .claim_wanted = bench.settle != 0,
                                    .key_period_us = DAY_US };
    o->accept.sha256 = digest_of(o->accept.body);
    if (bench.keyed != 0)
        chance_bytes(o->accept.key.bytes, sizeof o->accept.key.bytes);
}

static void settle_all(struct one *ops, struct sender *me, struct str timeline)
{
    for (long i = 0; i < bench.batch; i++) {
        ops[i].settle = (struct settle_op){ .op = { .verb = &settle_timed, .done = settle_done },
                                            .task = ops[i].accept.task,
                                            .doc = ops[i].accept.num,
                                            .has_facts = true,
                                            .sender = 1,
                                            .receiver = 2,
                                            .type = 3,
                                            .route = 4,
                                            .facts = STR("order=4711"),
                                            .timeline = timeline,
                                            .end = SETTLE_OVER,
                                            .state = DOCUMENT_DELIVERED,
                                            .keep_days = 45 };
        if (i > 0)
            ops[i - 1].settle.op.next = &ops[i].settle.op;
    }
    require(writers_submit(store_writers(bench.store), &ops[0].settle.op,
                           &ops[bench.batch - 1].settle.op, (size_t)bench.batch));
    for (long i = 0; i < bench.batch; i++)
        (void)sem_wait(&me->done);
}

/* As a document has that was extracted, routed and delivered. */
static void write_timeline(struct buf *to)
{
    for (int i = 0; i < 3; i++)
        timeline_add(to, &(struct timeline_line){ .at_us = clock_wall_us(),
                                                  .node = 1,
                                                  .stage = TIMELINE_EXTRACT + i,
                                                  .took_us = 100,
                                                  .config = 1,
                                                  .what = STR("salsify-api") });
}

static void *sender_main(void *arg)
{
    struct sender *me = arg;
    struct one *ops = xcalloc((size_t)bench.batch, sizeof *ops);
    AUTO(buf_done) struct buf timeline = BUF_INIT(4096);

    write_timeline(&timeline);

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
        if (bench.settle != 0)
            settle_all(ops, me, buf_view(&timeline));
    }
    free(ops);
    return NULL;
}

static void *beat_main(void *arg)
{
    struct err err = { 0 };
    struct db *db;
    int64_t sent_us;

    (void)arg;
    require(store_connect(bench.store, false, &db, &err));
    while (!bench.stop) {
        require(node_beat(bench.store, db, &sent_us, &err));
        node_renew(bench.store, sent_us);
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
                              "[batch [keyed [seconds [senders [settle]]]]]\n");
        return false;
    }
    bench.batch = argc > 4 ? strtol(argv[4], NULL, 10) : 100;
    bench.keyed = argc > 5 ? strtol(argv[5], NULL, 10) : 0;
    bench.seconds = argc > 6 ? strtol(argv[6], NULL, 10) : 4;
    bench.senders = argc > 7 ? strtol(argv[7], NULL, 10) : 4;
    bench.settle = argc > 8 ? strtol(argv[8], NULL, 10) : 0;
    require(bench.batch > 0 && bench.senders > 0 && bench.senders <= SENDERS_MOST);
    if (store_open(&o, &bench.store, &err) &&
        name_add(bench.store, NAME_GATEWAY, STR("orders"), &bench.gateway, &err) &&
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
    printf("run() in the writers: accept %.2f us/doc", (double)timed_accept.us / (double)count);
    if (bench.settle != 0)
        printf(", settle %.2f us/doc", (double)timed_settle.us / (double)count);
    printf("\n");
    bench.stop = true;
    if (!sqlite)
        (void)pthread_join(beat, NULL);
    store_close(bench.store);
    return failed != 0;
}
