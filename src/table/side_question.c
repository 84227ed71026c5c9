#include "table/side_question.h"

bool side_answer(struct side *s, enum side_what what, const void *question, struct arena *a,
                 void *answer, struct err *err)
{
    switch (what) {
    case SIDE_DESCRIBE:
        return side_describe(s, a, answer, err);
    case SIDE_LOOK:
        return side_look(s, a, answer, err);
    case SIDE_CEILING:
        return side_ceiling(s, answer, err);
    case SIDE_COUNT:
        return side_count(s, answer, err);
    case SIDE_CHANGES:
        return side_changes(s, question, a, answer, err);
    case SIDE_ROWS:
        return side_rows(s, question, a, answer, err);
    case SIDE_APPLY:
        return side_apply(s, question, a, answer, err);
    case SIDE_SUM:
        return side_sum(s, question, a, answer, err);
    case SIDE_CHANGES_OF: {
        const struct side_keys *q = question;
        struct side_change_list *r = answer;

        r->count = q->count;
        return side_changes_of(s, q->keys, q->count, a, &r->items, err);
    }
    case SIDE_BACKLOG: {
        const struct side_backlog *q = question;

        return side_backlog(s, &q->after, q->most, answer, err);
    }
    case SIDE_MARK: {
        struct side_mark_answer *r = answer;

        return side_mark(s, a, &r->has, &r->mark, err);
    }
    case SIDE_LEAVES: {
        const struct side_cut *q = question;
        struct side_leaf_list *r = answer;

        return side_leaves(s, &q->range, q->rows, q->ends, q->end_count, a, &r->items, &r->count,
                           err);
    }
    case SIDE_HASHES: {
        const struct side_hashing *q = question;
        struct side_hash_list *r = answer;

        return side_hashes(s, &q->range, q->most, a, &r->items, &r->count, err);
    }
    case SIDE_HASHES_OF: {
        const struct side_keys *q = question;
        struct side_hash_list *r = answer;

        return side_hashes_of(s, q->keys, q->count, a, &r->items, &r->count, err);
    }
    case SIDE_FETCH: {
        const struct side_keys *q = question;

        return side_fetch(s, q->keys, q->count, a, answer, err);
    }
    case SIDE_PLAN:
        return side_plan(s, *(const enum side_planning *)question, a, answer, err);
    case SIDE_RUN: {
        const struct side_running *q = question;

        return side_run(s, q->what, q->seen, q->count, a, err);
    }
    case SIDE_KEEP:
    case SIDE_PAIR:
    case SIDE_WHATS:
        break;
    }
    return err_set(err, ERR_PERMANENT, 0, "there is no such question");
}
