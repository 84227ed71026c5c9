#include "base/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/require.h"

enum { LOOP_MAGIC = 0x6c6f6f70, PASSES = 16 };

struct list {
    struct loop_msg *first, *last;
};

struct loop {
    unsigned magic;
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t before_wait;
    pthread_t thread;
    char name[16];

    pthread_mutex_t lock; /* guards posted */
    struct list posted;

    struct list deferred; /* only used on the thread of the loop */
    struct loop_hook *hooks;
    struct loop_msg stop;
};

static _Thread_local const struct loop *current;

static void loop_list_add(struct list *to, struct loop_msg *msg)
{
    msg->next = NULL;
    if (to->first == NULL)
        to->first = msg;
    else
        to->last->next = msg;
    to->last = msg;
}

static void list_run(struct list *from)
{
    struct loop_msg *m = from->first;

    *from = (struct list){ 0 };
    while (m != NULL) {
        struct loop_msg *next = m->next; /* (1): fn may post m again or free it */

        m->fn(m);
        m = next;
    }
}

static void on_wake(uv_async_t *h)
{
    struct loop *l = h->data;
    struct list mine;

    require(l->magic == LOOP_MAGIC);
    pthread_mutex_lock(&l->lock);
    mine = l->posted;
    l->posted = (struct list){ 0 };
    pthread_mutex_unlock(&l->lock);
    list_run(&mine);
}

/* Deferred messages and hooks may defer more.  After PASSES passes the loop polls its events
 * before it goes on, so that endless deferred work does not starve them. */
static void on_before_wait(uv_prepare_t *h)
{
    struct loop *l = h->data;

    require(l->magic == LOOP_MAGIC);
    for (int pass = 0; pass < PASSES; pass++) {
        list_run(&l->deferred);
        for (struct loop_hook *k = l->hooks, *next; k != NULL; k = next) {
            next = k->next;
            k->fn(k);
        }
        if (l->deferred.first == NULL)
            return;
    }
    (void)uv_async_send(&l->wake); /* poll without blocking */
}

static void loop_on_stop(struct loop_msg *m)
{
    struct loop *l = container_of(m, struct loop, stop);

    uv_unref((uv_handle_t *)&l->wake);
}

static void *loop_run(void *arg)
{
    struct loop *l = arg;

    require(l->magic == LOOP_MAGIC);
    current = l;
    do {
        (void)uv_run(&l->uv, UV_RUN_DEFAULT);
        on_wake(&l->wake);
        on_before_wait(&l->before_wait);
    } while (uv_loop_alive(&l->uv));
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->before_wait, NULL);
    (void)uv_run(&l->uv, UV_RUN_DEFAULT);
    return NULL;
}

static int loop_start_thread(struct loop *l)
{
    sigset_t all, old;

    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGPROF);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&l->thread, NULL, loop_run, l);

    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0)
        (void)pthread_setname_np(l->thread, l->name);
    return rc;
}

static int base_loop_start(struct loop *l)
{
    int rc = uv_async_init(&l->uv, &l->wake, on_wake);

    if (rc < 0)
        return -rc;
    (void)uv_prepare_init(&l->uv, &l->before_wait);
    (void)uv_prepare_start(&l->before_wait, on_before_wait);
    uv_unref((uv_handle_t *)&l->before_wait);
    l->wake.data = l->before_wait.data = l;
    rc = loop_start_thread(l);
    if (rc != 0) {
        uv_close((uv_handle_t *)&l->wake, NULL);
        uv_close((uv_handle_t *)&l->before_wait, NULL);
        (void)uv_run(&l->uv, UV_RUN_DEFAULT);
    }
    return rc;
}

static void loop_free(struct loop *l)
{
    require(uv_loop_close(&l->uv) == 0); /* a user left a handle open */
    (void)pthread_mutex_destroy(&l->lock);
    l->magic = 0;
    free(l);
}

bool loop_start(const char *name, struct loop **ret_loop, struct err *err)
{
    struct loop *l = NEW(struct loop);
    size_t n = strlen(name);

    l->magic = LOOP_MAGIC;
    memcpy(l->name, name, n < sizeof l->name ? n : sizeof l->name - 1);
    (void)pthread_mutex_init(&l->lock, NULL);
    int rc = uv_loop_init(&l->uv);

    if (rc < 0) {
        (void)pthread_mutex_destroy(&l->lock);
        free(l);
        return err_set(err, ERR_TRANSIENT, -rc, "event loop: %s", uv_strerror(rc));
    }
    rc = base_loop_start(l);
    if (rc != 0) {
        loop_free(l);
        return err_set(err, ERR_TRANSIENT, rc, "event loop: %s", strerror(rc));
    }
    *ret_loop = l;
    return true;
}

void loop_stop(struct loop *l)
{
    if (l == NULL)
        return;
    require(current == NULL);
    l->stop.fn = loop_on_stop;
    loop_post(l, &l->stop);
    (void)pthread_join(l->thread, NULL);
    loop_free(l);
}

void loop_post(struct loop *l, struct loop_msg *msg)
{
    pthread_mutex_lock(&l->lock);
    bool was_empty = l->posted.first == NULL;

    loop_list_add(&l->posted, msg);
    /* Inside the lock: once it is free the loop may run the message and end. */
    if (was_empty)
        (void)uv_async_send(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

bool loop_is_current(const struct loop *l)
{
    return current == l;
}

uv_loop_t *loop_uv(struct loop *l)
{
    return &l->uv;
}

void loop_defer(struct loop *l, struct loop_msg *msg)
{
    require(current == l);
    loop_list_add(&l->deferred, msg);
}

void loop_at_round_end(struct loop *l, struct loop_hook *hook)
{
    struct loop_hook **at = &l->hooks;

    require(current == l);
    while (*at != NULL)
        at = &(*at)->next;
    hook->next = NULL;
    *at = hook;
}

void loop_unhook(struct loop *l, struct loop_hook *hook)
{
    require(current == l);
    for (struct loop_hook **at = &l->hooks; *at != NULL; at = &(*at)->next)
        if (*at == hook) {
            *at = hook->next;
            return;
        }
}
