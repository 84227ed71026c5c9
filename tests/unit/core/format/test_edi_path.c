#include "base/auto.h"
#include "core/format/edi_path.h"
#include "core/format/edi_samples.h"
#include "test.h"

/* The value of a path in a text; "-": it is not there, "?": not a path. */
static const char *value_of(enum edi_kind kind, const char *text, const char *path)
{
    static char line[500];
    AUTO(buf_done) struct buf value = BUF_INIT(EDI_BYTES_MOST);
    struct edi_path p;
    struct edi_reader r;
    struct edi_segment s;
    unsigned seen = 0;
    size_t at;

    if (!edi_path_parse(kind, str_of(path), &p))
        return "?";
    edi_reader_init(&r, kind, str_of(text));
    while (edi_next(&r, &s) == EDI_SEGMENT)
        if (str_eq(s.tag, p.tag) && ++seen == p.nth && edi_path_value(kind, &p, &s, &value, &at)) {
            (void)snprintf(line, sizeof line, "%s", value.ptr);
            return line;
        }
    return "-";
}

TEST(edi_path_finds_values)
{
    static const struct {
        enum edi_kind kind;
        const char *path, *want;
    } cases[] = {
        { EDI_HL7, "MSH-1", "|" },
        { EDI_HL7, "MSH-2", "^~\\&" },
        { EDI_HL7, "MSH-3", "LAB" },
        { EDI_HL7, "MSH-4", "WEST^1.2^ISO" },
        { EDI_HL7, "MSH-4.2", "1.2" },
        { EDI_HL7, "MSH-9.1-2", "ORU^R01" },
        { EDI_HL7, "MSH-10.1-2", "77" },
        { EDI_HL7, "PID-3", "4711^^^MR" },
        { EDI_HL7, "PID-3[2]", "99^^^SS" },
        { EDI_HL7, "PID-3[2].4", "SS" },
        { EDI_HL7, "PID-3[3]", "-" },
        { EDI_HL7, "PID-5.1", "Doe & Sons" },
        { EDI_HL7, "PID-5.3", "A&B" },
        { EDI_HL7, "PID-5.3.2", "B" },
        { EDI_HL7, "PID-5.3.3", "-" },
        { EDI_HL7, "PID-5.4", "-" },
        { EDI_HL7, "PID-2", "" },
        { EDI_HL7, "PID-99", "-" },
        { EDI_HL7, "OBX[2]-5", "a\\.br\\b" },
        { EDI_HL7, "OBX[3]-5", "2" },
        { EDI_HL7, "OBX[4]-5", "-" },
        { EDI_HL7, "NK1-2", "-" },
        { EDI_HL7, "PID", "?" },
        { EDI_HL7, "PID-0", "?" },
        { EDI_HL7, "PID-3.", "?" },
        { EDI_HL7, "PID-3[2", "?" },
        { EDI_X12, "ISA06", "ACME           " },
        { EDI_X12, "ISA16", ">" },
        { EDI_X12, "GS06", "7" },
        { EDI_X12, "ST01", "850" },
        { EDI_X12, "N102", "Big > Store" },
        { EDI_X12, "N102-1", "Big " },
        { EDI_X12, "EB03", "30" },
        { EDI_X12, "ISA", "?" },
        { EDI_X12, "ISA0", "?" },
        { EDI_X12, "ISA00", "?" },
        { EDI_EDIFACT, "UNB-2", "5013546025078:14" },
        { EDI_EDIFACT, "UNB-2.1", "5013546025078" },
        { EDI_EDIFACT, "UNB-5", "0212" },
        { EDI_EDIFACT, "UNH[2]-2.1", "INVOIC" },
        { EDI_EDIFACT, "NAD-2.1", "what? 's it" },
        { EDI_EDIFACT, "NAD-2", "what?? ?'s it::9" },
    };
    static const char *const texts[] = { HL7_MESSAGE, X12_INTERCHANGE, EDIFACT_INTERCHANGE };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = value_of(cases[i].kind, texts[cases[i].kind], cases[i].path);

        if (strcmp(got, cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].path, got);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
}

