/* list.c - document_list(): compares the candidates of a search with the filter (document.h). */
#include "base/auto.h"
#include "base/require.h"
#include "core/facts.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/search/search.h"

enum {
    SCAN_MOST = 20000,        /* candidates compared for one page */
    LOOK_AT_CLOCK = 32,       /* candidates between two checks of the time */
    DOCUMENT_MOST = 16 << 20, /* texts of one row */
    SEARCH_MOST = 64 << 20
};

static bool name_matches(struct str pattern, struct str name)
{
    if (pattern.len > 0 && pattern.ptr[pattern.len - 1] == '*')
        return str_starts(name, (struct str){ pattern.ptr, pattern.len - 1 });
    return str_eq(pattern, name);
}

static bool list_contains(struct str text, struct str part)
{
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (str_eq_nocase(str_mem(text.ptr + i, part.len), part))
            return true;
    return false;
}

static bool error_matches(struct str error, const struct document *d)
{
    return d->code.len > 0 && (str_eq(error, d->code) || list_contains(d->message, error));
}

static bool facts_match(const struct document_filter *f, const struct document *d, struct arena *a)
{
    struct facts x = { 0 };

    if (f->where_count + f->sender_name.len + f->receiver_name.len + f->type_name.len == 0)
        return true;
    if (d->facts.len == 0 || !facts_read(d->facts, a, &x) ||
        (f->sender_name.len > 0 && !(x.sender_unknown && str_eq(f->sender_name, x.sender))) ||
        (f->receiver_name.len > 0 &&
         !(x.receiver_unknown && str_eq(f->receiver_name, x.receiver))) ||
        (f->type_name.len > 0 && !(x.type_unknown && str_eq(f->type_name, x.type))))
        return false;
    for (size_t i = 0; i < f->where_count; i++) {
        struct str value = facts_attribute(&x, f->where[i].name);

        if (value.ptr == NULL || !str_eq(value, f->where[i].value))
            return false;
    }
    return true;
}

static bool list_matches(const struct document_filter *f, const struct document *d,
                         bool knows_error, struct arena *a)
{
    return (f->gateway == 0 || f->gateway == d->gateway) &&
           (f->sender == 0 || f->sender == d->sender) &&
           (f->receiver == 0 || f->receiver == d->receiver) &&
           (f->type == 0 || f->type == d->type) &&
           document_in_scope(f->scope, d->sender, d->receiver) &&
           (f->size_least == 0 || d->source.size >= f->size_least) &&
           (f->size_below == 0 || d->source.size < f->size_below) &&
           (f->since_us == 0 || d->received_us >= f->since_us) &&
           (f->until_us == 0 || d->received_us < f->until_us) &&
           (f->state.len == 0 || str_eq(f->state, d->state)) &&
           (!f->live || !document_is_over(d->is)) &&
           (f->name.len == 0 || name_matches(f->name, d->name)) &&
           (f->error.len == 0 || knows_error || error_matches(f->error, d)) && facts_match(f, d, a);
}

struct document document_copy(const struct document *d, struct arena *a)
{
    struct document to = *d;

    to.name = arena_copy(a, d->name);
    to.ctype = arena_copy(a, d->ctype);
    to.head = arena_copy(a, d->head);
    to.facts = arena_copy(a, d->facts);
    to.code = arena_copy(a, d->code);
    to.message = arena_copy(a, d->message);
    to.timeline = STR("");
    return to;
}

struct page {
    const struct document_filter *filter;
    struct document *docs;
    size_t limit, count;
    int64_t below, looked;
    bool end;
};

/* Fills the page until it is full or the time is used up. */
static bool list_fill(struct db *db, struct search *x, struct page *p, struct arena *a,
                      struct err *err)
{
    AUTO(arena_done) struct arena one = ARENA_INIT(DOCUMENT_MOST);

    while (p->count < p->limit && p->looked < SCAN_MOST &&
           !(p->looked % LOOK_AT_CLOCK == LOOK_AT_CLOCK - 1 && search_is_late(x))) {
        enum search_end end;
        struct document d;
        int64_t slot = -1;
        bool found;

        arena_reset(&one);
        if (!search_next(x, &p->below, &slot, &end, err))
            return false;
        p->end = end == SEARCH_OVER;
        if (end != SEARCH_FOUND)
            return true;
        p->looked++;
        if (!document_by_num(db, search_slots(x), slot, p->below, &one, &d, &found, err))
            return false;
        /* Only matches are copied to the page's arena. */
        if (found && list_matches(p->filter, &d, search_knows_error(x), &one))
            p->docs[p->count++] = document_copy(&d, a);
    }
    return true;
}

bool document_list(struct store *s, const struct document_filter *f, int64_t below, size_t limit,
                   struct arena *a, struct document *ret, size_t *ret_count, int64_t *ret_next,
                   struct err *err)
{
    AUTO(arena_done) struct arena own = ARENA_INIT(SEARCH_MOST);
    struct page p = {
        .filter = f, .docs = ret, .limit = limit, .below = below > 0 ? below : INT64_MAX
    };
    AUTO(reader_back) struct reader r = reader_take(s, err);
    struct search *x;

    require(limit > 0 && limit <= DOCUMENTS_PAGE_MOST);
    if (r.db == NULL)
        return false;
    bool ok = search_open(s, r.db, f, &own, &x, err) && list_fill(r.db, x, &p, a, err);

    *ret_count = p.count;
    *ret_next = p.end ? 0 : p.below;
    return ok;
}

/* A page may be empty and not the last. */
bool document_received(struct store *s, int64_t gateway, int64_t since_us, bool *ret,
                       struct err *err)
{
    enum { PAGES_MOST = 20, ARENA_MOST = 4 << 20 };
    struct document_filter f = { .gateway = gateway, .since_us = since_us };
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct document *one = ARENA_NEW(&a, struct document);
    int64_t below = 0;
    size_t n;

    for (int i = 0; i < PAGES_MOST; i++) {
        if (!document_list(s, &f, below, 1, &a, one, &n, &below, err))
            return false;
        *ret = n > 0;
        if (n > 0 || below == 0)
            return true;
    }
    *ret = true;
    return true;
}
