/* timeline.h - the timeline of a document, as bytes in its row.
 *
 * Every change of a document is one line: time, node, stage, outcome, duration and a message.
 * Lines are only appended; two timelines concatenated are a timeline.  Some lines also have the
 * place of stored bytes, or the attempt of a delivery.  When a timeline is full, attempts in its
 * middle give way to a line that counts them: how it began and how it ended stay.
 *
 * Format      each line: varint length of what follows; u8 format; then varints, bytes and
 *             texts with their length in front.  Times are absolute, so that timelines can be
 *             joined.  A reader skips a line whose format it does not know.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/str.h"

/* A timeline above TIMELINE_FULL is trimmed (timeline_trim) by whoever adds to it next; so it stays
 * below TIMELINE_MOST.  The store appends without a look, up to four times as much, and trims with
 * the next run of the document or attempt of a delivery. */
enum {
    TIMELINE_MOST = 64 << 10,
    TIMELINE_FULL = TIMELINE_MOST - 3000,
    TIMELINE_TEXT_MOST = 1000,
    TIMELINE_NAME_MOST = 255
};

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
    TIMELINE_NOTED,   /* a step had something to say */
    TIMELINE_OUTCOMES
};

extern const char *const timeline_stages[TIMELINE_STAGES];
extern const char *const timeline_outcomes[TIMELINE_OUTCOMES];

struct timeline_line {
    int64_t at_us;
    int64_t node;
    enum timeline_stage stage;
    enum timeline_outcome outcome;
    int64_t took_us; /* -1: no duration */
    int64_t attempt; /* of a delivery, from 1; with the bytes of a step: which of its run, from 1;
                        else 0 */
    int64_t status;  /* of the receiver's answer; 0: none */
    int64_t config;  /* the version of the configuration; 0: not recorded */
    struct str what; /* route, step or endpoint */
    struct str message; /* may be empty */

    /* TIMELINE_DELIVERY; false in lines of programs that did not record it. */
    bool has_delivery;
    struct str id_end; /* its id is the document's, a dot, the endpoint's name and this */
    struct str system; /* empty: the document's receiver */

    /* The line stands for lines that were left out, this many. */
    int64_t left_attempts, left_others;

    /* Bytes that were stored at this point: a step changed them, or the receiver's answer. */
    bool has_bytes, is_answer;
    int64_t seg, pos, num, size; /* see store/payload/payload.h */
    struct sha256 sha256;
    int64_t came;     /* of an answer: its size as it came; more than `size`: it was cut */
    struct str ctype; /* of an answer, also of one that a step made its bytes of; may be empty */
};

/* Texts longer than TIMELINE_TEXT_MOST (names: TIMELINE_NAME_MOST) are cut at a character.  The cap
 * of `to` is TIMELINE_MOST or more. */
void timeline_add(struct buf *to, const struct timeline_line *line);

/* Reads line by line; the texts are views into the timeline. */
struct timeline_reader {
    struct str rest;
};

struct timeline_reader timeline_read(struct str timeline);
/* False at the end, and at damaged bytes: then *ret_damaged is set, and nothing behind the damage
 * is read. */
bool timeline_next(struct timeline_reader *r, struct timeline_line *ret, bool *ret_damaged);

/* Leaves lines out of the middle until there is room again: first attempts that ended nothing, then
 * others, at last also lines with bytes.  Damaged timelines stay as they are. */
void timeline_trim(struct buf *timeline);

/* The timeline, trimmed if it is longer than TIMELINE_MOST; then on the arena. */
struct str timeline_fit(struct str timeline, struct arena *a);
