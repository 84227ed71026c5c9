#include "engine/transfer/transfer_handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/config.h"

enum {
    READ_BYTES = 4096,      /* libcurl's receive buffer; allocated per active handle */
    IDLE_CONNECTION_S = 60, /* not reused after that: firewalls drop idle connections silently */
    KEEPALIVE_S = 30,
    EXPECT_FROM = 1 << 20, /* libcurl asks for a 100 Continue above this */
};

/* ---- profiles ---- */

static struct str transfer_handle_copy(struct str s)
{
    return s.len == 0 ? (struct str){ "", 0 } : (struct str){ xstrndup(s), s.len };
}

static void wipe(struct str s)
{
    if (s.len == 0)
        return;
    char *own = (char *)(uintptr_t)s.ptr;

    explicit_bzero(own, s.len);
    free(own);
}

struct profile *profile_new(const struct http_out_options *o)
{
    struct profile *p = NEW(struct profile);

    p->key = o;
    p->own = *o;
    p->own.user = transfer_handle_copy(o->user);
    p->own.password = transfer_handle_copy(o->password);
    p->own.ca = transfer_handle_copy(o->ca);
    p->own.cert = transfer_handle_copy(o->cert);
    p->own.key = transfer_handle_copy(o->key);
    return p;
}

void profile_free(struct profile *p)
{
    require(p->active == 0);
    while (p->idle != NULL) {
        struct handle *handle = p->idle;

        p->idle = handle->next;
        handle_free(handle);
    }
    wipe(p->own.user);
    wipe(p->own.password);
    wipe(p->own.ca);
    wipe(p->own.cert);
    wipe(p->own.key);
    free(p);
}

bool profile_is(const struct profile *p, const struct http_out_options *o)
{
    const struct http_out_options *own = &p->own;

    return own->timeout_us == o->timeout_us && own->connect_timeout_us == o->connect_timeout_us &&
           own->verify == o->verify && str_eq(own->user, o->user) &&
           str_eq(own->password, o->password) && str_eq(own->ca, o->ca) &&
           str_eq(own->cert, o->cert) && str_eq(own->key, o->key);
}

/* ---- callbacks of libcurl ---- */

static struct handle *handle_of(void *arg)
{
    struct handle *handle = arg;

    require(handle->magic == HANDLE_MAGIC);
    return handle;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
    struct handle *handle = handle_of(arg);
    const struct handle_host *host = handle->host;
    const char *why = egress_bars(host->egress, &addr->addr);

    (void)purpose;
    if (why != NULL) {
        handle->barred = why;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);

    if (fd < 0)
        return CURL_SOCKET_BAD;
    host->opened(host->arg, fd);
    return fd;
}

static int on_close_socket(void *arg, curl_socket_t fd)
{
    const struct handle_host *host = arg;

    host->closed(host->arg, fd);
    return close(fd);
}

/* Called when a connection is ready and the request is about to be written, again before each
 * repeat. */
static int on_ready(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct handle *handle = handle_of(arg);
    struct transfer *t = handle->transfer;

    (void)local_ip, (void)local_port;
    handle->barred = egress_bars_own(handle->host->egress, ip, port, buf_view(&handle->url));
    if (handle->barred != NULL)
        return CURL_PREREQFUNC_ABORT;
    if (t->sends > 0 && handle->head_bytes == 0 && t->once) {
        handle->repeated = true;
        return CURL_PREREQFUNC_ABORT;
    }
    if (!handle->host->may_send(handle->host->arg, t)) {
        handle->refused = true;
        return CURL_PREREQFUNC_ABORT;
    }
    t->sends++;
    handle->head_bytes = 0;
    return CURL_PREREQFUNC_OK;
}

