/* http_in.h - one request to a gateway on HTTP, for the files of this gateway: http_in.c (the
 * request and its answer), http_in_auth.c (who sends it), http_in_form.c (a file in a form),
 * http_in_reply.c (the answer of the receiver). */
#pragma once

#include "core/connector.h"
#include "core/format/multipart.h"
#include "core/format/soap.h"
#include "core/web/http_user.h"
#include "core/web/signature.h"

enum { HTTP_IN_MAGIC = 0x68747470 };

struct http_in {
    struct intake *intake;
    const struct intake_port *port;
};

/* What a gateway asks beyond the usual; most have none. */
struct http_in_rule {
    const struct signature *signature; /* `auth: hmac`; else NULL */
    bool soap;                         /* `reply: soap` */
    bool form;                         /* `form: true` */
    int64_t wait_us;                   /* `reply: receiver`; else 0 */
};

/* One request, from its head to its answer. */
struct post {
    struct http_user user; /* first: http_user.h */
    unsigned magic;
    struct http_in *self;
    struct http_request *request; /* NULL: the client is gone */
    struct intake_table *table;
    const struct intake_gateway *gateway;
    const struct http_in_rule *rule; /* of the gateway; owned by the table; NULL: none */
    const struct config_user *basic; /* the authenticated user; owned by the table */
    int64_t caller, size;
    struct str systems; /* that the caller's key is bound to; owned by the table; empty: none */
    struct arrival *arrival;
    struct reply_wait *waits; /* it is stored, and waits for its receiver; NULL: it does not */
    struct signature_check *signature; /* of the body, while it comes; NULL: it is not signed */
    enum soap_version soap;            /* in which it is answered; SOAP_NONE: in our own words */
    struct http_in_form *form;         /* that is being read; NULL: the body is the document */
    bool verifying;
    struct intake_answer refusal; /* that is answered after a delay */
};

struct post *http_in_post(void *user);
void http_in_free(struct post *p);
/* Answers and frees the post. */
void http_in_refuse(struct post *p, int status, const char *fields, const char *code,
                    const char *message);
/* The sender is authenticated: admission, then the body. */
void http_in_begin(struct post *p);

/* ---- http_in_reply.c ---- */

/* The document is stored: the request stays open until http_in_on_replied().  What the post does
 * not need meanwhile is freed. */
void http_in_wait(struct post *p, struct reply_wait *waits);
void http_in_on_replied(void *user, const struct intake_reply *reply); /* answers */

/* ---- http_in_auth.c ---- */

/* Calls http_in_begin(), now or later, or answers. */
void http_in_authenticate(struct post *p);
/* The body is whole: it has the signature that the head announced. */
bool http_in_is_signed(struct post *p);
void http_in_refuse_signature(struct post *p); /* answers */

/* ---- http_in_form.c ---- */

struct http_in_form;

/* The body will be a form.  `headers`: lines of those that are kept; `name`: given by the request
 * itself, may be empty.  NULL: begun; else what is wrong, here and below one sentence. */
const char *http_in_form_begin(struct post *p, struct str headers, struct str name);
void http_in_form_free(struct http_in_form *f); /* NULL is fine */
/* *ret: bytes of the document in this piece, until the next call; may be empty. */
const char *http_in_form_take(struct http_in_form *f, struct str bytes, struct str *ret);
/* At the end of the body; NULL: it was a whole form with a file. */
const char *http_in_form_wrong(const struct http_in_form *f);
/* Tells the arrival what the form said about the document. */
void http_in_form_describe(struct post *p);
