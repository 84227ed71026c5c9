#include "core/expr.h"

#include "test.h"

TEST(expr_table)
{
    static const struct {
        const char *text;
        bool relative, ok, bare;
        enum expr_source source;
    } cases[] = {
        { "value:order", false, true, false, EXPR_VALUE },
        { "value:", false, false, false, EXPR_VALUE },
        { "header:X-Sender", false, true, false, EXPR_HEADER },
        { "header:X Sender", false, false, false, EXPR_HEADER },
        { "header:", false, false, false, EXPR_HEADER },
        { "query:from", false, true, false, EXPR_QUERY },
        { "name:^([a-z]+)-", false, true, false, EXPR_NAME },
        { "regex:a:b", false, true, false, EXPR_REGEX },
        { "regex:a(b", false, false, false, EXPR_REGEX },
        { "regex:", false, false, false, EXPR_REGEX },
        { "name:[", false, false, false, EXPR_NAME },
        { "json:/a/b~1c/~0", false, true, false, EXPR_JSON },
        { "json:", false, true, false, EXPR_JSON }, /* the whole document */
        { "json:a", false, false, false, EXPR_JSON },
        { "json:/a~2", false, false, false, EXPR_JSON },
        { "json:/a~", false, false, false, EXPR_JSON },
        { "xml:/Order/ShipTo/@id", false, true, false, EXPR_XML },
        { "xml:@to", false, false, false, EXPR_XML },
        { "xml:@to", true, true, false, EXPR_XML },
        { "xml:/a//b", false, true, false, EXPR_XML },
        { "xml:/a[@b='/ c']/text()", false, true, false, EXPR_XML },
        { "xml:/a/@b/c", false, false, false, EXPR_XML },
        { "xml:/a/@", false, false, false, EXPR_XML },
        { "xml:/a b", false, false, false, EXPR_XML },
        { "xml:/", false, false, false, EXPR_XML },
        { "xml:", true, false, false, EXPR_XML },
        { "hl7:MSH-4", false, true, false, EXPR_HL7 },
        { "hl7:PID-3[2].1.2", false, true, false, EXPR_HL7 },
        { "hl7:OBX[2]-5", false, true, false, EXPR_HL7 },
        { "hl7:MSH4", false, false, false, EXPR_HL7 },
        { "hl7:MSH-0", false, false, false, EXPR_HL7 },
        { "hl7:MSH-4.1.2.3", false, false, false, EXPR_HL7 },
        { "hl7:PID-3[x]", false, false, false, EXPR_HL7 },
        { "hl7:msh-4", false, false, false, EXPR_HL7 },
        { "hl7", false, true, true, EXPR_HL7 },
        { "x12:ISA06", false, true, false, EXPR_X12 },
        { "x12:N104", false, true, false, EXPR_X12 },
        { "x12:SVC01-2", false, true, false, EXPR_X12 },
        { "x12:SVC01-", false, false, false, EXPR_X12 },
        { "x12:ISA6", false, false, false, EXPR_X12 },
        { "x12", false, true, true, EXPR_X12 },
        { "edifact:UNB-2", false, true, false, EXPR_EDIFACT },
        { "edifact:UNB-2.1", false, true, false, EXPR_EDIFACT },
        { "edifact:NAD[2]-3", false, true, false, EXPR_EDIFACT },
        { "edifact:UNB", false, false, false, EXPR_EDIFACT },
        { "edifact", false, true, true, EXPR_EDIFACT },
        { "csv:buyer", false, true, false, EXPR_CSV },
        { "csv", false, false, false, EXPR_CSV },
        { "acme", false, false, false, EXPR_VALUE },
        { "", false, false, false, EXPR_VALUE },
        { ":x", false, false, false, EXPR_VALUE },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };
        struct expr expr = { 0 };
        bool ok = expr_parse(str_of(cases[i].text), cases[i].relative, &expr, &err);

        if (ok != cases[i].ok)
            printf("# %s\n", cases[i].text);
        CHECK(ok == cases[i].ok);
        CHECK(ok ? err.kind == ERR_NONE : err.kind == ERR_CONFIG);
        CHECK(!ok || (expr.source == cases[i].source && expr.bare == cases[i].bare));
    }
}

TEST(expr_gives_what_follows_the_colon)
{
    struct expr expr;
    struct err err;

    CHECK(expr_parse(STR("regex:a:b"), false, &expr, &err) && str_is(expr.rest, "a:b"));
    CHECK(expr_parse(STR("hl7"), false, &expr, &err) && expr.rest.len == 0);
}

int main(void)
{
    return test_main();
}
