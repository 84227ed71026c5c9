#include "core/s3/s3_line.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/egress.h"
#include "base/require.h"
#include "core/config.h"

enum {
    IDLE_MOST = 16,
    IDLE_S = 50,         /* services close what is idle for a minute */
    TICK_MS = 200,       /* how late a call notices that it is over */
    EARLY_PART = 10,     /* a call ends this part of its time-out early ... */
    EARLY_MOST_MS = 2000 /* ... and at most so much */
};

struct s3_line {
    struct s3_line *next;
    CURLM *multi; /* keeps the connection */
    CURL *easy;
};

/* What an exchange in progress runs into. */
struct way {
    struct s3_exchange *x;
    const struct egress *egress;
    const char *barred; /* NULL: it is not */
    int64_t at;         /* bytes of the body that libcurl has taken ... */
    bool whole;         /* ... and at some time all of them */
    bool ready;         /* a connection was ready: bytes may have been sent */
    bool repeats;       /* libcurl would send what must not be sent twice */
    bool too_long;
    struct err read_err;
    char failure[CURL_ERROR_SIZE];
};

/* ---- lines ---- */

void s3_lines_init(struct s3_lines *l, const struct http_out_options *options)
{
    *l = (struct s3_lines){ .options = options };
    require(pthread_mutex_init(&l->mutex, NULL) == 0);
}

static void line_free(struct s3_line *line)
{
    (void)curl_multi_cleanup(line->multi);
    curl_easy_cleanup(line->easy);
    free(line);
}

void s3_lines_done(struct s3_lines *l)
{
    for (struct s3_line *line = l->idle, *next; line != NULL; line = next) {
        next = line->next;
        line_free(line);
    }
    (void)pthread_mutex_destroy(&l->mutex);
}

static struct s3_line *s3_line_take(struct s3_lines *l)
{
    (void)pthread_mutex_lock(&l->mutex);
    struct s3_line *line = l->idle;

    if (line != NULL) {
        l->idle = line->next;
        l->idle_count--;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    if (line != NULL) {
        curl_easy_reset(line->easy);
        return line;
    }
    line = NEW(struct s3_line);
    *line = (struct s3_line){ .multi = curl_multi_init(), .easy = curl_easy_init() };
    require(line->multi != NULL && line->easy != NULL);
    return line;
}

static void line_give(struct s3_lines *l, struct s3_line *line)
{
    (void)pthread_mutex_lock(&l->mutex);
    bool keep = l->idle_count < IDLE_MOST;

    if (keep) {
        line->next = l->idle;
        l->idle = line;
        l->idle_count++;
    }
    (void)pthread_mutex_unlock(&l->mutex);
    if (!keep)
        line_free(line);
}

/* ---- callbacks of libcurl ---- */

static curl_socket_t s3_on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
    struct way *way = arg;

    (void)purpose;
    way->barred = egress_bars(way->egress, &addr->addr);
    if (way->barred != NULL)
        return CURL_SOCKET_BAD;
    return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static int s3_on_ready(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct way *way = arg;

    (void)local_ip, (void)local_port;
    way->barred = egress_bars_own(way->egress, ip, port, way->x->request->url);
    if (way->barred != NULL)
        return CURL_PREREQFUNC_ABORT;
    if (way->ready && way->x->is_final) { /* a kept connection ended, perhaps behind its work */
        way->repeats = true;
        return CURL_PREREQFUNC_ABORT;
    }
    way->ready = true;
    return CURL_PREREQFUNC_OK;
}

static size_t s3_on_read(char *to, size_t size, size_t count, void *arg)
{
    struct way *way = arg;
    struct s3_exchange *x = way->x;
    int64_t left = x->size - way->at;
    size_t room = size * count, n = 0;

    if (left < (int64_t)room)
        room = (size_t)left;
    if (x->bytes.ptr != NULL) {
        memcpy(to, x->bytes.ptr + way->at, room);
        n = room;
    } else if (room > 0 && !x->read(x->read_arg, to, room, &n, &way->read_err)) {
        return CURL_READFUNC_ABORT;
    }
    way->at += (int64_t)n;
    way->whole = way->whole || way->at >= x->size;
    return n;
}

/* A request is repeated when a connection that was kept turns out to be closed. */
static int s3_on_seek(void *arg, curl_off_t offset, int origin)
{
    struct way *way = arg;

    if (origin != SEEK_SET || (way->x->bytes.ptr == NULL && offset != way->at))
        return CURL_SEEKFUNC_CANTSEEK;
    way->at = offset;
    return CURL_SEEKFUNC_OK;
}

static size_t s3_on_head(char *bytes, size_t size, size_t count, void *arg)
{
    struct way *way = arg;
    struct str line = str_mem(bytes, size * count);
    struct err err = { 0 };

    if (str_starts(line, STR("HTTP/"))) /* of the next answer: 100 Continue was one, too */
        buf_clear(&way->x->head);
    if (buf_append(&way->x->head, line, &err))
        return line.len;
    way->too_long = true;
    return 0;
}

static size_t s3_on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct way *way = arg;
    struct err err = { 0 };

