#include "engine/walk/step.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "engine/flight/bytes.h"
#include "engine/flight/caught.h"
#include "engine/flight/step_io.h"
#include "engine/flight/tries.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/walk/caging.h"
#include "engine/walk/called.h"
#include "engine/walk/keyed.h"
#include "engine/walk/parts.h"
#include "store/store.h"

enum {
    DEATHS_MOST = 3, /* attempts, the last of which makes a dead letter */
    TURNS_MOST = 5,  /* processes that end before its turn */
    TURNS_WAIT_US = 1 * CLOCK_S
};

/* ---- a service that gets the whole document ---- */

static enum way run_whole(struct flight *f, const struct plan_step *s)
{
    struct service_failure failure = { .code = DEAD_SERVICE_FAILED };
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
    struct service_document d = step_document(f);
    int64_t from = clock_mono_us();
    struct err err = { 0 };

    if (!step_load(f, &err)) {
        outcome_read_failed(f, &err);
        return WAY_DEAD;
    }
    struct str in = buf_view(&f->walk.bytes->buf);

    fault_point_on(ROAD_STEP, in);
    if (!s->service->run(s->self, in, &d, &out, &failure))
        return step_dead(f, s, failure.code, clock_mono_us() - from, failure.message);
    f->step_count++;
    bool same = str_eq(buf_view(&out), in);

    return step_go_on(f, s, same ? f->walk.bytes : flight_add_made(f, s->name, &out), from);
}

/* ---- a service that streams ---- */

/* What may come out: as much as may come in, and never less than a service in memory may make. */
static int64_t stream_most(const struct flight *f)
{
    const struct plan_gateway *g = plan_gateway_find(f->plan, f->gateway);
    uint64_t most =
        g != NULL ? f->plan->config->gateways[g - f->plan->gateways].size_bytes : INT64_MAX;

    return most < SERVICE_BYTES_MOST ? SERVICE_BYTES_MOST
           : most > INT64_MAX        ? INT64_MAX
                                     : (int64_t)most;
}

/* The settlement of this run stores what a service answered and what was made of records; the next
 * run goes on from there.  It is no attempt. */
static enum way keep_first(struct flight *f)
{
    variants_keep(f);
    (void)snprintf(f->message, sizeof f->message,
                   "what was answered or read is stored before documents are made of it");
    outcome_delayed(f, road_now_us(f->road));
    return WAY_DEAD;
}

/* The step did not end well: it waits for another thread, the store failed, or it is the step. */
static enum way stream_failed(struct step_io *x, const struct plan_step *s,
                              const struct service_failure *failure, int64_t took_us)
{
    struct flight *f = x->flight;

    parts_drop(f);
    if (x->wants_thread) {
        f->walk.need = WALK_NEEDS_THREAD;
        return WAY_WAITS;
    }
    if (x->wants_kept)
        return keep_first(f);
    if (x->is_too_large)
        (void)err_set(&x->err, ERR_TRANSIENT, 0,
                      "what the step %.*s makes is too large to be made again here",
                      STR_ARG(s->name));
    if (x->err.kind != ERR_NONE) {
        outcome_read_failed(f, &x->err);
        return WAY_DEAD;
    }
    step_io_tell(x, s->name);
    return failure->later ? keyed_later(f, s, took_us, failure->message)
                          : step_dead(f, s, failure->code, took_us, failure->message);
}

/* The chain ends with the documents that the step made. */
static enum way parts_done(struct step_io *x, const struct plan_step *s, int64_t from_us)
{
    struct service_failure failure = { .code = DEAD_SERVICE_FAILED };
    struct flight *f = x->flight;

    if (!parts_end(f, &x->io, &failure))
        return stream_failed(x, s, &failure, clock_mono_us() - from_us);
    step_io_tell(x, s->name);
    f->step_count++;
    (void)snprintf(f->message, sizeof f->message, "made %lld document%s of it",
                   (long long)parts_count(f), parts_count(f) == 1 ? "" : "s");
    flight_note(f, TIMELINE_STEP, TIMELINE_NOTED, s->name, clock_mono_us() - from_us, f->message);
    f->message[0] = '\0';
    if (f->dry)
        parts_drop(f);
    return WAY_ENDS;
}

static enum way stream_done(struct step_io *x, const struct plan_step *s, int64_t from_us)
{
    struct flight *f = x->flight;
    struct service_failure none = { .code = DEAD_SERVICE_FAILED };
    struct variant *made;

    if (f->parts != NULL)
        return parts_done(x, s, from_us);
    if (x->is_none) {
        step_io_tell(x, s->name);
        return step_none(f, s, from_us);
    }
    f->step_count++;
    if (!step_io_take(x, s->name, &made)) {
        f->step_count--;
        return stream_failed(x, s, &none, -1);
    }
    if (s->service->keyed)
        keyed_made(f, s, made);
    if (s->cage != NULL && made != f->walk.bytes)
        made->is_costly = !f->reads_records;
    step_io_tell(x, s->name);
    return step_go_on(f, s, made, from_us);
}

static enum way run_stream(struct flight *f, const struct plan_step *s)
{
    struct service_failure failure = { .code = DEAD_SERVICE_FAILED };
    int64_t from = clock_mono_us();
    AUTO(step_io_done) struct step_io x;

