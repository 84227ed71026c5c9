#include "engine/flight/flight.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/head.h"
#include "engine/flight/tries.h"
#include "engine/tally/ways.h"
#include "store/payload/payload.h"
#include "store/search/document.h"
#include "store/store.h"

enum {
    STAGES_MOST = 4 << 10,
    STAGE_MOST = 100,
    STOCK_MOST = 256,
    BODY_KEEP = 8 << 10,
    PARTS_FIRST = 4,
    PART_BYTES_MOST = 1 << 20
};

/* ---- the stock ---- */

struct flight_stock *flight_stock_new(struct store *store, struct ways *ways, struct road *road)
{
    struct flight_stock *s = NEW(struct flight_stock);

    *s = (struct flight_stock){ .store = store, .ways = ways, .road = road };
    (void)pthread_mutex_init(&s->large, NULL);
    (void)pthread_mutex_init(&s->peeking, NULL);
    (void)pthread_mutex_init(&s->computing, NULL);
    (void)pthread_mutex_init(&s->mutex, NULL);
    return s;
}

static void destroy(struct flight *f)
{
    arena_done(&f->arena);
    buf_done(&f->received.buf);
    buf_done(&f->timeline);
    buf_done(&f->stages);
    free(f);
}

void flight_stock_free(struct flight_stock *s)
{
    if (s == NULL)
        return;
    for (struct flight *f = s->idle, *next; f != NULL; f = next) {
        next = f->next;
        destroy(f);
    }
    free(s);
}

static struct flight *take_idle(struct flight_stock *s)
{
    (void)pthread_mutex_lock(&s->mutex);
    struct flight *f = s->idle;

    if (f != NULL) {
        s->idle = f->next;
        s->idle_count--;
    }
    (void)pthread_mutex_unlock(&s->mutex);
    return f;
}

static bool put_idle(struct flight_stock *s, struct flight *f)
{
    (void)pthread_mutex_lock(&s->mutex);
    bool keep = s->idle_count < STOCK_MOST;

    if (keep) {
        f->next = s->idle;
        s->idle = f;
        s->idle_count++;
    }
    (void)pthread_mutex_unlock(&s->mutex);
    return keep;
}

struct flight *flight_new(struct flight_stock *s)
{
    struct flight *f = take_idle(s);

    if (f == NULL) {
        f = NEW(struct flight);
        f->arena = (struct arena)ARENA_INIT(16 << 20);
        f->timeline = (struct buf)BUF_INIT(TIMELINE_MOST);
        f->stages = (struct buf)BUF_INIT(STAGES_MOST);
        f->received.buf = (struct buf)BUF_INIT(SERVICE_BYTES_MOST);
    }
    struct arena arena = f->arena;
    struct buf timeline = f->timeline, stages = f->stages, body = f->received.buf;

    *f = (struct flight){
        .stock = s, .road = s->road, .arena = arena, .timeline = timeline, .stages = stages
    };
    f->received.buf = body;
    f->began_us = clock_mono_us();
    return f;
}

void flight_free(struct flight *f)
{
    for (size_t i = 0; i < f->leg_count; i++) {
        payload_close(f->legs[i]->reader);
        plan_unref(f->legs[i]->plan);
        free(f->legs[i]->envelope.bytes);
        arena_done(&f->legs[i]->own);
    }
    for (size_t i = 0; i < f->made_count; i++)
        buf_done(&f->made[i]->buf);
    if (f->received.buf.size > BODY_KEEP)
        buf_done(&f->received.buf);
    buf_clear(&f->received.buf);
    plan_unref(f->plan);
    f->plan = NULL;
    arena_reset(&f->arena);
    buf_clear(&f->timeline);
    buf_clear(&f->stages);
    if (!put_idle(f->stock, f))
        destroy(f);
}

/* ---- from the document's row ---- */

bool flight_has_caller(const struct flight *f)
{
    return f->facts.generation == 0 && head_caller(f->head) != 0;
}

/* Version 00; trace id: the document's id; parent id: its second half; flags: sampled. */
void flight_trace(struct flight *f)
{
    static const char hex[] = "0123456789abcdef";
    char *at = f->traceparent;

    memcpy(at, "00-", 3);
    at += 3;
    for (size_t i = 0; i < 16; i++) {
        *at++ = hex[f->source.id.bytes[i] >> 4];
        *at++ = hex[f->source.id.bytes[i] & 15];
    }
    *at++ = '-';
    memcpy(at, f->traceparent + 3 + 16, 16);
    memcpy(at + 16, "-01", 4);
}

void flight_fill(struct flight *f, const struct document *d)
{
    f->source = d->source;
    f->gateway = d->gateway;
    f->received_us = d->received_us;
    f->config = d->config;
    f->again = d->again;
    f->seq = d->seq;
    f->child = d->child;
    f->name = d->name;
    f->ctype = d->ctype;
    f->head = d->head;
    f->settle.sender = d->sender;
    f->settle.receiver = d->receiver;
    f->settle.type = d->type;
    f->settle.route = d->route;
    (void)id_text(&d->source.id, f->id);
    flight_trace(f);
    f->received.source = d->source;
}

