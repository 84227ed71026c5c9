#include "app/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/client_setup.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/require.h"

enum {
    ANSWER_CAP = 16 << 20,
    CONNECT_TIMEOUT_S = 10,
    TRANSFER_MAGIC = 0x7a3c11d9,
};

bool client_open(struct client *c, const struct args *a)
{
    *c = (struct client){ .patience_s = args_number(a, "timeout", CLIENT_PATIENCE_S) };
    if (!client_setup_url(c, a) || !client_setup_token(c, a))
        return false;
    c->curl = curl_easy_init();
    require(c->curl != NULL);
    return true;
}

void client_close(struct client *c)
{
    curl_easy_cleanup(c->curl);
    free(c->url);
    if (c->token != NULL)
        explicit_bzero(c->token, strlen(c->token));
    free(c->token);
    *c = (struct client){ .exit_code = c->exit_code };
}

/* One running request, for the callbacks of libcurl. */
struct transfer {
    unsigned magic;
    struct client *client;
    char error[CURL_ERROR_SIZE];
    struct curl_slist *headers;

    int in_fd; /* upload; -1: none */
    const char *in_title;
    int64_t in_size, in_sent; /* size -1: a pipe, unknown until its end */

    struct buf answer; /* the body, unless it is streamed to a file */
    bool to_file;
    const char *out_path; /* NULL: stdout */
    int out_fd;           /* -1: not open yet */

    int64_t moved_us; /* when bytes last moved */
    curl_off_t moved; /* how many, both ways   */
    bool told;        /* a failure on our side, printed already */
};

static void transfer_done(struct transfer *t)
{
    curl_slist_free_all(t->headers);
    buf_done(&t->answer);
    if (t->out_fd >= 0 && t->out_fd != STDOUT_FILENO)
        (void)close(t->out_fd);
}

#define TRANSFER_INIT(client_)                                                    \
    {                                                                             \
        .magic = TRANSFER_MAGIC, .client = (client_), .in_fd = -1, .in_size = -1, \
        .answer = BUF_INIT(ANSWER_CAP), .out_fd = -1                              \
    }

/* A failure on our side, such as a read error: prints it once and stops the transfer. */
static bool transfer_fail(struct transfer *t, const char *what, const char *name, const char *why)
{
    t->told = true;
    t->client->exit_code = print_fail(EXIT_IO, "%s %s: %s", what, name, why);
    return false;
}

static size_t client_on_read(char *to, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t room = size * count;
    ssize_t n;

    require(t->magic == TRANSFER_MAGIC);
    do
        n = read(t->in_fd, to, room);
    while (n < 0 && errno == EINTR);
    t->moved_us = clock_mono_us(); /* waiting for our own stdin does not count as a stalled node */
    if (n < 0) {
        (void)transfer_fail(t, "cannot read", t->in_title, strerror(errno));
        return CURL_READFUNC_ABORT;
    }
    if (n == 0 && t->in_size >= 0 && t->in_sent < t->in_size) {
        (void)transfer_fail(t, "cannot read", t->in_title, "it became shorter while it was sent");
        return CURL_READFUNC_ABORT;
    }
    t->in_sent += n;
    return (size_t)n;
}

