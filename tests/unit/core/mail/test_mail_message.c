/* What a mail looks like on the wire; tests/blackbox/test_42_smtp.py has others read it. */
#include "core/mail/mail_message.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "test.h"

#define DOCUMENT "01932f2e-7c1a-7abc-8def-0123456789ab"

static const struct mail_address ann = { .address = { "ann@example.org", 15 } };

static struct mail plain(void)
{
    return (struct mail){ .from = { .name = STR("Order desk"), .address = STR("w@example.com") },
                          .to = &ann,
                          .to_count = 1,
                          .subject = STR("order 7"),
                          .id = STR(DOCUMENT ".desk"),
                          .document = STR(DOCUMENT),
                          .date_us = INT64_C(1794711130) * CLOCK_S,
                          .name = STR("order.xml"),
                          .ctype = STR("application/xml") };
}

static bool head_of(const struct mail *m, struct buf *b, struct err *err)
{
    buf_clear(b);
    return mail_head(m, b, err);
}

#define HEAD_HAS(m, text) (head_of((m), &b, &err) && strstr(b.ptr, (text)) != NULL)

/* Lines end with CRLF, are at most 78 characters and have no control character. */
static bool is_wire(struct str s)
{
    while (s.len > 0) {
        const char *end = memmem(s.ptr, s.len, "\r\n", 2);
        size_t len = end != NULL ? (size_t)(end - s.ptr) : 0;

        if (end == NULL || len > 78 || str_has_control(str_mem(s.ptr, len)) ||
            (len > 0 && s.ptr[0] == '.'))
            return false;
        for (size_t i = 0; i < len; i++)
            if ((unsigned char)s.ptr[i] >= 0x80)
                return false;
        s = str_from(s, len + 2);
    }
    return true;
}

TEST(a_mail_has_its_headers)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    struct mail m = plain();
    struct err err = { 0 };

    CHECK(head_of(&m, &b, &err) && is_wire(buf_view(&b)));
    CHECK(strcmp(b.ptr,
                 "Date: Sun, 15 Nov 2026 02:52:10 +0000\r\n"
                 "From: \"Order desk\"\r\n <w@example.com>\r\n"
                 "To: ann@example.org\r\n"
                 "Message-ID: <" DOCUMENT ".desk@example.com>\r\n"
                 "Subject: order 7\r\n"
                 "Waybill-Document: " DOCUMENT "\r\n"
                 "Waybill-Delivery: " DOCUMENT ".desk\r\n"
                 "Auto-Submitted: auto-generated\r\n"
                 "MIME-Version: 1.0\r\n"
                 "Content-Type: application/xml\r\n"
                 "Content-Transfer-Encoding: base64\r\n"
                 "Content-Disposition: attachment;\r\n filename=\"order.xml\"\r\n\r\n") == 0);
    buf_clear(&b);
    mail_tail(&m, &b);
    CHECK(b.len == 0);
}

TEST(a_text_stands_in_front_of_the_document)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    struct mail m = plain();
    struct err err = { 0 };

    m.text = STR("a\nb\r\n");
    CHECK(HEAD_HAS(&m, "Content-Type: multipart/mixed;\r\n boundary=\"=_waybill_" DOCUMENT "\""));
    CHECK(is_wire(buf_view(&b)));
    CHECK(strstr(b.ptr, "\r\n\r\nYQ0KYg0K\r\n") != NULL); /* line ends are CRLF inside, too */
    CHECK(strstr(b.ptr, "filename=\"order.xml\"\r\n\r\n") != NULL);
    buf_clear(&b);
    mail_tail(&m, &b);
    CHECK(strcmp(b.ptr, "\r\n--=_waybill_" DOCUMENT "--\r\n") == 0);
    m.ctype = STR("text/plain");
    CHECK(HEAD_HAS(&m, "Content-Disposition: attachment;"));
}

TEST(a_document_that_is_a_text_is_shown_in_place)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    struct mail m = plain();
    struct err err = { 0 };

    m.ctype = STR("Text/CSV");
    CHECK(HEAD_HAS(&m, "Content-Type: Text/CSV;\r\n charset=utf-8\r\n"));
    CHECK(strstr(b.ptr, "Content-Disposition: inline;") != NULL);
    m.ctype = STR("text/plain; charset=\"iso-8859-1\"");
    CHECK(HEAD_HAS(&m, "Content-Type: text/plain; charset=\"iso-8859-1\"\r\n"));
    m.ctype = STR("text/xml");
    CHECK(HEAD_HAS(&m, "Content-Type: text/xml\r\n"));
}

