/* extract_edi.c - all paths of one format in one pass over the segments. */
#include "extract/extract_edi.h"

#include "base/auto.h"
#include "base/require.h"
#include "core/facts.h"
#include "core/format/edi_path.h"

struct extract_edi {
    enum edi_kind kind;
    struct edi_path *paths;
    size_t count;
};

struct extract_edi *extract_edi_new(enum edi_kind kind, const struct str *paths, size_t count,
                                    struct arena *a)
{
    struct extract_edi *plan = ARENA_NEW(a, struct extract_edi);

    *plan = (struct extract_edi){ .kind = kind, .count = count };
    plan->paths = ARENA_ARRAY(a, struct edi_path, count);
    for (size_t i = 0; i < count; i++) {
        bool ok = edi_path_parse(kind, paths[i], &plan->paths[i]);

        require(ok); /* expr_parse() has checked it */
    }
    return plan;
}

/* The value of one path in the segment that it names. */
static struct answer edi_answer(const struct extract_edi *plan, const struct edi_path *p,
                                const struct edi_segment *s, struct buf *value, struct arena *a)
{
    size_t at = s->at;

    buf_clear(value);
    if (!edi_path_value(plan->kind, p, s, value, &at))
        return (struct answer){ .why = "is not in its segment", .at = (ptrdiff_t)s->at };
    return answer_make(buf_view(value), (ptrdiff_t)at, a);
}

/* The reader stopped: why, for the questions that are still open. */
static struct answer edi_broken(const struct edi_reader *r, bool whole, struct arena *a)
{
    struct answer answer = { .kind = ANSWER_BROKEN, .at = (ptrdiff_t)r->wrong_at };

    if (!whole && r->is_cut)
        answer.kind = ANSWER_CUT;
    else if (r->is_limit)
        answer.kind = ANSWER_OVER;
    answer.why = arena_printf(a, "segment %zu: %s", r->number + 1, r->why);
    return answer;
}

/* Asks one segment; the number of questions that it answered. */
static size_t ask_segment(const struct extract_edi *plan, const struct edi_segment *s,
                          unsigned *seen, struct buf *value, struct arena *a,
                          struct answer *answers)
{
    size_t answered = 0;

    for (size_t i = 0; i < plan->count; i++) {
        const struct edi_path *p = &plan->paths[i];

        if (answers[i].kind != ANSWER_ASKED || !str_eq(p->tag, s->tag) || ++seen[i] != p->nth)
            continue;
        answers[i] = edi_answer(plan, p, s, value, a);
        answered++;
    }
    return answered;
}

void extract_edi_run(const struct extract_edi *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers)
{
    AUTO(buf_done) struct buf value = BUF_INIT(EDI_BYTES_MOST);
    unsigned *seen = ARENA_ARRAY(a, unsigned, plan->count);
    struct answer rest = { .kind = whole ? ANSWER_NOTHING : ANSWER_CUT, .at = ANSWER_NOWHERE };
    size_t open = 0, steps = 0;
    struct edi_reader r;
    struct edi_segment s;
    enum edi_found found = EDI_END;

    for (size_t i = 0; i < plan->count; i++)
        open += answers[i].kind == ANSWER_ASKED;
    edi_reader_init(&r, plan->kind, body);
    while (open > 0 && steps < EXTRACT_STEPS_MOST && (found = edi_next(&r, &s)) == EDI_SEGMENT) {
        if (!whole && s.end.len == 0) /* HL7: the segment may go on behind what is read */
            break;
        open -= ask_segment(plan, &s, seen, &value, a, answers);
        steps += plan->count;
    }
    if (found == EDI_WRONG)
        rest = edi_broken(&r, whole, a);
    else if (steps >= EXTRACT_STEPS_MOST)
        rest = (struct answer){ .kind = ANSWER_OVER,
                                .at = (ptrdiff_t)r.at,
                                .why = "the body has too many segments" };
    answer_rest(answers, plan->count, rest);
}
