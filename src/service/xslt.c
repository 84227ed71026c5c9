/* xslt.c - changes XML with a style sheet (XSLT 1.0).
 *
 *     - xslt: { text: "<xsl:stylesheet ...", params: { receiver: "${receiver}" } }
 *
 * The style sheet sees the document, its parameters and nothing else: no other file or address is
 * read (document(), xsl:import, xsl:include) or written, entities are not taken, neither in the
 * document nor in the style sheet.  What would depend on the machine is refused: sorting by a
 * language, and character sets that libxml2 has from elsewhere.  Of EXSLT there are the modules
 * common, functions, math (without random), sets and strings.
 *
 * A parameter is a text, not an expression.  What xsl:message says is a line of the timeline.
 *
 * Threads: libxml2's handler of errors belongs to the thread; one document at a time.
 */
#include <libxml/parser.h>
#include <libxslt/transform.h>
#include <libxslt/variables.h>
#include <libxslt/xsltInternals.h>
#include <libxslt/xsltutils.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/template.h"
#include "service/script/results.h"
#include "service/script/xml_library.h"
#include "service/script/xslt_library.h"

enum {
    XSLT_OPERATIONS_MOST = 50 * 1000 * 1000, /* outside of a process with a limit of its own */
    XSLT_DEPTH_MOST = 3000,                  /* templates in templates */
    XSLT_PARAM_MOST = 64 << 10,
    XSLT_LOG_MOST = 8 << 10, /* of messages and errors of a run */
    XSLT_CAUSE_MOST = 200
};

struct xslt_param {
    const char *name;
    const struct template *value;
};

struct xslt_step {
    xsltStylesheetPtr sheet;
    struct xslt_param *params;
    size_t param_count;
    unsigned long operations_most; /* 0: any number */
};

static const struct option param_each = { .type = OPT_TEMPLATE, .help = "its value" };

static const struct option options[] = {
    OPTION("file", OPT_FILE, "a file with the style sheet", .flags = OPT_ONE_OF),
    OPTION("text", OPT_TEXT, "the style sheet itself", .flags = OPT_ONE_OF),
    OPTION("params", OPT_NAMED, "parameters of the style sheet", .each = &param_each,
           .noun = "parameter"),
    OPTIONS(grammar_limits),
    { 0 },
};

/* ---- making ---- */

static void unmake(void *self)
{
    struct xslt_step *x = self;

    xsltFreeStylesheet(x->sheet);
}

static bool xslt_read_params(struct xslt_step *x, const struct settings *s, struct err *err)
{
    const struct yaml_node *map = s->node != NULL ? yaml_get(s->node, "params") : NULL;

    if (map == NULL || map->kind != YAML_MAP)
        return true;
    x->params = ARENA_ARRAY(s->arena, struct xslt_param, map->count);
    for (const struct yaml_node *n = map->first; n != NULL; n = n->next) {
        struct xslt_param *p = &x->params[x->param_count++];
        struct str value;

        p->name = arena_text(s->arena, n->key->text);
        if (xmlValidateNCName((const xmlChar *)p->name, 0) != 0)
            return err_set(err, ERR_CONFIG, 0, "`params`: `%.60s` is not a name of XML", p->name);
        if (!settings_expand(s, n, &value, err) ||
            !template_compile(value, s->arena, &p->value, err))
            return err_context(err, "`params`: `%.60s`", p->name);
    }
    return true;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct xslt_step *x = ARENA_NEW(s->arena, struct xslt_step);
    struct str text;

    if (!script_text(s, "text", &text, err))
        return false;
    xslt_library_begin();
    if (!xslt_read_params(x, s, err))
        return false;
    x->sheet = xslt_library_sheet(text, err);
    if (x->sheet == NULL)
        return err_context(err, settings_has(s, "file") ? "`file`" : "`text`");
    x->operations_most = s->literal ? 0 : XSLT_OPERATIONS_MOST; /* literal: in its own process */
    *ret_self = x;
    return true;
}

/* ---- running ---- */

/* What libxslt says in a run: errors, and the texts of xsl:message. */
struct xslt_run {
    xsltTransformContextPtr transform;
    xmlDocPtr document, result;
    struct buf said;  /* by libxslt */
    struct buf cause; /* the first error of libxml2 below it, such as one in an expression */
};

static void xslt_run_done(struct xslt_run *r)
{
    xmlFreeDoc(r->result);
    if (r->transform != NULL)
        xsltFreeTransformContext(r->transform);
    xmlFreeDoc(r->document);
    buf_done(&r->said);
    buf_done(&r->cause);
}

/* A text that XML can hold. */
static bool xslt_is_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return false;
    }
    return str_is_utf8(s);
}

