/* report.h - the errors of one answer.
 *
 * Codes (extensions.code), stable, for programs:
 *   syntax       the document does not parse
 *   invalid      it does not fit the schema, or the variables do not
 *   limit        a limit was reached; the message says which
 *   unavailable  ERR_TRANSIENT: may work later
 *   refused      ERR_PERMANENT
 *   forbidden    ERR_PERMANENT with EACCES or EPERM
 *   not_found    ERR_PERMANENT with ENOENT
 *   uncertain    ERR_UNCERTAIN: the change may have happened
 *   config       ERR_CONFIG, from a resolver
 *   internal     a defect of the server: no value where the schema promises one
 *   bad_request  the body is not a GraphQL request (request.h)
 *
 * Invariants
 *   (1) what graphql_report_write() appends fits into GRAPHQL_ERRORS_ROOM: the
 *       number of errors, their texts and the names in their paths have caps.
 */
#pragma once

#include "admin/graphql/graphql.h"

enum { GRAPHQL_ERRORS_MAX = 40, GRAPHQL_PATH_MAX = 300 };

/* No place in the source. */
#define GRAPHQL_NOWHERE SIZE_MAX

struct graphql_step {
    struct str key; /* a NULL pointer: `index` of a list */
    size_t index;
};

struct graphql_problem {
    const char *code, *text;
    size_t at;
    const struct graphql_step *path;
    size_t path_len;
};

struct graphql_report {
    struct arena *arena;
    struct str source;
    struct graphql_problem problems[GRAPHQL_ERRORS_MAX];
    size_t count; /* further ones are dropped */
};

/* All texts are copied.  The caller may add a path to the result, which is NULL when
 * the report is full. */
struct graphql_problem *graphql_report_add(struct graphql_report *r, const char *code, size_t at,
                                           const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The code (extensions.code) for an error of a resolver. */
const char *graphql_report_code(const struct err *err);

/* Appends the JSON array. */
void graphql_report_write(const struct graphql_report *r, struct buf *out);
