#include "service/script/xslt_library.h"

#include <libexslt/exslt.h>
#include <libxslt/documents.h>
#include <libxslt/extensions.h>
#include <libxslt/imports.h>
#include <libxslt/security.h>
#include <libxslt/xsltutils.h>

#include <pthread.h>
#include <stdlib.h>

#include "base/auto.h"
#include "core/verdict.h"
#include "service/script/results.h"
#include "service/script/xml_library.h"

#define XSLT_SHEET_NAME "sheet" /* of the style sheet in messages of libxslt */

/* ---- what is global ---- */

static xsltSecurityPrefsPtr forbidding;

static xmlDocPtr xslt_load_no_document(const xmlChar *url, xmlDictPtr dict, int parse_options,
                                       void *from, xsltLoadType type)
{
    (void)url;
    (void)dict;
    (void)parse_options;
    (void)from;
    (void)type;
    return NULL;
}

/* math:random: what comes out must be the same each time. */
static void xslt_refuse_random(xmlXPathParserContextPtr parser, int count)
{
    (void)count;
    xsltTransformError(xsltXPathGetTransformContext(parser), NULL, NULL,
                       "math:random() is not available: results must be repeatable\n");
    parser->error = XPATH_EXPR_ERROR;
}

static void xslt_begin_once(void)
{
    static const xsltSecurityOption all[] = { XSLT_SECPREF_READ_FILE, XSLT_SECPREF_WRITE_FILE,
                                              XSLT_SECPREF_CREATE_DIRECTORY,
                                              XSLT_SECPREF_READ_NETWORK,
                                              XSLT_SECPREF_WRITE_NETWORK };

    xml_library_begin();
    xsltSetLoaderFunc(xslt_load_no_document);
    xsltInit();
    exsltCommonRegister();
    exsltFuncRegister();
    exsltMathRegister();
    exsltSetsRegister();
    exsltStrRegister();
    (void)xsltRegisterExtModuleFunction((const xmlChar *)"random", EXSLT_MATH_NAMESPACE,
                                        xslt_refuse_random);
    forbidding = xsltNewSecurityPrefs();
    for (size_t i = 0; forbidding != NULL && i < sizeof all / sizeof *all; i++)
        (void)xsltSetSecurityPrefs(forbidding, all[i], xsltSecurityForbid);
    xsltSetDefaultSecurityPrefs(forbidding);
}

void xslt_library_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, xslt_begin_once);
}

bool xslt_library_lock(xsltTransformContextPtr transform)
{
    return forbidding != NULL && xsltSetCtxtSecurityPrefs(forbidding, transform) == 0;
}

/* ---- style sheets ---- */

void xslt_library_hear(void *arg, const char *format, ...)
{
    struct buf *to = arg;
    va_list args;
    struct err err;
    char text[1024];

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!buf_append(to, str_first(str_of(text), to->cap - to->len), &err))
        buf_clear(to);
}

static void xslt_keep_cause(void *arg, xmlErrorPtr error)
{
    struct buf *to = arg;

    if (to->len == 0 && error->level >= XML_ERR_ERROR && error->message != NULL)
        script_line(to, str_of(error->message));
}

void xslt_library_listen(struct buf *said, struct buf *cause)
{
    xsltSetGenericErrorFunc(said, said != NULL ? xslt_library_hear : NULL);
    xmlSetGenericErrorFunc(said, said != NULL ? xslt_library_hear : NULL);
    xmlSetStructuredErrorFunc(cause, cause != NULL ? xslt_keep_cause : NULL);
}

/* "runtime error: file sheet line 3 element value-of", then the message.  What has no place is a
 * text of xsl:message; the last one is the one that ended the run. */
bool xslt_library_line(struct buf *to, struct str said)
{
    static const char mark[] = "error: file " XSLT_SHEET_NAME " line ";
    const char *found = memmem(said.ptr, said.len, mark, sizeof mark - 1);
    struct str line;

    if (found != NULL) {
        said = str_from(said, (size_t)(found - said.ptr));
        buf_printf(to, "line %ld: ", strtol(found + sizeof mark - 1, NULL, 10));
        (void)str_cut(str_cut(said, '\n', &line), '\n', &line);
    } else {
        while (said.len > 0 && said.ptr[said.len - 1] == '\n')
            said.len--;
        for (line = said; said.len > 0;)
            said = str_cut(said, '\n', &line);
    }
    script_line(to, str_first(line, to->cap - to->len));
    return found != NULL;
}

/* What an instruction of a style sheet does that is refused; NULL: nothing. */
static const char *xslt_refusal_of(const xmlNode *n)
{
    if (n->type != XML_ELEMENT_NODE || n->ns == NULL || !xmlStrEqual(n->ns->href, XSLT_NAMESPACE))
        return NULL;
    if (xmlStrEqual(n->name, (const xmlChar *)"import") ||
        xmlStrEqual(n->name, (const xmlChar *)"include"))
        return "xsl:import and xsl:include are not available: a style sheet is one text";
    if (xmlStrEqual(n->name, (const xmlChar *)"sort") &&
        xmlHasProp(n, (const xmlChar *)"lang") != NULL)
        return "xsl:sort by `lang` is not available: its order depends on the machine";
    return NULL;
}

static bool xslt_check_instructions(const xmlNode *root, struct err *err)
{
    for (const xmlNode *n = root; n != NULL;) {
        const char *why = xslt_refusal_of(n);

        if (why != NULL)
            return err_set(err, ERR_CONFIG, 0, "line %ld: %s", xmlGetLineNo(n), why);
        if (n->type == XML_ELEMENT_NODE && n->children != NULL) {
            n = n->children;
            continue;
        }
        while (n != root && n->next == NULL)
            n = n->parent;
        n = n == root ? NULL : n->next;
    }
    return true;
}

static bool xslt_check_sheet(xsltStylesheetPtr sheet, const struct buf *said,
                             const struct buf *cause, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(VERDICT_MESSAGE_MOST);

    if (sheet == NULL || sheet->errors != 0) {
        (void)xslt_library_line(&line, buf_view(said));
        return err_set(err, ERR_CONFIG, 0, "%.100s%s%.70s",
                       line.len > 0 ? line.ptr : "it is not a style sheet",
                       cause->len > 0 ? ": " : "", cause->ptr);
    }
    if (sheet->encoding != NULL &&
        !xml_library_check_charset(str_of((const char *)sheet->encoding), err)) {
        err->kind = ERR_CONFIG;
        return err_context(err, "xsl:output");
    }
    return true;
}

xsltStylesheetPtr xslt_library_sheet(struct str text, struct err *err)
{
    AUTO(buf_done) struct buf said = BUF_INIT(4096);
    AUTO(buf_done) struct buf cause = BUF_INIT(200);
    xmlDocPtr doc = xml_library_read(text, XSLT_SHEET_NAME, err);

    if (doc == NULL) {
        err->kind = ERR_CONFIG;
        return NULL;
    }
    if (!xslt_check_instructions(xmlDocGetRootElement(doc), err)) {
        xmlFreeDoc(doc);
        return NULL;
    }
    xslt_library_listen(&said, &cause);
    xsltStylesheetPtr sheet = xsltParseStylesheetDoc(doc); /* owns doc when it is not NULL */

    xslt_library_listen(NULL, NULL);
    if (xslt_check_sheet(sheet, &said, &cause, err))
        return sheet;
    if (sheet != NULL)
        xsltFreeStylesheet(sheet);
    else
        xmlFreeDoc(doc);
    return NULL;
}