static bool open_out(struct transfer *t)
{
    if (t->out_fd >= 0)
        return true;
    if (t->out_path == NULL)
        t->out_fd = STDOUT_FILENO;
    else
        t->out_fd = open(t->out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    return t->out_fd >= 0 || transfer_fail(t, "cannot write", t->out_path, strerror(errno));
}

static bool client_write_out(struct transfer *t, const char *from, size_t len)
{
    if (!open_out(t))
        return false;
    while (len > 0) {
        ssize_t n = write(t->out_fd, from, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return transfer_fail(t, "cannot write", t->out_path != NULL ? t->out_path : "stdout",
                                 strerror(errno));
        from += n;
        len -= (size_t)n;
    }
    return true;
}

static long status_of(const struct transfer *t)
{
    long status = 0;

    (void)curl_easy_getinfo(t->client->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t client_on_write(char *from, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t len = size * count;
    struct err err;

    require(t->magic == TRANSFER_MAGIC);
    if (t->to_file && status_of(t) == 200)
        return client_write_out(t, from, len) ? len : 0;
    if (!buf_append(&t->answer, str_mem(from, len), &err)) {
        t->told = true;
        t->client->exit_code = print_fail(EXIT_UNREACHABLE, "the answer of %s is over %d MiB",
                                          t->client->url, ANSWER_CAP >> 20);
        return 0;
    }
    return len;
}

/* Streams have no overall time-out; they fail when no byte moves for too long. */
static int on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up)
{
    struct transfer *t = arg;
    int64_t now = clock_mono_us();

    require(t->magic == TRANSFER_MAGIC);
    (void)down_all;
    (void)up_all;
    if (down + up != t->moved) {
        t->moved = down + up;
        t->moved_us = now;
    }
    if (now - t->moved_us <= t->client->patience_s * CLOCK_S)
        return 0;
    t->told = true;
    t->client->exit_code =
        print_fail(EXIT_UNREACHABLE, "nothing moved to or from %s for %lld s; gave up",
                   t->client->url, (long long)t->client->patience_s);
    return 1;
}

static void add_header(struct transfer *t, const char *line)
{
    struct curl_slist *list = curl_slist_append(t->headers, line);

    require(list != NULL);
    t->headers = list;
}

static bool names_header(const char *const *headers, const char *name)
{
    for (; headers != NULL && *headers != NULL; headers++) {
        struct str head;

        (void)str_cut(str_of(*headers), ':', &head);
        if (str_eq_nocase(head, str_of(name)))
            return true;
    }
    return false;
}

static void add_headers(struct transfer *t, const char *const *headers)
{
    if (t->client->token != NULL && !names_header(headers, "Authorization")) {
        AUTO(buf_done) struct buf line = BUF_INIT(CLIENT_TOKEN_CAP + 64);

        buf_printf(&line, "Authorization: Bearer %s", t->client->token);
        add_header(t, line.ptr);
    }
    for (; headers != NULL && *headers != NULL; headers++)
        add_header(t, *headers);
}

static void set_common(struct transfer *t, const char *path)
{
    CURL *curl = t->client->curl;
    AUTO(buf_done) struct buf url = BUF_INIT(64 << 10);

    curl_easy_reset(curl);
    buf_puts(&url, t->client->url);
    buf_puts(&url, path);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url.ptr);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "waybill/" WAYBILL_VERSION);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->error);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, client_on_write);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, t->headers);
    if (t->client->loopback)
        (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
}

static void set_stream(struct transfer *t)
{
    CURL *curl = t->client->curl;

    t->moved_us = clock_mono_us();
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
}

/* Prints why there is no answer, and what the operator can do. */
static bool tell_unreachable(struct transfer *t, CURLcode rc)
{
    struct client *c = t->client;
    long sent = 0;

    if (t->told)
        return false;
    (void)curl_easy_getinfo(c->curl, CURLINFO_REQUEST_SIZE, &sent);
    c->exit_code = EXIT_UNREACHABLE;
    if (rc == CURLE_COULDNT_CONNECT || (rc == CURLE_OPERATION_TIMEDOUT && sent == 0))
        (void)print_fail(0,
                         "no node answers at %s: is it running? start it with `waybill serve`, or "
                         "say --url",
                         c->url);
    else if (rc == CURLE_COULDNT_RESOLVE_HOST)
        (void)print_fail(0, "the host in %s is not known: check --url", c->url);
    else if (rc == CURLE_OPERATION_TIMEDOUT)
        (void)print_fail(0,
                         "the node at %s has not answered within %lld s; what you asked for may "
                         "still be done, look before you repeat it (--timeout waits longer)",
                         c->url, (long long)c->patience_s);
    else if (rc == CURLE_UNSUPPORTED_PROTOCOL)
        (void)print_fail(0, "what answers at %s does not speak HTTP: check --url", c->url);
    else if (sent > 0 && t->to_file)
        (void)print_fail(0, "the connection to %s broke before the end (%s); try again", c->url,
                         t->error[0] != '\0' ? t->error : curl_easy_strerror(rc));
    else if (sent > 0)
        (void)print_fail(0,
                         "the connection to %s broke before the answer (%s); what you asked for "
                         "may have been done, look before you repeat it",
                         c->url, t->error[0] != '\0' ? t->error : curl_easy_strerror(rc));
    else
        (void)print_fail(0, "no connection to %s: %s", c->url,
                         t->error[0] != '\0' ? t->error : curl_easy_strerror(rc));
    return false;
}

static bool tell_denied(const struct transfer *t, long status, const char *message)
{
    struct client *c = t->client;

    c->exit_code = EXIT_DENIED;
    if (status == 403)
        (void)print_fail(0, "not allowed: %s (403)",
                         message != NULL ? message : "the token has not the right for this");
    else if (c->token_from == NULL && c->token_unsent)
        (void)print_fail(0,
                         "not allowed: the node at %s wants a token; the one in the data folder is "
                         "for a node on this machine and is not sent elsewhere: give --token or "
                         "WAYBILL_TOKEN",
                         c->url);
    else if (c->token_from == NULL)
        (void)print_fail(
            0,
            "not allowed: the node at %s wants a token and there is none; give --token "
            "or WAYBILL_TOKEN, or set WAYBILL_DATA to the node's data folder",
            c->url);
    else
        (void)print_fail(
            0,
            "not allowed: the node at %s does not accept the token from %s; is it that "
            "node's token, or a key of that gateway?",
            c->url, c->token_from);
    return false;
}

