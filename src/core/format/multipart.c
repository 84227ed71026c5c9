#include "core/format/multipart.h"

#include <string.h>

enum state {
    BEFORE, /* the first delimiter */
    BEHIND, /* a delimiter: a line end, or two hyphens */
    HYPHEN, /* one of these was read */
    BLANKS, /* blanks may stand before the line end */
    LINE,   /* its CR was read */
    HEAD,   /* the head of a part */
    BODY,
    AFTER /* the last delimiter */
};

static enum multipart_event multipart_fail(struct multipart *m, const char *why)
{
    m->why = why;
    return MULTIPART_WRONG;
}

/* ---- parameters: of a content type, and of Content-Disposition ---- */

static struct str multipart_skip_blanks(struct str s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = str_from(s, 1);
    return s;
}

/* Takes the next `; name=value` off *io.  A quoted value is between its quotes, as it stands.
 * False: there is none, or it is wrong (*io is not empty). */
static bool next_parameter(struct str *io, struct str *ret_name, struct str *ret_value)
{
    struct str s = multipart_skip_blanks(*io);
    size_t n = 0;

    *io = s;
    if (s.len == 0 || s.ptr[0] != ';')
        return false;
    s = multipart_skip_blanks(str_from(s, 1));
    while (n < s.len && s.ptr[n] != '=' && s.ptr[n] != ';' && s.ptr[n] != ' ')
        n++;
    if (n == 0 || n == s.len || s.ptr[n] != '=')
        return false;
    *ret_name = str_mem(s.ptr, n);
    s = str_from(s, n + 1);
    if (s.len > 0 && s.ptr[0] == '"') {
        for (n = 1; n < s.len && s.ptr[n] != '"'; n++)
            if (s.ptr[n] == '\\' && n + 1 < s.len && s.ptr[n + 1] == '"')
                n++;
        if (n >= s.len)
            return false;
        *ret_value = str_mem(s.ptr + 1, n - 1);
        *io = str_from(s, n + 1);
        return true;
    }
    for (n = 0; n < s.len && s.ptr[n] != ';' && s.ptr[n] != ' ' && s.ptr[n] != '\t';)
        n++;
    *ret_value = str_mem(s.ptr, n);
    *io = str_from(s, n);
    return true;
}

/* The first word of a field, without its parameters, which *ret_rest has. */
static struct str first_word(struct str field, struct str *ret_rest)
{
    size_t n = 0;

    field = multipart_skip_blanks(field);
    while (n < field.len && field.ptr[n] != ';')
        n++;
    *ret_rest = str_from(field, n);
    return str_trim(str_mem(field.ptr, n));
}

bool multipart_is_form(struct str content_type)
{
    struct str rest;

    return str_eq_nocase(first_word(content_type, &rest), STR("multipart/form-data"));
}

static bool is_boundary(struct str s)
{
    static const char others[] = "'()+_,-./:=? ";

    if (s.len == 0 || s.len > MULTIPART_BOUNDARY || s.ptr[s.len - 1] == ' ')
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            memchr(others, c, sizeof others - 1) == NULL)
            return false;
    }
    return true;
}

const char *multipart_begin(struct multipart *m, struct str content_type)
{
    struct str rest, name, value, boundary = { 0 };

    *m = (struct multipart){ .state = BEFORE };
    (void)first_word(content_type, &rest);
    while (next_parameter(&rest, &name, &value))
        if (str_eq_nocase(name, STR("boundary"))) {
            if (boundary.ptr != NULL)
                return "The content type has two boundaries.";
            boundary = value;
        }
    if (str_trim(rest).len > 0 || !is_boundary(boundary))
        return "The content type has no boundary of 1 to 70 characters.";
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, boundary.ptr, boundary.len);
    m->delimiter_len = 4 + boundary.len;
    m->matched = 2; /* the first one needs no line end before it */
    return NULL;
}

