/* ssh_link.h - an SSH connection with one channel of bytes: a subsystem such as sftp.
 *
 * It uses the server, the login and the keys that it is given and nothing of this machine: no
 * configuration of OpenSSH, no known_hosts, no agent.  A server is known by the SHA-256 print of
 * its key.  A server may have keys of several types, and the print of any one may be given: if the
 * first key has another print, the server is asked for its keys of the other types.
 *
 * No call waits longer than its dial_wait; after one that failed the link can only be closed.
 *
 * Errors: ERR_TRANSIENT.  Their `sys` tells apart what people have to mend:
 *   SSH_LINK_LOGIN     the server refuses the login
 *   SSH_LINK_HOST_KEY  another server: none of its keys has a known print
 *   ETIMEDOUT, ECANCELED and the rest: as of dial.h
 *
 * Threads: one at a time per link.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dial.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct egress;
struct ssh_link;

enum { SSH_LINK_LOGIN = EKEYREJECTED, SSH_LINK_HOST_KEY = EKEYREVOKED, SSH_LINK_PORT = 22 };

struct ssh_login {
    const char *host;
    uint16_t port;
    const char *user;
    const char *password;        /* NULL: none */
    const char *private_key;     /* OpenSSH or PEM; NULL: none ... */
    const char *passphrase;      /* ... and what opens it; NULL: it is not locked */
    const struct sha256 *prints; /* of the keys of the server ... */
    size_t print_count;          /* ... 0: any server is taken */
    int64_t connect_us;          /* how long the TCP connection may take */
};

/* "SHA256:" and 43 characters, as ssh-keygen -l writes it. */
bool ssh_link_print_parse(struct str text, struct sha256 *ret);

/* ERR_CONFIG: it cannot be read; the text has nothing of the key. */
bool ssh_link_check_key(const char *private_key, const char *passphrase, struct err *err);

bool ssh_link_open(const struct ssh_login *login, const char *subsystem,
                   const struct egress *egress, const struct dial_wait *wait, struct ssh_link **ret,
                   struct err *err);
void ssh_link_close(struct ssh_link *l); /* waits for nothing; NULL is fine */

/* "SHA256:..." of the server's key, as long as the link lasts. */
const char *ssh_link_print(const struct ssh_link *l);

/* One look, without waiting: the other side has neither closed it nor sent anything. */
bool ssh_link_is_open(struct ssh_link *l);

bool ssh_link_write(struct ssh_link *l, struct str bytes, const struct dial_wait *wait,
                    struct err *err);
/* Exactly so many bytes. */
bool ssh_link_read(struct ssh_link *l, void *to, size_t len, const struct dial_wait *wait,
                   struct err *err);
