#include "app/front.h"

#include <stdlib.h>

#include "admin/http_api.h"
#include "app/registry.h"
#include "base/alloc.h"
#include "base/require.h"
#include "core/http_user.h"
#include "engine/intake/intake.h"

enum { OPEN_MOST = 16 };

struct front {
    struct http_api *api;
    struct {
        const struct gateway_type *type;
        void *self;
    } open[OPEN_MOST];
    size_t count;
};

struct front *front_new(struct intake *intake, struct http_api *api)
{
    struct front *f = NEW(struct front);
    const struct gateway_type *t;

    f->api = api;
    for (size_t i = 0; (t = registry.gateways[i]) != NULL; i++) {
        if (t->path == NULL)
            continue;
        require(f->count < OPEN_MOST);
        f->open[f->count].type = t;
        f->open[f->count++].self = t->open(intake, &intake_port);
    }
    return f;
}

void front_free(struct front *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->count; i++)
        f->open[i].type->close(f->open[i].self);
    free(f);
}

static void front_on_head(struct http_request *r, void *arg)
{
    struct front *f = arg;

    for (size_t i = 0; i < f->count; i++)
        if (str_starts(r->path, str_of(f->open[i].type->path))) {
            f->open[i].type->handler->head(r, f->open[i].self);
            return;
        }
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

const struct http_handler front_handler = {
    .head = front_on_head,
    .body = front_on_body,
    .end = front_on_end,
    .gone = front_on_gone,
    .drained = front_on_drained,
};
