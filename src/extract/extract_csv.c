/* extract_csv.c - the header line and the first row of a CSV body.  The cells are read by
 * core/format/csv.h. */
#include "extract/extract_csv.h"

#include "core/facts.h"
#include "core/format/csv.h"

struct extract_csv {
    const struct str *columns;
    size_t count;
};

struct extract_csv *extract_csv_new(const struct str *columns, size_t count, struct arena *a)
{
    struct extract_csv *plan = ARENA_NEW(a, struct extract_csv);

    *plan = (struct extract_csv){ .columns = columns, .count = count };
    return plan;
}

struct table {
    struct csv_reader csv;
    bool cut; /* the body continues behind its end */
};

static bool cell_is(const struct csv_cell *c, struct str want)
{
    struct csv_cell name = *c;
    size_t n = 0;

    name.raw = str_trim(c->raw);
    for (size_t i = 0; i < name.raw.len; n++)
        if (n == want.len || csv_char(&name, &i) != want.ptr[n])
            return false;
    return n == want.len;
}

static struct answer answer_cell(const struct csv_cell *c, struct arena *a)
{
    enum { MOST = 16 * FACTS_VALUE_MOST };
    size_t n = 0;

    if (!c->doubled)
        return answer_make(c->raw, (ptrdiff_t)c->at, a);
    if (c->raw.len > MOST)
        return (
            struct answer){ .kind = ANSWER_UNFIT, .why = "is too long", .at = (ptrdiff_t)c->at };
    char *text = arena_alloc(a, c->raw.len);

    for (size_t i = 0; i < c->raw.len;)
        text[n++] = csv_char(c, &i);
    return answer_make(str_mem(text, n), (ptrdiff_t)c->at, a);
}

/* Finds the column of each question, counted from 1; 0: no such column. */
static bool extract_csv_read_names(const struct extract_csv *plan, struct table *t, size_t *columns)
{
    struct csv_cell cell = { .last = false };

    for (size_t column = 1; !cell.last; column++) {
        if (!csv_next(&t->csv, &cell))
            return false;
        for (size_t i = 0; i < plan->count; i++)
            if (columns[i] == 0 && cell_is(&cell, plan->columns[i]))
                columns[i] = column;
    }
    return true;
}

static bool extract_csv_read_row(const struct extract_csv *plan, struct table *t,
                                 const size_t *columns, struct arena *a, struct answer *answers)
{
    struct csv_cell cell = { .last = false };

    struct csv_reader *csv = &t->csv;

    while (csv->at < csv->end && (*csv->at == '\n' || *csv->at == '\r'))
        csv->at++;
    if (csv->at >= csv->end) {
        csv->why = "there is no row below the names";
        return false;
    }
    for (size_t column = 1; !cell.last; column++) {
        if (!csv_next(&t->csv, &cell))
            return false;
        if (t->cut && csv->at >= csv->end) {
            csv->why = "it goes on";
            return false;
        }
        for (size_t i = 0; i < plan->count; i++)
            if (columns[i] == column && answers[i].kind == ANSWER_ASKED)
                answers[i] = answer_cell(&cell, a);
    }
    return true;
}

static void extract_csv_say_unknown(const struct extract_csv *plan, const size_t *columns,
                                    struct answer *answers)
{
    for (size_t i = 0; i < plan->count; i++)
        if (columns[i] == 0 && answers[i].kind == ANSWER_ASKED)
            answers[i] =
                (struct answer){ .why = "is not among the names in the first line", .at = 0 };
}

void extract_csv_run(const struct extract_csv *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers)
{
    struct table t = { .cut = !whole };
    size_t *columns = ARENA_ARRAY(a, size_t, plan->count);
    struct answer rest = { .at = ANSWER_NOWHERE };

    csv_init(&t.csv, body, '\0');
    bool named = extract_csv_read_names(plan, &t, columns);

    if (named)
        extract_csv_say_unknown(plan, columns, answers);
    if (!named || !extract_csv_read_row(plan, &t, columns, a, answers)) {
        rest.kind = !whole && t.csv.at >= t.csv.end ? ANSWER_CUT : ANSWER_BROKEN;
        rest.why = t.csv.why;
        rest.at = t.csv.at - t.csv.from;
    }
    answer_rest(answers, plan->count, rest);
}
