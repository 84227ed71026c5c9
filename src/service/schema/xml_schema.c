#include "service/schema/xml_schema.h"

#include <libxml/parserInternals.h>
#include <libxml/xmlschemas.h>

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "core/verdict.h"
#include "service/script/results.h"
#include "service/script/xml_library.h"

#define XML_SCHEMA_NAME "schema.xsd" /* the base of relative locations */

enum { MESSAGE_MOST = 300, PATH_MOST = 120 };

struct xml_schema {
    xmlDocPtr document;
    xmlSchemaPtr schema;
};

void xml_schema_free(struct xml_schema *s)
{
    if (s == NULL)
        return;
    xmlSchemaFree(s->schema);
    xmlFreeDoc(s->document); /* the schema has nodes of it */
    free(s);
}

/* ---- what libxml2 complains about ---- */

struct xml_schema_complaint {
    int line; /* 0: there is none */
    char file[80];
    char path[PATH_MOST + 4];
    char text[MESSAGE_MOST];
    bool is_cut; /* the text goes on */
};

static void xml_schema_keep_path(struct xml_schema_complaint *c, const xmlNode *node)
{
    xmlChar *path = node != NULL ? xmlGetNodePath(node) : NULL;

    if (path != NULL) {
        struct str all = str_of((const char *)path);
        struct str end = str_from(all, all.len > PATH_MOST ? all.len - PATH_MOST : 0);

        (void)snprintf(c->path, sizeof c->path, "%s%.*s", end.len < all.len ? "..." : "",
                       STR_ARG(end));
    }
    xmlFree(path);
}

static void xml_schema_keep_first(void *arg, xmlErrorPtr error)
{
    struct xml_schema_complaint *c = arg;

    if (c->line != 0 || error->level < XML_ERR_ERROR || error->message == NULL)
        return;
    c->line = error->line > 0 ? error->line : 1;
    (void)snprintf(c->file, sizeof c->file, "%s", error->file != NULL ? error->file : "");
    c->is_cut = snprintf(c->text, sizeof c->text, "%s", error->message) >= (int)sizeof c->text;
    xml_schema_keep_path(c, error->node);
}

/* ---- files of a schema ---- */

struct xml_schema_loading {
    const struct xml_schema_file *files;
    size_t count;
    char refused[80]; /* the first location that none of them has */
};

static _Thread_local struct xml_schema_loading *loading;

static xmlParserInputPtr xml_schema_give(const struct xml_schema_file *file,
                                         xmlParserCtxtPtr parser)
{
    xmlParserInputBufferPtr bytes =
        xmlParserInputBufferCreateMem(file->text.ptr, (int)file->text.len, XML_CHAR_ENCODING_NONE);
    xmlParserInputPtr input =
        bytes != NULL ? xmlNewIOInputStream(parser, bytes, XML_CHAR_ENCODING_NONE) : NULL;

    if (input == NULL)
        xmlFreeParserInputBuffer(bytes);
    else
        input->filename = (const char *)xmlStrdup((const xmlChar *)file->location);
    return input;
}

static xmlParserInputPtr xml_schema_load(const char *url, const char *id, xmlParserCtxtPtr parser)
{
    (void)id;
    for (size_t i = 0; i < loading->count; i++)
        if (url != NULL && strcmp(loading->files[i].location, url) == 0)
            return xml_schema_give(&loading->files[i], parser);
    if (loading->refused[0] == '\0')
        (void)snprintf(loading->refused, sizeof loading->refused, "%s", url != NULL ? url : "?");
    return NULL;
}

/* Each file by itself first: what is refused in a document is refused in them too, and a mistake
 * has the name of its file. */
static bool xml_schema_check_files(const struct xml_schema_loading *l, struct err *err)
{
    for (size_t i = 0; i < l->count; i++) {
        xmlDocPtr doc = xml_library_read(l->files[i].text, l->files[i].location, err);

        xmlFreeDoc(doc);
        if (doc == NULL)
            return err_context(err, "%.60s", l->files[i].location);
    }
    return true;
}

/* ---- making ---- */

static void xml_schema_parse(struct xml_schema *s, struct xml_schema_loading *l,
                             struct xml_schema_complaint *c)
{
    xmlExternalEntityLoader before = xmlGetExternalEntityLoader();
    xmlSchemaParserCtxtPtr parser = xmlSchemaNewDocParserCtxt(s->document);

