/* cut_xml.c - one part per element at a path.
 *
 * The bytes of an element stay as they are.  A declaration of a namespace that stands at an
 * ancestor is added to its start tag, because without it the part would not be the same XML, or
 * none at all. For the same reason a part gets an XML declaration when the document says that it is
 * neither UTF-8 nor ASCII.
 *
 * expat reads the document once, without namespaces, because paths name prefixes as they are
 * written.  It may keep back what it has read and report it later, so the position of an event can
 * lie in an earlier piece: outside of parts every byte is reported, with a default handler, and the
 * window (cut.h) keeps all bytes behind the last report.
 *
 * Nothing outside of the document is ever read, and nothing grows: a document type declaration is
 * refused, so that there are no entities but the five of XML.
 */
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "core/format/cut.h"
#include "core/xml_match.h"

enum {
    DEPTH_MOST = 512,
    SPACES_MOST = 256,            /* declarations of namespaces in force */
    SPACE_BYTES = 64 << 10,       /* of their names and values */
    SCOPE_BYTES = 8 * (64 << 10), /* of them as text, with references for characters */
    TOKEN_MOST = 1 << 20          /* a tag, comment or the like outside of parts */
};

/* A declaration of a namespace at an open element. */
struct space {
    size_t depth;
    size_t prefix, value; /* both in the text `spaces`, each ending with NUL */
};

struct level {
    uint64_t may;
    unsigned seen[XML_PATH_STEPS];
};

struct xml_pass {
    const struct xml_path *path;
    struct cut *cut;
    XML_Parser parser;
    size_t depth, inside; /* open elements; that of the part, 0: outside */
    int64_t from;         /* where the part begins */
    int64_t done;         /* outside: everything before this was reported */
    bool near;            /* elements were seen whose children could be parts */
    bool failed;          /* the failure is set */
    char encoding[64];    /* what the document says, if it is neither UTF-8 nor ASCII */

    struct buf spaces;
    struct space space[SPACES_MOST];
    size_t space_count;
    struct buf scope; /* all that are in force, as text */
    bool stale;       /* they have changed since */
    struct buf own;   /* those for a part that declares some itself */
    struct str added; /* of the part: one of the two */
    struct level levels[DEPTH_MOST + 1];
};

/* ---- the path ---- */

static bool xml_make(struct cut_rule *s, struct arena *a, struct err *err)
{
    struct xml_path *path = ARENA_NEW(a, struct xml_path);

    if (!xml_path_parse(s->text, false, path, err))
        return false;
    if (path->end != XML_END_ELEMENT)
        return err_set(err, ERR_CONFIG, 0, "a part is an element, not an attribute or a text");
    s->plan = path;
    return true;
}

/* ---- failures ---- */

static int64_t xml_at(const struct xml_pass *p)
{
    XML_Index at = XML_GetCurrentByteIndex(p->parser);

    return at > 0 ? (int64_t)at : 0;
}

static void xml_stop(struct xml_pass *p)
{
    p->failed = true;
    (void)XML_StopParser(p->parser, XML_FALSE);
}

static void xml_refuse(struct xml_pass *p, enum dead_code code, const char *why)
{
    (void)cut_fail(p->cut, code, xml_at(p), "%s", why);
    xml_stop(p);
}

/* ---- namespaces ---- */

/* The prefix that an attribute declares, "" for the default; NULL: it declares none. */
static const char *declared(const char *attribute)
{
    if (strncmp(attribute, "xmlns", 5) != 0)
        return NULL;
    return attribute[5] == '\0' ? attribute + 5 : attribute[5] == ':' ? attribute + 6 : NULL;
}

static void add_space(struct xml_pass *p, const char *prefix, const char *value)
{
    size_t size = strlen(prefix) + strlen(value) + 2;

    if (p->space_count == SPACES_MOST || size > SPACE_BYTES - p->spaces.len) {
        xml_refuse(p, DEAD_LIMIT, "too many namespaces are declared");
        return;
    }
    struct space *s = &p->space[p->space_count++];

    *s = (struct space){ .depth = p->depth, .prefix = p->spaces.len };
    buf_put(&p->spaces, str_mem(prefix, strlen(prefix) + 1));
    s->value = p->spaces.len;
    buf_put(&p->spaces, str_mem(value, strlen(value) + 1));
    p->stale = true;
}

static void drop_spaces(struct xml_pass *p)
{
    while (p->space_count > 0 && p->space[p->space_count - 1].depth == p->depth) {
        p->spaces.len = p->space[--p->space_count].prefix;
        p->stale = true;
    }
}

