#include "core/ftp/ftp_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/ftp/ftp_line.h"
#include "core/probing/probing_net.h"

enum {
    LISTED_MOST = 10000, /* lines of a listing that are read: enough to know that it can be */
    REPLY_DONE = 200,    /* answers of a command that was carried out ... */
    REPLY_ASKS = 300     /* ... are below this one */
};

/* What a listing shows. */
struct ftp_glance {
    const char *name; /* of an entry whose time is wanted; NULL: of none */
    int64_t time_s;   /* 0: it is not told */
    int64_t lines, entries, unread;
};

static bool is_carried_out(const struct ftp_said *s)
{
    return s->code >= REPLY_DONE && s->code < REPLY_ASKS;
}

static bool ftp_probe_found(void *arg, enum ftp_list_line is, struct str line,
                            const struct ftp_list_entry *e, struct err *err)
{
    struct ftp_glance *g = arg;

    (void)line;
    g->entries += is == FTP_LIST_ENTRY;
    g->unread += is == FTP_LIST_UNREAD;
    if (is == FTP_LIST_ENTRY && g->name != NULL && str_is(e->name, g->name))
        g->time_s = e->time_s;
    return ++g->lines < LISTED_MOST || err_set(err, ERR_LIMIT, E2BIG, "enough of it is known");
}

/* The rest of a long listing is not waited for: then the next request makes a new connection. */
static bool ftp_probe_list(struct ftp_line *l, struct ftp_glance *g, struct err *err)
{
    return ftp_line_list(l, "", ftp_probe_found, g, err) || err->sys == E2BIG;
}

static bool ftp_probe_folder(struct ftp_line *l, struct probing *p)
{
    struct ftp_glance g = { 0 };
    struct err err = { 0 };

    probing_begin(p, "folder");
    if (!ftp_probe_list(l, &g, &err))
        return probing_fail(p, "folder",
                            err.sys == EACCES
                                ? "create the folder on the server, or correct the path of `url`"
                                : "check the ports for data connections of the server, and the "
                                  "firewalls between",
                            "it cannot be listed: %s", err.text);
    if (g.entries == 0 && g.unread > 0)
        return probing_fail(p, "folder",
                            "use another server, or have this one list as MLSD or Unix do",
                            "it lists files in a form that is not known here");
    return probing_pass(p, "folder", "it is there, and can be listed");
}

/* ---- rights ---- */

/* The time of a folder that was made just now is that of the server's clock. */
static void ftp_probe_clock(struct ftp_line *l, const char *name, struct probing *p)
{
    struct ftp_glance g = { .name = name };
    struct err err = { 0 };

    if (!l->tells_facts || !ftp_probe_list(l, &g, &err) || g.time_s == 0) {
        probing_leave(p, "clock",
                      "the server does not tell its time: files are taken all the same");
        return;
    }
    long long ahead = (long long)(g.time_s - clock_wall_us() / CLOCK_S);

    (void)probing_pass(p, "clock", "that of the server is %lld s %s ours", llabs(ahead),
                       ahead < 0 ? "behind" : "ahead of");
}

static bool ftp_probe_fail_rights(struct probing *p, const char *what, const char *remedy,
                                  const struct ftp_said *said)
{
    return probing_fail(p, "rights", remedy, "may not %s: the server said %lld %s", what,
                        (long long)said->code, said->text);
}

/* What is claimed is renamed into a folder that was made for it; what is moved on is renamed again,
 * into the folder of `after.move`. */
static bool ftp_probe_rights(struct ftp_line *l, struct str moved, struct probing *p)
{
    static const char remedy[] = "give the user the right on the server";
    char name[PROBING_NAME], other[PROBING_NAME], to[FTP_PLACE_PATH + PROBING_NAME + 2];
    struct ftp_said made, named, removed;
    struct err err = { 0 };

    probing_begin(p, "rights");
    (void)snprintf(to, sizeof to, "%.*s%s%s", STR_ARG(moved), moved.len > 0 ? "/" : "",
                   probing_name(".part", other));
    if (!ftp_line_ask(l, "MKD", probing_name(".part", name), &made, &err))
        return probing_fail(p, "rights", "look after the server", "%s", err.text);
    if (!is_carried_out(&made)) {
        probing_leave(p, "rights",
                      "no folder can be made there, so files are read where they lie; whether they "
                      "can be removed shows with the first one; the server said %lld %s",
                      (long long)made.code, made.text);
        return true;
    }
    ftp_probe_clock(l, name, p);
    bool ok = ftp_line_rename(l, name, to, &named, &err);
    bool renamed = ok && is_carried_out(&named);

    /* Whatever became of it, it does not stay. */
    ok =
        ftp_line_ask(l, "RMD", renamed ? to : name, &removed, ok ? &err : &(struct err){ 0 }) && ok;
    if (!ok)
        return probing_fail(p, "rights",
                            "look after the server; remove a folder .waybill-probe-...", "%s",
                            err.text);
    if (!renamed && moved.len > 0)
        return ftp_probe_fail_rights(
            p, "move into the folder of `after.move`",
            "create that folder on the server, and give the user the right", &named);
    if (!renamed)
        return ftp_probe_fail_rights(p, "rename there", remedy, &named);
    if (!is_carried_out(&removed))
        return ftp_probe_fail_rights(p, "remove there", remedy, &removed);
    return probing_pass(p, "rights", "folders can be made, renamed and removed there%s",
                        moved.len > 0 ? ", also in the folder of `after.move`" : "");
}

bool ftp_probe(const struct ftp_place *place, bool claims, struct str moved, struct call *c,
               struct probing *p)
{
    struct ftp_place soon = *place;
    struct probing_net net;
    struct ftp_line *l;

    soon.options.timeout_us = probing_time(p, place->options.timeout_us);
    if (!ftp_line_probe(&soon, c, p, &net, &l))
        return false;
    bool ok = ftp_probe_folder(l, p) && (!claims || ftp_probe_rights(l, moved, p));

    if (ok && !claims)
        probing_leave(p, "rights", "not tried: nothing is written there");
    ftp_line_type.close(l);
    return ok;
}
