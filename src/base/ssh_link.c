#include "base/ssh_link.h"

#include <fcntl.h>
#include <libssh/libssh.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"

#define PRINT "SHA256:"

enum {
    PRINT_TEXT = 64,
    ROUNDS_MOST = 8,   /* of questions in one login */
    PROMPTS_MOST = 16, /* questions in one of them */
    LOOKS_MOST = 16,
};

struct ssh_link {
    ssh_session session;
    ssh_channel channel;
    bool failed;
    char print[PRINT_TEXT]; /* of the key that the server has shown */
};

/* The types of keys that a server may have; those with SHA-1 signatures and DSA are not taken. */
static const struct {
    enum ssh_keytypes_e type;
    const char *algorithms;
} key_types[] = {
    { SSH_KEYTYPE_ED25519, "ssh-ed25519" },
    { SSH_KEYTYPE_ECDSA_P256, "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521" },
    { SSH_KEYTYPE_RSA, "rsa-sha2-512,rsa-sha2-256" },
};

#define ALL_ALGORITHMS                                                                      \
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512," \
    "rsa-sha2-256"

enum { KEY_TYPES = sizeof key_types / sizeof key_types[0] };

/* ---- prints and keys ---- */

bool ssh_link_print_parse(struct str text, struct sha256 *ret)
{
    enum { PRINT_LETTERS = 43 };
    AUTO(buf_done) struct buf bytes = BUF_INIT(PRINT_TEXT);
    struct str letters = str_from(text, strlen(PRINT));
    struct err err = { 0 };

    if (!str_starts(text, STR(PRINT)))
        return false;
    while (letters.len > 0 && letters.ptr[letters.len - 1] == '=')
        letters.len--;
    if (letters.len != PRINT_LETTERS || !base64_decode(letters, &bytes, &err) ||
        bytes.len != SHA256_SIZE)
        return false;
    memcpy(ret->bytes, bytes.ptr, SHA256_SIZE);
    return true;
}

static void put_print(const struct sha256 *print, char text[static PRINT_TEXT])
{
    AUTO(buf_done) struct buf letters = BUF_INIT(PRINT_TEXT);
    struct err err = { 0 };

    text[0] = '\0';
    if (base64_encode(str_mem(print->bytes, SHA256_SIZE), &letters, &err))
        (void)snprintf(text, PRINT_TEXT, PRINT "%.43s", letters.ptr);
}

/* An empty passphrase and not NULL: without one OpenSSL asks on the terminal. */
static bool link_import_key(const char *private_key, const char *passphrase, ssh_key *ret)
{
    return ssh_pki_import_privkey_base64(private_key, passphrase != NULL ? passphrase : "", NULL,
                                         NULL, ret) == SSH_OK;
}

bool ssh_link_check_key(const char *private_key, const char *passphrase, struct err *err)
{
    ssh_key key = NULL;
    bool ok = link_import_key(private_key, passphrase, &key);

    ssh_key_free(key);
    return ok || err_set(err, ERR_CONFIG, 0,
                         "the private key cannot be read: it must be an RSA, ECDSA or Ed25519 key "
                         "in the form of OpenSSH or PEM%s",
                         passphrase != NULL ? ", opened by `passphrase`"
                                            : "; a locked one needs `passphrase`");
}

/* ---- waiting ---- */

static bool link_say_lost(struct ssh_link *l, struct err *err)
{
    const char *why = ssh_get_error(l->session);

    l->failed = true;
    return err_set(err, ERR_TRANSIENT, ECONNRESET, "%.150s",
                   why[0] != '\0' ? why : "the connection was closed");
}

/* Until libssh can go on.  It makes the socket one that blocks, which would make its writes wait
 * for a server that stands still. */
static bool link_wait(struct ssh_link *l, const struct dial_wait *wait, struct err *err)
{
    int fd = ssh_get_fd(l->session), flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
    short events = POLLIN;

    if (flags < 0)
        return link_say_lost(l, err);
    if ((flags & O_NONBLOCK) == 0)
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if ((ssh_get_poll_flags(l->session) & SSH_WRITE_PENDING) != 0)
        events |= POLLOUT;
    l->failed = l->failed || !dial_poll(fd, events, wait, err);
    return !l->failed;
}

/* ---- the key of the server ---- */

