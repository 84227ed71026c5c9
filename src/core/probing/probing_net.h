/* probing_net.h - the steps name, connect and TLS of a probe, for everything that libcurl or dial.h
 * connects to.
 *
 * No byte of a request is sent: the connection is made, TLS is agreed on, and then it is closed.
 * What egress bars (base/egress.h) is not connected to.
 *
 * Who has a libcurl handle of its own, with its own settings and callbacks, lets it be watched:
 *
 *     probing_net_watch(&n, easy);
 *     CURLcode rc = curl_easy_perform(easy);
 *     if (!probing_net_tell(&n, p, easy, &(struct probing_saw){ .rc = rc, ... })) ...
 *
 * Threads: one that may block.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/tls_watch.h"
#include "core/probing/probing.h"

struct call;
struct egress;

struct probing_net {
    struct tls_watch tls;
};

/* Before the handle is performed; the watch outlives that. */
bool probing_net_watch(struct probing_net *n, CURL *e);

/* What a handle saw when it was performed. */
struct probing_saw {
    CURLcode rc;
    const char *failure; /* the text of CURLOPT_ERRORBUFFER */
    const char *barred;  /* why no connection was made, by us; NULL: it was not barred */
    bool tls;            /* is to be used ... */
    const char *no_tls;  /* ... else why not; NULL: it is nothing to speak of */
    bool verify;
    bool greets; /* the server speaks first ... */
    bool spoke;  /* ... and has spoken */
};

/* Reports the three steps as far as they came.  True: they have passed, whatever came of rc. */
bool probing_net_tell(const struct probing_net *n, struct probing *p, CURL *e,
                      const struct probing_saw *saw);

/* Where a connection is made to. */
struct probing_place {
    const char *url;          /* https://HOST:PORT/ or http://: with TLS, or without */
    const char *no_tls;       /* as above */
    struct str ca, cert, key; /* paths or PEM texts (config_is_pem); empty: none */
    bool verify;
    int64_t connect_us;
    bool http;    /* it is HTTP that would be spoken */
    bool lingers; /* one that is closed at once by the other side has failed */
};

/* False: a step has failed. */
bool probing_connect(const struct probing_place *place, struct call *c, struct probing *p);

/* The steps name and connect without libcurl; the connection is closed again. */
bool probing_dial(const char *host, uint16_t port, int64_t connect_us, const struct egress *egress,
                  struct call *c, struct probing *p);
