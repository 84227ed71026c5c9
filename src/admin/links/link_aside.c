/* link_aside.c - rows that could not be written: linkQuarantine, linkQuarantineRetry,
 * linkQuarantineDiscard. */
#include <stdio.h>

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/links/link_hex.h"
#include "base/auto.h"
#include "base/log.h"
#include "store/replica/set_aside.h"
#include "store/store.h"

enum {
    ASIDE_MOST = 100,
    ASIDE_PORTION = 8, /* rows, each of up to SET_ASIDE_ROW_MOST, in memory at the same time */
    ASIDE_ARENA = 64 << 20
};

struct shown_aside {
    struct set_aside row;
    char id[24];
    const char *id_text;
    struct str key, *values;
    size_t count;
};

struct shown_asides {
    struct shown_aside *list;
    size_t count;
    struct str next;
};

/* `scratch` has the row, and ends before what is shown. */
static void link_aside_show(struct arena *a, struct arena *scratch, const struct set_aside *row,
                            struct shown_aside *ret)
{
    struct cell *cells;
    size_t n;

    *ret = (struct shown_aside){ .row = *row };
    ret->row.link = arena_copy(a, row->link);
    ret->row.table = arena_copy(a, row->table);
    ret->row.kind = arena_copy(a, row->kind);
    ret->row.why = arena_copy(a, row->why);
    ret->row.peer = arena_copy(a, row->peer);
    (void)snprintf(ret->id, sizeof ret->id, "%lld", (long long)row->id);
    ret->id_text = ret->id;
    if (row->row.len == 0 || !link_row_read(row->row, scratch, &cells, &n)) {
        ret->key = link_hex(row->key, a);
        return;
    }
    ret->key = link_key_of_row(row->key, cells, n, a);
    ret->values = ARENA_ARRAY(a, struct str, n + 1);
    ret->count = n;
    for (size_t i = 0; i < n; i++)
        ret->values[i] = cell_text(&cells[i], LINK_VALUE_MOST, a);
}

static struct str link_aside_text(const struct graphql_call *call, const char *arg)
{
    struct str text = graphql_arg_text(call, arg);

    return text.ptr != NULL ? text : STR("");
}

static bool link_aside_fill(struct graphql_call *call, size_t first, int64_t after,
                            struct shown_asides *page, struct err *err)
{
    AUTO(arena_done) struct arena scratch = ARENA_INIT(ASIDE_ARENA);
    size_t n = ASIDE_PORTION, some = ASIDE_PORTION;

    while (n == some && page->count < first) {
        struct set_aside *rows = ARENA_ARRAY(&scratch, struct set_aside, ASIDE_PORTION);

        some = first - page->count < ASIDE_PORTION ? first - page->count : ASIDE_PORTION;
        if (!set_aside_list(api_store(call), link_aside_text(call, "link"),
                            link_aside_text(call, "table"), after, some, &scratch, rows, &n, err))
            return false;
        for (size_t i = 0; i < n; i++)
            link_aside_show(call->arena, &scratch, &rows[i], &page->list[page->count++]);
        after = n > 0 ? rows[n - 1].id : after;
        arena_reset(&scratch);
    }
    if (page->count == first)
        page->next = str_of(page->list[first - 1].id);
    return true;
}

static bool link_quarantine(struct graphql_call *call, struct err *err)
{
    struct shown_asides *page = ARENA_NEW(call->arena, struct shown_asides);
    int64_t first, after;

    *page = (struct shown_asides){ 0 };
    if (!api_read_page(call, ASIDE_MOST, &first, &after, err))
        return false;
    page->list = ARENA_ARRAY(call->arena, struct shown_aside, (size_t)first);
    if (!api_sees_all(call, RIGHT_PAYLOAD))
        return graphql_set_object(call, page);
    return link_aside_fill(call, (size_t)first, after, page, err) && graphql_set_object(call, page);
}