    if (parser == NULL)
        return;
    loading = l;
    xmlSetExternalEntityLoader(xml_schema_load);
    xmlSchemaSetParserStructuredErrors(parser, xml_schema_keep_first, c);
    xmlSetStructuredErrorFunc(c, xml_schema_keep_first);
    s->schema = xmlSchemaParse(parser);
    xmlSetStructuredErrorFunc(NULL, NULL);
    xmlSetExternalEntityLoader(before);
    loading = NULL;
    xmlSchemaFreeParserCtxt(parser);
}

static bool xml_schema_say_mistake(const struct xml_schema_loading *l,
                                   const struct xml_schema_complaint *c, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(MESSAGE_MOST);

    if (l->refused[0] != '\0')
        return err_set(err, ERR_CONFIG, 0,
                       "it includes or imports %s, which is not in `includes`: only files of the "
                       "version are read",
                       l->refused);
    script_line(&line, str_of(c->text));
    return err_set(err, ERR_CONFIG, 0, "%s%sline %d: %.150s",
                   strcmp(c->file, XML_SCHEMA_NAME) != 0 ? c->file : "",
                   strcmp(c->file, XML_SCHEMA_NAME) != 0 && c->file[0] != '\0' ? ", " : "", c->line,
                   line.len > 0 ? line.ptr : "it is not an XML Schema");
}

bool xml_schema_make(struct str text, const struct xml_schema_file *files, size_t count,
                     struct xml_schema **ret, struct err *err)
{
    struct xml_schema_loading l = { .files = files, .count = count };
    struct xml_schema_complaint complaint = { 0 };
    struct xml_schema *s = NEW(struct xml_schema);

    xml_library_begin();
    s->document = xml_library_read(text, XML_SCHEMA_NAME, err);
    if (s->document != NULL && xml_schema_check_files(&l, err)) {
        xml_schema_parse(s, &l, &complaint);
        if (s->schema != NULL && l.refused[0] == '\0') {
            *ret = s;
            return true;
        }
        (void)xml_schema_say_mistake(&l, &complaint, err);
    }
    err->kind = ERR_CONFIG;
    xml_schema_free(s);
    return false;
}

/* ---- checking ---- */

static char *xml_schema_last(char *text, const char *const *marks)
{
    char *last = NULL;

    for (; *marks != NULL; marks++)
        for (char *at = text; (at = strstr(at, *marks)) != NULL; at++)
            last = last == NULL || at > last ? at : last;
    return last;
}

/* libxml2 quotes the value that breaks a rule.  It is cut out, together with everything that might
 * still be part of it: who reads messages may not be allowed to read payloads.  Of a text that goes
 * on nobody knows where the value ends. */
static void xml_schema_hide_value(struct xml_schema_complaint *c)
{
    static const char *const ends[] = { "' is ", "' has ", "' does ", "'] ", NULL };
    char *body = strstr(c->text, "': ");
    char *from;

    body = body != NULL ? body + 3 : c->text;
    if (body[0] == '\'') {
        from = body;
    } else {
        from = strstr(body, " value '");
        from = from != NULL ? from + 6 : strstr(body, " ['");
    }
    if (from == NULL)
        return;
    char *end = c->is_cut ? NULL : xml_schema_last(from, ends);

    if (end == NULL) {
        *from = '\0';
        return;
    }
    end += end[1] == ']' ? 2 : 1;
    if (from == body && end[0] == ' ') /* "Element 'a': is not a valid value" */
        end++;
    memmove(from, end, strlen(end) + 1);
}

bool xml_schema_check(const struct xml_schema *s, struct str document,
                      struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf line = BUF_INIT(MESSAGE_MOST);
    struct xml_schema_complaint c = { 0 };
    struct err err;
    xmlDocPtr doc = xml_library_read(document, NULL, &err);
    xmlSchemaValidCtxtPtr check = doc != NULL ? xmlSchemaNewValidCtxt(s->schema) : NULL;
    int result = -1;

    if (check != NULL) {
        xmlSchemaSetValidStructuredErrors(check, xml_schema_keep_first, &c);
        result = xmlSchemaValidateDoc(check, doc);
    }
    xmlSchemaFreeValidCtxt(check);
    xmlFreeDoc(doc);
    if (doc == NULL)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s", err.text);
    if (result == 0)
        return true;
    if (c.line == 0)
        return service_fail(ret_failure, DEAD_BUDGET, "there is not enough memory to check it");
    xml_schema_hide_value(&c);
    script_line(&line, str_of(c.text));
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s, line %d: %s",
                        c.path[0] != '\0' ? c.path : "the document", c.line, line.ptr);
}