static bool link_knows(const struct ssh_login *login, const struct sha256 *print)
{
    for (size_t i = 0; i < login->print_count; i++)
        if (digest_same(&login->prints[i], print))
            return true;
    return login->print_count == 0;
}

static bool check_server(struct ssh_link *l, const struct ssh_login *login,
                         enum ssh_keytypes_e *ret_type, struct err *err)
{
    unsigned char *hash = NULL;
    struct sha256 print = { 0 };
    ssh_key key = NULL;
    size_t len = 0;

    if (ssh_get_server_publickey(l->session, &key) != SSH_OK ||
        ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) != SSH_OK ||
        len != SHA256_SIZE) {
        ssh_key_free(key);
        ssh_clean_pubkey_hash(&hash);
        return link_say_lost(l, err);
    }
    memcpy(print.bytes, hash, SHA256_SIZE);
    *ret_type = ssh_key_type(key);
    ssh_key_free(key);
    ssh_clean_pubkey_hash(&hash);
    put_print(&print, l->print);
    return link_knows(login, &print) ||
           err_set(err, ERR_TRANSIENT, SSH_LINK_HOST_KEY,
                   "the server has another host key, %s: nothing was sent; if that is right, it "
                   "belongs into `host_key`",
                   l->print);
}

/* ---- the login ---- */

static bool login_none(struct ssh_link *l, const struct dial_wait *wait, int *ret_rc,
                       struct err *err)
{
    while ((*ret_rc = ssh_userauth_none(l->session, NULL)) == SSH_AUTH_AGAIN)
        if (!link_wait(l, wait, err))
            return false;
    return *ret_rc != SSH_AUTH_ERROR || link_say_lost(l, err);
}

static bool login_key(struct ssh_link *l, const struct ssh_login *login,
                      const struct dial_wait *wait, int *ret_rc, struct err *err)
{
    ssh_key key = NULL;
    bool waited = true;

    if (!link_import_key(login->private_key, login->passphrase, &key))
        return err_set(err, ERR_TRANSIENT, SSH_LINK_LOGIN, "the private key cannot be read");
    while (waited && (*ret_rc = ssh_userauth_publickey(l->session, NULL, key)) == SSH_AUTH_AGAIN)
        waited = link_wait(l, wait, err);
    ssh_key_free(key);
    return waited && (*ret_rc != SSH_AUTH_ERROR || link_say_lost(l, err));
}

static bool login_password(struct ssh_link *l, const struct ssh_login *login,
                           const struct dial_wait *wait, int *ret_rc, struct err *err)
{
    while ((*ret_rc = ssh_userauth_password(l->session, NULL, login->password)) == SSH_AUTH_AGAIN)
        if (!link_wait(l, wait, err))
            return false;
    return *ret_rc != SSH_AUTH_ERROR || link_say_lost(l, err);
}

/* Every question that hides its answer is taken for the one for the password. */
static bool answer_questions(struct ssh_link *l, const struct ssh_login *login)
{
    int count = ssh_userauth_kbdint_getnprompts(l->session);

    for (int i = 0; i < count && i < PROMPTS_MOST; i++) {
        char echo = 1;

        (void)ssh_userauth_kbdint_getprompt(l->session, (unsigned)i, &echo);
        if (ssh_userauth_kbdint_setanswer(l->session, (unsigned)i,
                                          echo != 0 ? "" : login->password) < 0)
            return false;
    }
    return count >= 0 && count <= PROMPTS_MOST;
}

static bool login_questions(struct ssh_link *l, const struct ssh_login *login,
                            const struct dial_wait *wait, int *ret_rc, struct err *err)
{
    for (int rounds = 0;; rounds++) {
        while ((*ret_rc = ssh_userauth_kbdint(l->session, NULL, NULL)) == SSH_AUTH_AGAIN)
            if (!link_wait(l, wait, err))
                return false;
        if (*ret_rc == SSH_AUTH_ERROR)
            return link_say_lost(l, err);
        if (*ret_rc != SSH_AUTH_INFO)
            return true;
        if (rounds == ROUNDS_MOST || !answer_questions(l, login))
            return err_set(err, ERR_TRANSIENT, SSH_LINK_LOGIN,
                           "the server asks more at the login than a password answers");
    }
}

