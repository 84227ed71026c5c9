#include "extract_test.h"

#define ORDER                                                                                \
    "<?xml version=\"1.0\"?>\n"                                                              \
    "<!-- c --><Order xmlns:x='u' number='47 11' x:kind='k'>\n"                              \
    "  <ShipTo id=' hub ' x:id='other'><Name>Hub <b>&amp; Co</b> KG</Name></ShipTo>\n"       \
    "  <Ref type='po / no'>P1</Ref><Ref type='so'>S1</Ref><Ref type='po / no'>P2</Ref>\n"    \
    "  <Line><Sku>a</Sku></Line><Line n='2'><Sku>b</Sku><Sku>c</Sku></Line>\n"               \
    "  <x:Ext><x:Id>7</x:Id><Deep><Id q='1'>8</Id><Id>9</Id></Deep></x:Ext>\n"               \
    "  <C><![CDATA[<raw>]]></C><E/><Own> a <i>b</i> c </Own><G xml:lang='de'>\xc3\xa4</G>\n" \
    "</Order>"

TEST(xml_paths)
{
    static const struct asked_case cases[] = {
        { "xml:/Order/@number", ORDER, "47 11" },
        { "xml:/Order/ShipTo/@id", ORDER, "hub" },
        { "xml:/Order/ShipTo/@x:id", ORDER, "other" },
        { "xml:/Order/@kind", ORDER, "k" }, /* by its local name */
        { "xml:/Order/@x", ORDER, "is not there" },
        { "xml:/Order/@xmlns:x", ORDER, "u" },
        { "xml:/Order/ShipTo/Name", ORDER, "Hub & Co KG" },
        { "xml:/Order/ShipTo/Name/text()", ORDER, "Hub  KG" },
        { "xml:/Order/ShipTo/Name/b", ORDER, "& Co" },
        { "xml:/Order/Own/text()", ORDER, "a  c" },
        { "xml:/Order/Ref", ORDER, "P1" },
        { "xml:/Order/Ref[2]", ORDER, "S1" },
        { "xml:/Order/Ref[4]", ORDER, "is not there" },
        { "xml:/Order/Ref[@type='so']", ORDER, "S1" },
        { "xml:/Order/Ref[@type=\"po / no\"]", ORDER, "P1" },
        { "xml:/Order/Ref[@type='po / no'][2]", ORDER, "P2" },
        { "xml:/Order/Ref[2][@type='po / no']", ORDER, "is not there" },
        { "xml:/Order/Ref[3][@type='po / no']", ORDER, "P2" },
        { "xml:/Order/Ref[@none]", ORDER, "is not there" },
        { "xml:/Order/Line[@n]/Sku", ORDER, "b" },
        { "xml:/Order/Line[2]/Sku[2]", ORDER, "c" },
        { "xml:/Order/Line/Sku[2]", ORDER, "c" }, /* of each Line anew */
        { "xml://Sku[2]", ORDER, "c" },
        { "xml:/Order/*[2]", ORDER, "P1" },
        { "xml:/*/Ref[2]", ORDER, "S1" },
        { "xml://Id", ORDER, "7" },
        { "xml://x:Id", ORDER, "7" },
        { "xml://Id[@q]", ORDER, "8" },
        { "xml:/Order//Deep/Id[2]", ORDER, "9" },
        { "xml:/Order//Deep//Id", ORDER, "8" },
        { "xml:/Order/x:Ext/Id", ORDER, "7" },
        { "xml:/Order/Ext/Id", ORDER, "7" },
        { "xml:/Order/y:Ext/Id", ORDER, "is not there" },
        { "xml:/Order/Id", ORDER, "is not there" },
        { "xml:/Id", ORDER, "is not there" },
        { "xml://@q", ORDER, "1" },
        { "xml:/Order//@n", ORDER, "2" },
        { "xml:/Order//@number", ORDER, "47 11" },
        { "xml:/Order/C", ORDER, "<raw>" },
        { "xml:/Order/E", ORDER, "is empty, at byte" },
        { "xml:/Order/G", ORDER, "\xc3\xa4" },
        { "xml:/Order/G/@lang", ORDER, "de" },
        { "xml:/Order/G/@xml:lang", ORDER, "de" },
        { "xml://a//b", "<a><a><b>1</b></a></a>", "1" },
        { "xml://a/b", "<a><x><a><b>1</b></a></x></a>", "1" },
        { "xml://a", "<a>1<a>2</a>3</a>", "123" },
        { "xml://a//a", "<a>1<a>2<a>3</a></a></a>", "23" },
        { "xml:/a//a[2]", "<a><a>1</a><b><a>2</a></b><a>3</a></a>", "3" },
        { "xml:/a", "<a>1</a>", "1" },
        { "xml:/a", "\xef\xbb\xbf<a>1</a>", "1" },
        { "xml:/a", "<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>", "\xc3\xa4" },
        { "xml:/a", "<a>&#x20AC;&#228;</a>", "\xe2\x82\xac\xc3\xa4" },
    };

    CHECK(ASKED_ALL(cases, false));
}

