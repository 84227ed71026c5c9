#include "engine/transfer/transfer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/thread.h"
#include "engine/transfer/transfer_feed.h"
#include "engine/transfer/transfer_handle.h"

enum {
    EVENTS = 256,
    SOCKETS_FIRST = 256,
    REST_US = 60 * CLOCK_S, /* connections are closed after this long without work */
};

/* What epoll watches for libcurl.  A connection that libcurl parks for reuse stays registered:
 * mostly it is used again before an event arrives, which saves two system calls per request. */
struct sock {
    unsigned want, have; /* EPOLLIN, EPOLLOUT */
    bool own;            /* opened through on_opened(): its close is reported */
};

struct transfer_hub {
    struct transfer_options options;
    pthread_t thread;
    CURLM *multi;
    int epoll, wake;
    struct handle_host host;

    struct sock *socks; /* by descriptor */
    size_t sock_room, sock_count;
    int64_t due_us; /* libcurl's timer, monotonic; INT64_MAX: none */
    int64_t now_us, worked_us;

    struct profile *profiles[PROFILE_BUCKETS];
    size_t profile_count, idle_count;
    struct handle *active; /* active transfers, doubly linked */
    size_t active_count, over_count;
    struct transfer *waiting, **waiting_end;

    pthread_mutex_t mutex; /* guards the fields below */
    struct transfer *given, **given_end;
    struct feed *fed;
    struct drain *drained;
    bool asleep, stopping;
    int64_t stop_by_us;
};

/* ---- sockets and timers ---- */

static struct sock *sock_at(struct transfer_hub *h, int fd)
{
    size_t at = (size_t)fd;

    require(fd >= 0);
    if (at >= h->sock_room) {
        size_t room = h->sock_room * 2 > at ? h->sock_room * 2 : at + 1;

        h->socks = xrealloc(h->socks, room * sizeof h->socks[0]);
        memset(h->socks + h->sock_room, 0, (room - h->sock_room) * sizeof h->socks[0]);
        h->sock_room = room;
    }
    return &h->socks[at];
}

static void on_opened(void *arg, curl_socket_t fd)
{
    struct transfer_hub *h = arg;

    *sock_at(h, fd) = (struct sock){ .own = true };
    h->sock_count++;
}

static void transfer_on_closed(void *arg, curl_socket_t fd)
{
    struct transfer_hub *h = arg;

    require(sock_at(h, fd)->own);
    *sock_at(h, fd) = (struct sock){ 0 }; /* closing the last descriptor removes it from epoll */
    h->sock_count--;
}

/* libcurl's own descriptors, such as a resolver's, may be closed without a callback; our record of
 * what is in epoll is then wrong. */
static void watch(const struct transfer_hub *h, int fd, struct sock *s)
{
    struct epoll_event ev = { .events = s->want, .data.fd = fd };

    if (s->want == s->have)
        return;
    if (s->want == 0)
        (void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, fd, &ev);
    else if (s->have == 0)
        require(epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &ev) == 0 ||
                (errno == EEXIST && epoll_ctl(h->epoll, EPOLL_CTL_MOD, fd, &ev) == 0));
    else
        require(epoll_ctl(h->epoll, EPOLL_CTL_MOD, fd, &ev) == 0 ||
                (errno == ENOENT && epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &ev) == 0));
    s->have = s->want;
}

static int on_socket(CURL *e, curl_socket_t fd, int what, void *arg, void *sock)
{
    struct transfer_hub *h = arg;
    struct sock *s = sock_at(h, fd);

    (void)e, (void)sock;
    s->want = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        s->want |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        s->want |= EPOLLOUT;
    if (s->want != 0 || !s->own)
        watch(h, fd, s);
    return 0;
}

static int transfer_on_timer(CURLM *multi, long ms, void *arg)
{
    struct transfer_hub *h = arg;

    (void)multi;
    h->due_us = ms < 0 ? INT64_MAX : ms == 0 ? 0 : clock_mono_us() + ms * CLOCK_MS;
    return 0;
}

static void run_timer(struct transfer_hub *h)
{
    int running;

    if (h->due_us > 0 && (h->due_us == INT64_MAX || h->due_us > clock_mono_us()))
        return;
    h->due_us = INT64_MAX;
    require(curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running) == CURLM_OK);
}