static bool link_say_refused(const struct ssh_login *login, int methods, struct err *err)
{
    return err_set(err, ERR_TRANSIENT, SSH_LINK_LOGIN,
                   "the server refuses the login of %.60s; it takes:%s%s%s", login->user,
                   (methods & (int)SSH_AUTH_METHOD_PASSWORD) != 0 ? " password" : "",
                   (methods & (int)SSH_AUTH_METHOD_PUBLICKEY) != 0 ? " publickey" : "",
                   (methods & (int)SSH_AUTH_METHOD_INTERACTIVE) != 0 ? " keyboard-interactive"
                                                                     : "");
}

/* What is given is tried once each: a server may count failures.  A server may ask for the key and
 * the password. */
static bool link_login(struct ssh_link *l, const struct ssh_login *login,
                       const struct dial_wait *wait, struct err *err)
{
    int rc;

    if (!login_none(l, wait, &rc, err))
        return false;
    int methods = ssh_userauth_list(l->session, NULL);

    if (rc != SSH_AUTH_SUCCESS && login->private_key != NULL &&
        (methods & (int)SSH_AUTH_METHOD_PUBLICKEY) != 0) {
        if (!login_key(l, login, wait, &rc, err))
            return false;
        methods = ssh_userauth_list(l->session, NULL);
    }
    if (rc != SSH_AUTH_SUCCESS && login->password != NULL) {
        bool plain = (methods & (int)SSH_AUTH_METHOD_PASSWORD) != 0;

        if (!plain && (methods & (int)SSH_AUTH_METHOD_INTERACTIVE) == 0)
            return link_say_refused(login, methods, err);
        if (!(plain ? login_password : login_questions)(l, login, wait, &rc, err))
            return false;
    }
    return rc == SSH_AUTH_SUCCESS || link_say_refused(login, methods, err);
}

/* ---- open ---- */

static bool link_set_options(ssh_session s, const struct ssh_login *login, const char *algorithms,
                             int fd)
{
    static const bool no = false;
    unsigned port = login->port;

    return ssh_options_set(s, SSH_OPTIONS_PROCESS_CONFIG, &no) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_HOST, login->host) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_PORT, &port) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_USER, login->user) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_KNOWNHOSTS, "/dev/null") == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_HOSTKEYS, algorithms) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, ALL_ALGORITHMS) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_FD, &fd) == SSH_OK;
}

/* From a socket to a server whose key is known.  The socket is closed with the session. */
static bool link_greet(struct ssh_link *l, const struct ssh_login *login, const char *algorithms,
                       int fd, const struct dial_wait *wait, enum ssh_keytypes_e *ret_type,
                       struct err *err)
{
    l->session = ssh_new();
    if (l->session == NULL || !link_set_options(l->session, login, algorithms, fd)) {
        (void)close(fd);
        return err_set(err, ERR_TRANSIENT, ENOMEM, "the connection cannot be set up: %.100s",
                       l->session != NULL ? ssh_get_error(l->session) : "no memory");
    }
    ssh_set_blocking(l->session, 0);
    for (int rc; (rc = ssh_connect(l->session)) != SSH_OK;) {
        if (rc != SSH_AGAIN)
            return link_say_lost(l, err);
        if (!link_wait(l, wait, err))
            return false;
    }
    return check_server(l, login, ret_type, err);
}

static bool link_begin(struct ssh_link *l, const char *subsystem, const struct dial_wait *wait,
                       struct err *err)
{
    int rc;

    l->channel = ssh_channel_new(l->session);
    if (l->channel == NULL)
        return link_say_lost(l, err);
    while ((rc = ssh_channel_open_session(l->channel)) == SSH_AGAIN)
        if (!link_wait(l, wait, err))
            return false;
    if (rc != SSH_OK)
        return link_say_lost(l, err);
    while ((rc = ssh_channel_request_subsystem(l->channel, subsystem)) == SSH_AGAIN)
        if (!link_wait(l, wait, err))
            return false;
    return rc == SSH_OK || err_set(err, ERR_TRANSIENT, EPROTO,
                                   "the server does not offer %s to this user", subsystem);
}

static void link_drop(struct ssh_link *l)
{
    if (l->session != NULL) {
        ssh_silent_disconnect(l->session); /* frees the channel too */
        ssh_free(l->session);
    }
    *l = (struct ssh_link){ 0 };
}

