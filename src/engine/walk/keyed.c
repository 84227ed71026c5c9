#include "engine/walk/keyed.h"

#include <stdio.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "engine/flight/bytes.h"
#include "engine/flight/tries.h"
#include "engine/flight/turns.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "store/govern/record_table.h"
#include "store/road/set_record.h"
#include "store/store.h"

_Static_assert((int)SERVICE_RECORD_MOST == (int)SET_RECORD_VALUE_MOST &&
                   (int)SERVICE_KEY_MOST == (int)SET_RECORD_KEY_MOST,
               "what a step may keep is what the store takes");

enum { ARENA_LEFT = 4 << 20 }; /* of a flight's arena, for all else */

/* ---- which record ---- */

static bool keyed_fail(struct service_failure *ret, const struct plan_step *s, const char *why)
{
    return service_fail(ret, DEAD_SERVICE_FAILED, "%.*s: %s", STR_ARG(s->name), why);
}

static bool keyed_find_set(const struct flight *f, const struct plan_step *s, struct str *ret,
                           struct service_failure *ret_failure)
{
    *ret = s->set.len > 0 ? s->set : f->facts.type;
    if (ret->len == 0)
        return keyed_fail(ret_failure, s, "the document has no type; say `set:` at the step");
    return true;
}

/* What the expressions of `key` find in the bytes that the step reads. */
static bool keyed_find_key(struct flight *f, const struct plan_step *s, struct str *ret,
                           struct service_failure *ret_failure)
{
    const struct variant *bytes = f->walk.bytes;
    struct extract_source source = { .body = buf_view(&bytes->buf),
                                     .whole = variant_is_in_memory(bytes),
                                     .head = f->head,
                                     .name = f->name };
    struct extract_failure failure;
    struct facts found = { 0 };

    if (!extract_run(s->extractor, &source, &f->arena, &found, &failure))
        return service_fail(ret_failure, failure.code, "%.*s: `key`: %s", STR_ARG(s->name),
                            failure.message);
    *ret = facts_attribute(&found, PLAN_KEY);
    if (ret->len == 0)
        return keyed_fail(ret_failure, s, "`key` finds nothing in this document");
    if (ret->len > SERVICE_KEY_MOST)
        return service_fail(ret_failure, DEAD_LIMIT, "%.*s: the key has %zu bytes, more than %d",
                            STR_ARG(s->name), ret->len, SERVICE_KEY_MOST);
    return true;
}

static bool keyed_find(struct flight *f, const struct plan_step *s, struct step_record *ret,
                       struct service_failure *ret_failure)
{
    return keyed_find_set(f, s, &ret->set, ret_failure) &&
           keyed_find_key(f, s, &ret->key, ret_failure);
}

static enum way enter_with(struct flight *f, const struct plan_step *s)
{
    struct service_failure failure = { .code = DEAD_SERVICE_FAILED };
    struct step_record r = { 0 };

    if (!keyed_find(f, s, &r, &failure)) {
        outcome_dead(f, TIMELINE_STEP, s->name, failure.code, -1, failure.message);
        return WAY_DEAD;
    }
    if (f->dry)
        return WAY_ON;
    if (s->service->keeps && !turns_take(f->road->turns, f, r.set, r.key)) {
        f->walk.need = WALK_NEEDS_TURN;
        return WAY_WAITS;
    }
    if (!f->may_block) {
        f->walk.need = WALK_NEEDS_THREAD;
        return WAY_WAITS;
    }
    return WAY_ON;
}

enum way keyed_enter(struct flight *f, const struct plan_step *s)
{
    struct err err = { 0 };

    if (!variant_peek(f, f->walk.bytes, &err)) {
        outcome_read_failed(f, &err);
        return WAY_DEAD;
    }
    enum way way = enter_with(f, s);

    variant_unpeek(f);
    return way;
}

/* ---- the record ---- */