void multipart_give(struct multipart *m, struct str piece)
{
    m->left = piece;
}

bool multipart_is_whole(const struct multipart *m)
{
    return m->state == AFTER;
}

/* ---- the head of a part ---- */

/* A quoted text in place, without the backslashes before quotes. */
static struct str unquote(struct str s)
{
    char *text = (char *)(uintptr_t)s.ptr;
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\\' && i + 1 < s.len && s.ptr[i + 1] == '"')
            i++;
        text[n++] = s.ptr[i];
    }
    return str_mem(text, n);
}

/* UTF-8''NAME in place, with %xx (RFC 5987); ptr NULL: it is not written so. */
static struct str decode_extended(struct str s)
{
    static const char charset[] = "utf-8''";
    size_t n = 0, from = sizeof charset - 1;
    char *text = (char *)(uintptr_t)s.ptr;

    if (s.len < from || !str_eq_nocase(str_mem(s.ptr, from), str_of(charset)))
        return (struct str){ 0 };
    for (size_t i = from; i < s.len; i++) {
        if (s.ptr[i] != '%') {
            text[n++] = s.ptr[i];
            continue;
        }
        int high = i + 2 < s.len ? str_hex_digit(s.ptr[i + 1]) : -1;
        int low = high >= 0 ? str_hex_digit(s.ptr[i + 2]) : -1;

        if (low < 0)
            return (struct str){ 0 };
        text[n++] = (char)(high << 4 | low);
        i += 2;
    }
    return str_mem(text, n);
}

static bool read_disposition(struct multipart *m, struct str value)
{
    struct str rest, name, text;

    if (!str_eq_nocase(first_word(value, &rest), STR("form-data")))
        return false;
    while (next_parameter(&rest, &name, &text))
        if (str_eq_nocase(name, STR("name")))
            m->name = unquote(text);
        else if (str_eq_nocase(name, STR("filename")) && m->file.ptr == NULL)
            m->file = unquote(text);
        else if (str_eq_nocase(name, STR("filename*")))
            m->file = decode_extended(text);
    return str_trim(rest).len == 0 && m->name.ptr != NULL;
}

static const char *read_field(struct multipart *m, struct str line)
{
    struct str name, value = str_trim(str_cut(line, ':', &name));

    if (name.len == line.len || str_has_control(line))
        return "The head of a part is not readable.";
    if (str_eq_nocase(name, STR("content-type")))
        m->ctype = value;
    else if (str_eq_nocase(name, STR("content-transfer-encoding")) &&
             !str_eq_nocase(value, STR("binary")) && !str_eq_nocase(value, STR("8bit")) &&
             !str_eq_nocase(value, STR("7bit")))
        return "A part has a transfer encoding: send it as it is.";
    else if (str_eq_nocase(name, STR("content-disposition")) &&
             (m->name.ptr != NULL || !read_disposition(m, value)))
        return "The Content-Disposition of a part is not readable.";
    return NULL;
}

/* Its lines, each with CR LF, and an empty one. */
static enum multipart_event multipart_read_head(struct multipart *m)
{
    struct str left = str_mem(m->head, m->head_len - 2);

    m->name = m->file = m->ctype = (struct str){ 0 };
    while (left.len > 0) {
        const char *end = memmem(left.ptr, left.len, "\r\n", 2);
        struct str line = str_mem(left.ptr, (size_t)(end - left.ptr));
        const char *wrong = read_field(m, line);

        if (wrong != NULL)
            return multipart_fail(m, wrong);
        left = str_from(left, line.len + 2);
    }
    if (m->name.ptr == NULL)
        return multipart_fail(m, "A part has no name.");
    if (++m->parts > MULTIPART_PARTS)
        return multipart_fail(m, "The form has more than 100 parts.");
    m->state = BODY;
    m->matched = 0;
    m->bytes = (struct str){ 0 };
    return MULTIPART_PART;
}

