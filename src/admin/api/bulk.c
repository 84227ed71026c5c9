/* bulk.c - bulk changes of documents by a filter: counted first, then changed in portions. */
#include "admin/api/documents.h"
#include "admin/api/parts.h"
#include "admin/view/document_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "store/manual/operate.h"
#include "store/manual/resolve.h"

enum { COUNT_ARENA = 64 << 20 };

#define BIT(state) (1u << (state))

/* A bulk change, and the states in which a document can be changed by it. */
struct change {
    enum operate_action action;
    const char *verb;
    unsigned states;                     /* bits; 0: any, even documents that have ended */
    const struct resolve_order *resolve; /* NULL: `action` by operate() */
};

static bool change_page(struct graphql_call *call, const struct change *c,
                        const struct operate_order *order, const struct api_page *page,
                        struct operate_answer *answers, struct err *err)
{
    struct operate_target *targets = ARENA_ARRAY(call->arena, struct operate_target, page->count);
    struct id *ids = ARENA_ARRAY(call->arena, struct id, page->count);

    for (size_t i = 0; i < page->count; i++) {
        ids[i] = ((const struct document_view *)page->items[i])->doc.source.id;
        targets[i].id = ids[i];
    }
    return c->resolve != NULL
               ? resolve(api_store(call), ids, page->count, c->resolve, answers, err)
               : operate(api_store(call), c->action, targets, page->count, order, answers, err);
}

static struct api_find find_of(const struct change *c, size_t first, int64_t until_us)
{
    return (struct api_find){ .right = RIGHT_RETRY,
                              .first = first,
                              .live = c->states != 0,
                              .states = c->states,
                              .until_us = until_us };
}

/* Counts as many documents as the time limit of one request allows. */
static bool count_them(struct graphql_call *call, const struct change *c, int64_t until_us,
                       int64_t *io_below, struct api_bulk_result *ret, struct err *err)
{
    struct api_find find = find_of(c, DOCUMENTS_PAGE_MOST, until_us);

    do {
        AUTO(arena_done) struct arena a = ARENA_INIT(COUNT_ARENA);
        struct api_page *page = ARENA_NEW(&a, struct api_page);
        struct graphql_call one = *call;

        one.arena = &a;
        if (!api_find_documents(&one, &find, page, io_below, err))
            return false;
        ret->count += (int64_t)page->count;
    } while (*io_below != 0 && clock_mono_us() < call->deadline_us - 2 * CLOCK_S);
    return true;
}

static bool api_bulk_change_portion(struct graphql_call *call, const struct change *c,
                                    const struct operate_order *order, int64_t until_us,
                                    int64_t *io_below, struct api_bulk_result *ret, struct err *err)
{
    struct arena *a = call->arena;
    struct api_page *page = ARENA_NEW(a, struct api_page);
    struct operate_answer *answers = ARENA_ARRAY(a, struct operate_answer, DOCUMENTS_PAGE_MOST);
    struct api_find find;
    size_t first;

    _Static_assert((int)DOCUMENTS_PAGE_MOST <= (int)OPERATE_MOST, "a page is one transaction");
    if (!api_read_count(call, "portion", DOCUMENTS_PAGE_MOST, &first, err))
        return false;
    find = find_of(c, first, until_us);
    if (!api_find_documents(call, &find, page, io_below, err))
        return false;
    if (!change_page(call, c, order, page, answers, err))
        return false;
    ret->count = (int64_t)page->count;
    for (size_t i = 0; i < page->count; i++)
        ret->done += answers[i].result == OPERATE_DONE;
    ret->skipped = ret->count - ret->done;
    return true;
}

static bool api_bulk_change_in_bulk(struct graphql_call *call, const struct change *c,
                                    struct operate_order *order, struct err *err)
{
    struct api_bulk_result *b = ARENA_NEW(call->arena, struct api_bulk_result);
    int64_t below, until;
    bool dry = false;

    order->bulk = true;
    (void)graphql_arg_bool(call, "dry", &dry);
    if (!api_read_place(call, &below, &until, err))
        return false;
    b->begin = api_place(call, below, until);
    if (dry ? !count_them(call, c, until, &below, b, err)
            : !api_bulk_change_portion(call, c, order, until, &below, b, err))
        return false;
    if (below != 0)
        b->next = api_place(call, below, until);
    if (!dry && b->count > 0) {
        road_note_backlog(engine_road(api_engine(call)));
        api_log_change(c->verb, order->who, (size_t)b->count, (size_t)b->done);
    }
    return graphql_set_object(call, b);
}

/* Only dead and retrying documents are retried: others need no retry.  With `again` also those that
 * have ended, such as delivered ones. */
static bool documents_retry(struct graphql_call *call, struct err *err)
{
    struct change c = { OPERATE_RETRY, "retry", BIT(DOCUMENT_DEAD) | BIT(DOCUMENT_RETRYING) };
    struct operate_order order;

    if (!api_order_of(call, &order, err))
        return false;
    api_read_retry(call, &order);
    if (order.from == RETRY_ROUTE || order.from == RETRY_EXTRACT)
        c.states |= BIT(DOCUMENT_HELD); /* on another way: what holds it may be gone for good */
    if (order.again)
        c.states = 0;
    return api_bulk_change_in_bulk(call, &c, &order, err);
}

static bool documents_cancel(struct graphql_call *call, struct err *err)
{
    static const struct change c = { OPERATE_CANCEL, "cancel",
                                     BIT(DOCUMENT_RECEIVED) | BIT(DOCUMENT_ACTIVE) |
                                         BIT(DOCUMENT_HELD) | BIT(DOCUMENT_RETRYING) |
                                         BIT(DOCUMENT_DEAD) | BIT(DOCUMENT_IN_DOUBT) };
    struct operate_order order;

    return api_order_of(call, &order, err) && api_bulk_change_in_bulk(call, &c, &order, err);
}

static bool documents_discard(struct graphql_call *call, struct err *err)
{
    static const struct change c = { OPERATE_DISCARD, "discard", BIT(DOCUMENT_DEAD) };
    struct operate_order order;

    return api_order_of(call, &order, err) && api_bulk_change_in_bulk(call, &c, &order, err);
}

/* The count and every portion carry the time at which the count began: what comes into doubt later
 * is left alone, because nobody has asked its receiver. */
static bool documents_resolve(struct graphql_call *call, struct err *err)
{
    struct resolve_order order;
    struct change c = { .verb = "resolve", .states = BIT(DOCUMENT_IN_DOUBT), .resolve = &order };
    struct operate_order who = { 0 };
    int64_t below;

    if (!api_read_resolution(call, &order, err) ||
        !api_read_place(call, &below, &order.before_us, err))
        return false;
    who.who = order.who;
    return api_bulk_change_in_bulk(call, &c, &who, err);
}

const struct graphql_resolver api_bulk[] = {
    { .field = "Mutation.documentsRetry", .fn = documents_retry },
    { .field = "Mutation.documentsCancel", .fn = documents_cancel },
    { .field = "Mutation.documentsDiscard", .fn = documents_discard },
    { .field = "Mutation.documentsResolve", .fn = documents_resolve },
};
const size_t api_bulk_count = sizeof api_bulk / sizeof api_bulk[0];
