#include "table/away/line.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/egress.h"
#include "core/call.h"
#include "core/config.h"
#include "core/curl_pem.h"
#include "table/away/message.h"

enum {
    CONNECT_MS = 10000,
    KEEPALIVE_S = 30,
    REFUSAL_MOST = 8 << 10,
    URL_MOST = 2048,
    BUSY_MS = 50, /* the first wait where the other location is busy; it doubles */
    BUSY_TRIES = 6
};

#define ALIVE_US (1 * CLOCK_S)

static const char away_limit_field[] = "waybill-message-limit:";

/* ---- what libcurl asks ---- */

static curl_socket_t line_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
    struct away_line *l = arg;

    (void)purpose;
    l->barred = l->call != NULL ? egress_bars(l->call->egress, &addr->addr) : NULL;
    return l->barred != NULL ? CURL_SOCKET_BAD
                             : socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

/* A peer is another node: with the address of this one it would be our own administration. */
static int line_ready(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct away_line *l = arg;

    (void)local_ip, (void)local_port;
    l->barred = l->call != NULL ? egress_bars_own(l->call->egress, ip, port, l->address.url) : NULL;
    return l->barred != NULL ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static int line_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct away_line *l = arg;
    int64_t now_us = clock_mono_us();

    (void)a, (void)b, (void)c, (void)d;
    if (now_us - l->alive_us >= ALIVE_US) {
        l->alive_us = now_us;
        call_alive(l->call);
    }
    return call_is_over(l->call) ? 1 : 0;
}

static size_t line_take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct err err;

    return buf_append(arg, str_mem(bytes, size * count), &err) ? size * count : 0;
}

static size_t line_take_field(char *bytes, size_t size, size_t count, void *arg)
{
    struct away_line *l = arg;
    struct str field = str_mem(bytes, size * count);
    uint64_t most;

    while (field.len > 0 && (field.ptr[field.len - 1] == '\r' || field.ptr[field.len - 1] == '\n'))
        field.len--;

    if (field.len > sizeof away_limit_field - 1 &&
        str_eq_nocase(str_first(field, sizeof away_limit_field - 1), str_of(away_limit_field)) &&
        str_to_u64(str_trim(str_from(field, sizeof away_limit_field - 1)), &most) &&
        most >= AWAY_MESSAGE_LEAST && most < l->most)
        l->most = (size_t)most;
    return size * count;
}

/* ---- opening ---- */

static bool line_set_up(struct away_line *l)
{
    const struct away_address *at = &l->address;
    CURL *e = l->curl;
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        { CURLOPT_NOSIGNAL, 1 },
        { CURLOPT_NOPROGRESS, 0 },
        { CURLOPT_POST, 1 },
        { CURLOPT_FOLLOWLOCATION, 0 },
        { CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
        { CURLOPT_HTTP09_ALLOWED, 0 },
        { CURLOPT_TCP_NODELAY, 1 },
        { CURLOPT_TCP_KEEPALIVE, 1 },
        { CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S },
        { CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S },
        { CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS },
        { CURLOPT_TIMEOUT_MS, (long)(at->timeout_us / CLOCK_MS) },
        { CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 },
        { CURLOPT_SSL_VERIFYPEER, at->verify },
        { CURLOPT_SSL_VERIFYHOST, at->verify ? 2 : 0 },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (curl_easy_setopt(e, numbers[i].option, numbers[i].value) != CURLE_OK)
            return false;
    return curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTPHEADER, l->fields) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_ERRORBUFFER, l->failure) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, line_open_socket) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, l) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, line_ready) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQDATA, l) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, line_progress) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_XFERINFODATA, l) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, line_take_bytes) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEDATA, &l->got) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, line_take_field) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERDATA, l) == CURLE_OK &&
           curl_pem_set(e, at->ca, at->cert, at->cert_key);
}

static void line_keep_address(struct away_line *l, const struct away_address *from)
{
    l->address = *from;
    l->address.peer = arena_copy(&l->kept, from->peer);
    l->address.url = arena_copy(&l->kept, from->url);
    l->address.key = arena_copy(&l->kept, from->key);
    l->address.ca = arena_copy(&l->kept, from->ca);
    l->address.cert = arena_copy(&l->kept, from->cert);
    l->address.cert_key = arena_copy(&l->kept, from->cert_key);
    l->address.database = arena_copy(&l->kept, from->database);
}

