#include "service/schema/xml_schema.h"

#include "base/auto.h"
#include "test.h"

#define XSD(body)                                               \
    "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" " \
    "elementFormDefault=\"qualified\">\n" body "</xs:schema>"
#define ORDER                                                                                    \
    XSD("<xs:element name=\"order\"><xs:complexType><xs:sequence>\n"                             \
        "<xs:element name=\"line\" maxOccurs=\"unbounded\"><xs:complexType>\n"                   \
        "<xs:attribute name=\"qty\" type=\"xs:positiveInteger\" use=\"required\"/>\n"            \
        "<xs:attribute name=\"sku\"><xs:simpleType><xs:restriction base=\"xs:string\">"          \
        "<xs:pattern value=\"[A-Z]-[0-9]+\"/></xs:restriction></xs:simpleType></xs:attribute>\n" \
        "</xs:complexType></xs:element>\n"                                                       \
        "<xs:element name=\"day\" type=\"xs:date\" minOccurs=\"0\"/>\n"                          \
        "</xs:sequence></xs:complexType>\n"                                                      \
        "<xs:unique name=\"u\"><xs:selector xpath=\"line\"/><xs:field "                          \
        "xpath=\"@sku\"/></xs:unique>\n"                                                         \
        "</xs:element>\n")

struct xml_case {
    const char *schema, *document, *want; /* "": valid */
};

/* "" for a document that is valid, or the message; of a schema that is refused, its mistake. */
static const char *says(const struct xml_case *c, const struct xml_schema_file *files, size_t count)
{
    static char text[600];
    struct xml_schema *s = NULL;
    struct err err = { 0 };
    struct service_failure failure = { 0 };

    if (!xml_schema_make(str_of(c->schema), files, count, &s, &err)) {
        (void)snprintf(text, sizeof text, "%s %s", err.kind == ERR_CONFIG ? "config" : "?",
                       err.text);
        return text;
    }
    bool ok = xml_schema_check(s, str_of(c->document), &failure);

    xml_schema_free(s);
    (void)snprintf(text, sizeof text, "%s%s%s", ok ? "" : dead_codes[failure.code], ok ? "" : " ",
                   failure.message);
    return text;
}

static bool is_as_wanted(const struct xml_case *c, const struct xml_schema_file *files,
                         size_t count)
{
    const char *said = says(c, files, count);

    if (c->want[0] == '\0' ? said[0] == '\0' : strstr(said, c->want) != NULL)
        return true;
    printf("# %s\n# want %s\n# got  %s\n", c->document, c->want, said);
    return false;
}