TEST(a_type_that_is_none_is_not_written)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    struct err err = { 0 };
    char long_type[300];
    const struct str types[] = {
        STR(""),
        STR("text"),
        STR("text/"),
        STR("/x"),
        STR("text/plain\r\nX-Evil: 1"),
        STR("text/plain; charset"),
        STR("text/plain; charset="),
        STR("text/plain; a=\"b"),
        STR("text/plain; a=\"b\\\"c\""),
        STR("text/plain x"),
        STR("multipart/mixed; boundary=x"),
        STR("message/rfc822"),
        STR("text/pl\xc3\xa4in"),
        { long_type, sizeof long_type },
    };

    memset(long_type, 'x', sizeof long_type);
    long_type[4] = '/';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct mail m = plain();

        m.ctype = types[i];
        CHECK(HEAD_HAS(&m, "Content-Type: application/octet-stream\r\n"));
        CHECK(strstr(b.ptr, "Evil") == NULL && is_wire(buf_view(&b)));
    }
}

/* The subject as a reader puts it together again. */
static bool subject_is(const char *head, const char *want)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    const char *at = strstr(head, "\r\nSubject: ") + strlen("\r\nSubject: ");
    struct err err = { 0 };

    for (;;) {
        const char *end = strstr(at, "?=\r\n");

        if (strncmp(at, "=?utf-8?B?", 10) != 0 || end == NULL || end - at > 73)
            return false;
        if (!base64_decode(str_mem(at + 10, (size_t)(end - at) - 10), &text, &err) ||
            !str_is_utf8(buf_view(&text))) /* no character is cut */
            return false;
        at = end + 4;
        if (*at != ' ')
            return strcmp(text.ptr, want) == 0;
        at++;
    }
}

TEST(subjects_are_encoded)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    struct mail m = plain();
    struct err err = { 0 };
    char text[601];

    m.subject = STR("Gr\xc3\xbc\xc3\x9f"
                    "e");
    CHECK(head_of(&m, &b, &err) && is_wire(buf_view(&b)) && subject_is(b.ptr, m.subject.ptr));
    m.subject = STR("=?utf-8?B?YQ==?=");
    CHECK(head_of(&m, &b, &err) && subject_is(b.ptr, m.subject.ptr));
    for (size_t i = 0; i < 600; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    text[600] = '\0';
    for (size_t n = 3; n <= 600; n += 3) { /* wherever the lines end */
        m.subject = str_mem(text + 600 - n, n);
        CHECK(head_of(&m, &b, &err) && is_wire(buf_view(&b)) && subject_is(b.ptr, m.subject.ptr));
    }
    memset(text, 'x', 300);
    m.subject = str_mem(text, 300);
    CHECK(head_of(&m, &b, &err) && is_wire(buf_view(&b)));
    m.subject = STR("a\xff\xc3"
                    "b");
    CHECK(head_of(&m, &b, &err) && subject_is(b.ptr, "a\xef\xbf\xbd\xef\xbf\xbd"
                                                     "b"));
    m.subject = STR("");
    CHECK(HEAD_HAS(&m, "Subject: \r\n"));
}

/* proves: S3 */
TEST(no_value_ends_its_header)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    const struct str subjects[] = { STR("a\r\nBcc: x@y"), STR("a\nb"),  STR("a\rb"),
                                    STR("a\0b"),          STR("a\x7f"), STR("a\tb") };
    struct mail m = plain();
    struct err err = { 0 };
    static char many[MAIL_SUBJECT_MOST + 1];

    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        m.subject = subjects[i];
        err = (struct err){ 0 };
        CHECK(!head_of(&m, &b, &err) && err.kind == ERR_PERMANENT);
        CHECK(strstr(err.text, "Subject") != NULL && strstr(err.text, "Bcc") == NULL);
    }
    m = plain();
    m.document = STR("x\r\ny");
    CHECK(!head_of(&m, &b, &err));
    m = plain();
    memset(many, 'x', sizeof many);
    m.subject = str_mem(many, sizeof many);
    CHECK(!head_of(&m, &b, &err) && strstr(err.text, "longer") != NULL);
}

