#include "core/format/xml_tree.h"

#include <expat.h>
#include <limits.h>
#include <stdio.h>

#include "base/require.h"

struct xml_reading {
    const struct xml_visit *visit;
    XML_Parser parser;
    size_t depth;
    struct err *err;
    bool failed;
};

static size_t tree_at(const struct xml_reading *r)
{
    XML_Index at = XML_GetCurrentByteIndex(r->parser);

    return at > 0 ? (size_t)at : 0;
}

static void tree_refuse(struct xml_reading *r, const char *why)
{
    if (r->failed)
        return;
    r->failed = true;
    (void)err_set(r->err, ERR_PERMANENT, 0, "at byte %zu: %s", tree_at(r), why);
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static struct xml_tag tree_tag(const struct xml_reading *r, const char *name)
{
    size_t from = tree_at(r);

    return (struct xml_tag){ .name = str_of(name),
                             .from = from,
                             .to = from + (size_t)XML_GetCurrentByteCount(r->parser),
                             .depth = r->depth };
}

static void tree_on_start(void *user, const char *name, const char **attributes)
{
    struct xml_reading *r = user;

    if (r->failed)
        return; /* expat may call once more after the stop */
    if (r->depth == XML_TREE_DEPTH) {
        tree_refuse(r, "elements stand too deep in each other");
        return;
    }
    r->depth++;
    struct xml_tag tag = tree_tag(r, name);

    tag.attributes = attributes;
    r->visit->starts(r->visit->arg, &tag);
}

static void tree_on_end(void *user, const char *name)
{
    struct xml_reading *r = user;

    if (r->failed)
        return;
    struct xml_tag tag = tree_tag(r, name);

    r->visit->ends(r->visit->arg, &tag);
    r->depth--;
}

static void tree_on_doctype(void *user, const char *name, const char *sysid, const char *pubid,
                            int internal)
{
    (void)name, (void)sysid, (void)pubid, (void)internal;
    tree_refuse(user, "a document type declaration (DOCTYPE) is refused");
}

static void tree_on_declaration(void *user, const char *version, const char *encoding, int alone)
{
    struct str name = encoding != NULL ? str_of(encoding) : STR("UTF-8");

    (void)version, (void)alone;
    if (!str_eq_nocase(name, STR("UTF-8")) && !str_eq_nocase(name, STR("US-ASCII")))
        tree_refuse(user, "the document is not in UTF-8; put the step `charset` before it");
}

static bool tree_parse(struct xml_reading *r, struct str document)
{
    if (XML_Parse(r->parser, document.ptr, (int)document.len, 1) == XML_STATUS_OK && !r->failed)
        return true;
    if (!r->failed)
        (void)err_set(r->err, ERR_PERMANENT, 0, "this is not XML: %s, at byte %zu",
                      XML_ErrorString(XML_GetErrorCode(r->parser)), tree_at(r));
    return false;
}

bool xml_tree_read(struct str document, const struct xml_visit *visit, struct err *err)
{
    struct xml_reading r = { .visit = visit, .err = err };

    require(document.len <= INT_MAX);
    if (document.len > 1 && (document.ptr[0] == '\0' || document.ptr[1] == '\0'))
        return err_set(err, ERR_PERMANENT, 0, "this is UTF-16; put `charset: UTF-16` before it");
    r.parser = XML_ParserCreate(NULL);
    require(r.parser != NULL);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, tree_on_start, tree_on_end);
    XML_SetStartDoctypeDeclHandler(r.parser, tree_on_doctype);
    XML_SetXmlDeclHandler(r.parser, tree_on_declaration);
    XML_SetParamEntityParsing(r.parser, XML_PARAM_ENTITY_PARSING_NEVER);
    bool ok = tree_parse(&r, document);

    XML_ParserFree(r.parser);
    return ok;
}

static void ignore_tag(void *arg, const struct xml_tag *tag)
{
    *(struct str *)arg = str_mem("", tag->name.len);
}

/* expat knows the alphabet. */
bool xml_tree_is_name(struct str name)
{
    char text[XML_TREE_NAME + 4];
    struct str found = { 0 };
    struct xml_visit visit = { &found, ignore_tag, ignore_tag };
    struct err err = { 0 };

    if (name.len == 0 || name.len > XML_TREE_NAME)
        return false;
    int n = snprintf(text, sizeof text, "<%.*s/>", STR_ARG(name));

    return xml_tree_read(str_mem(text, (size_t)n), &visit, &err) && found.len == name.len;
}

/* ---- namespaces ---- */

struct xml_spaces {
    bool has_begun;   /* its outermost tag was read ... */
    bool own_default; /* ... and declares a default, or takes one back */
};

static void spaces_on_declaration(void *user, const char *prefix, const char *uri)
{
    struct xml_spaces *s = user;

    (void)uri;
    s->own_default = s->own_default || (prefix == NULL && !s->has_begun);
}

static void spaces_on_start(void *user, const char *name, const char **attributes)
{
    struct xml_spaces *s = user;

    (void)name, (void)attributes;
    s->has_begun = true;
}

/* expat knows which prefixes are in force. */
bool xml_tree_stands_alone(struct str element, bool *ret_own_default, struct err *err)
{
    struct xml_spaces s = { 0 };
    XML_Parser parser = XML_ParserCreateNS(NULL, '\n');

    require(parser != NULL && element.len <= INT_MAX);
    XML_SetUserData(parser, &s);
    XML_SetStartElementHandler(parser, spaces_on_start);
    XML_SetStartNamespaceDeclHandler(parser, spaces_on_declaration);
    bool ok = XML_Parse(parser, element.ptr, (int)element.len, 1) == XML_STATUS_OK;
    enum XML_Error why = XML_GetErrorCode(parser);

    if (!ok)
        (void)err_set(err, ERR_PERMANENT, 0, "%s, at byte %lld of it",
                      why == XML_ERROR_UNBOUND_PREFIX ? "a namespace prefix is not declared in it"
                                                      : XML_ErrorString(why),
                      (long long)XML_GetCurrentByteIndex(parser));
    XML_ParserFree(parser);
    *ret_own_default = s.own_default;
    return ok;
}