static size_t transfer_handle_on_head(char *bytes, size_t size, size_t count, void *arg)
{
    struct handle *handle = handle_of(arg);

    (void)size;
    handle->head_bytes += count;
    /* libcurl accepts a truncated header as whole. */
    if (count >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        handle->head_whole = false;
    else if (count <= 2 && bytes[count - 1] == '\n')
        handle->head_whole = true;
    handle->too_long = handle->head_bytes > HANDLE_HEAD_MOST;
    return handle->too_long ? 0 : count;
}

static bool is_success(const struct handle *handle)
{
    long status = 0;

    (void)curl_easy_getinfo(handle->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status <= 299;
}

/* What has come so far goes first.  Its beginning stays, for those who look at the answer. */
static void begin_drain(struct handle *handle)
{
    handle->drain = drain_new(&handle->host->drains, handle, handle->transfer->sink);
    (void)drain_take(handle->drain, buf_view(&handle->body));
}

/* 0: cut; CURL_WRITEFUNC_PAUSE: the bytes come again. */
static size_t transfer_handle_drain_body(struct handle *handle, struct str bytes)
{
    if (handle->drain == NULL)
        begin_drain(handle);
    handle->too_large = handle->drain->came + (int64_t)bytes.len > handle->drain->sink->most;
    if (handle->too_large)
        return 0;
    if (drain_take(handle->drain, bytes))
        return bytes.len;
    return handle->drain->paused ? CURL_WRITEFUNC_PAUSE : 0;
}

/* An answer that somebody wants has to end, also one that comes in drops and is small so far. */
static bool answer_is_late(struct handle *handle)
{
    int64_t now = clock_mono_us();

    if (handle->answer_us == 0)
        handle->answer_us = now;
    handle->endless = now - handle->answer_us > handle->profile->own.timeout_us;
    return handle->endless;
}

static size_t transfer_handle_on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct handle *handle = handle_of(arg);
    size_t room = VERDICT_ANSWER_MOST - handle->body.len;

    if (handle->transfer->sink != NULL && answer_is_late(handle))
        return 0;
    if (handle->drain != NULL ||
        (handle->transfer->sink != NULL && count > room && is_success(handle)))
        return transfer_handle_drain_body(handle, str_mem(bytes, count));
    size_t kept = count < room ? count : room;

    (void)size;
    buf_put(&handle->body, str_mem(bytes, kept));
    handle->dropped += count - kept;
    handle->enough = handle->dropped > TRANSFER_DROP_MOST;
    return handle->enough ? 0 : count;
}

static size_t transfer_handle_on_read(char *to, size_t size, size_t count, void *arg)
{
    struct handle *handle = handle_of(arg);

    require(handle->feed != NULL);
    size_t n = feed_read(handle->feed, to, size * count);

    feed_pull(handle->feed);
    return n;
}

/* ---- options ---- */

static long ms_of(int64_t us)
{
    int64_t ms = (us + CLOCK_MS - 1) / CLOCK_MS;

    return ms < 1 ? 1 : ms > INT32_MAX ? INT32_MAX : (long)ms;
}

static bool set_pem(CURL *e, CURLoption as_path, CURLoption as_blob, struct str value)
{
    struct curl_blob blob = { .data = (void *)(uintptr_t)value.ptr,
                              .len = value.len,
                              .flags = CURL_BLOB_NOCOPY };

    if (value.len == 0)
        return true;
    if (config_is_pem(value.ptr))
        return curl_easy_setopt(e, as_blob, &blob) == CURLE_OK;
    return curl_easy_setopt(e, as_path, value.ptr) == CURLE_OK;
}

static bool set_login(CURL *e, const struct http_out_options *o)
{
    if (o->user.len == 0 && o->password.len == 0)
        return true;
    return curl_easy_setopt(e, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_USERNAME, o->user.ptr) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PASSWORD, o->password.ptr) == CURLE_OK;
}

/* libcurl caches the certificate authorities of a file for all connections, but not when a folder
 * of them is set too. */
static bool transfer_handle_set_tls(CURL *e, const struct http_out_options *o)
{
    return curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->verify ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->verify ? 2L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CAPATH, NULL) == CURLE_OK &&
           set_pem(e, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB, o->ca) &&
           set_pem(e, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB, o->cert) &&
           set_pem(e, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB, o->key);
}

