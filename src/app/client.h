/* client.h - the HTTP client of the command line for a node's admin API.
 *
 * GraphQL calls, streamed uploads, streamed downloads.  Every failure is printed on
 * stderr here, with its remedy, and leaves the exit status in `exit_code`; callers
 * just return it.  Bodies of documents are never held whole in memory.
 *
 * Only http and https; redirects are not followed; a loopback address is never
 * reached through a proxy; answers have a maximal size.
 *
 * Ownership: the client owns its url and token; what a call returns is the caller's.
 * Threads: the main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/args.h"

enum { CLIENT_PATIENCE_S = 60, CLIENT_HEADERS = 72 };

struct client {
    void *curl; /* CURL * */
    char *url;  /* without a slash at its end */
    char *token;
    const char *token_from; /* where it was found, for messages; NULL: no token */
    bool loopback;
    bool here;         /* the node is on this machine: its own token may be sent there */
    bool token_unsent; /* there is one of this machine, and the node is elsewhere */
    int64_t patience_s;
    int exit_code;
};

/* Configures the client from --url, --token and --timeout. */
bool client_open(struct client *c, const struct args *a);
void client_close(struct client *c); /* needed after a failed client_open(), too */

/* Takes ownership of `variables`; NULL: none.  *ret_data is the member `data`. */
bool client_graphql(struct client *c, const char *query, json_t *variables, json_t **ret_data);

struct client_upload {
    const char *path;           /* "/in/orders", already escaped */
    const char *title;          /* name of the body in messages: a file name, "stdin" */
    int fd;                     /* read to its end */
    const char *const *headers; /* "Name: value"; NULL ends them */
};

/* Sends the bytes of a file or pipe with POST; *ret_answer is the JSON object of a 2xx answer. */
bool client_post(struct client *c, const struct client_upload *up, json_t **ret_answer);

/* Downloads into a file, or to stdout when `to` is NULL.  The file is opened only after a 2xx
 * answer; after a failure an incomplete file is removed. */
bool client_get(struct client *c, const char *path, const char *to);

/* A header field of the last answer, lent until the next request; NULL: it has none. */
const char *client_field(struct client *c, const char *name);

/* The name percent-encoded, as one segment of a path; free() it. */
char *client_escape(struct client *c, const char *name);

/* Prints that the answer does not match the schema; returns the exit status. */
int client_odd(struct client *c, const char *what);

/* Members of an answer: NULL (or 0, false) when missing, null or of another type. */
const char *member_text(const json_t *object, const char *key);
int64_t member_number(const json_t *object, const char *key);
bool member_true(const json_t *object, const char *key);
