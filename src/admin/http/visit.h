/* visit.h - one request that is answered with the help of the background pool.
 *
 * The first member of the struct in which a handler keeps a request.  If the client disconnects
 * while a background thread works, the visit is freed when it comes back to the loop.
 *
 * Threads: the loop of the request.  While at_background is set, the rest of the enclosing struct
 * belongs to the background thread.
 */
#pragma once

#include "base/http_server.h"
#include "core/web/http_user.h"
#include "engine/threads/background.h"

struct http_visit {
    struct http_user user;        /* first: http_user.h */
    struct http_request *request; /* NULL: the client is gone */
    struct background_job job;
    bool at_background;
    bool is_answering; /* the head of the answer is out */
    void (*free)(struct http_visit *v);
};

void http_visit_begin(struct http_visit *v, struct http_request *r,
                      const struct http_handler *handler, void (*free)(struct http_visit *v));

/* Calls `run` in the background pool, then `done` on the loop.  False: the pool is full; the
 * request was answered with 503, or aborted, and the visit is freed. */
bool http_visit_to_background(struct http_visit *v, struct background *background,
                              void (*run)(struct background_job *),
                              void (*done)(struct loop_msg *));
struct http_visit *http_visit_of_job(struct background_job *job);
/* To be called first in `done`.  NULL: the client is gone, and the visit is freed. */
struct http_visit *http_visit_back(struct loop_msg *msg);

/* Answers and frees the visit; the texts may belong to the visit. */
void http_visit_error(struct http_visit *v, int status, const char *fields, const char *code,
                      const char *message);
void http_visit_abort(struct http_visit *v);

/* The slot `gone` of handlers: the client has disconnected. */
void http_visit_gone(struct http_request *r);
