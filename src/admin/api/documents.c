#include "admin/api/documents.h"

#include "admin/api/filter.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/document_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/stages.h"
#include "core/timeline.h"
#include "engine/engine.h"
#include "store/kernel/node.h"
#include "store/road/order.h"
#include "store/search/document.h"
#include "store/store.h"

enum { SCAN_MOST = 20000, BATCH_ARENA = 256 << 20 };

_Static_assert((int)DOCUMENTS_PAGE_MOST <= (int)API_PAGE_MOST, "a page holds them");

/* ---- one ---- */

bool api_show_document(struct graphql_call *call, const struct document *d, bool listed, void **ret,
                       struct err *err)
{
    struct document_view *v = ARENA_NEW(call->arena, struct document_view);

    if (!document_view_make(api_engine(call), d, listed, call->arena, v, err))
        return false;
    *ret = v;
    return true;
}

static bool document(struct graphql_call *call, struct err *err)
{
    struct document d;
    struct id id;
    bool found;
    void *shown;

    if (!id_parse(graphql_arg_text(call, "id"), &id))
        return graphql_set_null(call);
    if (!api_get_document(call, RIGHT_SEE, &id, &d, &found, err))
        return false;
    if (!found)
        return graphql_set_null(call);
    return api_show_document(call, &d, false, &shown, err) && graphql_set_object(call, shown);
}

/* ---- lists ---- */

/* Reads one portion from the store into an arena of its own; only documents that match are copied
 * to the arena of the answer. */
static bool add_batch(struct graphql_call *call, const struct api_wanted *w, size_t first,
                      struct api_page *page, int64_t *io_below, size_t *ret_looked, struct err *err)
{
    AUTO(arena_done) struct arena batch = ARENA_INIT(BATCH_ARENA);
    struct document *docs = ARENA_ARRAY(&batch, struct document, DOCUMENTS_PAGE_MOST);
    size_t limit = api_is_picky(w) ? DOCUMENTS_PAGE_MOST : first - page->count;
    int64_t next;

    if (!document_list(api_store(call), &w->f, *io_below, limit, &batch, docs, ret_looked, &next,
                       err))
        return false;
    for (size_t i = 0; i < *ret_looked; i++) {
        bool fits;

        if (page->count == first) { /* the next page continues after the last document checked */
            *io_below = docs[i - 1].source.num;
            return true;
        }
        if (!api_fits(api_engine(call), w, &docs[i], &batch, &fits, err))
            return false;
        if (!fits)
            continue;
        struct document d = document_copy(&docs[i], call->arena);
        void *shown;

        if (!api_show_document(call, &d, true, &shown, err))
            return false;
        page->items[page->count++] = shown;
    }
    *io_below = next;
    return true;
}

/* Whether the store's page may be short though there are more matches: the filter has a part that
 * the store cannot check, or a scope. */
static bool goes_on(const struct api_wanted *w)
{
    return api_is_picky(w) || w->f.scope != NULL;
}

bool api_find_documents(struct graphql_call *call, const struct api_find *find,
                        struct api_page *page, int64_t *io_below, struct err *err)
{
    struct api_wanted w;
    size_t looked, all = 0;

    if (!api_read_filter(call, find->right, &w, err))
        return false;
    w.f.live = w.f.live || find->live;
    w.states = find->states;
    if (find->until_us != 0 && (w.f.until_us == 0 || w.f.until_us > find->until_us))
        w.f.until_us = find->until_us;
    if (w.nothing)
        *io_below = 0;
    while (!w.nothing) {
        if (!add_batch(call, &w, find->first, page, io_below, &looked, err))
            return false;
        all += looked + 1;
        if (*io_below == 0 || page->count == find->first || !goes_on(&w) || all >= SCAN_MOST ||
            clock_mono_us() > call->deadline_us - CLOCK_S)
            break;
    }
    return true;
}

