#include "core/sftp/sftp_probe.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/sftp_client.h"
#include "core/call.h"
#include "core/probing/probing_net.h"
#include "core/sftp/sftp_place.h"

enum { REMOTE_MOST = 1200, PRINT_CHARS = 50 };

static bool probing_sftp_is_over(const void *call)
{
    return call_is_over(call);
}

static void probing_sftp_alive(void *call)
{
    call_alive(call);
}

/* ---- connection, key and login ---- */

static bool probing_fail_key(struct probing *p, const struct err *err)
{
    const char *print = strstr(err->text, "SHA256:");
    char remedy[PROBING_TEXT];

    (void)snprintf(remedy, sizeof remedy,
                   "ask who runs the server; if the key was changed on purpose, write `host_key: "
                   "\"%.*s\"`",
                   PRINT_CHARS, print != NULL ? print : "");
    return probing_fail(p, "host key", remedy, "%s", err->text);
}

static void probing_pass_key(struct probing *p, const struct ssh_login *login)
{
    if (login->print_count > 0)
        (void)probing_pass(p, "host key", "it is a known one");
}

static bool probing_fail_open(struct probing *p, const struct ssh_login *login,
                              const struct err *err)
{
    switch (err->sys) {
    case SSH_LINK_HOST_KEY:
        return probing_fail_key(p, err);
    case SSH_LINK_LOGIN:
        probing_pass_key(p, login);
        return probing_fail(p, "login",
                            "check `user` with `password` or `private_key`, and that the server "
                            "knows them",
                            "%s", err->text);
    case EPROTO:
        probing_pass_key(p, login);
        return probing_fail(p, "login", "have SFTP switched on for this user on the server", "%s",
                            err->text);
    case ETIMEDOUT:
        return probing_fail(p, "host key",
                            "check whether the server is stuck, and that it is one for SSH",
                            "the server takes the connection and does not answer: %s", err->text);
    default:
        return probing_fail(p, "host key",
                            "check that the server is one for SSH, and takes our address", "%s",
                            err->text);
    }
}

static bool probing_sftp_open(const struct ssh_login *login, const struct sftp_client_pace *pace,
                              struct call *c, struct probing *p, struct sftp_client **ret)
{
    struct err err = { 0 };

    if (!probing_dial(login->host, login->port, login->connect_us, c != NULL ? c->egress : NULL, c,
                      p))
        return false;
    probing_begin(p, "login");
    if (!sftp_client_open(login, c != NULL ? c->egress : NULL, pace, ret, &err))
        return probing_fail_open(p, login, &err);
    probing_pass_key(p, login);
    if (login->print_count == 0)
        (void)probing_pass(p, "host key",
                           "any is taken (`host_key: any`), and nobody would notice another "
                           "server: write `host_key: \"%s\"`",
                           sftp_client_print(*ret));
    return probing_pass(p, "login", "as %s", login->user);
}

/* ---- the folder ---- */

static bool probing_sftp_folder(struct sftp_client *s, struct str folder, struct probing *p)
{
    struct err err = { 0 };
    enum sftp_found found;
    uint64_t size;

    probing_begin(p, "folder");
    if (!sftp_client_look(s, folder, &found, &size, &err))
        return probing_fail(p, "folder", "check the path of `url`, and the rights of the user",
                            "folder %.*s: %s", STR_ARG(folder), err.text);
    if (found == SFTP_MISSING)
        return probing_fail(p, "folder", "create it on the server, or correct the path of `url`",
                            "there is no folder %.*s on the server", STR_ARG(folder));
    if (found == SFTP_A_FILE)
        return probing_fail(p, "folder", "correct the path of `url`",
                            "%.*s is a file on the server, not a folder", STR_ARG(folder));
    return probing_pass(p, "folder", "%.*s is there", STR_ARG(folder));
}

static bool probing_sftp_write(struct sftp_client *s, struct str folder, struct probing *p)
{
    char name[PROBING_NAME], path[REMOTE_MOST], other[REMOTE_MOST];
    const char *between = folder.len > 0 && folder.ptr[folder.len - 1] == '/' ? "" : "/";
    struct err err = { 0 }, ignored = { 0 };
    struct sftp_client_file f;
    const char *what = "create a file";

    probing_begin(p, "rights");
    (void)snprintf(path, sizeof path, "%.*s%s%s", STR_ARG(folder), between,
                   probing_name(".part", name));
    (void)snprintf(other, sizeof other, "%.*s%s%s", STR_ARG(folder), between,
                   probing_name(".part", name));
    bool made = sftp_client_create(s, str_of(path), &f, &err), named = false, ok = made;

    if (ok) {
        what = "write";
        ok = sftp_client_write(s, &f, STR("probe\n"), &err) &&
             sftp_client_finish(s, &f, false, &err);
        if (!ok)
            sftp_client_leave(s, &f);
    }
    if (ok) {
        what = "rename";
        ok = named = sftp_client_rename(s, str_of(path), str_of(other), &err);
    }
    if (made && !sftp_client_remove(s, str_of(named ? other : path), ok ? &err : &ignored) && ok) {
        what = "remove";
        ok = false;
    }
    return (ok && probing_pass(p, "rights", "files can be made, renamed and removed there")) ||
           (!ok && probing_fail(p, "rights",
                                "give the user the right on the server; check its space and quota",
                                "may not %s there: %s", what, err.text));
}

bool probing_sftp(const struct sftp_place *place, bool writes, int64_t timeout_us, struct call *c,
                  struct probing *p)
{
    struct sftp_client_pace pace = { .until_us = clock_mono_us() + probing_time(p, timeout_us),
                                     .silence_us = timeout_us,
                                     .is_over = probing_sftp_is_over,
                                     .alive = probing_sftp_alive,
                                     .of = c };
    struct str folder = place->folder.len > 0 ? place->folder : STR(".");
    struct sftp_client *s = NULL;

    if (!probing_sftp_open(&place->login, &pace, c, p, &s))
        return false;
    bool ok = probing_sftp_folder(s, folder, p) && (!writes || probing_sftp_write(s, folder, p));

    if (!writes)
        probing_leave(p, "rights", "not tried: nothing is written there");
    sftp_client_close(s);
    return ok;
}
