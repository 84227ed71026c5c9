/* pieces.h - a service over an io in memory: whatever the bytes, pieces of any size give the same.
 */
#pragma once

#include "base/auto.h"
#include "base/require.h"
#include "core/connector.h"

enum { PIECES_OUT = 8 << 20 };

#define PIECES_TIME (INT64_C(1798675200) * 1000000) /* the end of 2026 */

/* Lives as long as the process. */
static void *pieces_make(const struct service_type *type, const char *yaml)
{
    static struct arena a = ARENA_INIT((size_t)16 << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings settings = {
        .node = yaml_get(yaml_load(str_of(yaml), &a, &problems), type->kind.name),
        .own = type->kind.keys,
        .arena = &a,
    };
    struct err err;
    void *self;
    bool ok = type->make(&settings, &self, &err);

    require(ok && problems.count == 0);
    problem_list_done(&problems);
    return self;
}

static bool pieces_run(const struct service_type *type, void *self, struct str in, size_t piece,
                       struct service_memory *m, struct arena *a, struct service_failure *failure)
{
    static const struct service_document document = { .received_us = PIECES_TIME };

    service_memory_init(m, &document, in, PIECES_OUT, a);
    m->piece = piece;
    bool ok = service_run(type, self, &m->io, failure);

    require(ok || failure->message[0] != '\0');
    return ok;
}

/* At once and in pieces; the first run is in *ret. */
static bool pieces_agree(const struct service_type *type, void *self, struct str in, size_t piece,
                         struct service_memory *ret, struct arena *a)
{
    AUTO(service_memory_done) struct service_memory m;
    struct service_failure first = { 0 }, second = { 0 };
    bool ok = pieces_run(type, self, in, 0, ret, a, &first);
    bool again = pieces_run(type, self, in, piece, &m, a, &second);

    require(ok == again && (ok || first.code == second.code));
    if (!ok)
        return false;
    require(ret->part_count == m.part_count && ret->is_none == m.is_none);
    require(str_eq(buf_view(&ret->out), buf_view(&m.out)));
    for (size_t i = 0; i < m.part_count; i++) {
        require(ret->parts[i].from == m.parts[i].from);
        require(str_eq(ret->parts[i].head.name, m.parts[i].head.name));
        require(m.parts[i].head.parts == (int64_t)m.part_count);
    }
    return true;
}
