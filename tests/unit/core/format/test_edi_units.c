#include <stdlib.h>

#include "base/auto.h"
#include "core/format/edi_samples.h"
#include "core/format/edi_units.h"
#include "test.h"

/* All units as "<head|bytes|tail>", and the failure, if there is one; given in pieces. */
static void units_of(enum edi_kind kind, enum edi_unit unit, const char *tag, struct str text,
                     size_t piece, struct buf *ret)
{
    AUTO(edi_units_done) struct edi_units u;
    enum edi_units_event e;
    struct err err = { 0 };
    size_t at = 0;

    buf_clear(ret);
    edi_units_init(&u, kind, unit, str_of(tag));
    while ((e = edi_units_next(&u)) != EDI_UNITS_END && e != EDI_UNITS_WRONG) {
        if (e == EDI_UNITS_BEGIN) {
            buf_putc(ret, '<');
            buf_put(ret, buf_view(&u.head));
            buf_putc(ret, '|');
        } else if (e == EDI_UNITS_BYTES) {
            buf_put(ret, u.bytes);
        } else if (e == EDI_UNITS_CLOSE) {
            buf_putc(ret, '|');
            buf_put(ret, buf_view(&u.tail));
            buf_putc(ret, '>');
        } else {
            size_t n = text.len - at < piece ? text.len - at : piece;

            edi_units_give(&u, str_mem(text.ptr + at, n), at + n == text.len);
            at += n;
        }
    }
    if (e == EDI_UNITS_WRONG) {
        (void)edi_units_fail(&u, &err);
        buf_puts(ret, err.text);
    }
}

#define ISA1    X12_ISA("000000001", X12_ACME)
#define ISA2    X12_ISA("000000002", X12_ACME)
#define GS1     "GS*PO*A*B*20261115*1200*7*X*005010~"
#define UNB     "UNB+UNOC:3+A+B+060223:1601+77'"
#define MESSAGE "MSH|^~\\&|a\rPID|1\r"

