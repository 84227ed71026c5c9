#include "service/step.h"

#include <stdlib.h>

#include "folder.h"
#include "service/other_program.h"
#include "test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

#define SHEET(more, body)                                                                      \
    "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\" " more \
    ">" body "</xsl:stylesheet>"
#define TEXT_SHEET(body) SHEET("", "<xsl:output method=\"text\"/>" body)
#define TEXT_OF(select) \
    TEXT_SHEET("<xsl:template match=\"/\"><xsl:value-of select=\"" select "\"/></xsl:template>")

struct xslt_case {
    const char *sheet, *in, *want;
};

static bool is_as_wanted(const char *said, const char *want)
{
    if (strcmp(said, want) == 0 ||
        (strchr(want, ' ') != NULL && strncmp(said, want, strlen(want)) == 0))
        return true;
    printf("# got  %s\n# want %s\n", said, want);
    return false;
}

static bool all_as_wanted(const struct xslt_case *cases, size_t count, const char *more)
{
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        AUTO(step_done) struct step s = { 0 };

        (void)step_make(&s, &service_xslt, "text", cases[i].sheet, more);
        if (!is_as_wanted(step_said(&s, cases[i].in), cases[i].want)) {
            printf("# case %zu\n", i);
            ok = false;
        }
    }
    return ok;
}

