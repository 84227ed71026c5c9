#include "delivery/http_soap.h"

#include <stdio.h>

enum { ACTION_MOST = 1024 };

/* ---- options ---- */

static const struct option keys[] = {
    OPTION("action", OPT_TEXT, "what SOAPAction says; with 1.2 the action of the content type"),
    OPTION("version", OPT_WORD, "the version", .words = OPTION_WORDS("1.1", "1.2"),
           .fallback = "1.1"),
    { 0 },
};

const struct option http_soap_options[] = {
    OPTION("soap", OPT_MAP,
           "documents are sent in SOAP envelopes, and faults are judged by whose they are",
           .keys = keys),
    { 0 },
};

static void refuse_set_header(const struct yaml_node *headers, const char *name,
                              struct problem_list *problems)
{
    if (headers == NULL || headers->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = headers->first; n != NULL; n = n->next)
        if (str_eq_nocase(n->key->text, str_of(name)))
            problem_add(problems, n->place, "leave it out; `action` is a key of `soap`",
                        "the header %s is set by `soap`", name);
}

void http_soap_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *method = yaml_get(map, "method");

    if (yaml_get(map, "soap") == NULL)
        return;
    if (method != NULL && !str_is(yaml_text(method), "POST"))
        problem_add(problems, method->place, "leave `method` out", "`soap` is sent with POST");
    refuse_set_header(yaml_get(map, "headers"), "Content-Type", problems);
    refuse_set_header(yaml_get(map, "headers"), "SOAPAction", problems);
}

bool http_soap_read(const struct settings *s, const struct http_soap **ret, struct err *err)
{
    struct settings below = settings_below(s, "soap");
    struct str version;

    *ret = NULL;
    if (!settings_has(s, "soap"))
        return true;
    struct http_soap *o = ARENA_NEW(s->arena, struct http_soap);

    if (!settings_text(&below, "version", &version, err) ||
        !settings_text(&below, "action", &o->action, err))
        return err_context(err, "`soap`");
    if (str_has_control(o->action) || str_find(o->action, '"') >= 0 ||
        str_find(o->action, '\\') >= 0 || o->action.len > ACTION_MOST)
        return err_set(err, ERR_CONFIG, 0,
                       "`soap`: `action` holds a quote, a backslash or a control character, or is "
                       "longer than %d bytes",
                       ACTION_MOST);
    o->version = str_is(version, "1.2") ? SOAP_1_2 : SOAP_1_1;
    o->ctype = soap_content_type(o->version);
    if (o->version == SOAP_1_2 && o->action.len > 0)
        o->ctype = str_of(
            arena_printf(s->arena, "%.*s; action=\"%.*s\"", STR_ARG(o->ctype), STR_ARG(o->action)));
    *ret = o;
    return true;
}

/* ---- the request ---- */

bool http_soap_prepare(const struct http_soap *o, struct str beginning, bool whole, struct arena *a,
                       struct http_out_request *r, struct verdict *v)
{
    struct soap_document d;
    struct err err = { 0 };

    *v = (struct verdict){ 0 };
    if (!soap_look(beginning, whole, &d, &err)) {
        (void)verdict_say(v, VERDICT_FAILED, "the document cannot be in a SOAP envelope: %s",
                          err.text);
        return false;
    }
    if (d.envelope != SOAP_NONE && d.envelope != o->version) {
        (void)verdict_say(v, VERDICT_FAILED,
                          "the document is an envelope of SOAP %s, and the endpoint sends SOAP %s",
                          d.envelope == SOAP_1_2 ? "1.2" : "1.1",
                          o->version == SOAP_1_2 ? "1.2" : "1.1");
        return false;
    }
    if (d.envelope == SOAP_NONE) {
        r->before = soap_before(o->version);
        r->after = soap_after(o->version);
        r->skip = d.from;
    }
    r->fields[r->field_count++] = (struct http_out_field){ STR("Content-Type"), o->ctype };
    if (o->version == SOAP_1_1)
        r->fields[r->field_count++] =
            (struct http_out_field){ STR("SOAPAction"),
                                     str_of(arena_printf(a, "\"%.*s\"", STR_ARG(o->action))) };
    return true;
}

/* ---- the answer ---- */

/* The envelope in an answer: of one with attachments it is the first part. */
static struct str envelope_in(const struct http_out_answer *a)
{
    ptrdiff_t at = 0;

    if (str_starts(a->ctype, STR("multipart/")))
        at = str_find(a->body, '<');
    return str_from(a->body, at > 0 ? (size_t)at : 0);
}

static void say_fault(const struct soap_fault *f, const struct http_out_answer *a,
                      struct verdict *v)
{
    enum verdict_kind kind = f->side == SOAP_RECEIVER ? VERDICT_RETRY : VERDICT_REJECTED;

    (void)verdict_say(v, kind, "the receiver answered %lld with the fault %s%s%s",
                      (long long)a->status, f->code[0] != '\0' ? f->code : "without a code",
                      f->reason[0] != '\0' ? ": " : "", f->reason);
    v->retry_after_us = kind == VERDICT_RETRY ? http_client_pause_us(a) : 0;
}

void http_soap_judge(const struct http_soap *o, const struct http_client *c,
                     const struct http_out_answer *a, struct verdict *v)
{
    struct soap_fault fault;

    (void)o;
    if (a->reach != HTTP_OUT_ANSWERED || http_client_is_told(c, a->status) ||
        v->kind == VERDICT_CREDENTIAL || v->kind == VERDICT_RETRY || a->body.len == 0)
        return;
    switch (soap_read(envelope_in(a), &fault)) {
    case SOAP_FAULT:
        say_fault(&fault, a, v);
        return;
    case SOAP_NO_ENVELOPE:
        if (v->kind == VERDICT_DELIVERED)
            (void)verdict_say(v, VERDICT_DOUBT,
                              "the receiver answered %lld, and with something that is no SOAP "
                              "envelope",
                              (long long)a->status);
        return;
    case SOAP_ANSWER:
        return;
    }
}
