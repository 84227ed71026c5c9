/* Lines, CSV and XML. */
#include "core/format/cut.h"
#include "splitting.h"
#include "test.h"

TEST(split_cuts_lines)
{
    static const struct split_case cases[] = {
        { "split: { lines: 1 }", "a\nb\r\nc", "a\n|b\r\n|c" },
        { "split: { lines: 2 }", "a\nb\nc\n", "a\nb\n|c\n" },
        { "split: { lines: 1 }", "\n\na\n\n\r\nb\n\n", "a\n|b\n" },
        { "split: { lines: 2 }", "\na\n\nb\n\nc\n\n", "a\n\nb\n|c\n" },
        { "split: { lines: 5 }", "a", "a" },
        { "split: { lines: 1 }", "", "-" },
        { "split: { lines: 1 }", "\n\r\n\n", "-" },
        { "split: { lines: 1 }",
          "\xef\xbb\xbf"
          "a\nb\n",
          "a\n|b\n" },
        { "split: { lines: 1 }", " \n", " \n" },
        { "split: { lines: 1 }", "\xfe\xff", "!split: this is UTF-16" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

TEST(split_cuts_csv)
{
    static const struct split_case cases[] = {
        { "split: { csv: 1 }", "a,b\n1,2\n3,4\n", "a,b\n1,2\n|a,b\n3,4\n" },
        { "split: { csv: 2 }", "a;b\r\n1;2\r\n3;4\r\n5;6", "a;b\r\n1;2\r\n3;4\r\n|a;b\r\n5;6" },
        { "split: { csv: 1 }", "a,b\n\"x\ny\",2\n3,\"q\"\"r\n\"\n",
          "a,b\n\"x\ny\",2\n|a,b\n3,\"q\"\"r\n\"\n" },
        { "split: { csv: 1 }", "a,b\n1,x\"y\n2,z\n",
          "a,b\n1,x\"y\n|a,b\n2,z\n" }, /* not a quoted one */
        { "split: { csv: 1 }", "\"a\nb\",c\n1,2\n", "\"a\nb\",c\n1,2\n" },
        { "split: { csv: 1 }", "a\n\n1\n\n\n2\n\n", "a\n1\n|a\n2\n" },
        { "split: { csv: 1 }", "a,b", "-" },
        { "split: { csv: 1 }", "", "-" },
        { "split: { csv: 1 }", "\xef\xbb\xbf\"a\",b\n1,2\n", "\xef\xbb\xbf\"a\",b\n1,2\n" },
        { "split: { csv: 1 }", "a,b\n\"1\",\"2\"\r\n", "a,b\n\"1\",\"2\"\r\n" },
        { "split: { csv: 1 }", "a,b\n1,\"2\n3,4\n",
          "!split: a quote is not closed, at byte 14, line 4" },
        { "split: { csv: 1 }", "a,b\n1,\"2\"x\n",
          "!split: something stands behind a closing quote, at byte 10, line 2" },
        { "split: { csv: 1 }", "a,b\r1,2\r3,4\r",
          "!split: rows that end with CR alone are not read, at byte 4" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

/* A header row in front of each of many short rows: not without end. */
TEST(split_limits_what_headers_add)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { csv: 1 }");
    AUTO(buf_done) struct buf in = BUF_INIT(8 << 20);

    CHECK(s.self != NULL);
    for (int i = 0; i < 100000; i++)
        buf_puts(&in, "name,");
    buf_puts(&in, "end\n");
    for (int i = 0; i < 50000; i++)
        buf_puts(&in, "1\n");
    s.least = 4096;
    CHECK(
        step_fails(&s, buf_view(&in), DEAD_LIMIT, "more than 100 times as large as the document"));
}

TEST(split_cuts_xml)
{
    static const struct split_case cases[] = {
        { "split: /a/b", "<a><b>1</b><c><b/></c><b x='y'/></a>", "<b>1</b>|<b x='y'/>" },
        { "split: { xml: /a/b }",
          "<?xml version='1.0'?>\n<!-- x --><a>\n <b> <c/>\n </b >\n</a>\n<!-- y -->",
          "<b> <c/>\n </b >" },
        { "split: { xml: //b }", "<a><b><b/></b><x><b>2</b></x></a>", "<b><b/></b>|<b>2</b>" },
        { "split: { xml: \"/a/b[@k='v']\" }", "<a><b k='v'/><b k='w'/><b/></a>", "<b k='v'/>" },
        { "split: { xml: '/a/b[2]' }", "<a><b>1</b><b>2</b><b>3</b></a>", "<b>2</b>" },
        { "split: { xml: /a }", "<a>all</a>", "<a>all</a>" },
        { "split: { xml: /a/* }", "<a><b/>t<c>]]&gt;</c></a>", "<b/>|<c>]]&gt;</c>" },
        { "split: { xml: /a/b }", "<a></a>", "-" },
        { "split: { xml: /a/b }", "<a><b><![CDATA[<b></b>]]></b></a>",
          "<b><![CDATA[<b></b>]]></b>" },
        { "split: { xml: /a/b }", "\xef\xbb\xbf<a><b>\xc3\xa4</b></a>", "<b>\xc3\xa4</b>" },
        /* namespaces of ancestors */
        { "split: { xml: /e/d }", "<e xmlns='urn:x' xmlns:p=\"urn:p\"><d p:q='1'/><d\n/></e>",
          "<d xmlns=\"urn:x\" xmlns:p=\"urn:p\" p:q='1'/>|<d xmlns=\"urn:x\" "
          "xmlns:p=\"urn:p\"\n/>" },
        { "split: { xml: /e/d }", "<e xmlns='urn:x' xmlns:p='urn:p'><d xmlns:p='urn:q'>1</d></e>",
          "<d xmlns=\"urn:x\" xmlns:p='urn:q'>1</d>" },
        { "split: { xml: //d }", "<e xmlns:p='1'><f xmlns:p='2' xmlns:q='3'><d/></f><d/></e>",
          "<d xmlns:p=\"2\" xmlns:q=\"3\"/>|<d xmlns:p=\"1\"/>" },
        { "split: { xml: //d }", "<e xmlns='u'><f xmlns=''><d/></f><d/></e>",
          "<d/>|<d xmlns=\"u\"/>" },
        { "split: { xml: /e/d }", "<e xmlns='a&quot;&amp;&lt;\xc3\xa4'><d/></e>",
          "<d xmlns=\"a&#34;&#38;&#60;&#228;\"/>" },
        { "split: { xml: '/s:E/s:B/d' }", "<s:E xmlns:s='u'><s:B><d/></s:B></s:E>",
          "<d xmlns:s=\"u\"/>" },
        /* another encoding is said again */
        { "split: { xml: /a/b }", "<?xml version='1.0' encoding='ISO-8859-1'?><a><b>\xe4</b></a>",
          "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<b>\xe4</b>" },
        { "split: { xml: /a/b }", "<?xml version='1.0' encoding='utf-8'?><a><b/></a>", "<b/>" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

TEST(split_refuses_what_is_not_xml)
{
    static const struct split_case cases[] = {
        { "split: { xml: /a/b }", "",
          "!split: this is not XML: no element found, at byte 1, line 1" },
        { "split: { xml: /a/b }", "<a><b/>",
          "!split: this is not XML: no element found, at byte 8" },
        { "split: { xml: /a/b }", "<a>\n<b></c></a>",
          "!split: this is not XML: mismatched tag, at byte 10, line 2" },
        { "split: { xml: /a/b }", "<a><b>\xe4</b></a>",
          "!split: this is not XML: not well-formed (invalid token)" },
        { "split: { xml: /a/b }", "{}",
          "!split: this is not XML: not well-formed (invalid token), at byte 1" },
        { "split: { xml: /a/b }", "<a><b>&x;</b></a>",
          "!split: this is not XML: undefined entity" },
        { "split: { xml: /a/b }", "<x><b/></x>",
          "!split: no element of this document can have parts at `/a/b`" },
        { "split: { xml: /a/b/c }", "<a><c/></a>",
          "!split: no element of this document can have parts" },
        { "split: { xml: /a }", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
          "!split: a document type declaration (DOCTYPE) is refused" },
        { "split: { xml: /a }", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
          "!split: a document type declaration (DOCTYPE) is refused" },
        { "split: { xml: /a }", "<?xml version='1.0' encoding='EBCDIC-X'?><a/>",
          "!split: this is not XML: unknown encoding" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

TEST(split_refuses_utf16)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { xml: /a }");

    CHECK(s.self != NULL);
    CHECK(step_fails(&s, STR("\xff\xfe<\0a\0/\0>\0"), DEAD_SERVICE_FAILED, "this is UTF-16"));
    CHECK(step_fails(&s, STR("<\0a\0/\0>\0"), DEAD_SERVICE_FAILED, "this is UTF-16"));
}

/* An entity that grows ten thousand million times, and elements in each other. */
TEST(split_stops_what_hurts_a_parser)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { xml: /a/b }");
    AUTO(buf_done) struct buf in = BUF_INIT(8 << 20);

    CHECK(s.self != NULL);
    buf_puts(&in, "<!DOCTYPE a [<!ENTITY l0 'lol'>");
    for (int i = 1; i < 12; i++)
        buf_printf(&in, "<!ENTITY l%d '&l%d;&l%d;&l%d;&l%d;&l%d;&l%d;&l%d;&l%d;&l%d;&l%d;'>", i,
                   i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    buf_puts(&in, "]><a><b>&l11;</b></a>");
    CHECK(step_fails(&s, buf_view(&in), DEAD_SERVICE_FAILED, "(DOCTYPE) is refused"));
    buf_clear(&in);
    for (int i = 0; i < 10000; i++)
        buf_puts(&in, "<a>");
    CHECK(step_fails(&s, buf_view(&in), DEAD_LIMIT, "elements stand too deep in each other"));
    buf_clear(&in);
    buf_puts(&in, "<a");
    for (int i = 0; i < 1000; i++)
        buf_printf(&in, " xmlns:p%d='u'", i);
    buf_puts(&in, "><b/></a>");
    CHECK(step_fails(&s, buf_view(&in), DEAD_LIMIT, "too many namespaces are declared"));
    buf_clear(&in);
    buf_puts(&in, "<a><!--");
    for (int i = 0; i < 300000; i++)
        buf_puts(&in, "comment");
    buf_puts(&in, "--><b/></a>");
    s.least = 4096;
    step_run_pieces(&s, buf_view(&in), 4096);
    CHECK(!s.ok && s.failure.code == DEAD_LIMIT);
    CHECK(strstr(s.failure.message, "a tag or a comment is larger than") != NULL);
}

/* The parts are gathered as they come: their bytes, and how many. */
static struct buf gathered;

static bool count_part(struct service_io *io, const struct service_part *head,
                       struct service_failure *ret_failure)
{
    (void)head, (void)ret_failure;
    ((struct service_memory *)io)->part_count++;
    return true;
}

static bool gather(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    (void)io, (void)ret_failure;
    buf_put(&gathered, piece);
    return true;
}

static bool gives_back(const char *yaml, struct str in, size_t parts)
{
    AUTO(step_done) struct step s = step_of(&service_split, yaml);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct service_document d = { 0 };
    struct service_failure failure;
    struct service_memory m;

    gathered = (struct buf)BUF_INIT(64 << 20);
    service_memory_init(&m, &d, in, 1, &a);
    m.piece = 64 << 10;
    m.io.part = count_part;
    m.io.put = gather;
    bool ok = s.self != NULL && service_run(&service_split, s.self, &m.io, &failure) &&
              m.part_count == parts && str_eq(buf_view(&gathered), in);

    service_memory_done(&m);
    buf_done(&gathered);
    return ok;
}

/* As many parts as are marked by the first pass, and more than that. */
TEST(split_gives_the_same_parts_however_many_there_are)
{
    AUTO(buf_done) struct buf in = BUF_INIT(64 << 20);
    size_t n = 0;

    for (; n < CUT_MARKS_MOST; n++)
        buf_printf(&in, "line %zu\n", n);
    CHECK(gives_back("split: { lines: 1, most: 1000000 }", buf_view(&in), n));
    for (; n < CUT_MARKS_MOST + 10; n++)
        buf_printf(&in, "line %zu\n", n);
    CHECK(gives_back("split: { lines: 1, most: 1000000 }", buf_view(&in), n));
}

/* Some parts get another text than the first one: they declare the prefix themselves. */
TEST(split_adds_to_each_part_what_it_needs)
{
    static const struct split_case cases[] = {
        { "split: { xml: /a/b }", "<a xmlns:p='u'><b>1</b><b xmlns:p='v'>2</b><b>3</b></a>",
          "<b xmlns:p=\"u\">1</b>|<b xmlns:p='v'>2</b>|<b xmlns:p=\"u\">3</b>" },
        { "split: { xml: /a/b }", "<a xmlns:p='u'><b xmlns:p='v'>2</b><b>1</b></a>",
          "<b xmlns:p='v'>2</b>|<b xmlns:p=\"u\">1</b>" },
        { "split: { xml: /a/b }", "<a xmlns='u'>  <b>1</b> x <bb/> <b/></a>  ",
          "<b xmlns=\"u\">1</b>|<b xmlns=\"u\"/>" },
        { "split: { csv: 1 }", "h\n1\n\n2\n", "h\n1\n|h\n2\n" },
        { "split: { lines: 2 }", "\xef\xbb\xbf\n1\n\n2\n3", "1\n\n2\n|3" },
        { "split: { json: /x }", "\xef\xbb\xbf{\"x\":[1, {\"y\":[2]} ,3 ], \"z\":4}",
          "1|{\"y\":[2]}|3" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

int main(void)
{
    return test_main();
}