TEST(xml_in_utf16)
{
    static const char body[] = "\xff\xfe<\0a\0>\0\xe4\0<\0/\0a\0>\0";

    CHECK(strcmp(asked_one("xml:/a", str_mem(body, sizeof body - 1), true, false), "\xc3\xa4") ==
          0);
}

TEST(xml_paths_of_a_part)
{
    static const struct asked_case cases[] = {
        { "xml:@to", "<Doc to='hub'><Id>5</Id></Doc>", "hub" },
        { "xml:Id", "<Doc><Id>5</Id></Doc>", "5" },
        { "xml:text()", "<Doc>x<Id>5</Id></Doc>", "x" },
        { "xml:/Doc/Id", "<Doc><Id>5</Id></Doc>", "5" },
        { "xml://Id", "<Doc><Id>5</Id></Doc>", "5" },
        { "xml:Doc", "<Doc><Id>5</Id></Doc>", "is not there" },
    };

    CHECK(ASKED_ALL(cases, true));
}

/* proves: EX5 */
TEST(xml_that_is_not)
{
    static const struct asked_case cases[] = {
        { "xml:/a", "", "the body is not XML: no element found, at byte 1, line 1" },
        { "xml:/a", "{\"a\":1}", "not well-formed (invalid token), at byte 1, line 1" },
        { "xml:/a/b", "<a>\n<c></d>", "the body is not XML: mismatched tag, at byte 10, line 2" },
        { "xml:/a/b", "<a><c>", "no element found" },
        { "xml:/a/b", "<a/><a/>", "junk after document element" },
        { "xml:/a/b", "<a x='1' x='2'/>", "duplicate attribute" },
        { "xml:/a/b", "<a>&nope;</a>", "undefined entity" },
        { "xml:/a/b", "<a>\xff</a>", "not well-formed" },
        { "xml:/a/b", "<a>&#0;</a>", "reference to invalid character number" },
        { "xml:/a/b", "<?xml version='1.0' encoding='nope'?><a/>", "unknown encoding" },
        { "xml:/a", "<a>x\ny</a>", "has control characters, at byte 1, line 1" },
        { "xml:/a/@b", "<a b='x&#10;y'/>", "has control characters" },
    };

    CHECK(ASKED_ALL(cases, false));
}

/* No entities, no files, no network.
 * proves: EX5 EX10 */
TEST(xml_document_type_is_refused)
{
    static const struct asked_case cases[] = {
        { "xml:/a", "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
          "a document type declaration (DOCTYPE) is refused, at byte 13, line 1" },
        { "xml:/a", "<?xml version='1.0'?>\n<!DOCTYPE a SYSTEM 'http://127.0.0.1:1/x'><a>1</a>",
          "is refused, at byte 64, line 2" },
        { "xml:/a",
          "<!DOCTYPE a [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
          "<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;'>"
          "<!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'>]><a>&e;</a>",
          "is refused" },
        { "xml:/a", "<!DOCTYPE a [<!ENTITY % p SYSTEM 'file:///etc/passwd'>%p;]><a>1</a>",
          "is refused" },
        { "xml:/html/body", "<!DOCTYPE html><html><body>1</body></html>", "is refused" },
    };

    CHECK(ASKED_ALL(cases, false));
    CHECK(strstr(asked_one("xml:/a", STR("<!DOCTYPE a []><a>1</a>"), true, false),
                 "extract_failed: no sender") != NULL);
}

