#include "core/json_check.h"

#include <string.h>

/* What may come next. */
enum { VALUE, VALUE_OR_END, KEY_OR_END, KEY, COLON, COMMA_OR_END, OVER };

/* Inside of what: nothing, a text, an escape, its hex digits, the rest of a character, a word, a
 * number. */
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

static bool wrong(const struct json_check *c, const char *why, struct err *err)
{
    return err_set(err, ERR_PERMANENT, 0, "not JSON: %s at byte %lld", why, (long long)c->at);
}

static bool in_object(const struct json_check *c)
{
    size_t d = c->depth - 1;

    return (c->objects[d / 64] >> d % 64 & 1) != 0;
}

static void value_ended(struct json_check *c)
{
    c->token = BETWEEN;
    c->state = c->depth == 0 ? OVER : COMMA_OR_END;
}

static bool open_level(struct json_check *c, bool object, struct err *err)
{
    if (c->depth == JSON_CHECK_DEPTH)
        return wrong(c, "objects and lists stand too deep in each other", err);
    uint64_t bit = UINT64_C(1) << c->depth % 64;

    c->objects[c->depth / 64] = (c->objects[c->depth / 64] & ~bit) | (object ? bit : 0);
    c->depth++;
    c->state = object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

static bool begin_value(struct json_check *c, unsigned char b, struct err *err)
{
    switch (b) {
    case '"':
        c->token = TEXT;
        return true;
    case '{':
    case '[':
        return open_level(c, b == '{', err);
    case 't':
    case 'f':
    case 'n':
        c->token = WORD;
        c->word = b == 't' ? "rue" : b == 'f' ? "alse" : "ull";
        return true;
    case '-':
        c->token = MINUS;
        return true;
    default:
        if (b < '0' || b > '9')
            return wrong(c, "a value is expected", err);
        c->token = b == '0' ? ZERO : DIGITS;
        return true;
    }
}

static bool close_level(struct json_check *c)
{
    c->depth--;
    value_ended(c);
    return true;
}

static bool between(struct json_check *c, unsigned char b, struct err *err)
{
    if (b == ' ' || b == '\t' || b == '\n' || b == '\r')
        return true;
    switch (c->state) {
    case VALUE_OR_END:
        if (b == ']')
            return close_level(c);
        return begin_value(c, b, err);
    case VALUE:
        return begin_value(c, b, err);
    case KEY_OR_END:
        if (b == '}')
            return close_level(c);
        c->state = KEY;
        return between(c, b, err);
    case KEY:
        if (b != '"')
            return wrong(c, "a name in quotes is expected", err);
        c->token = TEXT;
        return true;
    case COLON:
        c->state = VALUE;
        return b == ':' || wrong(c, "a colon is expected", err);
    case COMMA_OR_END:
        if (b == (in_object(c) ? '}' : ']'))
            return close_level(c);
        c->state = in_object(c) ? KEY : VALUE;
        return b == ',' || wrong(c, "a comma or the end is expected", err);
    default:
        return wrong(c, "something stands behind the end", err);
    }
}

static bool in_text(struct json_check *c, unsigned char b, struct err *err)
{
    if (b == '"') {
        c->token = BETWEEN;
        if (c->state == KEY)
            c->state = COLON;
        else
            value_ended(c);
    } else if (b == '\\') {
        c->token = ESCAPE;
    } else if (b < ' ') {
        return wrong(c, "a control character stands in a text", err);
    } else if (b >= 0x80) {
        if (b < 0xc2 || b > 0xf4)
            return wrong(c, "a text is not UTF-8", err);
        c->token = CHARACTER;
        c->left = b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
        c->lead = b;
    }
    return true;
}

static bool in_escape(struct json_check *c, unsigned char b, struct err *err)
{
    if (b == 'u') {
        c->token = HEX;
        c->left = 4;
        return true;
    }
    c->token = TEXT;
    return (b != '\0' && strchr("\"\\/bfnrt", b) != NULL) ||
           wrong(c, "after a backslash stands something else", err);
}

/* The rest of a character; the second byte shows what is too long, a surrogate, or none at all. */
static bool in_character(struct json_check *c, unsigned char b, struct err *err)
{
    unsigned char lead = c->lead;

    c->lead = 0;
    if (--c->left == 0)
        c->token = TEXT;
    if ((b & 0xc0) != 0x80 || (lead == 0xe0 && b < 0xa0) || (lead == 0xed && b > 0x9f) ||
        (lead == 0xf0 && b < 0x90) || (lead == 0xf4 && b > 0x8f))
        return wrong(c, "a text is not UTF-8", err);
    return true;
}

static bool is_hex(unsigned char b)
{
    return (b >= '0' && b <= '9') || (b >= 'a' && b <= 'f') || (b >= 'A' && b <= 'F');
}

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

static bool take(struct json_check *c, unsigned char b, struct err *err)
{
    switch (c->token) {
    case BETWEEN:
        return between(c, b, err);
    case TEXT:
        return in_text(c, b, err);
    case ESCAPE:
        return in_escape(c, b, err);
    case HEX:
        if (--c->left == 0)
            c->token = TEXT;
        return is_hex(b) || wrong(c, "four hex digits are expected", err);
    case CHARACTER:
        return in_character(c, b, err);
    case WORD:
        if (b != (unsigned char)*c->word)
            return wrong(c, "a value is expected", err);
        if (*++c->word == '\0')
            value_ended(c);
        return true;
    default:
        break;
    }
    int next = in_number(c->token, b);

    if (next == -2)
        return wrong(c, "a digit is expected", err);
    if (next >= 0) {
        c->token = next;
        return true;
    }
    value_ended(c);
    return between(c, b, err);
}

bool json_check_add(struct json_check *c, struct str bytes, struct err *err)
{
    for (size_t i = 0; i < bytes.len; i++, c->at++)
        if (!take(c, (unsigned char)bytes.ptr[i], err))
            return false;
    return true;
}

bool json_check_end(struct json_check *c, struct err *err)
{
    if (c->token >= MINUS && in_number(c->token, ' ') == -1)
        value_ended(c);
    return (c->token == BETWEEN && c->state == OVER) || wrong(c, "it ends too early", err);
}
