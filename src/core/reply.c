#include "core/reply.h"

static bool ends_delivery(const struct timeline_line *l)
{
    return l->stage == TIMELINE_DELIVERY &&
           (l->outcome == TIMELINE_DELIVERED || l->outcome == TIMELINE_DEAD);
}

static bool is_of_same_delivery(const struct timeline_line *a, const struct timeline_line *b)
{
    return str_eq(a->what, b->what) && str_eq(a->id_end, b->id_end);
}

/* Lines that have the place of an answer stand behind the others of their commit, so the time of a
 * line says which was first. */
static bool find_first(struct str timeline, struct timeline_line *ret)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool found = false, damaged;

    while (timeline_next(&r, &line, &damaged))
        if (ends_delivery(&line) && (!found || line.at_us < ret->at_us)) {
            *ret = line;
            found = true;
        }
    return found;
}

struct reply_end reply_find(struct str timeline)
{
    struct reply_end end = { 0 };
    struct timeline_line first, line;

    if (!find_first(timeline, &first))
        return end;
    struct timeline_reader r = timeline_read(timeline);
    bool damaged;

    while (timeline_next(&r, &line, &damaged)) {
        if (line.stage != TIMELINE_DELIVERY || !is_of_same_delivery(&line, &first))
            continue;
        if (line.is_answer && line.has_bytes)
            end.answer = line;
        if (!ends_delivery(&line))
            continue;
        end.has_ended = true;
        end.is_delivered = line.outcome == TIMELINE_DELIVERED;
        end.line = line;
        /* An answer that repeats the one before it is kept once, with the earlier attempt. */
        end.has_answer = end.answer.has_bytes && end.answer.status == line.status;
    }
    return end;
}

bool reply_may_pass(int64_t status)
{
    return (status >= 200 && status < 300) || (status >= 400 && status < 600);
}