/* False also when the step cannot go on: x->err is set if it is the store's fault. */
static bool keyed_read(struct step_io *x, struct service_failure *ret_failure)
{
    struct step_record *r = &x->record;
    struct flight *f = x->flight;
    struct store *s = f->stock->store;

    if (!variant_peek(f, x->in, &x->err))
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s", x->err.text);
    bool found = keyed_find(f, r->step, r, ret_failure);

    variant_unpeek(f);
    if (!found)
        return false;
    if (!record_set_find(s, r->set, &r->set_id, &x->err) ||
        (r->set_id != 0 && !set_record_get(s, r->set_id, r->key, &x->found, &r->was, &x->err)))
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s", x->err.text);
    return true;
}

/* A step before has made it another one in this run: that is not committed yet. */
static const struct set_write *kept_before(const struct step_io *x)
{
    const struct settle_op *o = &x->flight->settle;

    for (size_t i = 0; i < o->record_count; i++)
        if (o->records[i].set == x->record.set_id && str_eq(o->records[i].key, x->record.key))
            return &o->records[i];
    return NULL;
}

/* The document stands before that of the record, in the order of the same gateway. */
static bool is_behind(const struct flight *f, const struct set_record *r)
{
    if (f->seq == 0 || r->seq == 0 || r->gateway != f->gateway || r->doc == f->source.num)
        return false;
    return r->seq > f->seq || (r->seq == f->seq && r->child > f->child);
}

static bool keyed_record(struct service_io *io, struct service_record *ret,
                         struct service_failure *ret_failure)
{
    struct step_io *x = container_of(io, struct step_io, io);
    struct step_record *r = &x->record;

    if (!keyed_read(x, ret_failure))
        return false;
    x->flight->reads_records = true;
    const struct set_write *kept = kept_before(x);

    *ret = (struct service_record){ .set = r->set,
                                    .key = r->key,
                                    .is_there = r->was.version != 0 || kept != NULL,
                                    .value = kept != NULL ? kept->value : r->was.value,
                                    .is_own = r->was.doc != 0 && kept == NULL &&
                                              r->was.doc == x->flight->source.num,
                                    .before = r->was.previous,
                                    .is_later = is_behind(x->flight, &r->was) };
    return true;
}

/* The set is made when it gets its first record. */
static bool keyed_make_set(struct step_io *x, struct service_failure *ret_failure)
{
    struct step_record *r = &x->record;

    if (r->set_id != 0 || record_set_id(x->flight->stock->store, r->set, &r->set_id, &x->err))
        return true;
    bool limit = x->err.kind == ERR_LIMIT;
    char why[sizeof x->err.text];

    (void)snprintf(why, sizeof why, "%s", x->err.text);
    if (limit) /* of ours: the document's fault */
        x->err = (struct err){ 0 };
    return service_fail(ret_failure, limit ? DEAD_LIMIT : DEAD_SERVICE_FAILED, "%.*s: %s",
                        STR_ARG(r->step->name), why);
}

/* One more record for the settlement. */
static bool keyed_add(struct step_io *x, struct str value, bool stays,
                      struct service_failure *ret_failure)
{
    struct step_record *r = &x->record;
    struct flight *f = x->flight;

    if (f->settle.record_count == SET_RECORDS_MOST)
        return service_fail(ret_failure, DEAD_LIMIT, "%.*s: more than %d records of one document",
                            STR_ARG(r->step->name), SET_RECORDS_MOST);
    if (f->arena.used + value.len + r->was.value.len + ARENA_LEFT > f->arena.cap)
        return service_fail(ret_failure, DEAD_LIMIT,
                            "%.*s: the records of one document are too large together",
                            STR_ARG(r->step->name));
    if (!keyed_make_set(x, ret_failure))
        return false;
    if (f->records == NULL)
        f->records = ARENA_ARRAY(&f->arena, struct set_write, SET_RECORDS_MOST);
    f->records[f->settle.record_count++] =
        (struct set_write){ .set = r->set_id,
                            .key = r->key,
                            .value = arena_copy(&f->arena, value),
                            .version = r->was.version,
                            .previous = r->was.version != 0 && !stays
                                            ? arena_copy(&f->arena, r->was.value)
                                            : (struct str){ 0 },
                            .stays = stays };
    f->settle.records = f->records;
    return true;
}

