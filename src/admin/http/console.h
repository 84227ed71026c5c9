/* console.h - the web console: files that are part of the binary.
 *
 *   GET /console/NAME          a file; its name has a hash of its content, so it never changes
 *   GET / and the paths below  index.html: the console reads its own address (deep links)
 *
 * The files contain no secrets and need no login; what they show comes from the API, which
 * authenticates the caller.  A Content-Security-Policy forbids pages to load anything from
 * elsewhere, to run inline scripts and to be framed.
 *
 * Threads: the loop of the request; nothing here blocks.
 */
#pragma once

#include "base/http_server.h"

/* One file; console/build.mjs generates the table. */
struct console_file {
    const char *name, *type, *tag; /* tag: ETag, from its content */
    struct str plain, packed;      /* packed: with gzip */
};

extern const struct console_file console_files[]; /* ends with a NULL name */

/* Answers a request for the console.  False: the path is not one of the console's, and nothing was
 * done. */
bool http_console_answer(struct http_request *r);
