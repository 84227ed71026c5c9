/* audit.h - what of the admin API goes into the audit log (store/audit/audit.h).
 *
 * Asked in one place, before a field is resolved: a field of Mutation begins an entry, which the
 * change it asks for carries in its own transaction; a field that needs the right `payload` or
 * `download` is written down before it shows anything.  Values that nobody may read, such as
 * passwords, and payloads are not in it. */
#pragma once

#include "admin/login/principal.h"
#include "store/audit/audit.h"

struct graphql_call;

/* False: it could not be written, and the field must not be resolved. */
bool api_audit_ask(struct graphql_call *call, enum right right, struct err *err);
/* For a change that no verb of the store makes: write what was begun now. */
bool api_audit_now(struct graphql_call *call, struct err *err);
/* The request is over. */
void api_audit_done(void);

/* Who, for those who are not asked in GraphQL. */
struct audit_entry api_audit_entry(const struct principal *p, struct str action, struct str object);