static bool tell_not_now(const struct transfer *t, long status, const char *message)
{
    curl_off_t wait = 0;
    char later[64] = "";

    (void)curl_easy_getinfo(t->client->curl, CURLINFO_RETRY_AFTER, &wait);
    if (wait > 0)
        (void)snprintf(later, sizeof later, "; try again in %lld s", (long long)wait);
    t->client->exit_code = print_fail(
        EXIT_UNREACHABLE, "the node at %s cannot do this now: %s (%ld)%s", t->client->url,
        message != NULL ? message : "it does not say why", status, later);
    return false;
}

/* Prints the error of an answer other than 2xx; `body` may be NULL. */
static bool tell_refused(const struct transfer *t, long status, const json_t *body)
{
    struct client *c = t->client;
    const char *message = member_text(json_object_get(body, "error"), "message");
    char *to = NULL;

    if (status == 401 || status == 403)
        return tell_denied(t, status, message);
    if (status == 429 || status >= 500)
        return tell_not_now(t, status, message);
    if (message != NULL) {
        c->exit_code = print_fail(EXIT_NO, "%s (%ld)", message, status);
        return false;
    }
    (void)curl_easy_getinfo(c->curl, CURLINFO_REDIRECT_URL, &to);
    if (to != NULL)
        c->exit_code =
            print_fail(EXIT_UNREACHABLE,
                       "%s points to %s, which is not followed: say --url with the node's own "
                       "address",
                       c->url, to);
    else
        c->exit_code = print_fail(EXIT_UNREACHABLE,
                                  "what answers at %s is no Waybill node (status %ld): check --url",
                                  c->url, status);
    return false;
}

/* A node may answer with an error and close the connection before it has read the whole upload.
 * Then the answer counts, not the broken connection. */
static bool is_refusal(CURLcode rc, long status)
{
    return status >= 400 &&
           (rc == CURLE_SEND_ERROR || rc == CURLE_RECV_ERROR || rc == CURLE_PARTIAL_FILE);
}

/* Runs the request.  True: there is an answer, whatever its status. */
static bool perform(struct transfer *t, long *ret_status)
{
    CURLcode rc = curl_easy_perform(t->client->curl);
    long status = status_of(t);

    if (rc != CURLE_OK && !is_refusal(rc, status))
        return tell_unreachable(t, rc);
    *ret_status = status;
    return true;
}

static json_t *client_parse(const struct buf *body)
{
    /* JSON_ALLOW_NUL: a NUL in one name must not make the whole list unreadable. */
    json_t *v = json_loadb(body->ptr, body->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

    if (v != NULL && !json_is_object(v)) {
        json_decref(v);
        v = NULL;
    }
    return v;
}

int client_odd(struct client *c, const char *what)
{
    return c->exit_code = print_fail(
               EXIT_UNREACHABLE,
               "the answer of %s is not that of a Waybill node of this version: %s", c->url, what);
}

/* The exit status for an error code of the API; EXIT_NO for all that are not listed. */
static int exit_of_code(const char *code)
{
    static const struct {
        const char *code;
        int exit_code;
    } known[] = {
        { "forbidden", EXIT_DENIED },
        { "unavailable", EXIT_UNREACHABLE },
        { "uncertain", EXIT_UNREACHABLE },
        { "internal", EXIT_UNREACHABLE },
    };

    for (size_t i = 0; code != NULL && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(code, known[i].code) == 0)
            return known[i].exit_code;
    return EXIT_NO;
}

/* Prints the `errors` of a GraphQL answer. */
static bool tell_errors(struct client *c, const json_t *errors)
{
    size_t i;
    const json_t *e;

    c->exit_code = EXIT_NO;
    json_array_foreach(errors, i, e)
    {
        const char *code = member_text(json_object_get(e, "extensions"), "code");
        const char *message = member_text(e, "message");
        int meaning = exit_of_code(code);

        if (meaning > c->exit_code)
            c->exit_code = meaning;
        (void)print_fail(0, "%s%s", message != NULL ? message : "the node gives no reason",
                         code != NULL && strcmp(code, "uncertain") == 0
                             ? "; it may have been done, look before you repeat it"
                             : "");
    }
    return false;
}

static bool judge_graphql(struct transfer *t, long status, json_t **ret_data)
{
    json_auto_t *body = client_parse(&t->answer);
    const json_t *errors = json_object_get(body, "errors");
    json_t *data = json_object_get(body, "data");

    if (status == 401 || status == 403)
        return tell_refused(t, status, body);
    if (json_array_size(errors) > 0)
        return tell_errors(t->client, errors);
    if (status < 200 || status > 299)
        return tell_refused(t, status, body);
    if (!json_is_object(data))
        return client_odd(t->client, body == NULL ? "it is no JSON object" : "it has no data") ==
               EXIT_DONE;
    *ret_data = json_incref(data);
    return true;
}

bool client_graphql(struct client *c, const char *query, json_t *variables, json_t **ret_data)
{
    static const char *const headers[] = { "Content-Type: application/json",
                                           "Accept: application/json", "Expect:", NULL };
    AUTO(transfer_done) struct transfer t = TRANSFER_INIT(c);
    json_auto_t *request = json_object();
    long status;

    (void)json_object_set_new(request, "query", json_string(query));
    if (variables != NULL)
        (void)json_object_set_new(request, "variables", variables);
    AUTO_TEXT text = json_dumps(request, JSON_COMPACT);

    require(text != NULL);
    add_headers(&t, headers);
    set_common(&t, "/graphql");
    (void)curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, (long)c->patience_s);
    (void)curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
    (void)curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, text);
    return perform(&t, &status) && judge_graphql(&t, status, ret_data);
}

