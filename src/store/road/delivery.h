/* delivery.h - reading stored deliveries: those of documents that have not ended.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/state.h"
#include "store/payload/payload.h"

struct store;

struct delivery {
    int64_t num, doc;
    struct str id;
    int64_t endpoint, system, queue;
    enum delivery_state state; /* ready, retrying, in_doubt, delivered, dead, cancelled */
    int64_t attempts, first_us, due_us, updated_us;
    int64_t expires_us;             /* if it still waits then, it is dead; 0: never */
    struct str code, message, name; /* empty: none */
    int64_t status;
    int64_t intent_us;  /* when a send of unknown outcome began; 0: none (intent.h) */
    int64_t asked;      /* how many probes gave no clear answer */
    int64_t lane, turn; /* its lane, 0: none; enum order_turn (order.h) */
    bool has_bytes;     /* its own, not the document's */
    struct payload_source bytes;
};

enum { DELIVERIES_MOST = 64 };

/* Reads several deliveries at once. */
struct delivery_look {
    int64_t num;
    struct arena *arena; /* for its texts */

    bool found; /* the answer */
    struct delivery delivery;
};
bool delivery_find(struct store *s, struct delivery_look *looks, size_t count, struct err *err);

/* The deliveries of a document, up to DELIVERIES_MOST, by number. */
bool delivery_of_document(struct store *s, int64_t doc, struct arena *a, struct delivery *ret,
                          size_t *ret_count, struct err *err);