static bool link_try(struct ssh_link *l, const struct ssh_login *login, const char *algorithms,
                     const struct egress *egress, const struct dial_wait *wait,
                     enum ssh_keytypes_e *ret_type, struct err *err)
{
    struct dial_wait connect = *wait;
    int64_t until_us = clock_mono_us() + login->connect_us;
    int fd;

    if (until_us < connect.until_us)
        connect.until_us = until_us;
    return dial(login->host, login->port, egress, &connect, &fd, err) &&
           link_greet(l, login, algorithms, fd, wait, ret_type, err);
}

static bool is_of_type(size_t i, enum ssh_keytypes_e type)
{
    bool ecdsa = type == SSH_KEYTYPE_ECDSA_P256 || type == SSH_KEYTYPE_ECDSA_P384 ||
                 type == SSH_KEYTYPE_ECDSA_P521;

    return key_types[i].type == type || (key_types[i].type == SSH_KEYTYPE_ECDSA_P256 && ecdsa);
}

/* The server showed a key of this type, which is not known: has it others? */
static bool link_try_others(struct ssh_link *l, const struct ssh_login *login,
                            const struct egress *egress, const struct dial_wait *wait,
                            enum ssh_keytypes_e shown)
{
    for (size_t i = 0; i < KEY_TYPES; i++) {
        enum ssh_keytypes_e type;
        struct err err = { 0 };

        if (is_of_type(i, shown))
            continue;
        link_drop(l);
        if (link_try(l, login, key_types[i].algorithms, egress, wait, &type, &err))
            return true;
    }
    return false;
}

bool ssh_link_open(const struct ssh_login *login, const char *subsystem,
                   const struct egress *egress, const struct dial_wait *wait, struct ssh_link **ret,
                   struct err *err)
{
    struct ssh_link *l = NEW(struct ssh_link);
    enum ssh_keytypes_e type = SSH_KEYTYPE_UNKNOWN;
    struct err first = { 0 };
    bool ok = link_try(l, login, ALL_ALGORITHMS, egress, wait, &type, &first) ||
              (first.sys == SSH_LINK_HOST_KEY && link_try_others(l, login, egress, wait, type));

    if (!ok)
        *err = first;
    if (ok && link_login(l, login, wait, err) && link_begin(l, subsystem, wait, err)) {
        *ret = l;
        return true;
    }
    (void)err_context(err, "%.60s", login->host);
    ssh_link_close(l);
    return false;
}

void ssh_link_close(struct ssh_link *l)
{
    if (l == NULL)
        return;
    link_drop(l);
    free(l);
}

/* ---- use ---- */

const char *ssh_link_print(const struct ssh_link *l)
{
    return l->print;
}

bool ssh_link_is_open(struct ssh_link *l)
{
    for (int i = 0; i < LOOKS_MOST && !l->failed; i++) {
        int fd = ssh_get_fd(l->session);
        struct pollfd p = { .fd = fd, .events = POLLIN };

        if (fd < 0 || ssh_channel_poll(l->channel, 0) != 0 || ssh_channel_is_closed(l->channel))
            break;
        if (poll(&p, 1, 0) == 0)
            return true;
    }
    return false;
}

bool ssh_link_write(struct ssh_link *l, struct str bytes, const struct dial_wait *wait,
                    struct err *err)
{
    enum { PIECE_MOST = 1 << 20 };

    while (bytes.len > 0) {
        uint32_t piece = (uint32_t)(bytes.len < PIECE_MOST ? bytes.len : PIECE_MOST);
        int n = l->failed ? SSH_ERROR : ssh_channel_write(l->channel, bytes.ptr, piece);

        if (n < 0)
            return link_say_lost(l, err);
        bytes = str_from(bytes, (size_t)n);
        if (n == 0 && !link_wait(l, wait, err))
            return false;
    }
    return true;
}

bool ssh_link_read(struct ssh_link *l, void *to, size_t len, const struct dial_wait *wait,
                   struct err *err)
{
    char *at = to;

    while (len > 0) {
        int n =
            l->failed ? SSH_ERROR : ssh_channel_read_nonblocking(l->channel, at, (uint32_t)len, 0);

        if (n < 0 || (n == 0 && ssh_channel_is_eof(l->channel)))
            return link_say_lost(l, err);
        at += n;
        len -= (size_t)n;
        if (n == 0 && !link_wait(l, wait, err))
            return false;
    }
    return true;
}