/* As the value of an attribute, in ASCII: the document may be in another encoding than UTF-8. */
static void put_value(struct buf *to, const char *z)
{
    for (struct str s = str_of(z); s.len > 0;) {
        unsigned char c = (unsigned char)s.ptr[0];
        size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        unsigned n = len == 1 ? c : c & (0x7fu >> len);

        for (size_t i = 1; i < len && i < s.len; i++)
            n = n << 6 | ((unsigned char)s.ptr[i] & 0x3f);
        if (len > 1 || c < ' ' || c == '&' || c == '<' || c == '"')
            buf_printf(to, "&#%u;", n);
        else
            buf_putc(to, (char)c);
        s = str_from(s, len);
    }
}

static bool is_hidden(const struct xml_pass *p, size_t i, const char **attributes)
{
    const char *prefix = p->spaces.ptr + p->space[i].prefix;

    for (size_t k = i + 1; k < p->space_count; k++)
        if (strcmp(p->spaces.ptr + p->space[k].prefix, prefix) == 0)
            return true;
    for (const char **a = attributes; a != NULL && *a != NULL; a += 2)
        if (declared(*a) != NULL && strcmp(declared(*a), prefix) == 0)
            return true;
    return false;
}

/* The declarations in force, but for those that `attributes` make anew. */
static void put_spaces(const struct xml_pass *p, const char **attributes, struct buf *to)
{
    buf_clear(to);
    for (size_t i = 0; i < p->space_count; i++) {
        const char *prefix = p->spaces.ptr + p->space[i].prefix;
        const char *value = p->spaces.ptr + p->space[i].value;

        if (is_hidden(p, i, attributes) || (prefix[0] == '\0' && value[0] == '\0'))
            continue; /* xmlns="" takes a default back: without it there is none */
        buf_printf(to, " xmlns%s%s=\"", prefix[0] != '\0' ? ":" : "", prefix);
        put_value(to, value);
        buf_putc(to, '"');
    }
}

static bool is_ascii(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] >= 0x80)
            return false;
    return true;
}

static void find_added(struct xml_pass *p, const char **attributes)
{
    bool own = false;

    if (p->stale)
        put_spaces(p, NULL, &p->scope);
    p->stale = false;
    for (const char **a = attributes; *a != NULL; a += 2)
        own = own || declared(*a) != NULL;
    if (own)
        put_spaces(p, attributes, &p->own);
    p->added = buf_view(own ? &p->own : &p->scope);
    if (p->encoding[0] != '\0' && !is_ascii(p->added))
        xml_refuse(p, DEAD_SERVICE_FAILED,
                   "a prefix of a namespace has letters that are not ASCII, and the document is "
                   "not UTF-8");
}

/* ---- parts ---- */

static bool ends_name(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '/' || c == '>';
}

static void give_element(struct xml_pass *p, int64_t to)
{
    char declaration[128];
    struct str bytes = cut_view(p->cut, p->from, to);
    size_t name = 0;

    while (name < bytes.len && !ends_name(bytes.ptr[name]))
        name++;
    if (p->encoding[0] == '\0') {
        if (!cut_slice(p->cut, p->from, to, p->added, name))
            xml_stop(p);
        return;
    }
    int n = snprintf(declaration, sizeof declaration, "<?xml version=\"1.0\" encoding=\"%s\"?>\n",
                     p->encoding);
    struct str slices[] = { str_mem(declaration, (size_t)n), str_mem(bytes.ptr, name), p->added,
                            str_from(bytes, name) };

    if (!cut_part(p->cut, (struct str){ 0 }, slices, 4, p->from))
        xml_stop(p);
}

/* ---- what expat reports ---- */

static void xml_on_other(void *user, const char *text, int len)
{
    struct xml_pass *p = user;

    (void)text;
    (void)len;
    p->done = xml_at(p) + XML_GetCurrentByteCount(p->parser);
}

static void xml_on_start(void *user, const char *name, const char **attributes)
{
    struct xml_pass *p = user;
    struct level *up = &p->levels[p->depth], *here = up + 1;

    if (p->failed)
        return; /* expat may call once more after the stop */
    if (p->depth == DEPTH_MOST) {
        xml_refuse(p, DEAD_LIMIT, "elements stand too deep in each other");
        return;
    }
    p->depth++;
    if (p->inside > 0)
        return;
    *here = (struct level){ .may = xml_match(p->path->steps, p->path->count, up->may, up->seen,
                                             str_of(name), attributes) };
    p->near = p->near || (here->may >> (p->path->count - 1) & 1) != 0;
    p->done = xml_at(p) + XML_GetCurrentByteCount(p->parser);
    if ((here->may >> p->path->count & 1) != 0) {
        p->near = true;
        p->inside = p->depth;
        p->from = xml_at(p);
        find_added(p, attributes);
        XML_SetDefaultHandler(p->parser, NULL);
        return;
    }
    for (const char **a = attributes; *a != NULL && !p->failed; a += 2)
        if (declared(a[0]) != NULL)
            add_space(p, declared(a[0]), a[1]);
}

