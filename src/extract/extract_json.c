/* One pass over the bytes, without a tree and without recursion.  The pointers are merged
 * into a tree of their own; while the pass goes down into the document it goes down there
 * as well, and what no pointer leads to is only checked. */
#include <stdint.h>

#include "base/require.h"
#include "core/facts.h"
#include "extract/inside.h"

/* A token of the pointers.  Number 0 is not one: it stands for "no pointer leads here". */
struct token {
    struct str text;    /* without ~ escapes */
    int64_t index;      /* in an array; -1: it is none */
    size_t child, next; /* first child, next sibling */
    ptrdiff_t answer;   /* of the pointer that ends here; -1: none */
};

struct extract_json {
    struct token *tokens;
    size_t count, answers;
};

enum { ROOT = 1 };

/* --- the pointers ------------------------------------------------------------- */

static struct str unescape_token(struct str raw, struct arena *a)
{
    char *text = arena_text(a, raw);
    size_t n = 0;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];

        if (c == '~' && i + 1 < raw.len)
            c = raw.ptr[++i] == '1' ? '/' : '~';
        text[n++] = c;
    }
    return str_mem(text, n);
}

static int64_t index_of(struct str text)
{
    int64_t n = 0;

    if (text.len == 0 || text.len > 9 || (text.len > 1 && text.ptr[0] == '0'))
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        n = n * 10 + (text.ptr[i] - '0');
    }
    return n;
}

static size_t token_under(struct extract_json *plan, size_t parent, struct str text)
{
    struct token *tokens = plan->tokens;
    size_t i = tokens[parent].child;

    while (i != 0 && !str_eq(tokens[i].text, text))
        i = tokens[i].next;
    if (i != 0)
        return i;
    i = plan->count++;
    tokens[i] = (struct token){
        .text = text, .index = index_of(text), .next = tokens[parent].child, .answer = -1
    };
    tokens[parent].child = i;
    return i;
}

struct extract_json *extract_json_new(const struct str *pointers, size_t count, struct arena *a)
{
    struct extract_json *plan = ARENA_NEW(a, struct extract_json);
    size_t most = 2;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < pointers[i].len; k++)
            most += pointers[i].ptr[k] == '/';
    plan->tokens = ARENA_ARRAY(a, struct token, most);
    plan->tokens[ROOT].answer = -1;
    plan->count = 2;
    plan->answers = count;
    for (size_t i = 0; i < count; i++) {
        struct str token, rest = str_from(pointers[i], 1);
        size_t at = ROOT;

        for (bool more = pointers[i].len > 0; more;) {
            more = str_find(rest, '/') >= 0;
            rest = str_cut(rest, '/', &token);
            at = token_under(plan, at, unescape_token(token, a));
        }
        plan->tokens[at].answer = (ptrdiff_t)i;
    }
    return plan;
}

/* --- the pass ------------------------------------------------------------------- */

struct level {
    size_t token;  /* of this object or array; 0: none */
    int64_t index; /* of the value; -1: it is an object */
};

struct pass {
    const struct extract_json *plan;
    const char *at, *from, *end;
    struct arena *arena;
    struct answer *answers;
    size_t open; /* answers that are missing */
    size_t depth;
    bool whole;
    const char *why; /* it is wrong, at `at` */
    bool over;       /* or: too deep */
    struct level levels[EXTRACT_DEPTH_MOST];
};

static bool wrong(struct pass *p, const char *at, const char *why)
{
    p->at = at;
    p->why = why;
    return false;
}

static void skip_blanks(struct pass *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
        p->at++;
}

static int hex4(const char *s, const char *end)
{
    int n = 0;

    if (end - s < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;

        if (digit < 0)
            return -1;
        n = n * 16 + digit;
    }
    return n;
}

/* Eight bytes at once: whether one of them is a quote, a backslash, a control character or
 * beyond ASCII. */
static bool all_plain(const char *s)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t v;

    memcpy(&v, s, sizeof v);
    uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');

    return (((v - ones * 0x20) | (quote - ones) | (slash - ones) | v) & highs) == 0;
}

struct text {
    struct str raw; /* between the quotes */
    bool escapes;
};

/* `at` stands on the quote; it ends behind the other one. */
static bool pass_string(struct pass *p, struct text *ret)
{
    const char *s = p->at + 1, *from = s;
    bool beyond = false;

    ret->escapes = false;
    for (;; s++) {
        while (p->end - s >= 8 && all_plain(s))
            s += 8;
        if (s >= p->end)
            return wrong(p, s, "a text is not closed");
        if (*s == '"')
            break;
        if ((unsigned char)*s < ' ')
            return wrong(p, s, "a control character stands in a text");
        beyond = beyond || (unsigned char)*s >= 0x80;
        if (*s != '\\')
            continue;
        ret->escapes = true;
        if (++s >= p->end)
            return wrong(p, s, "a text is not closed");
        if (*s == 'u' && p->end - s > 4 && hex4(s + 1, p->end) >= 0)
            s += 4;
        else if (strchr("\"\\/bfnrt", *s) == NULL || *s == '\0')
            return wrong(p, s - 1, "after a backslash stands something else");
    }
    ret->raw = str_mem(from, (size_t)(s - from));
    if (beyond && !str_is_utf8(ret->raw))
        return wrong(p, from, "a text is not UTF-8");
    p->at = s + 1;
    return true;
}