TEST(file_names_are_encoded)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    struct mail m = plain();
    struct err err = { 0 };
    char name[255];

    m.name = STR("a b.xml");
    CHECK(HEAD_HAS(&m, "\r\n filename=\"a b.xml\"\r\n"));
    m.name = STR("a\"b\\c;d");
    CHECK(HEAD_HAS(&m, "\r\n filename*=utf-8''a%22b%5Cc%3Bd\r\n"));
    m.name = STR("\xc3\xa9'%*.txt");
    CHECK(HEAD_HAS(&m, "\r\n filename*=utf-8''%C3%A9%27%25%2A.txt\r\n"));
    m.name = STR("=?utf-8?B?YQ==?=");
    CHECK(HEAD_HAS(&m, "\r\n filename*=utf-8''%3D%3Futf-8%3FB%3FYQ%3D%3D%3F%3D\r\n"));
    memset(name, 'n', sizeof name);
    m.name = str_mem(name, sizeof name);
    CHECK(HEAD_HAS(&m, "\r\n filename*0*=utf-8''nnn") && is_wire(buf_view(&b)));
    CHECK(strstr(b.ptr, ";\r\n filename*5*=n") != NULL);
    memset(name, '\xc3', sizeof name); /* three characters for each byte */
    CHECK(HEAD_HAS(&m, "filename*0*=") && is_wire(buf_view(&b)));
}

TEST(many_recipients_have_lines_of_their_own)
{
    AUTO(buf_done) struct buf b = BUF_INIT(MAIL_HEAD_MOST);
    static struct mail_address all[MAIL_TO_MOST];
    static char address[MAIL_ADDRESS_MOST], name[MAIL_NAME_MOST];
    struct mail m = plain();
    struct err err = { 0 };

    memset(address, 'a', sizeof address);
    address[60] = '@';
    memset(name, '\\', sizeof name);
    for (size_t i = 0; i < MAIL_TO_MOST; i++)
        all[i] = (struct mail_address){ .name = str_mem(name, sizeof name),
                                        .address = str_mem(address, sizeof address) };
    m.to = all;
    m.to_count = MAIL_TO_MOST;
    static char text[MAIL_TEXT_MOST];

    memset(text, '\n', sizeof text);
    m.text = str_mem(text, sizeof text);
    m.id = str_mem(address, sizeof address);
    CHECK(head_of(&m, &b, &err)); /* the largest head has room */
    m = plain();
    all[0] = (struct mail_address){ .name = STR("B\xc3\xbcro"), .address = STR("a@b") };
    all[1] = ann;
    m.to = all;
    m.to_count = 2;
    CHECK(HEAD_HAS(&m, "To: =?utf-8?B?QsO8cm8=?=\r\n <a@b>,\r\n ann@example.org\r\n"));
}

TEST(documents_are_encoded_in_pieces_of_any_size)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1 << 16);
    char bytes[400];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    for (size_t size = 0; size <= sizeof bytes; size++)
        for (size_t piece = 1; piece <= 120; piece += 7) {
            struct mail_encoder e = { 0 };
            AUTO(buf_done) struct buf back = BUF_INIT(1 << 16);
            struct err err = { 0 };

            buf_clear(&got);
            for (size_t at = 0; at < size; at += piece)
                mail_encode(&e, str_mem(bytes + at, size - at < piece ? size - at : piece), &got);
            mail_encode(&e, (struct str){ 0 }, &got);
            mail_encode_end(&e, &got);
            CHECK((int64_t)got.len == mail_encoded_size((int64_t)size));
            CHECK(is_wire(buf_view(&got)));
            size_t len = 0;

            for (size_t i = 0; i < got.len; i++)
                if (got.ptr[i] != '\r' && got.ptr[i] != '\n')
                    got.ptr[len++] = got.ptr[i];
            CHECK(base64_decode(str_mem(got.ptr, len), &back, &err));
            CHECK(back.len == size && memcmp(back.ptr, bytes, size) == 0);
        }
}

int main(void)
{
    return test_main();
}
