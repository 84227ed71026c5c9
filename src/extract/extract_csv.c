/* extract_csv.c - the header line and the first row of a CSV body.  Quoting follows RFC 4180; a
 * quote inside an unquoted field is an ordinary character. */
#include "extract/extract_csv.h"

#include "core/facts.h"

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
    const char *at, *from, *end;
    char separator;
    bool cut; /* the body continues behind `end` */
    const char *why;
};

struct cell {
    struct str raw; /* without the enclosing quotes */
    bool doubled;   /* contains "", which stands for one quote */
    bool last;      /* the last cell of its row */
    ptrdiff_t at;
};

/* The most frequent of comma, semicolon and tab in the first line, outside of quotes. */
static char separator_of(const struct table *t)
{
    static const char separators[] = { ',', ';', '\t' };
    size_t counts[3] = { 0 }, best = 0;
    bool quoted = false;

    for (const char *s = t->at; s < t->end && (quoted || (*s != '\n' && *s != '\r')); s++) {
        if (*s == '"')
            quoted = !quoted;
        for (size_t i = 0; i < 3 && !quoted; i++)
            counts[i] += *s == separators[i];
    }
    for (size_t i = 1; i < 3; i++)
        if (counts[i] > counts[best])
            best = i;
    return separators[best];
}

static bool extract_csv_wrong(struct table *t, const char *at, const char *why)
{
    t->at = at;
    t->why = why;
    return false;
}

/* The closing quote, or NULL. */
static const char *closing(const char *s, const char *end, bool *ret_doubled)
{
    *ret_doubled = false;
    while ((s = memchr(s, '"', (size_t)(end - s))) != NULL) {
        if (s + 1 >= end || s[1] != '"')
            return s;
        *ret_doubled = true;
        s += 2;
    }
    return NULL;
}

static bool next_cell(struct table *t, struct cell *ret)
{
    const char *s = t->at, *from = s;

    ret->at = s - t->from;
    ret->doubled = false;
    if (s < t->end && *s == '"') {
        const char *close = closing(s + 1, t->end, &ret->doubled);

        if (close == NULL)
            return extract_csv_wrong(t, t->end, "a quote is not closed");
        ret->raw = str_mem(s + 1, (size_t)(close - s - 1));
        s = close + 1;
        if (s < t->end && *s != t->separator && *s != '\n' && *s != '\r')
            return extract_csv_wrong(t, s, "something stands behind a closing quote");
    } else {
        while (s < t->end && *s != t->separator && *s != '\n' && *s != '\r')
            s++;
        ret->raw = str_mem(from, (size_t)(s - from));
    }
    ret->last = s >= t->end || *s != t->separator;
    if (s < t->end)
        s += *s == '\r' && s + 1 < t->end && s[1] == '\n' ? 2 : 1;
    t->at = s;
    return true;
}

/* The next character at raw[*at]; a doubled quote is one character. */
static char extract_csv_next_of(const struct cell *c, size_t *at)
{
    char got = c->raw.ptr[(*at)++];

    if (c->doubled && got == '"')
        (*at)++;
    return got;
}

static bool cell_is(const struct cell *c, struct str want)
{
    struct cell name = *c;
    size_t n = 0;

    name.raw = str_trim(c->raw);
    for (size_t i = 0; i < name.raw.len; n++)
        if (n == want.len || extract_csv_next_of(&name, &i) != want.ptr[n])
            return false;
    return n == want.len;
}

static struct answer answer_cell(const struct cell *c, struct arena *a)
{
    enum { MOST = 16 * FACTS_VALUE_MOST };
    size_t n = 0;

    if (!c->doubled)
        return answer_make(c->raw, c->at, a);
    if (c->raw.len > MOST)
        return (struct answer){ .kind = ANSWER_UNFIT, .why = "is too long", .at = c->at };
    char *text = arena_alloc(a, c->raw.len);

    for (size_t i = 0; i < c->raw.len;)
        text[n++] = extract_csv_next_of(c, &i);
    return answer_make(str_mem(text, n), c->at, a);
}

/* Finds the column of each question, counted from 1; 0: no such column. */
static bool extract_csv_read_names(const struct extract_csv *plan, struct table *t, size_t *columns)
{
    struct cell cell = { .last = false };

    for (size_t column = 1; !cell.last; column++) {
        if (!next_cell(t, &cell))
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
    struct cell cell = { .last = false };

    while (t->at < t->end && (*t->at == '\n' || *t->at == '\r'))
        t->at++;
    if (t->at >= t->end)
        return extract_csv_wrong(t, t->end, "there is no row below the names");
    for (size_t column = 1; !cell.last; column++) {
        if (!next_cell(t, &cell))
            return false;
        if (t->cut && t->at >= t->end)
            return extract_csv_wrong(t, t->end, "it goes on");
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
    const char *from = body.len > 0 ? body.ptr : "";
    struct table t = { .at = from, .from = from, .end = from + body.len, .cut = !whole };
    size_t *columns = ARENA_ARRAY(a, size_t, plan->count);
    struct answer rest = { .at = ANSWER_NOWHERE };

    if (str_starts(body, STR("\xef\xbb\xbf")))
        t.at += 3;
    t.separator = separator_of(&t);
    bool named = extract_csv_read_names(plan, &t, columns);

    if (named)
        extract_csv_say_unknown(plan, columns, answers);
    if (!named || !extract_csv_read_row(plan, &t, columns, a, answers)) {
        rest.kind = !whole && t.at >= t.end ? ANSWER_CUT : ANSWER_BROKEN;
        rest.why = t.why;
        rest.at = t.at - t.from;
    }
    answer_rest(answers, plan->count, rest);
}
