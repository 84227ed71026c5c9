#include "core/probing/probing_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dial.h"
#include "base/egress.h"
#include "core/call.h"
#include "core/config.h"
#include "core/curl_pem.h"

#define NAME_REMEDY \
    "check the host that is configured, and DNS (`getent hosts NAME` on this machine)"
#define EGRESS_REMEDY \
    "use another address, or allow this one: `egress` under `node:` in the node's file"
#define REACH_REMEDY "check host and port, that the server runs, and the firewalls between"

enum { HOST_MOST = 256, LINGER_MS = 300 };

/* ---- what a handle saw ---- */

static CURLcode probing_on_context(CURL *e, void *context, void *arg)
{
    struct probing_net *n = arg;

    (void)e;
    n->tls = (struct tls_watch){ 0 };
    tls_watch(&n->tls, context);
    return CURLE_OK;
}

bool probing_net_watch(struct probing_net *n, CURL *e)
{
    *n = (struct probing_net){ 0 };
    return curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, probing_on_context) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_CTX_DATA, n) == CURLE_OK;
}

/* The host and port of the handle's URL. */
static void probing_host(CURL *e, char host[static HOST_MOST], char port[static 8])
{
    CURLU *u = curl_url();
    char *url = NULL, *part = NULL;

    (void)snprintf(host, HOST_MOST, "the host");
    (void)snprintf(port, 8, "?");
    if (curl_easy_getinfo(e, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK && url != NULL &&
        curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK) {
        if (curl_url_get(u, CURLUPART_HOST, &part, 0) == CURLUE_OK) {
            (void)snprintf(host, HOST_MOST, "%s", part);
            curl_free(part);
        }
        if (curl_url_get(u, CURLUPART_PORT, &part, CURLU_DEFAULT_PORT) == CURLUE_OK) {
            (void)snprintf(port, 8, "%s", part);
            curl_free(part);
        }
    }
    curl_url_cleanup(u);
}

static const char *probing_failure(const struct probing_saw *saw)
{
    return saw->failure != NULL && saw->failure[0] != '\0' ? saw->failure
                                                           : curl_easy_strerror(saw->rc);
}

static bool probing_tell_name(struct probing *p, CURL *e, const struct probing_saw *saw,
                              const char *host)
{
    curl_off_t looked = 0;
    const char *ip = NULL;

    (void)curl_easy_getinfo(e, CURLINFO_NAMELOOKUP_TIME_T, &looked);
    (void)curl_easy_getinfo(e, CURLINFO_PRIMARY_IP, &ip);
    if (saw->rc == CURLE_COULDNT_RESOLVE_HOST || saw->rc == CURLE_COULDNT_RESOLVE_PROXY)
        return probing_fail(p, "name", NAME_REMEDY, "the name %s is not known", host);
    if (saw->rc == CURLE_OPERATION_TIMEDOUT && looked == 0)
        return probing_fail(p, "name", NAME_REMEDY, "nobody told in time what %s is", host);
    return ip != NULL && ip[0] != '\0' ? probing_pass(p, "name", "%s is %s", host, ip)
                                       : probing_pass(p, "name", "%s is known", host);
}

static bool probing_tell_connect(struct probing *p, CURL *e, const struct probing_saw *saw,
                                 const struct probing_net *n, const char *host, const char *port)
{
    curl_off_t took = 0;

    (void)curl_easy_getinfo(e, CURLINFO_CONNECT_TIME_T, &took);
    bool connected = took > 0 || n->tls.begun; /* libcurl counts TLS in */

    if (saw->barred != NULL)
        return probing_fail(p, "connect", EGRESS_REMEDY, "no connection is made to %s: %s", host,
                            saw->barred);
    if (saw->rc == CURLE_OPERATION_TIMEDOUT && !connected)
        return probing_fail(p, "connect", REACH_REMEDY, "%s, port %s, does not answer in time",
                            host, port);
    if (saw->rc == CURLE_COULDNT_CONNECT || (saw->rc != CURLE_OK && !connected))
        return probing_fail(p, "connect", REACH_REMEDY, "%s, port %s: %s", host, port,
                            probing_failure(saw));
    if (saw->greets && !saw->spoke && !n->tls.begun && saw->rc != CURLE_OK)
        return probing_fail(p, "connect",
                            "check the port (a server for TLS waits for us), and whether the "
                            "server is stuck or refuses our address",
                            "%s, port %s, takes the connection and does not greet: %s", host, port,
                            probing_failure(saw));
    return probing_pass(p, "connect", "%s, port %s", host, port);
}

/* ---- TLS ---- */

static bool probing_fail_certificate(struct probing *p, const struct tls_watch *w)
{
    char from[CLOCK_TEXT], until[CLOCK_TEXT];

    switch (tls_watch_refusal(w)) {
    case TLS_REFUSED_EXPIRED:
        return probing_fail(p, "TLS", "renew it on the server; check the date of this machine",
                            "the certificate of %s has expired, on %.10s", w->subject,
                            clock_utc_text(w->until_us, until));
    case TLS_REFUSED_EARLY:
        return probing_fail(p, "TLS", "check the date of this machine, and of the server",
                            "the certificate of %s is valid from %.10s on, and not yet", w->subject,
                            clock_utc_text(w->from_us, from));
    case TLS_REFUSED_ISSUER:
        return probing_fail(p, "TLS",
                            "if it is the right server, give the certificate of that authority as "
                            "`tls: { ca: ... }`",
                            "the certificate of %s is signed by %s, an authority that is not known "
                            "here",
                            w->subject, w->issuer);
    default:
        return probing_fail(p, "TLS", "have a right certificate made for the server",
                            "the certificate of %s is not accepted: %s", w->subject,
                            tls_watch_why(w));
    }
}

static bool probing_fail_tls(struct probing *p, const struct probing_saw *saw,
                             const struct tls_watch *w)
{
    switch (saw->rc) {
    case CURLE_USE_SSL_FAILED:
        return probing_fail(p, "TLS",
                            "switch it on there, or use the scheme and port that are encrypted "
                            "from the start",
                            "the server offers no encryption (STARTTLS)");
    case CURLE_SSL_CACERT_BADFILE:
        return probing_fail(p, "TLS", "correct `ca` under `tls`: a PEM file, or its text",
                            "the authorities in `tls.ca` cannot be read");
    case CURLE_SSL_CERTPROBLEM:
        return probing_fail(p, "TLS", "correct `cert` and `key` under `tls`: they belong together",
                            "our certificate or its key cannot be used: %s", probing_failure(saw));
    case CURLE_OPERATION_TIMEDOUT:
        return probing_fail(p, "TLS",
                            "check whether the server is stuck, and that the port is one for TLS",
                            "the server takes the connection and does not answer to TLS in time");
    case CURLE_PEER_FAILED_VERIFICATION:
        if (w->done)
            return probing_fail(p, "TLS", "use a name that the certificate has, or renew it",
                                "the certificate is for %s, not for the name that is configured",
                                w->names[0] != '\0' ? w->names : w->subject);
        break;
    default:
        break;
    }
    return probing_fail(p, "TLS", "check the port, and that the server has TLS 1.2 or later",
                        "it could not be agreed on: %s", probing_failure(saw));
}

static bool probing_tell_tls(struct probing *p, const struct probing_saw *saw,
                             const struct tls_watch *w)
{
    char until[CLOCK_TEXT];

    if (!saw->tls) {
        if (saw->no_tls != NULL)
            probing_leave(p, "TLS", "%s", saw->no_tls);
        return true;
    }
    if (w->refused != 0 && saw->verify)
        return probing_fail_certificate(p, w);
    if (!w->done || saw->rc == CURLE_PEER_FAILED_VERIFICATION)
        return probing_fail_tls(p, saw, w);
    return probing_pass(p, "TLS", "the certificate of %s is valid until %.10s%s", w->subject,
                        clock_utc_text(w->until_us, until),
                        saw->verify ? "" : "; it is not compared (`verify: false`)");
}

bool probing_net_tell(const struct probing_net *n, struct probing *p, CURL *e,
                      const struct probing_saw *saw)
{
    char host[HOST_MOST], port[8];

    probing_host(e, host, port);
    return probing_tell_name(p, e, saw, host) && probing_tell_connect(p, e, saw, n, host, port) &&
           probing_tell_tls(p, saw, &n->tls);
}

/* ---- a connection of our own ---- */

struct probing_way {
    const struct probing_place *place;
    struct call *call;
    const char *barred;
    char failure[CURL_ERROR_SIZE];
};

static const struct egress *way_egress(const struct probing_way *w)
{
    return w->call != NULL ? w->call->egress : NULL;
}

static int way_port(const struct sockaddr *to)
{
    if (to->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)to)->sin6_port);
    return ntohs(((const struct sockaddr_in *)(const void *)to)->sin_port);
}