TEST(documents_are_checked_with_place_and_rule)
{
    static const struct xml_case cases[] = {
        { ORDER, "<order><line qty=\"1\"/></order>", "" },
        { ORDER,
          "<order><line qty=\"1\" sku=\"A-1\"/><line qty=\"2\"/><day>2026-11-17</day></order>",
          "" },
        { ORDER, "<order>\n<line qty=\"1\"/>\n<line/></order>",
          "service_failed /order/line[2], line 3: Element 'line': The attribute 'qty' is "
          "required" },
        { ORDER, "<order>\n<line qty=\"0\"/></order>",
          "/order/line, line 2: Element 'line', attribute 'qty': " },
        { ORDER, "<order><line qty=\"1\"/><nope/></order>",
          "/order/nope, line 1: Element 'nope': This element is not expected. Expected is one of" },
        { ORDER, "<order/>", "Missing child element(s)" },
        { ORDER, "<other/>", "No matching global declaration available" },
        { ORDER, "<order>\n<line></order>", "service_failed line 2, column 15: not XML: " },
        { ORDER, "", "line 1: not XML: it is empty" },
        { ORDER,
          "<order xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
          "xsi:noNamespaceSchemaLocation=\"file:///etc/passwd\"><line qty=\"1\"/></order>",
          "" },
        { ORDER, "<!DOCTYPE order [<!ENTITY x SYSTEM \"/etc/passwd\">]><order>&x;</order>",
          "entities are not taken: x" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(is_as_wanted(&cases[i], NULL, 0));
}

#define TEN(x) x x x x x x x x x x

TEST(values_of_the_document_are_not_in_messages)
{
    static const struct xml_case cases[] = {
        /* The message is cut off within the value, which looks like the end of one. */
        { ORDER, "<order><line qty=\"1\"/><day>x' is SECRET" TEN(TEN("long")) "</day></order>",
          "Element 'day':" },
        { ORDER, "<order><line qty=\"SECRET\"/></order>",
          "is not a valid value of the atomic type" },
        { ORDER, "<order><line qty=\"1\"/><day>SECRET' is 'SECRET</day></order>",
          "is not a valid value of the atomic type 'xs:date'" },
        { ORDER, "<order><line qty=\"1\" sku=\"SECRET\"/></order>",
          "[facet 'pattern'] The value is not accepted by the pattern '[A-Z]-[0-9]+'" },
        { ORDER, "<order><line qty=\"1\" sku=\"S-1\"/><line qty=\"1\" sku=\"S-1\"/></order>",
          "Duplicate key-sequence" },
        { XSD("<xs:element name=\"a\"><xs:simpleType><xs:restriction "
              "base=\"xs:string\"><xs:enumeration "
              "value=\"x\"/><xs:enumeration "
              "value=\"y\"/></xs:restriction></xs:simpleType></xs:element>"),
          "<a>SECRET</a>", "The value is not an element of the set {'x', 'y'}" },
        { XSD("<xs:element name=\"a\"><xs:simpleType><xs:restriction "
              "base=\"xs:int\"><xs:maxInclusive "
              "value=\"5\"/></xs:restriction></xs:simpleType></xs:element>"),
          "<a>777123</a>", "The value is greater than the maximum value allowed ('5')" },
        { XSD("<xs:element name=\"a\" type=\"xs:string\" fixed=\"x\"/>"), "<a>SECRET</a>",
          "fixed value constraint" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = says(&cases[i], NULL, 0);

        if (strstr(said, "SECRET") != NULL || strstr(said, "777123") != NULL ||
            strstr(said, "S-1") != NULL)
            printf("# %s\n", said);
        CHECK(strstr(said, "SECRET") == NULL && strstr(said, "777123") == NULL &&
              strstr(said, "S-1") == NULL);
        CHECK(is_as_wanted(&cases[i], NULL, 0));
    }
}

TEST(a_mistake_in_a_schema_is_named_with_its_line)
{
    static const struct xml_case cases[] = {
        { "<a/>", "", "config line 1: " },
        { "<a>\n<b></a>", "", "config line 2, column 8: not XML: " },
        { "", "", "config line 1: not XML: it is empty" },
        { XSD("\n<xs:element name=\"a\" type=\"nope\"/>"), "", "config line 3: " },
        { XSD("<xs:include schemaLocation=\"types.xsd\"/>"), "",
          "config it includes or imports types.xsd, which is not in `includes`" },
        { XSD("<xs:import namespace=\"urn:x\" schemaLocation=\"http://127.0.0.1:9/x.xsd\"/>"), "",
          "config it includes or imports http://127.0.0.1:9/x.xsd, which is not in `includes`" },
        { XSD("<xs:include schemaLocation=\"/etc/passwd\"/>"), "",
          "config it includes or imports /etc/passwd, which is not in `includes`" },
        { "<!DOCTYPE x [<!ENTITY a \"b\">]>" XSD(""), "", "entities are not taken: a" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(is_as_wanted(&cases[i], NULL, 0));
}

TEST(files_of_a_schema_are_found_by_their_location)
{
    static const struct xml_schema_file files[] = {
        { .location = "parts/types.xsd",
          .text = STR(XSD("<xs:include schemaLocation=\"../base.xsd\"/>"
                          "<xs:element name=\"b\" type=\"small\"/>")) },
        { .location = "base.xsd",
          .text = STR(XSD("<xs:simpleType name=\"small\"><xs:restriction base=\"xs:string\">"
                          "<xs:maxLength value=\"3\"/></xs:restriction></xs:simpleType>")) },
        { .location = "http://x.example/other.xsd",
          .text = STR(
              "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" "
              "targetNamespace=\"urn:o\"><xs:element name=\"o\" type=\"xs:int\"/></xs:schema>") },
    };
    static const struct xml_schema_file broken[] = { { .location = "parts/types.xsd",
                                                       .text = STR("<x>") } };
#define WHOLE                                                                                 \
    XSD("<xs:import namespace=\"urn:o\" schemaLocation=\"http://x.example/other.xsd\"/>"      \
        "<xs:include schemaLocation=\"parts/types.xsd\"/>"                                    \
        "<xs:element name=\"a\"><xs:complexType><xs:sequence><xs:element ref=\"b\"/><xs:any " \
        "namespace=\"urn:o\"/></xs:sequence></xs:complexType></xs:element>")
    static const struct xml_case cases[] = {
        { WHOLE, "<a><b>abc</b><o xmlns=\"urn:o\">1</o></a>", "" },
        { WHOLE, "<a><b>abcd</b><o xmlns=\"urn:o\">1</o></a>", "/a/b, line 1: " },
        { WHOLE, "<a><b>abc</b><o xmlns=\"urn:o\">x</o></a>", "line 1: " },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(is_as_wanted(&cases[i], files, 3));
    CHECK(strstr(says(&cases[0], files, 1), "config it includes or imports") != NULL);
    CHECK(strstr(says(&cases[0], broken, 1), "config parts/types.xsd: line 1, column 4: not XML") !=
          NULL);
}

int main(void)
{
    return test_main();
}