/* Bytes of a regular file from the current offset to its end; -1 for a pipe. */
static int64_t size_left(int fd)
{
    struct stat st;
    off_t at;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (at = lseek(fd, 0, SEEK_CUR)) < 0)
        return -1;
    return st.st_size > at ? st.st_size - at : 0;
}

bool client_post(struct client *c, const struct client_upload *up, json_t **ret_answer)
{
    AUTO(transfer_done) struct transfer t = TRANSFER_INIT(c);
    long status;

    t.in_fd = up->fd;
    t.in_title = up->title;
    t.in_size = size_left(up->fd);
    add_headers(&t, up->headers);
    if (t.in_size < 0)
        add_header(&t, "Transfer-Encoding: chunked");
    set_common(&t, up->path);
    set_stream(&t);
    (void)curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(c->curl, CURLOPT_READFUNCTION, client_on_read);
    (void)curl_easy_setopt(c->curl, CURLOPT_READDATA, &t);
    if (t.in_size >= 0)
        (void)curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t.in_size);
    if (!perform(&t, &status))
        return false;
    json_auto_t *body = client_parse(&t.answer);

    if (status < 200 || status > 299)
        return tell_refused(&t, status, body);
    if (body == NULL)
        return client_odd(c, "it is no JSON object") == EXIT_DONE;
    *ret_answer = json_incref(body);
    return true;
}

/* Removes an incomplete file: it could be mistaken for the document. */
static void remove_partial(const struct transfer *t)
{
    struct stat st;

    if (t->out_fd >= 0 && t->out_path != NULL && fstat(t->out_fd, &st) == 0 && S_ISREG(st.st_mode))
        (void)unlink(t->out_path);
}

bool client_get(struct client *c, const char *path, const char *to)
{
    AUTO(transfer_done) struct transfer t = TRANSFER_INIT(c);
    long status;

    t.to_file = true;
    t.out_path = to;
    (void)fflush(stdout);
    add_headers(&t, NULL);
    set_common(&t, path);
    set_stream(&t);
    if (!perform(&t, &status)) {
        remove_partial(&t);
        return false;
    }
    if (status != 200) {
        json_auto_t *body = client_parse(&t.answer);

        return tell_refused(&t, status, body);
    }
    if (!open_out(&t)) /* an empty document makes an empty file */
        return false;
    int fd = t.out_fd;

    if (to == NULL)
        return true;
    t.out_fd = -1;
    return close(fd) == 0 || transfer_fail(&t, "cannot write", to, strerror(errno));
}

const char *client_field(struct client *c, const char *name)
{
    struct curl_header *field;

    return curl_easy_header(c->curl, name, 0, CURLH_HEADER, -1, &field) == CURLHE_OK ? field->value
                                                                                     : NULL;
}

char *client_escape(struct client *c, const char *name)
{
    char *escaped = curl_easy_escape(c->curl, name, 0);

    require(escaped != NULL);
    char *copy = xstrdup(escaped);

    curl_free(escaped);
    return copy;
}

const char *member_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

int64_t member_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

bool member_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}
