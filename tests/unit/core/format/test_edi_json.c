#include "base/auto.h"
#include "core/format/edi_json.h"
#include "core/format/edi_samples.h"
#include "core/json_scan.h"
#include "test.h"

enum { MOST = 8 << 20 };

static bool is_json(struct str text)
{
    struct json_scan s = { 0 };
    struct err err;

    return json_scan_check(&s, text, &err) && json_scan_check_end(&s, &err);
}

/* There and back gives the same bytes. */
static bool goes_round(enum edi_kind kind, struct str text)
{
    AUTO(buf_done) struct buf json = BUF_INIT(MOST);
    AUTO(buf_done) struct buf back = BUF_INIT(MOST);
    struct err err = { 0 };
    bool ok = edi_to_json(kind, text, MOST, &json, &err) && is_json(buf_view(&json)) &&
              edi_from_json(kind, buf_view(&json), MOST, &back, &err) &&
              str_eq(buf_view(&back), text);

    if (!ok)
        printf("# %s: %s\n# %s# %s\n", text.ptr, err.text, json.ptr, back.ptr);
    return ok;
}

TEST(edi_json_gives_the_same_bytes_back)
{
    static const struct {
        enum edi_kind kind;
        struct str text;
    } cases[] = {
        { EDI_HL7, STR(HL7_MESSAGE) },
        { EDI_HL7, STR("MSH|^~\\&|a") },
        { EDI_HL7, STR("MSH|^~\\&|a\nPID|1\n\n") },
        { EDI_HL7, STR("MSH|^~\\&|a\r\nPID|1\rPV1||\n \r\n") },
        { EDI_HL7, STR("\xef\xbb\xbfMSH|^~\\&|a\rPID|1") },
        { EDI_HL7, STR("\x0bMSH|^~\\&|a\rPID|1\r\x1c\r") },
        { EDI_HL7, STR("MSH|^~\\&|||||||||||\rNK1||||\rPV1\r") },
        { EDI_HL7, STR("MSH|^~\\&|a~^&~||~|^|&|a^^|&&^~\r") },
        { EDI_HL7, STR("MSH#:;!%#a!F!b#x!S!!R!!T!!E!#1.10#00012345678901234567890\r") },
        { EDI_HL7,
          STR("MSH|^~\\&|\\F\\|\\.br\\|\\X0D0A\\|C:\\temp|\\E\\.br\\E\\|\\|\\\\|\\Zx\\\r") },
        { EDI_HL7, STR("MSH|^~\\&|\xe4\xf6|caf\xc3\xa9|a\tb\"c\\E\\\r") },
        { EDI_HL7, STR("MSH|^~ &|a b c d|  | F F \r") }, /* a blank that escapes */
        { EDI_HL7, STR("MSH|^~\\&#|a\rPID|1\r") },
        { EDI_HL7, STR("FHS|^~\\&|1\rBHS$:;!%$2\rMSH|^\rPID|a~b&c\rBTS|1\r") },
        { EDI_X12, STR(X12_INTERCHANGE) },
        { EDI_X12, STR(X12_INTERCHANGE X12_INTERCHANGE) },
        { EDI_X12, STR("\n" X12_ISA("000000001", "A>B            ") "GS*~ST**~IEA~\n\n") },
        { EDI_EDIFACT, STR(EDIFACT_INTERCHANGE) },
        { EDI_EDIFACT, STR(EDIFACT_INTERCHANGE EDIFACT_INTERCHANGE) },
        { EDI_EDIFACT, STR("UNB+UNOA:2+A+B'LIN:1+x?'y?:?+?\?+::+'UNZ+1'") },
        { EDI_EDIFACT, STR("UNB+UNOA:2+?a+\xe4'UNZ'\n") },
        { EDI_EDIFACT, STR("UNB+UNOW:4+a*b+c?*d'RFF+x*y:z*'UNZ'") },
        { EDI_EDIFACT, STR("UNA;!.# |UNB!a|\nUNH!#|b;;c!|\nUNZ!1|\nUNB+UNOW:4+x*y'UNZ+1'") },
        { EDI_EDIFACT, STR("UNA:+.  'UNB+a?:b'") }, /* nothing releases */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(goes_round(cases[i].kind, cases[i].text));
}

TEST(edi_json_has_one_shape)
{
    AUTO(buf_done) struct buf json = BUF_INIT(MOST);
    struct err err = { 0 };

    CHECK(edi_to_json(EDI_HL7, STR("MSH|^~\\&|LAB|W^1\rPID|1||4711^^^MR~99||Doe \\T\\ Sons^A&B"),
                      MOST, &json, &err));
    CHECK(str_is(buf_view(&json), "{\"format\":\"hl7\",\"end\":\"\\r\",\"segments\":[\n"
                                  "[\"MSH\",\"|\",\"^~\\\\&\",[[\"LAB\"]],[[\"W\",\"1\"]]],\n"
                                  "[\"PID\",[[\"1\"]],[],[[\"4711\",\"\",\"\",\"MR\"],[\"99\"]],[],"
                                  "[[\"Doe & Sons\",[\"A\",\"B\"]]],{\"end\":\"\"}]\n]}\n"));
    buf_clear(&json);
    CHECK(edi_to_json(EDI_EDIFACT, STR("UNB+UNOC:3+a?+b'RFF+?x'"), MOST, &json, &err));
    CHECK(
        str_is(buf_view(&json),
               "{\"format\":\"edifact\",\"end\":\"'\",\"segments\":[\n"
               "[\"UNB\",[[\"UNOC\",\"3\"]],[[\"a+b\"]]],\n[\"RFF\",[[{\"raw\":\"?x\"}]]]\n]}\n"));
}

/* What a program made, not we. */
TEST(edi_json_is_generous_with_what_comes_back)
{
    static const struct {
        enum edi_kind kind;
        const char *json, *want;
    } cases[] = {
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",\"LAB\"],[\"PID\",1,null,[4711,5]]]}",
          "MSH|^~\\&|LAB\rPID|1||4711~5\r" },
        { EDI_HL7,
          "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",{\"end\":\"\"}],[\"PID\",1.10]],\"end\":"
          "\"\\n\"}",
          "MSH|^~\\&\nPID|1.10\n" }, /* only the last may be without its end */
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",[[\"a|b^c\\\\\",[\"x&y\",\"z\"]]]]]}",
          "MSH|^~\\&|a\\F\\b\\S\\c\\E\\^x\\T\\y&z\r" },
        { EDI_EDIFACT, "{\"segments\":[[\"UNB\",[[\"UNOC\",3]],1e+5],[\"RFF\",\"it's\"]]}",
          "UNB+UNOC:3+1e?+5'RFF+it?'s'" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf back = BUF_INIT(MOST);
        struct err err = { 0 };

        buf_puts(&back, "kept ");
        CHECK(edi_from_json(cases[i].kind, str_of(cases[i].json), MOST, &back, &err));
        if (!str_is(str_from(buf_view(&back), 5), cases[i].want))
            printf("# %s\n", back.ptr);
        CHECK(str_is(str_from(buf_view(&back), 5), cases[i].want));
    }
}

TEST(edi_json_says_what_is_wrong)
{
    static const struct {
        enum edi_kind kind;
        const char *json, *want;
    } cases[] = {
        { EDI_HL7, "", "JSON: byte 0: " },
        { EDI_HL7, "[]", "JSON: byte 1: an object with a list `segments` is expected" },
        { EDI_HL7, "{}", "the list `segments` is missing" },
        { EDI_HL7, "{\"segments\":1}", "`segments` is a list" },
        { EDI_HL7, "{\"format\":\"x12\",\"segments\":[]}", "its format is `x12`, not hl7" },
        { EDI_HL7, "{\"segments\":[]}", "the text ends within its header" },
        { EDI_HL7, "{\"segments\":[1]}", "a segment is a list" },
        { EDI_HL7, "{\"segments\":[[1]]}",
          "segment 1, byte 15: the first item of a segment is its name" },
        { EDI_HL7, "{\"segments\":[[]]}", "a segment without a name" },
        { EDI_HL7, "{\"segments\":[[\"PID\"]]}", "it begins with neither MSH, FHS nor BHS" },
        { EDI_HL7, "{\"segments\":[[\"MSH\"]]}", "the header needs its separators" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"||\"]]}",
          "item 1 of a header is the field separator" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^^\"]]}",
          "two of the separators are the same" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^\",[[[\"a\"]]]]]}", NULL },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^\",[\"a\",\"b\"]]]}",
          "the header names no separator for repetitions" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",[[[[\"a\"]]]]]]}",
          "a list is not expected here" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",\"a\\rb\"]]}",
          "a line break would end the segment" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",{\"x\":1}]]}",
          "an object here has one key" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",{\"hex\":\"0\"}]]}",
          "odd number of digits" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",{\"raw\":\"\\ud800\"}]]}",
          "surrogates" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\"],[\"pid\"]]}",
          "what comes out is not right: HL7: segment 2" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\"],[\"PID\",{\"end\":\"\\r\"},1]]}",
          "`end` is the last item" },
        { EDI_HL7, "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\"],[\"PID\"", "JSON: byte 39: a comma" },
        { EDI_X12, "{\"segments\":[[\"ISA\",\"00\"]]}",
          "ISA has 6 bytes with its separators, not 105" },
        { EDI_X12, "{\"segments\":[[\"GS\",\"00\"]]}", "an interchange begins with ISA" },
        { EDI_EDIFACT, "{\"segments\":[[\"UNA\",\":+.\"]]}", "UNA has six separators" },
        { EDI_EDIFACT, "{\"segments\":[[\"UNB\",{\"raw\":\"'UNZ\"}]]}",
          "has 2 segments instead of 1" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf back = BUF_INIT(MOST);
        struct err err = { 0 };
        bool ok = edi_from_json(cases[i].kind, str_of(cases[i].json), MOST, &back, &err);

        if (cases[i].want == NULL ? !ok : ok || strstr(err.text, cases[i].want) == NULL)
            printf("# %s: %s\n", cases[i].json, ok ? back.ptr : err.text);
        CHECK(ok == (cases[i].want == NULL));
        CHECK(ok || (strstr(err.text, cases[i].want) != NULL && back.len == 0));
    }
}

TEST(edi_json_keeps_to_its_limit)
{
    AUTO(buf_done) struct buf json = BUF_INIT(MOST);
    AUTO(buf_done) struct buf whole = BUF_INIT(MOST);
    AUTO(buf_done) struct buf back = BUF_INIT(MOST);
    struct err err = { 0 };

    CHECK(edi_to_json(EDI_X12, STR(X12_INTERCHANGE), MOST, &whole, &err));
    CHECK(edi_to_json(EDI_X12, STR(X12_INTERCHANGE), whole.len, &json, &err));
    buf_clear(&json);
    CHECK(!edi_to_json(EDI_X12, STR(X12_INTERCHANGE), whole.len - 1, &json, &err));
    CHECK(err.kind == ERR_LIMIT && json.len == 0);
    for (size_t most = 0; most < sizeof X12_INTERCHANGE - 1; most++) {
        CHECK(!edi_from_json(EDI_X12, buf_view(&whole), most, &back, &err));
        CHECK(err.kind == ERR_LIMIT && back.len == 0);
    }
    CHECK(!edi_to_json(EDI_X12, STR("ISA*00"), MOST, &json, &err));
    CHECK(err.kind == ERR_PERMANENT && strstr(err.text, "X12: segment 1, byte 7: ") != NULL);
}

int main(void)
{
    return test_main();
}
