/* timeline.h - the timeline of a document, as bytes in its row.
 *
 * Every change of a document is one line: time, node, stage, outcome, duration and a message.
 * Lines are only appended; two timelines concatenated are a timeline.  Some lines also have the
 * place of stored bytes, or the attempt of a delivery.
 *
 * Format      each line: varint length of what follows; u8 format; then varints, bytes and
 *             texts with their length in front.  Times are absolute, so that timelines can be
 *             joined.  A reader skips a line whose format it does not know.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/str.h"

/* A timeline stops growing at TIMELINE_MOST.  timeline_add() adds a last line that says "full" when
 * the timeline passes TIMELINE_FULL, and nothing after it; the store drops lines that would be
 * appended to a full timeline. */
enum { TIMELINE_MOST = 64 << 10, TIMELINE_TEXT_MOST = 1000, TIMELINE_FULL = TIMELINE_MOST - 2500 };

/* People and scripts see the words in `timeline_stages`. */
enum timeline_stage {
    TIMELINE_ACCEPT,
    TIMELINE_EXTRACT,
    TIMELINE_ROUTE,
    TIMELINE_STEP,
    TIMELINE_DELIVERY,
    TIMELINE_OPERATOR,
    TIMELINE_RECOVERY,
    TIMELINE_DOCUMENT,
    TIMELINE_STAGES
};

enum timeline_outcome {
    TIMELINE_DONE,
    TIMELINE_FAILED,
    TIMELINE_WAITS, /* held, or queued */
    TIMELINE_RETRY, /* will be tried again */
    TIMELINE_DELIVERED,
    TIMELINE_DOUBT,
    TIMELINE_DEAD,
    TIMELINE_CANCELLED,
    TIMELINE_DROPPED,
    TIMELINE_AGAIN,   /* a person or a new configuration started it again */
    TIMELINE_UNKNOWN, /* sent before a crash: the result is unknown */
    TIMELINE_OUTCOMES
};

extern const char *const timeline_stages[TIMELINE_STAGES];
extern const char *const timeline_outcomes[TIMELINE_OUTCOMES];

struct timeline_line {
    int64_t at_us;
    int64_t node;
    enum timeline_stage stage;
    enum timeline_outcome outcome;
    int64_t took_us;    /* -1: no duration */
    int64_t attempt;    /* of a delivery, from 1; else 0 */
    int64_t status;     /* of the receiver's answer; 0: none */
    int64_t config;     /* the version of the configuration; 0: not recorded */
    struct str what;    /* route, step or endpoint */
    struct str message; /* may be empty */

    /* Bytes that were stored at this point (a step changed them). */
    bool has_bytes;
    int64_t seg, pos, num, size; /* see store/payload/payload.h */
    struct sha256 sha256;
};

/* Texts longer than TIMELINE_TEXT_MOST are cut at a character.  The cap of `to` is TIMELINE_MOST or
 * more; nothing is added to a timeline that is full. */
void timeline_add(struct buf *to, const struct timeline_line *line);

/* Reads line by line; the texts are views into the timeline. */
struct timeline_reader {
    struct str rest;
};

struct timeline_reader timeline_read(struct str timeline);
/* False at the end, and at damaged bytes: then *ret_damaged is set, and nothing behind the damage
 * is read. */
bool timeline_next(struct timeline_reader *r, struct timeline_line *ret, bool *ret_damaged);

/* The first lines of the timeline, as many as fit into TIMELINE_MOST bytes. */
struct str timeline_fit(struct str timeline);
