#include "core/line/curl_line.h"
#include "core/curl_pem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/egress.h"
#include "base/network.h"
#include "core/config.h"
#include "core/probing/probing_net.h"

enum {
    KEEPALIVE_S = 30,
    LATE_US = 50 * CLOCK_MS,
    SOON_US = 5 * CLOCK_S,
    SOON_PART = 4,       /* ... or this part of `timeout`, if it is less */
    STEP_MS = 1000,      /* a wait for the server, after which the time is looked at */
    ANSWER_MOST = 300,   /* of an answer, in a message */
    ANSWER_LINES = 1000, /* to a request */
    GOOD_BYE = 221,      /* the answer to QUIT, which libcurl says after a failure, too */
};

/* ---- options ---- */

static bool curl_line_is_local(struct str host)
{
    return str_eq_nocase(host, STR("localhost")) || str_is(host, "127.0.0.1") ||
           str_is(host, "[::1]");
}

/* A part of the url, on the arena; empty: it has none. */
static struct str curl_line_part(CURLU *u, CURLUPart part, struct arena *a)
{
    struct str ret = STR("");
    char *text;

    if (curl_url_get(u, part, &text, 0) == CURLUE_OK) {
        ret = arena_copy(a, str_of(text));
        curl_free(text);
    }
    return ret;
}

static bool curl_line_read_url(const struct settings *s, struct curl_line_options *o, bool has_tls,
                               struct err *err)
{
    if (!settings_text(s, "url", &o->url, err))
        return false;
    if (o->url.len == 0)
        return err_set(err, ERR_CONFIG, 0, "`url` is missing");
    CURLU *u = curl_url();

    if (u == NULL || curl_url_set(u, CURLUPART_URL, o->url.ptr, 0) != CURLUE_OK) {
        curl_url_cleanup(u);
        return err_set(err, ERR_CONFIG, 0, "`url` cannot be read");
    }
    struct str scheme = curl_line_part(u, CURLUPART_SCHEME, s->arena);

    o->host = curl_line_part(u, CURLUPART_HOST, s->arena);
    o->has_login = curl_line_part(u, CURLUPART_USER, s->arena).len > 0;
    curl_url_cleanup(u);
    o->plain = !has_tls && scheme.len > 0 && scheme.ptr[scheme.len - 1] != 's' &&
               curl_line_is_local(o->host);
    return true;
}

bool curl_line_read(const struct settings *s, const char *protocols, struct curl_line_options *ret,
                    struct err *err)
{
    struct settings tls = settings_below(s, "tls");
    struct curl_line_options *o = ret;

    *o = (struct curl_line_options){ .protocols = protocols, .verify = true };
    if (!curl_line_read_url(s, o, settings_has(s, "tls"), err) ||
        !settings_duration(s, "timeout", &o->timeout_us, err) ||
        !settings_duration(s, "connect_timeout", &o->connect_timeout_us, err) ||
        !settings_text(s, "user", &o->user, err) ||
        !settings_text(s, "password", &o->password, err))
        return false;
    /* A word in place of the map has no keys. */
    if (tls.node != NULL && tls.node->kind == YAML_MAP &&
        (!settings_path(&tls, "ca", &o->ca, err) || !settings_path(&tls, "cert", &o->cert, err) ||
         !settings_path(&tls, "key", &o->key, err) ||
         !settings_bool(&tls, "verify", &o->verify, err)))
        return err_context(err, "`tls`");
    if (o->key.len == 0)
        o->key = o->cert; /* one file may hold both */
    if (str_has_control(o->user) || str_has_control(o->password))
        return err_set(err, ERR_CONFIG, 0, "`user` or `password` holds a control character");
    o->has_login = o->has_login || o->user.len > 0;
    return true;
}

struct sha256 curl_line_key(const char *kind, const struct curl_line_options *o, struct str more)
{
    const struct str parts[] = { str_of(kind), o->url,  o->user, o->password,
                                 o->ca,        o->cert, o->key,  more };
    struct digest d = digest_start();
    char rest[80];

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        digest_add(&d, parts[i]);
        digest_add(&d, str_mem("", 1));
    }
    (void)snprintf(rest, sizeof rest, "%d %d %lld %lld", o->verify, o->plain,
                   (long long)o->timeout_us, (long long)o->connect_timeout_us);
    digest_add(&d, str_of(rest));
    return digest_end(&d);
}

/* ---- callbacks of libcurl ---- */