static void xml_on_end(void *user, const char *name)
{
    struct xml_pass *p = user;

    (void)name;
    if (p->failed)
        return;
    if (p->inside == p->depth) {
        p->inside = 0;
        p->done = xml_at(p) + XML_GetCurrentByteCount(p->parser);
        XML_SetDefaultHandler(p->parser, xml_on_other);
        give_element(p, p->done);
    } else if (p->inside == 0) {
        p->done = xml_at(p) + XML_GetCurrentByteCount(p->parser);
        drop_spaces(p);
    }
    p->depth--;
}

static void xml_on_doctype(void *user, const char *name, const char *sysid, const char *pubid,
                           int internal)
{
    (void)name, (void)sysid, (void)pubid, (void)internal;
    xml_refuse(user, DEAD_SERVICE_FAILED, "a document type declaration (DOCTYPE) is refused");
}

static void xml_on_declaration(void *user, const char *version, const char *encoding, int alone)
{
    struct xml_pass *p = user;
    struct str name = encoding != NULL ? str_of(encoding) : STR("UTF-8");

    (void)version, (void)alone;
    p->done = xml_at(p) + XML_GetCurrentByteCount(p->parser);
    if (!str_eq_nocase(name, STR("UTF-8")) && !str_eq_nocase(name, STR("US-ASCII")))
        (void)snprintf(p->encoding, sizeof p->encoding, "%s", encoding);
}

/* ---- the pass ---- */

static struct xml_pass *xml_pass_new(const struct cut_rule *s, struct cut *c)
{
    struct xml_pass *p = NEW(struct xml_pass);

    p->path = s->plan;
    p->cut = c;
    p->spaces = (struct buf)BUF_INIT(SPACE_BYTES);
    p->scope = (struct buf)BUF_INIT(SCOPE_BYTES);
    p->own = (struct buf)BUF_INIT(SCOPE_BYTES);
    p->levels[0].may = 1;
    p->near = p->path->count == 1;
    p->parser = XML_ParserCreate(NULL);
    require(p->parser != NULL);
    XML_SetUserData(p->parser, p);
    XML_SetElementHandler(p->parser, xml_on_start, xml_on_end);
    XML_SetStartDoctypeDeclHandler(p->parser, xml_on_doctype);
    XML_SetXmlDeclHandler(p->parser, xml_on_declaration);
    XML_SetDefaultHandler(p->parser, xml_on_other);
    XML_SetParamEntityParsing(p->parser, XML_PARAM_ENTITY_PARSING_NEVER);
    return p;
}

static void xml_pass_free(struct xml_pass **p)
{
    XML_ParserFree((*p)->parser);
    buf_done(&(*p)->spaces);
    buf_done(&(*p)->scope);
    buf_done(&(*p)->own);
    free(*p);
}

static bool xml_parse(struct xml_pass *p, struct str piece, bool last)
{
    if (XML_Parse(p->parser, piece.len > 0 ? piece.ptr : "", (int)piece.len, last) ==
            XML_STATUS_OK &&
        !p->failed)
        return true;
    if (p->failed)
        return false;
    enum XML_Error why = XML_GetErrorCode(p->parser);

    return cut_fail(p->cut, DEAD_SERVICE_FAILED, xml_at(p), "this is not XML: %s",
                    XML_ErrorString(why));
}

static bool xml_keep(struct xml_pass *p, int64_t *ret)
{
    *ret = p->inside > 0 ? p->from : p->done;
    if (p->inside == 0 && cut_end(p->cut) - p->done > TOKEN_MOST)
        return cut_fail(p->cut, DEAD_LIMIT, p->done, "a tag or a comment is larger than %d bytes",
                        TOKEN_MOST);
    return true;
}

static bool xml_run(const struct cut_rule *s, struct cut *c)
{
    AUTO(xml_pass_free) struct xml_pass *p = xml_pass_new(s, c);
    struct str piece;
    int64_t mark, keep;

    if (!cut_first(c, &piece, &mark))
        return false;
    if (c->bytes.len > 1 && (c->bytes.ptr[0] == '\0' || c->bytes.ptr[1] == '\0'))
        return cut_fail(c, DEAD_SERVICE_FAILED, 0,
                        "this is UTF-16; put `charset: UTF-16` before it");
    for (piece = c->bytes;;) {
        bool last = piece.len == 0;

        if (!xml_parse(p, piece, last))
            return false;
        if (last)
            break;
        if (!xml_keep(p, &keep) || !cut_next(c, keep, &piece))
            return false;
    }
    return p->near || cut_fail(c, DEAD_SERVICE_FAILED, 0,
                               "no element of this document can have parts at `%.*s`: it is of "
                               "another kind",
                               (int)(s->text.len < 100 ? s->text.len : 100), s->text.ptr);
}

const struct cutter cut_xml = { .key = "xml", .make = xml_make, .run = xml_run };