static bool line_add_field(struct away_line *l, const char *text)
{
    struct curl_slist *longer = curl_slist_append(l->fields, text);

    if (longer != NULL)
        l->fields = longer;
    return longer != NULL;
}

bool away_line_open(const struct away_address *address, struct call *call, struct away_line **ret,
                    struct err *err)
{
    struct away_line *l = NEW(struct away_line);

    *l = (struct away_line){ .kept = ARENA_INIT(4 << 20),
                             .call = call,
                             .most = address->message_most,
                             .out = BUF_INIT(AWAY_WHOLE_MOST),
                             .in = BUF_INIT(AWAY_WHOLE_MOST),
                             .sent = BUF_INIT(AWAY_WHOLE_MOST),
                             .got = BUF_INIT(AWAY_WHOLE_MOST) };
    line_keep_address(l, address);
    l->curl = curl_easy_init();
    if (l->curl != NULL && line_add_field(l, "Content-Type: application/octet-stream") &&
        line_add_field(l, "Expect:") &&
        line_add_field(l, arena_printf(&l->kept, "Authorization: Bearer %s", l->address.key.ptr)) &&
        line_set_up(l)) {
        *ret = l;
        return true;
    }
    away_line_close(l);
    return err_set(err, ERR_CONFIG, 0, "peer %.64s cannot be asked: look at its url, key and tls",
                   address->peer.ptr);
}

void away_line_close(struct away_line *l)
{
    if (l == NULL)
        return;
    curl_easy_cleanup(l->curl);
    curl_slist_free_all(l->fields);
    buf_done(&l->out);
    buf_done(&l->in);
    buf_done(&l->sent);
    buf_done(&l->got);
    arena_done(&l->kept);
    free(l);
}

/* ---- one message ---- */

static bool line_failed(struct away_line *l, CURLcode rc, struct err *err)
{
    l->broken = true;
    if (l->barred != NULL)
        return err_set(err, ERR_CONFIG, 0, "peer %.64s is not asked: %s", l->address.peer.ptr,
                       l->barred);
    return err_set(err, ERR_TRANSIENT, (int)rc, "peer %.64s does not answer: %.100s",
                   l->address.peer.ptr,
                   l->failure[0] != '\0' ? l->failure : curl_easy_strerror(rc));
}

/* What the other location says, in the words of its refusal. */
static bool line_refused(struct away_line *l, long status, struct err *err)
{
    struct str body = str_first(buf_view(&l->got), REFUSAL_MOST);
    json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
    const char *why = json_string_value(json_object_get(json_object_get(root, "error"), "message"));
    enum err_kind kind = status == 401 || status == 403 ? ERR_CONFIG
                         : status == 413                ? ERR_LIMIT
                                                        : ERR_TRANSIENT;

    if (status == 404 && why == NULL)
        why = "there is no Waybill at its url";
    (void)err_set(err, kind, kind == ERR_CONFIG ? SIDE_REFUSED : (int)status,
                  "peer %.64s refuses (%ld): %.100s", l->address.peer.ptr, status,
                  why != NULL ? why : "it does not say why");
    json_decref(root);
    return false;
}

/* One request; what came is in l->got. */
static bool line_post_once(struct away_line *l, const char *method, struct str body, long *ret,
                           struct err *err)
{
    char url[URL_MOST];
    struct str base = l->address.url;

    while (base.len > 0 && base.ptr[base.len - 1] == '/')
        base.len--;
    (void)snprintf(url, sizeof url, "%.*s/peer/%s", STR_ARG(base), method);
    buf_clear(&l->got);
    l->failure[0] = '\0';
    l->barred = NULL;
    *ret = 0;
    CURLcode rc = CURLE_OUT_OF_MEMORY;

    if (curl_easy_setopt(l->curl, CURLOPT_URL, url) == CURLE_OK &&
        curl_easy_setopt(l->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len) == CURLE_OK &&
        curl_easy_setopt(l->curl, CURLOPT_POSTFIELDS, body.ptr) == CURLE_OK)
        rc = curl_easy_perform(l->curl);
    call_alive(l->call);
    if (rc != CURLE_OK)
        return line_failed(l, rc, err);
    (void)curl_easy_getinfo(l->curl, CURLINFO_RESPONSE_CODE, ret);
    return true;
}