void flight_fill_facts(struct flight *f, const struct document *d)
{
    struct store *s = f->stock->store;

    if (d->sender != 0)
        f->facts.sender = name_text(s, d->sender);
    if (d->receiver != 0)
        f->facts.receiver = name_text(s, d->receiver);
    if (d->type != 0)
        f->facts.type = name_text(s, d->type);
    (void)facts_read(d->facts, &f->arena, &f->facts);
    f->facts.sender_unknown = f->facts.receiver_unknown = f->facts.type_unknown = false;
}

void flight_begin_again(struct flight *f, const struct document *d)
{
    flight_fill_facts(f, d);
    facts_begin_again(&f->facts);
}

/* A member of a batch with `join: each` has the batch as its route, the document of a batch has it
 * as its gateway.  The first counts if both are set. */
void flight_begin_run(struct flight *f, const struct document *d)
{
    f->past = d->timeline;
    f->batch = plan_batch_find(f->plan, d->route);
    if (f->batch == NULL)
        f->batch = plan_batch_find(f->plan, d->gateway);
    f->has_facts = f->batch != NULL ||
                   ((d->sender != 0 || d->receiver != 0 || d->type != 0 || d->facts.len > 0) &&
                    !facts_are_partial(d->facts));
    if (f->has_facts)
        flight_begin_again(f, d);
}

/* ---- timeline ---- */

static void flight_add_line(struct flight *f, const struct timeline_line *line)
{
    struct timeline_line l = *line;

    l.node = store_node(f->stock->store);
    timeline_add(&f->timeline, &l);
}

/* "route orders 12 us".  Built without printf, because every document has a few of these. */
static void say_stage(struct flight *f, enum timeline_stage stage, struct str what,
                      const char *outcome, int64_t status, int64_t took_us)
{
    struct buf *b = &f->stages;

    if (b->len + what.len + STAGE_MOST > STAGES_MOST)
        return;
    if (b->len > 0)
        buf_put(b, STR(", "));
    buf_puts(b, timeline_stages[stage]);
    if (what.len > 0) {
        buf_putc(b, ' ');
        buf_put(b, what);
    }
    if (status != 0) {
        buf_putc(b, ' ');
        buf_put_int(b, status);
    }
    if (took_us >= 0) {
        buf_putc(b, ' ');
        buf_put_int(b, took_us);
        buf_put(b, STR(" us"));
    }
    if (outcome != NULL) {
        buf_putc(b, ' ');
        buf_puts(b, outcome);
    }
}

void flight_note(struct flight *f, enum timeline_stage stage, enum timeline_outcome outcome,
                 struct str what, int64_t took_us, const char *message)
{
    flight_add_line(f,
                    &(struct timeline_line){ .at_us = clock_wall_us(),
                                             .stage = stage,
                                             .outcome = outcome,
                                             .took_us = took_us,
                                             .config = stage == TIMELINE_ROUTE ? f->config : 0,
                                             .what = what,
                                             .message = str_of(message != NULL ? message : "") });
    say_stage(f, stage, what, outcome == TIMELINE_DONE ? NULL : timeline_outcomes[outcome], 0,
              took_us);
}

void flight_note_try(struct flight *f, struct str step, int64_t attempt, int64_t status,
                     int64_t took_us, const char *message)
{
    flight_add_line(f, &(struct timeline_line){ .at_us = clock_wall_us(),
                                                .stage = TIMELINE_STEP,
                                                .outcome = TIMELINE_RETRY,
                                                .took_us = took_us,
                                                .attempt = attempt,
                                                .status = status,
                                                .what = step,
                                                .message = str_of(message) });
    say_stage(f, TIMELINE_STEP, step, timeline_outcomes[TIMELINE_RETRY], status, took_us);
}

void flight_note_passed(struct flight *f, const struct passed_step *p)
{
    flight_add_line(f, &(struct timeline_line){
                           .at_us = clock_wall_us(),
                           .stage = TIMELINE_STEP,
                           .outcome = TIMELINE_NOTED,
                           .took_us = -1,
                           .attempt = p->number,
                           .what = p->step,
                           .message = str_of(arena_printf(&f->arena, "it goes on as it was, %.*s",
                                                          STR_ARG(TRIES_NEXT_RUN))) });
}

/* Notes id and system of the delivery, which has no row once the document has ended.  What is as
 * usual takes no bytes: id_end is what follows "DOCUMENT.ENDPOINT". */
static void note_delivery(const struct flight *f, const struct leg *p, struct timeline_line *line)
{
    size_t usual = strlen(f->id) + 1 + line->what.len;

    line->has_delivery = true;
    line->id_end = p->row.id.len > usual ? str_from(p->row.id, usual) : STR("");
    line->system =
        p->row.system != f->settle.receiver ? name_text(f->stock->store, p->row.system) : STR("");
}

