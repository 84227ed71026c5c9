#include "app/front.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/http_api.h"
#include "app/registry.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/json.h"
#include "base/require.h"
#include "core/config.h"
#include "core/web/http_user.h"
#include "engine/intake/intake.h"

enum { OPEN_MOST = 16 };

struct front {
    _Atomic bool is_open; /* the rest below does not change any more */
    pthread_mutex_t mutex;
    char why[200]; /* under the mutex: why it waits */
    bool space;

    const struct config_networks *monitors;
    struct http_api *api;
    struct {
        const struct gateway_type *type;
        void *self;
    } open[OPEN_MOST];
    size_t count;
};

struct front *front_new(const struct config_networks *monitors)
{
    struct front *f = NEW(struct front);

    f->monitors = monitors;
    (void)pthread_mutex_init(&f->mutex, NULL);
    return f;
}

void front_wait(struct front *f, const char *why, bool space)
{
    (void)pthread_mutex_lock(&f->mutex);
    (void)snprintf(f->why, sizeof f->why, "%s", why);
    f->space = space;
    (void)pthread_mutex_unlock(&f->mutex);
}

void front_open(struct front *f, struct intake *intake, struct http_api *api)
{
    const struct gateway_type *t;

    f->api = api;
    for (size_t i = 0; (t = registry.gateways[i]) != NULL; i++) {
        if (t->path == NULL)
            continue;
        require(f->count < OPEN_MOST);
        f->open[f->count].type = t;
        f->open[f->count++].self = t->open(intake, &intake_port);
    }
    atomic_store(&f->is_open, true);
}

void front_free(struct front *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->count; i++)
        f->open[i].type->close(f->open[i].self);
    free(f);
}

/* ---- while it waits ---- */

/* why NULL: the client is not told. */
static void answer_not_ready(struct http_request *r, const char *why)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    struct json_out j = { .to = &text };

    json_open(&j, '{');
    json_key(&j, "ready");
    json_bool(&j, false);
    if (why != NULL) {
        json_key(&j, "reasons");
        json_open(&j, '[');
        json_z(&j, why);
        json_close(&j, ']');
    }
    json_close(&j, '}');
    buf_putc(&text, '\n');
    http_answer(r, 503, STR("Retry-After: 2\r\n"), STR("application/json"), buf_view(&text));
}

static void front_answer(struct front *f, struct http_request *r)
{
    char why[sizeof f->why];

    (void)pthread_mutex_lock(&f->mutex);
    bool space = f->space;

    memcpy(why, f->why, sizeof why);
    (void)pthread_mutex_unlock(&f->mutex);
    if (str_is(r->path, "/healthz"))
        http_answer(r, 200, STR(""), STR("text/plain"), STR("ok\n"));
    else if (str_is(r->path, "/readyz"))
        answer_not_ready(r,
                         http_peer_is_in(r, f->monitors->items, f->monitors->count) ? why : NULL);
    else
        http_answer_error(r, space ? 507 : 503, STR("Retry-After: 2\r\n"),
                          space ? "no_space" : "store_unreachable",
                          "This node has not started yet. Come back later.");
}

/* ---- the handler ---- */

/* The gateway type of a path by its number in `open`; f->count: none. */
static size_t front_gateway_of(const struct front *f, struct str path)
{
    size_t i = 0;

    while (i < f->count && !str_starts(path, str_of(f->open[i].type->path)))
        i++;
    return i;
}

bool front_is_reserved(void *front, struct str path)
{
    const struct front *f = front;

    return !atomic_load_explicit(&f->is_open, memory_order_acquire) ||
           front_gateway_of(f, path) == f->count;
}

bool front_is_gateway(struct str path)
{
    const struct gateway_type *t;

    for (size_t i = 0; (t = registry.gateways[i]) != NULL; i++)
        if (t->path != NULL && str_starts(path, str_of(t->path)))
            return true;
    return false;
}

static void front_on_head(struct http_request *r, void *arg)
{
    struct front *f = arg;

    if (!atomic_load_explicit(&f->is_open, memory_order_acquire)) {
        front_answer(f, r);
        return;
    }
    size_t i = front_gateway_of(f, r->path);

    if (i < f->count)
        f->open[i].type->handler->head(r, f->open[i].self);
    else
        http_api_handler.head(r, f->api);
}

static const struct http_handler *taker(struct http_request *r)
{
    return ((struct http_user *)r->user)->handler;
}

static void front_on_body(struct http_request *r, struct str bytes)
{
    taker(r)->body(r, bytes);
}

static void front_on_end(struct http_request *r)
{
    taker(r)->end(r);
}

static void front_on_gone(struct http_request *r)
{
    taker(r)->gone(r);
}

static void front_on_drained(struct http_request *r)
{
    taker(r)->drained(r);
}

static void front_on_delayed(struct http_request *r)
{
    taker(r)->delayed(r);
}

const struct http_handler front_handler = {
    .head = front_on_head,
    .body = front_on_body,
    .end = front_on_end,
    .gone = front_on_gone,
    .drained = front_on_drained,
    .delayed = front_on_delayed,
};