static const struct {
    enum edi_kind kind;
    enum edi_unit unit;
    const char *tag, *text, *want;
} cases[] = {
    { EDI_HL7, EDI_UNIT_MESSAGE, "", MESSAGE, "<|" MESSAGE "|>" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", MESSAGE "\n" MESSAGE, "<|" MESSAGE "\n|><|" MESSAGE "|>" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "",
      "FHS|^~\\&|\rBHS|^~\\&|\r" MESSAGE MESSAGE "BTS|2\rBHS|^~\\&|\rBTS|0\rFTS|2\r",
      "<|" MESSAGE "|><|" MESSAGE "|>" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", "BHS|^~\\&|\rBTS|0\r", "" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", "MSH|^~\\&|a\rPID", "<|MSH|^~\\&|a\rPID|>" },
    { EDI_HL7, EDI_UNIT_SEGMENTS, "OBR",
      "MSH|^~\\&|a\rPID|1\rOBR|1\rOBX|1\rOBR|2\r" MESSAGE "OBR|3\r",
      "<MSH|^~\\&|a\rPID|1\r|OBR|1\rOBX|1\r|><MSH|^~\\&|a\rPID|1\r|OBR|2\r|><" MESSAGE
      "|OBR|3\r|>" },
    { EDI_X12, EDI_UNIT_INTERCHANGE, "",
      ISA1 "\r\n" GS1 "ST*1*1~SE*1*1~GE*1*7~TA1*x~IEA*1*000000001~\n" ISA2 "IEA*0*000000002~",
      "<|" ISA1 "\r\n" GS1 "ST*1*1~SE*1*1~GE*1*7~TA1*x~IEA*1*000000001~\n|><|" ISA2
      "IEA*0*000000002~|>" },
    { EDI_X12, EDI_UNIT_GROUP, "", ISA1 GS1 "ST*1*1~SE*1*1~GE*1*7~\n" GS1 "GE*0*7~IEA*2*000000001~",
      "<" ISA1 "|" GS1 "ST*1*1~SE*1*1~GE*1*7~\n|IEA*1*000000001~><" ISA1 "|" GS1
      "GE*0*7~|IEA*1*000000001~>" },
    { EDI_X12, EDI_UNIT_MESSAGE, "",
      ISA1 "\n" GS1 "\nST*1*1~\nSE*1*1~\nST*2*2~\nSE*1*2~\nGE*2*7~\nIEA*1*000000001~\n" ISA2 GS1
           "ST*3*3~SE*1*3~GE*1*7~IEA*1*000000002~",
      "<" ISA1 "\n" GS1 "\n|ST*1*1~\nSE*1*1~\n|GE*1*7~\nIEA*1*000000001~\n><" ISA1 "\n" GS1
      "\n|ST*2*2~\nSE*1*2~\n|GE*1*7~\nIEA*1*000000001~\n><" ISA2 GS1
      "|ST*3*3~SE*1*3~|GE*1*7~IEA*1*000000002~>" },
    { EDI_EDIFACT, EDI_UNIT_INTERCHANGE, "",
      "UNA:+.? '\n" UNB "UNH+1'BGM+a?'b'UNT+3+1'UNZ+1+77'" UNB "UNZ+0+77'\n",
      "<|UNA:+.? '\n" UNB "UNH+1'BGM+a?'b'UNT+3+1'UNZ+1+77'|><|" UNB "UNZ+0+77'\n|>" },
    { EDI_EDIFACT, EDI_UNIT_MESSAGE, "",
      "UNA:+.? '\n" UNB "\nUNH+1'\nBGM+a?\?'\nUNT+3+1'\nUNH+2'\nUNT+2+2'\nUNZ+2+77'\n" UNB
      "UNG+a+b+c+d+9'UNH+3'UNT+2+3'UNE+1+9'UNZ+1+77'",
      "<UNA:+.? '\n" UNB "\n|UNH+1'\nBGM+a?\?'\nUNT+3+1'\n|UNZ+1+77'\n><UNA:+.? '\n" UNB
      "\n|UNH+2'\nUNT+2+2'\n|UNZ+1+77'\n><" UNB
      "UNG+a+b+c+d+9'|UNH+3'UNT+2+3'|UNE+1+9'UNZ+1+77'>" },
    /* what is wrong: no unit is closed that is not whole */
    { EDI_HL7, EDI_UNIT_MESSAGE, "", "PID|1\r",
      "HL7: segment 1, byte 1: it begins with neither MSH, FHS nor BHS" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", "", "HL7: segment 1, byte 1: there is nothing" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", "BHS|^~\\&|\rPID|1\r",
      "HL7: segment 2, byte 11: segment PID stands outside of MSH" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", "BHS|^~\\&|\r" MESSAGE,
      "<|" MESSAGE "HL7: segment 3, byte 22: the text ends within BHS: BTS is missing" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", MESSAGE "BTS|1\r",
      "<|" MESSAGE "HL7: segment 3, byte 18: BTS without BHS before it" },
    { EDI_HL7, EDI_UNIT_MESSAGE, "", "MSH|^~\\&|a\rpid|1\r",
      "<|MSH|^~\\&|a\rHL7: segment 2, byte 12: no segment name of three letters and digits" },
    { EDI_HL7, EDI_UNIT_SEGMENTS, "OBR", MESSAGE,
      "HL7: segment 2, byte 12: the message that begins at byte 1 has no segment OBR" },
    { EDI_X12, EDI_UNIT_MESSAGE, "", ISA1 GS1 "ST*1*1~GE*1*7~",
      "<" ISA1 GS1 "|ST*1*1~X12: segment 4, byte 149: GE, but ST before it has not ended: SE is "
      "missing" },
    { EDI_X12, EDI_UNIT_MESSAGE, "", ISA1 GS1 "ST*1*1~SE*1*1",
      "<" ISA1 GS1 "|ST*1*1~SE*1*1X12: segment 4, byte 149: the text ends within this segment" },
    { EDI_X12, EDI_UNIT_MESSAGE, "", ISA1 "TA1*x~IEA*0*1~",
      "X12: segment 2, byte 107: segment TA1 stands outside of ST and its end" },
    { EDI_X12, EDI_UNIT_MESSAGE, "", ISA1 "ST*1*1~",
      "X12: segment 2, byte 107: ST without GS before it" },
    { EDI_X12, EDI_UNIT_INTERCHANGE, "", ISA1 GS1,
      "<|" ISA1 GS1 "X12: segment 2, byte 107: the text ends within ISA: IEA is missing" },
    { EDI_X12, EDI_UNIT_INTERCHANGE, "", ISA1 "IEA*0*1~XX*1~",
      "<|" ISA1 "IEA*0*1~X12: segment 3, byte 115: an interchange begins with ISA" },
    { EDI_EDIFACT, EDI_UNIT_GROUP, "", UNB "UNH+1'UNT+2+1'UNZ+1+77'",
      "EDIFACT: segment 2, byte 31: UNH stands outside of UNG and its end" },
    { EDI_EDIFACT, EDI_UNIT_GROUP, "", UNB "UNG+a+b+c+d+9'UNE+0+9'UNH+1'UNT+2+1'UNZ+1+77'",
      "<" UNB "|UNG+a+b+c+d+9'UNE+0+9'EDIFACT: segment 4, byte 53: UNH stands outside of UNG and "
      "its end" },
    { EDI_EDIFACT, EDI_UNIT_MESSAGE, "", UNB "UNH+1'UNT+2+1'",
      "<" UNB "|UNH+1'UNT+2+1'EDIFACT: segment 3, byte 37: the text ends within UNB: UNZ is "
      "missing" },
};