/* What a link of a peer has decided is chosen there; here it is a copy. */
static bool link_aside_is_ours(struct graphql_call *call, int64_t id, struct err *err)
{
    AUTO(arena_done) struct arena scratch = ARENA_INIT(ASIDE_ARENA);
    struct set_aside row;
    bool has;

    if (!set_aside_find(api_store(call), id, &scratch, &has, &row, err))
        return false;
    if (!has || row.peer.len == 0)
        return true;
    return err_set(err, ERR_PERMANENT, 0,
                   "row %lld is of link %.*s of %.*s: it is chosen there, where it is listed, too",
                   (long long)id, STR_ARG(str_first(row.link, 60)),
                   STR_ARG(str_first(row.peer, 60)));
}

static bool link_aside_judge(struct graphql_call *call, bool discard, struct err *err)
{
    struct str id = graphql_arg_text(call, "id"), why = graphql_arg_text(call, "reason");
    bool has = false;
    int64_t number;

    if (why.ptr == NULL)
        why = STR("");
    if (why.len > API_REASON_MOST)
        return err_set(err, ERR_LIMIT, 0, "a reason is at most %d bytes", API_REASON_MOST);
    if (!str_to_i64(id, &number))
        return graphql_set_bool(call, false);
    if (!discard && !link_aside_is_ours(call, number, err))
        return false;
    if (!set_aside_judge(api_store(call), number, discard, api_name(call), why, &has, err))
        return false;
    if (has)
        log_event(LOG_INFO, "link.row", kv_int("row", number),
                  kv_z("action", discard ? "discard" : "retry"), kv_str("by", api_name(call)),
                  kv_str("reason", why));
    return graphql_set_bool(call, has);
}

static bool link_quarantine_retry(struct graphql_call *call, struct err *err)
{
    return link_aside_judge(call, false, err);
}

static bool link_quarantine_discard(struct graphql_call *call, struct err *err)
{
    return link_aside_judge(call, true, err);
}

static bool link_aside_values(struct graphql_call *call, struct err *err)
{
    const struct shown_aside *v = call->parent;

    (void)err;
    return v->values != NULL ? graphql_set_texts(call, v->values, v->count)
                             : graphql_set_null(call);
}

const struct graphql_resolver api_link_aside[] = {
    { .field = "Query.linkQuarantine", .fn = link_quarantine },
    { .field = "Mutation.linkQuarantineRetry", .fn = link_quarantine_retry },
    { .field = "Mutation.linkQuarantineDiscard", .fn = link_quarantine_discard },
    GRAPHQL_LIST_OF("LinkSetAsidePage.items", struct shown_asides, list, count),
    API_TEXT_AT("LinkSetAside.peer", struct shown_aside, row.peer),
    API_TEXT_AT("LinkSetAsidePage.next", struct shown_asides, next),
    GRAPHQL_MEMBER("LinkSetAside.id", struct shown_aside, id_text),
    GRAPHQL_MEMBER("LinkSetAside.link", struct shown_aside, row.link),
    GRAPHQL_MEMBER("LinkSetAside.table", struct shown_aside, row.table),
    GRAPHQL_MEMBER("LinkSetAside.key", struct shown_aside, key),
    { .field = "LinkSetAside.values", .fn = link_aside_values },
    GRAPHQL_MEMBER("LinkSetAside.kind", struct shown_aside, row.kind),
    GRAPHQL_MEMBER("LinkSetAside.why", struct shown_aside, row.why),
    GRAPHQL_MEMBER("LinkSetAside.first", struct shown_aside, row.first_us),
    GRAPHQL_MEMBER("LinkSetAside.last", struct shown_aside, row.last_us),
    GRAPHQL_MEMBER("LinkSetAside.due", struct shown_aside, row.due_us),
    GRAPHQL_MEMBER("LinkSetAside.tries", struct shown_aside, row.tries),
    GRAPHQL_MEMBER("LinkSetAside.discarded", struct shown_aside, row.discarded),
};
const size_t api_link_aside_count = sizeof api_link_aside / sizeof api_link_aside[0];
