#include "engine/walk/answering.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/id.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "extract/extract.h"
#include "store/road/awaited.h"
#include "store/search/document.h"
#include "store/store.h"

enum {
    FOUND_MOST = 20,       /* of one attribute's value: more are not looked at */
    LOOK_MEMORY = 8 << 20, /* one document with its timeline, or a page of them */
    EARLY_MOST = 6,        /* attempts while its document is on its way */
    UNKNOWN_MOST = 2,      /* ... or not found: its attributes may not be committed yet */
    SHOWN_MOST = 100
};

enum finding { FINDING_NONE, FINDING_EARLY, FINDING_FOUND };

bool answering_asks(const struct flight *f)
{
    if (f->plan->attributes == NULL || f->dry || f->facts.generation > 0)
        return false; /* mostly: no gateway has it */
    const struct plan_gateway *g = plan_gateway_find(f->plan, f->gateway);

    return g != NULL && g->answers != NULL;
}

/* ---- whether it was sent there ---- */

/* The line is of an attempt that the system may have got. */
static bool was_sent_to(const struct timeline_line *line, struct str receiver, struct str system)
{
    struct str to = line->system.len > 0 ? line->system : receiver;

    return line->stage == TIMELINE_DELIVERY && line->has_delivery && line->attempt > 0 &&
           str_eq(to, system);
}

static bool names_delivery(const struct timeline_line *line, const char *doc, struct str delivery)
{
    size_t at = strlen(doc) + 1;

    return delivery.len == 0 || (delivery.len == at + line->what.len + line->id_end.len &&
                                 str_eq(str_mem(delivery.ptr + at, line->what.len), line->what) &&
                                 str_eq(str_from(delivery, at + line->what.len), line->id_end));
}

/* What the timeline says of it.  A live document may have been sent and not have its line yet. */
static enum finding judge_found(struct flight *f, const struct document *d, struct str delivery)
{
    struct str receiver = name_text(f->road->store, d->receiver);
    struct timeline_reader r = timeline_read(d->timeline);
    struct timeline_line line;
    bool damaged, sent = false;
    char id[ID_TEXT];

    (void)id_text(&d->source.id, id);
    while (!sent && timeline_next(&r, &line, &damaged))
        sent = was_sent_to(&line, receiver, f->facts.sender) && names_delivery(&line, id, delivery);
    if (sent)
        return FINDING_FOUND;
    return d->is == DOCUMENT_RECEIVED || d->is == DOCUMENT_ACTIVE ? FINDING_EARLY : FINDING_NONE;
}

static struct answered answered_of(struct flight *f, const struct document *d, struct str delivery)
{
    int64_t system = 0;

    (void)name_find(f->road->store, NAME_SYSTEM, f->facts.sender, &system);
    return (struct answered){ .doc = d->source.num, .system = system, .delivery = delivery };
}

/* The timeline has no line of what a step asked: then the wait says that it was asked there. */
static bool judge_document(struct flight *f, const struct document *d, struct str delivery,
                           enum finding *ret, struct err *err)
{
    struct answered q = answered_of(f, d, delivery);
    bool awaited = false;

    *ret = judge_found(f, d, delivery);
    if (*ret != FINDING_FOUND && q.system != 0 && !awaited_has(f->road->store, &q, &awaited, err))
        return false;
    if (awaited)
        *ret = FINDING_FOUND;
    if (*ret != FINDING_FOUND)
        return true;
    f->settle.answers = q;
    f->settle.answers.delivery = arena_copy(&f->arena, delivery);
    return true;
}

/* ---- by id ---- */

/* The id in front: all of it, or up to the dot of a delivery's id, or the colon of what a step asks
 * under. */
static bool read_id(struct str value, struct id *ret, struct str *ret_delivery)
{
    size_t len = 0;

    while (len < value.len && value.ptr[len] != '.' && value.ptr[len] != ':')
        len++;
    *ret_delivery = len < value.len ? value : STR("");
    return id_parse(str_mem(value.ptr, len), ret);
}