/* A location that is busy is asked again a few times. */
static bool line_post(struct away_line *l, const char *method, struct str body, struct err *err)
{
    int64_t wait_us = BUSY_MS * CLOCK_MS;
    long status = 0;

    for (int i = 0; i < BUSY_TRIES; i++, wait_us *= 2) {
        if (!line_post_once(l, method, body, &status, err))
            return false;
        if (status == 200)
            return true;
        if (status != 503 || call_is_over(l->call))
            break;
        clock_sleep_us(wait_us);
    }
    return line_refused(l, status, err);
}

/* ---- in parts ---- */

static bool line_put_part(struct away_line *l, enum envelope_what what, struct envelope_part *p,
                          struct str bytes, struct err *err)
{
    if (!envelope_begin(&l->sent, what, err))
        return false;
    struct wire w = wire_put(&l->sent);

    envelope_part(&w, p);
    return wire_end(&w, err) && buf_append(&l->sent, bytes, err) && envelope_end(&l->sent, err);
}

/* The last part is answered by the answer, the others by ENVELOPE_TOOK, or an error. */
static bool line_send_parts(struct away_line *l, struct err *err)
{
    struct envelope_part p = { .total = l->out.len };
    struct str whole = buf_view(&l->out), content;
    enum envelope_what what = ENVELOPE_TOOK;

    chance_bytes(p.id, sizeof p.id);
    while (p.at < p.total && what == ENVELOPE_TOOK) {
        struct str bytes =
            envelope_cut(str_from(whole, p.at), l->most - ENVELOPE_OVERHEAD - ENVELOPE_PART_HEAD);

        if (!line_put_part(l, ENVELOPE_PART, &p, bytes, err) ||
            !line_post(l, "put", buf_view(&l->sent), err) ||
            !envelope_take(buf_view(&l->got), &what, &content, err))
            return false;
        p.at += bytes.len;
    }
    return true;
}

static bool line_take_part(struct away_line *l, struct str content, struct envelope_part *p,
                           struct str *ret_bytes, struct err *err)
{
    struct wire w = wire_take(content, NULL);

    envelope_part(&w, p);
    *ret_bytes = w.rest;
    w.rest = STR("");
    return wire_end(&w, err) &&
           ((p->total <= AWAY_WHOLE_MOST && p->at == l->in.len && ret_bytes->len > 0 &&
             ret_bytes->len <= p->total - p->at) ||
            err_set(err, ERR_PERMANENT, 0, "peer %.64s: the parts of an answer do not fit",
                    l->address.peer.ptr));
}

/* The rest of an answer whose first part is in l->got. */
static bool line_get_parts(struct away_line *l, struct str content, struct err *err)
{
    enum envelope_what what;
    struct envelope_part p;
    struct str bytes;

    buf_clear(&l->in);
    for (;;) {
        if (!line_take_part(l, content, &p, &bytes, err) || !buf_append(&l->in, bytes, err))
            return false;
        if (l->in.len == p.total)
            return true;
        p.at = l->in.len;
        if (!line_put_part(l, ENVELOPE_GET, &p, STR(""), err) ||
            !line_post(l, "get", buf_view(&l->sent), err) ||
            !envelope_take(buf_view(&l->got), &what, &content, err))
            return false;
        if (what != ENVELOPE_PART)
            return err_set(err, ERR_TRANSIENT, 0, "peer %.64s does not have an answer any more",
                           l->address.peer.ptr);
    }
}

/* ---- a whole one ---- */

static bool line_send(struct away_line *l, struct err *err)
{
    size_t most = l->most;

    if (l->out.len > most)
        return line_send_parts(l, err);
    if (line_post(l, "ask", buf_view(&l->out), err))
        return true;
    /* It takes less than we thought: as large as that, once more. */
    return err->kind == ERR_LIMIT && l->most < most && line_send_parts(l, err);
}

bool away_line_exchange(struct away_line *l, struct err *err)
{
    enum envelope_what what;
    struct str content;

    if (!line_send(l, err) || !envelope_take(buf_view(&l->got), &what, &content, err))
        return false;
    if (what == ENVELOPE_PART)
        return line_get_parts(l, content, err);
    struct buf whole = l->in;

    l->in = l->got;
    l->got = whole;
    return true;
}