static bool keyed_keep(struct service_io *io, struct str value, struct service_failure *ret_failure)
{
    struct step_io *x = container_of(io, struct step_io, io);

    if (x->flight->dry)
        return true;
    if (kept_before(x) != NULL)
        return keyed_fail(ret_failure, x->record.step,
                          "an earlier step of this route has kept the same record already");
    return keyed_add(x, value, false, ret_failure);
}

/* Only where an order is asked for does it matter who said so last. */
static bool keyed_stays(struct service_io *io, struct service_failure *ret_failure)
{
    struct step_io *x = container_of(io, struct step_io, io);

    return x->flight->dry || x->flight->seq == 0 || kept_before(x) != NULL ||
           keyed_add(x, x->record.was.value, true, ret_failure);
}

void keyed_open(struct step_io *x, const struct plan_step *s)
{
    x->io.describe = NULL; /* its expressions find a key */
    x->io.record = keyed_record;
    x->io.keep = s->service->keeps ? keyed_keep : NULL;
    x->io.stays = s->service->keeps ? keyed_stays : NULL;
    x->record.step = s;
}

void keyed_drop(struct flight *f)
{
    f->settle.record_count = 0;
}

void keyed_made(struct flight *f, const struct plan_step *s, struct variant *made)
{
    if (made != f->walk.bytes) {
        made->is_of_record = true;
        return;
    }
    struct passed_step *p = ARENA_NEW(&f->arena, struct passed_step);

    *p = (struct passed_step){ f->passed, s->name, f->step_count };
    f->passed = p;
}

/* ---- what was kept ---- */

/* What is asked of a service behind it is the same as in the run before (called.h). */
bool keyed_use_kept(struct flight *f, const struct plan_step *s, enum way *ret)
{
    struct tries past = tries_asked(f, s->name, f->step_count + 1, TRIES_NEXT_RUN);
    struct variant *made = f->walk.bytes;
    int64_t from = clock_mono_us();

    if (!past.has_bytes && !past.is_passed)
        return false;
    f->reads_records = true;
    if (past.has_bytes) {
        *ret = step_take_kept(f, s, &past.bytes, "not read again: what it made was kept", &made);
        if (*ret != WAY_ON)
            return true;
    } else {
        f->step_count++;
        flight_note(f, TIMELINE_STEP, TIMELINE_NOTED, s->name, -1,
                    "not read again: it goes on as it was");
    }
    *ret = step_go_on(f, s, made, from);
    return true;
}

/* ---- later ---- */

enum way keyed_later(struct flight *f, const struct plan_step *s, int64_t took_us,
                     const char *message)
{
    struct tries past = tries_of(f, s->name, f->step_count + 1);
    int64_t now = road_now_us(f->road), first = past.first_us != 0 ? past.first_us : now;
    int64_t due = now + retry_wait_us(&s->retry, past.count + 1, chance_u64());
    struct verdict v = { 0 };

    if (f->dry || retry_is_over(&s->retry, first, due)) {
        outcome_dead(f, TIMELINE_STEP, s->name, DEAD_RETRIES_EXHAUSTED, took_us, message);
        return WAY_DEAD;
    }
    if (f->expires_us != 0 && due > f->expires_us)
        due = f->expires_us;
    (void)verdict_say(&v, VERDICT_RETRY, "%s", message);
    step_keep_made(f);
    outcome_step_again(
        f, s->name,
        &(struct outcome_try){
            .attempt = past.count + 1, .due_us = due, .took_us = took_us, .verdict = &v });
    return WAY_DEAD;
}
