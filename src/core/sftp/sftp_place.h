/* sftp_place.h - which SFTP server, which login and which folder a connector is configured with.
 *
 *     url: "sftp://edi@host:2222/out"    the folder /out; /~/out is in the user's own folder
 *     host_key: "SHA256:..."             of the server's key, or a list; `any`: not checked
 *     password, private_key, passphrase  secrets
 *
 * Threads: read() while a plan is built; then nothing is changed.
 */
#pragma once

#include "base/digest.h"
#include "base/ssh_link.h"
#include "base/str.h"
#include "core/option.h"
#include "core/settings.h"

struct sftp_place {
    struct ssh_login login;
    struct str folder; /* as the server is asked for it; empty: where the login ends up */
    struct sha256 key; /* of everything that a connection is opened with (core/line/line.h) */
    int64_t timeout_us;
    bool hurries; /* its waits end when the node stops, not only when the call is given up */
};

/* The keys url, user, password, private_key, passphrase, host_key, timeout, and connect_timeout if
 * the settings have it. */
bool sftp_place_read(const struct settings *s, struct sftp_place *ret, struct err *err);
/* For `check` of an option_kind that has these keys. */
void sftp_place_check(const struct yaml_node *map, struct problem_list *problems);