static bool set_numbers(CURL *e, const struct http_out_options *o)
{
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        { CURLOPT_NOSIGNAL, 1 },
        { CURLOPT_NOPROGRESS, 1 },
        { CURLOPT_FOLLOWLOCATION, 0 },
        { CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
        { CURLOPT_HTTP09_ALLOWED, 0 },
        { CURLOPT_HTTP_CONTENT_DECODING, 0 },
        { CURLOPT_BUFFERSIZE, READ_BYTES },
        { CURLOPT_TCP_NODELAY, 1 },
        { CURLOPT_TCP_KEEPALIVE, 1 },
        { CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S },
        { CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S },
        { CURLOPT_MAXAGE_CONN, IDLE_CONNECTION_S },
        { CURLOPT_LOW_SPEED_LIMIT, 1 }, /* bytes a second: less is silence */
        { CURLOPT_CONNECTTIMEOUT_MS, ms_of(o->connect_timeout_us) },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (curl_easy_setopt(e, numbers[i].option, numbers[i].value) != CURLE_OK)
            return false;
    return true;
}

/* Over all for a body that is in memory.  A large one may take its time as long as it goes on: only
 * silence counts, in whole seconds, and libcurl notices it up to five later.  The second that it
 * waits for 100 Continue is silent, too. */
static bool set_timeout(struct handle *handle, enum body_kind kind)
{
    int64_t us = handle->profile->own.timeout_us;
    bool whole = kind != BODY_FEED;

    if (handle->whole == whole && handle->body_kind != BODY_UNSET)
        return true;
    handle->whole = whole;
    return curl_easy_setopt(handle->easy, CURLOPT_TIMEOUT_MS, whole ? ms_of(us) : 0L) == CURLE_OK &&
           curl_easy_setopt(handle->easy, CURLOPT_LOW_SPEED_TIME,
                            whole ? 0L : (ms_of(us) + 1999L) / 1000) == CURLE_OK;
}

static bool set_calls(struct handle *handle)
{
    CURL *e = handle->easy;
    const struct handle_host *host = handle->host;

    return curl_easy_setopt(e, CURLOPT_PRIVATE, handle) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_ERRORBUFFER, handle->failure) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open_socket) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, handle) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, host) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_ready) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQDATA, handle) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, transfer_handle_on_head) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERDATA, handle) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, transfer_handle_on_body) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEDATA, handle) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READFUNCTION, transfer_handle_on_read) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READDATA, handle) == CURLE_OK;
}

struct handle *handle_new(const struct handle_host *host, struct profile *p)
{
    struct handle *handle = NEW(struct handle);

    handle->magic = HANDLE_MAGIC;
    handle->host = host;
    handle->profile = p;
    handle->fields = (struct buf)BUF_INIT(HANDLE_FIELDS_MOST);
    handle->url = (struct buf)BUF_INIT(HANDLE_FIELDS_MOST);
    handle->body = (struct buf)BUF_INIT(VERDICT_ANSWER_MOST);
    handle->easy = curl_easy_init();
    if (handle->easy != NULL && set_calls(handle) && set_numbers(handle->easy, &p->own) &&
        set_login(handle->easy, &p->own) && transfer_handle_set_tls(handle->easy, &p->own) &&
        curl_easy_setopt(handle->easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
        /* "" keeps libcurl from reading the environment for each request. */
        (host->has_proxy || curl_easy_setopt(handle->easy, CURLOPT_PROXY, "") == CURLE_OK))
        return handle;
    handle_free(handle);
    return NULL;
}

void handle_free(struct handle *handle)
{
    if (handle == NULL)
        return;
    require(handle->feed == NULL && handle->drain == NULL && handle->transfer == NULL);
    if (handle->easy != NULL)
        curl_easy_cleanup(handle->easy);
    buf_done(&handle->fields);
    buf_done(&handle->url);
    buf_done(&handle->body);
    handle->magic = 0;
    free(handle);
}

/* ---- one request ---- */

static bool transfer_handle_put_field(struct handle *handle, struct str name, struct str value,
                                      bool joined, struct err *err)
{
    struct buf *b = &handle->fields;
    /* libcurl takes "Name:" as an order to remove the field; "Name;" sends it empty. */
    struct str colon = value.len > 0 || joined ? STR(": ") : STR(";");

    return buf_append(b, name, err) && buf_append(b, colon, err) && buf_append(b, value, err) &&
           buf_append(b, (struct str){ "", 1 }, err);
}

/* Fields that libcurl does not interpret.  libcurl compares each list entry with a dozen names and
 * prints it separately; these are passed as one entry with CRLF inside. */
static bool is_plain(struct str name)
{
    return str_starts(name, STR("Waybill-")) || str_is(name, "Idempotency-Key") ||
           str_is(name, "traceparent");
}

static bool set_fields(struct handle *handle, const struct http_out_request *r, bool no_wait,
                       bool has_body, struct err *err)
{
    static char no_expect[] = "Expect:", no_type[] = "Content-Type:";
    size_t count = 0, starts[HTTP_OUT_FIELDS];
    bool joined = false;

    require(r->field_count <= HTTP_OUT_FIELDS);
    buf_clear(&handle->fields);
    for (size_t i = 0; i < r->field_count; i++) {
        bool plain = is_plain(r->fields[i].name);

        if (str_eq_nocase(r->fields[i].name, STR("content-type")))
            has_body = false;  /* libcurl need not suppress its default type */
        if (plain && joined) { /* overwrite the NUL of the entry before */
            handle->fields.len--;
            if (!buf_append(&handle->fields, STR("\r\n"), err))
                return false;
        } else {
            starts[count++] = handle->fields.len;
        }
        if (!transfer_handle_put_field(handle, r->fields[i].name, r->fields[i].value,
                                       plain && joined, err))
            return false;
        joined = plain && (joined || r->fields[i].value.len > 0); /* an empty field ends it */
    }
    for (size_t i = 0; i < count; i++)
        handle->nodes[i].data = handle->fields.ptr + starts[i];
    if (no_wait)
        handle->nodes[count++].data = no_expect;
    if (has_body)
        handle->nodes[count++].data = no_type;
    for (size_t i = 0; i < count; i++)
        handle->nodes[i].next = i + 1 < count ? &handle->nodes[i + 1] : NULL;
    return curl_easy_setopt(handle->easy, CURLOPT_HTTPHEADER, count > 0 ? handle->nodes : NULL) ==
           CURLE_OK;
}

static bool set_url(struct handle *handle, struct str url, struct err *err)
{
    if (str_eq(buf_view(&handle->url), url))
        return true;
    buf_clear(&handle->url);
    return buf_append(&handle->url, url, err) &&
           (curl_easy_setopt(handle->easy, CURLOPT_URL, handle->url.ptr) == CURLE_OK ||
            err_set(err, ERR_LIMIT, 0, "the address is too long"));
}

/* Method and kind of body depend on each other in libcurl: set both when one changes. */
static bool set_method(struct handle *handle, struct str method, enum body_kind kind)
{
    CURL *e = handle->easy;
    bool plain = str_is(method, "POST") || kind == BODY_NONE;

    if (handle->body_kind == kind && str_is(method, handle->method))
        return true;
    if (method.len >= sizeof handle->method)
        return false;
    memcpy(handle->method, method.ptr, method.len);
    handle->method[method.len] = '\0';
    handle->body_kind = kind;
    if (kind == BODY_NONE &&
        curl_easy_setopt(e, str_is(method, "HEAD") ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1L))
        return false;
    if (kind == BODY_FEED && curl_easy_setopt(e, CURLOPT_POSTFIELDS, NULL) != CURLE_OK)
        return false;
    if (kind != BODY_NONE && curl_easy_setopt(e, CURLOPT_POST, 1L) != CURLE_OK)
        return false; /* resets the NOBODY of an earlier HEAD */
    return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, plain ? NULL : handle->method) == CURLE_OK;
}