    if (buf_append(&way->x->body, str_mem(bytes, size * count), &err))
        return size * count;
    way->too_long = true;
    return 0;
}

/* ---- options of libcurl ---- */

static long s3_ms_of(int64_t us)
{
    int64_t ms = (us + CLOCK_MS - 1) / CLOCK_MS;

    return ms < 1 ? 1 : ms > INT32_MAX ? INT32_MAX : (long)ms;
}

static bool s3_set_pem(CURL *e, CURLoption as_path, CURLoption as_blob, struct str value)
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

static bool s3_set_tls(CURL *e, const struct http_out_options *o)
{
    return curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->verify ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->verify ? 2L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           s3_set_pem(e, CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB, o->ca) &&
           s3_set_pem(e, CURLOPT_SSLCERT, CURLOPT_SSLCERT_BLOB, o->cert) &&
           s3_set_pem(e, CURLOPT_SSLKEY, CURLOPT_SSLKEY_BLOB, o->key);
}

static bool s3_set_numbers(CURL *e, const struct http_out_options *o)
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
        { CURLOPT_PATH_AS_IS, 1 }, /* `..` in a key is two dots */
        { CURLOPT_TCP_NODELAY, 1 },
        { CURLOPT_TCP_KEEPALIVE, 1 },
        { CURLOPT_MAXAGE_CONN, IDLE_S },
        { CURLOPT_CONNECTTIMEOUT_MS, s3_ms_of(o->connect_timeout_us) },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (curl_easy_setopt(e, numbers[i].option, numbers[i].value) != CURLE_OK)
            return false;
    return true;
}

static bool s3_set_calls(CURL *e, struct way *way)
{
    return curl_easy_setopt(e, CURLOPT_ERRORBUFFER, way->failure) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, s3_on_open) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, way) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, s3_on_ready) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PREREQDATA, way) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, s3_on_head) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HEADERDATA, way) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, s3_on_body) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEDATA, way) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READFUNCTION, s3_on_read) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READDATA, way) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, s3_on_seek) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SEEKDATA, way) == CURLE_OK;
}

static bool s3_line_add_field(struct curl_slist **list, struct str name, struct str value)
{
    AUTO(buf_done) struct buf line = BUF_INIT(32 << 10);

    buf_printf(&line, "%.*s:%s%.*s", STR_ARG(name), value.len > 0 ? " " : "", STR_ARG(value));
    struct curl_slist *more = curl_slist_append(*list, line.ptr);

    if (more == NULL)
        return false;
    *list = more;
    return true;
}

/* PUT and POST have a body, of no bytes if need be. */
static bool s3_set_request(CURL *e, const struct s3_exchange *x, struct curl_slist **fields)
{
    const struct http_out_request *r = x->request;
    bool sends = str_is(r->method, "PUT") || str_is(r->method, "POST");
    const char *scheme = str_starts(r->url, STR("https:")) ? "https" : "http";

    for (size_t i = 0; i < r->field_count; i++)
        if (!s3_line_add_field(fields, r->fields[i].name, r->fields[i].value))
            return false;
    if (sends && x->bytes.ptr != NULL && /* small: it is not worth a question before */
        !s3_line_add_field(fields, STR("Expect"), STR("")))
        return false;
    if (sends && (curl_easy_setopt(e, CURLOPT_UPLOAD, 1L) != CURLE_OK ||
                  curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)x->size) != CURLE_OK))
        return false;
    if (str_is(r->method, "HEAD") && curl_easy_setopt(e, CURLOPT_NOBODY, 1L) != CURLE_OK)
        return false;
    return curl_easy_setopt(e, CURLOPT_URL, r->url.ptr) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, scheme) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method.ptr) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_USERAGENT, "Waybill") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_HTTPHEADER, *fields) == CURLE_OK;
}

static bool s3_set_up(const struct s3_talk *t, CURL *e, struct way *way, struct curl_slist **fields)
{
    const struct http_out_options *o = t->lines->options;

    if ((way->egress == NULL || !way->egress->environment_proxy) &&
        curl_easy_setopt(e, CURLOPT_PROXY, "") != CURLE_OK)
        return false;
    return s3_set_numbers(e, o) && s3_set_tls(e, o) && s3_set_calls(e, way) &&
           s3_set_request(e, way->x, fields);
}

/* ---- the exchange ---- */

static int64_t s3_patience_of(const struct s3_talk *t)
{
    int64_t us = t->lines->options->timeout_us, early = us / EARLY_PART;

    return us - (early < EARLY_MOST_MS * CLOCK_MS ? early : EARLY_MOST_MS * CLOCK_MS);
}

static int64_t s3_bytes_moved(CURL *e, const struct way *way)
{
    curl_off_t up = 0, down = 0;

    (void)curl_easy_getinfo(e, CURLINFO_SIZE_UPLOAD_T, &up);
    (void)curl_easy_getinfo(e, CURLINFO_SIZE_DOWNLOAD_T, &down);
    return up + down + (int64_t)way->x->head.len + (way->ready ? 1 : 0);
}