static const char *way_bars(const struct probing_way *w, const struct sockaddr *to)
{
    const char *why = egress_bars(way_egress(w), to);
    struct network_address a;
    char text[NETWORK_ADDRESS_TEXT];

    if (why != NULL || !network_address_of(to, &a))
        return why;
    return egress_bars_own(way_egress(w), network_address_text(&a, text), way_port(to),
                           w->place->http ? str_of(w->place->url) : STR(""));
}

static curl_socket_t way_on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
    struct probing_way *w = arg;

    (void)purpose;
    w->barred = call_is_given_up(w->call) ? "it was given up" : way_bars(w, &addr->addr);
    return w->barred != NULL ? CURL_SOCKET_BAD
                             : socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static int way_on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                           curl_off_t up)
{
    const struct probing_way *w = arg;

    (void)down_all, (void)down, (void)up_all, (void)up;
    return call_is_over(w->call);
}

static bool way_set_tls(CURL *e, const struct probing_place *o)
{
    return curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->verify ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->verify ? 2L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_ENABLE_ALPN, o->http ? 1L : 0L) == CURLE_OK &&
           curl_pem_set(e, o->ca, o->cert, o->key);
}

static bool way_set_up(CURL *e, struct probing_way *w, const struct probing *p)
{
    const struct probing_place *o = w->place;
    const struct egress *egress = way_egress(w);
    bool proxy = o->http && egress != NULL && egress->environment_proxy;

    return (proxy || curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK) &&
           curl_easy_setopt(e, CURLOPT_URL, o->url) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, way_on_progress) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_XFERINFODATA, w) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_ERRORBUFFER, w->failure) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, way_on_socket) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, w) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                            (long)(probing_time(p, o->connect_us) / CLOCK_MS)) == CURLE_OK &&
           way_set_tls(e, o);
}