static bool is_loopback(const struct sockaddr *to)
{
    static const struct network loopback[] = {
        { { .bytes = { [10] = 0xff, [11] = 0xff, [12] = 127 } }, 104 },
        { { .bytes = { [15] = 1 } }, 128 },
    };
    struct network_address a;

    return network_address_of(to, &a) && network_any_has(loopback, 2, &a);
}

/* A server may speak first, so the node's own port is not even connected to. */
static const char *curl_line_bars_own(const struct curl_line *c, const struct sockaddr *to)
{
    char ip[INET6_ADDRSTRLEN], port[8];
    socklen_t len =
        to->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    uint64_t number;

    if (getnameinfo(to, len, ip, sizeof ip, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
            0 ||
        !str_to_u64(str_of(port), &number))
        return "its address cannot be read";
    return egress_bars_own(c->call->egress, ip, (int)number, c->options->url);
}

static const char *curl_line_bars(const struct curl_line *c, const struct sockaddr *to)
{
    if (call_is_given_up(c->call)) /* egress may be gone with whoever gave it up */
        return "it was given up, because it hung";
    if (c->options->plain && !c->options->anywhere && !is_loopback(to))
        return "its name is that of this machine and leads elsewhere; give its real name, or `tls`";
    if (c->call == NULL)
        return NULL;
    const char *why = egress_bars(c->call->egress, to);

    return why != NULL ? why : curl_line_bars_own(c, to);
}

static curl_socket_t curl_line_on_socket(void *arg, curlsocktype purpose,
                                         struct curl_sockaddr *addr)
{
    struct curl_line *c = arg;

    (void)purpose;
    c->barred = curl_line_bars(c, &addr->addr);
    if (c->barred != NULL)
        return CURL_SOCKET_BAD;
    if (c->opened != NULL)
        c->opened(c->arg);
    int fd = socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);

    for (size_t i = 0; c->pieces && fd >= 0 && i < CURL_LINE_SOCKETS; i++)
        if (c->sockets[i] == 0) {
            c->sockets[i] = fd + 1;
            break;
        }
    return fd;
}

static int curl_line_on_close(void *arg, curl_socket_t fd)
{
    struct curl_line *c = arg;

    for (size_t i = 0; i < CURL_LINE_SOCKETS; i++)
        if (c->sockets[i] == fd + 1)
            c->sockets[i] = 0;
    return close(fd);
}

static int curl_line_on_ready(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct curl_line *c = arg;

    (void)ip, (void)local_ip, (void)port, (void)local_port;
    c->barred = c->ready != NULL ? c->ready(c->arg) : NULL;
    c->began = c->barred == NULL;
    return c->began ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static void curl_line_alive(struct curl_line *c)
{
    c->alive_us = clock_mono_us();
    call_alive(c->call);
}

void curl_line_forget(struct curl_line *c)
{
    c->code = 0;
    c->lines = 0;
}

static bool is_answer(struct str line, uint64_t *ret_code)
{
    return line.len >= 3 && str_to_u64(str_mem(line.ptr, 3), ret_code) && *ret_code != GOOD_BYE &&
           (line.len == 3 || line.ptr[3] == ' ' || line.ptr[3] == '-');
}

/* One line: "250-SIZE 1000", "250 ok".  Lines of one answer are put together. */
static size_t curl_line_on_line(char *bytes, size_t size, size_t count, void *arg)
{
    struct str line = str_mem(bytes, size * count), text;
    struct curl_line *c = arg;
    uint64_t code;

    while (line.len > 0 && (line.ptr[line.len - 1] == '\n' || line.ptr[line.len - 1] == '\r'))
        line.len--;
    curl_line_alive(c);
    if (++c->lines > ANSWER_LINES)
        return 0;
    if (c->heard != NULL)
        c->heard(c->arg, line);
    if (!is_answer(line, &code))
        return size * count;
    if (c->whole)
        buf_clear(&c->answer);
    text = str_trim(str_from(line, 4));
    if (c->answer.len > 0 && c->answer.len < ANSWER_MOST && text.len > 0)
        buf_putc(&c->answer, ' ');
    buf_put(&c->answer, str_first(text, ANSWER_MOST - c->answer.len));
    c->whole = line.len == 3 || line.ptr[3] == ' ';
    c->code = c->whole ? (int64_t)code : 0;
    if (c->whole && c->answered != NULL)
        c->answered(c->arg, c->code);
    return size * count;
}

/* At least once a second.  libcurl keeps the time, too, and then says good-bye and waits for an
 * answer to that: no longer than a moment.  A node that stops waits for the answer to a request as
 * long as the engine lets it. */
static int curl_line_on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                                 curl_off_t up)
{
    struct curl_line *c = arg;
    int64_t until_us;

    (void)down_all, (void)up_all;
    if (up + down != c->moved)
        curl_line_alive(c);
    c->moved = up + down;
    until_us = c->until_us != 0 ? c->until_us : c->alive_us + c->options->timeout_us;
    c->late = clock_mono_us() > until_us + LATE_US;
    return c->late || call_is_given_up(c->call) || (!c->ended && call_is_over(c->call));
}