static bool set_body(struct handle *handle, const struct sending *s, enum body_kind kind)
{
    CURL *e = handle->easy;
    struct str bytes = s->bytes.len > 0 ? s->bytes : STR("");

    if (kind == BODY_NONE)
        return true;
    int64_t size = kind == BODY_FEED ? s->size : (int64_t)bytes.len;

    if (curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size) != CURLE_OK)
        return false;
    if (kind == BODY_BYTES)
        return curl_easy_setopt(e, CURLOPT_POSTFIELDS, bytes.ptr) == CURLE_OK;
    handle->feed = feed_new(&handle->host->feeds, handle, s);
    return true;
}

static enum body_kind transfer_handle_kind_of(const struct transfer *t)
{
    if (t->sending == NULL || str_is(t->request->method, "GET") ||
        str_is(t->request->method, "HEAD"))
        return BODY_NONE;
    return t->sending->bytes.ptr == NULL && t->sending->size > 0 ? BODY_FEED : BODY_BYTES;
}

bool handle_begin(struct handle *handle, struct transfer *t)
{
    enum body_kind kind = transfer_handle_kind_of(t);
    bool no_wait = kind == BODY_BYTES && t->sending->bytes.len >= EXPECT_FROM;
    struct err err = { 0 };

    require(handle->transfer == NULL && handle->feed == NULL && handle->drain == NULL);
    handle->transfer = t;
    handle->failure[0] = '\0';
    handle->head_bytes = handle->dropped = 0;
    handle->refused = handle->repeated = handle->enough = handle->too_long = false;
    handle->barred = NULL;
    handle->head_whole = handle->over = handle->endless = handle->too_large = false;
    handle->answer_us = 0;
    buf_clear(&handle->body);
    if (set_url(handle, t->request->url, &err) && set_timeout(handle, kind) &&
        set_method(handle, t->request->method, kind) &&
        set_fields(handle, t->request, no_wait, kind != BODY_NONE, &err) &&
        set_body(handle, t->sending, kind))
        return true;
    (void)snprintf(handle->failure, sizeof handle->failure, "the request cannot be made%s%s",
                   err.kind == ERR_NONE ? "" : ": ", err.text);
    return false;
}

/* ---- the answer ---- */

/* A receiver that answers 2xx before it has the whole body cannot have accepted it; libcurl reports
 * success. */
