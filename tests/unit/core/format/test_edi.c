#include <stdlib.h>

#include "base/auto.h"
#include "base/buf.h"
#include "core/format/edi.h"
#include "core/format/edi_samples.h"
#include "test.h"

/* "TAG@offset ..." of all segments, and the message of the failure, if there is one. */
static const char *segments_of(enum edi_kind kind, struct str text)
{
    static char line[1000];
    struct edi_reader r;
    struct edi_segment s;
    struct err err = { 0 };
    enum edi_found found;
    size_t n = 0, covered;

    edi_reader_init(&r, kind, text);
    covered = r.start;
    line[0] = '\0';
    while ((found = edi_next(&r, &s)) == EDI_SEGMENT && n < sizeof line - 300) {
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%.*s@%zu", n > 0 ? " " : "",
                              STR_ARG(s.tag), s.at);
        if (s.at != covered || s.text.ptr != text.ptr + s.at ||
            s.end.ptr != s.text.ptr + s.text.len)
            return "the views do not cover the text";
        covered += s.text.len + s.end.len;
    }
    if (found == EDI_END && covered != text.len)
        return "bytes are left";
    if (found == EDI_WRONG) {
        (void)edi_fail(&r, &err);
        (void)snprintf(line + n, sizeof line - n, "%s%s", n > 0 ? " " : "", err.text);
    }
    return line;
}

