#include "engine/walk/join.h"

#include <stdio.h>

#include "base/auto.h"
#include "engine/flight/bytes.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "store/road/settle_batch.h"
#include "store/store.h"

enum { BATCHES_MOST = 16 }; /* that a document may pass through, one after the other */

static bool road_join_refuse(struct flight *f, const struct plan_step *s, enum dead_code code)
{
    outcome_dead(f, TIMELINE_STEP, s->name, code, -1, f->message);
    return false;
}

/* Renders `by`: documents with different values go into different batches. */
static bool find_leg(struct flight *f, const struct plan_step *s, struct str *ret)
{
    AUTO(buf_done) struct buf text = BUF_INIT(FACTS_VALUE_MOST);
    struct template_values values = { .id = str_of(f->id),
                                      .name = f->name,
                                      .gateway = name_text(f->road->store, f->gateway),
                                      .received_us = f->received_us,
                                      .facts = &f->facts };
    struct err err = { 0 };

    *ret = STR("");
    if (s->by == NULL)
        return true;
    if (!template_render(s->by, &values, &text, &err)) {
        (void)snprintf(f->message, sizeof f->message, "`by` of the batch: %s", err.text);
        return road_join_refuse(f, s, DEAD_SERVICE_FAILED);
    }
    *ret = arena_copy(&f->arena, buf_view(&text));
    return true;
}

/* Checks the format now, so that a bad document fails alone and not together with a whole batch.
 * Bytes that are not all in memory are checked when the batch is built. */
static bool is_good(struct flight *f, const struct plan_step *s, struct variant *bytes)
{
    struct str body = buf_view(&bytes->buf);
    struct err err = { 0 };

    if (s->batch->bad_all || !variant_is_in_memory(bytes))
        return true;
    if (join_check(s->batch->join, body, &err))
        return true;
    (void)snprintf(f->message, sizeof f->message, "it cannot join batch %.*s: %s",
                   STR_ARG(s->batch->name), err.text);
    return road_join_refuse(f, s, DEAD_SERVICE_FAILED);
}

/* A `route` step may lead a document here after a `deliver` step.  The configuration check cannot
 * see that, because the next route depends on the document.  Nothing has been sent: a walk sends
 * nothing. */
static bool has_deliveries(struct flight *f, const struct plan_batch *b)
{
    if (f->leg_count == 0)
        return false;
    (void)snprintf(f->message, sizeof f->message,
                   "a document that joins batch %.*s is delivered with it, not before; put the "
                   "`deliver` of the steps before into the `do` of the batch",
                   STR_ARG(b->name));
    return true;
}

/* Batches can lead into each other, depending on their documents: without a limit, for ever. */
static bool goes_round(struct flight *f, const struct plan_batch *b)
{
    if (f->batch == b || f->gateway == b->word)
        (void)snprintf(f->message, sizeof f->message,
                       "it came out of batch %.*s, and joins no such one again", STR_ARG(b->name));
    else if (f->batch != NULL && f->facts.batches + 1 >= BATCHES_MOST)
        (void)snprintf(f->message, sizeof f->message,
                       "it came out of %u batches, one after the other, and joins no other one; "
                       "see whether %.*s and %.*s lead into each other",
                       f->facts.batches + 1, STR_ARG(f->batch->name), STR_ARG(b->name));
    else
        return false;
    return true;
}

/* With `join: each` members go on one by one with the bytes they came with, so no step before may
 * change them.  The configuration check refuses such a step in the same route; one before a `route`
 * step is only found here. */
static bool was_changed(struct flight *f, const struct plan_batch *b, const struct variant *bytes)
{
    if (b->join != JOIN_EACH || bytes == &f->received)
        return false;
    (void)snprintf(f->message, sizeof f->message,
                   "documents join batch %.*s as they came, for they go on one by one; put the "
                   "step %.*s, which changed it, into the `do` of the batch",
                   STR_ARG(b->name), STR_ARG(bytes->step));
    return true;
}

/* The batch of which this is the document is not counted here, or each retry would count it again:
 * batch_build.c counts it. */
static bool came_out_of_one(const struct flight *f)
{
    return f->batch != NULL && f->batch->word != f->gateway;
}

bool join_batch(struct flight *f, const struct plan_step *s, struct variant *bytes)
{
    const struct plan_batch *b = s->batch;
    struct str part;

    if (goes_round(f, b))
        return road_join_refuse(f, s, DEAD_LOOP);
    if (has_deliveries(f, b) || was_changed(f, b, bytes))
        return road_join_refuse(f, s, DEAD_SERVICE_FAILED);
    if (!find_leg(f, s, &part) || !is_good(f, s, bytes))
        return false;
    f->facts.batches += came_out_of_one(f);
    f->into = b;
    f->joins = bytes;
    f->join = (struct batch_join){ .name = b->word,
                                   .route = f->route->word,
                                   .part = part,
                                   .members_most = b->members_most,
                                   .bytes_most = b->bytes_most,
                                   .alone = f->again > 0 };
    (void)snprintf(f->message, sizeof f->message, "joins batch %.*s%s", STR_ARG(b->name),
                   f->join.alone ? ", by itself: it was in one before" : "");
    flight_note(f, TIMELINE_STEP, TIMELINE_WAITS, s->name, -1, f->message);
    f->message[0] = '\0';
    f->settle.end = SETTLE_JOIN;
    return true;
}

void join_undo(struct flight *f)
{
    f->facts.batches -= came_out_of_one(f);
}

bool join_fill(struct flight *f, struct err *err)
{
    bool own = f->joins == &f->received;

    if (!variants_seal(f, err))
        return false;
    f->join.config = f->config;
    f->join.receiver = f->settle.receiver;
    f->join.bytes = own ? NULL : &f->joins->settle;
    f->join.size = own ? f->source.size : f->joins->settle.size;
    f->settle.join = &f->join;
    return true;
}
