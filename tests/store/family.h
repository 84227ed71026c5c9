/* family.h - a claimed document and the documents that are made of it; for tests of offspring.h. */
#pragma once

#include <stdio.h>

#include "base/auto.h"
#include "core/part.h"
#include "store/road/offspring.h"
#include "store_test.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* each test uses some of it */

enum { FAMILY_VERSION = 7, FAMILY_ARENA = 64 << 20 };

/* A chunk of parts "part N" and what it points to. */
struct family {
    struct arena a;
    struct offspring_op op;
    struct settle_op end;
};

static void family_done(struct family *f)
{
    arena_done(&f->a);
}

static struct str facts_bytes(struct arena *a, const struct facts *facts)
{
    AUTO(buf_done) struct buf b = BUF_INIT(FACTS_BYTES_MOST);

    facts_write(facts, &b);
    return arena_copy(a, buf_view(&b));
}

/* The part with this number, from 1, of so many. */
static struct offspring_part part_number(struct arena *a, int64_t number, int64_t total)
{
    struct facts parent = { 0 };
    struct facts facts = part_facts(a, &parent, &(struct service_part){ 0 }, number, total);
    struct str body = str_of(arena_printf(a, "part %lld", (long long)number));

    return (struct offspring_part){ .kind = LINK_SPLIT,
                                    .bytes = body,
                                    .size = (int64_t)body.len,
                                    .sha256 = digest_of(body),
                                    .sender = 11,
                                    .receiver = 12,
                                    .type = 13,
                                    .facts = facts_bytes(a, &facts),
                                    .name = STR("part.xml"),
                                    .ctype = STR("application/xml") };
}

/* `count` parts behind `from`, of a claimed document.  The last of `total` come with its end. */
static void family_init(struct family *f, const struct task *t, int64_t doc, int64_t from,
                        size_t count, int64_t total)
{
    *f = (struct family){ .a = ARENA_INIT(FAMILY_ARENA) };
    f->op = (struct offspring_op){ .task = *t,
                                   .doc = doc,
                                   .config = FAMILY_VERSION,
                                   .from = from,
                                   .total = total,
                                   .count = count };
    f->op.parts = ARENA_ARRAY(&f->a, struct offspring_part, count + 1);
    for (size_t i = 0; i < count; i++)
        f->op.parts[i] = part_number(&f->a, from + 1 + (int64_t)i, total);
    f->end = settle_of(t, doc, SETTLE_OVER);
    f->end.state = DOCUMENT_DONE;
    f->end.keep_days = 45;
    if (from + (int64_t)count == total)
        f->op.end = &f->end;
}

static bool family_commit(struct store *s, struct family *f)
{
    struct err err = { 0 };

    if (writers_call(store_writers(s), &offspring_verb, &f->op.op, &err))
        return true;
    printf("# make parts: %s\n", err.text);
    return false;
}

/* Makes parts of a claimed document; true: they were made. */
static bool make_parts(struct store *s, const struct accept_op *parent, const struct task *t,
                       int64_t from, size_t count, int64_t total)
{
    AUTO(family_done) struct family f;

    family_init(&f, t, parent->num, from, count, total);
    f.end.gateway = parent->gateway;
    f.end.seq = parent->seq;
    return family_commit(s, &f) && f.op.result == OFFSPRING_MADE;
}
