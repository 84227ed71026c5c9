#include "core/mllp/hl7_head.h"

#include "base/auto.h"
#include "test.h"

#define MSH "MSH|^~\\&|LAB|HOSP|EHR|CLINIC|20261118||ORU^R01^ORU_R01|42|P|2.5"

static void add_in_pieces(struct hl7_head *h, struct str text, size_t piece)
{
    for (size_t at = 0; at < text.len; at += piece)
        hl7_head_add(h, str_mem(text.ptr + at, text.len - at < piece ? text.len - at : piece));
}

TEST(messages_are_counted_whatever_the_pieces)
{
    static const struct {
        const char *what, *text;
        size_t messages;
        bool readable;
    } cases[] = {
        { "one", MSH "\rPID|1\r", 1, true },
        { "LF", MSH "\nPID|1\n", 1, true },
        { "CR LF", MSH "\r\nPID|1\r\n", 1, true },
        { "MSH alone", MSH, 1, true },
        { "two", MSH "\rPID|1\r" MSH "\rPID|2\r", 2, true },
        { "two, with an empty line", MSH "\r\r\n" MSH "\r", 2, true },
        { "a frame that was never closed", MSH "\rPID|1\x0b" MSH "\r", 2, true },
        { "MSH in a value", MSH "\rOBX|1|TX|MSH|no\rNTE|MSH|\r", 1, true },
        { "a segment with a longer name", MSH "\rMSHX|1\r", 1, true },
        { "other separators", MSH "\rMSH#^~\\&#a\r", 1, true },
        { "blanks before", "\r\n  " MSH "\r", 1, true },
        { "a byte order mark", "\xef\xbb\xbf" MSH "\r" MSH "\r", 2, true },
        { "none", "PID|1\rMSH|^~\\&|\r", 1, false },
        { "no HL7", "{ \"a\": 1 }", 0, false },
        { "nothing", "", 0, false },
        { "half a header", "MSH|^", 1, false },
        { "equal separators", "MSH|^^~&|a\r", 1, false },
        { "letters as separators", "MSHabcdefgh\r", 1, false },
        { "a batch", "FHS|^~\\&|a\rBHS|^~\\&|a\r" MSH "\r", 1, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t piece = 1; piece < 20; piece++) {
            AUTO(hl7_head_done) struct hl7_head h = HL7_HEAD_INIT;
            struct edi_segment msh;
            const char *why = NULL;

            add_in_pieces(&h, str_of(cases[i].text), piece);
            bool readable = hl7_head_msh(&h, &msh, &why);

            if (h.messages != cases[i].messages || readable != cases[i].readable)
                printf("# %s, %zu: %zu messages, %s\n", cases[i].what, piece, h.messages,
                       readable ? "readable" : why);
            CHECK(h.messages == cases[i].messages && readable == cases[i].readable);
            CHECK(readable || (why != NULL && why[0] != '\0'));
        }
}

TEST(fields_are_views_of_the_first_segment)
{
    AUTO(hl7_head_done) struct hl7_head h = HL7_HEAD_INIT;
    struct edi_segment msh;
    const char *why;

    add_in_pieces(&h, STR(MSH "\rPID|1\r"), 7);
    CHECK(hl7_head_msh(&h, &msh, &why));
    CHECK(str_is(hl7_field(&msh, 1), "|") && str_is(hl7_field(&msh, 2), "^~\\&"));
    CHECK(str_is(hl7_field(&msh, 3), "LAB") && str_is(hl7_field(&msh, 10), "42"));
    CHECK(str_is(hl7_component(&msh, 9, 2), "R01") && hl7_component(&msh, 9, 4).len == 0);
    CHECK(hl7_field(&msh, 18).len == 0);
    hl7_head_clear(&h);
    CHECK(h.messages == 0 && !hl7_head_msh(&h, &msh, &why));
}

/* MSH may be as long as the message; what is kept is not. */
TEST(the_first_segment_has_a_limit)
{
    AUTO(hl7_head_done) struct hl7_head h = HL7_HEAD_INIT;
    struct edi_segment msh;
    const char *why;

    hl7_head_add(&h, STR(MSH "|"));
    for (int i = 0; i < 10000; i++)
        hl7_head_add(&h, STR("0123456789"));
    CHECK(h.text.len == HL7_HEAD_MOST && h.whole);
    hl7_head_add(&h, STR("\r" MSH "\r"));
    CHECK(h.text.len == HL7_HEAD_MOST && h.messages == 2);
    CHECK(hl7_head_msh(&h, &msh, &why) && str_is(hl7_field(&msh, 10), "42"));
}

int main(void)
{
    return test_main();
}
