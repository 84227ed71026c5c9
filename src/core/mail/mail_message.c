#include "core/mail/mail_message.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/civil.h"

enum {
    LINE_MOST = 76,
    WORD_MOST = 75,       /* of an encoded word (RFC 2047, 2) */
    WORD_FRAME = 12,      /* =?utf-8?B? ?= */
    TYPE_MOST = 200,      /* of a Content-Type */
    SEGMENT_MOST = 50,    /* of a file name in a parameter */
    PLAIN_NAME_MOST = 60, /* a longer file name is cut into segments */
    ID_MOST = 36          /* of a document, in the boundary between parts */
};

#define BOUNDARY "=_waybill_"

/* ---- texts ---- */

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < ' ' || s.ptr[i] > '~')
            return false;
    return true;
}

/* It can stand as it is: no reader takes a part of it for an encoded word. */
static bool mail_is_plain(struct str s)
{
    return is_printable(s) && memmem(s.ptr, s.len, "=?", 2) == NULL;
}

/* The length of the character at the beginning; 0: it is none. */
static size_t utf8_len(struct str s)
{
    for (size_t n = 1; n <= 4 && n <= s.len; n++)
        if (str_is_utf8(str_mem(s.ptr, n)))
            return n;
    return 0;
}

/* Bytes that are no character become U+FFFD. */
static void put_as_utf8(struct str s, struct buf *to)
{
    while (s.len > 0) {
        size_t n = utf8_len(s);

        if (n == 0)
            buf_puts(to, "\xef\xbf\xbd");
        else
            buf_put(to, str_mem(s.ptr, n));
        s = str_from(s, n == 0 ? 1 : n);
    }
}

static void mail_put_base64(struct str s, struct buf *to)
{
    struct err err = { 0 };

    require(base64_encode(s, to, &err)); /* its size is bounded by the callers */
}

/* As encoded words, one in each line; `column` characters stand in the first one already. */
static void put_encoded_words(struct str s, size_t column, struct buf *to)
{
    while (s.len > 0) {
        size_t room = LINE_MOST - column < WORD_MOST ? LINE_MOST - column : WORD_MOST;
        size_t most = (room - WORD_FRAME) / 4 * 3, n = 0;

        while (n < s.len) {
            size_t next = utf8_len(str_from(s, n));

            if (n + next > most)
                break;
            n += next;
        }
        buf_puts(to, "=?utf-8?B?");
        mail_put_base64(str_mem(s.ptr, n), to);
        buf_puts(to, "?=");
        s = str_from(s, n);
        if (s.len > 0)
            buf_puts(to, "\r\n ");
        column = 1;
    }
}

/* ---- headers ---- */

static bool refuse_header(const char *name, struct err *err)
{
    return err_set(err, ERR_PERMANENT, 0,
                   "the header %s of the mail cannot be made: its value "
                   "holds a control character",
                   name);
}

/* A header whose value is a text. */
static bool put_text_header(const char *name, struct str value, struct buf *to, struct err *err)
{
    size_t column = strlen(name) + 2;
    struct str v = str_trim(value);

    if (str_has_control(v))
        return refuse_header(name, err);
    buf_printf(to, "%s: ", name);
    if (mail_is_plain(v) && column + v.len <= LINE_MOST) {
        buf_put(to, v);
    } else {
        AUTO(buf_done) struct buf text = BUF_INIT(v.len * 3 + 1);

        put_as_utf8(v, &text);
        put_encoded_words(buf_view(&text), column, to);
    }
    buf_puts(to, "\r\n");
    return true;
}

static void put_quoted(struct str s, struct buf *to)
{
    buf_putc(to, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"' || s.ptr[i] == '\\')
            buf_putc(to, '\\');
        buf_putc(to, s.ptr[i]);
    }
    buf_putc(to, '"');
}

/* Each mailbox in a line of its own. */
static void put_mailboxes(const char *name, const struct mail_address *all, size_t count,
                          struct buf *to)
{
    buf_printf(to, "%s: ", name);
    for (size_t i = 0; i < count; i++) {
        struct str words = all[i].name;

        if (i > 0)
            buf_puts(to, ",\r\n ");
        if (words.len > 0 && mail_is_plain(words))
            put_quoted(words, to);
        else if (words.len > 0)
            put_encoded_words(words, i == 0 ? strlen(name) + 2 : 1, to);
        if (words.len > 0)
            buf_puts(to, "\r\n ");
        buf_printf(to, words.len > 0 ? "<%.*s>" : "%.*s", STR_ARG(all[i].address));
    }
    buf_puts(to, "\r\n");
}

static void put_date(int64_t wall_us, struct buf *to)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    int64_t s = civil_floor(wall_us, CLOCK_S), day = civil_floor(s, CIVIL_DAY_S);
    struct civil_date d = civil_date(day);
    int left = (int)(s - day * CIVIL_DAY_S);

    buf_printf(to, "Date: %s, %02d %s %04lld %02d:%02d:%02d +0000\r\n", days[civil_weekday(day)],
               d.day, months[d.month - 1], (long long)d.year, left / 3600, left / 60 % 60,
               left % 60);
}

