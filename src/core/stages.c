#include "core/stages.h"

/* A line of stored bytes whose step has not been found yet. */
struct unmatched {
    struct timeline_line line;
    int64_t at;       /* which line of the timeline */
    struct stage *of; /* while its run is matched */
};

struct matching {
    struct stage *stages;
    size_t count;
    size_t before; /* stages before the run whose lines are being read */
    struct unmatched *bytes;
    size_t bytes_count;
};

static struct stage *stages_add(struct matching *m, const struct timeline_line *line, int64_t at)
{
    struct stage *s = &m->stages[m->count++];

    *s = (struct stage){ .number = (int64_t)m->count,
                         .at_us = line->at_us,
                         .step = line->what.ptr != NULL ? line->what : STR(""),
                         .step_line = at,
                         .bytes_line = -1 };
    return s;
}

/* The stage whose bytes these are, below stage `end`; NULL: the line of its step was left out. */
static struct stage *stages_match(const struct matching *m, const struct unmatched *b, size_t end)
{
    struct stage *run = &m->stages[m->before];
    int64_t nth = b->line.attempt, most = (int64_t)(m->count - m->before);

    if (nth > 0)
        return nth <= most && str_eq(run[nth - 1].step, b->line.what) ? &run[nth - 1] : NULL;
    for (size_t i = end; i > m->before; i--)
        if (str_eq(m->stages[i - 1].step, b->line.what))
            return &m->stages[i - 1];
    return NULL;
}

/* Gives the bytes of a run to its steps, from the last on.  Those whose step was left out become
 * stages of their own, in their order. */
static void stages_end_run(struct matching *m)
{
    size_t end = m->count;

    for (size_t i = m->bytes_count; i-- > 0;) {
        struct stage *s = stages_match(m, &m->bytes[i], end);

        if (s == NULL || s->is_stored)
            continue;
        m->bytes[i].of = s;
        s->is_stored = true;
        end = (size_t)s->number - 1;
    }
    for (size_t i = 0; i < m->bytes_count; i++) {
        struct unmatched *b = &m->bytes[i];
        struct stage *s = b->of != NULL ? b->of : stages_add(m, &b->line, -1);

        s->is_stored = true;
        s->bytes = b->line;
        s->bytes_line = b->at;
    }
    m->bytes_count = 0;
    m->before = m->count;
}

static void stages_take(struct matching *m, const struct timeline_line *line, int64_t at)
{
    bool bytes = line->has_bytes && !line->is_answer;
    bool ends = line->stage == TIMELINE_OPERATOR ||
                (line->stage == TIMELINE_DELIVERY && !line->is_answer) ||
                (bytes && m->count > m->before);

    if (ends)
        stages_end_run(m);
    if (bytes)
        m->bytes[m->bytes_count++] = (struct unmatched){ .line = *line, .at = at };
    else if (line->stage == TIMELINE_STEP && line->outcome == TIMELINE_DONE)
        (void)stages_add(m, line, at);
}

static size_t stages_lines(struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;
    size_t n = 0;

    while (timeline_next(&r, &line, &damaged))
        n += line.stage == TIMELINE_STEP || line.has_bytes;
    return n;
}

struct stage *stages_read(struct str timeline, struct arena *a, size_t *ret_count)
{
    struct timeline_reader r = timeline_read(timeline);
    size_t most = stages_lines(timeline);
    struct matching m = { .stages = ARENA_ARRAY(a, struct stage, most),
                          .bytes = ARENA_ARRAY(a, struct unmatched, most) };
    struct timeline_line line;
    bool damaged;

    for (int64_t at = 0; timeline_next(&r, &line, &damaged); at++)
        stages_take(&m, &line, at);
    stages_end_run(&m);
    *ret_count = m.count;
    return m.stages;
}

/* Attempts that were left out are no steps. */
bool stages_gap_behind(struct str timeline, const struct stage *s)
{
    int64_t first = s->bytes_line >= 0 ? s->bytes_line : s->step_line;
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;

    for (int64_t at = 0; timeline_next(&r, &line, &damaged); at++)
        if (at > first && line.left_others > 0)
            return true;
    return false;
}

const struct stage *stages_of_line(const struct stage *all, size_t count, int64_t line)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].step_line == line || all[i].bytes_line == line)
            return &all[i];
    return NULL;
}
