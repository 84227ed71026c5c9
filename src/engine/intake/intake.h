/* intake.h - admission and the way to commit 1.
 *
 * Implements the port of core/intake.h.  Refusals happen here, before the body is read: a caller
 * over its rate (429), a node with too much to do (503), a disk without room (507).  Memory for
 * what was admitted is bounded: bodies up to 1 MiB are kept, within the node's limit; larger ones
 * go through the spool.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "core/config.h"
#include "core/intake.h"

struct background;
struct memory_share;
struct connectors;
struct refusals;
struct road;
struct spool;
struct store;

struct intake_options {
    struct store *store;
    struct background *background;
    struct spool *spool;
    struct road *road; /* takes accepted documents */
    struct refusals *refusals;
    const struct connectors *connectors;
    struct loop **loops;
    size_t loop_count;
    struct memory_share *memory; /* for bodies on their way; heads count in it too */
    int64_t disk_reserve_bytes;
    size_t commit_queue;
    size_t replies;            /* requests that may wait for receivers at once */
    enum config_area area;     /* of this node */
    struct sha256 admin_token; /* its digest */
};

extern const struct intake_port intake_port;

struct intake *intake_new(const struct intake_options *options);
/* Refuses new arrivals; waits until the last one is answered or aborted. */
void intake_stop(struct intake *in);
void intake_free(struct intake *in); /* after its loops have ended */

/* Make `config` (its stored version `version`) and the store's callers the ones in
 * force.  Blocks on the store. */
bool intake_use(struct intake *in, struct config *config, int64_t version, struct err *err);

/* Writes when keys were used last, by the minute; with `all` to the present, before the node ends.
 * Called by the housekeeper; blocks on the store.  A use that could not be written is written with
 * the next one. */
bool intake_note_uses(struct intake *in, bool all, struct err *err);

/* The free space of the data folder, noted by the housekeeper every second; -1: none at all. */
void intake_note_disk(struct intake *in, int64_t free_bytes);
/* Nothing can be stored: refuse before the body is read.  NULL: it can again.  space: for want of
 * it. */
void intake_note_store(struct intake *in, const char *why_not, bool space);
/* An operator paused the intake: refuse as well. */
void intake_note_paused(struct intake *in, bool paused);
void intake_note_stopping(struct intake *in);
/* No arrival that was admitted is still being read or stored. */
bool intake_is_empty(struct intake *in);

/* Why no document can be accepted, not even a person's, or NULL; *ret_space: the disk is full. */
const char *intake_shut_why(struct intake *in, bool *ret_space);
/* Why documents of gateways are refused, or NULL. */
const char *intake_closed_why(struct intake *in);
int64_t intake_version(struct intake *in);
/* Appends why a gateway on the HTTP server cannot be used; nothing if it can. */
void intake_why(struct intake *in, struct str gateway, struct buf *to);
