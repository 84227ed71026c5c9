#include "engine/walk/answer_doc.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "core/part.h"
#include "engine/road/naming.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "extract/extract.h"
#include "store/road/offspring.h"
#include "store/store.h"

enum { LINE_MOST = 4096 };

/* The settlement of a flight that makes nothing but answers. */
struct answer_making {
    struct offspring_op op;
    struct flight *flight;
    void (*settled)(struct store_op *op);
};

/* ---- legs ---- */

const struct answer_sink *answer_doc_sink(struct leg *p)
{
    struct answer_upload *u = ARENA_NEW(&p->own, struct answer_upload);

    answer_upload_init(u, p->flight->road->store, p->endpoint->answer);
    u->next = p->upload;
    p->upload = u;
    return &u->sink;
}

bool answer_doc_take(struct leg *p, const struct http_out_answer *a)
{
    const struct plan_answer *rule = p->endpoint->answer;
    struct flight *f = p->flight;

    if (rule == NULL)
        return false;
    if (!p->asking && p->verdict.kind == VERDICT_DELIVERED)
        p->answer_came = answer_take(rule, a, p->upload, &p->own, &p->document);
    if (p->document != NULL) {
        p->document->config = (p->plan != NULL ? p->plan : f->plan)->version;
        p->document->system = name_text(f->road->store, p->row.system);
        fault_point(ANSWER_TAKEN);
    }
    return p->upload != NULL && answer_upload_is_open(p->upload);
}

void answer_doc_store(struct leg *p)
{
    struct err err = { 0 };
    bool keep = p->document != NULL && p->document->upload != NULL;

    if (answer_upload_end(p->upload, keep, &err)) {
        if (keep)
            fault_point(ANSWER_STORED);
        return;
    }
    p->document = NULL;
    p->answer_came = ANSWER_NOT_ASKED;
    p->read_err = err;
    p->read_err.kind =
        ERR_TRANSIENT; /* it is ours: the breaker of the endpoint does not count it */
    (void)verdict_say(&p->verdict, VERDICT_DOUBT,
                      "the receiver took it, and its answer could not be stored: %s", err.text);
}

/* What was answered: a delivery, or the request of a step. */
struct asked {
    const struct plan_answer *rule;
    struct str id;
    int64_t system; /* who answers; 0: nobody says */
};

static void note_too_large(struct flight *f, const struct asked *q)
{
    const struct plan_answer *rule = q->rule;

    (void)snprintf(f->message, sizeof f->message,
                   "the answer is larger than %lld bytes, or was cut: no document is made of it; "
                   "`most` of `answer` is the limit",
                   (long long)rule->most);
    flight_note(f, TIMELINE_DOCUMENT, TIMELINE_FAILED, rule->name, -1, f->message);
    log_event(LOG_WARN, "answer.drop", kv_z("document", f->id), kv_str("delivery", q->id),
              kv_z("why", f->message));
    answer_await(f, rule, q->id, q->system, road_now_us(f->road));
}

static void note_none(struct flight *f, const struct asked *q, const char *what)
{
    const struct plan_answer *rule = q->rule;
    char until[CLOCK_TEXT];

    if (rule->within_us > 0)
        (void)snprintf(f->message, sizeof f->message, "%s: an answer is awaited until %s", what,
                       clock_utc_text(road_now_us(f->road) + rule->within_us, until));
    else
        (void)snprintf(f->message, sizeof f->message, "%s: no document is made of it", what);
    flight_note(f, TIMELINE_DOCUMENT, rule->within_us > 0 ? TIMELINE_WAITS : TIMELINE_NOTED,
                rule->name, -1, f->message);
    if (rule->within_us > 0)
        answer_await(f, rule, q->id, q->system, road_now_us(f->road) + rule->within_us);
}

static void note_asked(struct flight *f, const struct asked *q, enum answer_came came)
{
    switch (came) {
    case ANSWER_NOT_ASKED: /* nobody answers a file, and of a send in doubt the answer is lost */
        if (q->rule->within_us > 0)
            note_none(f, q, "nothing was answered");
        return;
    case ANSWER_EMPTY:
        note_none(f, q, "the answer is empty");
        return;
    case ANSWER_LATER:
        note_none(f, q, "it was accepted (202)");
        return;
    case ANSWER_TOO_LARGE:
        note_too_large(f, q);
        return;
    case ANSWER_CAME:
        break;
    }
    flight_note(f, TIMELINE_DOCUMENT, TIMELINE_NOTED, q->rule->name, -1,
                "the answer is a document of its own");
}

