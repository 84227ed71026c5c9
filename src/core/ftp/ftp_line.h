/* ftp_line.h - one login on an FTP server, kept from one request to the next.
 *
 * Paths are relative to the folder of the place; one that begins with a slash is counted from the
 * root of the server.  They hold no control characters.
 *
 * Every request ends in time: commands within `timeout`, the question whether a login that was kept
 * is still there within a part of it, listings and files when the server is silent for as long.  A
 * request that fails because of the connection sets ERR_TRANSIENT and a text that names the server
 * and the remedy; the next one makes a new connection.  What the server refuses is told in words of
 * its own (struct ftp_said).
 *
 * Bounded: an answer to a command (core/line/curl_line.h), the lines of a listing, the window of a
 * file that is read.
 *
 * Threads: one at a time.
 */
#pragma once

#include "base/buf.h"
#include "core/ftp/ftp_list.h"
#include "core/ftp/ftp_place.h"
#include "core/line/curl_line.h"
#include "core/line/line.h"

enum { FTP_LINE_COMMANDS = 8, FTP_LINE_SAID = 120 };

/* An answer to a command. */
struct ftp_said {
    int64_t code;
    char text[FTP_LINE_SAID];
};

/* 2xx and 3xx. */
static inline bool ftp_is_done(const struct ftp_said *s)
{
    return s->code >= 200 && s->code < 400;
}

struct ftp_line {
    const struct ftp_place *place;
    struct curl_line line;
    /* Called now and then while a listing comes in; false ends it.  May be NULL. */
    bool (*alive)(void *arg, struct err *err);
    void *arg;

    bool checking;    /* it is asked whether the login is still there */
    bool fresh;       /* the request under way has made a new connection */
    bool met;         /* what follows is known, of this login ... */
    uint64_t login;   /* ... which is this one, a random number */
    bool tells_facts; /* MLSD */
    bool lacks_times; /* no MDTM */
    bool reads_utf8;  /* OPTS UTF8 */
    bool binary;      /* the type of transfers; SIZE counts bytes only in this one */
    struct ftp_said said[FTP_LINE_COMMANDS]; /* a ring: the last answers */
    uint64_t said_count;

    struct ftp_listing *listing; /* that comes in; NULL: none */
    bool reading;                /* a file is open ... */
    bool flows;                  /* ... and its bytes come ... */
    bool paused, done;           /* ... but not now, or not any more */
    CURLcode result;
    struct buf window; /* bytes that came, */
    size_t taken;      /* of which so many were read */
};

/* Lines are a struct ftp_line.  `self`: a struct ftp_place, or what begins with one. */
extern const struct line_type ftp_line_type;

/* A line that was taken is ready for requests of this call.  `kept`: the server is asked whether
 * the login is still there.  False: a new line may help; sys ETIMEDOUT: it is silent, and others
 * that were kept may be so, too. */
bool ftp_line_begin(struct ftp_line *l, const struct ftp_place *place, struct call *call, bool kept,
                    struct err *err);
/* Before it is given back: what was lent for the call is forgotten. */
void ftp_line_rest(struct ftp_line *l);

struct probing;
struct probing_net;

/* A line of its own for a probe, which reports the steps up to the login; `net` outlives it. False:
 * one of them has failed.  It is ended by ftp_line_type.close. */
bool ftp_line_probe(const struct ftp_place *place, struct call *call, struct probing *p,
                    struct probing_net *net, struct ftp_line **ret);

/* Sends "VERB PATH", whatever the answer is. */
bool ftp_line_ask(struct ftp_line *l, const char *verb, const char *path, struct ftp_said *ret,
                  struct err *err);
bool ftp_line_rename(struct ftp_line *l, const char *from, const char *to, struct ftp_said *ret,
                     struct err *err);

struct ftp_stat {
    bool there;     /* a file of that name is */
    int64_t size;   /* -1: the server does not know it */
    int64_t time_s; /* 0: it is not told */
};

bool ftp_line_stat(struct ftp_line *l, const char *path, struct ftp_stat *ret, struct err *err);

/* False with err set: the listing ends. */
typedef bool ftp_line_found(void *arg, enum ftp_list_line is, struct str line,
                            const struct ftp_list_entry *e, struct err *err);

/* Calls `found` for each line of the listing.  sys EACCES: the folder cannot be entered; the
 * connection goes on. */
bool ftp_line_list(struct ftp_line *l, const char *folder, ftp_line_found *found, void *arg,
                   struct err *err);

/* One file at a time, and nothing else meanwhile.  *ret_open false: the server refuses it, as its
 * last answer says. */
bool ftp_line_open(struct ftp_line *l, const char *path, bool *ret_open, struct err *err);
/* 0: the end.  sys EIO: the server could not read all of the file; the connection goes on. */
bool ftp_line_read(struct ftp_line *l, char *to, size_t room, size_t *ret_len, struct err *err);
void ftp_line_end(struct ftp_line *l); /* before the end of the file the login is given up */