static void run_event(struct transfer_hub *h, const struct epoll_event *ev)
{
    int fd = ev->data.fd, what = 0, running;
    struct sock *s = sock_at(h, fd);

    /* EPOLLERR and EPOLLHUP are reported whatever events are requested. */
    if (s->want != s->have &&
        (s->want == 0 || (ev->events & (s->want | EPOLLERR | EPOLLHUP)) == 0)) {
        watch(h, fd, s);
        return;
    }
    if ((ev->events & (EPOLLIN | EPOLLHUP)) != 0)
        what |= CURL_CSELECT_IN;
    if ((ev->events & EPOLLOUT) != 0)
        what |= CURL_CSELECT_OUT;
    if ((ev->events & EPOLLERR) != 0)
        what |= CURL_CSELECT_ERR;
    require(curl_multi_socket_action(h->multi, fd, what, &running) == CURLM_OK);
}

static bool may_send(void *arg, const struct transfer *t)
{
    const struct transfer_hub *h = arg;

    return h->options.may_send == NULL || h->options.may_send(h->options.arg, t);
}

/* ---- profiles and handles ---- */

static struct profile **bucket_of(struct transfer_hub *h, const struct http_out_options *o)
{
    uint64_t mixed = (uint64_t)(uintptr_t)o * UINT64_C(0x9e3779b97f4a7c15);

    return &h->profiles[mixed >> 57];
}
_Static_assert(PROFILE_BUCKETS == 128, "the upper 7 bits choose");

static void unlink_profile(struct transfer_hub *h, struct profile **at)
{
    struct profile *p = *at;

    *at = p->next;
    h->profile_count--;
    h->idle_count -= p->idle_count;
    if (p->active == 0) {
        profile_free(p);
        return;
    }
    while (p->idle != NULL) {
        struct handle *handle = p->idle;

        p->idle = handle->next;
        handle_free(handle);
    }
    p->idle_count = 0;
    p->stale = true; /* freed with its last transfer */
}

/* Endpoints come and go with configurations; drop the profiles that are not in use. */
static void forget_profiles(struct transfer_hub *h)
{
    for (size_t i = 0; i < PROFILE_BUCKETS; i++)
        for (struct profile **at = &h->profiles[i]; *at != NULL;)
            if ((*at)->active == 0)
                unlink_profile(h, at);
            else
                at = &(*at)->next;
}

static struct profile *find_profile(struct transfer_hub *h, const struct http_out_options *o)
{
    for (struct profile **at = bucket_of(h, o); *at != NULL; at = &(*at)->next) {
        if ((*at)->key != o)
            continue;
        if (profile_is(*at, o))
            return *at;
        unlink_profile(h, at);
        break;
    }
    if (h->profile_count >= PROFILES_MOST)
        forget_profiles(h);
    struct profile *p = profile_new(o), **at = bucket_of(h, o);

    p->next = *at;
    *at = p;
    h->profile_count++;
    return p;
}

static struct handle *take_handle(struct transfer_hub *h, const struct http_out_options *o)
{
    struct profile *p = find_profile(h, o);
    struct handle *handle = p->idle;

    if (handle != NULL) {
        p->idle = handle->next;
        p->idle_count--;
        h->idle_count--;
    } else {
        handle = handle_new(&h->host, p);
        require(handle != NULL);
    }
    p->active++;
    handle->prev = NULL;
    handle->next = h->active;
    if (h->active != NULL)
        h->active->prev = handle;
    h->active = handle;
    h->active_count++;
    return handle;
}

static void give_handle_back(struct transfer_hub *h, struct handle *handle)
{
    struct profile *p = handle->profile;

    if (handle->prev != NULL)
        handle->prev->next = handle->next;
    else
        h->active = handle->next;
    if (handle->next != NULL)
        handle->next->prev = handle->prev;
    h->active_count--;
    p->active--;
    if (p->stale || h->idle_count >= IDLE_MOST) {
        handle_free(handle);
        if (p->stale && p->active == 0)
            profile_free(p);
        return;
    }
    handle->next = p->idle;
    p->idle = handle;
    p->idle_count++;
    h->idle_count++;
}