/* ---- the handle ---- */

static long curl_line_ms(int64_t us)
{
    int64_t ms = us / CLOCK_MS;

    return ms < 1 ? 1 : ms > INT32_MAX ? INT32_MAX : (long)ms;
}

static bool curl_line_set_tls(CURL *e, const struct curl_line_options *o)
{
    return curl_easy_setopt(e, CURLOPT_USE_SSL,
                            o->plain ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->verify ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->verify ? 2L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           curl_pem_set(e, o->ca, o->cert, o->key);
}

static bool curl_line_set_place(CURL *e, const struct curl_line_options *o)
{
    return curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, o->protocols) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_URL, o->url.ptr) == CURLE_OK &&
           (o->user.len == 0 || curl_easy_setopt(e, CURLOPT_USERNAME, o->user.ptr) == CURLE_OK) &&
           (o->password.len == 0 ||
            curl_easy_setopt(e, CURLOPT_PASSWORD, o->password.ptr) == CURLE_OK);
}

static bool curl_line_set_numbers(CURL *e, const struct curl_line_options *o)
{
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        { CURLOPT_NOSIGNAL, 1 },
        { CURLOPT_NOPROGRESS, 0 },
        { CURLOPT_FOLLOWLOCATION, 0 },
        { CURLOPT_TCP_NODELAY, 1 },
        { CURLOPT_TCP_KEEPALIVE, 1 },
        { CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S },
        { CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S },
        { CURLOPT_LOW_SPEED_LIMIT, 1 }, /* bytes a second: less is silence */
        { CURLOPT_SERVER_RESPONSE_TIMEOUT, (curl_line_ms(o->timeout_us) + 999) / 1000 },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (curl_easy_setopt(e, numbers[i].option, numbers[i].value) != CURLE_OK)
            return false;
    return true;
}

static bool curl_line_set_calls(struct curl_line *c)
{
    CURL *e = c->easy;

    return curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->failure) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, curl_line_on_socket) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, curl_line_on_ready) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQDATA, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, curl_line_on_progress) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_XFERINFODATA, c) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, curl_line_on_line) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERDATA, c) == CURLE_OK;
}

static bool curl_line_set_pieces(struct curl_line *c)
{
    c->multi = curl_multi_init();
    return c->multi != NULL && curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, 1L) == CURLM_OK &&
           curl_easy_setopt(c->easy, CURLOPT_CLOSESOCKETFUNCTION, curl_line_on_close) == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_CLOSESOCKETDATA, c) == CURLE_OK;
}

bool curl_line_open(struct curl_line *c, const struct curl_line_options *options, struct call *call,
                    bool large, struct err *err)
{
    c->options = options;
    c->call = call;
    c->answer = (struct buf)BUF_INIT(ANSWER_MOST);
    c->until_us = large ? 0 : clock_mono_us() + options->timeout_us;
    c->easy = curl_easy_init();
    if (c->easy == NULL || !curl_line_set_place(c->easy, options) ||
        !curl_line_set_numbers(c->easy, options) || !curl_line_set_tls(c->easy, options) ||
        !curl_line_set_calls(c) || (c->pieces && !curl_line_set_pieces(c)))
        return err_set(err, ERR_TRANSIENT, 0, "libcurl does not take the settings");
    return true;
}

bool curl_line_is_late(const struct curl_line *c)
{
    return c->until_us != 0 && clock_mono_us() > c->until_us - LATE_US;
}

int64_t curl_line_soon_us(const struct curl_line *c)
{
    int64_t part = c->options->timeout_us / SOON_PART;
    int64_t until_us = clock_mono_us() + (part < SOON_US ? part : SOON_US);

    return c->until_us != 0 && c->until_us < until_us ? c->until_us : until_us;
}

