/* http_echo.c - the HTTP server alone: reads every body, answers 202, stores nothing.
 *
 *     http_echo PORT [LOOPS [direct|posted [CERT KEY]]]
 *
 * direct: the answer is given when the body ends.  posted: as in the product, a
 * round's requests go to another thread as one batch, and its answers come back
 * as one list.  Runs until SIGTERM or SIGINT and prints its counters then.
 * Compare the CPU time of the process (/proc/PID/stat) with the number of requests.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/http_server.h"

enum { LOOPS = 16 };

static const struct str answer = { "{\"document\":\"0193a5b0-0000-7000-8000-000000000000\"}", 51 };
static const struct str location = {
    "Location: /documents/0193a5b0-0000-7000-8000-000000000000\r\n", 59
};

struct item {
    struct loop_msg msg; /* first */
    struct http_request *r;
    struct lane *lane;
};

/* What one loop has for the other thread. */
struct lane {
    struct loop_hook hook; /* first */
    struct loop_msg start;
    struct loop *loop;
    struct loop_msg *first, *last; /* this round's, of the loop */
    struct loop_msg *ready, *end;  /* handed over, under lock   */
    struct item *spare;
};

static struct lane lanes[LOOPS];
static size_t lane_count;
static bool posted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static bool waiting;

static void on_answer(struct loop_msg *m)
{
    struct item *i = (struct item *)m;

    if (i->r != NULL)
        http_answer(i->r, 202, location, STR("application/json"), answer);
    i->msg.next = (struct loop_msg *)i->lane->spare;
    i->lane->spare = i;
}

static void on_round(struct loop_hook *h)
{
    struct lane *l = (struct lane *)h;

    if (l->first == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (l->ready == NULL)
        l->ready = l->first;
    else
        l->end->next = l->first;
    l->end = l->last;
    bool wake = waiting;

    pthread_mutex_unlock(&lock);
    if (wake)
        (void)pthread_cond_signal(&work);
    l->first = l->last = NULL;
}

static void on_lane(struct loop_msg *m)
{
    struct lane *l = (struct lane *)((char *)m - offsetof(struct lane, start));

    l->hook.fn = on_round;
    loop_at_round_end(l->loop, &l->hook);
}

static void *answer_all(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    for (;;) {
        bool any = false;

        for (size_t i = 0; i < lane_count; i++) {
            struct loop_msg *m = lanes[i].ready, *last = lanes[i].end;

            if (m == NULL)
                continue;
            any = true;
            lanes[i].ready = NULL;
            pthread_mutex_unlock(&lock);
            for (struct loop_msg *next; m != last; m = next) {
                next = m->next; /* it is the loop's from here on */
                loop_post(lanes[i].loop, m);
            }
            loop_post(lanes[i].loop, last);
            pthread_mutex_lock(&lock);
        }
        if (any)
            continue;
        waiting = true;
        (void)pthread_cond_wait(&work, &lock);
        waiting = false;
    }
    return NULL;
}

static struct lane *lane_of(const struct http_request *r)
{
    size_t i = 0;

    while (lanes[i].loop != http_loop(r))
        i++;
    return &lanes[i];
}

static void on_head(struct http_request *r, void *arg)
{
    (void)arg;
    http_read_body(r);
}

static void on_body(struct http_request *r, struct str bytes)
{
    (void)r;
    (void)bytes;
}

static void on_end(struct http_request *r)
{
    if (!posted) {
        http_answer(r, 202, location, STR("application/json"), answer);
        return;
    }
    struct lane *l = lane_of(r);
    struct item *i = l->spare;

    if (i != NULL)
        l->spare = (struct item *)i->msg.next;
    else
        i = NEW(struct item);
    *i = (struct item){ .msg.fn = on_answer, .r = r, .lane = l };
    r->user = i;
    if (l->first == NULL)
        l->first = &i->msg;
    else
        l->last->next = &i->msg;
    l->last = &i->msg;
}

static void on_gone(struct http_request *r)
{
    struct item *i = r->user;

    if (i != NULL)
        i->r = NULL;
}

static const struct http_handler handler = {
    .head = on_head, .body = on_body, .end = on_end, .gone = on_gone
};

static bool serve(uint16_t port, struct tls_context *tls, const sigset_t *quit, struct err *err)
{
    struct loop *loops[LOOPS];
    struct http_server *s;
    struct http_server_options o = { .host = "127.0.0.1",
                                     .port = port,
                                     .tls = tls,
                                     .handler = &handler,
                                     .limits = HTTP_LIMITS_DEFAULT };
    struct http_stats got;
    pthread_t thread;
    int sig;

    for (size_t i = 0; i < lane_count; i++) {
        if (!loop_start("io", &loops[i], err))
            return false;
        lanes[i].loop = loops[i];
        lanes[i].start.fn = on_lane;
        loop_post(loops[i], &lanes[i].start);
    }
    if (!http_server_start(&o, loops, lane_count, &s, err))
        return false;
    if (posted && pthread_create(&thread, NULL, answer_all, NULL) != 0)
        return err_set(err, ERR_TRANSIENT, 0, "no thread");
    fprintf(stderr, "port %d\n", http_server_port(s));
    (void)sigwait(quit, &sig);
    http_server_stats(s, &got);
    fprintf(stderr, "requests %llu connections %llu in %llu out %llu\n",
            (unsigned long long)got.requests, (unsigned long long)got.accepted,
            (unsigned long long)got.bytes_in, (unsigned long long)got.bytes_out);
    http_server_stop(s, 1000);
    http_server_free(s);
    return true;
}

int main(int argc, char **argv)
{
    struct tls_context *tls = NULL;
    struct err err = { 0 };
    sigset_t quit;
    uint64_t port = 0, n = 1;

    if (argc < 2 || !str_to_u64(str_of(argv[1]), &port) || port > UINT16_MAX ||
        (argc > 2 && !str_to_u64(str_of(argv[2]), &n)) || n < 1 || n > LOOPS) {
        fprintf(stderr, "usage: %s PORT [LOOPS [direct|posted [CERT KEY]]]\n", argv[0]);
        return 2;
    }
    lane_count = (size_t)n;
    posted = argc > 3 && strcmp(argv[3], "posted") == 0;
    (void)sigemptyset(&quit);
    (void)sigaddset(&quit, SIGTERM);
    (void)sigaddset(&quit, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &quit, NULL);
    if ((argc > 5 && !tls_context_open(argv[4], argv[5], &tls, &err)) ||
        !serve((uint16_t)port, tls, &quit, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tls_context_close(tls);
    return 0;
}
