/* link_digest.c - how many rows one side of a table has, and the sum of their digests: linkDigest.
 *
 * Sums of pieces add up (table/row.h), so a large table takes several requests: the cursor has the
 * sum so far, and the last key. */
#include <string.h>

#include "admin/api/parts.h"
#include "admin/links/link_hex.h"
#include "admin/links/link_reach.h"
#include "base/auto.h"
#include "base/clock.h"
#include "table/row.h"
#include "table/side.h"

enum { DIGEST_PIECE = 5000 /* rows of a read */, DIGEST_ARENA = 32 << 20, DIGEST_WORD = 8 };

#define DIGEST_TIME_US (5 * CLOCK_S) /* of a request */

struct shown_digest {
    int64_t rows;
    struct str digest, next;
};

struct digesting {
    struct row_sum sum;
    struct str after; /* in the arena of the request */
    bool end;
};

static struct str link_digest_bytes(const struct row_sum *sum, struct arena *a)
{
    uint8_t *bytes = ARENA_ARRAY(a, uint8_t, ROW_SUM_BYTES);

    row_sum_put(sum, bytes);
    return str_mem(bytes, ROW_SUM_BYTES);
}

static bool link_digest_read(struct graphql_call *call, struct digesting *ret, struct err *err)
{
    struct str bytes;

    *ret = (struct digesting){ .after = STR("") };
    if (!link_hex_read(graphql_arg_text(call, "after"), call->arena, &bytes) ||
        (bytes.len > 0 && bytes.len <= ROW_SUM_BYTES))
        return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a piece");
    if (bytes.len == 0)
        return true;
    row_sum_take(&ret->sum, (const uint8_t *)bytes.ptr);
    ret->after = str_from(bytes, ROW_SUM_BYTES);
    return true;
}

static bool link_digest_go(struct graphql_call *call, struct side *side, struct digesting *d,
                           struct err *err)
{
    AUTO(arena_done) struct arena scratch = ARENA_INIT(DIGEST_ARENA);
    int64_t until_us = clock_mono_us() + DIGEST_TIME_US;

    while (!d->end && clock_mono_us() < until_us) {
        const struct side_range range = { .after = d->after, .rows_most = DIGEST_PIECE };
        struct side_sum piece;

        if (!side_sum(side, &range, &scratch, &piece, err))
            return err_context(err, side->is_source ? "source" : "destination");
        row_sum_join(&d->sum, &piece.sum);
        d->end = piece.upto.len == 0;
        if (!d->end)
            d->after = arena_copy(call->arena, piece.upto);
        arena_reset(&scratch);
    }
    return true;
}

static void link_digest_show(struct graphql_call *call, const struct digesting *d,
                             struct shown_digest *v)
{
    struct str bytes = link_digest_bytes(&d->sum, call->arena);

    v->rows = d->sum.rows;
    v->digest = link_hex(str_from(bytes, DIGEST_WORD), call->arena);
    if (!d->end)
        v->next =
            str_of(arena_printf(call->arena, "%.*s%.*s", STR_ARG(link_hex(bytes, call->arena)),
                                STR_ARG(link_hex(d->after, call->arena))));
}

static bool link_digest(struct graphql_call *call, struct err *err)
{
    struct shown_digest *v = ARENA_NEW(call->arena, struct shown_digest);
    struct link_reach reach;
    struct digesting d;

    if (!link_digest_read(call, &d, err) ||
        !link_reach_open(call, graphql_arg_text(call, "link"), graphql_arg_text(call, "table"),
                         &reach, err))
        return false;
    bool ok = link_digest_go(
        call, graphql_arg(call, "side")->number == 0 ? &reach.sides->source : &reach.sides->dest,
        &d, err);

    link_reach_close(call, &reach);
    if (ok)
        link_digest_show(call, &d, v);
    return ok && graphql_set_object(call, v);
}

const struct graphql_resolver api_link_digest[] = {
    { .field = "Query.linkDigest", .fn = link_digest },
    GRAPHQL_MEMBER("LinkDigest.rows", struct shown_digest, rows),
    GRAPHQL_MEMBER("LinkDigest.digest", struct shown_digest, digest),
    API_TEXT_AT("LinkDigest.next", struct shown_digest, next),
};
const size_t api_link_digest_count = sizeof api_link_digest / sizeof api_link_digest[0];
