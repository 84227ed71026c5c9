#include "core/timeline.h"

#include <stdio.h>

#include "base/auto.h"
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
    [TIMELINE_UNKNOWN] = "unknown",     [TIMELINE_NOTED] = "noted",
};

/* A new field, stage or outcome needs a new format, so that older programs skip the line.  Format 2
 * has the flags above HAS_BYTES; a line without them is written in format 1.  Format 3 is the same
 * with the outcome `noted`. */
enum { FORMAT_PLAIN = 1, FORMAT_WIDE = 2, FORMAT_NOTED = 3 };
enum { HAS_BYTES = 1, HAS_DELIVERY = 2, HAS_ANSWER = 4, HAS_LEFT_OUT = 8 };

/* Sizes of a line at most.  HEAD: its length.  FIXED: with format, stage, outcome and flags, six
 * numbers and the lengths of two texts.  PLACE: four numbers and a digest.  WIDE: the numbers and
 * the lengths of the texts of the other flags. */
enum {
    HEAD = 2,
    FIXED = HEAD + 4 + (6 + 2) * VARINT_MOST,
    PLACE = 4 * VARINT_MOST + SHA256_SIZE,
    WIDE = 6 * VARINT_MOST,
    LINE_MOST = FIXED + 2 * TIMELINE_TEXT_MOST + WIDE + 3 * TIMELINE_NAME_MOST + PLACE,
};

_Static_assert(TIMELINE_FULL + LINE_MOST <= TIMELINE_MOST, "room at the end");
_Static_assert(LINE_MOST < 1 << 14, "the length of a line fits two bytes");

static unsigned flags_of(const struct timeline_line *line)
{
    unsigned flags = line->has_bytes ? HAS_BYTES : 0;

    if (line->has_delivery)
        flags |= HAS_DELIVERY;
    if (line->has_bytes && (line->is_answer || line->ctype.len > 0))
        flags |= HAS_ANSWER;
    if (line->left_attempts + line->left_others > 0)
        flags |= HAS_LEFT_OUT;
    return flags;
}

static char *put_wide(char *to, const struct timeline_line *line, unsigned flags)
{
    if (flags & HAS_DELIVERY) {
        to = varint_put_text(to, str_first(line->id_end, TIMELINE_NAME_MOST));
        to = varint_put_text(to, str_first(line->system, TIMELINE_NAME_MOST));
    }
    if (flags & HAS_LEFT_OUT) {
        to = varint_put(to, (uint64_t)line->left_attempts);
        to = varint_put(to, (uint64_t)line->left_others);
    }
    if (flags & HAS_ANSWER) {
        to = varint_put(to, (uint64_t)line->came);
        to = varint_put_text(to, str_first(line->ctype, TIMELINE_NAME_MOST));
    }
    return to;
}

static char *timeline_put_line(char *to, const struct timeline_line *line, struct str what,
                               struct str message)
{
    unsigned flags = flags_of(line);

