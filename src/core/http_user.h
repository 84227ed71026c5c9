/* http_user.h - several handlers behind one HTTP server.
 *
 * Whoever takes a request at its head puts a pointer to an object into r->user whose
 * first member is this; the front passes everything that follows on to it.
 */
#pragma once

struct http_handler;

struct http_user {
    const struct http_handler *handler;
};
