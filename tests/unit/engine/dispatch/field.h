/* field.h - a dispatcher with a real plan of a small configuration; nothing is sent. */
#pragma once

#include <fcntl.h>
#include <stdlib.h>

#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "engine/dispatch/dispatch.h"
#include "engine/dispatch/govern.h"
#include "engine/dispatch/limiter.h"
#include "folder.h"
#include "store/open.h"
#include "store/store.h"
#include "test.h"

enum { MEMORY = 512 /* parts that a lane keeps in memory */, MANY = 1200 };

static const char two_systems[] = "systems:\n"
                                  "  hub: { limits: { concurrency: 2 } }\n"
                                  "  shop: { limits: { concurrency: 2 } }\n"
                                  "gateways: { in: { kind: http } }\n"
                                  "endpoints:\n"
                                  "  one: { kind: http, url: \"http://x/\", system: hub, breaker: "
                                  "{ failures: 3, wait: 100ms } }\n"
                                  "  two: { kind: http, url: \"http://x/\", system: hub }\n"
                                  "  far: { kind: http, url: \"http://x/\", system: shop }\n"
                                  "routes:\n"
                                  "  - { name: all, do: [ { deliver: [one, two, far] } ] }\n";

/* ---- a plan, and parts of it ---- */

static inline bool make_endpoint(const struct settings *s, void **ret_self, struct err *err)
{
    static char self;

    (void)s;
    (void)err;
    *ret_self = &self;
    return true;
}

static const struct endpoint_type any_endpoint = { .kind = { .name = "http" },
                                                   .make = make_endpoint };
static const struct endpoint_type *const endpoints[] = { &any_endpoint, NULL };
static const struct service_type *const services[] = { NULL };
static const struct gateway_type *const gateways[] = { NULL };
static const struct connectors connectors = { gateways, services, endpoints };

static inline struct plan *plan_of(struct store *s, const char *text, int64_t version)
{
    static const struct config_options options = { .connectors = &registry };
    struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(str_of(text), "test", &options, &report);
    struct plan *p = NULL;
    struct err err = { 0 };

    if (c == NULL || !plan_build(c, version, &connectors, s, NULL, &p, &err))
        (void)printf("# %s\n", c == NULL ? report.problems.items[0].message : err.text);
    config_unref(c);
    config_report_done(&report);
    return p;
}

struct field {
    struct folder folder;
    struct store *store;
    struct plan *plan;
    struct govern *govern;
    struct limiter *limiter; /* without a thread */
    struct dispatch *dispatch;
    struct flight flight;
    struct leg parts[MANY];
    size_t used;
    struct rate_op *reserving;
    struct rate_row row;
    int changed, hungry;
    bool here;
    bool open;
};

static inline void on_changed(void *arg, int64_t endpoint, const struct breaker *b,
                              int64_t pause_until_us, const char *why, bool here)
{
    struct field *f = arg;

    f->here = here;
    (void)endpoint;
    (void)pause_until_us;
    (void)why;
    f->changed++;
    f->open = breaker_is_open(b);
}

static inline void on_ready(void *arg, int64_t system)
{
    (void)arg;
    (void)system;
}

/* The store gives a piece, whenever it is asked. */
static inline void on_reserve(void *arg, struct rate_op *op)
{
    ((struct field *)arg)->reserving = op;
}

static inline void reserve(struct field *f)
{
    struct rate_op *o = f->reserving;

    if (o == NULL)
        return;
    f->reserving = NULL;
    o->op.ok = true;
    o->mono_us = clock_mono_us();
    o->now_ns = o->mono_us * 1000;
    o->piece = o->last;
    o->granted = rate_reserve(&f->row, &o->rule, o->now_ns, &o->piece, &o->wait_until_ns);
    o->op.done(&o->op);
}

static inline void on_hungry(void *arg)
{
    ((struct field *)arg)->hungry++;
}

static inline struct field *field_new(void)
{
    struct field *f = calloc(1, sizeof *f);
    struct err err = { 0 };

    f->folder = folder_make();
    if (!store_open(&(struct store_options){ .data = f->folder.path, .area = "internal" },
                    &f->store, &err))
        (void)printf("# %s\n", err.text);
    f->plan = plan_of(f->store, two_systems, 1);
    f->govern = govern_new();
    f->limiter =
        limiter_new(&(struct limiter_calls){ .ready = on_ready, .reserve = on_reserve, .arg = f });
    f->dispatch = dispatch_new(f->govern, &(struct dispatch_calls){ .limiter = f->limiter,
                                                                    .changed = on_changed,
                                                                    .hungry = on_hungry,
                                                                    .arg = f });
    dispatch_use(f->dispatch, f->plan);
    f->flight.plan = f->plan;
    return f;
}

static inline void field_free(struct field *f)
{
    dispatch_free(f->dispatch);
    reserve(f);
    limiter_free(f->limiter);
    govern_free(f->govern);
    for (size_t i = 0; i < f->used; i++)
        plan_unref(f->parts[i].plan);
    plan_unref(f->plan);
    store_close(f->store);
    folder_done(&f->folder);
    free(f);
}

static inline int64_t word(struct field *f, enum name_kind kind, const char *name)
{
    int64_t id = 0;

    (void)name_find(f->store, kind, str_of(name), &id);
    return id;
}

static inline struct leg *leg(struct field *f, const char *system, const char *endpoint)
{
    struct leg *p = &f->parts[f->used++];

    p->flight = &f->flight;
    p->row.system = word(f, NAME_SYSTEM, system);
    p->row.endpoint = word(f, NAME_ENDPOINT, endpoint);
    p->began_us = clock_mono_us();
    return p;
}

static inline enum dispatch_answer offer(struct field *f, struct leg *p, unsigned *why)
{
    unsigned none;

    return dispatch_offer(f->dispatch, p, why != NULL ? why : &none);
}

static inline struct dispatch_next end(struct field *f, struct leg *p, enum verdict_kind kind)
{
    struct verdict v = { .kind = kind };
    struct dispatch_next next;

    (void)dispatch_ended(f->dispatch, p, &v, &next);
    return next;
}

static inline size_t count(const struct leg *p)
{
    size_t n = 0;

    for (; p != NULL; p = p->next)
        n++;
    return n;
}
