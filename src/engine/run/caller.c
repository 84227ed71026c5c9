#include "engine/run/caller.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "core/head.h"
#include "engine/flight/flight.h"
#include "engine/road/state.h"
#include "store/kernel/node.h"
#include "store/store.h"

#define CALLER_GONE "caller gone"

enum { NODE_LIVES = 0 }; /* node_row.state */

static bool is_noted(struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;

    while (timeline_next(&r, &line, &damaged))
        if (line.stage == TIMELINE_RECOVERY && str_starts(line.message, STR(CALLER_GONE)))
            return true;
    return false;
}

/* *ret: the node is among those that live. */
static bool look_for_node(struct store *s, int64_t node, bool *ret, struct err *err)
{
    struct node_row *rows = xcalloc(NODES_MOST, sizeof *rows);
    size_t count = 0;
    bool ok = node_list(s, rows, NODES_MOST, &count, err);

    *ret = false;
    for (size_t i = 0; ok && i < count; i++)
        *ret = *ret || (rows[i].node == node && rows[i].state == NODE_LIVES);
    free(rows);
    return ok;
}

void caller_note_gone(struct flight *f)
{
    struct store *s = f->road->store;
    int64_t node = flight_has_caller(f) ? head_caller(f->head) : 0;
    struct err err = { 0 };
    bool lives;

    if (node == 0 || node == store_node(s) || is_noted(f->past))
        return;
    if (!look_for_node(s, node, &lives, &err)) {
        log_event(LOG_WARN, "caller.unknown", kv_z("document", f->id), kv_z("why", err.text));
        return; /* the next attempt asks again */
    }
    if (!lives)
        flight_note(f, TIMELINE_RECOVERY, TIMELINE_NOTED, STR(""), -1,
                    CALLER_GONE ": the node that kept its request open has ended");
}
