#include "extract_test.h"

#define MSH "MSH|^~\\&|LAB|WEST^1.2^ISO|HIS|EAST|20261115||ORU^R01^ORU_R01|77|P|2.5\r"
#define ISA                                                                               \
    "ISA*00*          *00*          *ZZ*ACME           *ZZ*HUB            *261115*1200*U" \
    "*00401*000000001*0*P*>~"
#define UNB "UNB+UNOC:3+5013546025078:14+5030670154036:14+060223:1601+0212'"

TEST(extract_edi_finds_values)
{
    static const struct asked_case cases[] = {
        { "hl7:MSH-3", MSH, "LAB" },
        { "hl7:MSH-4", MSH, "WEST^1.2^ISO" },
        { "hl7:MSH-4.1", MSH, "WEST" },
        { "hl7:PID-5.1", MSH "PID|1||||Doe \\T\\ Sons^Jane\r", "Doe & Sons" },
        { "hl7:OBX[2]-5", MSH "OBX|1||||a\rOBX|2||||b\r", "b" },
        { "hl7:PID-3[2].1", "MSH#:;\rPID###1;2:x\r", "2" },
        { "hl7", MSH, "WEST" },
        { "hl7", "MSH|^~\\&|LAB||HIS\r", "LAB" },
        { "x12:ISA06", ISA, "ACME" },
        { "x12:N104", ISA "N1*ST*a*92*4711~", "4711" },
        { "x12", "\r\n" ISA, "ACME" },
        { "edifact:UNB-2", UNB, "5013546025078:14" },
        { "edifact:NAD[2]-2.1", UNB "NAD+BY+a'NAD+SU+b?+::9'", "b+" },
        { "edifact", "UNA:+.? '\n" UNB, "5013546025078" },
    };

    CHECK(ASKED_ALL(cases, false));
    CHECK(ASKED_ALL(cases, true));
}

/* proves: EX5 */
TEST(extract_edi_says_where_it_failed)
{
    static const struct asked_case cases[] = {
        { "hl7:PID-3", MSH, "no sender: `hl7:PID-3` is not there" },
        { "hl7:MSH-40", MSH, "`hl7:MSH-40` is not in its segment, at byte 1, line 1" },
        { "hl7:MSH-8", MSH, "`hl7:MSH-8` is empty" },
        { "hl7:MSH-3", "{\"a\":1}",
          "`hl7:MSH-3`: the body is not HL7: segment 1: it begins with neither MSH, FHS nor BHS, "
          "at "
          "byte 1, line 1" },
        { "hl7:OBX-3", MSH "\nPID|1\r\nx|1\r\n",
          "`hl7:OBX-3`: the body is not HL7: segment 3: no segment name of three letters and "
          "digits, "
          "at byte 79, line 3" },
        { "hl7", "MSH|^^\\&|",
          "`hl7:MSH-4.1`: the body is not HL7: segment 1: two of the separators are the same byte, "
          "at byte 5, line 1" },
        { "x12:ISA06", "ISA*00*",
          "the body is not X12: segment 1: the text ends within its header" },
        { "x12:GS02", ISA "GS*PO",
          "segment 2: the text ends within a segment: its terminator is missing" },
        { "edifact:UNB-2", "UNH+1'",
          "the body is not EDIFACT: segment 1: an interchange begins with UNA or UNB" },
        { "hl7:PID-5", MSH "PID|1||||\xe4\r", "sender: `hl7:PID-5` is not UTF-8, at byte" },
        { "hl7:PID-5", MSH "PID|1||||a\x01z\r", "sender: `hl7:PID-5` has control characters" },
    };

    CHECK(ASKED_ALL(cases, false));
}

TEST(extract_edi_by_a_bare_word)
{
    static const struct {
        const char *yaml, *body, *want;
    } cases[] = {
        { "hl7", MSH, "WEST|EAST|ORU^R01" },
        { "hl7", "MSH|^~\\&|LAB||HIS|||||ACK|1\r",
          "extract_failed: no type: `hl7:MSH-9.1-2` is empty, at byte 22, line 1" },
        { "hl7", "MSH|^~\\&|LAB||HIS||||ACK|1\r", "LAB|HIS|ACK" },
        { "x12", ISA "GS*PO*a*b~ST*850*1~", "ACME|HUB|850" },
        { "x12", ISA "GS*FA*a*b~", "ACME|HUB|FA" },
        { "edifact", UNB "UNH+1+INVOIC:D:96A:UN'", "5013546025078|5030670154036|INVOIC" },
        { "{ sender: 'value:me', type: hl7, attributes: { id: 'hl7:MSH-10' } }", MSH,
          "me|-|ORU^R01 id=77" },
        { "{ sender: [hl7, x12, edifact, 'value:none'] }", ISA, "ACME|-|-" },
        { "{ sender: [hl7, x12, edifact, 'value:none'] }", "a,b\n1,2\n", "none|-|-" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct extractor *x = extractor_of(cases[i].yaml, false, &err);
        const char *got =
            asked(x, &(struct extract_source){ .body = str_of(cases[i].body), .whole = true });

        if (strcmp(got, cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].yaml, got);
        CHECK(strcmp(got, cases[i].want) == 0);
        extractor_free(x);
    }
}

/* proves: EX10 */
TEST(extract_edi_has_budgets)
{
    AUTO_TEXT wide = repeated(MSH "PID|", "^", 1100000, "\r");
    AUTO_TEXT many = repeated(MSH, "NTE|1\r", EXTRACT_BYTES_MOST / 8, "");
    AUTO_TEXT cut = repeated(MSH, "NTE|1\r", EXTRACT_BYTES_MOST / 6, "PID|1||4711\r");
    char yaml[2000] = "attributes:\n";
    size_t n = strlen(yaml);
    struct err err;

    CHECK(
        strstr(asked_one("hl7:PID-1", str_of(wide), true, false),
               "budget: sender: `hl7:PID-1`: segment 2: the segment has more than 1000000 parts") !=
        NULL);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(yaml + n, sizeof yaml - n, "  a%d: \"hl7:PID-%d\"\n", i, i + 1);
    struct extractor *x = extractor_of(yaml, false, &err);

    CHECK(strstr(asked(x, &(struct extract_source){ .body = str_of(many), .whole = true }),
                 "budget: attribute a0: `hl7:PID-1`: the body has too many segments") != NULL);
    extractor_free(x);
    CHECK(strstr(asked_one("hl7:PID-3", str_of(cut), true, false),
                 "is not in the first 4194304 bytes of the body") != NULL);
    CHECK(strstr(asked_one("hl7:PID-3", STR(MSH "PID|1||47"), false, false),
                 "is not in the first") != NULL); /* it may go on */
}

int main(void)
{
    return test_main();
}