/* proves: EX10 */
TEST(xml_bombs)
{
    AUTO_TEXT deep = repeated("", "<a>", 1000000, "");
    AUTO_TEXT fits = repeated("", "<a>", 256, "x");
    AUTO_TEXT over = repeated("", "<a>", 257, "x");
    AUTO_TEXT text = repeated("<a>", "x", 4000000, "</a>");
    AUTO_TEXT name = repeated("<", "a", 4000000, "/>");
    AUTO_TEXT value = repeated("<a b='", "x", 4000000, "'/>");
    AUTO_TEXT many = repeated("<a>", "<b/>", 1000000, "</a>");
    AUTO_TEXT comment = repeated("<!--", "x", 4000000, "--><a>1</a>");
    AUTO_TEXT open = repeated("<a b='", "x", 4000000, "");

    CHECK(strcmp(asked_one("xml:/a/b", str_of(deep), true, false),
                 "budget: sender: `xml:/a/b`: elements stand too deep in each other, at byte 769, "
                 "line 1") == 0);
    CHECK(strstr(asked_one("xml:/a/b", str_of(fits), true, false), "no element found") != NULL);
    CHECK(strstr(asked_one("xml:/a/b", str_of(over), true, false), "budget") != NULL);
    CHECK(strstr(asked_one("xml:/a", str_of(text), true, false), "is too long, at byte 1") != NULL);
    CHECK(strstr(asked_one("xml:/b", str_of(name), true, false), "is not there") != NULL);
    CHECK(strstr(asked_one("xml:/a/@b", str_of(value), true, false), "is too long") != NULL);
    CHECK(strstr(asked_one("xml:/a/c", str_of(many), true, false), "is not there") != NULL);
    CHECK(strcmp(asked_one("xml:/a", str_of(comment), true, false), "1") == 0);
    CHECK(strstr(asked_one("xml:/a", str_of(open), true, false), "unclosed token") != NULL);
}

/* proves: EX10 */
TEST(xml_steps_have_a_limit)
{
    AUTO_TEXT many = repeated("<a>", "<b/>", 1000000, "</a>");
    struct err err;
    struct extractor *x = extractor_of(
        "attributes: { a: xml://a1, b: xml://a2, c: xml://a3, d: xml://a4, e: xml://a5, "
        "f: xml://a6, g: xml://a7, h: xml://a8, i: xml://a9, j: xml://a10, "
        "k: xml://a11 }",
        false, &err);

    CHECK(strstr(asked(x, &(struct extract_source){ .body = str_of(many), .whole = true }),
                 "budget: attribute a: `xml://a1`: there are too many elements, at byte") != NULL);
    extractor_free(x);
}

TEST(xml_blanks_do_not_count)
{
    AUTO_TEXT before = repeated("<a>", " \n", 5000, "x</a>");
    AUTO_TEXT behind = repeated("<a>x", " \n", 5000, "</a>");
    AUTO_TEXT between = repeated("<a>x", " ", 5000, "y</a>");
    AUTO_TEXT most = repeated("<a>", "x", FACTS_VALUE_MOST, " \n \n</a>");
    AUTO_TEXT more = repeated("<a>", "x", FACTS_VALUE_MOST, " \n \n<b/>y</a>");
    AUTO_TEXT one = repeated("<a>", "x", FACTS_VALUE_MOST + 1, "</a>");

    CHECK(strcmp(asked_one("xml:/a", str_of(before), true, false), "x") == 0);
    CHECK(strcmp(asked_one("xml:/a", str_of(behind), true, false), "x") == 0);
    CHECK(strstr(asked_one("xml:/a", str_of(between), true, false), "is too long") != NULL);
    CHECK(strlen(asked_one("xml:/a", str_of(most), true, false)) == FACTS_VALUE_MOST);
    CHECK(strstr(asked_one("xml:/a", str_of(more), true, false), "is too long") != NULL);
    CHECK(strstr(asked_one("xml:/a", str_of(one), true, false), "is too long") != NULL);
}

TEST(xml_stops_when_it_knows_enough)
{
    static const struct asked_case cases[] = {
        { "xml:/a/@b", "<a b='1'> & this is no XML", "1" },
        { "xml:/a/b", "<a><b>1</b></c>", "1" },
        { "xml:/b", "<a> & another kind of document", "is not there" },
    };

    CHECK(ASKED_ALL(cases, false));
    CHECK(strcmp(asked_one("xml:/a/b", STR("<a><b>1</b><c"), false, false), "1") == 0);
    CHECK(strstr(asked_one("xml:/a/b", STR("<a><b>1</b"), false, false),
                 "budget: no sender: `xml:/a/b` is not in the first 4194304 bytes") != NULL);
}

TEST(xml_many_paths_in_one_pass)
{
    struct err err;
    struct extractor *x =
        extractor_of("sender: xml:/Order/ShipTo/@id\n"
                     "receiver: [xml:/Order/None, xml:/Order/ShipTo/Name]\n"
                     "type: xml:/Order/Ref[@type='so']\n"
                     "attributes: { n: xml://Id, whole: xml:/Order/ShipTo, same: xml://Id, "
                     "b: xml://b, none: xml:/Order/None, l: 'xml:/Order/Line[2]/Sku[2]' }\n",
                     false, &err);

    CHECK(x != NULL);
    CHECK(strcmp(asked(x, &(struct extract_source){ .body = STR(ORDER), .whole = true }),
                 "hub|Hub & Co KG|S1 n=7 whole=Hub & Co KG same=7 b=& Co l=c") == 0);
    extractor_free(x);
}

int main(void)
{
    return test_main();
}
