#include "engine/walk/step_end.h"

#include <stdio.h>

#include "base/clock.h"
#include "engine/flight/bytes.h"
#include "engine/road/outcome.h"
#include "store/store.h"

enum way step_dead(struct flight *f, const struct plan_step *s, enum dead_code code,
                   int64_t took_us, const char *message)
{
    outcome_dead(f, TIMELINE_STEP, s->name, code, took_us, message);
    return WAY_DEAD;
}

void step_note_done(struct flight *f, const struct plan_step *s, int64_t from_us)
{
    f->step_count++;
    flight_note(f, TIMELINE_STEP, TIMELINE_DONE, s->name, clock_mono_us() - from_us, NULL);
}

/* Unchanged bytes need no variant, so they are not stored a second time. */
enum way step_go_on(struct flight *f, const struct plan_step *s, struct variant *made,
                    int64_t from_us)
{
    struct variant *before = f->walk.bytes;

    if (f->made_count > FLIGHT_MADE_MOST) {
        (void)snprintf(f->message, sizeof f->message,
                       "more than %d steps change this document; a script can do the work of "
                       "several",
                       FLIGHT_MADE_MOST);
        return step_dead(f, s, DEAD_LIMIT, -1, f->message);
    }
    flight_note(f, TIMELINE_STEP, TIMELINE_DONE, s->name, clock_mono_us() - from_us, NULL);
    f->walk.bytes = made;
    if (made != before)
        variant_let_go(f, before);
    return WAY_ON;
}

enum way step_take_kept(struct flight *f, const struct plan_step *s,
                        const struct payload_source *stored, const char *note, struct variant **ret)
{
    struct err err = { 0 };

    if (!f->may_block && !f->dry) {
        f->walk.need = WALK_NEEDS_THREAD;
        return WAY_WAITS;
    }
    f->step_count++;
    *ret = variant_of_past(f, s->name, stored);
    if ((f->dry || stored->size <= SEGMENT_PAYLOAD_MOST) && !variant_load(f, *ret, &err)) {
        outcome_read_failed(f, &err);
        return WAY_DEAD;
    }
    flight_note(f, TIMELINE_STEP, TIMELINE_NOTED, s->name, -1, note);
    return WAY_ON;
}

/* Processes cost: what they made is stored rather than made again.  What is cheap, or stands
 * further in front, is. */
void step_keep_made(struct flight *f)
{
    struct variant *v = f->walk.bytes;

    if (v->is_costly && !v->is_stored && !f->dry && f->batch == NULL)
        v->is_kept = true;
}

enum way step_none(struct flight *f, const struct plan_step *s, int64_t from_us)
{
    f->step_count++;
    flight_note(f, TIMELINE_STEP, TIMELINE_DROPPED, s->name, clock_mono_us() - from_us,
                "nothing came out");
    return WAY_ENDS;
}

struct service_document step_document(const struct flight *f)
{
    return (struct service_document){ .id = f->source.id,
                                      .received_us = f->received_us,
                                      .facts = &f->facts,
                                      .name = f->name,
                                      .ctype = f->ctype,
                                      .gateway = name_text(f->stock->store, f->gateway) };
}

/* Whoever walks without effect holds the lock already. */
void step_hold_large(struct flight *f)
{
    if (variant_size(f->walk.bytes) <= SEGMENT_PAYLOAD_MOST || f->dry || f->holds_large)
        return;
    (void)pthread_mutex_lock(&f->stock->large);
    f->holds_large = true;
}

bool step_load(struct flight *f, struct err *err)
{
    step_hold_large(f);
    return variant_load(f, f->walk.bytes, err);
}
