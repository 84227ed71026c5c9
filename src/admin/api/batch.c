/* batch.c - batches: batches, batchClose. */
#include "store/batch/batch.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/option.h"
#include "engine/batch/batcher.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "store/store.h"

enum { PAGE_MOST = 200, LOOKS_MOST = 20 };

struct shown_batch {
    struct batch batch;
    struct str id, name, route, receiver, document;
    const char *state;
    struct str why;
    int64_t closes_us;
};

struct shown_page {
    struct shown_batch *list;
    size_t count;
    struct str next;
};

/* ---- looking ---- */

/* The time at which an open batch closes at the latest; 0: none. */
static bool api_batch_find_end(struct graphql_call *call, const struct batch *b, int64_t *ret,
                               struct err *err)
{
    struct engine *e = api_engine(call);
    struct plan *plan = road_plan(engine_road(e));
    const struct plan_batch *of = plan_batch_find(plan, b->name);
    int64_t last;
    bool ok = true;

    *ret = 0;
    if (b->state == BATCH_OPEN && of != NULL) {
        ok = batcher_next(engine_batcher(e), of, ret, &last, err);
        if (of->age_us != 0 && (*ret == 0 || b->opened_us + of->age_us < *ret))
            *ret = b->opened_us + of->age_us;
    }
    plan_unref(plan);
    return ok;
}

static bool api_batch_show(struct graphql_call *call, const struct batch *b, struct shown_batch *v,
                           struct err *err)
{
    struct store *s = api_store(call);
    char id[ID_TEXT];

    *v = (struct shown_batch){ .batch = *b,
                               .id = str_of(arena_printf(call->arena, "%lld", (long long)b->num)),
                               .name = name_text(s, b->name),
                               .route = name_text(s, b->route),
                               .receiver = name_text(s, b->receiver),
                               .state = batch_states[b->state],
                               .why = str_of(batch_whys[b->why]) };
    if (b->doc != 0)
        v->document = str_of(arena_text(call->arena, str_of(id_text(&b->doc_id, id))));
    return api_batch_find_end(call, b, &v->closes_us, err);
}

static bool api_batch_say_unknown(struct graphql_call *call, struct str name, struct err *err)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    struct option_guess guess = { .word = name };

    for (size_t i = 0; api_sees_all(call, RIGHT_SEE) && i < plan->batch_count; i++)
        option_guess_try(&guess, plan->batches[i].name);
    if (guess.best.len > 0)
        (void)err_set(err, ERR_PERMANENT, 0, "there is no batch %.64s; did you mean %.*s?",
                      arena_text(call->arena, name), STR_ARG(guess.best));
    else
        (void)err_set(err, ERR_PERMANENT, 0, "there is no batch %.64s",
                      arena_text(call->arena, name));
    plan_unref(plan);
    return false;
}

/* Adds the batches in scope until the page is full; *io_after is the last one that was checked. */
static bool api_batch_add_seen(struct graphql_call *call, const struct batch *found, size_t n,
                               size_t first, struct shown_page *page, int64_t *io_after,
                               struct err *err)
{
    for (size_t i = 0; i < n && page->count < first; i++) {
        *io_after = found[i].num;
        if (api_sees(call, RIGHT_SEE, 0, found[i].receiver) &&
            !api_batch_show(call, &found[i], &page->list[page->count++], err))
            return false;
    }
    return true;
}

/* Reads portions until the page is full or enough batches were checked. */
static bool fill_page(struct graphql_call *call, const struct batch_filter *f, size_t first,
                      int64_t after, struct shown_page *page, struct err *err)
{
    size_t some = api_sees_all(call, RIGHT_SEE) ? first : PAGE_MOST, n = some;
    struct batch *found = ARENA_ARRAY(call->arena, struct batch, some);

    page->list = ARENA_ARRAY(call->arena, struct shown_batch, first);
    for (int looks = 0; n == some && page->count < first && looks < LOOKS_MOST; looks++)
        if (!batch_list(api_store(call), f, after, call->arena, found, some, &n, err) ||
            !api_batch_add_seen(call, found, n, first, page, &after, err))
            return false;
    if (n == some || (n > 0 && found[n - 1].num != after))
        page->next = str_of(arena_printf(call->arena, "%lld", (long long)after));
    return true;
}

