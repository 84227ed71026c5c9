/* client.h - a node, as the command line talks to it.
 *
 * One GraphQL call, one streamed upload, one streamed download.  Every failure is
 * told on stderr here, with its remedy, and leaves the exit status in `exit_code`;
 * callers just return it.  Bodies of documents are never held whole in memory.
 *
 * Only http and https; redirects are not followed; a loopback address is never
 * asked through a proxy; answers have a cap.
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
    const char *token_from; /* for messages; NULL: there is none */
    bool loopback;
    int64_t patience_s;
    int exit_code;
};

/* From --url, --token and --timeout. */
bool client_open(struct client *c, const struct args *a);
void client_close(struct client *c); /* also after a failed client_open() */

/* `variables` is taken over, NULL for none.  *ret_data is the member `data`. */
bool client_graphql(struct client *c, const char *query, json_t *variables, json_t **ret_data);

struct client_upload {
    const char *path;           /* "/in/orders", already escaped */
    const char *title;          /* of the body, for messages: a file name, "stdin" */
    int fd;                     /* read to its end */
    const char *const *headers; /* "Name: value"; NULL ends them */
};

/* POST the bytes of a file or pipe; *ret_answer is the JSON object of a 2xx. */
bool client_post(struct client *c, const struct client_upload *up, json_t **ret_answer);

/* GET into a file, or to stdout when `to` is NULL.  The file is touched only once the
 * node has said yes; what a failure leaves half written is removed. */
bool client_get(struct client *c, const char *path, const char *to);

/* A name as one piece of a path; free() it. */
char *client_escape(struct client *c, const char *name);

/* Tell that the answer has not the form of the schema; the result is the exit status. */
int client_odd(struct client *c, const char *what);

/* Members of an answer: NULL (or 0, false) when missing, null or of another type. */
const char *member_text(const json_t *object, const char *key);
int64_t member_number(const json_t *object, const char *key);
bool member_true(const json_t *object, const char *key);
