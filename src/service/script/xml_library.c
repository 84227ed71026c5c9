#include "service/script/xml_library.h"

#include <libxml/parserInternals.h>

#include <limits.h>
#include <pthread.h>

#include "base/auto.h"
#include "core/verdict.h"
#include "service/script/results.h"

enum { XML_READ = XML_PARSE_NONET | XML_PARSE_COMPACT | XML_PARSE_NOCDATA };

static xmlParserInputPtr xml_load_no_entity(const char *url, const char *id,
                                            xmlParserCtxtPtr parser)
{
    (void)url;
    (void)id;
    (void)parser;
    return NULL;
}

static void xml_begin_once(void)
{
    xmlInitParser();
    xmlSetExternalEntityLoader(xml_load_no_entity);
}

void xml_library_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, xml_begin_once);
}

/* ---- character sets ---- */

/* Those that libxml2 converts itself; for others it asks iconv, which reads files. */
static bool xml_knows_charset(struct str name)
{
    static const char *const known[] = { "UTF-8",    "UTF8",       "UTF-16",      "UTF-16LE",
                                         "UTF-16BE", "ISO-8859-1", "ISO-LATIN-1", "ISO LATIN 1",
                                         "US-ASCII", "ASCII" };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq_nocase(name, str_of(known[i])))
            return true;
    return false;
}

/* The character set of the XML declaration; empty: none is declared. */
static struct str xml_declared(struct str bytes)
{
    struct str head;
    const char *found;

    if (str_starts(bytes, STR("\xEF\xBB\xBF")))
        bytes = str_from(bytes, 3);
    if (!str_starts(bytes, STR("<?xml")))
        return STR("");
    (void)str_cut(bytes, '>', &head);
    found = memmem(head.ptr, head.len, "encoding", 8);
    if (found == NULL)
        return STR("");
    head = str_from(head, (size_t)(found - head.ptr) + 8);
    while (head.len > 0 && strchr(" \t\r\n=", head.ptr[0]) != NULL)
        head = str_from(head, 1);
    if (head.len == 0 || (head.ptr[0] != '"' && head.ptr[0] != '\''))
        return STR("");
    (void)str_cut(str_from(head, 1), head.ptr[0], &head);
    return head;
}

bool xml_library_check_charset(struct str name, struct err *err)
{
    if (name.len == 0 || xml_knows_charset(name))
        return true;
    name = str_first(name, 40);
    return err_set(err, ERR_PERMANENT, 0,
                   "the character set %.*s is not one of UTF-8, UTF-16, ISO-8859-1 and US-ASCII; "
                   "the step `charset` changes it",
                   STR_ARG(name));
}

/* ---- reading ---- */

struct xml_complaint {
    int line, column; /* 0: not known */
    char text[VERDICT_MESSAGE_MOST];
};

static void xml_keep_first(void *arg, xmlErrorPtr error)
{
    struct xml_complaint *c = arg;

    if (c->text[0] != '\0' || error->level < XML_ERR_ERROR || error->message == NULL)
        return;
    c->line = error->line;
    c->column = error->domain == XML_FROM_PARSER ? error->int2 : 0;
    (void)snprintf(c->text, sizeof c->text, "%s", error->message);
}

static void xml_refuse_entity(void *arg, const xmlChar *name, int type, const xmlChar *public_id,
                              const xmlChar *system_id, xmlChar *content)
{
    xmlParserCtxtPtr parser = arg;
    struct xml_complaint *c = parser->_private;

    (void)type;
    (void)public_id;
    (void)system_id;
    (void)content;
    if (c->text[0] == '\0') {
        c->line = xmlSAX2GetLineNumber(parser);
        (void)snprintf(c->text, sizeof c->text, "entities are not taken: %.60s",
                       (const char *)name);
    }
    xmlStopParser(parser);
}

static bool xml_say_complaint(const struct xml_complaint *c, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(sizeof c->text);
    char column[30] = "";

    if (c->column > 0)
        (void)snprintf(column, sizeof column, ", column %d", c->column);
    script_line(&line, str_of(c->text));
    return err_set(err, ERR_PERMANENT, 0, "line %d%s: not XML: %.150s", c->line, column,
                   line.len > 0 ? line.ptr : "it ends too early");
}

static xmlDocPtr xml_library_parse(struct str bytes, const char *name, xmlParserCtxtPtr parser,
                                   struct xml_complaint *c)
{
    parser->_private = c;
    parser->sax->entityDecl = xml_refuse_entity;
    xmlSetStructuredErrorFunc(c, xml_keep_first);
    xmlDocPtr doc = xmlCtxtReadMemory(parser, bytes.ptr, (int)bytes.len, name, NULL, XML_READ);

    xmlSetStructuredErrorFunc(NULL, NULL);
    if (doc != NULL && c->text[0] == '\0')
        return doc;
    xmlFreeDoc(doc);
    return NULL;
}

xmlDocPtr xml_library_read(struct str bytes, const char *name, struct err *err)
{
    struct xml_complaint complaint = { .line = 1 };
    struct str ebcdic = STR("\x4C\x6F\xA7\x94"); /* "<?xm" */
    xmlDocPtr doc = NULL;

    if (bytes.len == 0 || bytes.len > INT_MAX || str_starts(bytes, ebcdic)) {
        (void)err_set(err, ERR_PERMANENT, 0, "line 1: not XML: %s",
                      bytes.len == 0 ? "it is empty" : "it is not in a known character set");
        return NULL;
    }
    if (!xml_library_check_charset(xml_declared(bytes), err))
        return NULL;
    xmlParserCtxtPtr parser = xmlNewParserCtxt();

    if (parser != NULL)
        doc = xml_library_parse(bytes, name, parser, &complaint);
    xmlFreeParserCtxt(parser);
    if (doc == NULL)
        (void)xml_say_complaint(&complaint, err);
    return doc;
}
