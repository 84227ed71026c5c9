/* visit.h - one request whose answer is found at the background pool.
 *
 * The first member of whatever a handler keeps of a request.  The client may go while the
 * background pool is at it: then nobody is answered, and the visit ends when it comes back to the
 * loop.
 *
 * Threads: the loop of the request; what is run at the background pool reads the rest of the
 * struct.
 */
#pragma once

#include "base/http_server.h"
#include "core/http_user.h"
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

/* Run at the background pool, then come back to the loop.  False: the background pool is full; that
 * was answered, and the visit has ended. */
bool http_visit_to_background(struct http_visit *v, struct background *background,
                              void (*run)(struct background_job *),
                              void (*done)(struct loop_msg *));
struct http_visit *http_visit_of_job(struct background_job *job);
/* NULL: nobody waits any more, and the visit has ended. */
struct http_visit *http_visit_back(struct loop_msg *msg);

/* Answer, and end the visit; the message may be its own. */
void http_visit_error(struct http_visit *v, int status, const char *fields, const char *code,
                      const char *message);
void http_visit_abort(struct http_visit *v);

/* For handlers: the client is gone. */
void http_visit_gone(struct http_request *r);
