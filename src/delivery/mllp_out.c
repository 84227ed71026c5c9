/* mllp_out.c - sends each document as an HL7 message over MLLP, and waits for its acknowledgement.
 *
 *     lab: { kind: mllp, system: lab, address: 127.0.0.1:2575 }
 *
 * One message at a time on a connection, which is kept for the next one (core/line/line.h) if its
 * acknowledgement came, and nothing behind it.  An acknowledgement counts only if MSA-2 is MSH-10
 * of the message: one of another message says nothing about this one, the outcome is unknown, and
 * the connection is closed, so that no late one is credited to the next message.  MSH-10 stays the
 * same in every attempt, for the bytes do.
 *
 * Some receivers close after each acknowledgement.  A message that meets this would be in doubt, so
 * a new connection is watched for a moment after its first acknowledgement before it is kept.  And
 * some acknowledge earlier messages of a connection again, or twice and late.  Once a message has
 * met that over a connection that was kept, a connection serves one message.
 *
 *     before the first byte      not sent: tried again
 *     AA CA                      delivered            or what `outcome` says
 *     AE CE                      tried again
 *     AR CR                      rejected
 *     anything else              in doubt: an acknowledgement of another message, none, half of one
 *
 * A message without MSH-10, or one whose MSH-15 and MSH-16 ask for no acknowledgement, is not sent:
 * nobody would know what became of it.
 */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/egress.h"
#include "base/fault.h"
#include "core/config.h"
#include "core/connector.h"
#include "core/curl_pem.h"
#include "core/grammar.h"
#include "core/line/line.h"
#include "core/mllp/hl7_ack.h"
#include "core/mllp/hl7_head.h"
#include "core/mllp/hl7_reply.h"
#include "core/mllp/mllp.h"
#include "core/probing/probing_net.h"
#include "core/problem.h"

enum {
    REPLY_MOST = 1 << 20,
    LARGE_BYTES = 1 << 20, /* above it `timeout` counts silence */
    READ_BYTES = 16 << 10,
    URL_MOST = 300,
    CONTROL = 10, /* fields of MSH */
    APPLICATION_ACK = 16,
    WATCH_MS = 50, /* how long a new connection must outlive its first acknowledgement */
};

static const char *const codes[] = { "AA", "CA", "AE", "CE", "AR", "CR" };
enum { CODES = sizeof codes / sizeof codes[0] };

struct mllp_out {
    struct units_address address;
    bool tls, verify;
    struct str ca, cert, key;
    int64_t timeout_us, connect_us;
    enum verdict_kind means[CODES];
    struct egress egress;
    struct sha256 line_key;
    _Atomic bool repeats; /* the receiver acknowledges messages again: a connection serves one */
};

/* One connection. */
struct mllp_line {
    CURL *curl;
    const struct egress *egress; /* while it is opened */
    const char *barred;          /* why no connection is made to the address */
    char failure[CURL_ERROR_SIZE];
};

/* One message on its way. */
struct mllp_send {
    struct mllp_out *self;
    const struct sending *sending;
    struct call *call;
    struct verdict *verdict;
    struct mllp_line *line;
    bool kept;   /* the line had messages before ... */
    bool usable; /* ... and may have more: its acknowledgement came, and nothing else */
    int64_t deadline_us;
    struct hl7_head head;
    bool committed;
};

/* ---- options ---- */

static const struct option options[] = {
    OPTION("address", OPT_ADDRESS, "where the receiver listens",
           .flags = OPT_REQUIRED | OPT_OUTGOING),
    OPTION("tls", OPT_MAP, "use TLS", .keys = grammar_tls_keys),
    OPTION("plaintext", OPT_BOOL, "send without TLS to other addresses than loopback",
           .fallback = "false"),
    OPTION_CONNECTIONS("1"),
    { 0 },
};

static size_t code_at(struct str code)
{
    size_t i = 0;

    while (i < CODES && !str_is(code, codes[i]))
        i++;
    return i;
}

