/* document_view.h - a document prepared for output: names instead of name ids, and states that are
 * derived at this moment, such as held.
 *
 * The store keeps rows of deliveries only until a document ends; afterwards they are reconstructed
 * from its timeline. */
#pragma once

#include "base/buf.h"
#include "core/facts.h"
#include "core/state.h"
#include "core/timeline.h"
#include "store/road/delivery.h"
#include "store/search/document.h"

struct engine;
struct payload_source;
struct stage;
struct store;

struct delivery_view {
    struct str id; /* ptr NULL: of a document that ended under a program that did not record it */
    struct str endpoint, system;
    enum delivery_state state;
    unsigned held;       /* reasons (held_reason) */
    struct str held_why; /* what is the matter with its endpoint; empty: nothing */
    int64_t lane, num;   /* of a delivery that waits in a lane (store/road/order.h); otherwise 0 */
    int64_t attempts, status, due_us, updated_us;
    struct str code, message, name;
    bool has_answer;
    struct timeline_line answer; /* the last kept answer of its receiver */
};

struct document_view {
    struct document doc;
    struct facts facts; /* names as extracted, even if no configuration has them */
    enum document_state state;
    bool has_timeline, has_deliveries,
        has_answers; /* of a listed document they are loaded on demand */
    struct delivery_view *deliveries;
    size_t delivery_count;
};

/* Blocks.  Texts are in the arena, or lent by `d`.  listed: `d` comes from a list, which has no
 * timelines. */
bool document_view_make(struct engine *e, const struct document *d, bool listed, struct arena *a,
                        struct document_view *ret, struct err *err);
/* Loads deliveries and timeline, unless they are loaded already.  Blocks. */
bool document_view_load(struct engine *e, struct document_view *v, struct arena *a,
                        struct err *err);

/* One JSON object, fields named as in GraphQL, with a newline. */
void document_view_json(struct store *s, const struct document_view *v, struct buf *to);

/* The credential of the sender: a key's number, "admin", "basic", or empty. */
struct str document_view_caller(const struct document *d, struct arena *a);

/* The last kept answer of a delivery, which its id or its endpoint's name tells.  False: there is
 * none. */
bool document_view_answer(const struct document_view *v, struct str delivery,
                          struct payload_source *ret);

/* Finds the stage after the n-th step, from 1; *ret is set if its bytes are stored.  NULL: there is
 * none. */
const struct stage *document_view_stage(const struct document *d, int64_t n, struct arena *a,
                                        struct payload_source *ret);