    step_io_init(&x, f, s, stream_most(f), parts_begin);
    if (s->service->keyed) {
        step_hold_large(f); /* it gathers what it reads */
        keyed_open(&x, s);
    }
    if (!s->service->stream(s->self, &x.io, &failure))
        return stream_failed(&x, s, &failure, clock_mono_us() - from);
    return stream_done(&x, s, from);
}

/* ---- a service in a process of its own ---- */

/* Of a process that died, or of which another one was the death. */
static void forget_result(struct flight *f)
{
    parts_drop(f);
    step_io_done(&f->caged->io);
}

static enum way begin_caged(struct flight *f, const struct plan_step *s)
{
    struct caged *c = f->caged;
    struct err err = { 0 };

    if (!f->dry && !variant_rest(f, f->walk.bytes, &err)) {
        outcome_again(f, &err);
        return WAY_DEAD;
    }
    forget_result(f);
    step_io_init(&c->io, f, s, s->output_most > 0 ? s->output_most : stream_most(f), parts_begin);
    c->job = (struct cage_job){ .io = &c->io.io,
                                .ret_memory = f->caught != NULL ? &f->caught->memory : NULL };
    f->walk.need = WALK_NEEDS_CAGE;
    return WAY_WAITS;
}

void step_drop(struct flight *f)
{
    if (f->caged != NULL)
        step_io_done(&f->caged->io);
    f->caged = NULL;
    called_drop(f);
}

/* The process may have died of something else: twice it is tried again. */
static enum way caged_died(struct flight *f, const struct plan_step *s, int64_t took_us)
{
    const struct service_failure *failure = &f->caged->job.failure;

    forget_result(f);
    step_io_tell(&f->caged->io, s->name);
    if (f->dry || f->settle.task.attempts >= DEATHS_MOST)
        return step_dead(f, s, failure->code, took_us, failure->message);
    outcome_step_died(f, s->name, took_us, failure->message);
    return WAY_DEAD;
}

/* Another document ended its process, or none could be started.  That costs it nothing, but it does
 * not stay in memory for ever. */
static enum way caged_not_run(struct flight *f, const struct plan_step *s)
{
    const char *why = f->caged->job.failure.message;
    int64_t due = road_now_us(f->road) + TURNS_WAIT_US;

    if (++f->caged->turns < TURNS_MOST)
        return begin_caged(f, s);
    (void)snprintf(f->message, sizeof f->message, "the step %.60s was not run: %.400s", s->name.ptr,
                   why[0] != '\0' ? why : "its processes end before its turn");
    if (f->expires_us != 0 && due > f->expires_us)
        due = f->expires_us;
    outcome_delayed(f, due);
    return WAY_DEAD;
}

static enum way end_caged(struct flight *f, const struct plan_step *s)
{
    struct caged *c = f->caged;
    int64_t took = clock_mono_us() - c->from_us;

    switch (c->job.result) {
    case CAGE_DONE:
        return stream_done(&c->io, s, c->from_us);
    case CAGE_FAILED:
        return stream_failed(&c->io, s, &c->job.failure, took);
    case CAGE_DIED:
        return caged_died(f, s, took);
    case CAGE_NOT_RUN:
        break;
    }
    return caged_not_run(f, s);
}

/* A later step was put off (step_keep_made), and the chain runs again. */
static enum way use_made(struct flight *f, const struct plan_step *s,
                         const struct payload_source *bytes)
{
    int64_t from = clock_mono_us();
    struct variant *made;
    enum way way = step_take_kept(f, s, bytes, "not run again: what it made was kept", &made);

    return way == WAY_ON ? step_go_on(f, s, made, from) : way;
}

static enum way run_caged(struct flight *f, const struct plan_step *s)
{
    enum way way = WAY_WAITS;

    if (f->caged == NULL && !f->dry && f->batch == NULL) { /* the steps of a batch count anew */
        struct tries past = tries_asked(f, s->name, f->step_count + 1, TRIES_NEXT_RUN);

        if (past.has_bytes)
            return use_made(f, s, &past.bytes);
    }
    if (f->caged != NULL) {
        way = end_caged(f, s);
    } else {
        f->caged = ARENA_NEW(&f->arena, struct caged);
        f->caged->from_us = clock_mono_us();
        way = begin_caged(f, s);
    }
    while (way == WAY_WAITS && f->dry) { /* its caller may block */
        caging_run(f->road->caging, s, &f->caged->job);
        way = end_caged(f, s);
    }
    if (way != WAY_WAITS)
        step_drop(f);
    return way;
}

enum way step_run(struct flight *f, const struct plan_step *s)
{
    if (f->until_us != 0 && clock_mono_us() >= f->until_us)
        return step_dead(f, s, DEAD_BUDGET, -1, "its steps take too long");
    if (s->cage != NULL)
        return run_caged(f, s);
    if (s->service->http != NULL)
        return called_run(f, s);
    if (s->service->keyed) {
        enum way way;

        if (keyed_use_kept(f, s, &way))
            return way;
        way = keyed_enter(f, s);

        if (way != WAY_ON)
            return way;
    }
    return s->service->stream != NULL ? run_stream(f, s) : run_whole(f, s);
}
