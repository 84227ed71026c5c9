#include "engine/flight/tries.h"

static void note_failed_try(struct tries *t, const struct timeline_line *line)
{
    if (t->first_us == 0)
        t->first_us = line->at_us - (line->took_us > 0 ? line->took_us : 0);
    t->count = line->attempt > t->count ? line->attempt : t->count + 1;
}

static bool answers_question(struct str message, struct str question)
{
    return message.len >= question.len &&
           str_eq(str_from(message, message.len - question.len), question);
}

static void see_bytes(const struct flight *f, struct tries *t, const struct timeline_line *line,
                      int64_t number, struct str question)
{
    if (line->attempt < number) /* of a step before this one: what failed since is this one's */
        t->count = t->first_us = 0;
    if (line->attempt != number || !answers_question(line->message, question))
        return;
    t->has_bytes = true;
    t->status = line->status;
    t->ctype = line->ctype;
    t->bytes = (struct payload_source){ .id = f->source.id,
                                        .num = line->num,
                                        .size = line->size,
                                        .sha256 = line->sha256,
                                        .place = { .seg = line->seg, .pos = line->pos } };
}

/* Services have something to say as well, but no number (step_io_tell). */
static bool is_passed_line(const struct timeline_line *line, int64_t number)
{
    return line->outcome == TIMELINE_NOTED && line->attempt == number &&
           answers_question(line->message, TRIES_NEXT_RUN);
}

struct tries tries_asked(const struct flight *f, struct str step, int64_t number,
                         struct str question)
{
    struct timeline_reader r = timeline_read(f->past);
    struct timeline_line line;
    struct tries t = { 0 };
    bool damaged;

    while (timeline_next(&r, &line, &damaged)) {
        if (line.outcome == TIMELINE_AGAIN)
            t = (struct tries){ 0 };
        if (line.stage != TIMELINE_STEP || !str_eq(line.what, step))
            continue;
        if (line.has_bytes && !line.is_answer)
            see_bytes(f, &t, &line, number, question);
        else if (is_passed_line(&line, number))
            t.is_passed = true;
        else if (line.outcome == TIMELINE_RETRY)
            note_failed_try(&t, &line);
    }
    return t;
}

struct tries tries_of(const struct flight *f, struct str step, int64_t number)
{
    return tries_asked(f, step, number, STR(""));
}