static bool xslt_give_param(struct xslt_run *r, const struct xslt_param *p,
                            const struct service_document *d, struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf value = BUF_INIT(XSLT_PARAM_MOST);
    char id[ID_TEXT];
    struct template_values v = { .id = str_of(id_text(&d->id, id)),
                                 .name = d->name,
                                 .gateway = d->gateway,
                                 .received_us = d->received_us,
                                 .facts = d->facts };
    struct err err;

    if (!template_render(p->value, &v, &value, &err))
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "xslt: the parameter `%s`: %s",
                            p->name, err.text);
    if (!xslt_is_text(buf_view(&value)))
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "xslt: the parameter `%s` has a character that XML does not allow",
                            p->name);
    if (xsltQuoteOneUserParam(r->transform, (const xmlChar *)p->name, (const xmlChar *)value.ptr) ==
        0)
        return true;
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "xslt: the parameter `%s` was refused",
                        p->name);
}

static bool xslt_prepare(const struct xslt_step *x, struct xslt_run *r,
                         const struct service_document *d, struct service_failure *ret_failure)
{
    r->transform = xsltNewTransformContext(x->sheet, r->document);
    if (r->transform == NULL || !xslt_library_lock(r->transform))
        return service_fail(ret_failure, DEAD_BUDGET, "xslt: there is not enough memory");
    r->transform->opLimit = x->operations_most;
    r->transform->xpathCtxt->opLimit = x->operations_most;
    r->transform->maxTemplateDepth = XSLT_DEPTH_MOST;
    xsltSetTransformErrorFunc(r->transform, &r->said, xslt_library_hear);
    for (size_t i = 0; i < x->param_count; i++)
        if (!xslt_give_param(r, &x->params[i], d, ret_failure))
            return false;
    return true;
}

static enum dead_code xslt_code_of(const struct xslt_run *r)
{
    if ((r->transform->opLimit > 0 && r->transform->opCount > r->transform->opLimit) ||
        strstr(r->cause.ptr, "peration limit exceeded") != NULL)
        return DEAD_BUDGET;
    return strstr(r->said.ptr, "recursion") != NULL ? DEAD_LIMIT : DEAD_SERVICE_FAILED;
}

static bool xslt_say(struct xslt_run *r, struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf line = BUF_INIT(VERDICT_MESSAGE_MOST);

    bool is_error = xslt_library_line(&line, buf_view(&r->said));

    if (r->cause.len > 0)
        buf_printf(&line, ": %.*s", (int)(line.cap - line.len) / 2, r->cause.ptr);
    return service_fail(ret_failure, xslt_code_of(r), "xslt: %s%s",
                        is_error || r->cause.len > 0 ? "" : "stopped by xsl:message: ", line.ptr);
}

static void xslt_note_messages(struct xslt_run *r, struct service_io *io)
{
    for (struct str rest = buf_view(&r->said); rest.len > 0;) {
        AUTO(buf_done) struct buf line = BUF_INIT(SERVICE_NOTE_BYTES);
        struct str message;

        rest = str_cut(rest, '\n', &message);
        script_line(&line, str_first(message, SERVICE_NOTE_BYTES));
        if (line.len > 0)
            io->note(io, buf_view(&line));
    }
}

static bool xslt_write(const struct xslt_step *x, struct xslt_run *r, struct service_io *io,
                       struct service_failure *ret_failure)
{
    xmlChar *bytes = NULL;
    int len = 0;

    if (xsltSaveResultToString(&bytes, &len, r->result, x->sheet) != 0)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "xslt: the result cannot be written in the style sheet's character "
                            "set");
    bool ok = io->put(io, str_mem(bytes, (size_t)len), ret_failure);

    xmlFree(bytes);
    return ok;
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct xslt_step *x = self;
    AUTO(buf_done) struct buf in = BUF_INIT(SERVICE_BYTES_MOST);
    AUTO(xslt_run_done)
    struct xslt_run r = { .said = BUF_INIT(XSLT_LOG_MOST), .cause = BUF_INIT(XSLT_CAUSE_MOST) };
    struct err err;

    if (!service_gather(io, &in, ret_failure))
        return false;
    r.document = xml_library_read(buf_view(&in), NULL, &err);
    if (r.document == NULL)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "xslt: %s", err.text);
    if (!xslt_prepare(x, &r, io->document, ret_failure))
        return false;
    xslt_library_listen(&r.said, &r.cause);
    r.result = xsltApplyStylesheetUser(x->sheet, r.document, NULL, NULL, NULL, r.transform);
    xslt_library_listen(NULL, NULL);
    if (r.result == NULL || r.transform->state != XSLT_STATE_OK)
        return xslt_say(&r, ret_failure);
    xslt_note_messages(&r, io);
    return xslt_write(x, &r, io, ret_failure);
}

const struct service_type service_xslt = {
    .kind = { .name = "xslt",
              .help = "change XML with a style sheet",
              .keys = options,
              .example = "- xslt: { file: order.xslt, params: { to: \"${receiver}\" } }" },
    .caged = true,
    .copied = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
