#include "admin/graphql/lex.h"

#include <stdint.h>

static bool fault(struct graphql_lex *lex, size_t at, struct err *err, const char *what)
{
    lex->fault = at;
    return err_set(err, ERR_PERMANENT, 0, "%s", what);
}

static int graphql_lex_peek(const struct graphql_lex *lex, size_t ahead)
{
    return lex->at + ahead < lex->source.len ? (unsigned char)lex->source.ptr[lex->at + ahead] : -1;
}

static bool graphql_lex_is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_ignored(struct graphql_lex *lex)
{
    for (int c; (c = graphql_lex_peek(lex, 0)) >= 0; lex->at++) {
        if (c == '#') {
            while ((c = graphql_lex_peek(lex, 1)) >= 0 && c != '\n' && c != '\r')
                lex->at++;
        } else if (c == 0xef && graphql_lex_peek(lex, 1) == 0xbb &&
                   graphql_lex_peek(lex, 2) == 0xbf) {
            lex->at += 2; /* a byte order mark */
        } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != ',') {
            return;
        }
    }
}

static bool lex_name(struct graphql_lex *lex, struct err *err)
{
    size_t from = lex->at;

    while (is_name_start(graphql_lex_peek(lex, 0)) ||
           graphql_lex_is_digit(graphql_lex_peek(lex, 0)))
        lex->at++;
    if (lex->at - from > GRAPHQL_NAME_MAX) {
        lex->fault = from;
        return err_set(err, ERR_LIMIT, 0, "name over %d bytes", GRAPHQL_NAME_MAX);
    }
    lex->token.kind = GRAPHQL_TOKEN_NAME;
    lex->token.text = str_mem(lex->source.ptr + from, lex->at - from);
    return true;
}

static bool lex_digits(struct graphql_lex *lex, struct err *err)
{
    if (!graphql_lex_is_digit(graphql_lex_peek(lex, 0)))
        return fault(lex, lex->at, err, "digit expected in a number");
    while (graphql_lex_is_digit(graphql_lex_peek(lex, 0)))
        lex->at++;
    return true;
}

static bool lex_number(struct graphql_lex *lex, struct err *err)
{
    size_t from = lex->at;

    lex->token.kind = GRAPHQL_TOKEN_INT;
    if (graphql_lex_peek(lex, 0) == '-')
        lex->at++;
    if (graphql_lex_peek(lex, 0) == '0' && graphql_lex_is_digit(graphql_lex_peek(lex, 1)))
        return fault(lex, from, err, "number with a leading zero");
    if (!lex_digits(lex, err))
        return false;
    if (graphql_lex_peek(lex, 0) == '.') {
        lex->token.kind = GRAPHQL_TOKEN_FLOAT;
        lex->at++;
        if (!lex_digits(lex, err))
            return false;
    }
    if (graphql_lex_peek(lex, 0) == 'e' || graphql_lex_peek(lex, 0) == 'E') {
        lex->token.kind = GRAPHQL_TOKEN_FLOAT;
        lex->at++;
        if (graphql_lex_peek(lex, 0) == '+' || graphql_lex_peek(lex, 0) == '-')
            lex->at++;
        if (!lex_digits(lex, err))
            return false;
    }
    if (is_name_start(graphql_lex_peek(lex, 0)) || graphql_lex_peek(lex, 0) == '.')
        return fault(lex, lex->at, err, "number runs into what follows it");
    if (lex->at - from > GRAPHQL_NUMBER_MAX) {
        lex->fault = from;
        return err_set(err, ERR_LIMIT, 0, "number over %d bytes", GRAPHQL_NUMBER_MAX);
    }
    lex->token.text = str_mem(lex->source.ptr + from, lex->at - from);
    return true;
}