static bool is_in_clear(struct str host, bool tls, bool meant)
{
    return !tls && !meant && !units_is_loopback(host);
}

static void mllp_out_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *address = yaml_get(map, "address"), *outcome = yaml_get(map, "outcome");
    struct units_address where;
    struct err err;

    if (units_address(yaml_text(address), &where, &err) &&
        is_in_clear(str_of(where.host), yaml_get(map, "tls") != NULL,
                    str_is(yaml_text(yaml_get(map, "plaintext")), "true")))
        problem_add(problems, address->place, "add `tls: {}`, or write `plaintext: true` beside it",
                    "without `tls` anybody on the way to %s reads and changes the messages",
                    where.host);
    for (const struct yaml_node *o = outcome != NULL && outcome->kind == YAML_MAP ? outcome->first
                                                                                  : NULL;
         o != NULL; o = o->next)
        if (code_at(o->key->text) == CODES)
            problem_add(problems, o->key->place, "codes of MSA-1: AA, CA, AE, CE, AR, CR",
                        "`%.*s` is no code of an acknowledgement", STR_ARG(o->key->text));
}

static bool read_means(const struct settings *s, struct mllp_out *m, struct err *err)
{
    static const enum verdict_kind usual[] = { VERDICT_DELIVERED, VERDICT_DELIVERED,
                                               VERDICT_RETRY,     VERDICT_RETRY,
                                               VERDICT_REJECTED,  VERDICT_REJECTED };
    static const struct {
        const char *word;
        enum verdict_kind kind;
    } words[] = { { "delivered", VERDICT_DELIVERED },
                  { "retry", VERDICT_RETRY },
                  { "in_doubt", VERDICT_DOUBT },
                  { "rejected", VERDICT_REJECTED } };
    const struct yaml_node *outcome = yaml_get(s->node, "outcome");

    memcpy(m->means, usual, sizeof m->means);
    for (const struct yaml_node *n = outcome != NULL && outcome->kind == YAML_MAP ? outcome->first
                                                                                  : NULL;
         n != NULL; n = n->next) {
        size_t at = code_at(n->key->text), i = 0;
        struct str word;

        if (!settings_expand(s, n, &word, err))
            return err_context(err, "`outcome`");
        while (i < sizeof words / sizeof words[0] && !str_is(word, words[i].word))
            i++;
        if (at == CODES || i == sizeof words / sizeof words[0])
            return err_set(err, ERR_CONFIG, 0, "`outcome`: `%.*s` cannot be used",
                           STR_ARG(n->key->text));
        m->means[at] = words[i].kind;
    }
    return true;
}

static bool read_way(const struct settings *s, struct mllp_out *m, struct err *err)
{
    struct settings tls = settings_below(s, "tls");
    bool meant = false;

    m->tls = settings_has(s, "tls");
    if (!settings_path(&tls, "ca", &m->ca, err) || !settings_path(&tls, "cert", &m->cert, err) ||
        !settings_path(&tls, "key", &m->key, err) ||
        !settings_bool(&tls, "verify", &m->verify, err))
        return err_context(err, "`tls`");
    if (!settings_bool(s, "plaintext", &meant, err))
        return false;
    return !is_in_clear(str_of(m->address.host), m->tls, meant) ||
           err_set(err, ERR_CONFIG, 0, "`address`: %s needs `tls`, or `plaintext: true`",
                   m->address.host);
}

static void mllp_key_add(struct digest *d, struct str part)
{
    uint64_t len = part.len;

    digest_add(d, str_mem(&len, sizeof len));
    digest_add(d, part);
}

/* Of what a connection is made with. */
static struct sha256 mllp_line_key_of(const struct mllp_out *m)
{
    struct str parts[] = { STR("mllp"), str_of(m->address.host), m->ca, m->cert, m->key };
    uint16_t numbers[] = { m->address.port, m->tls, m->verify };
    struct digest d = digest_start();

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        mllp_key_add(&d, parts[i]);
    mllp_key_add(&d, str_mem(numbers, sizeof numbers));
    return digest_end(&d);
}