void answer_doc_note(struct flight *f, struct leg *p)
{
    if (p->row.state != DELIVERY_DELIVERED || p->endpoint == NULL || p->endpoint->answer == NULL)
        return;
    note_asked(f, &(struct asked){ p->endpoint->answer, p->row.id, p->row.system },
               (enum answer_came)p->answer_came);
}

static void note_step_answers(struct flight *f)
{
    for (const struct answer_doc *d = f->answers; d != NULL; d = d->next)
        note_asked(
            f,
            &(struct asked){ d->rule, d->key, d->rule->system != NULL ? d->rule->system->word : 0 },
            d->came);
}

/* ---- the settlement ---- */

static struct str first_line(struct flight *f, const struct answer_doc *d)
{
    AUTO(buf_done) struct buf line = BUF_INIT(LINE_MOST);
    char text[200];

    (void)snprintf(text, sizeof text, "it answers document %s", f->id);
    timeline_add(&line, &(struct timeline_line){ .at_us = clock_wall_us(),
                                                 .node = store_node(f->stock->store),
                                                 .stage = TIMELINE_DOCUMENT,
                                                 .outcome = TIMELINE_NOTED,
                                                 .took_us = -1,
                                                 .status = d->status,
                                                 .what = d->rule->name,
                                                 .message = str_of(text) });
    return arena_copy(&f->arena, buf_view(&line));
}

static void add_answer_part(struct flight *f, const struct answer_doc *d)
{
    struct facts facts = answer_facts(&f->arena, &f->facts, d->system, d->rule->type,
                                      (struct fact){ ANSWER_FROM, d->rule->name });
    struct settle_op named = { 0 };
    struct offspring_part *to = &f->answer_parts[f->answer_count++];

    naming_fill(f->road, &facts, NULL, &f->arena, &named);
    *to = (struct offspring_part){ .kind = LINK_ANSWER,
                                   .config = d->config,
                                   .bytes = d->bytes,
                                   .size = (int64_t)d->bytes.len,
                                   .sender = named.sender,
                                   .receiver = named.receiver,
                                   .type = named.type,
                                   .facts = named.facts,
                                   .ctype = d->ctype,
                                   .timeline = first_line(f, d) };
    if (d->upload == NULL) {
        to->sha256 = digest_of(d->bytes);
        return;
    }
    to->is_uploaded = true;
    to->uploaded = d->upload->place;
    to->size = d->upload->size;
    to->sha256 = d->upload->sha256;
}

/* What a run made that is repeated is made again then. */
static bool makes_answers(const struct flight *f)
{
    return f->settle.end == SETTLE_OVER || f->settle.end == SETTLE_DELIVERIES ||
           f->settle.end == SETTLE_JOIN;
}

void answer_doc_fill(struct flight *f)
{
    size_t most = 0;

    f->answer_count = 0;
    if (!makes_answers(f))
        return;
    note_step_answers(f);
    for (const struct answer_doc *d = f->answers; d != NULL; d = d->next)
        most += d->came == ANSWER_CAME;
    for (size_t i = 0; i < f->leg_count; i++)
        most += f->legs[i]->document != NULL;
    if (most == 0)
        return;
    f->answer_parts = ARENA_ARRAY(&f->arena, struct offspring_part, most);
    for (const struct answer_doc *d = f->answers; d != NULL; d = d->next)
        if (d->came == ANSWER_CAME)
            add_answer_part(f, d);
    for (size_t i = 0; i < f->leg_count; i++)
        if (f->legs[i]->document != NULL)
            add_answer_part(f, f->legs[i]->document);
}

/* On a writer's thread. */
static void answers_settled(struct store_op *op)
{
    struct answer_making *m = container_of(op, struct answer_making, op.op);
    struct settle_op *s = &m->flight->settle;

    s->op.ok = op->ok;
    s->op.err = op->err;
    if (op->ok && m->op.result != OFFSPRING_MADE)
        s->ours = false;
    m->settled(&s->op);
}

