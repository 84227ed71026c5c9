/* bench_transfer.c - the transfer hub alone: 1 KiB bodies to one receiver, as fast as it goes.
 *
 *     bench_transfer URL [CONNECTIONS [SECONDS [FIELDS]]]
 *
 * FIELDS, 8 if left out, is the number of header fields that a delivery carries.  A receiver
 * is http_echo PORT.  Prints requests per second and the CPU time of this process for each.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/transfer/transfer.h"

enum { BODY = 1024, DEFAULT_CONNECTIONS = 64, DEFAULT_SECONDS = 5, DEFAULT_FIELDS = 8 };

struct lane {
    struct transfer t; /* first */
    struct http_out_request request;
    struct sending sending;
    char key[64];
};

static struct transfer_hub *hub;
static atomic_bool stopping;
static atomic_int running;
static int64_t answered, failed, number; /* of the transfer thread */
static struct transfer *again, **again_end = &again;

static void prepare(struct lane *l)
{
    int n = snprintf(l->key, sizeof l->key, "0193a5b0-0000-7000-8000-%012llx.out",
                     (unsigned long long)number++);

    for (size_t i = 0; i < l->request.field_count; i++)
        if (str_is(l->request.fields[i].name, "Idempotency-Key"))
            l->request.fields[i].value = str_mem(l->key, (size_t)n);
}

static void on_done(struct transfer *t)
{
    if (t->answer.reach == HTTP_OUT_ANSWERED && t->answer.status / 100 == 2)
        answered++;
    else if (failed++ == 0)
        printf("failed: %s (status %lld)\n", t->answer.failure, (long long)t->answer.status);
    if (atomic_load(&stopping)) {
        (void)atomic_fetch_sub(&running, 1);
        return;
    }
    prepare((struct lane *)t);
    *again_end = t;
    again_end = &t->next;
}

/* As the engine does: one list per round. */
static void on_round(void *arg)
{
    (void)arg;
    if (again == NULL)
        return;
    struct transfer *first = again, *last = (struct transfer *)again_end; /* next comes first */

    again = NULL;
    again_end = &again;
    transfer_submit(hub, first, last);
}

static int64_t cpu_us(void)
{
    struct rusage r;

    (void)getrusage(RUSAGE_SELF, &r);
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * CLOCK_S + r.ru_utime.tv_usec +
           r.ru_stime.tv_usec;
}

static const struct http_out_field fields[] = {
    { { "Idempotency-Key", 15 }, { "", 0 } },
    { { "Content-Type", 12 }, { "application/xml", 15 } },
    { { "Waybill-Document", 16 }, { "0193a5b0-0000-7000-8000-000000000000", 36 } },
    { { "Waybill-Sender", 14 }, { "acme", 4 } },
    { { "Waybill-Receiver", 16 }, { "salsify", 7 } },
    { { "Waybill-Type", 12 }, { "order", 5 } },
    { { "traceparent", 11 }, { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 55 } },
    { { "Authorization", 13 }, { "Bearer 0123456789abcdef0123456789abcdef", 39 } },
};

int main(int argc, char **argv)
{
    static char body[BODY];
    size_t connections = argc > 2 ? strtoul(argv[2], NULL, 10) : DEFAULT_CONNECTIONS;
    int64_t seconds = argc > 3 ? strtol(argv[3], NULL, 10) : DEFAULT_SECONDS;
    size_t field_count = argc > 4 ? strtoul(argv[4], NULL, 10) : DEFAULT_FIELDS;
    struct http_out_options options = { .timeout_us = INT64_C(30) * CLOCK_S,
                                        .connect_timeout_us = INT64_C(10) * CLOCK_S,
                                        .verify = true };
    struct transfer_options o = { .active_most = connections,
                                  .connections_most = connections,
                                  .round = on_round };
    struct err err = { 0 };

    if (argc < 2 || connections == 0 || field_count > sizeof fields / sizeof fields[0])
        return 2;
    memset(body, 'x', sizeof body);
    struct lane *lanes = xcalloc(connections, sizeof *lanes);

    if (!transfer_start(&o, &hub, &err))
        return 1;
    for (size_t i = 0; i < connections; i++) {
        struct lane *l = &lanes[i];

        l->request.method = STR("POST");
        l->request.url = str_of(argv[1]);
        memcpy(l->request.fields, fields, field_count * sizeof fields[0]);
        l->request.field_count = field_count;
        l->sending.bytes = str_mem(body, sizeof body);
        l->sending.size = BODY;
        l->t.options = &options;
        l->t.request = &l->request;
        l->t.sending = &l->sending;
        l->t.done = on_done;
        l->t.next = i + 1 < connections ? &lanes[i + 1].t : NULL;
        prepare(l);
    }
    atomic_store(&running, (int)connections);
    int64_t began_us = clock_mono_us(), cpu_before_us = cpu_us();

    transfer_submit(hub, &lanes[0].t, &lanes[connections - 1].t);
    clock_sleep_us(seconds * CLOCK_S);
    atomic_store(&stopping, true);
    while (atomic_load(&running) > 0)
        clock_sleep_us(CLOCK_MS);
    int64_t took_us = clock_mono_us() - began_us, used_us = cpu_us() - cpu_before_us;
    struct rusage r;

    (void)getrusage(RUSAGE_SELF, &r);
    transfer_stop(hub, 0);
    printf("%zu connections: %lld requests, %lld failed, %.0f/s, %.1f us CPU each, %ld KiB RSS\n",
           connections, (long long)answered, (long long)failed,
           (double)answered * CLOCK_S / (double)took_us, (double)used_us / (double)answered,
           r.ru_maxrss);
    free(lanes);
    return failed > 0;
}
