#include "engine/walk/walk_facts.h"

#include <stdio.h>

#include "base/clock.h"
#include "core/head.h"
#include "engine/road/outcome.h"
#include "engine/walk/answer_doc.h"
#include "engine/walk/answering.h"
#include "extract/extract.h"

static bool walk_find_system(struct flight *f, const char *field, struct str *name, bool *unknown)
{
    if (name->ptr == NULL)
        return true;
    struct str system = router_system(f->plan->router, *name);

    if (system.ptr != NULL) {
        *name = system;
        return true;
    }
    *unknown = true;
    (void)snprintf(f->message, sizeof f->message,
                   "no system has the name or id `%.*s` (%s); add it to `ids` of a system",
                   (int)(name->len < 100 ? name->len : 100), name->ptr, field);
    return false;
}

bool walk_look_up(struct flight *f, int64_t from_us)
{
    struct facts *x = &f->facts;

    /* Resolve both before failing, so that each is marked if both are unknown. */
    bool sender = walk_find_system(f, "sender", &x->sender, &x->sender_unknown);
    bool receiver = walk_find_system(f, "receiver", &x->receiver, &x->receiver_unknown);

    if (!sender || !receiver) {
        outcome_dead(f, TIMELINE_EXTRACT, STR(""), DEAD_UNKNOWN_SYSTEM, clock_mono_us() - from_us,
                     f->message);
        return false;
    }
    return true;
}

bool walk_is_own_sender(struct flight *f, int64_t from_us)
{
    struct str sender = f->facts.sender, for_systems = str_first(head_senders(f->head), 200);

    if (sender.ptr == NULL || head_lets_send(f->head, sender))
        return true;
    (void)snprintf(f->message, sizeof f->message,
                   "its sender is %.*s, and the key it came with is for %.*s",
                   (int)(sender.len < 100 ? sender.len : 100), sender.ptr, STR_ARG(for_systems));
    outcome_dead(f, TIMELINE_EXTRACT, STR(""), DEAD_FORBIDDEN_SENDER, clock_mono_us() - from_us,
                 f->message);
    return false;
}

/* Adds the attributes found; one that exists already wins, because an operator may have set it.
 * False: some did not fit. */
static bool walk_add_attributes(struct flight *f, const struct facts *found)
{
    struct facts *x = &f->facts;
    size_t room = x->attribute_count + found->attribute_count, n = 0;
    struct fact *all = ARENA_ARRAY(&f->arena, struct fact, room);

    for (; n < x->attribute_count; n++)
        all[n] = x->attributes[n];
    x->attributes = all;
    for (size_t i = 0; i < found->attribute_count; i++) {
        if (facts_attribute(x, found->attributes[i].name).ptr != NULL)
            continue;
        all[n] = found->attributes[i];
        x->attribute_count = n + 1;
        if (!facts_fit(x)) {
            x->attribute_count = n;
            return false;
        }
        n++;
    }
    return true;
}

void walk_find_search(struct flight *f, const struct extract_source *source)
{
    const struct extractor *x = plan_search_of(f->plan, f->facts.type);
    int64_t from = clock_mono_us();
    struct extract_failure failure;
    struct facts found = { 0 };

    if (x == NULL)
        return;
    bool ok = extract_run(x, source, &f->arena, &found, &failure);

    if (!walk_add_attributes(f, &found) && ok) {
        (void)snprintf(failure.message, sizeof failure.message,
                       "with its other attributes they are more than %d, or have more than %d "
                       "bytes: some are left out",
                       FACTS_ATTRIBUTES_MOST, FACTS_ATTRIBUTES_BYTES);
        ok = false;
    }
    if (!ok)
        flight_note(f, TIMELINE_EXTRACT, TIMELINE_FAILED, STR("search"), clock_mono_us() - from,
                    failure.message);
}

/* What is found stays: by it the dead letter is found, grouped and in somebody's scope. */
static void walk_keep_found(struct flight *f)
{
    struct facts *x = &f->facts;

    (void)walk_find_system(f, "sender", &x->sender, &x->sender_unknown);
    (void)walk_find_system(f, "receiver", &x->receiver, &x->receiver_unknown);
}

/* The gateway could not tell it (core/deposit.h: fail). */
static bool walk_is_untold(struct flight *f, const struct plan_gateway *g,
                           const struct extract_source *source)
{
    struct str why = head_failure(f->head);
    struct extract_failure ignored;

    if (why.ptr == NULL)
        return false;
    if (!f->has_facts && g != NULL && g->extractor != NULL && g->broken == NULL) {
        (void)extract_run(g->extractor, source, &f->arena, &f->facts, &ignored);
        walk_keep_found(f);
    }
    (void)snprintf(f->message, sizeof f->message, "%.*s", STR_ARG(why));
    outcome_dead(f, TIMELINE_EXTRACT, STR(""), DEAD_EXTRACT_FAILED, -1, f->message);
    return true;
}

static bool walk_extract(struct flight *f, const struct extract_source *source)
{
    const struct plan_gateway *g = plan_gateway_find(f->plan, f->gateway);
    int64_t from = clock_mono_us();
    struct extract_failure failure;
    bool known;

    if (walk_is_untold(f, g, source))
        return false;
    if (f->has_facts) {
        known =
            answer_doc_extract(f, source) && walk_look_up(f, from) && walk_is_own_sender(f, from);
        walk_find_search(f, source);
        return known;
    }
    if (g != NULL && g->broken != NULL) {
        outcome_dead(f, TIMELINE_EXTRACT, STR(""), DEAD_EXTRACT_FAILED, -1, g->broken);
        return false;
    }
    if (g == NULL || g->extractor == NULL)
        return true;
    if (!extract_run(g->extractor, source, &f->arena, &f->facts, &failure)) {
        walk_keep_found(f);
        outcome_dead(f, TIMELINE_EXTRACT, STR(""), failure.code, clock_mono_us() - from,
                     failure.message);
        if (failure.code != DEAD_BUDGET)
            walk_find_search(f, source);
        return false;
    }
    known = walk_look_up(f, from) && walk_is_own_sender(f, from);
    if (known)
        flight_note(f, TIMELINE_EXTRACT, TIMELINE_DONE, STR(""), clock_mono_us() - from, NULL);
    walk_find_search(f, source);
    return known;
}

bool walk_find_facts(struct flight *f)
{
    struct str body = buf_view(&f->received.buf);
    struct extract_source source = {
        .body = body, .whole = (int64_t)body.len == f->source.size, .head = f->head, .name = f->name
    };

    return walk_extract(f, &source) && (!answering_asks(f) || answering_look(f, &source));
}
