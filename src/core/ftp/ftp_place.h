/* ftp_place.h - which FTP server, which login and which folder a connector is configured with.
 *
 *     url: "ftp://host/out"     the folder `out` in the one where the login ends up
 *     url: "ftp://host//out"    the folder /out of the server
 *
 * ftps:// is encrypted from its start, ftp:// with `tls`; then what follows is encrypted, commands
 * and files, or nothing is sent.
 *
 * Threads: read() while a plan is built; then nothing is changed.
 */
#pragma once

#include "base/digest.h"
#include "core/line/curl_line.h"
#include "core/settings.h"

enum { FTP_PLACE_URL = 8192, FTP_PLACE_PATH = 1024 };

struct ftp_place {
    struct curl_line_options options;
    struct str url;    /* of the folder, with a slash at its end */
    struct str server; /* the url without its path */
    /* The folder in commands: empty, or with a slash at its end; one that begins with a slash is
     * counted from the root of the server. */
    struct str path;
    struct sha256 key; /* of everything that a login is made with (core/line/line.h) */
};

/* The keys of grammar_ftp and grammar_login, timeout, and connect_timeout if the settings have it.
 */
bool ftp_place_read(const struct settings *s, struct ftp_place *ret, struct err *err);
