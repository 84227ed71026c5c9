/* trail.h - the timeline of a document, as bytes in its row.
 *
 * Every change of a document is one line: when, on which node, at which stage, what came
 * of it, how long it took, and what is to be said.  Lines are only ever added, at the end;
 * the bytes of two trails one after the other are a trail.  Some lines carry more: the
 * place of stored bytes, the delivery they speak of.
 *
 * Format      each line: varint length of what follows; u8 format; then varints, bytes and
 *             texts with their length in front.  Times are absolute, so that trails can be
 *             joined.  A reader skips a line whose format it does not know.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/str.h"

/* A document's trail ends growing here.  One that is made in one piece says so in its last
 * line, longer than TRAIL_FULL it takes no other; what would be joined to a full one in the
 * store is left out. */
enum { TRAIL_MOST = 64 << 10, TRAIL_TEXT_MOST = 1000, TRAIL_FULL = TRAIL_MOST - 2500 };

/* The words in `trail_stages` are what people and scripts see. */
enum trail_stage {
    TRAIL_ACCEPT,
    TRAIL_EXTRACT,
    TRAIL_ROUTE,
    TRAIL_STEP,
    TRAIL_DELIVERY,
    TRAIL_OPERATOR,
    TRAIL_RECOVERY,
    TRAIL_DOCUMENT,
    TRAIL_STAGES
};

enum trail_outcome {
    TRAIL_DONE,
    TRAIL_FAILED,
    TRAIL_WAITS, /* held or waiting for its turn */
    TRAIL_RETRY, /* will be tried again */
    TRAIL_DELIVERED,
    TRAIL_DOUBT,
    TRAIL_DEAD,
    TRAIL_CANCELLED,
    TRAIL_DROPPED,
    TRAIL_AGAIN,   /* a person or a new configuration started it again */
    TRAIL_UNKNOWN, /* sent before a crash: nobody knows */
    TRAIL_OUTCOMES
};

extern const char *const trail_stages[TRAIL_STAGES];
extern const char *const trail_outcomes[TRAIL_OUTCOMES];

struct trail_line {
    int64_t at_us;
    int64_t node;
    enum trail_stage stage;
    enum trail_outcome outcome;
    int64_t took_us;    /* -1: no time of its own */
    int64_t attempt;    /* of a delivery, from 1; else 0 */
    int64_t status;     /* of the receiver's answer; 0: none */
    int64_t config;     /* the version that was used; 0: not said */
    struct str what;    /* route, step or endpoint */
    struct str message; /* may be empty */

    /* Bytes that were stored at this point (a step changed them). */
    bool has_bytes;
    int64_t seg, pos, num, size; /* see store/payload/payload.h */
    struct sha256 sha256;
};

/* Texts longer than TRAIL_TEXT_MOST are cut at a character.  The cap of `to` is TRAIL_MOST or
 * more; nothing is added to a trail that is full. */
void trail_add(struct buf *to, const struct trail_line *line);

/* Read one line after the other; the texts point into the trail. */
struct trail_reader {
    struct str rest;
};

struct trail_reader trail_read(struct str trail);
/* False at the end, and at bytes that are no trail: `*ret_damaged` tells which, and nothing
 * is read behind the damage. */
bool trail_next(struct trail_reader *r, struct trail_line *ret, bool *ret_damaged);

/* The first lines of it, as many as TRAIL_MOST bytes hold. */
struct str trail_fit(struct str trail);
