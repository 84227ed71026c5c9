/* send_one.c - one document to one HTTP endpoint, without an engine around it.
 *
 *     send_one ENDPOINT [COUNT [SIZE [once]]]
 *
 * ENDPOINT is its part of a configuration, as YAML: "{ kind: http, url: 'http://...' }".  Sends
 * COUNT times, one after the other, SIZE bytes (over 1 MiB: in pieces, as large documents go), and
 * prints one JSON object per attempt: reach, status, sends, verdict, retry_after_us, took_ms,
 * message.  `once`: never twice in one attempt (engine/transfer/transfer.h).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "engine/threads/pool.h"
#include "engine/transfer/transfer.h"

enum { ARENA = 256 << 20, PIECE = 256 << 10, WHOLE_MOST = 1 << 20 };

struct document {
    char *bytes;
    size_t size, at;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool ended;
static void *endpoint;
static struct verdict verdict;
static enum http_out_reach reach;

static void on_done(struct transfer *t)
{
    endpoint_http.http->judge(endpoint, &t->answer, &verdict);
    reach = t->answer.reach;
    (void)pthread_mutex_lock(&mutex);
    ended = true;
    (void)pthread_cond_signal(&changed);
    (void)pthread_mutex_unlock(&mutex);
}

static bool next_piece(void *arg, struct str *ret, struct err *err)
{
    struct document *d = arg;
    size_t left = d->size - d->at, n = left < PIECE ? left : PIECE;

    (void)err;
    *ret = str_mem(d->bytes + d->at, n);
    d->at += n;
    return true;
}

static bool make_endpoint(const char *yaml, struct arena *a)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings settings = { .node = yaml_load(str_of(yaml), a, &problems),
                                 .common = grammar_endpoint,
                                 .own = endpoint_http.kind.keys,
                                 .arena = a };
    struct err err = { 0 };
    bool ok = settings.node != NULL && endpoint_http.make(&settings, &endpoint, &err);

    if (!ok)
        (void)fprintf(stderr, "the endpoint cannot be made: %s\n", err.text);
    problem_list_done(&problems);
    return ok;
}

static void print_attempt(const struct transfer *t)
{
    static const char *const reaches[] = { "answered", "not_sent", "unclear", "bad_body" };
    static const char *const kinds[] = {
        [VERDICT_DELIVERED] = "delivered", [VERDICT_RETRY] = "retry",
        [VERDICT_UNREACHED] = "unreached", [VERDICT_CREDENTIAL] = "credential",
        [VERDICT_STRANGE] = "strange",     [VERDICT_DOUBT] = "doubt",
        [VERDICT_REJECTED] = "rejected",   [VERDICT_FAILED] = "failed",
    };

    for (char *c = verdict.message; *c != '\0'; c++)
        if (*c == '"' || *c == '\\')
            *c = '\'';
    printf("{\"reach\":\"%s\",\"status\":%lld,\"sends\":%u,\"verdict\":\"%s\","
           "\"retry_after_us\":%lld,\"took_ms\":%lld,\"message\":\"%s\"}\n",
           reaches[reach], (long long)verdict.status, t->sends, kinds[verdict.kind],
           (long long)verdict.retry_after_us, (long long)t->took_us / CLOCK_MS, verdict.message);
}

static bool send_it(struct transfer_hub *h, struct document *d, bool once)
{
    static const struct facts facts = { .sender = { "acme", 4 },
                                        .receiver = { "salsify", 7 },
                                        .type = { "order", 5 } };
    struct arena a = ARENA_INIT(1 << 20);
    struct http_out_request request;
    struct sending s = { .document = STR("0193a5b0-0000-7000-8000-000000000000"),
                         .delivery = STR("0193a5b0-0000-7000-8000-000000000000.out"),
                         .facts = &facts,
                         .ctype = STR("text/plain"),
                         .size = (int64_t)d->size };
    struct transfer t = { .options = endpoint_http.http->options(endpoint),
                          .request = &request,
                          .sending = &s,
                          .once = once,
                          .done = on_done };

    d->at = 0;
    if (d->size > WHOLE_MOST) {
        s.next = next_piece;
        s.next_arg = d;
    } else {
        s.bytes = str_mem(d->bytes, d->size);
    }
    bool ok = endpoint_http.http->prepare(endpoint, &s, &a, &request, &verdict);

    if (ok) {
        ended = false;
        transfer_submit(h, &t, &t);
        (void)pthread_mutex_lock(&mutex);
        while (!ended)
            (void)pthread_cond_wait(&changed, &mutex);
        (void)pthread_mutex_unlock(&mutex);
    }
    print_attempt(&t);
    arena_done(&a);
    return ok;
}

int main(int argc, char **argv)
{
    struct arena a = ARENA_INIT(ARENA);
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    struct document d = { .size = argc > 3 ? strtoul(argv[3], NULL, 10) : 100 };
    struct transfer_options o = { .active_most = 8, .connections_most = 8, .pool = pool_new(2) };
    struct transfer_hub *h;
    struct err err = { 0 };

    if (argc < 2 || !make_endpoint(argv[1], &a) || !transfer_start(&o, &h, &err))
        return 2;
    d.bytes = xmalloc(d.size + 1);
    memset(d.bytes, 'x', d.size);
    for (long i = 0; i < count; i++)
        (void)send_it(h, &d, argc > 4);
    transfer_stop(h, 0);
    pool_free(o.pool);
    free(d.bytes);
    endpoint_http.unmake(endpoint);
    arena_done(&a);
    return 0;
}
