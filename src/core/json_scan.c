#include "core/json_scan.h"

#include <string.h>

/* States: what may come next. */
enum { VALUE, VALUE_OR_END, KEY_OR_END, KEY, COLON, COMMA_OR_END, OVER };

/* Tokens: what the scanner is in.  Between tokens, in a string, an escape, its hex digits, a UTF-8
 * sequence, a literal (true, false, null), or one of the states of a number. */
enum {
    BETWEEN,
    TEXT,
    ESCAPE,
    HEX,
    CHARACTER,
    WORD,
    MINUS,
    ZERO,
    DIGITS,
    POINT,
    FRACTION,
    E,
    SIGN,
    EXPONENT
};

static enum json_event json_scan_wrong(struct json_scan *s, const char *why)
{
    s->why = why;
    return JSON_WRONG;
}

void json_scan_give(struct json_scan *s, struct str piece, bool last)
{
    s->began = json_scan_from(s);
    s->before += s->at - s->piece;
    s->piece = s->at = piece.len > 0 ? piece.ptr : "";
    s->end = s->at + piece.len;
    s->from = NULL;
    s->last = last;
}

int64_t json_scan_at(const struct json_scan *s)
{
    return s->before + (s->at - s->piece);
}

int64_t json_scan_from(const struct json_scan *s)
{
    return s->from != NULL ? s->before + (s->from - s->piece) : s->began;
}

bool json_scan_in_token(const struct json_scan *s)
{
    return s->token != BETWEEN;
}

bool json_scan_is_over(const struct json_scan *s)
{
    return s->token == BETWEEN && s->state == OVER;
}

bool json_scan_in_object(const struct json_scan *s)
{
    size_t d = s->depth - 1;

    return (s->objects[d / 64] >> d % 64 & 1) != 0;
}

/* ---- values ---- */

/* Ends the token at s->at; `quotes` bytes on each side are not part of its text. */
static void end_token(struct json_scan *s, size_t quotes)
{
    s->token = BETWEEN;
    s->text = (struct str){ 0 };
    if (s->from != NULL)
        s->text = str_mem(s->from + quotes, (size_t)(s->at - s->from) - 2 * quotes);
}

static void json_scan_value_ended(struct json_scan *s)
{
    s->state = s->depth == 0 ? OVER : COMMA_OR_END;
}

static enum json_event scalar_ended(struct json_scan *s)
{
    end_token(s, 0);
    json_scan_value_ended(s);
    return JSON_SCALAR;
}

static enum json_event json_scan_open_level(struct json_scan *s, bool object)
{
    if (s->depth == JSON_SCAN_DEPTH)
        return json_scan_wrong(s, "objects and lists stand too deep in each other");
    uint64_t bit = UINT64_C(1) << s->depth % 64;

    s->objects[s->depth / 64] = (s->objects[s->depth / 64] & ~bit) | (object ? bit : 0);
    s->depth++;
    s->state = object ? KEY_OR_END : VALUE_OR_END;
    s->at++;
    return JSON_OPEN;
}

static enum json_event close_level(struct json_scan *s)
{
    s->at++;
    s->depth--;
    json_scan_value_ended(s);
    return JSON_CLOSE;
}

/* ---- texts ---- */

/* How many of the eight bytes at s come before the first that is a quote, a backslash, a control
 * character or beyond ASCII.  A subtraction borrows from the next byte only behind such a one, so
 * the lowest mark is right. */
static size_t count_plain(const char *s)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t v;

    memcpy(&v, s, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');
    uint64_t marks = ((v - ones * 0x20) | (quote - ones) | (slash - ones) | v) & highs;

    return marks == 0 ? 8 : (size_t)__builtin_ctzll(marks) / 8;
}

/* b may follow the lead byte of a UTF-8 sequence.  The second byte reveals overlong forms,
 * surrogates and values over U+10FFFF. */
static bool is_rest(unsigned char lead, unsigned char b)
{
    return (b & 0xc0) == 0x80 && !(lead == 0xe0 && b < 0xa0) && !(lead == 0xed && b > 0x9f) &&
           !(lead == 0xf0 && b < 0x90) && !(lead == 0xf4 && b > 0x8f);
}

/* Takes a byte of a string that is special, or inside of an escape or UTF-8 sequence.  False: the
 * byte is not allowed there. */