/* ---- requests ---- */

static bool curl_line_prepare(struct curl_line *c)
{
    int64_t left = c->until_us != 0 ? c->until_us - clock_mono_us() : 0;
    int64_t connect = c->options->connect_timeout_us, silence = c->options->timeout_us;
    bool counted = c->until_us != 0 || c->pieces; /* else libcurl counts silence, too */

    if (c->until_us != 0 && left < connect)
        connect = left;
    c->began = c->ended = false;
    c->barred = NULL;
    c->late = c->whole = false;
    curl_line_forget(c);
    buf_clear(&c->answer);
    c->moved = 0;
    c->alive_us = clock_mono_us();
    c->failure[0] = '\0';
    return curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS,
                            c->until_us != 0 ? curl_line_ms(left) : 0L) == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_TIME,
                            counted ? 0L : (curl_line_ms(silence) + 999) / 1000) == CURLE_OK &&
           curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, curl_line_ms(connect)) == CURLE_OK;
}

static CURLcode curl_line_result(const struct curl_line *c, CURLcode rc)
{
    return rc == CURLE_ABORTED_BY_CALLBACK && c->late ? CURLE_OPERATION_TIMEDOUT : rc;
}

CURLcode curl_line_begin(struct curl_line *c)
{
    if (!curl_line_prepare(c) || curl_multi_add_handle(c->multi, c->easy) != CURLM_OK)
        return CURLE_FAILED_INIT;
    c->under_way = true;
    return CURLE_OK;
}

CURLcode curl_line_step(struct curl_line *c, bool wait, bool *ret_done)
{
    const CURLMsg *m;
    int count;

    *ret_done = true;
    if ((wait && curl_multi_poll(c->multi, NULL, 0, STEP_MS, NULL) != CURLM_OK) ||
        curl_multi_perform(c->multi, &count) != CURLM_OK)
        return CURLE_FAILED_INIT;
    while ((m = curl_multi_info_read(c->multi, &count)) != NULL)
        if (m->msg == CURLMSG_DONE)
            return curl_line_result(c, m->data.result);
    *ret_done = false;
    return CURLE_OK;
}

void curl_line_end(struct curl_line *c)
{
    if (c->under_way)
        (void)curl_multi_remove_handle(c->multi, c->easy);
    c->under_way = false;
}

static CURLcode curl_line_all_steps(struct curl_line *c)
{
    CURLcode rc = curl_line_begin(c);
    bool done = rc != CURLE_OK;

    for (bool wait = false; !done; wait = true)
        rc = curl_line_step(c, wait, &done);
    curl_line_end(c);
    return rc;
}

CURLcode curl_line_perform(struct curl_line *c)
{
    if (c->multi != NULL)
        return curl_line_all_steps(c);
    return curl_line_prepare(c) ? curl_line_result(c, curl_easy_perform(c->easy))
                                : CURLE_FAILED_INIT;
}

