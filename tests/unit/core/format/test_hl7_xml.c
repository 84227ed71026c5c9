#include "base/auto.h"
#include "core/format/edi_samples.h"
#include "core/format/hl7_xml.h"
#include "test.h"

enum { MOST = 8 << 20 };

static bool goes_round(struct str text)
{
    AUTO(buf_done) struct buf xml = BUF_INIT(MOST);
    AUTO(buf_done) struct buf back = BUF_INIT(MOST);
    struct err err = { 0 };
    bool ok = hl7_to_xml(text, MOST, &xml, &err) &&
              hl7_from_xml(buf_view(&xml), MOST, &back, &err) && str_eq(buf_view(&back), text);

    if (!ok)
        printf("# %s: %s\n# %s# %s\n", text.ptr, err.text, xml.ptr, back.ptr);
    return ok;
}

TEST(hl7_xml_gives_the_same_bytes_back)
{
    static const struct str cases[] = {
        STR(HL7_MESSAGE),
        STR("MSH|^~\\&|a"),
        STR("MSH|^~\\&|a\nPID|1\n\n"),
        STR("\xef\xbb\xbfMSH|^~\\&|a\r\nPID|1\rPV1||\n \r\n"),
        STR("MSH|^~\\&|||||||||||\rNK1||||\rPV1\r"),
        STR("MSH|^~\\&|a~^&~||~|^|&|a^^|&&^~\r"),
        STR("MSH#:;!%#a!F!b#x!S!!R!!T!!E!#1.10\r"),
        STR("MSH|^~\\&|\\F\\|\\.br\\|C:\\temp|\\E\\.br\\E\\|\\| x |\t|<>\"'&\r"),
        STR("MSH|^~\\&|\xe4\xf6|caf\xc3\xa9|a\x01z|\xef\xbf\xbf\r"),
        STR("MSH|^~ &|a b c d|  | F F \r"),
        STR("FHS|^~\\&|1\rBHS$:;!%$2\rMSH|^\rPID|a~b&c\rBTS|1\r"),
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(goes_round(cases[i]));
}

TEST(hl7_xml_has_one_shape)
{
    AUTO(buf_done) struct buf xml = BUF_INIT(MOST);
    struct err err = { 0 };

    CHECK(hl7_to_xml(STR("MSH|^~\\&|LAB\rPID||4^M~9|A \\T\\ B&C^\\"), MOST, &xml, &err));
    CHECK(
        str_is(buf_view(&xml),
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HL7Message end=\"&#13;\">\n"
               "<MSH><MSH.1>|</MSH.1><MSH.2>^~\\&amp;</MSH.2><MSH.3><MSH.3.1>LAB</MSH.3.1></MSH.3>"
               "</MSH>\n"
               "<PID end=\"\"><PID.1/><PID.2><PID.2.1>4</PID.2.1><PID.2.2>M</PID.2.2></PID.2>"
               "<PID.2><PID.2.1>9</PID.2.1></PID.2><PID.3><PID.3.1><PID.3.1.1>A &amp; "
               "B</PID.3.1.1><PID.3.1.2>C</PID.3.1.2></PID.3.1><PID.3.2 "
               "as=\"raw\">\\</PID.3.2></PID.3></PID>\n</HL7Message>\n"));
}

#define MSH "<MSH><MSH.1>|</MSH.1><MSH.2>^~\\&amp;</MSH.2></MSH>"

TEST(hl7_xml_back_from_a_style_sheet)
{
    static const struct {
        const char *xml, *want; /* want: the message, or a part of the failure */
        bool ok;
    } cases[] = {
        { "<m>" MSH "<PID><PID.3>a&amp;b</PID.3><PID.5><PID.5.2>x</PID.5.2></PID.5></PID></m>",
          "MSH|^~\\&\rPID|||a\\T\\b||^x\r", true },
        { "<m end='&#10;'>" MSH "</m>", "MSH|^~\\&\n", true },
        { "<m>", "XML: line 1, column 4: no element found", false },
        { "<m/>", "what comes out is not right: HL7: segment 1, byte 1", false },
        { "<!DOCTYPE m [<!ENTITY a 'b'>]><m/>", "a document type declaration is not allowed",
          false },
        { "<m><MSH><MSH.3>a</MSH.3></MSH></m>", "MSH.3 without MSH.1 and MSH.2", false },
        { "<m><MSH><MSH.1>|</MSH.1></MSH></m>", "a header without its separators", false },
        { "<m><MSH><MSH.1>||</MSH.1><MSH.2/></MSH></m>", "MSH-1 is the field separator", false },
        { "<m>" MSH "<PID><PV1.3/></PID></m>", "`PV1.3` in PID: its elements are named PID.1",
          false },
        { "<m>" MSH "<PID><PID.3/><PID.2/></PID></m>", "PID.2 stands behind a higher number",
          false },
        { "<m>" MSH "<PID><PID.9999999/></PID></m>", "its elements are named", false },
        { "<m>" MSH "<PID><PID.1>a<PID.1.1/></PID.1></PID></m>", "text beside elements", false },
        { "<m>" MSH "<PID><PID.1/>a</PID></m>", "text beside elements", false },
        { "<m>" MSH "<PID><PID.1 as='x'/></PID></m>", "`as` is raw or hex", false },
        { "<m>" MSH "<PID><PID.1 as='hex'>0</PID.1></PID></m>", "pairs of hex digits", false },
        { "<m>" MSH "<PID><PID.1>a&#10;b</PID.1></PID></m>", "a line break would end the segment",
          false },
        { "<m>" MSH "<PATIENT/></m>", "`PATIENT` is not the name of a segment", false },
        { "<m>" MSH "<PID><PID.1><PID.1.1><PID.1.1.1><a/></PID.1.1.1></PID.1.1></PID.1></PID></m>",
          "`a` is not expected here", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf back = BUF_INIT(MOST);
        struct err err = { 0 };
        bool ok = hl7_from_xml(str_of(cases[i].xml), MOST, &back, &err);
        bool right = ok == cases[i].ok && (ok ? str_is(buf_view(&back), cases[i].want)
                                              : strstr(err.text, cases[i].want) != NULL);

        if (!right)
            printf("# %s: %s\n", cases[i].xml, ok ? back.ptr : err.text);
        CHECK(right);
    }
}

int main(void)
{
    return test_main();
}
