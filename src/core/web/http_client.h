/* http_client.h - what a connector that speaks HTTP to others is configured with: the request that
 * it makes of a document, and what an answer means.
 *
 * 2xx: delivered.  408 425 429 503: retry, after Retry-After if given.  401 403 407: our
 * credentials are refused, not the document.  Other 5xx: in doubt.  3xx (not followed) and other
 * 4xx: rejected.  `outcome` overrides any of these.
 *
 * Threads: read() while a plan is built; the others from any, nothing is changed.
 */
#pragma once

#include "core/connector.h"

enum { HTTP_STATUS_LEAST = 100, HTTP_STATUS_MOST = 599 };

struct http_client_field;

struct http_client {
    struct str method, url;
    struct http_out_options options;
    struct http_client_field *fields; /* `headers` */
    size_t field_count;
    bool typed; /* the fields include Content-Type */
    unsigned char outcomes[HTTP_STATUS_MOST + 1];
};

/* The keys url, method, timeout, connect_timeout, headers, user, password, tls, and outcome if it
 * is given. */
bool http_client_read(const struct settings *s, struct http_client *ret, struct err *err);
bool http_client_read_url(const struct settings *s, struct str *ret, struct err *err);
bool http_client_is_status(struct str text, uint64_t *ret);
/* `check` of an option_kind that has `outcome`. */
void http_client_check(const struct yaml_node *map, struct problem_list *problems);

/* The fields that tell the receiver what it gets, and those of `headers`.  False: one of them
 * cannot be made of this document, *ret_failed says why. */
bool http_client_put_fields(const struct http_client *c, const struct sending *s, struct arena *a,
                            struct http_out_request *ret, struct verdict *ret_failed);
/* A request with the bytes of the document: these fields, and its type. */
bool http_client_prepare(const struct http_client *c, const struct sending *s, struct arena *a,
                         struct http_out_request *ret, struct verdict *ret_failed);

void http_client_judge(const struct http_client *c, const struct http_out_answer *answer,
                       struct verdict *ret);
/* `outcome` says what the status means. */
bool http_client_is_told(const struct http_client *c, int64_t status);
/* What a status means where nothing else is said. */
enum verdict_kind http_client_usual(int64_t status);
/* A date of a field: one of the three forms of RFC 9110, all in UTC.  False: it is none. */
bool http_client_date(struct str text, int64_t *ret_us);
/* The wait that Retry-After asks for; 0: none, or unreadable. */
int64_t http_client_pause_us(const struct http_out_answer *answer);
