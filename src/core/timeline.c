#include "core/timeline.h"

#include "base/require.h"
#include "base/varint.h"

const char *const timeline_stages[TIMELINE_STAGES] = {
    [TIMELINE_ACCEPT] = "accept",     [TIMELINE_EXTRACT] = "extract",
    [TIMELINE_ROUTE] = "route",       [TIMELINE_STEP] = "step",
    [TIMELINE_DELIVERY] = "delivery", [TIMELINE_OPERATOR] = "operator",
    [TIMELINE_RECOVERY] = "recovery", [TIMELINE_DOCUMENT] = "document",
};

const char *const timeline_outcomes[TIMELINE_OUTCOMES] = {
    [TIMELINE_DONE] = "done",           [TIMELINE_FAILED] = "failed",
    [TIMELINE_WAITS] = "waiting",       [TIMELINE_RETRY] = "retrying",
    [TIMELINE_DELIVERED] = "delivered", [TIMELINE_DOUBT] = "in_doubt",
    [TIMELINE_DEAD] = "dead",           [TIMELINE_CANCELLED] = "cancelled",
    [TIMELINE_DROPPED] = "dropped",     [TIMELINE_AGAIN] = "again",
    [TIMELINE_UNKNOWN] = "unknown",
};

/* A new field, stage or outcome needs a new format, so that older programs skip the line. */
enum { FORMAT = 1, HAS_BYTES = 1 };

/* Sizes of a line at most.  HEAD: its length.  FIXED: with format, stage, outcome and flags, six
 * numbers and the lengths of two texts.  PLACE: four numbers and a digest. */
enum {
    HEAD = 2,
    FIXED = HEAD + 4 + (6 + 2) * VARINT_MOST,
    PLACE = 4 * VARINT_MOST + SHA256_SIZE,
    LINE_MOST = FIXED + 2 * TIMELINE_TEXT_MOST + PLACE,
};

static const char full_text[] = "the timeline is full: what comes later is not written down";

_Static_assert(TIMELINE_FULL + LINE_MOST + FIXED + sizeof full_text <= TIMELINE_MOST,
               "room at the end");
_Static_assert(LINE_MOST < 1 << 14, "the length of a line fits two bytes");

static char *timeline_put_line(char *to, const struct timeline_line *line, struct str what,
                               struct str message)
{
    *to++ = FORMAT;
    *to++ = (char)line->stage;
    *to++ = (char)line->outcome;
    *to++ = line->has_bytes ? HAS_BYTES : 0;
    to = varint_put(to, (uint64_t)line->at_us);
    to = varint_put(to, (uint64_t)line->node);
    to = varint_put(to, (uint64_t)line->took_us + 1); /* -1 takes one byte */
    to = varint_put(to, (uint64_t)line->attempt);
    to = varint_put(to, (uint64_t)line->status);
    to = varint_put(to, (uint64_t)line->config);
    to = varint_put_text(to, what);
    to = varint_put_text(to, message);
    if (!line->has_bytes)
        return to;
    to = varint_put(to, (uint64_t)line->seg);
    to = varint_put(to, (uint64_t)line->pos);
    to = varint_put(to, (uint64_t)line->num);
    to = varint_put(to, (uint64_t)line->size);
    memcpy(to, line->sha256.bytes, SHA256_SIZE);
    return to + SHA256_SIZE;
}

static void timeline_append(struct buf *to, const struct timeline_line *line)
{
    struct str what = str_first(line->what, TIMELINE_TEXT_MOST);
    struct str message = str_first(line->message, TIMELINE_TEXT_MOST);
    struct err err;
    bool room =
        buf_reserve(to, FIXED + what.len + message.len + (line->has_bytes ? PLACE : 0), &err);

    require(room); /* the cap is TIMELINE_MOST or more */
    char *start = to->ptr + to->len, *body = start + HEAD;
    size_t len = (size_t)(timeline_put_line(body, line, what, message) - body);
    char *head_end = varint_put(start, len);

    if (head_end != body)
        memmove(head_end, body, len);
    buf_added(to, (size_t)(head_end - start) + len);
}

void timeline_add(struct buf *to, const struct timeline_line *line)
{
    require(line->stage < TIMELINE_STAGES && line->outcome < TIMELINE_OUTCOMES);
    if (to->len > TIMELINE_FULL)
        return;
    timeline_append(to, line);
    if (to->len > TIMELINE_FULL)
        timeline_append(to, &(struct timeline_line){
                                .at_us = line->at_us,
                                .node = line->node,
                                .stage = TIMELINE_DOCUMENT,
                                .outcome = TIMELINE_DONE,
                                .took_us = -1,
                                .message = STR(full_text),
                            });
}

struct timeline_reader timeline_read(struct str timeline)
{
    return (struct timeline_reader){ timeline };
}

static bool timeline_take_number(struct str *s, int64_t *ret)
{
    uint64_t n;

    if (!varint_take(s, &n))
        return false;
    *ret = (int64_t)n;
    return true;
}

static bool take_place(struct str *s, struct timeline_line *ret)
{
    if (!timeline_take_number(s, &ret->seg) || !timeline_take_number(s, &ret->pos) ||
        !timeline_take_number(s, &ret->num) || !timeline_take_number(s, &ret->size) ||
        s->len < SHA256_SIZE)
        return false;
    memcpy(ret->sha256.bytes, s->ptr, SHA256_SIZE);
    *s = str_from(*s, SHA256_SIZE);
    return true;
}

static bool timeline_take_line(struct str s, struct timeline_line *ret)
{
    if (s.len < 4)
        return false;
    unsigned stage = (unsigned char)s.ptr[1], outcome = (unsigned char)s.ptr[2];
    unsigned flags = (unsigned char)s.ptr[3];
    struct timeline_line line = {
        .stage = stage,
        .outcome = outcome,
        .has_bytes = flags == HAS_BYTES,
    };

    s = str_from(s, 4);
    if (stage >= TIMELINE_STAGES || outcome >= TIMELINE_OUTCOMES ||
        (flags & ~(unsigned)HAS_BYTES) != 0 || !timeline_take_number(&s, &line.at_us) ||
        !timeline_take_number(&s, &line.node) || !timeline_take_number(&s, &line.took_us) ||
        !timeline_take_number(&s, &line.attempt) || !timeline_take_number(&s, &line.status) ||
        !timeline_take_number(&s, &line.config) || !varint_take_text(&s, &line.what) ||
        !varint_take_text(&s, &line.message) || (line.has_bytes && !take_place(&s, &line)) ||
        s.len > 0)
        return false;
    line.took_us = (int64_t)((uint64_t)line.took_us - 1);
    *ret = line;
    return true;
}

bool timeline_next(struct timeline_reader *r, struct timeline_line *ret, bool *ret_damaged)
{
    struct str line;

    *ret_damaged = false;
    while (r->rest.len > 0) {
        bool whole = varint_take_text(&r->rest, &line) && line.len > 0;

        if (whole && line.ptr[0] != FORMAT)
            continue; /* written by a newer program */
        if (whole && timeline_take_line(line, ret))
            return true;
        r->rest.len = 0;
        *ret_damaged = true;
    }
    return false;
}

struct str timeline_fit(struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;
    size_t fits = 0;

    if (timeline.len <= TIMELINE_MOST)
        return timeline;
    while (timeline_next(&r, &line, &damaged) && timeline.len - r.rest.len <= TIMELINE_MOST)
        fits = timeline.len - r.rest.len;
    return (struct str){ timeline.ptr, fits };
}
