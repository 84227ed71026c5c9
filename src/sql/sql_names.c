#include "sql/sql_names.h"

#include "base/auto.h"
#include "base/buf.h"

struct scan {
    struct str text;
    size_t at;
    struct buf out;
    struct str names[SQL_PARAMETERS_MOST];
    size_t count;
};

static char look(const struct scan *s, size_t ahead)
{
    return s->at + ahead < s->text.len ? s->text.ptr[s->at + ahead] : '\0';
}

static bool starts_parameter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_in_parameter(char c)
{
    return starts_parameter(c) || (c >= '0' && c <= '9');
}

/* Copies bytes as they are. */
static void pass_on(struct scan *s, size_t n)
{
    buf_put(&s->out, str_mem(s->text.ptr + s->at, n));
    s->at += n;
}

static bool refuse_at(const struct scan *s, struct err *err, const char *what)
{
    size_t line = 1;

    for (size_t i = 0; i < s->at; i++)
        line += s->text.ptr[i] == '\n';
    return err_set(err, ERR_CONFIG, 0, "line %zu of the statement: %s", line, what);
}

/* Up to the quote that ends it; one that is doubled is a part of it. */
static bool scan_quoted(struct scan *s, char quote, struct err *err)
{
    size_t n = 1;

    for (;; n++) {
        char c = look(s, n);

        if (s->at + n >= s->text.len)
            return refuse_at(s, err, "a quote has no end");
        /* Some databases take the quote behind a backslash for a part of the string, others not. */
        if (c == '\\' && look(s, n + 1) == quote)
            return refuse_at(s, err, "a quote stands behind a backslash: write it twice instead");
        if (c != quote)
            continue;
        if (look(s, n + 1) != quote)
            break;
        n++;
    }
    pass_on(s, n + 1);
    return true;
}

static bool scan_block_comment(struct scan *s, struct err *err)
{
    size_t n = 2;

    for (; s->at + n + 1 < s->text.len; n++) {
        if (look(s, n) == '*' && look(s, n + 1) == '/') {
            pass_on(s, n + 2);
            return true;
        }
        /* PostgreSQL nests comments, others do not. */
        if (look(s, n) == '/' && look(s, n + 1) == '*')
            break;
    }
    return refuse_at(s, err, "a comment has no end, or one stands in another");
}

static void scan_line_comment(struct scan *s)
{
    size_t n = 0;

    while (s->at + n < s->text.len && look(s, n) != '\n')
        n++;
    pass_on(s, n);
}

static bool scan_name(struct scan *s, struct err *err)
{
    size_t n = 1;

    while (is_in_parameter(look(s, n)))
        n++;
    if (n - 1 > SQL_NAME_MOST)
        return refuse_at(s, err, "the name of a parameter is too long");
    if (s->count == SQL_PARAMETERS_MOST)
        return refuse_at(s, err, "it has too many parameters");
    s->names[s->count++] = str_mem(s->text.ptr + s->at + 1, n - 1);
    buf_putc(&s->out, '?');
    s->at += n;
    return true;
}

static bool scan_colon(struct scan *s, struct err *err)
{
    if (look(s, 1) == ':') { /* a cast of PostgreSQL */
        pass_on(s, 2);
        return true;
    }
    if (starts_parameter(look(s, 1)))
        return scan_name(s, err);
    pass_on(s, 1);
    return true;
}

static bool scan_next(struct scan *s, struct err *err)
{
    char c = look(s, 0);

    switch (c) {
    case '\'':
    case '"':
    case '`':
        return scan_quoted(s, c, err);
    case ':':
        return scan_colon(s, err);
    case '?':
        return refuse_at(s, err, "it has a `?`: parameters have names, such as :id");
    case '\0':
        return refuse_at(s, err, "it has a byte 0");
    case '$':
        /* What stands between $$ of PostgreSQL need not be SQL. */
        if (look(s, 1) == '$' || starts_parameter(look(s, 1)))
            return refuse_at(s, err, "write a string in single quotes, not between `$`");
        break;
    case '-':
        if (look(s, 1) == '-') {
            scan_line_comment(s);
            return true;
        }
        break;
    case '/':
        if (look(s, 1) == '*')
            return scan_block_comment(s, err);
        break;
    default:
        break;
    }
    pass_on(s, 1);
    return true;
}

bool sql_names_parse(struct str statement, struct arena *a, struct sql_names *ret, struct err *err)
{
    struct scan s = { .text = statement, .out = BUF_INIT(SQL_STATEMENT_MOST) };
    bool ok = true;

    if (statement.len > SQL_STATEMENT_MOST)
        return err_set(err, ERR_CONFIG, 0, "the statement has more than %d bytes",
                       SQL_STATEMENT_MOST);
    if (str_trim(statement).len == 0)
        return err_set(err, ERR_CONFIG, 0, "the statement is empty");
    while (ok && s.at < s.text.len)
        ok = scan_next(&s, err);
    if (ok) {
        struct str *names = ARENA_ARRAY(a, struct str, s.count + 1);

        for (size_t i = 0; i < s.count; i++)
            names[i] = arena_copy(a, s.names[i]);
        *ret = (struct sql_names){ arena_copy(a, buf_view(&s.out)), names, s.count };
    }
    buf_done(&s.out);
    return ok;
}
