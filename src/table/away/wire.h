/* wire.h - values in a message, written and read by one text: what puts a struct into a message
 * takes it out of one, too.
 *
 *     struct wire w = wire_put(&buf);          struct wire w = wire_take(bytes, arena);
 *     wire_int(&w, &place->x);                 wire_int(&w, &place->x);
 *     if (!wire_end(&w, err)) ...              if (!wire_end(&w, err)) ...
 *
 * Numbers are varints (zig-zag), texts and lists have their length in front.  What is taken lends
 * from the bytes; lists are in the arena.  After something that cannot be read everything else is
 * empty, and wire_end() says so: bytes that come from outside need no other care, but for what
 * their values mean.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct wire {
    struct buf *to;  /* NULL: it takes */
    struct str rest; /* of what is taken */
    struct arena *a; /* likewise */
    bool bad, full;  /* it cannot be read; `to` has no room */
};

struct wire wire_put(struct buf *to);
struct wire wire_take(struct str bytes, struct arena *a);
/* Taking: everything was taken.  ERR_PERMANENT: it cannot be read; ERR_LIMIT: there is no room. */
bool wire_end(struct wire *w, struct err *err);

void wire_int(struct wire *w, int64_t *v);
void wire_bool(struct wire *w, bool *v);
/* A word of an enum with `count` values. */
void wire_word(struct wire *w, int *v, int count);
#define WIRE_ENUM(w, v, count)           \
    do {                                 \
        int word_ = (int)*(v);           \
        wire_word((w), &word_, (count)); \
        *(v) = (__typeof__(*(v)))word_;  \
    } while (0)
void wire_size(struct wire *w, size_t *v, size_t most);
void wire_text(struct wire *w, struct str *v);
void wire_chars(struct wire *w, char *v, size_t room); /* terminated, shortened to the room */
void wire_bytes(struct wire *w, void *v, size_t len);
void wire_digest(struct wire *w, struct sha256 *v);
/* The number of items, at most `most`; taking: *v becomes an array of so many, zeroed. */
void wire_list(struct wire *w, void **v, size_t *count, size_t size, size_t most);
#define WIRE_LIST(w, v, count, most)                           \
    do {                                                       \
        void *list_ = (void *)(uintptr_t) * (v);               \
        wire_list((w), &list_, (count), sizeof **(v), (most)); \
        *(v) = list_;                                          \
    } while (0)