/* proves: EX5 */
TEST(edi_units_are_the_same_in_pieces_of_any_size)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1 << 20);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t piece = 1; piece < 300; piece += piece < 12 ? 1 : 37) {
            units_of(cases[i].kind, cases[i].unit, cases[i].tag, str_of(cases[i].text), piece,
                     &got);
            if (!str_is(buf_view(&got), cases[i].want))
                printf("# case %zu, pieces of %zu:\n# %s\n", i, piece, got.ptr);
            CHECK(str_is(buf_view(&got), cases[i].want));
        }
}

/* proves: EX10 */
TEST(edi_units_keep_a_head_of_limited_size)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4 << 20);
    AUTO(buf_done) struct buf got = BUF_INIT(8 << 20);

    buf_puts(&text, "MSH|^~\\&|a\rPID|");
    for (int i = 0; i < EDI_UNITS_HEAD_MOST; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "\rOBR|1\r");
    units_of(EDI_HL7, EDI_UNIT_SEGMENTS, "OBR", buf_view(&text), 1000, &got);
    CHECK(strstr(got.ptr, "more than 65536 bytes stand before the first unit") != NULL);
    units_of(EDI_HL7, EDI_UNIT_MESSAGE, "", buf_view(&text), 1000, &got);
    CHECK(got.len == text.len + 4);

    buf_clear(&text); /* the tail repeats the blanks behind the header for each end */
    buf_puts(&text, "UNB+UNOC:3+A+B+060223:1601+77'");
    for (int i = 0; i < 60000; i++)
        buf_putc(&text, '\n');
    buf_puts(&text, "UNG+a+b+c+d+9'");
    while (text.len < 65000)
        buf_putc(&text, '\n');
    buf_puts(&text, "UNH+1'UNT+2+1'UNE+1+9'UNZ+1+77'");
    units_of(EDI_EDIFACT, EDI_UNIT_MESSAGE, "", buf_view(&text), 1000, &got);
    CHECK(strstr(got.ptr, "UNT+2+1'|UNE+1+9'") != NULL && got.ptr[got.len - 1] == '>');
}

int main(void)
{
    return test_main();
}