    *to++ = line->outcome == TIMELINE_NOTED ? FORMAT_NOTED
            : flags > HAS_BYTES             ? FORMAT_WIDE
                                            : FORMAT_PLAIN;
    *to++ = (char)line->stage;
    *to++ = (char)line->outcome;
    *to++ = (char)flags;
    to = varint_put(to, (uint64_t)line->at_us);
    to = varint_put(to, (uint64_t)line->node);
    to = varint_put(to, (uint64_t)line->took_us + 1); /* -1 takes one byte */
    to = varint_put(to, (uint64_t)line->attempt);
    to = varint_put(to, (uint64_t)line->status);
    to = varint_put(to, (uint64_t)line->config);
    to = varint_put_text(to, what);
    to = varint_put_text(to, message);
    to = put_wide(to, line, flags);
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
    size_t names = line->id_end.len + line->system.len + line->ctype.len;
    bool room = buf_reserve(to,
                            FIXED + WIDE + what.len + message.len +
                                (names < 3 * TIMELINE_NAME_MOST ? names : 3 * TIMELINE_NAME_MOST) +
                                (line->has_bytes ? PLACE : 0),
                            &err);

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
        timeline_trim(to);
    if (to->len <= TIMELINE_FULL) /* else it is damaged */
        timeline_append(to, line);
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

static bool take_wide(struct str *s, unsigned flags, struct timeline_line *ret)
{
    if ((flags & HAS_DELIVERY) &&
        (!varint_take_text(s, &ret->id_end) || !varint_take_text(s, &ret->system)))
        return false;
    if ((flags & HAS_LEFT_OUT) && (!timeline_take_number(s, &ret->left_attempts) ||
                                   !timeline_take_number(s, &ret->left_others)))
        return false;
    return !(flags & HAS_ANSWER) ||
           (timeline_take_number(s, &ret->came) && varint_take_text(s, &ret->ctype));
}

static bool flags_fit(unsigned format, unsigned flags)
{
    unsigned known =
        format == FORMAT_PLAIN ? HAS_BYTES : HAS_BYTES | HAS_DELIVERY | HAS_ANSWER | HAS_LEFT_OUT;

    return (flags & ~known) == 0 && !((flags & HAS_ANSWER) && !(flags & HAS_BYTES));
}

static bool timeline_take_line(struct str s, struct timeline_line *ret)
{
    if (s.len < 4)
        return false;
    unsigned format = (unsigned char)s.ptr[0];
    unsigned stage = (unsigned char)s.ptr[1], outcome = (unsigned char)s.ptr[2];
    unsigned flags = (unsigned char)s.ptr[3];
    struct timeline_line line = {
        .stage = stage,
        .outcome = outcome,
        .has_bytes = (flags & HAS_BYTES) != 0,
        .has_delivery = (flags & HAS_DELIVERY) != 0,
        .is_answer = (flags & HAS_ANSWER) != 0 && stage != TIMELINE_STEP,
    };

    s = str_from(s, 4);
    if (stage >= TIMELINE_STAGES || outcome >= TIMELINE_OUTCOMES ||
        (outcome == TIMELINE_NOTED) != (format == FORMAT_NOTED) || !flags_fit(format, flags) ||
        !timeline_take_number(&s, &line.at_us) || !timeline_take_number(&s, &line.node) ||
        !timeline_take_number(&s, &line.took_us) || !timeline_take_number(&s, &line.attempt) ||
        !timeline_take_number(&s, &line.status) || !timeline_take_number(&s, &line.config) ||
        !varint_take_text(&s, &line.what) || !varint_take_text(&s, &line.message) ||
        !take_wide(&s, flags, &line) || (line.has_bytes && !take_place(&s, &line)) || s.len > 0)
        return false;
    line.took_us = (int64_t)((uint64_t)line.took_us - 1);
    *ret = line;
    return true;
}

static bool is_known(struct str line)
{
    return line.ptr[0] >= FORMAT_PLAIN && line.ptr[0] <= FORMAT_NOTED;
}

bool timeline_next(struct timeline_reader *r, struct timeline_line *ret, bool *ret_damaged)
{
    struct str line;

    *ret_damaged = false;
    while (r->rest.len > 0) {
        bool whole = varint_take_text(&r->rest, &line) && line.len > 0;

        if (whole && !is_known(line))
            continue; /* written by a newer program */
        if (whole && timeline_take_line(line, ret))
            return true;
        r->rest.len = 0;
        *ret_damaged = true;
    }
    return false;
}

/* ---- a timeline that is full ---- */

enum {
    TRIM_BEGIN = 8 << 10, /* the bytes at its beginning ... */
    TRIM_END = 20 << 10,  /* ... and at its end of which nothing is left out */
    TRIM_ROOM = 52 << 10, /* it is trimmed enough below this */
};

/* What may be left out of the middle, the dearest last. */
enum trim_level { TRIM_ATTEMPTS, TRIM_OTHERS, TRIM_ALL, TRIM_LEVELS };

static bool is_attempt(const struct timeline_line *line)
{
    return line->stage == TIMELINE_DELIVERY && line->outcome != TIMELINE_DELIVERED &&
           line->outcome != TIMELINE_CANCELLED && line->outcome != TIMELINE_DEAD;
}

/* A step has a number in the run only where the next run goes by the line. */
static bool is_for_next_run(const struct timeline_line *line)
{
    return line->stage == TIMELINE_STEP && line->outcome == TIMELINE_NOTED && line->attempt > 0;
}

/* A line that ended a delivery tells what became of it, long after its row is gone. */
static enum trim_level level_of(const struct timeline_line *line)
{
    if (line->has_bytes || is_for_next_run(line))
        return TRIM_ALL;
    if (is_attempt(line) || line->left_attempts + line->left_others > 0)
        return TRIM_ATTEMPTS;
    return line->stage == TIMELINE_DELIVERY ? TRIM_ALL : TRIM_OTHERS;
}

static void leave_out(struct timeline_line *sum, const struct timeline_line *line)
{
    sum->at_us = line->at_us;
    sum->node = line->node;
    sum->left_attempts += line->left_attempts;
    sum->left_others += line->left_others;
    if (line->left_attempts + line->left_others > 0)
        return;
    sum->left_attempts += is_attempt(line);
    sum->left_others += !is_attempt(line);
}

static void put_sum(struct buf *to, struct timeline_line *sum)
{
    char text[100];

    if (sum->left_others > 0)
        (void)snprintf(text, sizeof text, "%lld attempts and %lld other lines are left out here",
                       (long long)sum->left_attempts, (long long)sum->left_others);
    else
        (void)snprintf(text, sizeof text, "%lld attempts are left out here",
                       (long long)sum->left_attempts);
    sum->message = str_of(text);
    timeline_append(to, sum);
}

/* Copies the timeline without what is of `level` or below in its middle.  Lines of later programs
 * stay. */
static void trim_to(struct str all, enum trim_level level, struct buf *to)
{
    struct timeline_line sum = { .stage = TIMELINE_DOCUMENT, .took_us = -1 }, line;
    struct str rest = all, one;
    AUTO(buf_done) struct buf behind = BUF_INIT(to->cap);

    while (rest.len > 0) {
        const char *start = rest.ptr;
        bool known = varint_take_text(&rest, &one) && timeline_take_line(one, &line);
        struct str raw = str_mem(start, (size_t)(rest.ptr - start));
        size_t at = (size_t)(start - all.ptr);

        if (at < TRIM_BEGIN && sum.left_attempts + sum.left_others == 0)
            buf_put(to, raw);
        else if (at + TRIM_END < all.len && known && level_of(&line) <= level)
            leave_out(&sum, &line);
        else
            buf_put(&behind, raw);
    }
    if (sum.left_attempts + sum.left_others > 0)
        put_sum(to, &sum);
    buf_put(to, buf_view(&behind));
}

static bool is_whole(struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;

    while (timeline_next(&r, &line, &damaged))
        ;
    return !damaged;
}

void timeline_trim(struct buf *timeline)
{
    AUTO(buf_done) struct buf less = BUF_INIT(timeline->len + LINE_MOST);

    if (!is_whole(buf_view(timeline)))
        return;
    for (enum trim_level level = 0; level < TRIM_LEVELS; level++) {
        buf_clear(&less);
        trim_to(buf_view(timeline), level, &less);
        if (less.len <= TRIM_ROOM)
            break;
    }
    buf_clear(timeline);
    buf_put(timeline, buf_view(&less));
}

struct str timeline_fit(struct str timeline, struct arena *a)
{
    AUTO(buf_done) struct buf less = BUF_INIT(timeline.len);

    if (timeline.len <= TIMELINE_MOST)
        return timeline;
    buf_put(&less, timeline);
    timeline_trim(&less);
    return arena_copy(a, buf_view(&less));
}