/* The id of a delivery has letters, digits, `.`, `_` and `-`; what else may come is escaped, so
 * that the id stays one. */
static void put_message_id(const struct mail *m, struct buf *to)
{
    buf_puts(to, "Message-ID: <");
    for (size_t i = 0; i < m->id.len; i++) {
        char c = m->id.ptr[i];

        if (mail_is_atext(c) || (c == '.' && i > 0 && m->id.ptr[i - 1] != '.'))
            buf_putc(to, c);
        else
            buf_printf(to, "%%%02X", (unsigned char)c);
    }
    buf_printf(to, "@%.*s>\r\n", STR_ARG(mail_address_domain(&m->from)));
}

/* ---- the part that is the document ---- */

static bool is_type_token(char c)
{
    return c > ' ' && c <= '~' && strchr("()<>@,;:\\\"/[]?=", c) == NULL;
}

static size_t token_len(struct str s)
{
    size_t n = 0;

    while (n < s.len && is_type_token(s.ptr[n]))
        n++;
    return n;
}

/* "; name=token" and "; name="words"" up to the end. */
static bool are_type_parameters(struct str s)
{
    while (s.len > 0) {
        size_t n;

        s = str_trim(s);
        if (s.len == 0 || s.ptr[0] != ';')
            return s.len == 0;
        s = str_trim(str_from(s, 1));
        n = token_len(s);
        if (n == 0 || n + 1 >= s.len || s.ptr[n] != '=')
            return false;
        s = str_from(s, n + 1);
        if (s.ptr[0] == '"') {
            ptrdiff_t end = str_find(str_from(s, 1), '"');

            if (end < 0 || memchr(s.ptr, '\\', (size_t)end + 1) != NULL)
                return false;
            s = str_from(s, (size_t)end + 2);
        } else {
            n = token_len(s);
            if (n == 0)
                return false;
            s = str_from(s, n);
        }
    }
    return true;
}

/* A type that can be sent in base64: those that hold other parts cannot. */
static bool is_mail_type(struct str s)
{
    size_t main = token_len(s), sub;

    if (s.len > TYPE_MOST || !is_printable(s) || main == 0 || main >= s.len || s.ptr[main] != '/')
        return false;
    sub = token_len(str_from(s, main + 1));
    return sub > 0 && !str_eq_nocase(str_mem(s.ptr, main), STR("multipart")) &&
           !str_eq_nocase(str_mem(s.ptr, main), STR("message")) &&
           are_type_parameters(str_from(s, main + 1 + sub));
}

static bool mail_type_is_text(struct str type)
{
    return type.len > 5 && str_eq_nocase(str_mem(type.ptr, 5), STR("text/"));
}

static bool type_says(struct str type, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i + len <= type.len; i++)
        if (str_eq_nocase(str_mem(type.ptr + i, len), str_of(word)))
            return true;
    return false;
}

/* A text without a character set would be taken for ASCII.  XML says it itself. */
static void put_media_type(struct str type, struct buf *to)
{
    buf_printf(to, "Content-Type: %.*s", STR_ARG(type));
    if (mail_type_is_text(type) && !type_says(type, "charset=") && !type_says(type, "xml"))
        buf_puts(to, ";\r\n charset=utf-8");
    buf_puts(to, "\r\nContent-Transfer-Encoding: base64\r\n");
}

static bool stays_in_parameter(char c)
{
    return is_type_token(c) && c != '*' && c != '\'' && c != '%';
}

/* RFC 2231: percent-encoded UTF-8, in segments when it is long. */
static void put_name_segments(struct str name, struct buf *to)
{
    size_t most = SEGMENT_MOST, n = 0, at = 0, whole = strlen("utf-8''");

    for (size_t i = 0; i < name.len; i++)
        whole += stays_in_parameter(name.ptr[i]) ? 1 : 3;
    bool one = whole <= most;

    while (at < name.len) {
        size_t len = n == 0 ? strlen("utf-8''") : 0;

        buf_printf(to, n == 0 ? "\r\n" : ";\r\n");
        if (one)
            buf_puts(to, " filename*=");
        else
            buf_printf(to, " filename*%zu*=", n);
        if (n++ == 0)
            buf_puts(to, "utf-8''");
        for (; at < name.len && len + 3 <= most; at++) {
            char c = name.ptr[at];

            if (stays_in_parameter(c))
                buf_putc(to, c);
            else
                buf_printf(to, "%%%02X", (unsigned char)c);
            len += stays_in_parameter(c) ? 1 : 3;
        }
    }
    buf_puts(to, "\r\n");
}

