/* http_user.h - several handlers behind one HTTP server.
 *
 * The handler that accepts a request in its head callback sets r->user to an object whose first
 * member is a struct http_user; the front passes all later callbacks of the request to it.
 */
#pragma once

struct http_handler;

struct http_user {
    const struct http_handler *handler;
};