/* ---- one transfer ---- */

static void conclude(struct transfer_hub *h, struct handle *handle)
{
    struct transfer *t = handle->transfer;

    t->took_us = clock_mono_us() - t->began_us;
    t->handle = NULL;
    t->next = NULL;
    t->done(t);
    handle_end(handle);
    give_handle_back(h, handle);
}

/* libcurl has finished the transfer; a pool thread may still be reading its body or putting its
 * answer. */
static void transfer_finish(struct transfer_hub *h, struct handle *handle, CURLcode rc)
{
    handle_answer(handle, rc);
    handle_drain(handle);
    if (handle_is_busy(handle)) {
        handle->over = true;
        h->over_count++;
        return;
    }
    conclude(h, handle);
}

static void transfer_transfer_start(struct transfer_hub *h, struct transfer *t)
{
    struct handle *handle = take_handle(h, t->options);

    t->handle = handle;
    t->began_us = h->now_us;
    t->sends = 0;
    if (!handle_begin(handle, t)) {
        transfer_finish(h, handle, CURLE_FAILED_INIT);
        return;
    }
    require(curl_multi_add_handle(h->multi, handle->easy) == CURLM_OK);
    if (handle->feed != NULL)
        feed_pull(handle->feed);
}

/* Ends a transfer that was never started: the node is stopping. */
static void transfer_refuse(struct transfer *t)
{
    t->answer = (struct http_out_answer){ .reach = HTTP_OUT_NOT_SENT,
                                          .failure = "the node is stopping",
                                          .now_us = clock_wall_us() };
    t->began_us = clock_mono_us();
    t->took_us = 0;
    t->sends = 0;
    t->next = NULL;
    t->done(t);
}

static void transfer_collect(struct transfer_hub *h)
{
    CURLMsg *msg;
    int left;

    while ((msg = curl_multi_info_read(h->multi, &left)) != NULL) {
        struct handle *handle;
        CURLcode rc = msg->data.result;

        require(msg->msg == CURLMSG_DONE);
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &handle);
        require(handle->magic == HANDLE_MAGIC);
        (void)curl_multi_remove_handle(h->multi, handle->easy);
        transfer_finish(h, handle, rc);
    }
}

/* ---- input from other threads ---- */