static bool take_odd(struct json_scan *s, unsigned char b)
{
    static const char escape[] = "after a backslash stands something else";

    switch (s->token) {
    case TEXT:
        if (b == '\\') {
            s->token = ESCAPE;
            s->escapes = true;
        } else if (b < ' ') {
            s->why = "a control character stands in a text";
        } else if (b >= 0x80) {
            s->token = CHARACTER;
            s->left = b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
            s->lead = b;
            s->why = b < 0xc2 || b > 0xf4 ? "a text is not UTF-8" : NULL;
        }
        break;
    case ESCAPE:
        s->token = b == 'u' ? HEX : TEXT;
        s->left = 4;
        s->why = b == 'u' || (b != '\0' && strchr("\"\\/bfnrt", b) != NULL) ? NULL : escape;
        break;
    case HEX:
        s->token = --s->left == 0 ? TEXT : HEX;
        s->why = str_hex_digit((char)b) >= 0 ? NULL : escape;
        break;
    default:
        s->why = is_rest(s->lead, b) ? NULL : "a text is not UTF-8";
        s->lead = 0;
        s->token = --s->left == 0 ? TEXT : CHARACTER;
        break;
    }
    return s->why == NULL;
}

static enum json_event text_ended(struct json_scan *s)
{
    s->at++;
    end_token(s, 1);
    if (s->state == KEY) {
        s->state = COLON;
        return JSON_KEY;
    }
    json_scan_value_ended(s);
    return JSON_TEXT;
}