static bool find_by_id(struct flight *f, const struct id *id, struct str delivery,
                       enum finding *ret, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(LOOK_MEMORY);
    struct document d;

    *ret = FINDING_NONE;
    if (!document_get(f->road->store, id, &a, &d, err))
        return err->kind == ERR_NONE;
    if (d.source.num == f->source.num)
        return true;
    return judge_document(f, &d, delivery, ret, err);
}

/* ---- by attribute ---- */

static bool look_at_one(struct flight *f, int64_t num, enum finding *ret, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(LOOK_MEMORY);
    struct document d;
    bool there;

    if (num == f->source.num)
        return true;
    if (!document_numbered(f->road->store, num, &a, &d, &there, err))
        return false;
    enum finding one = FINDING_NONE;

    if (there && !judge_document(f, &d, STR(""), &one, err))
        return false;
    if (one > *ret)
        *ret = one;
    return true;
}

static bool find_by_attribute(struct flight *f, struct str name, struct str value,
                              enum finding *ret, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(LOOK_MEMORY);
    struct document_filter filter = { .where = { { name, value } }, .where_count = 1 };
    struct document *found = ARENA_ARRAY(&a, struct document, FOUND_MOST);
    int64_t next;
    size_t n;

    if (!document_list(f->road->store, &filter, 0, FOUND_MOST, &a, found, &n, &next, err))
        return false;
    for (size_t i = 0; i < n && *ret != FINDING_FOUND; i++)
        if (!look_at_one(f, found[i].source.num, ret, err))
            return false;
    return true;
}

static bool answering_find(struct flight *f, struct str value, enum finding *ret, struct err *err)
{
    const struct plan *p = f->plan;
    struct str delivery;
    struct id id;

    *ret = FINDING_NONE;
    if (f->facts.sender.ptr == NULL)
        return true;
    if (read_id(value, &id, &delivery))
        return find_by_id(f, &id, delivery, ret, err);
    for (size_t i = 0; i < p->attribute_count && *ret != FINDING_FOUND; i++)
        if (!find_by_attribute(f, p->attributes[i], value, ret, err))
            return false;
    return true;
}

/* ---- what it answers ---- */

static struct str answering_value(struct flight *f, const struct extract_source *source)
{
    const struct plan_gateway *g = plan_gateway_find(f->plan, f->gateway);
    struct extract_failure failure;
    struct facts found = { 0 };

    if (!extract_run(g->answers, source, &f->arena, &found, &failure)) {
        flight_note(f, TIMELINE_EXTRACT, TIMELINE_FAILED, STR("answers"), -1, failure.message);
        return (struct str){ 0 };
    }
    return facts_attribute(&found, PLAN_KEY);
}

bool answering_look(struct flight *f, const struct extract_source *source)
{
    struct str value = answering_value(f, source), shown = str_first(value, SHOWN_MOST);
    struct str sender = f->facts.sender.ptr != NULL ? f->facts.sender : STR("its sender");
    enum finding finding;
    struct err err = { 0 };

    f->settle.answers = (struct answered){ 0 };
    if (value.ptr == NULL)
        return true;
    if (!answering_find(f, value, &finding, &err)) {
        outcome_again(f, &err);
        return false;
    }
    if (finding != FINDING_FOUND &&
        f->settle.task.attempts < (finding == FINDING_EARLY ? EARLY_MOST : UNKNOWN_MOST)) {
        (void)snprintf(f->message, sizeof f->message,
                       "it answers `%.*s`, of which nothing is known to have been sent to %.*s yet",
                       STR_ARG(shown), STR_ARG(sender));
        outcome_later(f);
        return false;
    }
    if (finding == FINDING_FOUND)
        (void)snprintf(f->message, sizeof f->message, "it answers `%.*s`", STR_ARG(shown));
    else
        (void)snprintf(f->message, sizeof f->message,
                       "it answers `%.*s`, and nothing that was sent to %.*s has this id or value: "
                       "it is linked to nothing",
                       STR_ARG(shown), STR_ARG(sender));
    flight_note(f, TIMELINE_EXTRACT, finding == FINDING_FOUND ? TIMELINE_NOTED : TIMELINE_FAILED,
                STR("answers"), -1, f->message);
    return true;
}