static void wake_up(const struct transfer_hub *h)
{
    uint64_t one = 1;

    while (write(h->wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void transfer_submit(struct transfer_hub *h, struct transfer *first, struct transfer *last)
{
    require(first != NULL && last != NULL);
    last->next = NULL;
    (void)pthread_mutex_lock(&h->mutex);
    *h->given_end = first;
    h->given_end = &last->next;
    bool wake = h->asleep;

    h->asleep = false;
    (void)pthread_mutex_unlock(&h->mutex);
    if (wake)
        wake_up(h);
}

/* On a thread of the pool. */
static void on_fed(void *arg, struct feed *f)
{
    struct transfer_hub *h = arg;

    (void)pthread_mutex_lock(&h->mutex);
    f->next = h->fed;
    h->fed = f;
    bool wake = h->asleep;

    h->asleep = false;
    (void)pthread_mutex_unlock(&h->mutex);
    if (wake)
        wake_up(h);
}

/* On a thread of the pool. */
static void on_drained(void *arg, struct drain *d)
{
    struct transfer_hub *h = arg;

    (void)pthread_mutex_lock(&h->mutex);
    d->next = h->drained;
    h->drained = d;
    bool wake = h->asleep;

    h->asleep = false;
    (void)pthread_mutex_unlock(&h->mutex);
    if (wake)
        wake_up(h);
}

/* One that libcurl has finished ends when no thread of the pool works for it any more. */
static void end_over(struct transfer_hub *h, struct handle *handle)
{
    handle_drain(handle);
    if (handle_is_busy(handle))
        return;
    h->over_count--;
    conclude(h, handle);
}

static void take_drained(struct transfer_hub *h, struct drain *d)
{
    struct handle *handle = d->handle;

    drain_returned(d);
    if (handle->over) {
        end_over(h, handle);
        return;
    }
    if (d->paused) {
        d->paused = false;
        (void)curl_easy_pause(handle->easy, CURLPAUSE_CONT);
    }
}

static void take_fed(struct transfer_hub *h, struct feed *f)
{
    struct handle *handle = f->handle;

    feed_returned(f);
    if (handle->over) {
        end_over(h, handle);
        return;
    }
    feed_pull(f);
    if (f->paused) {
        f->paused = false;
        (void)curl_easy_pause(handle->easy, CURLPAUSE_CONT);
    }
}

/* Takes everything submitted since the last round; true: the hub is stopping. */
static bool take_given(struct transfer_hub *h)
{
    (void)pthread_mutex_lock(&h->mutex);
    struct feed *fed = h->fed;
    struct drain *drained = h->drained;
    bool stopping = h->stopping;

    h->fed = NULL;
    h->drained = NULL;
    if (h->given != NULL) {
        *h->waiting_end = h->given;
        h->waiting_end = h->given_end;
        h->given = NULL;
        h->given_end = &h->given;
    }
    (void)pthread_mutex_unlock(&h->mutex);
    while (fed != NULL) {
        struct feed *f = fed;

        fed = f->next;
        take_fed(h, f);
    }
    while (drained != NULL) {
        struct drain *d = drained;

        drained = d->next;
        take_drained(h, d);
    }
    while (h->waiting != NULL && (stopping || h->active_count < h->options.active_most)) {
        struct transfer *t = h->waiting;

        h->waiting = t->next;
        if (h->waiting == NULL)
            h->waiting_end = &h->waiting;
        if (stopping)
            transfer_refuse(t);
        else
            transfer_transfer_start(h, t);
    }
    return stopping;
}

/* ---- the thread ---- */

/* The time-out for epoll_wait(); 0 when work is queued already. */
static int doze(struct transfer_hub *h)
{
    int64_t until = h->due_us;

    (void)pthread_mutex_lock(&h->mutex);
    h->asleep = h->given == NULL && h->fed == NULL && h->drained == NULL;
    if (!h->asleep)
        until = 0;
    if (h->stopping && h->stop_by_us < until && h->active_count > h->over_count)
        until = h->stop_by_us;
    (void)pthread_mutex_unlock(&h->mutex);
    if (until == 0)
        return 0;
    if (h->active_count == 0 && h->sock_count > 0 && h->worked_us + REST_US < until)
        until = h->worked_us + REST_US;
    if (until == INT64_MAX)
        return -1;
    int64_t wait_us = until - clock_mono_us();

    return wait_us <= 0 ? 0 : (int)((wait_us + CLOCK_MS - 1) / CLOCK_MS);
}

static void run_events(struct transfer_hub *h)
{
    struct epoll_event events[EVENTS];
    uint64_t count;
    int n = epoll_wait(h->epoll, events, EVENTS, doze(h));

    require(n >= 0 || errno == EINTR);
    (void)pthread_mutex_lock(&h->mutex);
    h->asleep = false;
    (void)pthread_mutex_unlock(&h->mutex);
    h->now_us = clock_mono_us();
    for (int i = 0; i < n; i++)
        if (events[i].data.fd == h->wake)
            (void)!read(h->wake, &count, sizeof count);
        else
            run_event(h, &events[i]);
}

static void open_multi(struct transfer_hub *h)
{
    h->multi = curl_multi_init();
    require(h->multi != NULL);
    (void)curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    (void)curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, transfer_on_timer);
    (void)curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    (void)curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)h->options.connections_most);
    h->due_us = INT64_MAX;
}

/* libcurl checks idle connections only when it opens new ones.  After REST_US without work, drop
 * the multi handle with its connections, sessions and idle handles. */
static void transfer_rest(struct transfer_hub *h)
{
    if (h->active_count > 0) {
        h->worked_us = h->now_us;
        return;
    }
    if (h->sock_count == 0 || h->now_us - h->worked_us < REST_US)
        return;
    forget_profiles(h);
    (void)curl_multi_cleanup(h->multi);
    open_multi(h);
}

