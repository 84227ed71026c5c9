#include "admin/http/visit.h"

#include <stddef.h>
#include <stdio.h>

#include "base/container_of.h"
#include "base/err.h"

void http_visit_begin(struct http_visit *v, struct http_request *r,
                      const struct http_handler *handler, void (*free)(struct http_visit *v))
{
    v->user.handler = handler;
    v->request = r;
    v->free = free;
    r->user = v;
}

bool http_visit_to_background(struct http_visit *v, struct background *background,
                              void (*run)(struct background_job *), void (*done)(struct loop_msg *))
{
    v->job = (struct background_job){ .loop = http_loop(v->request),
                                      .run = run,
                                      .done = { .fn = done } };
    v->at_background = true;
    if (background_submit(background, &v->job))
        return true;
    v->at_background = false;
    if (v->is_answering)
        http_visit_abort(v);
    else
        http_visit_error(v, 503, "Retry-After: 1\r\n", "busy",
                         "Too many questions at once. Try again.");
    return false;
}

struct http_visit *http_visit_of_job(struct background_job *job)
{
    return container_of(job, struct http_visit, job);
}

struct http_visit *http_visit_back(struct loop_msg *msg)
{
    struct http_visit *v = container_of(msg, struct http_visit, job.done);

    v->at_background = false;
    if (v->request != NULL)
        return v;
    v->free(v);
    return NULL;
}

void http_visit_error(struct http_visit *v, int status, const char *fields, const char *code,
                      const char *message)
{
    struct http_request *r = v->request;
    char text[sizeof((struct err *)NULL)->text], more[200];

    (void)snprintf(text, sizeof text, "%s", message);
    (void)snprintf(more, sizeof more, "%s", fields);
    v->free(v);
    http_answer_error(r, status, str_of(more), code, text);
}

void http_visit_abort(struct http_visit *v)
{
    struct http_request *r = v->request;

    v->free(v);
    http_answer_abort(r);
}

void http_visit_gone(struct http_request *r)
{
    struct http_visit *v = r->user;

    v->request = NULL;
    if (!v->at_background)
        v->free(v);
}