/* Whether the other side keeps the connection, for a moment. */
static bool way_lingers(CURL *e)
{
    curl_socket_t fd = -1;
    char byte;
    size_t n = 0;

    if (curl_easy_getinfo(e, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd < 0)
        return true;
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    (void)poll(&poll_fd, 1, LINGER_MS);
    return curl_easy_recv(e, &byte, 1, &n) == CURLE_AGAIN || n > 0;
}

bool probing_connect(const struct probing_place *place, struct call *c, struct probing *p)
{
    struct probing_way w = { .place = place, .call = c };
    struct probing_net n;
    CURL *e = curl_easy_init();
    bool ok = false;

    probing_begin(p, "connect");
    if (e == NULL || !way_set_up(e, &w, p) || !probing_net_watch(&n, e)) {
        (void)probing_fail(p, "connect", "correct `tls` and the address",
                           "libcurl does not take the settings");
    } else {
        CURLcode rc = curl_easy_perform(e);

        ok = probing_net_tell(
            &n, p, e,
            &(struct probing_saw){ .rc = rc,
                                   .failure = w.failure,
                                   .barred = w.barred,
                                   .tls = str_starts(str_of(place->url), STR("https:")),
                                   .no_tls = place->no_tls,
                                   .verify = place->verify });
        if (ok && rc != CURLE_OK)
            ok = probing_fail(p, "connect", REACH_REMEDY, "%s", curl_easy_strerror(rc));
        else if (ok && place->lingers && !way_lingers(e))
            ok = probing_fail(p, "connect", "check whether the server takes our address",
                              "the other side closes the connection at once");
    }
    curl_easy_cleanup(e);
    call_alive(c);
    return ok;
}

/* ---- without libcurl ---- */

static bool probing_is_over(const void *call)
{
    return call_is_over(call);
}

static bool probing_look_up(const char *host, struct probing *p)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all;
    char ip[INET6_ADDRSTRLEN] = "";

    probing_begin(p, "name");
    if (getaddrinfo(host, NULL, &hints, &all) != 0)
        return probing_fail(p, "name", NAME_REMEDY, "the name %s is not known", host);
    (void)getnameinfo(all->ai_addr, all->ai_addrlen, ip, sizeof ip, NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(all);
    return probing_pass(p, "name", "%s is %s", host, ip);
}

bool probing_dial(const char *host, uint16_t port, int64_t connect_us, const struct egress *egress,
                  struct call *c, struct probing *p)
{
    struct dial_wait wait = { .is_over = probing_is_over, .of = c };
    struct err err = { 0 };
    int fd;

    if (!probing_look_up(host, p))
        return false;
    probing_begin(p, "connect");
    wait.until_us = clock_mono_us() + probing_time(p, connect_us);
    if (!dial(host, port, egress, &wait, &fd, &err))
        return probing_fail(p, "connect", err.sys == EACCES ? EGRESS_REMEDY : REACH_REMEDY, "%s",
                            err.text);
    (void)close(fd);
    return probing_pass(p, "connect", "%s, port %u", host, (unsigned)port);
}