/* Reads the hex digits of \uXXXX or \u{X..}; lex->at is behind the 'u'. */
static bool lex_hex(struct graphql_lex *lex, uint32_t *ret)
{
    bool braces = graphql_lex_peek(lex, 0) == '{';
    size_t most = braces ? 6 : 4, n = 0;
    uint32_t c = 0;

    lex->at += braces;
    for (int d; n < most && (d = str_hex_digit((char)graphql_lex_peek(lex, 0))) >= 0;
         n++, lex->at++)
        c = c << 4 | (uint32_t)d;
    if (braces ? n == 0 || graphql_lex_peek(lex, 0) != '}' : n != 4)
        return false;
    lex->at += braces;
    *ret = c;
    return true;
}

static bool lex_unicode(struct graphql_lex *lex, char *to, size_t *len, struct err *err)
{
    size_t from = lex->at;
    uint32_t c, low;

    if (!lex_hex(lex, &c))
        return fault(lex, from, err, "bad unicode escape");
    if (c >= 0xd800 && c < 0xdc00 && graphql_lex_peek(lex, 0) == '\\' &&
        graphql_lex_peek(lex, 1) == 'u') {
        lex->at += 2;
        if (!lex_hex(lex, &low) || low < 0xdc00 || low > 0xdfff)
            return fault(lex, from, err, "bad unicode escape");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return fault(lex, from, err, "unicode escape of no character");
    *len += str_put_utf8(c, to + *len);
    return true;
}

static bool lex_escape(struct graphql_lex *lex, char *to, size_t *len, struct err *err)
{
    static const char pairs[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    int c = graphql_lex_peek(lex, 1);

    if (c == 'u') {
        lex->at += 2;
        return lex_unicode(lex, to, len, err);
    }
    for (const char *p = pairs; *p != '\0'; p += 2)
        if (c == *p) {
            to[(*len)++] = p[1];
            lex->at += 2;
            return true;
        }
    return fault(lex, lex->at, err, "unknown escape in a string");
}

/* lex->at is behind the opening quote.  An escape is never shorter than its value, so a buffer of
 * the source's length suffices. */
static bool lex_string(struct graphql_lex *lex, struct err *err)
{
    size_t from = lex->at, len = 0, room = 0;
    int c;

    while ((c = graphql_lex_peek(lex, room)) >= 0 && c != '"' && c != '\n' && c != '\r')
        room += c == '\\' ? 2 : 1;
    char *to = arena_alloc(lex->arena, room + 1);

    while ((c = graphql_lex_peek(lex, 0)) != '"') {
        if (c < 0 || c == '\n' || c == '\r')
            return fault(lex, from, err, "string without an end");
        if (c < 0x20 && c != '\t')
            return fault(lex, lex->at, err, "control character in a string");
        if (c == '\\') {
            if (!lex_escape(lex, to, &len, err))
                return false;
        } else {
            to[len++] = (char)c;
            lex->at++;
        }
    }
    lex->at++;
    lex->token.text = str_mem(to, len);
    return true;
}

static size_t indent_of(struct str line)
{
    size_t n = 0;

    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t'))
        n++;
    return n;
}

/* lex_block() has normalised line breaks to '\n'. */
static size_t common_indent(struct str text)
{
    size_t common = SIZE_MAX;
    struct str line;

    text = str_cut(text, '\n', &line); /* the first line does not count */
    while (text.len > 0) {
        text = str_cut(text, '\n', &line);
        size_t n = indent_of(line);

        if (n < line.len && n < common)
            common = n;
    }
    return common == SIZE_MAX ? 0 : common;
}

/* Removes the common indentation and blank lines at both ends, in place. */
static struct str dedent(char *text, size_t len)
{
    size_t common = common_indent(str_mem(text, len)), out = 0, keep = 0;
    bool first = true, begun = false;

    for (size_t at = 0; at <= len;) {
        size_t end = at;

        while (end < len && text[end] != '\n')
            end++;
        struct str line = str_mem(text + at, end - at);
        bool blank = indent_of(line) == line.len;

        if (!first)
            line = str_from(line, common);
        if (begun || !blank) {
            if (begun)
                text[out++] = '\n';
            if (line.len > 0)
                memmove(text + out, line.ptr, line.len);
            out += line.len;
            begun = true;
            if (!blank)
                keep = out;
        }
        first = false;
        at = end + 1;
    }
    return str_mem(text, keep);
}

/* lex->at is behind the opening quotes. */
static bool lex_block(struct graphql_lex *lex, struct err *err)
{
    size_t from = lex->at, len = 0;
    struct str rest = str_from(lex->source, from), quotes = STR("\"\"\"");
    size_t room = 0;

    while (room < rest.len && !str_starts(str_from(rest, room), quotes))
        room += str_starts(str_from(rest, room), STR("\\\"\"\"")) ? 4 : 1;
    if (room >= rest.len)
        return fault(lex, from, err, "string without an end");
    char *to = arena_alloc(lex->arena, room + 1);

    while (lex->at < from + room) {
        int c = graphql_lex_peek(lex, 0);

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return fault(lex, lex->at, err, "control character in a string");
        if (c == '\\' && str_starts(str_from(lex->source, lex->at + 1), quotes)) {
            memcpy(to + len, quotes.ptr, quotes.len);
            len += quotes.len;
            lex->at += 4;
            continue;
        }
        if (c == '\r') {
            c = '\n';
            lex->at += graphql_lex_peek(lex, 1) == '\n';
        }
        to[len++] = (char)c;
        lex->at++;
    }
    lex->at += quotes.len;
    lex->token.text = dedent(to, len);
    return true;
}

static bool lex_quoted(struct graphql_lex *lex, struct err *err)
{
    lex->token.kind = GRAPHQL_TOKEN_STRING;
    if (graphql_lex_peek(lex, 1) == '"' && graphql_lex_peek(lex, 2) == '"') {
        lex->at += 3;
        return lex_block(lex, err);
    }
    lex->at++;
    return lex_string(lex, err);
}

static bool lex_punctuator(struct graphql_lex *lex, struct err *err)
{
    int c = graphql_lex_peek(lex, 0);

    if (c == '.' && graphql_lex_peek(lex, 1) == '.' && graphql_lex_peek(lex, 2) == '.') {
        lex->token.kind = GRAPHQL_TOKEN_SPREAD;
        lex->at += 3;
        return true;
    }
    if (c == 0 || c > 0x7f || strchr("!$&():=@[]{|}", c) == NULL)
        return fault(lex, lex->at, err, "unexpected character");
    lex->token.kind = c;
    lex->at++;
    return true;
}

bool graphql_lex_next(struct graphql_lex *lex, struct err *err)
{
    lex->last_end = lex->token.end;
    skip_ignored(lex);
    lex->token = (struct graphql_token){ .at = lex->at };
    int c = graphql_lex_peek(lex, 0);
    bool ok = true;

    if (c < 0) {
        lex->token.end = lex->at;
        return true;
    }
    if (++lex->count > lex->count_max) {
        lex->fault = lex->at;
        return err_set(err, ERR_LIMIT, 0, "document over %zu tokens", lex->count_max);
    }
    if (is_name_start(c))
        ok = lex_name(lex, err);
    else if (graphql_lex_is_digit(c) || c == '-')
        ok = lex_number(lex, err);
    else if (c == '"')
        ok = lex_quoted(lex, err);
    else
        ok = lex_punctuator(lex, err);
    lex->token.end = lex->at;
    return ok;
}

bool graphql_lex_init(struct graphql_lex *lex, struct str source, size_t tokens_max,
                      struct arena *arena, struct err *err)
{
    *lex = (struct graphql_lex){ .source = source, .arena = arena, .count_max = tokens_max };
    if (!str_is_utf8(source))
        return fault(lex, 0, err, "document is not UTF-8");
    return graphql_lex_next(lex, err);
}

void graphql_lex_place(struct str source, size_t at, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < at && i < source.len; i++) {
        unsigned char c = (unsigned char)source.ptr[i];

        if (c == '\n' || (c == '\r' && (i + 1 >= source.len || source.ptr[i + 1] != '\n'))) {
            line++;
            column = 1;
        } else if ((c & 0xc0) != 0x80) {
            column++;
        }
    }
    *ret_line = line;
    *ret_column = column;
}