static void put_disposition(const char *how, struct str name, struct buf *to)
{
    buf_printf(to, "Content-Disposition: %s;", how);
    if (name.len <= PLAIN_NAME_MOST && mail_is_plain(name) && str_find(name, '"') < 0 &&
        str_find(name, '\\') < 0)
        buf_printf(to, "\r\n filename=\"%.*s\"\r\n", STR_ARG(name));
    else
        put_name_segments(name, to);
}

/* ---- the mail ---- */

static void put_boundary(const struct mail *m, const char *end, struct buf *to)
{
    buf_printf(to, "\r\n--" BOUNDARY "%.*s%s\r\n", STR_ARG(str_first(m->document, ID_MOST)), end);
}

/* Lines of a text end with CRLF before it is encoded. */
static void put_text_part(const struct mail *m, struct buf *to)
{
    AUTO(buf_done) struct buf lines = BUF_INIT(2 * MAIL_TEXT_MOST + 2);
    struct mail_encoder e = { 0 };

    for (size_t i = 0; i < m->text.len; i++) {
        if (m->text.ptr[i] == '\n' && (i == 0 || m->text.ptr[i - 1] != '\r'))
            buf_putc(&lines, '\r');
        buf_putc(&lines, m->text.ptr[i]);
    }
    put_boundary(m, "", to);
    buf_puts(to, "Content-Type: text/plain; charset=utf-8\r\n"
                 "Content-Transfer-Encoding: base64\r\n"
                 "Content-Disposition: inline\r\n\r\n");
    mail_encode(&e, buf_view(&lines), to);
    mail_encode_end(&e, to);
}

static bool is_composed(const struct mail *m)
{
    return m->text.ptr != NULL;
}

bool mail_head(const struct mail *m, struct buf *to, struct err *err)
{
    bool typed = is_mail_type(m->ctype);
    struct str type = typed ? m->ctype : STR("application/octet-stream");

    require(m->to_count > 0 && m->to_count <= MAIL_TO_MOST);
    if (m->subject.len > MAIL_SUBJECT_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the subject is longer than %d bytes",
                       MAIL_SUBJECT_MOST);
    if (m->text.len > MAIL_TEXT_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the text of the mail is longer than %d bytes",
                       MAIL_TEXT_MOST);
    put_date(m->date_us, to);
    put_mailboxes("From", &m->from, 1, to);
    put_mailboxes("To", m->to, m->to_count, to);
    put_message_id(m, to);
    if (!put_text_header("Subject", m->subject, to, err) ||
        !put_text_header("Waybill-Document", m->document, to, err) ||
        !put_text_header("Waybill-Delivery", m->id, to, err))
        return false;
    buf_puts(to, "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n");
    if (is_composed(m)) {
        buf_printf(to, "Content-Type: multipart/mixed;\r\n boundary=\"" BOUNDARY "%.*s\"\r\n",
                   STR_ARG(str_first(m->document, ID_MOST)));
        put_text_part(m, to);
        put_boundary(m, "", to);
    }
    put_media_type(type, to);
    put_disposition(mail_type_is_text(type) && !is_composed(m) ? "inline" : "attachment", m->name,
                    to);
    buf_puts(to, "\r\n");
    return true;
}

void mail_tail(const struct mail *m, struct buf *to)
{
    if (is_composed(m))
        put_boundary(m, "--", to);
}

/* ---- base64 in lines ---- */

static void put_line(struct str bytes, struct buf *to)
{
    mail_put_base64(bytes, to);
    buf_puts(to, "\r\n");
}

void mail_encode(struct mail_encoder *e, struct str bytes, struct buf *to)
{
    if (e->len > 0 && bytes.len > 0) {
        size_t n = MAIL_LINE_BYTES - e->len < bytes.len ? MAIL_LINE_BYTES - e->len : bytes.len;

        memcpy(e->line + e->len, bytes.ptr, n);
        e->len += n;
        bytes = str_from(bytes, n);
        if (e->len < MAIL_LINE_BYTES)
            return;
        put_line(str_mem(e->line, e->len), to);
        e->len = 0;
    }
    for (; bytes.len >= MAIL_LINE_BYTES; bytes = str_from(bytes, MAIL_LINE_BYTES))
        put_line(str_mem(bytes.ptr, MAIL_LINE_BYTES), to);
    if (bytes.len > 0) {
        memcpy(e->line, bytes.ptr, bytes.len);
        e->len = bytes.len;
    }
}

void mail_encode_end(struct mail_encoder *e, struct buf *to)
{
    if (e->len > 0)
        put_line(str_mem(e->line, e->len), to);
    e->len = 0;
}

int64_t mail_encoded_size(int64_t bytes)
{
    int64_t lines = bytes / MAIL_LINE_BYTES, rest = bytes % MAIL_LINE_BYTES;

    return lines * (LINE_MOST + 2) + (rest > 0 ? (rest + 2) / 3 * 4 + 2 : 0);
}