static bool documents(struct graphql_call *call, struct err *err)
{
    struct api_page *page = ARENA_NEW(call->arena, struct api_page);
    int64_t first, below;

    if (!api_read_page(call, DOCUMENTS_PAGE_MOST, &first, &below, err) ||
        !api_find_documents(call, &(struct api_find){ .right = RIGHT_SEE, .first = (size_t)first },
                            page, &below, err))
        return false;
    api_page_goes_on(call, page, below);
    return graphql_set_object(call, page);
}

/* ---- rights ---- */

bool api_covers_document(const struct graphql_call *call, enum right right)
{
    const struct document_view *v = call->parent;

    return api_sees(call, right, v->doc.sender, v->doc.receiver);
}

/* ---- fields ---- */

static bool api_documents_text_or_null(struct graphql_call *call, struct str text)
{
    return text.len > 0 ? graphql_set_text(call, text) : graphql_set_null(call);
}

static bool doc_gateway(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;

    (void)err;
    return graphql_set_text(call, name_text(api_store(call), v->doc.gateway));
}

static bool doc_route(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;

    (void)err;
    return api_documents_text_or_null(
        call, v->doc.route != 0 ? name_text(api_store(call), v->doc.route) : STR(""));
}

static bool doc_state(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;

    (void)err;
    return graphql_set_z(call, document_states[v->state]);
}

static bool doc_error(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;
    struct api_error *e = ARENA_NEW(call->arena, struct api_error);

    (void)err;
    *e = (struct api_error){ .code = v->doc.code, .message = v->doc.message };
    return e->code.len > 0 ? graphql_set_object(call, e) : graphql_set_null(call);
}

static bool doc_caller(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;

    (void)err;
    return api_documents_text_or_null(call, document_view_caller(&v->doc, call->arena));
}

static bool doc_attributes(struct graphql_call *call, struct err *err)
{
    const struct document_view *v = call->parent;

    (void)err;
    return api_set_attributes(call, &v->facts);
}

/* ---- deliveries ---- */

/* The parent is const, but the view was allocated by api_show_document() for this answer; it may be
 * completed. */
static struct document_view *api_documents_view_of(struct graphql_call *call)
{
    union {
        const void *given;
        struct document_view *own;
    } parent = { .given = call->parent };

    return parent.own;
}

static bool doc_deliveries(struct graphql_call *call, struct err *err)
{
    struct document_view *v = api_documents_view_of(call);

    if (!document_view_load(api_engine(call), v, call->arena, err))
        return false;
    return graphql_set_structs(call, v->deliveries, v->delivery_count, sizeof *v->deliveries);
}

static bool delivery_state(struct graphql_call *call, struct err *err)
{
    const struct delivery_view *d = call->parent;

    (void)err;
    return graphql_set_z(call, delivery_states[d->state]);
}

static bool delivery_held(struct graphql_call *call, struct err *err)
{
    const struct delivery_view *d = call->parent;

    (void)err;
    return api_set_held(call, d->held);
}

static bool delivery_blocked_by(struct graphql_call *call, struct err *err)
{
    const struct delivery_view *d = call->parent;
    enum delivery_state state;
    struct str document;

    if (d->lane == 0)
        return graphql_set_null(call);
    if (!order_before(api_store(call), d->lane, d->num, call->arena, &document, &state, err))
        return false;
    struct id id;
    bool there = id_parse(document, &id);

    if (there && !api_sees_all(call, RIGHT_SEE) && !api_is_there(call, RIGHT_SEE, &id, &there, err))
        return false;
    return there ? graphql_set_text(call, document) : graphql_set_null(call);
}

/* ---- the timeline ---- */

struct line {
    struct timeline_line l;
    const char *stage, *outcome;
    struct str node; /* its name, or its id */
    int64_t number;  /* of the stage that the line is about, from 1; 0: none */
};

/* The first line of every timeline, acceptance, is not stored but derived from the document. */
static struct line *api_documents_first_line(struct graphql_call *call,
                                             const struct document_view *v)
{
    struct line *line = ARENA_NEW(call->arena, struct line);

    *line = (struct line){ .l = { .at_us = v->doc.received_us, .took_us = -1 },
                           .stage = timeline_stages[TIMELINE_ACCEPT],
                           .outcome = "stored" };
    line->l.what = name_text(api_store(call), v->doc.gateway);
    return line;
}

