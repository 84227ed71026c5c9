/* console.h - the web console: files that are part of the binary.
 *
 *   GET /console/NAME          a file; its name has a hash of its content, so it never changes
 *   GET / and the paths below  index.html: the console reads its own address (deep links)
 *
 * The files hold nothing that is secret and are given to everybody; whatever they show comes from
 * the API, which asks who it is.  Pages are forbidden to load anything from elsewhere, to run
 * inline scripts and to be framed (Content-Security-Policy).
 *
 * Threads: the loop of the request; nothing here blocks.
 */
#pragma once

#include "base/http_server.h"

/* One file, as console/build.mjs writes the table of them. */
struct console_file {
    const char *name, *type, *tag; /* tag: of its content */
    struct str plain, packed;      /* as it is; in gzip   */
};

extern const struct console_file console_files[]; /* ends with a NULL name */

/* Answers what belongs to the console.  False: it does not, and nothing was done. */
bool http_console_answer(struct http_request *r);