bool curl_line_is_quiet(const struct curl_line *c)
{
    bool any = false;
    char byte;

    for (size_t i = 0; i < CURL_LINE_SOCKETS; i++) {
        if (c->sockets[i] == 0)
            continue;
        any = true;
        if (recv(c->sockets[i] - 1, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
            (errno != EAGAIN && errno != EWOULDBLOCK))
            return false;
    }
    return any;
}

/* libcurl would say good-bye and wait for an answer: to a closed socket it does not. */
static void curl_line_drop_sockets(const struct curl_line *c)
{
    for (size_t i = 0; i < CURL_LINE_SOCKETS; i++)
        if (c->sockets[i] != 0)
            (void)shutdown(c->sockets[i] - 1, SHUT_RDWR);
}

void curl_line_close(struct curl_line *c)
{
    curl_line_drop_sockets(c);
    curl_line_end(c);
    if (c->easy != NULL)
        curl_easy_cleanup(c->easy);
    if (c->multi != NULL)
        (void)curl_multi_cleanup(c->multi);
    c->easy = NULL;
    c->multi = NULL;
    buf_done(&c->answer);
}

/* ---- probes ---- */

bool curl_line_probe_open(struct curl_line *c, const struct curl_line_options *options,
                          struct call *call, struct probing *p, struct probing_net *ret_net)
{
    struct err err = { 0 };

    probing_begin(p, "connect");
    if (curl_line_open(c, options, call, false, &err) && probing_net_watch(ret_net, c->easy)) {
        c->until_us = clock_mono_us() + probing_time(p, options->timeout_us);
        return true;
    }
    return probing_fail(p, "connect", "correct `url` and `tls`", "%s", err.text);
}

static bool curl_line_fail_login(const struct curl_line *c, struct probing *p, CURLcode rc)
{
    static const char remedy[] = "check `user` and the password, and that the server takes them";
    char why[CURL_LINE_WHY];

    if (rc == CURLE_LOGIN_DENIED && c->barred == NULL && c->code >= 400)
        return probing_fail(p, "login", remedy, "it is refused; the server said: %lld %.*s",
                            (long long)c->code, STR_ARG(buf_view(&c->answer)));
    return probing_fail(p, "login", remedy, "%s", curl_line_why(c, rc, why));
}

bool curl_line_probe(struct curl_line *c, struct probing *p, const struct probing_net *net,
                     CURLcode *ret_rc)
{
    const struct curl_line_options *o = c->options;
    CURLcode rc = curl_line_perform(c);
    bool in_talk = c->lines > 0; /* what is barred then is not the address */

    *ret_rc = rc;
    if (!probing_net_tell(net, p, c->easy,
                          &(struct probing_saw){ .rc = rc,
                                                 .failure = c->failure,
                                                 .barred = in_talk ? NULL : c->barred,
                                                 .tls = !o->plain,
                                                 .no_tls = "not used: `tls` is not configured",
                                                 .verify = o->verify,
                                                 .greets = true,
                                                 .spoke = in_talk }))
        return false;
    if (!c->began)
        return curl_line_fail_login(c, p, rc);
    if (o->has_login)
        return probing_pass(p, "login", "as %s",
                            o->user.len > 0 ? o->user.ptr
                                            : "the user in "
                                              "`url`");
    probing_leave(p, "login", "no `user` is configured");
    return true;
}

/* ---- for people ---- */

static const char *curl_line_remedy(CURLcode rc)
{
    switch (rc) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "its name is not known: check the host in `url`, and DNS";
    case CURLE_COULDNT_CONNECT:
        return "no connection could be made: check host and port in `url`, the server and the "
               "firewalls between";
    case CURLE_OPERATION_TIMEDOUT:
        return "it did not answer in time (`timeout`, `connect_timeout`)";
    case CURLE_USE_SSL_FAILED:
        return "it offers no encryption (STARTTLS), and without it nothing is sent to another "
               "machine: switch it on there, or use the port and scheme that are encrypted from "
               "the start";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "its certificate is not right: check its dates and names, or give the authority "
               "that signed it as `tls.ca`";
    case CURLE_SSL_CONNECT_ERROR:
        return "TLS could not be agreed on: check the port, and whether the server has TLS 1.2";
    case CURLE_SSL_CACERT_BADFILE:
        return "`tls.ca` cannot be read";
    case CURLE_SSL_CERTPROBLEM:
        return "`tls.cert` or `tls.key` cannot be used";
    case CURLE_REMOTE_ACCESS_DENIED:
        return "the folder in `url` is not there, or may not be entered";
    case CURLE_UPLOAD_FAILED:
        return "it does not take the file: check the rights in the folder, its space and quota";
    case CURLE_QUOTE_ERROR:
        return "it does not rename the file: check the rights in the folder";
    case CURLE_FTP_COULDNT_RETR_FILE:
    case CURLE_REMOTE_FILE_NOT_FOUND:
        return "it does not give what is asked for: check the rights in the folder";
    case CURLE_FTP_CANT_GET_HOST:
    case CURLE_FTP_WEIRD_PASV_REPLY:
    case CURLE_FTP_WEIRD_227_FORMAT:
        return "no data connection could be made: check its passive ports and the firewalls "
               "between";
    case CURLE_LOGIN_DENIED:
        return "it refused the login: check `user` and the password";
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
        return "the connection broke";
    default:
        return "it does not work";
    }
}

const char *curl_line_why(const struct curl_line *c, CURLcode rc, char to[static CURL_LINE_WHY])
{
    const char *more = c->failure[0] != '\0' ? c->failure : curl_easy_strerror(rc);

    if (c->barred != NULL)
        (void)snprintf(to, CURL_LINE_WHY, "%s", c->barred);
    else
        (void)snprintf(to, CURL_LINE_WHY, "%s (%.150s)", curl_line_remedy(rc), more);
    return to;
}