static size_t count_lines(struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;
    size_t n = 0;

    while (timeline_next(&r, &line, &damaged))
        n++;
    return n;
}

/* A commit writes the lines about stored variants before its other lines.  Moves them down to where
 * their time belongs, among adjacent lines of the same node. */
static void put_in_order(const void **list, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        const struct line *line = list[i];

        for (size_t k = i; line->l.has_bytes && k + 1 < n; k++) {
            const struct line *next = list[k + 1];

            if (next->l.at_us > line->l.at_us || next->l.node != line->l.node)
                break;
            list[k] = next;
            list[k + 1] = line;
        }
    }
}

/* Hides a message that names a document out of the caller's scope. */
static bool hide_others(struct graphql_call *call, struct line *line, struct err *err)
{
    const char *shown, *text = arena_text(call->arena, line->l.message);

    if (!api_hide_others(call, text, &shown, err))
        return false;
    if (shown != text)
        line->l.message = str_of(shown);
    return true;
}

/* Names the node of a line.  `before` is the line above, mostly of the same node. */
static bool name_the_node(struct graphql_call *call, const struct line *before, struct line *line,
                          struct err *err)
{
    if (line->l.node == 0)
        return true;
    if (before->l.node == line->l.node) {
        line->node = before->node;
        return true;
    }
    if (node_name(api_store(call), line->l.node, call->arena, &line->node, err))
        return true;
    line->node = str_of(arena_printf(call->arena, "%lld", (long long)line->l.node));
    return err->kind == ERR_NONE;
}

static bool doc_timeline(struct graphql_call *call, struct err *err)
{
    struct document_view *v = api_documents_view_of(call);

    if (!document_view_load(api_engine(call), v, call->arena, err))
        return false;
    size_t count = count_lines(v->doc.timeline) + 1, n = 0;
    const void **list = ARENA_ARRAY(call->arena, const void *, count);
    struct timeline_reader r = timeline_read(v->doc.timeline);
    size_t stage_count;
    const struct stage *stages = stages_read(v->doc.timeline, call->arena, &stage_count);
    bool damaged, all = api_sees_all(call, RIGHT_SEE);

    for (list[n++] = api_documents_first_line(call, v); n < count; n++) {
        struct line *line = ARENA_NEW(call->arena, struct line);

        if (!timeline_next(&r, &line->l, &damaged))
            break;
        line->stage = timeline_stages[line->l.stage];
        line->outcome = timeline_outcomes[line->l.outcome];
        line->l.has_bytes = line->l.has_bytes && !line->l.is_answer;
        const struct stage *s = stages_of_line(stages, stage_count, (int64_t)n - 1);

        line->number = s != NULL ? s->number : 0;
        if (line->l.has_bytes) /* the number of the step in its run, not of an attempt */
            line->l.attempt = 0;
        if (!name_the_node(call, list[n - 1], line, err))
            return false;
        if (!all && !hide_others(call, line, err))
            return false;
        list[n] = line;
    }
    put_in_order(list, n);
    return graphql_set_objects(call, list, n);
}

static bool line_duration(struct graphql_call *call, struct err *err)
{
    const struct line *line = call->parent;

    (void)err;
    return line->l.took_us < 0 ? graphql_set_null(call) : graphql_set_int(call, line->l.took_us);
}

static bool line_bytes(struct graphql_call *call, struct err *err)
{
    const struct line *line = call->parent;

    (void)err;
    return line->l.has_bytes ? graphql_set_object(call, line) : graphql_set_null(call);
}

