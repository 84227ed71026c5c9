/* retain_scene.h - documents that may go, and letting go of them; for the tests of retention. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "store/retention/kept.h"
#include "store/retention/retain.h"
#include "store/retention/retain_bytes.h"
#include "store/watch/check.h"
#include "store_test.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* each test uses some of it */

enum { OLD = -3, SEGMENT = 256 << 10 };

static int64_t today(void)
{
    return clock_wall_us() / RETAIN_DAY_US;
}

static struct store *open_small(const struct home *h)
{
    struct store_options o = options_of(h);
    struct store *s = NULL;
    struct err err = { 0 };

    o.segment_bytes = SEGMENT;
    if (!store_open(&o, &s, &err))
        printf("# open: %s\n", err.text);
    return s;
}

enum { ENDED_MOST = 250 };

/* Documents with `body` each; they end at once and may go `keep` days from now. */
static bool ended_docs(struct store *s, struct accept_op *docs, size_t count, struct str body,
                       int64_t keep)
{
    static struct settle_op ops[ENDED_MOST];

    for (size_t i = 0; i < count; i++) {
        docs[i] = doc_of(body);
        docs[i].claim_wanted = true;
    }
    if (count > ENDED_MOST || !accept_docs(s, docs, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_OVER);
        ops[i].keep_days = keep;
        ops[i].has_facts = true;
        ops[i].sender = 100 + (int64_t)i % 3;
        ops[i].receiver = 200;
        ops[i].type = 300 + (int64_t)i % 2;
    }
    return settle_ops(s, ops, count);
}

static bool is_there(struct store *s, const struct accept_op *op)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct document d;
    struct err err = { 0 };

    return document_get(s, &op->id, &a, &d, &err);
}

/* Lets the table of a day go; how many documents went, -1 on an error. */
static int64_t purge(struct store *s, int64_t day)
{
    struct retain_order order = { .day = day, .now_us = clock_wall_us(), .unguarded = true };
    struct retain_slice got = { .upto = 1 };
    struct err err = { 0 };
    int64_t went = 0;

    for (; got.upto != 0; order.above = got.upto) {
        if (!retain_slice(s, &order, &got, &err) || got.busy) {
            printf("# purge: %s\n", err.text);
            return -1;
        }
        went += got.documents;
    }
    return went;
}

static bool clean(struct store *s, struct retain_bytes *sum)
{
    struct retain_bytes got = { .more = true };
    struct err err = { 0 };

    *sum = (struct retain_bytes){ 0 };
    while (got.more) {
        if (!retain_bytes(s, &got, &err)) {
            printf("# bytes: %s\n", err.text);
            return false;
        }
        sum->files += got.files;
        sum->segments += got.segments;
        sum->pieces += got.pieces;
        sum->bytes += got.bytes;
        sum->moved += got.moved;
        sum->damaged += got.damaged;
    }
    return true;
}

static bool all_is_well(struct store *s)
{
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result r;
        struct err err = { 0 };

        if (!check_run(s, i, true, &r, &err) || r.bad > 0) {
            printf("# check %s: %s%s\n", check_name(i), err.text, r.message);
            return false;
        }
    }
    return true;
}

static size_t listed(struct store *s, struct document_filter f)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    static struct document page[DOCUMENTS_PAGE_MOST];
    struct err err = { 0 };
    int64_t next;
    size_t n = 0;

    if (!document_list(s, &f, 0, DOCUMENTS_PAGE_MOST, &a, page, &n, &next, &err))
        printf("# list: %s\n", err.text);
    return n;
}
