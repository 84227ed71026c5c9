#include "app/print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/when.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"

/* The length of the control character at p: C0, DEL, or C1 in UTF-8; 0: none. */
static size_t control_at(const unsigned char *p)
{
    if (p[0] < 0x20 || p[0] == 0x7f)
        return 1;
    return p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f ? 2 : 0;
}

void print_text(FILE *to, const char *text)
{
    const unsigned char *p = (const unsigned char *)(text != NULL ? text : "-");

    while (*p != '\0') {
        size_t n = control_at(p);

        (void)fputc(n > 0 ? '?' : *p, to);
        p += n > 0 ? n : 1;
    }
}

int print_fail(int code, const char *fmt, ...)
{
    char text[PRINT_LINE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)fflush(stdout);
    (void)fputs("waybill: ", stderr);
    print_text(stderr, text);
    (void)fputc('\n', stderr);
    return code;
}

void print_problem(const char *file, int64_t line, int64_t column, const char *severity,
                   const char *message, const char *hint)
{
    bool error = strcmp(severity, "error") == 0;

    print_text(stdout, file);
    (void)printf(":%lld:%lld: %s%s", (long long)line, (long long)column, error ? "" : severity,
                 error ? "" : ": ");
    print_text(stdout, message);
    (void)fputc('\n', stdout);
    if (hint != NULL && *hint != '\0') {
        (void)fputs("    ", stdout);
        print_text(stdout, hint);
        (void)fputc('\n', stdout);
    }
}

static bool colours(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && (no == NULL || *no == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

void print_coloured(enum print_colour colour, const char *text)
{
    static const char *const begin[] = {
        [PRINT_PLAIN] = "",
        [PRINT_GOOD] = "\033[32m",
        [PRINT_WARN] = "\033[33m",
        [PRINT_BAD] = "\033[1;31m",
    };
    bool on = colour != PRINT_PLAIN && colours();

    (void)fputs(on ? begin[colour] : "", stdout);
    print_text(stdout, text);
    (void)fputs(on ? "\033[0m" : "", stdout);
}

enum print_colour print_colour_of_state(const char *state)
{
    static const struct {
        const char *state;
        enum print_colour colour;
    } known[] = {
        { "delivered", PRINT_GOOD }, { "done", PRINT_GOOD }, { "dead", PRINT_BAD },
        { "in_doubt", PRINT_BAD },   { "held", PRINT_WARN }, { "retrying", PRINT_WARN },
        { "failed", PRINT_BAD },     { "due", PRINT_WARN },  { "suspended", PRINT_BAD },
        { "paused", PRINT_WARN },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(state, known[i].state) == 0)
            return known[i].colour;
    return PRINT_PLAIN;
}

void print_json(const json_t *object)
{
    (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    (void)fputc('\n', stdout);
}

const char *print_time(const char *utc, char text[static PRINT_SHORT])
{
    struct err err;
    int64_t us;

    _Static_assert((int)PRINT_SHORT >= (int)CLOCK_TEXT, "a time fits");
    if (utc != NULL && when_parse(str_of(utc), 0, &us, &err))
        return clock_local_text(us, text);
    (void)snprintf(text, PRINT_SHORT, "%s", utc != NULL ? utc : "-");
    return text;
}

const char *print_size(int64_t bytes, char text[static PRINT_SHORT])
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double n = (double)bytes / 1024;
    size_t u = 0;

    if (bytes < 1024) {
        (void)snprintf(text, PRINT_SHORT, "%lld B", (long long)bytes);
        return text;
    }
    for (; n >= 1024 && u + 1 < sizeof units / sizeof units[0]; u++)
        n /= 1024;
    (void)snprintf(text, PRINT_SHORT, "%.1f %s", n, units[u]);
    return text;
}

const char *print_duration(int64_t us, char text[static PRINT_SHORT])
{
    if (us < CLOCK_MS)
        (void)snprintf(text, PRINT_SHORT, "%lld us", (long long)us);
    else if (us < CLOCK_S)
        (void)snprintf(text, PRINT_SHORT, "%.1f ms", (double)us / CLOCK_MS);
    else
        (void)snprintf(text, PRINT_SHORT, "%.2f s", (double)us / CLOCK_S);
    return text;
}

/* Columns on the screen, one per character: continuation bytes of UTF-8 do not count. */
static size_t width_of(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0;

    while (*p != '\0') {
        size_t c = control_at(p);

        n += c > 0 || (*p & 0xc0) != 0x80;
        p += c > 0 ? c : 1;
    }
    return n;
}

void print_field(const char *label, const char *text)
{
    (void)printf("%-10s", label);
    print_text(stdout, text);
    (void)fputc('\n', stdout);
}

void print_table_init(struct print_table *t, const char *const *heads)
{
    *t = (struct print_table){ .heads = heads, .colour_column = -1 };
    while (heads[t->count] != NULL) {
        require(t->count < PRINT_COLUMNS);
        t->width[t->count] = width_of(heads[t->count]);
        t->count++;
    }
}

static void drop_cells(struct print_table *t)
{
    for (size_t i = 0; i < t->used; i++)
        free(t->cells[i]);
    t->used = 0;
}

void print_table_done(struct print_table *t)
{
    drop_cells(t);
    free(t->cells);
    t->cells = NULL;
    t->room = 0;
}

void print_table_cell(struct print_table *t, const char *text)
{
    struct str cell = str_of(text != NULL && *text != '\0' ? text : "-");
    size_t column = t->used % t->count;

    if (column + 1 < t->count && cell.len > PRINT_CELL) {
        cell.len = PRINT_CELL;
        while ((cell.ptr[cell.len] & 0xc0) == 0x80) /* do not split a UTF-8 character */
            cell.len--;
    }
    if (t->used == t->room) {
        t->room = t->room * 2 + 64;
        t->cells = xrealloc(t->cells, t->room * sizeof *t->cells);
    }
    t->cells[t->used++] = xstrndup(cell);
}

static void write_cell(const struct print_table *t, size_t column, const char *text, bool head)
{
    enum print_colour colour =
        !head && t->colour_column == (int)column ? print_colour_of_state(text) : PRINT_PLAIN;

    print_coloured(colour, text);
    if (column + 1 < t->count)
        (void)printf("%*s", (int)(t->width[column] - width_of(text)) + 2, "");
    else
        (void)fputc('\n', stdout);
}

void print_table_page(struct print_table *t)
{
    for (size_t i = 0; i < t->used; i++) {
        size_t w = width_of(t->cells[i]);

        if (w > t->width[i % t->count])
            t->width[i % t->count] = w;
    }
    for (size_t c = 0; !t->begun && c < t->count; c++)
        write_cell(t, c, t->heads[c], true);
    t->begun = true;
    for (size_t i = 0; i < t->used; i++)
        write_cell(t, i % t->count, t->cells[i], false);
    drop_cells(t);
}