const struct graphql_resolver api_documents[] = {
    { .field = "Query.document", .fn = document },
    { .field = "Query.documents", .fn = documents },
    { .field = "DocumentPage.items", .fn = api_page_items },
    GRAPHQL_MEMBER("DocumentPage.next", struct api_page, next),
    GRAPHQL_MEMBER("Document.id", struct document_view, doc.source.id),
    { .field = "Document.gateway", .fn = doc_gateway },
    API_TEXT_AT("Document.sender", struct document_view, facts.sender),
    API_TEXT_AT("Document.receiver", struct document_view, facts.receiver),
    API_TEXT_AT("Document.type", struct document_view, facts.type),
    { .field = "Document.state", .fn = doc_state },
    GRAPHQL_MEMBER("Document.size", struct document_view, doc.source.size),
    GRAPHQL_MEMBER("Document.sha256", struct document_view, doc.source.sha256),
    API_TEXT_AT("Document.name", struct document_view, doc.name),
    API_TEXT_AT("Document.contentType", struct document_view, doc.ctype),
    GRAPHQL_MEMBER("Document.received", struct document_view, doc.received_us),
    GRAPHQL_MEMBER("Document.updated", struct document_view, doc.updated_us),
    { .field = "Document.error", .fn = doc_error },
    GRAPHQL_MEMBER("DocumentError.code", struct api_error, code),
    GRAPHQL_MEMBER("DocumentError.message", struct api_error, message),
    GRAPHQL_MEMBER("Document.config", struct document_view, doc.config),
    { .field = "Document.caller", .fn = doc_caller },
    { .field = "Document.route", .fn = doc_route },
    { .field = "Document.attributes", .fn = doc_attributes },
    GRAPHQL_MEMBER("Attribute.name", struct fact, name),
    GRAPHQL_MEMBER("Attribute.value", struct fact, value),
    GRAPHQL_MEMBER("Document.again", struct document_view, doc.again),
    { .field = "Document.deliveries", .fn = doc_deliveries },
    API_TEXT_AT("Delivery.id", struct delivery_view, id),
    GRAPHQL_MEMBER("Delivery.endpoint", struct delivery_view, endpoint),
    API_TEXT_AT("Delivery.system", struct delivery_view, system),
    { .field = "Delivery.state", .fn = delivery_state },
    { .field = "Delivery.held", .fn = delivery_held },
    API_TEXT_AT("Delivery.heldWhy", struct delivery_view, held_why),
    { .field = "Delivery.blockedBy", .fn = delivery_blocked_by },
    GRAPHQL_MEMBER("Delivery.attempts", struct delivery_view, attempts),
    API_NUMBER_AT("Delivery.due", struct delivery_view, due_us),
    API_NUMBER_AT("Delivery.status", struct delivery_view, status),
    API_TEXT_AT("Delivery.code", struct delivery_view, code),
    API_TEXT_AT("Delivery.message", struct delivery_view, message),
    API_TEXT_AT("Delivery.name", struct delivery_view, name),
    GRAPHQL_MEMBER("Delivery.updated", struct delivery_view, updated_us),
    { .field = "Document.timeline", .fn = doc_timeline },
    GRAPHQL_MEMBER("TimelineEntry.time", struct line, l.at_us),
    API_TEXT_AT("TimelineEntry.node", struct line, node),
    GRAPHQL_MEMBER("TimelineEntry.stage", struct line, stage),
    API_TEXT_AT("TimelineEntry.what", struct line, l.what),
    GRAPHQL_MEMBER("TimelineEntry.outcome", struct line, outcome),
    { .field = "TimelineEntry.duration", .fn = line_duration },
    API_NUMBER_AT("TimelineEntry.attempt", struct line, l.attempt),
    API_NUMBER_AT("TimelineEntry.status", struct line, l.status),
    API_NUMBER_AT("TimelineEntry.config", struct line, l.config),
    API_TEXT_AT("TimelineEntry.message", struct line, l.message),
    API_NUMBER_AT("TimelineEntry.step", struct line, number),
    { .field = "TimelineEntry.bytes", .fn = line_bytes },
    GRAPHQL_MEMBER("StoredBytes.stage", struct line, number),
    GRAPHQL_MEMBER("StoredBytes.size", struct line, l.size),
    GRAPHQL_MEMBER("StoredBytes.sha256", struct line, l.sha256),
};
const size_t api_documents_count = sizeof api_documents / sizeof api_documents[0];
