/* curl_line.h - one conversation with a server over libcurl, for connectors that block.
 *
 * What every such conversation keeps to: the protocols of its kind and no proxy; nothing that
 * egress bars (base/egress.h); TLS 1.2 and a certificate that is right; TLS always, unless the
 * server is named as this machine itself (localhost, 127.0.0.1, ::1) and `tls` is not given, and
 * then the socket really leads there; an end in time, before the engine would give the call up
 * (endpoint_type.keeps_time); an end soon when the node stops.
 *
 * Threads: one at a time.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "core/call.h"
#include "core/settings.h"

struct curl_line_options {
    const char *protocols; /* of libcurl: "smtp,smtps" */
    struct str url;        /* terminated; may hold a login */
    struct str host;       /* of the url, for messages */
    int64_t timeout_us, connect_timeout_us;
    struct str user, password; /* terminated; empty: none, or those of the url */
    bool has_login;            /* one of them names a user */
    struct str ca, cert, key;  /* paths or PEM texts (config_is_pem); empty: none */
    bool verify;
    bool plain;    /* without TLS: to this machine ... */
    bool anywhere; /* ... or to any; set by the owner */
};

/* The keys url, timeout, connect_timeout, user, password, tls. */
bool curl_line_read(const struct settings *s, const char *protocols, struct curl_line_options *ret,
                    struct err *err);
/* Of everything that a conversation is begun with, also of the times that libcurl is told, and of
 * the path in the url: what is known of a folder belongs to the login.  `more`: of the owner. */
struct sha256 curl_line_key(const char *kind, const struct curl_line_options *o, struct str more);

enum { CURL_LINE_SOCKETS = 8 };

struct curl_line {
    CURL *easy;
    /* Set by the owner before curl_line_open(): requests can go on piece by piece, silence counts
     * (until_us is the owner's to set before a request), and closing waits for nobody. */
    bool pieces;
    CURLM *multi;                   /* with `pieces` */
    bool under_way;                 /* begun, and not ended */
    int sockets[CURL_LINE_SOCKETS]; /* those that are open, plus 1; 0: a free place */
    const struct curl_line_options *options;
    struct call *call;
    int64_t until_us; /* all of it ends by then, monotonic; 0: silence counts instead */
    int64_t moved;    /* bytes of the request so far ... */
    int64_t alive_us; /* ... and when the server last showed that it lives; monotonic */
    bool late;        /* its time was over, and it was ended */
    /* Called when the server is ready for the request, after TLS and login: what speaks against
     * it; NULL: nothing.  May be NULL. */
    const char *(*ready)(void *arg);
    /* A new connection is made.  May be NULL. */
    void (*opened)(void *arg);
    /* The server has answered.  May be NULL. */
    void (*answered)(void *arg, int64_t code);
    /* Each line of an answer, before that.  May be NULL. */
    void (*heard)(void *arg, struct str line);
    void *arg;
    bool began;         /* the server was ready: what came after belongs to the request */
    bool ended;         /* set by the owner: all was sent, and its answer is worth waiting for */
    const char *barred; /* why it was not begun, by us; NULL: it was not barred */
    char failure[CURL_ERROR_SIZE];

    /* What the server answered last: "250 ok" of SMTP and FTP. */
    int64_t code;      /* 0: nothing, or not all of it */
    struct buf answer; /* its beginning, as one line */
    bool whole;
    size_t lines; /* of all answers to the request */
};

/* False: libcurl cannot do this; *err says so.  large: the document is above what is kept in
 * memory, and may take its time as long as it goes on. */
bool curl_line_open(struct curl_line *c, const struct curl_line_options *options, struct call *call,
                    bool large, struct err *err);
/* One request over the same connection, if it is still there. */
CURLcode curl_line_perform(struct curl_line *c);
/* The same piece by piece, with `pieces`: begin(), step() until it is done, end().  `wait`: until
 * something can be done, at most a second.  end() before it is done gives the connection up. */
CURLcode curl_line_begin(struct curl_line *c);
CURLcode curl_line_step(struct curl_line *c, bool wait, bool *ret_done);
void curl_line_end(struct curl_line *c);
/* Until when a server is waited for that is only asked whether it still listens on a connection
 * that was kept: soon, so that most of the time is left for another connection. */
int64_t curl_line_soon_us(const struct curl_line *c);
/* What was answered belongs to the past. */
void curl_line_forget(struct curl_line *c);
/* No time is left for another one. */
bool curl_line_is_late(const struct curl_line *c);
/* Of one with `pieces`, between requests: the server has neither closed it nor said anything. */
bool curl_line_is_quiet(const struct curl_line *c);
void curl_line_close(struct curl_line *c); /* safe on a zeroed one, and twice */

struct probing;
struct probing_net;

/* A conversation for a probe, which has no document: opened, and watched
 * (core/probing/probing_net.h). */
bool curl_line_probe_open(struct curl_line *c, const struct curl_line_options *options,
                          struct call *call, struct probing *p, struct probing_net *ret_net);
/* Performs it and reports the steps up to the login.  True: they have passed, also if *ret_rc tells
 * of a failure after them. */
bool curl_line_probe(struct curl_line *c, struct probing *p, const struct probing_net *net,
                     CURLcode *ret_rc);

enum { CURL_LINE_WHY = 400 };

/* What went wrong and what to do about it, for people. */
const char *curl_line_why(const struct curl_line *c, CURLcode rc, char to[static CURL_LINE_WHY]);