static void cut_off(struct transfer_hub *h)
{
    struct handle *next;

    for (struct handle *handle = h->active; handle != NULL; handle = next) {
        next = handle->next;
        if (handle->over)
            continue;
        (void)curl_multi_remove_handle(h->multi, handle->easy);
        (void)snprintf(handle->failure, sizeof handle->failure, "the node is stopping");
        transfer_finish(h, handle, CURLE_ABORTED_BY_CALLBACK);
    }
}

static bool transfer_is_late(struct transfer_hub *h)
{
    (void)pthread_mutex_lock(&h->mutex);
    bool late = h->stop_by_us <= h->now_us;

    (void)pthread_mutex_unlock(&h->mutex);
    return late;
}

static bool transfer_is_over(struct transfer_hub *h)
{
    (void)pthread_mutex_lock(&h->mutex);
    bool empty = h->given == NULL && h->fed == NULL && h->drained == NULL;

    (void)pthread_mutex_unlock(&h->mutex);
    return empty && h->active_count == 0;
}

static void *hub_main(void *arg)
{
    struct transfer_hub *h = arg;
    bool stopping = false;

    h->worked_us = h->now_us = clock_mono_us();
    while (!stopping || !transfer_is_over(h)) {
        run_events(h);
        transfer_collect(h);
        stopping = take_given(h);
        run_timer(h);
        transfer_collect(h);
        transfer_rest(h);
        if (stopping && transfer_is_late(h))
            cut_off(h); /* before round(), which must see every end */
        if (h->options.round != NULL)
            h->options.round(h->options.arg);
    }
    return NULL;
}

/* ---- start and stop ---- */

static bool environment_has_proxy(const struct egress *egress)
{
    static const char *const names[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                         "ALL_PROXY" };

    if (egress == NULL || !egress->environment_proxy)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]) != NULL)
            return true;
    return false;
}

static void transfer_start_thread(struct transfer_hub *h)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_start(&h->thread, "transfer", hub_main, h);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool transfer_start(const struct transfer_options *options, struct transfer_hub **ret,
                    struct err *err)
{
    require(options->active_most > 0 && options->connections_most > 0);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_TRANSIENT, 0, "libcurl does not start");
    struct transfer_hub *h = NEW(struct transfer_hub);
    struct epoll_event ev = { .events = EPOLLIN };

    h->options = *options;
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ev.data.fd = h->wake;
    if (h->epoll < 0 || h->wake < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->wake, &ev) < 0) {
        (void)err_set(err, ERR_TRANSIENT, errno, "epoll: %s", strerror(errno));
        if (h->epoll >= 0)
            (void)close(h->epoll);
        if (h->wake >= 0)
            (void)close(h->wake);
        free(h);
        curl_global_cleanup();
        return false;
    }
    h->host =
        (struct handle_host){ .feeds = { .pool = options->pool, .back = on_fed, .arg = h },
                              .drains = { .pool = options->pool, .back = on_drained, .arg = h },
                              .has_proxy = environment_has_proxy(options->egress),
                              .egress = options->egress,
                              .may_send = may_send,
                              .opened = on_opened,
                              .closed = transfer_on_closed,
                              .arg = h };
    h->given_end = &h->given;
    h->waiting_end = &h->waiting;
    h->sock_room = SOCKETS_FIRST;
    h->socks = xcalloc(h->sock_room, sizeof h->socks[0]);
    h->stop_by_us = INT64_MAX;
    (void)pthread_mutex_init(&h->mutex, NULL);
    open_multi(h);
    transfer_start_thread(h);
    *ret = h;
    return true;
}

void transfer_stop(struct transfer_hub *h, int64_t grace_us)
{
    if (h == NULL)
        return;
    (void)pthread_mutex_lock(&h->mutex);
    h->stopping = true;
    h->stop_by_us = clock_mono_us() + grace_us;
    (void)pthread_mutex_unlock(&h->mutex);
    wake_up(h);
    (void)pthread_join(h->thread, NULL);
    require(h->given == NULL && h->waiting == NULL);
    forget_profiles(h);
    (void)curl_multi_cleanup(h->multi);
    (void)close(h->epoll);
    (void)close(h->wake);
    (void)pthread_mutex_destroy(&h->mutex);
    free(h->socks);
    free(h);
    curl_global_cleanup();
}
