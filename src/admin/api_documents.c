/* Documents: Query.document, Query.documents. */
#include "admin/api_parts.h"
#include "admin/document_view.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "store/document.h"
#include "store/store.h"

/* A document with what only the view of it needs. */
struct shown {
    struct document doc;
    struct store *store;
    int64_t received_us, updated_us, size, config;
    struct str name, ctype, state;
};

static struct shown *show(struct graphql_call *call, struct store *s, const struct document *d)
{
    struct shown *v = ARENA_NEW(call->arena, struct shown);

    *v = (struct shown){ .doc = *d,
                         .store = s,
                         .received_us = d->received_us,
                         .updated_us = d->updated_us,
                         .size = d->source.size,
                         .config = d->config,
                         .state = d->state };
    v->name = d->name.len > 0 ? d->name : (struct str){ 0 };
    v->ctype = d->ctype.len > 0 ? d->ctype : (struct str){ 0 };
    return v;
}

static bool document(struct graphql_call *call, struct err *err)
{
    struct store *s = engine_store(call->principal);
    struct document d;
    struct id id;

    if (!id_parse(graphql_arg_text(call, "id"), &id))
        return graphql_set_null(call);
    if (document_get(s, &id, call->arena, &d, err))
        return graphql_set_object(call, show(call, s, &d));
    return err->kind == ERR_NONE && graphql_set_null(call);
}

struct page {
    const void *items[DOCUMENTS_PAGE_MOST];
    size_t count;
    struct str next;
};

static bool read_filter(struct graphql_call *call, struct store *s, struct document_filter *f,
                        bool *ret_nothing)
{
    const struct graphql_value *v = graphql_arg(call, "filter");
    const struct graphql_value *gateway = graphql_value_field(v, "gateway");
    static const char *const unknown[] = { "sender", "receiver", "type", "error" };

    *ret_nothing = false;
    f->state = graphql_value_field(v, "state")->text;
    f->name = graphql_value_field(v, "name")->text;
    f->since_us = graphql_value_field(v, "since")->number;
    f->until_us = graphql_value_field(v, "until")->number;
    if (gateway->kind == GRAPHQL_TEXT &&
        !store_word_find(s, WORD_GATEWAY, gateway->text, &f->gateway))
        *ret_nothing = true;
    /* No document has these before something extracts them. */
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        if (graphql_value_field(v, unknown[i])->kind == GRAPHQL_TEXT)
            *ret_nothing = true;
    return true;
}

static bool documents(struct graphql_call *call, struct err *err)
{
    struct store *s = engine_store(call->principal);
    struct page *page = ARENA_NEW(call->arena, struct page);
    struct document *docs = ARENA_ARRAY(call->arena, struct document, DOCUMENTS_PAGE_MOST);
    struct document_filter f = { 0 };
    struct str after = graphql_arg_text(call, "after");
    int64_t first = 50, below = 0, next;
    bool nothing;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > DOCUMENTS_PAGE_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", DOCUMENTS_PAGE_MOST);
    if (after.len > 0 && (!str_to_i64(after, &below) || below < 1))
        return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
    if (!read_filter(call, s, &f, &nothing))
        return false;
    if (!nothing) {
        if (!document_list(s, &f, below, (size_t)first, call->arena, docs, &page->count, &next,
                           err))
            return false;
        for (size_t i = 0; i < page->count; i++)
            page->items[i] = show(call, s, &docs[i]);
        if (next != 0)
            page->next = str_of(arena_printf(call->arena, "%lld", (long long)next));
    }
    return graphql_set_object(call, page);
}

static bool page_items(struct graphql_call *call, struct err *err)
{
    const struct page *p = call->parent;

    (void)err;
    return graphql_set_objects(call, p->items, p->count);
}

static bool doc_id(struct graphql_call *call, struct err *err)
{
    const struct shown *v = call->parent;
    char text[ID_TEXT];

    (void)err;
    return graphql_set_z(call, id_text(&v->doc.source.id, text));
}

static bool doc_gateway(struct graphql_call *call, struct err *err)
{
    const struct shown *v = call->parent;

    (void)err;
    return graphql_set_text(call, store_word_name(v->store, v->doc.gateway));
}

static bool doc_sha256(struct graphql_call *call, struct err *err)
{
    const struct shown *v = call->parent;
    char text[SHA256_TEXT];

    (void)err;
    return graphql_set_z(call, digest_text(&v->doc.source.sha256, text));
}

static bool doc_caller(struct graphql_call *call, struct err *err)
{
    const struct shown *v = call->parent;
    struct str who = document_view_caller(&v->doc, call->arena);

    (void)err;
    return who.len > 0 ? graphql_set_text(call, who) : graphql_set_null(call);
}

/* Nothing extracts or fails a document yet. */
static bool none(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_null(call);
}

struct line {
    int64_t time_us;
    const char *stage, *outcome;
};

/* Accepting is the first line of every timeline, and is derived from the document. */
static bool doc_timeline(struct graphql_call *call, struct err *err)
{
    const struct shown *v = call->parent;
    struct line *line = ARENA_NEW(call->arena, struct line);
    const void **lines = ARENA_ARRAY(call->arena, const void *, 1);

    (void)err;
    *line = (struct line){ .time_us = v->received_us, .stage = "accept", .outcome = "stored" };
    lines[0] = line;
    return graphql_set_objects(call, lines, 1);
}

const struct graphql_resolver api_documents[] = {
    { .field = "Query.document", .fn = document },
    { .field = "Query.documents", .fn = documents },
    { .field = "DocumentPage.items", .fn = page_items },
    GRAPHQL_MEMBER("DocumentPage.next", struct page, next),
    { .field = "Document.id", .fn = doc_id },
    { .field = "Document.gateway", .fn = doc_gateway },
    { .field = "Document.sender", .fn = none },
    { .field = "Document.receiver", .fn = none },
    { .field = "Document.type", .fn = none },
    GRAPHQL_MEMBER("Document.state", struct shown, state),
    GRAPHQL_MEMBER("Document.size", struct shown, size),
    { .field = "Document.sha256", .fn = doc_sha256 },
    GRAPHQL_MEMBER("Document.name", struct shown, name),
    GRAPHQL_MEMBER("Document.contentType", struct shown, ctype),
    GRAPHQL_MEMBER("Document.received", struct shown, received_us),
    GRAPHQL_MEMBER("Document.updated", struct shown, updated_us),
    { .field = "Document.error", .fn = none },
    { .field = "DocumentError.code", .fn = none },
    { .field = "DocumentError.message", .fn = none },
    GRAPHQL_MEMBER("Document.config", struct shown, config),
    { .field = "Document.caller", .fn = doc_caller },
    { .field = "Document.timeline", .fn = doc_timeline },
    GRAPHQL_MEMBER("TimelineEntry.time", struct line, time_us),
    { .field = "TimelineEntry.node", .fn = none },
    GRAPHQL_MEMBER("TimelineEntry.stage", struct line, stage),
    GRAPHQL_MEMBER("TimelineEntry.outcome", struct line, outcome),
    { .field = "TimelineEntry.duration", .fn = none },
    { .field = "TimelineEntry.message", .fn = none },
};
const size_t api_documents_count = sizeof api_documents / sizeof api_documents[0];