struct store_op *answer_doc_settlement(struct flight *f, void (*settled)(struct store_op *op))
{
    if (f->making == NULL)
        f->making = ARENA_NEW(&f->arena, struct answer_making);
    *f->making = (struct answer_making){ .op = { .op = { .verb = &offspring_answers_verb,
                                                         .done = answers_settled },
                                                 .task = f->settle.task,
                                                 .doc = f->source.num,
                                                 .config = f->config,
                                                 .parts = f->answer_parts,
                                                 .count = f->answer_count,
                                                 .end = &f->settle },
                                         .flight = f,
                                         .settled = settled };
    return &f->making->op.op;
}

/* ---- what is left over ---- */

static bool is_left(const struct flight *f, const struct answer_upload *u, bool adopted)
{
    for (size_t i = 0; adopted && i < f->answer_count; i++)
        if (f->answer_parts[i].is_uploaded && f->answer_parts[i].uploaded.seg == u->place.seg &&
            f->answer_parts[i].uploaded.pos == u->place.pos)
            return false;
    return u->is_stored;
}

/* An upload that is left; NULL: none. */
static struct answer_upload *next_left(const struct flight *f, bool adopted)
{
    for (size_t i = 0; i < f->leg_count; i++)
        for (struct answer_upload *u = f->legs[i]->upload; u != NULL; u = u->next)
            if (is_left(f, u, adopted))
                return u;
    for (const struct answer_doc *d = f->answers; d != NULL; d = d->next)
        if (d->upload != NULL && is_left(f, d->upload, adopted))
            return d->upload;
    return NULL;
}

bool answer_doc_has_uploads(const struct flight *f, bool adopted)
{
    return next_left(f, adopted) != NULL;
}

void answer_doc_drop_uploads(struct flight *f, bool adopted)
{
    for (struct answer_upload *u; (u = next_left(f, adopted)) != NULL;) {
        u->is_stored = false;
        upload_drop(u->store, u->place);
    }
}

/* ---- the walk ---- */

/* What the answer says comes first; what it has from the document that it answers stays. */
static void take_answer_attributes(struct flight *f, const struct facts *found)
{
    struct facts *x = &f->facts;
    struct fact *all =
        ARENA_ARRAY(&f->arena, struct fact, x->attribute_count + found->attribute_count + 1);
    size_t n = 0, old_count = x->attribute_count;
    const struct fact *old = x->attributes;

    for (size_t i = 0; i < found->attribute_count; i++)
        all[n++] = found->attributes[i];
    x->attributes = all;
    x->attribute_count = n;
    for (size_t i = 0; i < old_count; i++) {
        if (facts_attribute(x, old[i].name).ptr != NULL)
            continue;
        all[n] = old[i];
        x->attribute_count = n + 1;
        if (facts_fit(x))
            n++;
        x->attribute_count = n;
    }
}

bool answer_doc_extract(struct flight *f, const struct extract_source *source)
{
    struct str name = { 0 };
    int64_t from = clock_mono_us();
    struct extract_failure failure;
    struct facts found = { 0 };

    if (f->facts.generation > 0)
        name = facts_attribute(&f->facts, ANSWER_FROM);
    const struct plan_answer *rule = name.ptr != NULL ? plan_answer_find(f->plan, name) : NULL;

    if (rule == NULL || rule->extract == NULL)
        return true;
    if (!extract_run(rule->extract, source, &f->arena, &found, &failure)) {
        outcome_dead(f, TIMELINE_EXTRACT, rule->name, failure.code, clock_mono_us() - from,
                     failure.message);
        return false;
    }
    if (found.sender.ptr != NULL)
        f->facts.sender = found.sender;
    if (found.receiver.ptr != NULL)
        f->facts.receiver = found.receiver;
    if (found.type.ptr != NULL)
        f->facts.type = found.type;
    take_answer_attributes(f, &found);
    flight_note(f, TIMELINE_EXTRACT, TIMELINE_DONE, rule->name, clock_mono_us() - from, NULL);
    return true;
}