static bool mllp_out_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct mllp_out *m = ARENA_NEW(s->arena, struct mllp_out);
    struct str address;

    m->verify = true;
    if (!settings_text(s, "address", &address, err) ||
        !settings_duration(s, "timeout", &m->timeout_us, err) ||
        !settings_duration(s, "connect_timeout", &m->connect_us, err))
        return false;
    if (!units_address(address, &m->address, err))
        return err_context(err, "`address`");
    if (!read_way(s, m, err) || !read_means(s, m, err))
        return false;
    if (s->reach != NULL) { /* where this node sends nothing */
        m->egress.allowed = s->reach->egress.items;
        m->egress.allowed_count = s->reach->egress.count;
        atomic_init(&m->egress.own_port, s->reach->listen.port);
    }
    m->line_key = mllp_line_key_of(m);
    *ret_self = m;
    return true;
}

static void mllp_out_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- the connection ---- */

static curl_socket_t mllp_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
    struct mllp_line *l = arg;

    (void)purpose;
    l->barred = egress_bars(l->egress, &addr->addr);
    return l->barred != NULL ? CURL_SOCKET_BAD
                             : socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static bool set_connection(const struct mllp_out *m, struct mllp_line *l, const char *url)
{
    CURL *e = l->curl;

    return curl_easy_setopt(e, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_ENABLE_ALPN, 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, m->verify ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, m->verify ? 2L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                            (long)((m->connect_us + CLOCK_MS - 1) / CLOCK_MS)) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_ERRORBUFFER, l->failure) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, mllp_open_socket) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, l) == CURLE_OK &&
           curl_pem_set(e, m->ca, m->cert, m->key);
}

static void put_url(const struct mllp_out *m, char url[static URL_MOST])
{
    bool six = strchr(m->address.host, ':') != NULL;

    (void)snprintf(url, URL_MOST, "%s://%s%s%s:%u/", m->tls ? "https" : "http", six ? "[" : "",
                   m->address.host, six ? "]" : "", m->address.port);
}

static const struct sha256 *mllp_line_key(const void *self)
{
    return &((const struct mllp_out *)self)->line_key;
}

static void mllp_line_close(void *line)
{
    struct mllp_line *l = line;

    curl_easy_cleanup(l->curl);
    free(l);
}

/* ERR_PERMANENT: it never works. */
static bool mllp_line_open(void *self, struct call *c, void **ret_line, struct err *err)
{
    struct mllp_line *l = NEW(struct mllp_line);
    const struct mllp_out *m = self;
    char url[URL_MOST];

    put_url(m, url);
    l->egress = &m->egress;
    l->curl = curl_easy_init();
    if (l->curl == NULL || !set_connection(m, l, url)) {
        mllp_line_close(l);
        return err_set(err, ERR_PERMANENT, 0, "the connection cannot be set up");
    }
    CURLcode rc = curl_easy_perform(l->curl);

    call_alive(c);
    l->egress = NULL;
    if (rc == CURLE_OK) {
        *ret_line = l;
        return true;
    }
    (void)err_set(err, ERR_TRANSIENT, 0, "the receiver was not reached: %.160s",
                  l->barred != NULL       ? l->barred
                  : l->failure[0] != '\0' ? l->failure
                                          : curl_easy_strerror(rc));
    mllp_line_close(l);
    return false;
}

/* A byte that came by itself would be taken for the acknowledgement of the next message. */
static bool mllp_line_is_open(void *line)
{
    char byte;
    size_t n = 0;

    return curl_easy_recv(((struct mllp_line *)line)->curl, &byte, 1, &n) == CURLE_AGAIN;
}

static const struct line_type mllp_lines = { .key = mllp_line_key,
                                             .open = mllp_line_open,
                                             .is_open = mllp_line_is_open,
                                             .close = mllp_line_close };