static bool batches(struct graphql_call *call, struct err *err)
{
    struct store *s = api_store(call);
    struct shown_page *page = ARENA_NEW(call->arena, struct shown_page);
    struct str name = graphql_arg_text(call, "name");
    struct batch_filter f = { 0 };
    int64_t first, after;

    if (!api_read_page(call, PAGE_MOST, &first, &after, err))
        return false;
    (void)graphql_arg_bool(call, "ended", &f.ended);
    if (name.len > 0 && !name_find(s, NAME_BATCH, name, &f.name))
        return api_sees_all(call, RIGHT_SEE) ? api_batch_say_unknown(call, name, err)
                                             : graphql_set_object(call, page);
    return fill_page(call, &f, (size_t)first, after, page, err) && graphql_set_object(call, page);
}

static bool batch_error(struct graphql_call *call, struct err *err)
{
    const struct shown_batch *v = call->parent;
    struct api_error *e = ARENA_NEW(call->arena, struct api_error);

    (void)err;
    if (v->batch.message.len == 0)
        return graphql_set_null(call);
    *e = (struct api_error){ .code = v->batch.code.len > 0 ? v->batch.code : STR("retry"),
                             .message = v->batch.message };
    return graphql_set_object(call, e);
}

static bool batch_member_ids(struct graphql_call *call, struct err *err)
{
    const struct shown_batch *v = call->parent;
    int64_t first = 50;
    size_t n;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > BATCH_PAGE_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", BATCH_PAGE_MOST);
    struct batch_member *members = ARENA_ARRAY(call->arena, struct batch_member, (size_t)first);

    if (!batch_members(api_store(call), v->batch.num, 0, call->arena, members, (size_t)first, &n,
                       err))
        return false;
    struct str *ids = ARENA_ARRAY(call->arena, struct str, n);

    for (size_t i = 0; i < n; i++) {
        char id[ID_TEXT];

        ids[i] = str_of(arena_text(call->arena, str_of(id_text(&members[i].source.id, id))));
    }
    return graphql_set_texts(call, ids, n);
}

/* ---- closing ---- */

static bool close_one(struct graphql_call *call, struct err *err)
{
    struct store *s = api_store(call);
    struct str name = graphql_arg_text(call, "name"), receiver = graphql_arg_text(call, "receiver");
    struct batch_close c = { .receiver = BATCH_ANY_RECEIVER,
                             .opened_until_us = INT64_MAX,
                             .why = BATCH_HAND,
                             .by = api_name(call) };

    if (!name_find(s, NAME_BATCH, name, &c.name))
        return api_batch_say_unknown(call, name, err);
    if (receiver.len > 0 && !name_find(s, NAME_SYSTEM, receiver, &c.receiver))
        return err_set(err, ERR_PERMANENT, 0, "there is no system %.64s",
                       arena_text(call->arena, receiver));
    if (!batch_close(s, &c, err))
        return false;
    log_event(LOG_INFO, "batch.close", kv_str("batch", name), kv_z("why", "hand"),
              kv_int("count", c.closed), kv_str("by", c.by));
    return graphql_set_int(call, c.closed);
}

const struct graphql_resolver api_batch[] = {
    { .field = "Query.batches", .fn = batches },
    { .field = "Mutation.batchClose", .fn = close_one },
    GRAPHQL_LIST_OF("BatchPage.batches", struct shown_page, list, count),
    API_TEXT_AT("BatchPage.next", struct shown_page, next),
    GRAPHQL_MEMBER("Batch.id", struct shown_batch, id),
    GRAPHQL_MEMBER("Batch.name", struct shown_batch, name),
    API_TEXT_AT("Batch.route", struct shown_batch, route),
    API_TEXT_AT("Batch.receiver", struct shown_batch, receiver),
    API_TEXT_AT("Batch.part", struct shown_batch, batch.part),
    GRAPHQL_MEMBER("Batch.state", struct shown_batch, state),
    GRAPHQL_MEMBER("Batch.count", struct shown_batch, batch.members),
    GRAPHQL_MEMBER("Batch.bytes", struct shown_batch, batch.bytes),
    GRAPHQL_MEMBER("Batch.opened", struct shown_batch, batch.opened_us),
    API_NUMBER_AT("Batch.closes", struct shown_batch, closes_us),
    API_NUMBER_AT("Batch.closed", struct shown_batch, batch.closed_us),
    API_NUMBER_AT("Batch.ended", struct shown_batch, batch.ended_us),
    API_TEXT_AT("Batch.why", struct shown_batch, why),
    API_TEXT_AT("Batch.closedBy", struct shown_batch, batch.closed_by),
    API_NUMBER_AT("Batch.slot", struct shown_batch, batch.slot_us),
    API_TEXT_AT("Batch.document", struct shown_batch, document),
    { .field = "Batch.memberIds", .fn = batch_member_ids },
    { .field = "Batch.error", .fn = batch_error },
};
const size_t api_batch_count = sizeof api_batch / sizeof api_batch[0];
