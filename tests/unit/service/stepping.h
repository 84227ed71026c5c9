/* stepping.h - a step as a route makes it, run over an io in memory.
 *
 * A result must not depend on the size of the pieces: step_run() runs the step with pieces of one,
 * seven and 4096 bytes and all at once, and says whether bytes, heads and failures were the same.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"

enum { STEP_ARENA = 256 << 20, STEP_OUT = 256 << 20 };

struct step {
    struct arena arena;
    const struct service_type *type;
    void *self; /* NULL: it could not be made, err says why */
    struct err err;

    /* Of the next runs. */
    struct service_document document;
    bool (*describe)(struct service_io *io, struct str part, struct service_part *head,
                     struct service_failure *ret_failure);
    size_t least; /* pieces are not smaller; 0: 1 */

    /* Of the last run. */
    struct service_memory m;
    bool ok;
    struct service_failure failure;
};

__attribute__((unused)) static void step_done(struct step *s)
{
    service_memory_done(&s->m);
    if (s->self != NULL)
        s->type->unmake(s->self);
    arena_done(&s->arena);
}

/* `yaml`: as in a route, such as "split: { lines: 1 }". */
__attribute__((unused)) static struct step step_of(const struct service_type *type,
                                                   const char *yaml)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct step s = { .arena = ARENA_INIT(STEP_ARENA), .type = type };
    struct settings settings = {
        .node = yaml_get(yaml_load(str_of(yaml), &s.arena, &problems), type->kind.name),
        .own = type->kind.keys,
        .arena = &s.arena,
    };

    if (!type->make(&settings, &s.self, &s.err))
        s.self = NULL;
    problem_list_done(&problems);
    return s;
}

static void step_run_pieces(struct step *s, struct str in, size_t piece)
{
    service_memory_done(&s->m);
    service_memory_init(&s->m, &s->document, in, STEP_OUT, &s->arena);
    s->m.piece = piece;
    s->m.io.describe = s->describe;
    s->failure = (struct service_failure){ 0 };
    s->ok = service_run(s->type, s->self, &s->m.io, &s->failure);
}

/* Everything that a run gave, as text. */
static void step_tell(const struct step *s, struct buf *to)
{
    if (!s->ok) {
        buf_printf(to, "%d %s", (int)s->failure.code, s->failure.message);
        return;
    }
    buf_printf(to, "%d %zu\n", s->m.is_none, s->m.part_count);
    for (size_t i = 0; i < s->m.part_count; i++) {
        const struct service_part *h = &s->m.parts[i].head;

        buf_printf(to, "%zu %lld [%.*s] [%.*s] %s\n", s->m.parts[i].from, (long long)h->parts,
                   STR_ARG(h->name), STR_ARG(h->receiver),
                   h->failure != NULL ? h->failure->message : "");
    }
    buf_put(to, buf_view(&s->m.out));
}

/* False: the pieces made a difference.  The last run is the one with all at once. */
__attribute__((unused)) static bool step_run(struct step *s, struct str in)
{
    static const size_t pieces[] = { 1, 7, 4096, 0 };
    AUTO(buf_done) struct buf first = BUF_INIT((size_t)2 * STEP_OUT);
    bool same = true, began = false;

    for (size_t i = 0; i < 4; i++) {
        AUTO(buf_done) struct buf now = BUF_INIT((size_t)2 * STEP_OUT);

        if (pieces[i] != 0 && pieces[i] < s->least)
            continue;
        step_run_pieces(s, in, pieces[i]);
        step_tell(s, began ? &now : &first);
        if (began && !str_eq(buf_view(&first), buf_view(&now))) {
            printf("# pieces of %zu bytes:\n# %.300s\n# %.300s\n", pieces[i], first.ptr, now.ptr);
            same = false;
        }
        began = true;
    }
    if (!s->ok)
        printf("# %s\n", s->failure.message);
    return same;
}

/* It failed so, in pieces of any size. */
__attribute__((unused)) static bool step_fails(struct step *s, struct str in, enum dead_code code,
                                               const char *message)
{
    bool is = step_run(s, in) && !s->ok && s->failure.code == code &&
              strstr(s->failure.message, message) != NULL;

    if (!is)
        printf("# wanted: %s\n", message);
    return is;
}
