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
    IDLE_S = 50,          /* services close what is idle for a minute */
    TICK_MS = 200,        /* how late a call notices that it is over */
    EARLY_PART = 10,      /* a call ends this part of its time-out early ... */
    EARLY_MOST_MS = 2000, /* ... and at most so much */
    REQUEST_ARENA = 1 << 20
};

struct s3_line {
    struct s3_line *next;
    CURLM *multi; /* keeps the connection */
    CURL *easy;
};

/* What an exchange in progress runs into. */
struct s3_way {
    struct s3_exchange *x;
    struct s3_line *line;
    struct curl_slist *fields;
    const struct egress *egress;
    bool streams; /* a body that comes with 2xx is read piece by piece ... */
    bool headed;  /* ... once the head of the answer is there */
    bool paused;  /* libcurl holds bytes back until the others were read */
    size_t taken; /* bytes of x->body that were read */
    bool over;    /* libcurl is through: `result` */
    CURLcode result;
    const char *ended;  /* why it was ended without libcurl; NULL: it was not */
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
    struct s3_way *way = arg;

    (void)purpose;
    way->barred = egress_bars(way->egress, &addr->addr);
    if (way->barred != NULL)
        return CURL_SOCKET_BAD;
    return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static int s3_on_ready(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct s3_way *way = arg;

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
    struct s3_way *way = arg;
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
    struct s3_way *way = arg;

    if (origin != SEEK_SET || (way->x->bytes.ptr == NULL && offset != way->at))
        return CURL_SEEKFUNC_CANTSEEK;
    way->at = offset;
    return CURL_SEEKFUNC_OK;
}

static long s3_status_of(const struct s3_way *way)
{
    long status = 0;

    (void)curl_easy_getinfo(way->line->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool s3_is_stream(const struct s3_way *way)
{
    long status = s3_status_of(way);

    return way->streams && way->headed && status >= 200 && status <= 299;
}

static size_t s3_on_head(char *bytes, size_t size, size_t count, void *arg)
{
    struct s3_way *way = arg;
    struct str line = str_mem(bytes, size * count);
    struct err err = { 0 };

    if (str_starts(line, STR("HTTP/"))) /* of the next answer: 100 Continue was one, too */
        buf_clear(&way->x->head);
    if (str_is(line, "\r\n") || str_is(line, "\n"))
        way->headed = s3_status_of(way) >= 200;
    if (buf_append(&way->x->head, line, &err))
        return line.len;
    way->too_long = true;
    return 0;
}

static size_t s3_on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct s3_way *way = arg;
    struct err err = { 0 };

    way->paused = s3_is_stream(way) && way->x->body.len - way->taken >= S3_STREAM_MOST;
    if (way->paused)
        return CURL_WRITEFUNC_PAUSE;
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

static bool s3_set_calls(CURL *e, struct s3_way *way)
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

static bool s3_set_up(const struct s3_talk *t, struct s3_way *way)
{
    const struct http_out_options *o = t->lines->options;
    CURL *e = way->line->easy;

    if ((way->egress == NULL || !way->egress->environment_proxy) &&
        curl_easy_setopt(e, CURLOPT_PROXY, "") != CURLE_OK)
        return false;
    return s3_set_numbers(e, o) && s3_set_tls(e, o) && s3_set_calls(e, way) &&
           s3_set_request(e, way->x, &way->fields);
}

/* ---- the exchange ---- */

static int64_t s3_patience_of(const struct s3_talk *t)
{
    int64_t us = t->lines->options->timeout_us, early = us / EARLY_PART;

    return us - (early < EARLY_MOST_MS * CLOCK_MS ? early : EARLY_MOST_MS * CLOCK_MS);
}

static int64_t s3_bytes_moved(CURL *e, const struct s3_way *way)
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

static CURLcode s3_result_of(const struct s3_line *line)
{
    int left;
    const CURLMsg *m = curl_multi_info_read(line->multi, &left);

    return m != NULL && m->msg == CURLMSG_DONE ? m->data.result : CURLE_ABORTED_BY_CALLBACK;
}

/* How far an exchange is driven before its caller has something to do. */
enum s3_till { S3_TILL_END, S3_TILL_HEAD, S3_TILL_PIECE };

static bool s3_is_enough(const struct s3_way *way, enum s3_till till)
{
    return till != S3_TILL_END && s3_is_stream(way) &&
           (till == S3_TILL_HEAD || way->x->body.len > 0);
}

/* Runs so far, or until libcurl is through or nobody wants it any more. */
static void s3_drive(const struct s3_talk *t, struct s3_way *way, enum s3_till till)
{
    int64_t moved = -1, since_us = clock_mono_us();
    int running = 1;

    while (way->ended == NULL && !way->over) {
        if (curl_multi_perform(way->line->multi, &running) != CURLM_OK) {
            way->ended = "libcurl failed";
            return;
        }
        if (running == 0) {
            way->over = true;
            way->result = s3_result_of(way->line);
            return;
        }
        int64_t now = s3_bytes_moved(way->line->easy, way);

        if (now != moved) {
            moved = now;
            since_us = clock_mono_us();
            call_alive(t->call);
        }
        if (s3_is_enough(way, till))
            return;
        way->ended = s3_is_over(t, way->x, since_us);
        if (way->ended == NULL)
            (void)curl_multi_poll(way->line->multi, NULL, 0, TICK_MS, NULL);
    }
}

static const char *s3_why_not(const struct s3_way *way)
{
    return way->ended != NULL        ? way->ended
           : way->barred != NULL     ? way->barred
           : way->repeats            ? "the connection ended without an answer"
           : way->too_long           ? "the answer is too long"
           : way->read_err.text[0]   ? way->read_err.text
           : way->failure[0] != '\0' ? way->failure
                                     : curl_easy_strerror(way->result);
}

static bool s3_is_whole(const struct s3_way *way)
{
    return way->over && way->result == CURLE_OK && way->ended == NULL;
}

static void s3_fill_answer(struct s3_exchange *x, const struct s3_way *way)
{
    struct http_out_answer *a = &x->answer;
    long status = s3_status_of(way);

    (void)snprintf(x->failure, sizeof x->failure, "%s", s3_why_not(way));
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
        a->reach =
            (s3_is_whole(way) || s3_is_stream(way)) && status >= 200 && (status > 299 || x->is_sent)
                ? HTTP_OUT_ANSWERED
                : HTTP_OUT_UNCLEAR;
}

/* Begins it; its end is s3_way_close(). */
static struct s3_way *s3_way_open(struct s3_talk *t, struct s3_exchange *x, bool streams)
{
    struct s3_way *way = NEW(struct s3_way);

    *way = (struct s3_way){ .x = x,
                            .line = s3_line_take(t->lines),
                            .egress = t->call != NULL ? t->call->egress : NULL,
                            .streams = streams,
                            .result = CURLE_FAILED_INIT };
    buf_clear(&x->head);
    buf_clear(&x->body);
    if (!s3_set_up(t, way) || curl_multi_add_handle(way->line->multi, way->line->easy) != CURLM_OK)
        way->ended = "libcurl cannot make the request";
    return way;
}

static void s3_way_close(struct s3_talk *t, struct s3_way *way)
{
    (void)curl_multi_remove_handle(way->line->multi, way->line->easy);
    curl_easy_reset(way->line->easy); /* `way` and the fields are gone */
    curl_slist_free_all(way->fields);
    line_give(t->lines, way->line);
    free(way);
}

/* ---- requests ---- */

void s3_talk_run(struct s3_talk *t, const struct http_out_request *request, struct s3_exchange *x)
{
    x->request = request;
    struct s3_way *way = s3_way_open(t, x, false);

    s3_drive(t, way, S3_TILL_END);
    s3_fill_answer(x, way);
    s3_way_close(t, way);
    x->request = NULL;
}

void s3_talk_ask(struct s3_talk *t, const struct s3_service *service, const struct s3_order *order,
                 struct s3_exchange *x)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(REQUEST_ARENA);
    struct http_out_request request;

    s3_request_make(service, order, clock_wall_us(), &a, &request);
    s3_talk_run(t, &request, x);
}

bool s3_talk_open(struct s3_talk *t, const struct s3_service *service, const struct s3_order *order,
                  struct s3_exchange *x)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(REQUEST_ARENA);
    struct http_out_request request;

    require(x->way == NULL);
    s3_request_make(service, order, clock_wall_us(), &a, &request);
    x->request = &request;
    struct s3_way *way = s3_way_open(t, x, true);

    s3_drive(t, way, S3_TILL_HEAD);
    s3_fill_answer(x, way);
    x->request = NULL; /* the connection is made: it is not asked for any more */
    if (x->answer.reach == HTTP_OUT_ANSWERED && s3_is_stream(way)) {
        x->way = way;
        return true;
    }
    s3_way_close(t, way);
    return false;
}

bool s3_talk_read(struct s3_talk *t, struct s3_exchange *x, char *to, size_t room, size_t *ret_len,
                  struct err *err)
{
    struct s3_way *way = x->way;
    size_t left = x->body.len - way->taken;

    if (left == 0) {
        buf_clear(&x->body);
        way->taken = 0;
        if (way->paused) {
            way->paused = false;
            (void)curl_easy_pause(way->line->easy, CURLPAUSE_CONT);
        }
        if (x->body.len == 0)
            s3_drive(t, way, S3_TILL_PIECE);
        left = x->body.len;
    }
    if (left == 0 && !s3_is_whole(way))
        return err_set(err, ERR_TRANSIENT, 0, "the connection ended in the middle of an object: %s",
                       s3_why_not(way));
    *ret_len = left < room ? left : room;
    if (*ret_len > 0)
        memcpy(to, x->body.ptr + way->taken, *ret_len);
    way->taken += *ret_len;
    return true;
}

void s3_talk_close(struct s3_talk *t, struct s3_exchange *x)
{
    if (x->way != NULL)
        s3_way_close(t, x->way);
    x->way = NULL;
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