TEST(edi_path_own_fields_are_paths)
{
    struct edi_path p;

    for (int kind = EDI_HL7; kind <= EDI_EDIFACT; kind++)
        for (int what = EDI_OWN_SENDER; what <= EDI_OWN_TYPE; what++) {
            const char *const *paths = edi_own_paths((enum edi_kind)kind, (enum edi_own)what);

            CHECK(paths[0] != NULL);
            for (; *paths != NULL; paths++)
                CHECK(edi_path_parse((enum edi_kind)kind, str_of(*paths), &p));
        }
}

#define MSH "MSH|^~\\&|LAB\r"

TEST(edi_path_sets_a_value_and_nothing_else)
{
    static const struct {
        enum edi_kind kind;
        const char *path, *text, *value, *want; /* want: the text, or a part of the failure */
        bool ok;
    } cases[] = {
        { EDI_HL7, "PID-1", MSH "PID|1|2\rPV1|x\n", "9", MSH "PID|9|2\rPV1|x\n", true },
        { EDI_HL7, "PID-2", MSH "PID|1|2", "", MSH "PID|1|", true },
        { EDI_HL7, "PID-5.2", MSH "PID|1\r", "a&b", MSH "PID|1||||^a\\T\\b\r", true },
        { EDI_HL7, "PID-1[3].1.2", MSH "PID|1~2\r", "x", MSH "PID|1~2~&x\r", true },
        { EDI_HL7, "PID-1.1", MSH "PID|a^b~c\r", "x", MSH "PID|x^b~c\r", true },
        { EDI_HL7, "PID-1", MSH "PID|a^b~c\r", "x", MSH "PID|x~c\r", true },
        { EDI_HL7, "OBX[2]-1", MSH "OBX|1\rOBX|2\r", "3", MSH "OBX|1\rOBX|3\r", true },
        { EDI_HL7, "PID-1", MSH "PID\r", "x", MSH "PID|x\r", true },
        { EDI_HL7, "MSH-3", MSH, "x", "MSH|^~\\&|x\r", true },
        { EDI_HL7, "MSH-5", MSH, "x", "MSH|^~\\&|LAB||x\r", true },
        { EDI_EDIFACT, "BGM-2", "UNB+a'BGM+380'UNZ'", "it's", "UNB+a'BGM+380+it?'s'UNZ'", true },
        { EDI_HL7, "MSH-2", MSH, "x", "MSH says the separators", false },
        { EDI_HL7, "PID-1", MSH, "x", "there is no segment PID", false },
        { EDI_HL7, "PID-1", "PID|1", "x", "HL7: segment 1, byte 1: ", false },
        { EDI_HL7, "PID-1", MSH "PID\r", "a\rb", "a line break would end the segment", false },
        { EDI_HL7, "PID-1[2]", "MSH|^\rPID|1\r", "a", "no separator for this place", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf out = BUF_INIT(1000);
        struct edi_path p;
        struct outlet to;
        struct err err;

        CHECK(edi_path_parse(cases[i].kind, str_of(cases[i].path), &p));
        outlet_init(&to, &out, 1000);
        bool ok = edi_path_set(cases[i].kind, &p, str_of(cases[i].text), str_of(cases[i].value),
                               &to, &err);
        bool right = ok == cases[i].ok && (ok ? str_is(buf_view(&out), cases[i].want)
                                              : strstr(err.text, cases[i].want) != NULL);

        if (!right)
            printf("# %s: %s\n", cases[i].path, ok ? out.ptr : err.text);
        CHECK(right);
        buf_clear(&out);
        if (ok) /* and there it is */
            CHECK(edi_path_get(cases[i].kind, &p, str_of(cases[i].want), &out, &err) &&
                  str_is(buf_view(&out), cases[i].value));
    }
}

TEST(edi_path_tells_what_is_missing_from_what_is_wrong)
{
    AUTO(buf_done) struct buf out = BUF_INIT(1000);
    struct edi_path p;
    struct err err;

    CHECK(edi_path_parse(EDI_HL7, STR("PID-3"), &p));
    CHECK(!edi_path_get(EDI_HL7, &p, STR(MSH), &out, &err) && err.kind == ERR_NONE);
    CHECK(!edi_path_get(EDI_HL7, &p, STR(MSH "PID|1"), &out, &err) && err.kind == ERR_NONE);
    CHECK(!edi_path_get(EDI_HL7, &p, STR("{}"), &out, &err) && err.kind == ERR_PERMANENT);
}

int main(void)
{
    return test_main();
}