static bool all_was_sent(const struct handle *handle)
{
    curl_off_t sent = 0;

    if (handle->body_kind == BODY_NONE)
        return true;
    const struct sending *s = handle->transfer->sending;

    (void)curl_easy_getinfo(handle->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return sent >= (handle->feed != NULL ? s->size : (int64_t)s->bytes.len);
}

static enum http_out_reach reach_of(const struct handle *handle, CURLcode rc, long status)
{
    if (handle->feed != NULL && handle->feed->failed)
        return HTTP_OUT_BAD_BODY;
    if ((rc == CURLE_OK || handle->enough) && status >= 200 && handle->head_whole &&
        (status >= 300 || all_was_sent(handle)))
        return HTTP_OUT_ANSWERED;
    return handle->transfer->sends == 0 ? HTTP_OUT_NOT_SENT : HTTP_OUT_UNCLEAR;
}

/* Why an answer was cut off; NULL: it was not. */
static const char *cut_of(struct handle *handle)
{
    if (handle->drain != NULL && handle->drain->failed)
        return handle->drain->err.text;
    if (handle->too_large)
        (void)snprintf(handle->failure, sizeof handle->failure,
                       "the answer is larger than %lld bytes",
                       (long long)handle->drain->sink->most);
    else if (handle->endless)
        (void)snprintf(handle->failure, sizeof handle->failure,
                       "the answer did not end within %lld ms",
                       (long long)(handle->profile->own.timeout_us / CLOCK_MS));
    return handle->too_large || handle->endless ? handle->failure : NULL;
}

static const char *failure_of(struct handle *handle, CURLcode rc, enum http_out_reach reach)
{
    const char *cut = cut_of(handle);

    if (cut != NULL)
        return cut;
    if (reach == HTTP_OUT_BAD_BODY)
        return handle->feed->err.text;
    if (handle->refused)
        return "this node may not send";
    if (handle->barred != NULL)
        return handle->barred;
    if (handle->repeated)
        return "the connection ended before an answer came";
    if (handle->too_long)
        return "the header of the answer is too long";
    if (rc == CURLE_OK)
        return "no whole answer to a whole request came";
    return handle->failure[0] != '\0' ? handle->failure : curl_easy_strerror(rc);
}

void handle_answer(struct handle *handle, CURLcode rc)
{
    struct http_out_answer *a = &handle->transfer->answer;
    struct curl_header *field;
    long status = 0;
    char *ctype = NULL;

    (void)curl_easy_getinfo(handle->easy, CURLINFO_RESPONSE_CODE, &status);
    *a = (struct http_out_answer){ .reach = reach_of(handle, rc, status) };
    a->now_us = clock_wall_us();
    if (a->reach != HTTP_OUT_ANSWERED)
        a->failure = failure_of(handle, rc, a->reach);
    if (handle->transfer->sends == 0 || status == 0)
        return; /* the answer of a proxy does not count */
    a->status = status;
    a->body = buf_view(&handle->body);
    a->came =
        handle->drain != NULL ? handle->drain->came : (int64_t)(handle->body.len + handle->dropped);
    a->is_drained = handle->drain != NULL;
    a->is_too_large = handle->too_large && all_was_sent(handle);
    (void)curl_easy_getinfo(handle->easy, CURLINFO_CONTENT_TYPE, &ctype);
    if (ctype != NULL)
        a->ctype = str_of(ctype);
    if (status >= 300 &&
        curl_easy_header(handle->easy, "Retry-After", 0, CURLH_HEADER, -1, &field) == CURLHE_OK)
        a->retry_after = str_of(field->value);
}

bool handle_is_busy(const struct handle *handle)
{
    return (handle->feed != NULL && handle->feed->reading) ||
           (handle->drain != NULL && handle->drain->putting);
}

void handle_drain(struct handle *handle)
{
    struct http_out_answer *a = &handle->transfer->answer;

    if (handle->drain == NULL || a->reach != HTTP_OUT_ANSWERED || drain_rest(handle->drain) ||
        !handle->drain->failed)
        return;
    a->reach = HTTP_OUT_UNCLEAR;
    a->failure = handle->drain->err.text;
}

void handle_end(struct handle *handle)
{
    drain_free(handle->drain);
    handle->drain = NULL;
    feed_free(handle->feed);
    handle->feed = NULL;
    handle->transfer = NULL;
    if (handle->body.size > HANDLE_BODY_KEPT) {
        buf_done(&handle->body);
        handle->body = (struct buf)BUF_INIT(VERDICT_ANSWER_MOST);
    }
}