TEST(a_style_sheet_changes_a_document)
{
    static const struct xslt_case cases[] = {
        { TEXT_OF("/a/b"), "<a><b>x</b></a>", "x" },
        { TEXT_OF("count(//b)"), "<a><b/><b/></a>", "2" },
        { SHEET("", "<xsl:template match=\"/\"><r><xsl:copy-of select=\"/a/*\"/></r>"
                    "</xsl:template>"),
          "<a><b>x</b></a>", "<?xml version=\"1.0\"?>\n<r><b>x</b></r>\n" },
        { SHEET("", "<xsl:output method=\"xml\" omit-xml-declaration=\"yes\"/>"
                    "<xsl:template match=\"/\"><r/></xsl:template>"),
          "<a/>", "<r/>\n" },
        { SHEET("", "<xsl:output method=\"html\"/><xsl:template match=\"/\"><html><br/></html>"
                    "</xsl:template>"),
          "<a/>", "<html><br></html>\n" },
        { SHEET("", "<xsl:output method=\"text\" encoding=\"ISO-8859-1\"/>"
                    "<xsl:template match=\"/\">\xc3\xa4</xsl:template>"),
          "<a/>", "\xe4" },
        { TEXT_OF("/a"), "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe4</a>", "\xc3\xa4" },
        { TEXT_OF("/a"), "<!DOCTYPE a SYSTEM \"a.dtd\"><a>x</a>", "x" }, /* it is not read */
        { TEXT_SHEET("<xsl:template match=\"/\"/>"), "<a/>", "" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(parameters_are_texts_of_the_document)
{
    static const char sheet[] =
        TEXT_SHEET("<xsl:param name=\"who\"/><xsl:param name=\"other\" select=\"'none'\"/>"
                   "<xsl:template match=\"/\"><xsl:value-of select=\"concat($who, '|', $other)\"/>"
                   "</xsl:template>");
    AUTO(step_done) struct step s = { 0 }, unknown = { 0 }, bad = { 0 };

    CHECK(
        step_make(&s, &service_xslt, "text", sheet, ", params: { who: \"${sender}-${colour}'\" }"));
    CHECK(is_as_wanted(step_said(&s, "<a/>"), "shop-blue'|none"));
    s.facts.sender = STR("a\x01");
    CHECK(is_as_wanted(step_said(&s, "<a/>"), "service_failed xslt: the parameter `who` has"));
    CHECK(step_make(&unknown, &service_xslt, "text", sheet, ", params: { who: \"${size}\" }"));
    CHECK(is_as_wanted(step_said(&unknown, "<a/>"), "service_failed xslt: the parameter `who`: "));
    CHECK(!step_make(&bad, &service_xslt, "text", sheet, ", params: { 'a b': x }"));
    CHECK(bad.err.kind == ERR_CONFIG && strstr(bad.err.text, "`a b`") != NULL);
}

TEST(a_style_sheet_reaches_nothing_else)
{
    static const struct xslt_case cases[] = {
        { TEXT_OF("document('/etc/passwd')"), "<a/>", "service_failed xslt: " },
        { TEXT_OF("document('http://127.0.0.1:9/x')"), "<a/>", "service_failed xslt: " },
        { SHEET("", "<xsl:import href=\"/etc/passwd\"/>"), "<a/>", "config `text`: line 1: " },
        { SHEET("", "<xsl:include href=\"file:///etc/passwd\"/>"), "<a/>",
          "config `text`: line 1: " },
        { SHEET("xmlns:e=\"http://exslt.org/common\" extension-element-prefixes=\"e\"",
                "<xsl:template match=\"/\"><e:document href=\"/tmp/waybill-must-not-be\"><x/>"
                "</e:document></xsl:template>"),
          "<a/>", "service_failed xslt: " },
        { SHEET("xmlns:m=\"http://exslt.org/math\"",
                "<xsl:template match=\"/\"><xsl:value-of select=\"m:random()\"/></xsl:template>"),
          "<a/>", "service_failed xslt: " },
        { SHEET(
              "xmlns:d=\"http://exslt.org/dates-and-times\"",
              "<xsl:template match=\"/\"><xsl:value-of select=\"d:date-time()\"/></xsl:template>"),
          "<a/>", "service_failed xslt: " },
        { TEXT_OF("/a"), "<!DOCTYPE a [<!ENTITY x SYSTEM \"/etc/passwd\">]><a>&x;</a>",
          "service_failed xslt: line 1: not XML: entities are not taken: x" },
        { TEXT_OF("/a"),
          "<!DOCTYPE a [<!ENTITY b \"xxxxxxxxxx\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">"
          "<!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;\"><!ENTITY e "
          "\"&d;&d;&d;&d;&d;&d;&d;\">]><a>&e;</a>",
          "service_failed xslt: line 1: not XML: entities are not taken: b" },
        { "<!DOCTYPE x [<!ENTITY nbsp \"&#160;\">]>" TEXT_OF("/a"), "<a/>",
          "config `text`: line 1: not XML: entities are not taken: nbsp" },
        { TEXT_OF("/a"),
          "<a xmlns:i=\"http://www.w3.org/2001/XInclude\"><i:include href=\"/etc/passwd\" "
          "parse=\"text\"/></a>",
          "" },
        { TEXT_SHEET("<xsl:template match=\"/\"><xsl:for-each select=\"//b\">"
                     "<xsl:sort lang=\"de\"/></xsl:for-each></xsl:template>"),
          "<a/>", "config `text`: line 1: xsl:sort by `lang` is not available" },
        { SHEET("", "<xsl:output encoding=\"windows-1252\"/>"), "<a/>",
          "config `text`: xsl:output: the character set windows-1252 is not one of" },
        { TEXT_OF("/a"), "<?xml version=\"1.0\" encoding=\"EUC-JP\"?><a/>",
          "service_failed xslt: the character set EUC-JP is not one of" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
    CHECK(access("/tmp/waybill-must-not-be", F_OK) != 0);
}

TEST(errors_have_the_line_and_what_is_wrong)
{
    static const struct xslt_case cases[] = {
        { TEXT_OF("/a"), "<a>\n<b>\n</a>", "service_failed xslt: line 3, column 5: not XML: " },
        { TEXT_OF("/a"), "", "service_failed xslt: line 1: not XML: it is empty" },
        { TEXT_OF("/a"), "hello", "service_failed xslt: line 1, column 1: not XML: " },
        { SHEET("", "\n<xsl:template match=\"/\">\n<xsl:value-of select=\"$nope\"/>"
                    "</xsl:template>"),
          "<a/>", "service_failed xslt: line 3: " },
        { SHEET("", "\n<xsl:template match=\"[[\"/>"), "<a/>", "config `text`: line 2: " },
        { "<a>\n<b></a>", "<a/>", "config `text`: line 2, column 8: not XML: " },
        { "<a/>", "<a/>", "config `text`: " },
        { SHEET("", "<xsl:template match=\"/\"><xsl:message terminate=\"yes\">no price"
                    "</xsl:message></xsl:template>"),
          "<a/>", "service_failed xslt: stopped by xsl:message: no price" },
    };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
}

TEST(what_runs_away_is_stopped)
{
    static const struct xslt_case cases[] = {
        { SHEET("", "<xsl:template match=\"/\"><xsl:call-template name=\"t\"/></xsl:template>"
                    "<xsl:template name=\"t\"><xsl:call-template name=\"t\"/></xsl:template>"),
          "<a/>", "limit xslt: " },
        { TEXT_OF("count(//*[count(//*[count(//*[count(//*) > 0]) > 0]) > 0])"),
          "<a><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/>"
          "<b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/>"
          "<b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/>"
          "<b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/><b/></"
          "a>",
          "budget xslt: " },
    };
    AUTO(buf_done) struct buf deep = BUF_INIT(1 << 20);
    AUTO(step_done) struct step s = { 0 };

    CHECK(all_as_wanted(cases, COUNT(cases), ""));
    for (size_t i = 0; i < 10000; i++)
        buf_puts(&deep, "<a>");
    CHECK(step_make(&s, &service_xslt, "text", TEXT_OF("/a"), ""));
    CHECK(is_as_wanted(step_said(&s, deep.ptr), "service_failed xslt: line 1, column "));
    CHECK(is_as_wanted(step_said(&s, "<a>x</a>"), "x"));
}

TEST(messages_are_lines_of_the_timeline)
{
    AUTO(step_done) struct step s = { 0 };

    CHECK(step_make(&s, &service_xslt, "text",
                    TEXT_SHEET("<xsl:template match=\"/\"><xsl:message>one</xsl:message>"
                               "<xsl:message>two</xsl:message>x</xsl:template>"),
                    ""));
    CHECK(step_run(&s, STR("<a/>")) && s.got.note_count == 2);
    CHECK(str_is(s.got.notes[0], "one") && str_is(s.got.notes[1], "two"));
    CHECK(str_is(buf_view(&s.got.out), "x"));
}

/* ---- the same as xsltproc ---- */

static const char sample[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<order id=\"17\" xmlns:x=\"urn:x\">\n"
                             "  <customer country=\"DE\">Ann \xc3\x84 &amp; Co</customer>\n"
                             "  <line sku=\"B-2\" qty=\"10\"><price>0.50</price></line>\n"
                             "  <line sku=\"A-1\" qty=\"2\"><price>3.5</price></line>\n"
                             "  <line sku=\"C-3\" qty=\"0\"><price>99</price></line>\n"
                             "  <x:note>first <b>second</b> third</x:note>\n"
                             "  <!-- a comment --><?pi text?>\n"
                             "</order>\n";

#define XML_RESULT(body) SHEET("", "<xsl:template match=\"/\"><r>" body "</r></xsl:template>")

static const char *const sheets[] = {
    SHEET("", "<xsl:template match=\"@*|node()\"><xsl:copy><xsl:apply-templates "
              "select=\"@*|node()\"/></xsl:copy></xsl:template>"),
    SHEET("", ""), /* the built-in templates */
    TEXT_OF("/order/customer"),
    TEXT_OF("sum(//line/@qty)"),
    TEXT_OF("format-number(sum(//price), '#,##0.00')"),
    TEXT_OF("translate(/order/customer, 'abc', 'xyz')"),
    TEXT_OF("generate-id(/order/line[2]) = generate-id(//line[@sku = 'A-1'])"),
    XML_RESULT("<xsl:for-each select=\"//line\"><xsl:sort select=\"@sku\"/><l><xsl:value-of "
               "select=\"@sku\"/></l></xsl:for-each>"),
    XML_RESULT("<xsl:for-each select=\"//line\"><xsl:sort select=\"price\" data-type=\"number\" "
               "order=\"descending\"/><l n=\"{position()}\" sku=\"{@sku}\"/></xsl:for-each>"),
    XML_RESULT("<xsl:copy-of select=\"//line[price &gt; 1]\"/>"),
    XML_RESULT("<xsl:choose><xsl:when test=\"//customer/@country = 'FR'\">fr</xsl:when>"
               "<xsl:otherwise>other</xsl:otherwise></xsl:choose>"),
    XML_RESULT("<xsl:number value=\"17\" format=\"I\"/><xsl:number value=\"3\" format=\"a\"/>"),
    XML_RESULT("<xsl:variable name=\"v\" select=\"//line[last()]\"/><xsl:value-of "
               "select=\"string-length($v/@sku)\"/>"),
    XML_RESULT("<xsl:comment>c</xsl:comment><xsl:processing-instruction name=\"p\">q"
               "</xsl:processing-instruction><xsl:element name=\"e\"><xsl:attribute "
               "name=\"a\">&lt;&amp;</xsl:attribute></xsl:element>"),
    SHEET("xmlns:x=\"urn:x\"", "<xsl:template match=\"/\"><out><xsl:value-of "
                               "select=\"//x:note/b\"/></out></xsl:template>"),
    SHEET("", "<xsl:output method=\"html\" indent=\"yes\"/><xsl:template match=\"/\"><html><head>"
              "<title>t</title></head><body><ul><xsl:for-each select=\"//line\"><li><xsl:value-of "
              "select=\"@sku\"/></li></xsl:for-each></ul></body></html></xsl:template>"),
    SHEET("", "<xsl:output indent=\"yes\" encoding=\"US-ASCII\"/><xsl:strip-space elements=\"*\"/>"
              "<xsl:template match=\"/\"><xsl:copy-of select=\"*\"/></xsl:template>"),
    SHEET("", "<xsl:output cdata-section-elements=\"c\" standalone=\"yes\"/><xsl:template "
              "match=\"/\"><c>&lt;x&gt;</c></xsl:template>"),
    SHEET("", "<xsl:key name=\"k\" match=\"line\" use=\"@sku\"/><xsl:template match=\"/\"><r>"
              "<xsl:value-of select=\"key('k', 'B-2')/price\"/></r></xsl:template>"),
    SHEET("", "<xsl:template match=\"/\"><r><xsl:call-template name=\"f\"><xsl:with-param "
              "name=\"n\" select=\"6\"/></xsl:call-template></r></xsl:template><xsl:template "
              "name=\"f\"><xsl:param name=\"n\"/><xsl:if test=\"$n &gt; 0\"><xsl:value-of "
              "select=\"$n\"/><xsl:call-template name=\"f\"><xsl:with-param name=\"n\" "
              "select=\"$n - 1\"/></xsl:call-template></xsl:if></xsl:template>"),
    SHEET("", "<xsl:template match=\"/\"><r><xsl:apply-templates select=\"//line\" mode=\"m\"/></r>"
              "</xsl:template><xsl:template match=\"line\" mode=\"m\" priority=\"2\"><i/>"
              "</xsl:template><xsl:template match=\"*\" mode=\"m\"><j/></xsl:template>"),
    SHEET("xmlns:e=\"http://exslt.org/common\" exclude-result-prefixes=\"e\"",
          "<xsl:template match=\"/\"><xsl:variable name=\"t\"><a>1</a><a>2</a></xsl:variable><r>"
          "<xsl:value-of select=\"sum(e:node-set($t)/a)\"/></r></xsl:template>"),
    SHEET("xmlns:s=\"http://exslt.org/strings\" exclude-result-prefixes=\"s\"",
          "<xsl:template match=\"/\"><r><xsl:for-each select=\"s:tokenize('a b "
          "c')\"><t><xsl:value-of "
          "select=\".\"/></t></xsl:for-each></r></xsl:template>"),
};

TEST(results_are_those_of_xsltproc)
{
    AUTO(folder_done) struct folder f = folder_make();

    CHECK(f.fd >= 0 && COUNT(sheets) >= 20);
    CHECK(other_program_file(&f, "in.xml", str_of(sample)));
    for (size_t i = 0; i < COUNT(sheets); i++) {
        AUTO(buf_done) struct buf want = BUF_INIT(1 << 20);
        AUTO(step_done) struct step s = { 0 };

        CHECK(other_program_file(&f, "sheet.xsl", str_of(sheets[i])));
        CHECK(other_program_run(&f, "xsltproc sheet.xsl in.xml", &want) == 0);
        CHECK(step_make(&s, &service_xslt, "text", sheets[i], ""));
        for (int twice = 0; twice < 2; twice++)
            if (!step_run(&s, str_of(sample)) || !str_eq(buf_view(&s.got.out), buf_view(&want))) {
                printf("# sheet %zu\n# got  %s%s\n# want %s\n", i, s.failure.message, s.got.out.ptr,
                       want.ptr);
                CHECK(false);
            }
    }
}

int main(void)
{
    return test_main();
}
