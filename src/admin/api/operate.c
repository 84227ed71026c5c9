/* operate.c - manual actions on documents: retry, cancel, discard, resolve; dead letters one by one
 * and in bulk. */
#include "store/manual/operate.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "store/govern/version.h"
#include "store/manual/dead.h"
#include "store/manual/resolve.h"
#include "store/road/retain_days.h"
#include "store/store.h"

/* ---- those that are named ---- */

bool api_order_of(struct graphql_call *call, struct operate_order *ret, struct err *err)
{
    *ret = (struct operate_order){ .keep_days = RETAIN_BY_RULE };
    if (!api_read_who(call, &ret->who, err))
        return false;
    return version_newest(api_store(call), &ret->config, err);
}

void api_log_change(const char *action, struct str who, size_t count, size_t done)
{
    log_event(LOG_INFO, "document.operate", kv_z("action", action), kv_str("who", who),
              kv_int("count", (int64_t)count), kv_int("done", (int64_t)done));
}

/* Invalid ids and documents out of scope are left out of `ret`; at[i] is the index of ret[i] in the
 * argument. */
static bool api_operate_read_ids(struct graphql_call *call, struct id *ret, size_t *at,
                                 size_t *ret_count, struct err *err)
{
    const struct graphql_value *ids = graphql_arg(call, "ids");
    bool all = api_sees_all(call, RIGHT_RETRY);
    size_t n = 0;

    if (ids->count > OPERATE_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d ids", OPERATE_MOST);
    for (size_t i = 0; i < ids->count; i++) {
        bool there = id_parse(ids->items[i].text, &ret[n]);

        if (there && !all && !api_is_there(call, RIGHT_RETRY, &ret[n], &there, err))
            return false;
        if (there)
            at[n++] = i;
    }
    *ret_count = n;
    return true;
}

/* answers[i] belongs to the id at index at[i] of the argument; all other ids name no document. */
static bool show_answers(struct graphql_call *call, const char *verb, struct str who,
                         const struct operate_answer *answers, const size_t *at, size_t n,
                         struct err *err)
{
    bool all = api_sees_all(call, RIGHT_SEE);
    const struct graphql_value *ids = graphql_arg(call, "ids");
    struct arena *a = call->arena;
    struct api_result *shown = ARENA_ARRAY(a, struct api_result, ids->count);
    size_t done = 0;

    for (size_t i = 0; i < ids->count; i++) {
        shown[i] = (struct api_result){ .id = ids->items[i].text,
                                        .result = operate_results[OPERATE_NONE],
                                        .message = "there is no such document" };
    }
    for (size_t i = 0; i < n; i++) {
        shown[at[i]].result = operate_results[answers[i].result];
        shown[at[i]].message = answers[i].text;
        if (!all && !api_hide_others(call, answers[i].text, &shown[at[i]].message, err))
            return false;
        done += answers[i].result == OPERATE_DONE;
    }
    if (done > 0)
        road_note_backlog(engine_road(api_engine(call)));
    api_log_change(verb, who, ids->count, done);
    return graphql_set_structs(call, shown, ids->count, sizeof *shown);
}

static bool api_operate_change(struct graphql_call *call, enum operate_action action,
                               const char *verb, const struct operate_order *order, struct err *err)
{
    const struct graphql_value *ids = graphql_arg(call, "ids");
    struct arena *a = call->arena;
    struct operate_target *targets = ARENA_ARRAY(a, struct operate_target, ids->count);
    struct operate_answer *answers = ARENA_ARRAY(a, struct operate_answer, ids->count);
    struct id *known = ARENA_ARRAY(a, struct id, ids->count);
    size_t *at = ARENA_ARRAY(a, size_t, ids->count), n;

    if (!api_operate_read_ids(call, known, at, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        targets[i].id = known[i];
    return operate(api_store(call), action, targets, n, order, answers, err) &&
           show_answers(call, verb, order->who, answers, at, n, err);
}

void api_read_retry(struct graphql_call *call, struct operate_order *io)
{
    static const enum retry_from from[] = { RETRY_AUTO, RETRY_EXTRACT, RETRY_ROUTE,
                                            RETRY_DELIVERY };
    const struct graphql_value *where = graphql_arg(call, "from");

    if (where->kind == GRAPHQL_ENUM)
        io->from = from[where->number];
    (void)graphql_arg_bool(call, "again", &io->again);
}

static bool retry(struct graphql_call *call, struct err *err)
{
    struct operate_order order;

    if (!api_order_of(call, &order, err))
        return false;
    api_read_retry(call, &order);
    return api_operate_change(call, OPERATE_RETRY, "retry", &order, err);
}

static bool cancel(struct graphql_call *call, struct err *err)
{
    struct operate_order order;

    return api_order_of(call, &order, err) &&
           api_operate_change(call, OPERATE_CANCEL, "cancel", &order, err);
}

static bool api_operate_discard(struct graphql_call *call, struct err *err)
{
    struct operate_order order;

    return api_order_of(call, &order, err) &&
           api_operate_change(call, OPERATE_DISCARD, "discard", &order, err);
}

/* For a caller who does not see all systems an unknown endpoint is no error, which would reveal the
 * existing ones: the order gets a name id that no delivery has. */
static bool no_endpoint(struct resolve_order *ret)
{
    ret->endpoint = INT64_MAX;
    return true;
}

bool api_read_resolution(struct graphql_call *call, struct resolve_order *ret, struct err *err)
{
    static const enum resolve_as as[] = { RESOLVE_DELIVERED, RESOLVE_RESEND };
    struct str endpoint = graphql_arg_text(call, "endpoint");

    *ret = (struct resolve_order){ .as = as[graphql_arg(call, "as")->number],
                                   .reason = graphql_arg_text(call, "reason"),
                                   .keep_days = RETAIN_BY_RULE };
    if (!api_read_who(call, &ret->who, err))
        return false;
    if (ret->reason.len > API_REASON_MOST || str_has_control(ret->reason))
        return err_set(err, ERR_LIMIT, 0, "a reason is one line of at most %d bytes",
                       API_REASON_MOST);
    return endpoint.len == 0 ||
           name_find(api_store(call), NAME_ENDPOINT, endpoint, &ret->endpoint) ||
           (!api_sees_all(call, RIGHT_SEE) && no_endpoint(ret)) ||
           err_set(err, ERR_PERMANENT, 0, "there is no endpoint `%.*s`",
                   (int)(endpoint.len < 100 ? endpoint.len : 100), endpoint.ptr);
}

static bool resolve_doubt(struct graphql_call *call, struct err *err)
{
    const struct graphql_value *ids = graphql_arg(call, "ids");
    struct arena *a = call->arena;
    struct id *known = ARENA_ARRAY(a, struct id, ids->count);
    struct operate_answer *answers = ARENA_ARRAY(a, struct operate_answer, ids->count);
    size_t *at = ARENA_ARRAY(a, size_t, ids->count), n;
    struct resolve_order order;

    return api_operate_read_ids(call, known, at, &n, err) &&
           api_read_resolution(call, &order, err) &&
           resolve(api_store(call), known, n, &order, answers, err) &&
           show_answers(call, "resolve", order.who, answers, at, n, err);
}

/* ---- dead letters ---- */

/* A text of the filter; an empty one means documents without such a fact. */
static struct str api_operate_read_found(const struct graphql_value *filter, const char *name)
{
    const struct graphql_value *v = graphql_value_field(filter, name);

    return v->kind == GRAPHQL_TEXT && v->text.len == 0 ? DEAD_WITHOUT : v->text;
}

static bool read_filter(struct graphql_call *call, enum right right, struct dead_filter *f,
                        struct err *err)
{
    static const char *const texts[] = { "gateway", "name", "error", NULL };
    const struct graphql_value *v = graphql_arg(call, "filter");
    struct api_where where;

    _Static_assert((int)API_WHERE_MOST <= (int)DEAD_WHERE_MOST, "they fit");
    *f = (struct dead_filter){ .code = graphql_value_field(v, "error")->text,
                               .gateway = graphql_value_field(v, "gateway")->text,
                               .sender = api_operate_read_found(v, "sender"),
                               .receiver = api_operate_read_found(v, "receiver"),
                               .type = api_operate_read_found(v, "type"),
                               .name = graphql_value_field(v, "name")->text,
                               .since_us = graphql_value_field(v, "since")->number,
                               .until_us = graphql_value_field(v, "until")->number,
                               .scope = api_scope(call, right) };
    if (!api_refuse_empty(v, texts, err) ||
        !api_read_where(graphql_value_field(v, "where"), &where, err))
        return false;
    for (size_t i = 0; i < where.count; i++)
        f->where[f->where_count++] = where.list[i];
    return true;
}

static bool dead_letters(struct graphql_call *call, struct err *err)
{
    struct api_page *page = ARENA_NEW(call->arena, struct api_page);
    struct dead_letter *letters = ARENA_ARRAY(call->arena, struct dead_letter, API_PAGE_MOST);
    struct dead_filter f;
    int64_t first, above, next;

    if (!api_read_page(call, API_PAGE_MOST, &first, &above, err) ||
        !read_filter(call, RIGHT_SEE, &f, err) ||
        !dead_list(api_store(call), &f, above, (size_t)first, call->arena, letters, &page->count,
                   &next, err))
        return false;
    for (size_t i = 0; i < page->count; i++)
        page->items[i] = &letters[i];
    api_page_goes_on(call, page, next);
    return graphql_set_object(call, page);
}

static bool letter_gateway(struct graphql_call *call, struct err *err)
{
    const struct dead_letter *l = call->parent;

    (void)err;
    return graphql_set_text(call, name_text(api_store(call), l->gateway));
}

static bool letter_endpoint(struct graphql_call *call, struct err *err)
{
    const struct dead_letter *l = call->parent;

    (void)err;
    return l->endpoint == 0 ? graphql_set_null(call)
                            : graphql_set_text(call, name_text(api_store(call), l->endpoint));
}

static bool dead_groups_of(struct graphql_call *call, struct err *err)
{
    struct dead_group *groups = ARENA_ARRAY(call->arena, struct dead_group, DEAD_GROUPS_MOST);
    const struct graphql_value *by = graphql_arg(call, "by");
    int64_t from = clock_mono_us();
    struct dead_filter f;
    size_t n;

    if (!read_filter(call, RIGHT_SEE, &f, err) ||
        !dead_groups(api_store(call), &f,
                     by->kind == GRAPHQL_ENUM ? (enum dead_by)by->number : DEAD_BY_REASON,
                     call->arena, groups, &n, err))
        return false;
    graphql_lend(call, clock_mono_us() - from); /* grouping reads all dead letters */
    return graphql_set_structs(call, groups, n, sizeof *groups);
}

/* ---- in bulk ---- */

bool api_read_place(struct graphql_call *call, int64_t *ret_above, int64_t *ret_until,
                    struct err *err)
{
    struct str after = graphql_arg_text(call, "after");
    struct str above, until = str_cut(after, '-', &above);

    *ret_above = 0;
    *ret_until = clock_wall_us() + 1;
    if (after.len == 0)
        return true;
    if (!str_to_i64(above, ret_above) || !str_to_i64(until, ret_until) || *ret_above < 0 ||
        *ret_until < 1)
        return err_set(err, ERR_PERMANENT, 0, "after is not the `begin` or `next` of a portion");
    return true;
}

struct str api_place(const struct graphql_call *call, int64_t above, int64_t until)
{
    return str_of(arena_printf(call->arena, "%lld-%lld", (long long)above, (long long)until));
}

bool api_read_count(const struct graphql_call *call, const char *arg, size_t most, size_t *ret,
                    struct err *err)
{
    int64_t n = (int64_t)most;

    (void)graphql_arg_int(call, arg, &n);
    if (n < 1 || n > (int64_t)most)
        return err_set(err, ERR_LIMIT, 0, "%s is between 1 and %zu", arg, most);
    *ret = (size_t)n;
    return true;
}

static bool change_letters(struct graphql_call *call, enum operate_action action,
                           const struct dead_filter *f, int64_t above, struct api_bulk_result *ret,
                           int64_t *ret_next, struct err *err)
{
    struct store *s = api_store(call);
    struct arena *a = call->arena;
    struct dead_letter *letters = ARENA_ARRAY(a, struct dead_letter, DEAD_PAGE_MOST);
    struct operate_target *targets = ARENA_ARRAY(a, struct operate_target, DEAD_PAGE_MOST);
    struct operate_answer *answers = ARENA_ARRAY(a, struct operate_answer, DEAD_PAGE_MOST);
    struct operate_order order;
    size_t first, n;

    if (!api_order_of(call, &order, err) ||
        !api_read_count(call, "portion", DEAD_PAGE_MOST, &first, err) ||
        !dead_list(s, f, above, first, a, letters, &n, ret_next, err))
        return false;
    order.bulk = true;
    for (size_t i = 0; i < n; i++)
        targets[i] = (struct operate_target){ letters[i].id, letters[i].delivery };
    if (!operate(s, action, targets, n, &order, answers, err))
        return false;
    ret->count = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        ret->done += answers[i].result == OPERATE_DONE;
    ret->skipped = ret->count - ret->done;
    return true;
}

static bool api_operate_change_in_bulk(struct graphql_call *call, enum operate_action action,
                                       const char *verb, struct err *err)
{
    struct api_bulk_result *b = ARENA_NEW(call->arena, struct api_bulk_result);
    struct dead_filter f;
    int64_t above, until, next = 0;
    bool dry = false;

    (void)graphql_arg_bool(call, "dry", &dry);
    if (!api_read_place(call, &above, &until, err) || !read_filter(call, RIGHT_RETRY, &f, err))
        return false;
    b->begin = api_place(call, above, until);
    if (f.until_us == 0 || f.until_us > until)
        f.until_us = until;
    if (dry ? !dead_count(api_store(call), &f, above, &b->count, &next, err)
            : !change_letters(call, action, &f, above, b, &next, err))
        return false;
    if (next != 0)
        b->next = api_place(call, next, until);
    if (!dry && b->count > 0) {
        road_note_backlog(engine_road(api_engine(call)));
        api_log_change(verb,
                       api_who(api_principal(call), graphql_arg_text(call, "by"), call->arena),
                       (size_t)b->count, (size_t)b->done);
    }
    return graphql_set_object(call, b);
}

static bool dead_retry(struct graphql_call *call, struct err *err)
{
    return api_operate_change_in_bulk(call, OPERATE_RETRY, "retry", err);
}

static bool dead_discard(struct graphql_call *call, struct err *err)
{
    return api_operate_change_in_bulk(call, OPERATE_DISCARD, "discard", err);
}

const struct graphql_resolver api_operate[] = {
    { .field = "Mutation.retry", .fn = retry },
    { .field = "Mutation.cancel", .fn = cancel },
    { .field = "Mutation.discard", .fn = api_operate_discard },
    { .field = "Mutation.resolve", .fn = resolve_doubt },
    GRAPHQL_MEMBER("OperateResult.id", struct api_result, id),
    GRAPHQL_MEMBER("OperateResult.result", struct api_result, result),
    GRAPHQL_MEMBER("OperateResult.message", struct api_result, message),
    { .field = "Query.deadLetters", .fn = dead_letters },
    { .field = "DeadLetterPage.items", .fn = api_page_items },
    GRAPHQL_MEMBER("DeadLetterPage.next", struct api_page, next),
    GRAPHQL_MEMBER("DeadLetter.document", struct dead_letter, id),
    API_TEXT_AT("DeadLetter.delivery", struct dead_letter, delivery_id),
    GRAPHQL_MEMBER("DeadLetter.code", struct dead_letter, code),
    GRAPHQL_MEMBER("DeadLetter.message", struct dead_letter, message),
    GRAPHQL_MEMBER("DeadLetter.died", struct dead_letter, died_us),
    { .field = "DeadLetter.gateway", .fn = letter_gateway },
    API_TEXT_AT("DeadLetter.sender", struct dead_letter, facts.sender),
    API_TEXT_AT("DeadLetter.receiver", struct dead_letter, facts.receiver),
    API_TEXT_AT("DeadLetter.type", struct dead_letter, facts.type),
    { .field = "DeadLetter.endpoint", .fn = letter_endpoint },
    { .field = "Query.deadGroups", .fn = dead_groups_of },
    API_TEXT_AT("DeadGroup.key", struct dead_group, key),
    GRAPHQL_MEMBER("DeadGroup.code", struct dead_group, code),
    GRAPHQL_MEMBER("DeadGroup.count", struct dead_group, count),
    GRAPHQL_MEMBER("DeadGroup.oldest", struct dead_group, oldest_us),
    GRAPHQL_MEMBER("DeadGroup.newest", struct dead_group, newest_us),
    GRAPHQL_MEMBER("DeadGroup.message", struct dead_group, message),
    API_TEXT_AT("DeadGroup.receiver", struct dead_group, receiver),
    GRAPHQL_MEMBER("DeadGroup.sample", struct dead_group, sample),
    { .field = "Mutation.deadRetry", .fn = dead_retry },
    { .field = "Mutation.deadDiscard", .fn = dead_discard },
    GRAPHQL_MEMBER("Bulk.count", struct api_bulk_result, count),
    GRAPHQL_MEMBER("Bulk.done", struct api_bulk_result, done),
    GRAPHQL_MEMBER("Bulk.skipped", struct api_bulk_result, skipped),
    GRAPHQL_MEMBER("Bulk.begin", struct api_bulk_result, begin),
    GRAPHQL_MEMBER("Bulk.next", struct api_bulk_result, next),
};
const size_t api_operate_count = sizeof api_operate / sizeof api_operate[0];
