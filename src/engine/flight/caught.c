#include "engine/flight/caught.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { ROOM_FIRST = 16, FACTS_MOST = 64 << 20 };

void caught_init(struct caught *c, size_t parts_most, size_t bytes_most)
{
    *c = (struct caught){ .arena = ARENA_INIT(FACTS_MOST + 4 * FACTS_BYTES_MOST),
                          .bytes = BUF_INIT(bytes_most),
                          .most = parts_most };
}

void caught_clear(struct caught *c)
{
    c->count = 0;
    buf_clear(&c->bytes);
    arena_reset(&c->arena);
}

void caught_done(struct caught *c)
{
    free(c->list);
    buf_done(&c->bytes);
    arena_done(&c->arena);
    *c = (struct caught){ 0 };
}

bool caught_begin(struct caught *c, const struct caught_part *part,
                  struct service_failure *ret_failure)
{
    if (c->count == c->most || c->arena.used > FACTS_MOST)
        return service_fail(ret_failure, DEAD_LIMIT,
                            "it makes more than the %zu parts that are kept here", c->count);
    if (c->count == c->room) {
        c->room = c->room == 0 ? ROOM_FIRST : 2 * c->room;
        c->list = xrealloc(c->list, c->room * sizeof *c->list);
    }
    c->list[c->count] = *part;
    c->list[c->count].from = c->bytes.len;
    c->list[c->count].size = 0;
    c->count++;
    return true;
}

bool caught_put(struct caught *c, struct str piece, struct service_failure *ret_failure)
{
    struct err err = { 0 };

    if (!buf_append(&c->bytes, piece, &err))
        return service_fail(ret_failure, DEAD_LIMIT,
                            "its parts have more than the %zu bytes that are kept here",
                            c->bytes.cap);
    c->list[c->count - 1].size += piece.len;
    return true;
}

struct str caught_bytes(const struct caught *c, size_t part)
{
    return str_mem(c->bytes.ptr + c->list[part].from, c->list[part].size);
}