/* The line of an attempt whose answer is kept waits for the place of the answer. */
void flight_note_leg(struct flight *f, const struct leg *p, enum timeline_outcome outcome,
                     int64_t took_us, const char *message)
{
    struct str name = name_text(f->stock->store, p->row.endpoint);
    struct timeline_line line = { .at_us = clock_wall_us(),
                                  .stage = TIMELINE_DELIVERY,
                                  .outcome = outcome,
                                  .took_us = took_us,
                                  .attempt = p->row.attempts,
                                  .status = p->row.status,
                                  .what = name,
                                  .message = str_of(message) };

    note_delivery(f, p, &line);
    if (p->answer != NULL) {
        line.node = store_node(f->stock->store);
        line.is_answer = true;
        line.came = p->answer->came;
        line.ctype = p->answer->ctype;
        p->answer->line = line;
    } else {
        flight_add_line(f, &line);
    }
    say_stage(f, TIMELINE_DELIVERY, name,
              outcome == TIMELINE_DELIVERED ? NULL : timeline_outcomes[outcome], p->row.status,
              took_us);
}

/* ---- bytes ---- */

struct variant *flight_add_made(struct flight *f, struct str step, struct buf *bytes)
{
    struct variant *v = ARENA_NEW(&f->arena, struct variant);

    require(f->made_count <= FLIGHT_MADE_MOST);
    *v = (struct variant){ .buf = *bytes, .step = step, .step_number = f->step_count };
    v->buf.cap = SERVICE_BYTES_MOST; /* a later step may need all of it in memory again */
    *bytes = (struct buf)BUF_INIT(bytes->cap);
    f->made[f->made_count++] = v;
    return v;
}

/* ---- legs ---- */

/* The document's id, the endpoint's name, its count if the endpoint occurs more than once, and the
 * number of the rerun.  Derived and not random, so that a replay sends the same id. */
static struct str delivery_id(struct flight *f, const struct plan_endpoint *e)
{
    size_t nth = 1;
    char again[32] = "";

    for (size_t i = 0; i < f->leg_count; i++)
        nth += f->legs[i]->row.endpoint == e->word;
    if (f->again > 0)
        (void)snprintf(again, sizeof again, ".again%lld", (long long)f->again);
    if (nth > 1)
        return str_of(
            arena_printf(&f->arena, "%s.%.*s.%zu%s", f->id, STR_ARG(e->name), nth, again));
    size_t len = strlen(f->id) + 1 + e->name.len + strlen(again);
    char *id = arena_alloc(&f->arena, len + 1);
    char *at = id;

    memcpy(at, f->id, strlen(f->id));
    at += strlen(f->id);
    *at++ = '.';
    memcpy(at, e->name.ptr, e->name.len);
    memcpy(at + e->name.len, again, strlen(again));
    return str_mem(id, len);
}

static struct leg *new_leg(struct flight *f)
{
    struct leg *p = ARENA_NEW(&f->arena, struct leg);

    if (f->leg_count == f->part_room) {
        size_t room = f->part_room > 0 ? f->part_room * 2 : PARTS_FIRST;
        struct leg **legs = ARENA_ARRAY(&f->arena, struct leg *, room);

        if (f->leg_count > 0)
            memcpy(legs, f->legs, f->leg_count * sizeof *legs);
        f->legs = legs;
        f->part_room = room;
    }
    p->flight = f;
    p->took_us = -1;
    p->own = (struct arena)ARENA_INIT(PART_BYTES_MOST);
    f->legs[f->leg_count++] = p;
    return p;
}

struct leg *flight_add_leg(struct flight *f, const struct plan_endpoint *e,
                           const struct plan_system *system)
{
    struct str id = delivery_id(f, e);
    struct leg *p = new_leg(f);

    p->row = (struct settle_delivery){ .id = id,
                                       .endpoint = e->word,
                                       .system = system->word,
                                       .prio = f->prio,
                                       .expires_us = f->expires_us };
    p->in_doubt = system->in_doubt;
    if (!f->dry && f->route != NULL)
        ways_count(f->stock->ways, WAY_MADE, f->route->word, e->word);
    return p;
}

struct leg *flight_add_stored(struct flight *f, const struct delivery *d)
{
    struct leg *p = new_leg(f);

    p->row = (struct settle_delivery){ .num = d->num,
                                       .id = arena_copy(&f->arena, d->id),
                                       .endpoint = d->endpoint,
                                       .system = d->system,
                                       .queue = d->queue,
                                       .state = d->state,
                                       .attempts = d->attempts,
                                       .first_us = d->first_us,
                                       .intent_us = d->intent_us,
                                       .asked = d->asked,
                                       .prio = f->settle.task.prio,
                                       .expires_us = d->expires_us,
                                       .lane = d->lane,
                                       .name = arena_copy(&f->arena, d->name) };
    p->loaded = true;
    return p;
}