/* Why the exchange ends without libcurl; NULL: it goes on. */
static const char *s3_is_over(const struct s3_talk *t, const struct s3_exchange *x,
                              int64_t since_us)
{
    if (call_is_given_up(t->call))
        return "it was given up";
    if (!x->is_final && call_is_over(t->call))
        return "the node is stopping";
    if (clock_mono_us() - (t->whole ? t->began_us : since_us) > s3_patience_of(t))
        return t->whole ? "it took too long" : "the other side was silent for too long";
    return NULL;
}

/* Runs until libcurl is through or nobody wants it any more.  Returns why it was ended, or NULL. */
static const char *s3_drive(const struct s3_talk *t, const struct s3_line *line, struct way *way)
{
    int64_t moved = -1, since_us = clock_mono_us();
    int running = 1;

    for (;;) {
        if (curl_multi_perform(line->multi, &running) != CURLM_OK)
            return "libcurl failed";
        if (running == 0)
            return NULL;
        int64_t now = s3_bytes_moved(line->easy, way);

        if (now != moved) {
            moved = now;
            since_us = clock_mono_us();
            call_alive(t->call);
        }
        const char *why = s3_is_over(t, way->x, since_us);

        if (why != NULL)
            return why;
        (void)curl_multi_poll(line->multi, NULL, 0, TICK_MS, NULL);
    }
}

static CURLcode s3_result_of(const struct s3_line *line)
{
    int left;
    const CURLMsg *m = curl_multi_info_read(line->multi, &left);

    return m != NULL && m->msg == CURLMSG_DONE ? m->data.result : CURLE_ABORTED_BY_CALLBACK;
}

static void s3_fill_answer(struct s3_exchange *x, const struct way *way, CURL *e, CURLcode rc,
                           const char *ended)
{
    struct http_out_answer *a = &x->answer;
    const char *why = ended != NULL             ? ended
                      : way->barred != NULL     ? way->barred
                      : way->repeats            ? "the connection ended without an answer"
                      : way->too_long           ? "the answer is too long"
                      : way->read_err.text[0]   ? way->read_err.text
                      : way->failure[0] != '\0' ? way->failure
                                                : curl_easy_strerror(rc);
    long status = 0;

    (void)curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
    (void)snprintf(x->failure, sizeof x->failure, "%s", why);
    x->is_sent = way->ready && (way->whole || x->size == 0);
    *a = (struct http_out_answer){ .status = status,
                                   .retry_after = s3_exchange_field(x, "Retry-After"),
                                   .ctype = s3_exchange_field(x, "Content-Type"),
                                   .body = buf_view(&x->body),
                                   .failure = x->failure,
                                   .now_us = clock_wall_us() };
    if (way->read_err.kind != ERR_NONE)
        a->reach = HTTP_OUT_BAD_BODY;
    else if (!way->ready)
        a->reach = HTTP_OUT_NOT_SENT;
    else
        a->reach = rc == CURLE_OK && ended == NULL && status >= 200 && (status > 299 || x->is_sent)
                       ? HTTP_OUT_ANSWERED
                       : HTTP_OUT_UNCLEAR;
}

void s3_exchange_run(struct s3_talk *t, struct s3_exchange *x)
{
    struct way way = { .x = x, .egress = t->call != NULL ? t->call->egress : NULL };
    struct s3_line *line = s3_line_take(t->lines);
    struct curl_slist *fields = NULL;
    const char *ended = "libcurl cannot make the request";
    CURLcode rc = CURLE_FAILED_INIT;

    buf_clear(&x->head);
    buf_clear(&x->body);
    if (s3_set_up(t, line->easy, &way, &fields) &&
        curl_multi_add_handle(line->multi, line->easy) == CURLM_OK) {
        ended = s3_drive(t, line, &way);
        if (ended == NULL)
            rc = s3_result_of(line);
        s3_fill_answer(x, &way, line->easy, rc, ended);
        (void)curl_multi_remove_handle(line->multi, line->easy);
    } else {
        s3_fill_answer(x, &way, line->easy, rc, ended);
    }
    curl_easy_reset(line->easy); /* `way` and the fields are gone */
    curl_slist_free_all(fields);
    line_give(t->lines, line);
}

void s3_exchange_done(struct s3_exchange *x)
{
    buf_done(&x->head);
    buf_done(&x->body);
}

struct str s3_exchange_field(const struct s3_exchange *x, const char *name)
{
    struct str rest = buf_view(&x->head), line;

    while (rest.len > 0) {
        struct str value, found;

        rest = str_cut(rest, '\n', &line);
        value = str_cut(line, ':', &found);
        if (!str_eq_nocase(found, str_of(name)))
            continue;
        if (value.len > 0 && value.ptr[value.len - 1] == '\r')
            value.len--;
        return str_trim(value);
    }
    return STR("");
}
