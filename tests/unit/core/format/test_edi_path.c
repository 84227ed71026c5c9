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

int main(void)
{
    return test_main();
}