static bool head_is_whole(const struct multipart *m)
{
    return (m->head_len == 2 && memcmp(m->head, "\r\n", 2) == 0) ||
           (m->head_len >= 4 && memcmp(m->head + m->head_len - 4, "\r\n\r\n", 4) == 0);
}

static enum multipart_event multipart_take_head(struct multipart *m)
{
    while (m->left.len > 0) {
        if (m->head_len == MULTIPART_HEAD)
            return multipart_fail(m, "The head of a part is larger than 4 KiB.");
        m->head[m->head_len++] = m->left.ptr[0];
        m->left = str_from(m->left, 1);
        if (head_is_whole(m))
            return multipart_read_head(m);
    }
    return MULTIPART_MORE;
}

/* ---- delimiters ---- */

enum found { FOUND_NOTHING, FOUND_BYTES, FOUND_DELIMITER };

/* Takes bytes off the piece until a delimiter begins, or the delimiter itself.  Its CR stands
 * nowhere else in it, so what begins like one and is none can only be followed by another one, not
 * hold its beginning. */
static enum found multipart_scan(struct multipart *m, struct str *ret)
{
    while (m->left.len > 0) {
        if (m->matched == 0) {
            const char *cr = memchr(m->left.ptr, '\r', m->left.len);
            size_t n = cr != NULL ? (size_t)(cr - m->left.ptr) : m->left.len;

            *ret = str_mem(m->left.ptr, n);
            m->left = str_from(m->left, cr != NULL ? n + 1 : n);
            m->matched = cr != NULL;
            if (n > 0)
                return FOUND_BYTES;
        } else if (m->left.ptr[0] != m->delimiter[m->matched]) {
            *ret = str_mem(m->delimiter, m->matched); /* it was none */
            m->matched = 0;
            return FOUND_BYTES;
        } else {
            m->left = str_from(m->left, 1);
            if (++m->matched == m->delimiter_len) {
                m->matched = 0;
                return FOUND_DELIMITER;
            }
        }
    }
    return FOUND_NOTHING;
}

/* One byte behind a delimiter.  False: it is wrong. */
static bool multipart_take(struct multipart *m, char c)
{
    switch (m->state) {
    case BEHIND:
        m->state = c == '-' ? HYPHEN : c == '\r' ? LINE : BLANKS;
        return c == '-' || c == '\r' || c == ' ' || c == '\t';
    case HYPHEN:
        m->state = AFTER;
        return c == '-';
    case BLANKS:
        m->state = c == '\r' ? LINE : BLANKS;
        return (c == '\r' || c == ' ' || c == '\t') && ++m->skipped <= MULTIPART_SKIP;
    default: /* LINE */
        m->state = HEAD;
        m->head_len = 0;
        return c == '\n';
    }
}

enum multipart_event multipart_next(struct multipart *m)
{
    while (m->left.len > 0) {
        enum found found;

        switch (m->state) {
        case AFTER:
            m->left = (struct str){ 0 };
            break;
        case HEAD:
            return multipart_take_head(m);
        case BEFORE:
        case BODY:
            found = multipart_scan(m, &m->bytes);
            if (found == FOUND_NOTHING)
                return MULTIPART_MORE;
            if (m->state == BODY && found == FOUND_BYTES)
                return MULTIPART_BYTES;
            if (found == FOUND_BYTES && (m->skipped += m->bytes.len) > MULTIPART_SKIP)
                return multipart_fail(m, "The form does not begin with its boundary.");
            if (found == FOUND_DELIMITER) {
                bool over = m->state == BODY;

                m->state = BEHIND;
                if (over)
                    return MULTIPART_OVER;
            }
            break;
        default: {
            char c = m->left.ptr[0];

            m->left = str_from(m->left, 1);
            if (!multipart_take(m, c))
                return multipart_fail(m, "A boundary does not stand on a line of its own.");
        }
        }
    }
    return MULTIPART_MORE;
}