TEST(edi_finds_segments)
{
    static const struct {
        enum edi_kind kind;
        const char *text, *want;
    } cases[] = {
        { EDI_HL7, "MSH|^~\\&|a\rPID|1\r", "MSH@0 PID@11" },
        { EDI_HL7, "MSH|^~\\&|a\nPID|1", "MSH@0 PID@11" },
        { EDI_HL7, "MSH|^~\\&|a\r\n\r\n \r\nPID|1\r\n\n", "MSH@0 PID@17" },
        { EDI_HL7, "\xef\xbb\xbf\r\nMSH|^~\\&|a\rZ99\r", "MSH@5 Z99@16" },
        { EDI_HL7, "\x0bMSH|^~\\&|a\rPID|1\r\x1c\r", "MSH@1 PID@12" },
        { EDI_HL7, "MSH|^~ &|a b c\rPID|1", "MSH@0 PID@15" }, /* a blank that escapes */
        { EDI_HL7, "FHS#:;\rBHS|^~\\&|\rMSH$!|$x\rBTS$1\r", "FHS@0 BHS@7 MSH@17 BTS@26" },
        { EDI_X12, X12_INTERCHANGE,
          "ISA@0 GS@107 ST@143 N1@156 EB@175 SE@191 ST@202 BCH@215 SE@223 GE@234 IEA@242" },
        { EDI_EDIFACT, EDIFACT_INTERCHANGE,
          "UNA@0 UNB@11 UNH@75 NAD@99 UNT@125 UNH@135 BGM@159 UNT@169 UNZ@179" },
        { EDI_EDIFACT, "UNB+UNOA:2+A+B'LIN:1+x?'y'UNZ+1'", "UNB@0 LIN@15 UNZ@26" },
        { EDI_EDIFACT, "UNA;!.# |UNB!a|UNH!#|b|UNZ!1|UNB+UNOW:4+x*y'",
          "UNA@0 UNB@9 UNH@15 UNZ@23 UNB@29" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = segments_of(cases[i].kind, str_of(cases[i].text));

        if (strcmp(got, cases[i].want) != 0)
            printf("# case %zu: %s\n", i, got);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
}

/* proves: EX5 */
TEST(edi_says_where_a_text_is_wrong)
{
    static const struct {
        enum edi_kind kind;
        const char *text, *want;
    } cases[] = {
        { EDI_HL7, "", "HL7: segment 1, byte 1: the text ends within its header" },
        { EDI_HL7, "PID|1\r", "HL7: segment 1, byte 1: it begins with neither MSH, FHS nor BHS" },
        { EDI_HL7, "MSH|^~", "HL7: segment 1, byte 7: the text ends within its header" },
        { EDI_HL7, "MSHa^~\\&|",
          "HL7: segment 1, byte 4: this byte cannot be the field separator" },
        { EDI_HL7, "MSH|^~\\x|", "HL7: segment 1, byte 8: this byte cannot be a separator" },
        { EDI_HL7, "MSH\t^~\\&\tA",
          "HL7: segment 1, byte 4: this byte cannot be the field separator" },
        { EDI_HL7, "MSH|^\x1d\\&|A", "HL7: segment 1, byte 6: this byte cannot be a separator" },
        { EDI_HL7, "MSH|^^\\&|",
          "HL7: segment 1, byte 5: two of the separators are the same byte" },
        { EDI_HL7, "MSH|^~\\&|a\rpid|1\r",
          "MSH@0 HL7: segment 2, byte 12: no segment name of three letters and digits" },
        { EDI_HL7, "MSH|^~\\&|a\rPIDX|1\r",
          "MSH@0 HL7: segment 2, byte 12: no segment name of three letters and digits" },
        { EDI_X12, "ISA*00*", "X12: segment 1, byte 8: the text ends within its header" },
        { EDI_X12, "ISA*0*x",
          "X12: segment 1, byte 7: ISA has fixed widths, and here its element separator is "
          "missing" },
        { EDI_X12, X12_ISA("000000001", X12_ACME) "GS*PO",
          "ISA@0 X12: segment 2, byte 112: the text ends within a segment: its terminator is "
          "missing" },
        { EDI_X12, X12_ISA("000000001", X12_ACME) "IEA*1*1~GS*PO~",
          "ISA@0 IEA@106 X12: segment 3, byte 115: an interchange begins with ISA" },
        { EDI_X12, X12_ISA("000000001", X12_ACME) "*1~",
          "ISA@0 X12: segment 2, byte 107: no segment name of two or three letters and digits" },
        { EDI_EDIFACT, "UNA::.? '",
          "EDIFACT: segment 1, byte 4: two of the separators are the same byte" },
        { EDI_EDIFACT, "UNAx:.? '",
          "EDIFACT: segment 1, byte 4: UNA has a byte that cannot separate" },
        { EDI_EDIFACT, "UNB+UNOA:2*x+A'",
          "EDIFACT: segment 1, byte 11: UNB begins with a syntax identifier and its version, such "
          "as "
          "UNOC:3" },
        { EDI_HL7, "MSH|^~\\&|a\rMSH",
          "MSH@0 HL7: segment 2, byte 15: the text ends within its header" },
        { EDI_X12, X12_ISA("000000001", X12_ACME) X12_ISA("000000001", X12_ACME),
          "ISA@0 X12: segment 2, byte 107: ISA, but the interchange before has not ended: IEA is "
          "missing" },
        { EDI_EDIFACT, "UNB+A'UNB+A'",
          "UNB@0 EDIFACT: segment 2, byte 7: UNB, but the interchange before has not ended: UNZ is "
          "missing" },
        { EDI_EDIFACT, "UNA:+.? 'UNH+1'",
          "UNA@0 EDIFACT: segment 2, byte 10: behind UNA stands UNB" },
        { EDI_EDIFACT, "UNH+1'",
          "EDIFACT: segment 1, byte 1: an interchange begins with UNA or UNB" },
        { EDI_EDIFACT, "UNB+UNOA:2+A?'",
          "EDIFACT: segment 1, byte 15: the text ends within a segment: its terminator is "
          "missing" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = segments_of(cases[i].kind, str_of(cases[i].text));

        if (strcmp(got, cases[i].want) != 0)
            printf("# case %zu: %s\n", i, got);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
}

/* proves: EX10 */
TEST(edi_has_limits)
{
    AUTO(buf_done) struct buf b = BUF_INIT((size_t)80 << 20);

    buf_puts(&b, "MSH|^~\\&|a\rPID");
    for (int i = 0; i <= EDI_PIECES_MOST; i++)
        buf_putc(&b, '|');
    CHECK(strcmp(segments_of(EDI_HL7, buf_view(&b)),
                 "MSH@0 HL7: segment 2, byte 12: the segment has more than 1000000 parts") == 0);
    while (b.len <= EDI_BYTES_MOST)
        buf_puts(&b,
                 "\rOBX|1|TX|||0123456789012345678901234567890123456789012345678901234567890123");
    CHECK(strcmp(segments_of(EDI_HL7, buf_view(&b)),
                 "HL7: segment 1, byte 67108865: the text has more than 64 MiB") == 0);
}

TEST(edi_knows_the_separators)
{
    struct edi_reader r;
    struct edi_segment s;

    edi_reader_init(&r, EDI_X12, STR(X12_INTERCHANGE));
    CHECK(edi_next(&r, &s) == EDI_SEGMENT && s.marks.element == '*' && s.marks.component == '>' &&
          s.marks.repetition == '^' && s.marks.end == '~' && s.marks.escape == '\0');
    edi_reader_init(&r, EDI_EDIFACT, STR("UNB+UNOW:4+x'"));
    CHECK(edi_next(&r, &s) == EDI_SEGMENT && s.marks.repetition == '*' && s.marks.releases);
    edi_reader_init(&r, EDI_EDIFACT, STR("UNA;!.#*|UNB!a|"));
    CHECK(edi_next(&r, &s) == EDI_SEGMENT && edi_next(&r, &s) == EDI_SEGMENT);
    CHECK(s.marks.repetition == '*' && s.marks.escape == '#' && s.marks.component == ';');
    edi_reader_init(&r, EDI_HL7, STR("MSH|^\r"));
    CHECK(edi_next(&r, &s) == EDI_SEGMENT && s.marks.component == '^' && s.marks.repetition == 0);
}

TEST(edi_counts_elements_as_the_standard_does)
{
    struct edi_reader r;
    struct edi_segment s;
    struct str e;

    edi_reader_init(&r, EDI_HL7, STR(HL7_MESSAGE));
    CHECK(edi_next(&r, &s) == EDI_SEGMENT);
    CHECK(edi_element(&s, 1, &e) && str_is(e, "|"));
    CHECK(edi_element(&s, 2, &e) && str_is(e, "^~\\&"));
    CHECK(edi_element(&s, 4, &e) && str_is(e, "WEST^1.2^ISO"));
    CHECK(!edi_element(&s, 0, &e) && !edi_element(&s, 13, &e) && edi_element(&s, 12, &e));
    CHECK(edi_next(&r, &s) == EDI_SEGMENT);
    CHECK(edi_element(&s, 1, &e) && str_is(e, "1") && edi_element(&s, 2, &e) && e.len == 0);
    edi_reader_init(&r, EDI_EDIFACT, STR("UNB+UNOA+a?+b+c'"));
    CHECK(edi_next(&r, &s) == EDI_SEGMENT);
    CHECK(edi_element(&s, 2, &e) && str_is(e, "a?+b") && edi_element(&s, 3, &e) && str_is(e, "c"));
}

int main(void)
{
    return test_main();
}
