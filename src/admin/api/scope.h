/* scope.h - which documents and systems a right of the principal covers.
 *
 * A document is in scope when its sender or its receiver is a system that the right is for; one
 * that has neither, or names that no configuration knows, is in scope of those only who have the
 * right for all systems.  Whoever asks for something out of scope gets the answer of something that
 * is not there.
 */
#pragma once

#include "admin/graphql/graphql.h"
#include "admin/login/principal.h"
#include "store/search/document.h"

/* Sender and receiver are words; 0: none.  What one may not see one may not change either. */
bool principal_sees_document(const struct principal *p, enum right right, const struct document *d);

/* The same for documents that people make (engine/manual.h): `principal` is one. */
bool principal_edits(const void *principal, int64_t sender, int64_t receiver);

bool api_sees(const struct graphql_call *call, enum right right, int64_t sender, int64_t receiver);
bool api_sees_system(const struct graphql_call *call, enum right right, struct str name);
/* It is for all systems: nothing needs to be looked at. */
bool api_sees_all(const struct graphql_call *call, enum right right);

/* For filters of the store; NULL: all systems. */
const struct document_scope *api_scope(const struct graphql_call *call, enum right right);

/* What a text tells of documents is for those who see them; the text as it may be shown. */
bool api_hide_others(const struct graphql_call *call, const char *text, const char **ret,
                     struct err *err);

/* *ret_found: it is there, and in scope. */
bool api_get_document(const struct graphql_call *call, enum right right, const struct id *id,
                      struct document *ret, bool *ret_found, struct err *err);
bool api_get_numbered(const struct graphql_call *call, enum right right, int64_t num,
                      struct document *ret, bool *ret_found, struct err *err);
/* The same without the document. */
bool api_is_there(const struct graphql_call *call, enum right right, const struct id *id, bool *ret,
                  struct err *err);
