#include "core/format/csv.h"

/* The most frequent of comma, semicolon and tab in the first line, outside of quotes. */
static char separator_of(const struct csv_reader *r)
{
    static const char separators[] = { ',', ';', '\t' };
    size_t counts[3] = { 0 }, best = 0;
    bool quoted = false;

    for (const char *s = r->at; s < r->end && (quoted || (*s != '\n' && *s != '\r')); s++) {
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

void csv_init(struct csv_reader *r, struct str text, char separator)
{
    const char *from = text.len > 0 ? text.ptr : "";

    *r = (struct csv_reader){ .at = from, .from = from, .end = from + text.len };
    if (str_starts(text, STR("\xef\xbb\xbf")))
        r->at += 3;
    r->separator = separator != '\0' ? separator : separator_of(r);
}

static bool csv_wrong(struct csv_reader *r, const char *at, const char *why)
{
    r->at = at;
    r->why = why;
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

bool csv_next(struct csv_reader *r, struct csv_cell *ret)
{
    const char *s = r->at, *from = s;

    ret->at = (size_t)(s - r->from);
    ret->doubled = false;
    ret->quoted = s < r->end && *s == '"';
    if (ret->quoted) {
        const char *close = closing(s + 1, r->end, &ret->doubled);

        if (close == NULL)
            return csv_wrong(r, r->end, "a quote is not closed");
        ret->raw = str_mem(s + 1, (size_t)(close - s - 1));
        s = close + 1;
        if (s < r->end && *s != r->separator && *s != '\n' && *s != '\r')
            return csv_wrong(r, s, "something stands behind a closing quote");
    } else {
        while (s < r->end && *s != r->separator && *s != '\n' && *s != '\r')
            s++;
        ret->raw = str_mem(from, (size_t)(s - from));
    }
    ret->last = s >= r->end || *s != r->separator;
    if (s < r->end)
        s += *s == '\r' && s + 1 < r->end && s[1] == '\n' ? 2 : 1;
    r->at = s;
    return true;
}

char csv_char(const struct csv_cell *c, size_t *at)
{
    char got = c->raw.ptr[(*at)++];

    if (c->doubled && got == '"')
        (*at)++;
    return got;
}