static const char *skip_plain(const char *at, const char *end)
{
    while (end - at >= 8) {
        size_t plain = count_plain(at);

        at += plain;
        if (plain < 8)
            return at;
    }
    while (at < end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* Skips characters beyond ASCII that are whole and valid; the others are left to take_odd(). */
static const char *skip_characters(const char *at, const char *end)
{
    while (end - at >= 4) {
        unsigned char lead = (unsigned char)*at;
        long len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

        if (lead < 0xc2 || lead > 0xf4 || !is_rest(lead, (unsigned char)at[1]) ||
            (len > 2 && (at[2] & 0xc0) != 0x80) || (len > 3 && (at[3] & 0xc0) != 0x80))
            return at;
        at += len;
    }
    return at;
}

/* To the quote at the end of a text, or to what needs a closer look. */
static const char *skip_text(const char *at, const char *end)
{
    for (const char *from = NULL; at != from;) {
        from = skip_plain(at, end);
        at = skip_characters(from, end);
    }
    return at;
}

static enum json_event scan_text(struct json_scan *s)
{
    for (; s->at < s->end; s->at++) {
        if (s->token == TEXT) {
            s->at = skip_text(s->at, s->end);
            if (s->at == s->end)
                break;
            if (*s->at == '"')
                return text_ended(s);
        }
        if (!take_odd(s, (unsigned char)*s->at))
            return JSON_WRONG;
    }
    if (!s->last)
        return JSON_MORE;
    return json_scan_wrong(s, s->token == HEX ? "after a backslash stands something else"
                                              : "a text is not closed");
}

/* ---- numbers and words ---- */

/* The next state of a number; -1: the number ends before this byte, -2: it may not. */
static int in_number(int token, unsigned char b)
{
    bool digit = b >= '0' && b <= '9';

    switch (token) {
    case MINUS:
        return b == '0' ? ZERO : digit ? DIGITS : -2;
    case ZERO:
    case DIGITS:
        if (digit && token == DIGITS)
            return DIGITS;
        return b == '.' ? POINT : b == 'e' || b == 'E' ? E : -1;
    case POINT:
        return digit ? FRACTION : -2;
    case FRACTION:
        return digit ? FRACTION : b == 'e' || b == 'E' ? E : -1;
    case E:
        return digit ? EXPONENT : b == '+' || b == '-' ? SIGN : -2;
    case SIGN:
        return digit ? EXPONENT : -2;
    default:
        return digit ? EXPONENT : -1;
    }
}

static enum json_event scan_number(struct json_scan *s)
{
    for (;; s->at++) {
        if (s->at == s->end && !s->last)
            return JSON_MORE;
        int next = in_number(s->token, s->at < s->end ? (unsigned char)*s->at : ' ');

        if (next == -2)
            return json_scan_wrong(s, "a digit is expected");
        if (next == -1)
            return scalar_ended(s);
        s->token = next;
    }
}

/* A literal ends when another byte follows, or the last piece ends. */
static enum json_event scan_word(struct json_scan *s)
{
    for (; s->at < s->end && *s->word != '\0'; s->at++, s->word++)
        if (*s->at != *s->word)
            return json_scan_wrong(s, "a value is expected");
    if (s->at == s->end && !s->last)
        return JSON_MORE;
    return *s->word == '\0' ? scalar_ended(s) : json_scan_wrong(s, "a value is expected");
}

static enum json_event scan_token(struct json_scan *s)
{
    return s->token < WORD ? scan_text(s) : s->token == WORD ? scan_word(s) : scan_number(s);
}

/* ---- between them ---- */

static enum json_event begin_token(struct json_scan *s, int token)
{
    s->token = token;
    s->escapes = false;
    s->from = s->at++;
    return scan_token(s);
}

static enum json_event begin_value(struct json_scan *s, unsigned char b)
{
    switch (b) {
    case '"':
        return begin_token(s, TEXT);
    case '{':
    case '[':
        return json_scan_open_level(s, b == '{');
    case 't':
    case 'f':
    case 'n':
        s->word = b == 't' ? "rue" : b == 'f' ? "alse" : "ull";
        return begin_token(s, WORD);
    case '-':
        return begin_token(s, MINUS);
    default:
        if (b < '0' || b > '9')
            return json_scan_wrong(s, "a value is expected");
        return begin_token(s, b == '0' ? ZERO : DIGITS);
    }
}

static void skip_blanks(struct json_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
}

/* Takes a colon or comma that is required here. */
static bool take_mark(struct json_scan *s, unsigned char b)
{
    if (s->state == COLON) {
        s->state = VALUE;
        s->why = b == ':' ? NULL : "a colon is expected";
    } else {
        bool object = json_scan_in_object(s);

        s->state = object ? KEY : VALUE;
        s->why = b == ',' ? NULL
                 : object ? "a comma or `}` is expected"
                          : "a comma or `]` is expected";
    }
    s->at += s->why == NULL;
    return s->why == NULL;
}

enum json_event json_scan_next(struct json_scan *s)
{
    if (s->token != BETWEEN)
        return scan_token(s);
    for (;;) {
        skip_blanks(s);
        if (s->at == s->end && !s->last)
            return JSON_MORE;
        unsigned char b = s->at < s->end ? (unsigned char)*s->at : '\0';

        switch (s->state) {
        case COMMA_OR_END:
            if (b == (json_scan_in_object(s) ? '}' : ']'))
                return close_level(s);
            /* fall through */
        case COLON:
            if (!take_mark(s, b))
                return JSON_WRONG;
            break;
        case KEY_OR_END:
            if (b == '}')
                return close_level(s);
            s->state = KEY;
            /* fall through */
        case KEY:
            return b == '"' ? begin_token(s, TEXT)
                            : json_scan_wrong(s, "a name in quotes is expected");
        case VALUE_OR_END:
            if (b == ']')
                return close_level(s);
            /* fall through */
        case VALUE:
            return begin_value(s, b);
        default:
            return s->at == s->end ? JSON_END
                                   : json_scan_wrong(s, "something stands behind the end");
        }
    }
}

/* ---- validation only ---- */

static bool core_json_scan_check(struct json_scan *s, struct err *err)
{
    enum json_event e;

    do
        e = json_scan_next(s);
    while (e > JSON_END);
    if (e != JSON_WRONG)
        return true;
    return err_set(err, ERR_PERMANENT, 0, "not JSON: %s at byte %lld",
                   s->last ? "it ends too early" : s->why, (long long)json_scan_at(s));
}

bool json_scan_check(struct json_scan *s, struct str piece, struct err *err)
{
    json_scan_give(s, piece, false);
    return core_json_scan_check(s, err);
}

bool json_scan_check_end(struct json_scan *s, struct err *err)
{
    json_scan_give(s, (struct str){ 0 }, true);
    return core_json_scan_check(s, err);
}

/* ---- texts ---- */

static int hex4(const char *s, const char *end)
{
    int n = 0;

    if (end - s < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = str_hex_digit(s[i]);

        if (digit < 0)
            return -1;
        n = n * 16 + digit;
    }
    return n;
}

size_t json_scan_unescape(struct str raw, size_t *at, char out[static 4])
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
        return str_put_utf8(code, out);
    int low = end - s > 10 && s[5] == '\\' && s[6] == 'u' ? hex4(s + 7, end) : -1;

    if (code > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return 0;
    *at += 6;
    return str_put_utf8(0x10000 + ((code - 0xd800) << 10) + ((unsigned)low - 0xdc00), out);
}
