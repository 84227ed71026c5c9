/* scan.c - Query.scan: searches for a text in payloads, a portion at a time. */
#include <string.h>

#include "admin/api/filter.h"
#include "admin/api/parts.h"
#include "admin/view/document_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "store/payload/payload.h"
#include "store/search/document.h"
#include "store/store.h"

enum {
    TEXT_MOST = 1000,
    ITEMS_MOST = 100,
    BATCH = 50,
    BATCH_ARENA = 256 << 20,
    DOCUMENT_BYTES_MOST = 64 << 20 /* searched of one payload */
};

#define PORTION_US (INT64_C(1) * CLOCK_S)

struct scan {
    const void *items[ITEMS_MOST];
    size_t count;
    int64_t looked, bytes, skipped;
    struct str next;
};

/* ---- one payload ---- */

/* The end of the pieces so far: the text may begin in one piece and end in the next. */
struct tail {
    char bytes[2 * TEXT_MOST];
    size_t len;
};

static bool api_scan_contains(struct str bytes, struct str text)
{
    return bytes.len >= text.len && memmem(bytes.ptr, bytes.len, text.ptr, text.len) != NULL;
}

static bool piece_has(struct tail *t, struct str piece, struct str text)
{
    size_t keep = text.len - 1, head = piece.len < keep ? piece.len : keep;

    memcpy(t->bytes + t->len, piece.ptr, head);
    if (api_scan_contains(str_mem(t->bytes, t->len + head), text) || api_scan_contains(piece, text))
        return true;
    if (piece.len >= keep) {
        memcpy(t->bytes, piece.ptr + piece.len - keep, keep);
        t->len = keep;
        return false;
    }
    size_t all = t->len + head, from = all > keep ? all - keep : 0;

    memmove(t->bytes, t->bytes + from, all - from);
    t->len = all - from;
    return false;
}

/* Missing, damaged and too large payloads in which the text is not found count as skipped. */
static bool look_into(struct store *s, const struct document *d, struct str text, struct scan *scan)
{
    struct payload_reader *r = NULL;
    struct tail t = { .len = 0 };
    struct err err = { 0 };
    int64_t read = 0;
    bool found = false, ok = payload_open(s, &d->source, &r, &err);

    while (ok && !found && read < DOCUMENT_BYTES_MOST) {
        struct str piece;

        ok = payload_next(r, &piece, &err);
        if (!ok || piece.len == 0)
            break;
        read += (int64_t)piece.len;
        found = piece_has(&t, piece, text);
    }
    if (r != NULL)
        payload_close(r);
    scan->looked++;
    scan->bytes += read;
    scan->skipped += !found && (!ok || read < d->source.size);
    return found;
}

/* ---- a portion ---- */

static bool api_scan_keep(struct graphql_call *call, const struct document *d, struct scan *scan,
                          struct err *err)
{
    struct document_view *v = ARENA_NEW(call->arena, struct document_view);
    struct document c = document_copy(d, call->arena);

    scan->items[scan->count++] = v;
    return document_view_make(api_engine(call), &c, true, call->arena, v, err);
}

static bool is_enough(const struct scan *scan, int64_t until_us)
{
    return scan->count == ITEMS_MOST || clock_mono_us() > until_us;
}

/* Searches one portion of documents; *io_below is where the next one begins, 0: nowhere. */
static bool look_at_batch(struct graphql_call *call, const struct api_wanted *w, struct str text,
                          int64_t until_us, int64_t *io_below, struct scan *scan, struct err *err)
{
    AUTO(arena_done) struct arena batch = ARENA_INIT(BATCH_ARENA);
    struct document *docs = ARENA_ARRAY(&batch, struct document, BATCH);
    struct store *s = api_store(call);
    int64_t next;
    size_t n;

    if (!document_list(s, &w->f, *io_below, BATCH, &batch, docs, &n, &next, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        bool fits;

        if (!api_fits(api_engine(call), w, &docs[i], &batch, &fits, err))
            return false;
        if (fits && look_into(s, &docs[i], text, scan) && !api_scan_keep(call, &docs[i], scan, err))
            return false;
        *io_below = docs[i].source.num;
        if (is_enough(scan, until_us) && i + 1 < n)
            return true;
    }
    *io_below = next;
    return true;
}

static bool scan_payloads(struct graphql_call *call, struct err *err)
{
    struct scan *scan = ARENA_NEW(call->arena, struct scan);
    struct str text = graphql_arg_text(call, "text"), after = graphql_arg_text(call, "after");
    int64_t until = clock_mono_us() + PORTION_US, below = 0;
    struct api_wanted w;

    if (text.len == 0 || text.len > TEXT_MOST)
        return err_set(err, ERR_LIMIT, 0, "the text has 1 to %d bytes", TEXT_MOST);
    if (after.len > 0 && (!str_to_i64(after, &below) || below < 1))
        return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a portion");
    if (!api_read_filter(call, RIGHT_PAYLOAD, &w, err))
        return false;
    for (bool more = !w.nothing; more; more = below != 0 && !is_enough(scan, until))
        if (!look_at_batch(call, &w, text, until, &below, scan, err))
            return false;
    if (below != 0 && !w.nothing)
        scan->next = str_of(arena_printf(call->arena, "%lld", (long long)below));
    return graphql_set_object(call, scan);
}

static bool scan_items(struct graphql_call *call, struct err *err)
{
    const struct scan *s = call->parent;

    (void)err;
    return graphql_set_objects(call, s->items, s->count);
}

const struct graphql_resolver api_scan[] = {
    { .field = "Query.scan", .fn = scan_payloads },
    { .field = "ScanPage.items", .fn = scan_items },
    GRAPHQL_MEMBER("ScanPage.looked", struct scan, looked),
    GRAPHQL_MEMBER("ScanPage.bytes", struct scan, bytes),
    GRAPHQL_MEMBER("ScanPage.skipped", struct scan, skipped),
    API_TEXT_AT("ScanPage.next", struct scan, next),
};
const size_t api_scan_count = sizeof api_scan / sizeof api_scan[0];