/* False: the verdict says why; nothing was sent. */
static bool mllp_connect(struct mllp_send *t)
{
    struct err err = { 0 };
    void *line;

    if (atomic_load(&t->self->repeats) /* others may have been kept before that was known */
            ? mllp_line_open(t->self, t->call, &line, &err)
            : line_take(t->call, &mllp_lines, t->self, &line, &t->kept, &err)) {
        t->line = line;
        return true;
    }
    (void)verdict_say(t->verdict, err.kind == ERR_PERMANENT ? VERDICT_FAILED : VERDICT_UNREACHED,
                      "%s", err.text);
    return false;
}

/* Whether the receiver leaves the connection open after an acknowledgement: one that does not
 * closes at once. */
static bool mllp_outlives(struct mllp_send *t)
{
    int64_t until_us = clock_mono_us() + WATCH_MS * CLOCK_MS, left_us;
    curl_socket_t fd = -1;

    if (curl_easy_getinfo(t->line->curl, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK)
        return false;
    while (mllp_line_is_open(t->line)) {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        left_us = until_us - clock_mono_us();
        if (left_us <= 0)
            return true;
        (void)poll(&p, 1, (int)(left_us / CLOCK_MS) + 1);
    }
    return false;
}

static void mllp_hang_up(struct mllp_send *t)
{
    if (t->line != NULL)
        line_give(t->call, &mllp_lines, t->self, t->line,
                  t->usable && !atomic_load(&t->self->repeats) && (t->kept || mllp_outlives(t)));
    t->line = NULL;
}

/* Waits until the socket can be read from or written to; false: the time is over. */
static bool mllp_wait(struct mllp_send *t, short events)
{
    curl_socket_t fd = -1;
    int64_t left_us = t->deadline_us - clock_mono_us();

    if (left_us <= 0 || call_is_given_up(t->call) ||
        curl_easy_getinfo(t->line->curl, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK)
        return false;
    struct pollfd p = { .fd = fd, .events = events };
    int64_t ms = left_us / CLOCK_MS + 1;

    (void)poll(&p, 1, ms < 1000 ? (int)ms : 1000); /* now and then: was it given up? */
    return true;
}

static void note_progress(struct mllp_send *t)
{
    call_alive(t->call);
    if (t->sending->size > LARGE_BYTES)
        t->deadline_us = clock_mono_us() + t->self->timeout_us;
}

/* ---- sending ---- */

static bool in_doubt(struct mllp_send *t, const char *what)
{
    (void)verdict_say(t->verdict, VERDICT_DOUBT, "%s", what);
    return false;
}

static bool mllp_put_bytes(struct mllp_send *t, struct str bytes)
{
    while (bytes.len > 0) {
        size_t n = 0;
        CURLcode rc = curl_easy_send(t->line->curl, bytes.ptr, bytes.len, &n);

        if (rc == CURLE_AGAIN) {
            if (!mllp_wait(t, POLLOUT))
                return in_doubt(t, "the receiver takes nothing more of the message");
            continue;
        }
        if (rc != CURLE_OK)
            return in_doubt(t, "the connection broke while the message was sent");
        bytes = str_from(bytes, n);
        note_progress(t);
    }
    return true;
}

/* The next piece; empty: the end.  False: the verdict says why. */
static bool mllp_next_piece(struct mllp_send *t, bool first, struct str *ret)
{
    const struct sending *s = t->sending;
    struct err err = { 0 };

    if (s->bytes.ptr != NULL || s->next == NULL) {
        *ret = first ? s->bytes : STR("");
    } else if (!s->next(s->next_arg, ret, &err)) {
        (void)verdict_say(t->verdict, t->committed ? VERDICT_DOUBT : VERDICT_RETRY, "%s", err.text);
        return false;
    }
    if (!mllp_has_border(*ret))
        return true;
    /* Whatever was sent has no end, so the receiver has nothing. */
    (void)verdict_say(t->verdict, VERDICT_FAILED,
                      "the message has a byte 0x0B or 0x1C, which is a border of MLLP frames: "
                      "remove its frame, or encode it");
    return false;
}

/* What must be known before it is sent. */
static bool check_message(struct mllp_send *t, struct str first, struct edi_segment *ret)
{
    const char *why;

    hl7_head_add(&t->head, first);
    if (!hl7_head_msh(&t->head, ret, &why))
        (void)verdict_say(t->verdict, VERDICT_FAILED, "the document is no HL7 message: %s", why);
    else if (hl7_field(ret, CONTROL).len == 0)
        (void)verdict_say(t->verdict, VERDICT_FAILED,
                          "MSH-10 is empty: its acknowledgement could not be told from others");
    else if (hl7_ack_code(ret, HL7_ACCEPT) == NULL)
        (void)verdict_say(t->verdict, VERDICT_FAILED,
                          "MSH-15 and MSH-16 ask for no acknowledgement: nobody would know whether "
                          "it arrived");
    else
        return true;
    return false;
}

/* Nothing may come before we have said something: it would be taken for the acknowledgement.  A
 * connection that was kept has been looked at. */
static bool is_still_open(struct mllp_send *t)
{
    char byte;
    size_t n = 0;

    if (t->kept || curl_easy_recv(t->line->curl, &byte, 1, &n) == CURLE_AGAIN)
        return true;
    (void)verdict_say(t->verdict, VERDICT_UNREACHED,
                      n > 0 ? "the receiver spoke before it was spoken to"
                            : "the receiver closed the connection at once");
    return false;
}

static bool send_message(struct mllp_send *t, struct str piece)
{
    static const char begin[] = { MLLP_BEGIN_BYTE }, end[] = { MLLP_END_BYTE, '\r' };

    fault_point(MLLP_COMMIT);
    if (!call_commit(t->call))
        return false; /* given up: nobody listens to the verdict */
    t->committed = true;
    if (!mllp_put_bytes(t, str_mem(begin, sizeof begin)))
        return false;
    while (piece.len > 0)
        if (!mllp_put_bytes(t, piece) || !mllp_next_piece(t, false, &piece))
            return false;
    return mllp_put_bytes(t, str_mem(end, sizeof end));
}

/* ---- the acknowledgement ---- */

static void hand_on_reply(const struct sending *s, struct str reply)
{
    struct err err;

    if (s->answer == NULL)
        return; /* nobody wants it */
    buf_clear(&s->answer->bytes);
    if (buf_append(&s->answer->bytes, reply, &err))
        s->answer->ctype = "application/hl7-v2";
}

/* After CA the receiver may send the acknowledgement of its application as a message of its own,
 * over this connection too. */
static bool is_last_word(const struct hl7_reply *r, const struct edi_segment *msh)
{
    struct str wanted = hl7_field(msh, APPLICATION_ACK);

    return r->code.ptr[0] != 'C' || wanted.len == 0 || str_is(wanted, "NE");
}

static void judge_reply(struct mllp_send *t, struct str reply, const struct edi_segment *msh)
{
    struct str control = hl7_field(msh, CONTROL);
    struct verdict *v = t->verdict;
    struct hl7_reply r;

    hand_on_reply(t->sending, reply);
    hl7_reply_read(reply, control, &r);
    if (r.kind == HL7_REPLY_OTHER && t->kept)
        atomic_store(&t->self->repeats, true);
    if (r.kind == HL7_REPLY_UNREADABLE)
        (void)in_doubt(t, "the receiver answered something that is no acknowledgement");
    else if (r.kind == HL7_REPLY_OTHER)
        (void)verdict_say(v, VERDICT_DOUBT,
                          "the receiver acknowledged another message: MSA-2 is `%.*s` instead of "
                          "`%.*s`",
                          STR_ARG(str_first(r.control, 100)), STR_ARG(str_first(control, 100)));
    else
        (void)verdict_say(v, t->self->means[code_at(r.code)], "the receiver answered %.*s%s%.*s",
                          STR_ARG(r.code), r.text.len > 0 ? ": " : "",
                          STR_ARG(str_first(r.text, 300)));
    t->usable = t->usable && r.kind != HL7_REPLY_UNREADABLE && r.kind != HL7_REPLY_OTHER &&
                is_last_word(&r, msh);
}

/* Takes the bytes of one read; true: the frame is whole, or cannot become so.  What follows a whole
 * one is not read: the connection has no more messages then. */
static bool take_reply(struct mllp_send *t, struct mllp_reader *r, struct str bytes,
                       struct buf *reply, bool *ret_whole)
{
    struct str piece;
    struct err err;

    for (;;)
        switch (mllp_next(r, &bytes, &piece)) {
        case MLLP_MORE:
            *ret_whole = t->usable = mllp_is_closing(r); /* the last CR is not waited for */
            return *ret_whole;
        case MLLP_BEGIN:
            break;
        case MLLP_BYTES:
            if (!buf_append(reply, piece, &err)) {
                (void)in_doubt(t, "the answer of the receiver is larger than 1 MiB");
                return true;
            }
            break;
        case MLLP_END:
            *ret_whole = true;
            t->usable = bytes.len == 0;
            return true;
        case MLLP_STRAY:
            (void)in_doubt(t, "the receiver answered something that is not MLLP");
            return true;
        }
}

static void await_reply(struct mllp_send *t, const struct edi_segment *msh)
{
    AUTO(buf_done) struct buf reply = BUF_INIT(REPLY_MOST);
    struct mllp_reader r = { 0 };
    char bytes[READ_BYTES];
    bool whole = false;

    for (;;) {
        size_t n = 0;
        CURLcode rc = curl_easy_recv(t->line->curl, bytes, sizeof bytes, &n);

        if (rc == CURLE_AGAIN) {
            if (mllp_wait(t, POLLIN))
                continue;
            (void)in_doubt(t, "the receiver did not acknowledge in time");
            return;
        }
        if (rc != CURLE_OK || n == 0) {
            (void)in_doubt(t, "the connection was closed before an acknowledgement came");
            return;
        }
        note_progress(t);
        if (!take_reply(t, &r, str_mem(bytes, n), &reply, &whole))
            continue;
        if (whole)
            judge_reply(t, buf_view(&reply), msh);
        return;
    }
}

static void send_once(struct mllp_send *t)
{
    struct edi_segment msh;
    struct str piece;

    if (!mllp_next_piece(t, true, &piece) || !check_message(t, piece, &msh) || !mllp_connect(t) ||
        !is_still_open(t) || !send_message(t, piece))
        return;
    fault_point(MLLP_SENT);
    await_reply(t, &msh);
}

static void mllp_out_send(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    struct mllp_out *m = self;
    struct mllp_send t = { .self = m,
                           .sending = s,
                           .call = c,
                           .verdict = ret,
                           .head = HL7_HEAD_INIT,
                           .deadline_us = clock_mono_us() + m->timeout_us };

    *ret = (struct verdict){ .kind = VERDICT_DOUBT };
    send_once(&t);
    mllp_hang_up(&t);
    hl7_head_done(&t.head);
}

/* A message would be taken for one: whether it answers is not tried. */
static void mllp_out_probe(void *self, struct call *c, struct probing *p)
{
    const struct mllp_out *m = self;
    char url[URL_MOST];

    put_url(m, url);
    (void)probing_connect(&(struct probing_place){ .url = url,
                                                   .no_tls = "not used: `tls` is not configured",
                                                   .ca = m->ca,
                                                   .cert = m->cert,
                                                   .key = m->key,
                                                   .verify = m->verify,
                                                   .connect_us = m->connect_us,
                                                   .lingers = true },
                          c, p);
}

const struct endpoint_type endpoint_mllp = {
    .kind = { .name = "mllp",
              .help = "HL7 messages over MLLP",
              .keys = options,
              .check = mllp_out_check },
    .make = mllp_out_make,
    .unmake = mllp_out_unmake,
    .send = mllp_out_send,
    .line = &mllp_lines,
    .probe = mllp_out_probe,
};
