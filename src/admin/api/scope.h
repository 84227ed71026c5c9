/* scope.h - which documents and systems a right of the principal covers.
 *
 * A document is in scope when the right covers its sender or its receiver.  A document with
 * neither, or with names that no configuration has, is in scope only for principals who have the
 * right for all systems.  An object out of scope is answered as if it did not exist.
 */
#pragma once

#include "admin/graphql/graphql.h"
#include "admin/login/principal.h"
#include "store/search/document.h"

/* Every other right counts only together with the right `see`.  Sender and receiver are name ids;
 * 0: none. */
bool principal_sees_document(const struct principal *p, enum right right, const struct document *d);

/* The callbacks of engine/manual.h for the right `edit`; `principal` is a struct principal.  To
 * send in the name of a system takes the right for that system: for the receiver alone is not
 * enough. */
bool principal_edits(const void *principal, int64_t sender, int64_t receiver);
bool principal_sends(const void *principal, int64_t sender);

bool api_sees(const struct graphql_call *call, enum right right, int64_t sender, int64_t receiver);
bool api_sees_system(const struct graphql_call *call, enum right right, struct str name);
/* Whether the right is for all systems, so that documents need no check. */
bool api_sees_all(const struct graphql_call *call, enum right right);

/* The scope for filters of the store; NULL: all systems. */
const struct document_scope *api_scope(const struct graphql_call *call, enum right right);

/* *ret: the text, or a placeholder if the text contains the id of a document out of scope. */
bool api_hide_others(const struct graphql_call *call, const char *text, const char **ret,
                     struct err *err);

/* *ret_found: the document exists and is in scope. */
bool api_get_document(const struct graphql_call *call, enum right right, const struct id *id,
                      struct document *ret, bool *ret_found, struct err *err);
bool api_get_numbered(const struct graphql_call *call, enum right right, int64_t num,
                      struct document *ret, bool *ret_found, struct err *err);
/* The same without the document. */
bool api_is_there(const struct graphql_call *call, enum right right, const struct id *id, bool *ret,
                  struct err *err);
