/* http_soap.h - `soap` of an HTTP endpoint: documents in envelopes, and answers that are faults.
 *
 * A document that is an envelope of the same version already is sent as it is; any other one
 * becomes the content of the Body.  A fault of the sender is a rejection, one of the receiver is
 * tried again; a code of the receiver's own counts as a rejection.  The status decides first where
 * it says something else than that the request was handled: 401, 403, 407, 408, 425, 429, 503, and
 * what `outcome` lists.
 */
#pragma once

#include "core/format/soap.h"
#include "core/web/http_client.h"

struct http_soap {
    enum soap_version version;
    struct str action, ctype; /* ctype: of requests, with the action where it belongs there */
};

extern const struct option http_soap_options[];

/* *ret NULL: `soap` is not set. */
bool http_soap_read(const struct settings *s, const struct http_soap **ret, struct err *err);
void http_soap_check(const struct yaml_node *map, struct problem_list *problems);

/* Adds the type, the action and the envelope to a request.  `beginning`: of the document, or all of
 * it (`whole`). */
bool http_soap_prepare(const struct http_soap *o, struct str beginning, bool whole, struct arena *a,
                       struct http_out_request *r, struct verdict *ret_failed);
/* After http_client_judge(): what the body says. */
void http_soap_judge(const struct http_soap *o, const struct http_client *c,
                     const struct http_out_answer *a, struct verdict *v);
