/* document_view.h - a document as the outside sees it: names instead of words, and what is
 * derived at this moment, such as held.
 *
 * The store keeps deliveries only while a document lives; of one that ended they are told
 * from its timeline. */
#pragma once

#include "base/buf.h"
#include "core/facts.h"
#include "core/state.h"
#include "store/road/delivery.h"
#include "store/search/document.h"

struct engine;
struct payload_source;
struct store;

struct delivery_view {
    struct str id; /* ptr NULL: not known any more */
    struct str endpoint, system;
    enum delivery_state state;
    unsigned held;     /* reasons (held_reason) */
    int64_t lane, num; /* of one that waits in a lane (store/road/order.h); else 0 */
    int64_t attempts, status, due_us, updated_us;
    struct str code, message, name;
};

struct document_view {
    struct document doc;
    struct facts facts; /* names as they were found */
    enum document_state state;
    bool has_timeline, has_deliveries; /* those of a list are read when they are asked for */
    struct delivery_view *deliveries;
    size_t delivery_count;
};

/* Blocks.  Everything hangs on the arena, or on `d`.  listed: it comes out of a list. */
bool document_view_make(struct engine *e, const struct document *d, bool listed, struct arena *a,
                        struct document_view *ret, struct err *err);
/* The deliveries that it has, or had; the timeline. */
bool document_view_load(struct engine *e, struct document_view *v, struct arena *a,
                        struct err *err);

/* One JSON object, fields named as in GraphQL, with a newline. */
void document_view_json(struct store *s, const struct document_view *v, struct buf *to);

/* The name of who sent it: a key's number, "admin", "basic", or empty. */
struct str document_view_caller(const struct document *d, struct arena *a);

/* Where the bytes are that the n-th step which changed them made, from 1; false: there are
 * none. */
bool document_view_stage(const struct document *d, int64_t n, struct payload_source *ret);
