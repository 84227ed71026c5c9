/* audit.h - which requests of the admin API go into the audit log (store/audit/audit.h).
 *
 * Decided in one place, before a field is resolved.  A field of Mutation begins an entry, which the
 * store writes in the transaction of the change itself.  A field that needs the right `payload` or
 * `download`, or is marked @audited, is logged before it shows anything.  Of arguments marked
 * @secret or @unlogged, such as passwords and payloads, at most the length is logged. */
#pragma once

#include "admin/login/principal.h"
#include "store/audit/audit.h"

struct graphql_call;

/* False: the entry could not be written, and the field must not be resolved. */
bool api_audit_ask(struct graphql_call *call, enum right right, struct err *err);
/* Writes the entry that was begun; for a mutation that no operation of the store carries out. */
bool api_audit_now(struct graphql_call *call, struct err *err);
/* Call it at the end of a request. */
void api_audit_done(void);

/* An entry with the principal as its actor, for the plain HTTP paths. */
struct audit_entry api_audit_entry(const struct principal *p, struct str action, struct str object);