static bool digits(struct pass *p)
{
    const char *from = p->at;

    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > from || wrong(p, p->at, "a digit is expected");
}

static bool pass_number(struct pass *p)
{
    if (*p->at == '-')
        p->at++;
    if (p->at < p->end && *p->at == '0')
        p->at++;
    else if (!digits(p))
        return false;
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        if (!digits(p))
            return false;
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
            p->at++;
        return digits(p);
    }
    return true;
}

static bool pass_word(struct pass *p)
{
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < 3; i++)
        if (str_starts(str_mem(p->at, (size_t)(p->end - p->at)), str_of(words[i]))) {
            p->at += strlen(words[i]);
            return true;
        }
    return wrong(p, p->at, "a value is expected");
}

/* --- texts ---------------------------------------------------------------------- */

static size_t put_utf8(unsigned code, char out[static 4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* The escape behind the backslash at raw[*at], which pass_string() has checked.  The length
 * in bytes of what it means; 0: half of a pair of surrogates, which means nothing. */
static size_t decode_escape(struct str raw, size_t *at, char out[static 4])
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *end = raw.ptr + raw.len, *s = raw.ptr + *at + 1;

    if (*s != 'u') {
        *at += 2;
        out[0] = to[strchr(from, *s) - from];
        return 1;
    }
    unsigned code = (unsigned)hex4(s + 1, end);

    *at += 6;
    if (code < 0xd800 || code > 0xdfff)
        return put_utf8(code, out);
    int low = end - s > 10 && s[5] == '\\' && s[6] == 'u' ? hex4(s + 7, end) : -1;

    if (code > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return 0;
    *at += 6;
    return put_utf8(0x10000 + ((code - 0xd800) << 10) + ((unsigned)low - 0xdc00), out);
}

static bool text_is(const struct text *t, struct str want)
{
    size_t n = 0;
    char piece[4];

    if (!t->escapes)
        return str_eq(t->raw, want);
    for (size_t i = 0; i < t->raw.len;) {
        size_t len = 1;

        if (t->raw.ptr[i] == '\\')
            len = decode_escape(t->raw, &i, piece);
        else
            piece[0] = t->raw.ptr[i++];
        if (len == 0 || n + len > want.len || memcmp(want.ptr + n, piece, len) != 0)
            return false;
        n += len;
    }
    return n == want.len;
}

static struct answer answer_text(const struct text *t, ptrdiff_t at, struct arena *a)
{
    enum { MOST = 16 * FACTS_VALUE_MOST }; /* of escapes: more than they can be in a value */
    size_t n = 0;

    if (!t->escapes)
        return answer_make(t->raw, at, a);
    if (t->raw.len > MOST)
        return (struct answer){ .kind = ANSWER_UNFIT, .why = "is too long", .at = at };
    char *text = arena_alloc(a, t->raw.len);

    for (size_t i = 0; i < t->raw.len;) {
        if (t->raw.ptr[i] != '\\') {
            text[n++] = t->raw.ptr[i++];
            continue;
        }
        char piece[4];
        size_t len = decode_escape(t->raw, &i, piece);

        if (len == 0)
            return (struct answer){ .kind = ANSWER_UNFIT,
                                    .why = "has half of a pair of surrogates",
                                    .at = at };
        memcpy(text + n, piece, len);
        n += len;
    }
    return answer_make(str_mem(text, n), at, a);
}

/* --- down and up ------------------------------------------------------------------ */

/* The place for the answer of the pointer that ends here, if it is asked. */
static struct answer *asked(struct pass *p, size_t token)
{
    ptrdiff_t i = token != 0 ? p->plan->tokens[token].answer : -1;

    return i >= 0 && p->answers[i].kind == ANSWER_ASKED ? &p->answers[i] : NULL;
}

static void give(struct pass *p, struct answer *to, struct answer answer)
{
    *to = answer;
    p->open--;
}

static size_t token_of_key(const struct pass *p, size_t parent, const struct text *key)
{
    const struct token *tokens = p->plan->tokens;
    size_t i = parent != 0 ? tokens[parent].child : 0;

    while (i != 0 && !text_is(key, tokens[i].text))
        i = tokens[i].next;
    return i;
}

static size_t token_of_index(const struct pass *p, const struct level *level)
{
    const struct token *tokens = p->plan->tokens;
    size_t i = level->token != 0 ? tokens[level->token].child : 0;

    while (i != 0 && tokens[i].index != level->index)
        i = tokens[i].next;
    return i;
}

static bool open_level(struct pass *p, size_t token)
{
    bool object = *p->at == '{';
    struct answer *to = asked(p, token);

    if (to != NULL)
        give(
            p, to,
            (struct answer){ .why = object ? "is an object, not a value" : "is a list, not a value",
                             .at = p->at - p->from });
    if (p->depth == EXTRACT_DEPTH_MOST) {
        p->over = true;
        return wrong(p, p->at, "objects and lists stand too deep in each other");
    }
    p->at++;
    p->levels[p->depth++] = (struct level){ .token = token, .index = object ? -1 : 0 };
    return true;
}

/* A value that has no parts. */
static bool pass_value(struct pass *p, size_t token)
{
    const char *from = p->at;
    struct answer *to = asked(p, token);
    struct text text;

    if (*from == '"') {
        if (!pass_string(p, &text))
            return false;
        if (to != NULL)
            give(p, to, answer_text(&text, from - p->from, p->arena));
        return true;
    }
    if (*from == '-' || (*from >= '0' && *from <= '9')) {
        if (!pass_number(p))
            return false;
    } else if (!pass_word(p))
        return false;
    if (p->at == p->end && !p->whole)
        return wrong(p, p->at, "it goes on"); /* perhaps with more digits */
    if (to != NULL && *from == 'n')
        give(p, to, (struct answer){ .why = "is null", .at = from - p->from });
    else if (to != NULL)
        give(p, to, answer_make(str_mem(from, (size_t)(p->at - from)), from - p->from, p->arena));
    return true;
}

/* The key of the next member and its colon. */
static bool pass_key(struct pass *p, const struct level *level, size_t *ret_token)
{
    struct text key;

    skip_blanks(p);
    if (p->at >= p->end || *p->at != '"')
        return wrong(p, p->at, "a name in quotes is expected");
    if (!pass_string(p, &key))
        return false;
    skip_blanks(p);
    if (p->at >= p->end || *p->at != ':')
        return wrong(p, p->at, "a colon is expected");
    p->at++;
    *ret_token = token_of_key(p, level->token, &key);
    return true;
}

/* What stands between two values: ends of objects and lists, a comma, a key.  *ret_more is
 * false when the outermost value has ended. */
static bool pass_between(struct pass *p, bool opened, size_t *ret_token, bool *ret_more)
{
    while (p->depth > 0) {
        struct level *level = &p->levels[p->depth - 1];
        bool object = level->index < 0;

        skip_blanks(p);
        char c = p->at < p->end ? *p->at : '\0';

        *ret_more = true;
        if (c == (object ? '}' : ']')) {
            p->at++;
            p->depth--;
            opened = false;
            continue;
        }
        if (!opened) {
            if (c != ',')
                return wrong(p, p->at,
                             object ? "a comma or `}` is expected" : "a comma or `]` is expected");
            p->at++;
            level->index += !object;
        }
        if (object)
            return pass_key(p, level, ret_token);
        *ret_token = token_of_index(p, level);
        return true;
    }
    *ret_more = false;
    skip_blanks(p);
    return p->at == p->end || wrong(p, p->at, "something stands behind the end");
}

/* False when the body is not JSON as far as it had to be read. */
static bool pass_all(struct pass *p)
{
    size_t token = ROOT;
    bool more = true;

    while (more && p->open > 0) {
        bool opens;

        skip_blanks(p);
        if (p->at >= p->end)
            return wrong(p, p->at, "a value is expected");
        opens = *p->at == '{' || *p->at == '[';
        if (!(opens ? open_level(p, token) : pass_value(p, token)))
            return false;
        if (p->open > 0 && !pass_between(p, opens, &token, &more))
            return false;
    }
    return true;
}

void extract_json_run(const struct extract_json *plan, struct str body, bool whole, struct arena *a,
                      struct answer *answers)
{
    struct pass p; /* its levels are only read where they were written */

    p.plan = plan;
    p.at = p.from = body.len > 0 ? body.ptr : "";
    p.end = p.from + body.len;
    p.whole = whole;
    p.arena = a;
    p.answers = answers;
    p.open = p.depth = 0;
    p.why = NULL;
    p.over = false;
    for (size_t i = 0; i < plan->answers; i++)
        p.open += answers[i].kind == ANSWER_ASKED;
    if (str_starts(body, STR("\xef\xbb\xbf")))
        p.at += 3;
    struct answer rest = { .at = ANSWER_NOWHERE };

    if (!pass_all(&p)) {
        /* A word or an escape that is cut is seen where it starts. */
        bool cut = !whole && !p.over && p.end - p.at < 8;

        rest.kind = p.over ? ANSWER_OVER : cut ? ANSWER_CUT : ANSWER_BROKEN;
        rest.why = p.why;
        rest.at = p.at - p.from;
    }
    answer_rest(answers, plan->answers, rest);
}
