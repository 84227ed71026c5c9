/* smtp_out.c - each document as a mail.
 *
 * A mail goes to its recipients one by one, each in a transaction of its own, because a server may
 * take one and refuse the other; what became of each is noted with the delivery
 * (core/mail/mail_recipients.h).  Before the last dot of a mail a server has nothing: what fails
 * until then was not sent.  After it the answer decides, and without an answer it is in doubt.  The
 * Message-ID is the delivery's id, the same in every attempt and for every recipient, so that a
 * mail that comes twice can be told.
 *
 * One connection serves many mails (core/line/line.h).  One that was kept is asked for RSET before
 * it is used, so that a server that is gone is noticed before anything is sent.  A server that
 * takes only so many mails over a connection is given the next one over another, at once.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/safe_path.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/line/curl_line.h"
#include "core/line/line.h"
#include "core/mail/mail_message.h"
#include "core/mail/mail_recipients.h"
#include "core/probing/probing_net.h"
#include "core/problem.h"
#include "core/template.h"
#include "delivery/smtp_reply.h"

enum {
    MAILBOX_MOST = MAIL_ADDRESS_MOST + MAIL_NAME_MOST + 8,
    SLICE = 48 << 10, /* bytes of the document that are encoded at a time */
    SLICE_ROOM = (SLICE + 2 * MAIL_LINE_BYTES) * 3 / 2 + MAIL_TAIL_MOST,
    LETTER_ARENA = 1 << 20, /* texts of one mail */
    LAST_BYTES = 2,
    CLOSES = 421,  /* the server ends the conversation, */
    NO_MORE = 452, /* ... or takes no more, in this one at least */
    LOGGED_IN = 235,
};

struct smtp_out {
    struct curl_line_options options;
    struct sha256 key; /* of everything that a line is opened with */
    struct str token;
    const struct template *from, *subject, *text, *name; /* text: NULL: none */
    const struct template **to;
    size_t to_count;
    struct smtp_replies replies;
};

struct letter;

/* A connection, kept from one mail to the next. */
struct smtp_line {
    struct curl_line curl;
    struct letter *letter; /* the one under way */
    bool has_login;        /* it is needed ... */
    bool logged_in;        /* ... and was taken */
    size_t served;         /* mails that were accepted over the connection */
};

/* One attempt. */
struct letter {
    const struct smtp_out *self;
    const struct sending *sending;
    struct call *call;
    int64_t until_us;       /* all of it ends by then, monotonic; 0: silence counts instead */
    struct smtp_line *held; /* NULL: no line was taken */
    struct curl_line *line; /* that of `held` */
    bool broken;            /* it is not in the state in which the next mail expects it */
    struct mail mail;
    struct mail_address to[MAIL_TO_MOST];
    struct mail_recipient recipients[MAIL_TO_MOST];
    size_t count;

    /* What libcurl reads: the head, the document, the tail. */
    struct buf head, out;
    size_t at; /* in `out` */
    struct mail_encoder encoder;
    struct str piece; /* of the document, not encoded yet */
    int64_t came;     /* bytes of the document so far */
    bool all;         /* `out` has the end of the mail */
    struct err err;   /* why there is no more */

    bool no_login; /* the server offers none, and it is needed */

    struct mail_seen seen;
};

/* ---- the mail ---- */

static bool render(const struct letter *l, const struct template *t, size_t most, bool path,
                   struct arena *a, struct str *ret, struct err *err)
{
    struct template_values values = sending_values(l->sending);
    AUTO(buf_done) struct buf b = BUF_INIT(most);

    values.path = path;
    if (!template_render(t, &values, &b, err))
        return false;
    *ret = arena_copy(a, buf_view(&b));
    return true;
}

static bool is_named(const struct letter *l, struct str address)
{
    for (size_t i = 0; i < l->count; i++)
        if (str_eq(l->recipients[i].address, address))
            return true;
    return false;
}

/* A recipient that is named twice gets one mail. */
static bool write_recipients(struct letter *l, struct arena *a, struct err *err)
{
    for (size_t i = 0; i < l->self->to_count; i++) {
        struct mail_address to;
        struct str text;

        if (!render(l, l->self->to[i], MAILBOX_MOST, false, a, &text, err) ||
            !mail_address_parse(text, &to, err))
            return err_context(err, "`to`, number %zu", i + 1);
        if (is_named(l, to.address))
            continue;
        l->to[l->count] = to;
        l->recipients[l->count++] = (struct mail_recipient){ .address = to.address };
    }
    return true;
}

static bool write_mail(struct letter *l, struct arena *a, struct err *err)
{
    const struct smtp_out *self = l->self;
    const struct sending *s = l->sending;
    struct str from;

    l->mail = (struct mail){ .to = l->to,
                             .id = s->delivery,
                             .document = s->document,
                             .date_us = s->received_us,
                             .ctype = s->ctype };
    if (!render(l, self->from, MAILBOX_MOST, false, a, &from, err) ||
        !mail_address_parse(from, &l->mail.from, err))
        return err_context(err, "`from`");
    if (!write_recipients(l, a, err))
        return false;
    l->mail.to_count = l->count;
    if (!render(l, self->subject, MAIL_SUBJECT_MOST, false, a, &l->mail.subject, err))
        return err_context(err, "`subject`");
    if (self->text != NULL && !render(l, self->text, MAIL_TEXT_MOST, false, a, &l->mail.text, err))
        return err_context(err, "`body`");
    if (!render(l, self->name, SAFE_NAME_MOST, true, a, &l->mail.name, err) ||
        !safe_name(l->mail.name, err))
        return err_context(err, "the name of the attachment");
    return mail_head(&l->mail, &l->head, err);
}

/* ---- what libcurl reads ---- */

static void begin_reading(struct letter *l)
{
    const struct sending *s = l->sending;

    struct err ignored; /* only a call that is given up; next() says so */

    if (l->came > 0 && s->bytes.ptr == NULL && s->rewind != NULL)
        (void)s->rewind(s->next_arg, &ignored);
    l->piece = s->bytes.ptr != NULL ? s->bytes : STR("");
    l->encoder = (struct mail_encoder){ 0 };
    l->came = 0;
    l->all = false;
    l->at = 0;
    buf_clear(&l->out);
    buf_put(&l->out, buf_view(&l->head));
}

static bool end_reading(struct letter *l)
{
    mail_encode_end(&l->encoder, &l->out);
    mail_tail(&l->mail, &l->out);
    l->all = true;
    return l->came == l->sending->size ||
           err_set(&l->err, ERR_PERMANENT, 0, "the document has %lld bytes and gave %lld",
                   (long long)l->sending->size, (long long)l->came);
}

/* Fills `out`, which was read. */
static bool read_on(struct letter *l)
{
    const struct sending *s = l->sending;

    buf_clear(&l->out);
    l->at = 0;
    if (l->piece.len == 0 && s->bytes.ptr == NULL && s->next != NULL &&
        !s->next(s->next_arg, &l->piece, &l->err))
        return err_context(&l->err, "the bytes of the document");
    if (l->piece.len == 0)
        return end_reading(l);
    size_t n = l->piece.len < SLICE ? l->piece.len : SLICE;

    mail_encode(&l->encoder, str_mem(l->piece.ptr, n), &l->out);
    l->piece = str_from(l->piece, n);
    l->came += (int64_t)n;
    return true;
}

/* The last bytes are given away alone: once they are, libcurl ends the mail with its dot. */
static size_t smtp_out_on_read(char *to, size_t size, size_t count, void *arg)
{
    struct letter *l = ((struct smtp_line *)arg)->letter;
    size_t room = size * count, n;

    while (l->at == l->out.len && !l->all)
        if (!read_on(l))
            return CURL_READFUNC_ABORT;
    n = l->out.len - l->at;
    if (l->all && n > LAST_BYTES)
        n -= LAST_BYTES;
    n = n < room ? n : room;
    memcpy(to, l->out.ptr + l->at, n);
    l->at += n;
    if (l->all && l->at == l->out.len && !l->line->ended) {
        fault_point(MAIL_ENDING);
        if (!call_commit(l->call)) {
            (void)err_set(&l->err, ERR_TRANSIENT, 0, "it was given up, because it hung");
            return CURL_READFUNC_ABORT;
        }
        l->line->ended = true;
        curl_line_forget(l->line);
    }
    return n;
}

/* ---- what the server answers ---- */

static void smtp_out_on_answer(void *arg, int64_t code)
{
    struct smtp_line *h = arg;

    h->logged_in = h->logged_in || code == LOGGED_IN;
}

static void smtp_out_on_open(void *arg)
{
    struct smtp_line *h = arg;

    h->logged_in = false;
    h->served = 0;
}

/* libcurl goes on without a login when the server offers none. */
static const char *smtp_out_on_ready(void *arg)
{
    struct smtp_line *h = arg;

    h->letter->no_login = h->has_login && !h->logged_in;
    curl_line_forget(&h->curl);
    return h->letter->no_login ? "it offers no login, and `user` is set: check the port in `url`"
                               : NULL;
}

/* ---- one recipient ---- */

static void say_reply(const struct letter *l, const struct mail_recipient *r, struct verdict *v,
                      enum verdict_kind kind)
{
    v->status = l->line->code;
    (void)verdict_say(v, kind, "%.*s: %s answered %lld %.*s%s", STR_ARG(r->address),
                      l->self->options.host.ptr, (long long)l->line->code,
                      STR_ARG(buf_view(&l->line->answer)),
                      l->line->code == 552 || l->line->code == 523
                          ? "; it takes no mail of this size: compress or split the document"
                          : "");
}

/* The server has judged the mail, or the part of it that it was told.  False: it is of no use to go
 * on to the next recipient. */
static bool judge_mail_reply(struct letter *l, struct mail_recipient *r)
{
    enum verdict_kind kind = smtp_reply_kind(&l->self->replies, l->line->code);

    r->status = l->line->code;
    if (kind == VERDICT_CREDENTIAL || kind == VERDICT_RETRY) {
        say_reply(l, r, &l->seen.again, kind);
        return kind == VERDICT_RETRY && l->line->code != CLOSES;
    }
    r->fate = kind == VERDICT_DELIVERED  ? MAIL_ACCEPTED
              : kind == VERDICT_REJECTED ? MAIL_REFUSED
                                         : MAIL_IN_DOUBT;
    say_reply(l, r, &l->seen.last, kind);
    return l->line->code != CLOSES;
}

/* All was sent, and no answer came. */
static bool judge_doubt(struct letter *l, struct mail_recipient *r, const char *why)
{
    r->fate = MAIL_IN_DOUBT;
    r->status = 0;
    l->seen.last = (struct verdict){ 0 };
    (void)verdict_say(&l->seen.last, VERDICT_DOUBT,
                      "%.*s: the mail was sent, and %s gave no answer to it: %s",
                      STR_ARG(r->address), l->self->options.host.ptr, why);
    return false;
}

/* Nothing was sent. */
static bool judge_failure(struct letter *l, CURLcode rc, const char *why)
{
    const struct smtp_out *self = l->self;
    enum verdict_kind kind = VERDICT_UNREACHED;
    struct verdict *v = &l->seen.again;

    *v = (struct verdict){ .status = l->line->code >= 400 ? l->line->code : 0 };
    if (rc == CURLE_ABORTED_BY_CALLBACK && l->err.kind != ERR_NONE) {
        (void)verdict_say(v, l->err.kind == ERR_PERMANENT ? VERDICT_FAILED : VERDICT_RETRY, "%s",
                          l->err.text);
        return false;
    }
    if (rc == CURLE_ABORTED_BY_CALLBACK && l->line->barred == NULL) {
        (void)verdict_say(v, VERDICT_RETRY, "the node is stopping: nothing was sent");
        return false;
    }
    if (l->no_login || (rc == CURLE_LOGIN_DENIED && (l->line->code < 400 || l->line->code >= 500)))
        kind = VERDICT_CREDENTIAL;
    else if (rc == CURLE_LOGIN_DENIED)
        kind = VERDICT_RETRY;
    if (v->status != 0)
        (void)verdict_say(v, kind, "%s: %s; it said %lld %.*s", self->options.host.ptr, why,
                          (long long)v->status, STR_ARG(buf_view(&l->line->answer)));
    else
        (void)verdict_say(v, kind, "%s: %s", self->options.host.ptr, why);
    return false;
}

static bool smtp_out_judge(struct letter *l, struct mail_recipient *r, CURLcode rc)
{
    char why[CURL_LINE_WHY];
    bool told = l->line->code >= (l->line->ended ? 200 : 400) && l->line->code < 600 &&
                (l->line->code < 300 || l->line->code >= 400);

    if (rc == CURLE_OK || (l->line->began && told && l->err.kind == ERR_NONE)) {
        if (rc == CURLE_OK && !told)
            l->line->code = 250;
        fault_point(MAIL_ANSWERED);
        return judge_mail_reply(l, r);
    }
    (void)curl_line_why(l->line, rc, why);
    return l->line->ended ? judge_doubt(l, r, why) : judge_failure(l, rc, why);
}

static CURLcode perform_mail(struct letter *l)
{
    begin_reading(l);
    l->no_login = false;
    CURLcode rc = curl_line_perform(l->line);

    l->broken = rc != CURLE_OK;
    l->held->served += rc == CURLE_OK;
    return rc;
}

/* The mail was refused before its end, over a connection that has served others: it may have been
 * one too many.  That says nothing of the mail, so it is no failure. */
static bool is_line_used_up(const struct letter *l)
{
    int64_t code = l->line->code;

    return l->broken && l->held->served > 0 && l->line->began && !l->line->ended &&
           (code == CLOSES || code == NO_MORE) && l->err.kind == ERR_NONE &&
           smtp_reply_kind(&l->self->replies, code) == VERDICT_RETRY && !curl_line_is_late(l->line);
}

/* What a new connection answers is true. */
static CURLcode perform_mail_anew(struct letter *l)
{
    CURL *e = l->line->easy;

    if (curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L) != CURLE_OK)
        return CURLE_FAILED_INIT;
    CURLcode rc = perform_mail(l);

    (void)curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 0L);
    return rc;
}

static bool send_to(struct letter *l, struct mail_recipient *r)
{
    char to[MAIL_ADDRESS_MOST + 3], from[MAIL_ADDRESS_MOST + 3];
    struct curl_slist list = { .data = to };
    CURL *e = l->line->easy;

    (void)snprintf(to, sizeof to, "<%.*s>", STR_ARG(r->address));
    (void)snprintf(from, sizeof from, "<%.*s>", STR_ARG(l->mail.from.address));
    if (curl_easy_setopt(e, CURLOPT_MAIL_FROM, from) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_MAIL_RCPT, &list) != CURLE_OK)
        return judge_failure(l, CURLE_FAILED_INIT, "libcurl does not take the recipient");
    CURLcode rc = perform_mail(l);

    if (is_line_used_up(l))
        rc = perform_mail_anew(l);
    (void)curl_easy_setopt(e, CURLOPT_MAIL_RCPT, NULL); /* the list is ours */
    return smtp_out_judge(l, r, rc);
}

/* ---- the endpoint ---- */

static int64_t mail_size(const struct letter *l)
{
    AUTO(buf_done) struct buf tail = BUF_INIT(MAIL_TAIL_MOST);

    mail_tail(&l->mail, &tail);
    return (int64_t)l->head.len + mail_encoded_size(l->sending->size) + (int64_t)tail.len;
}

/* ---- lines ---- */

static const struct sha256 *smtp_out_key(const void *self)
{
    return &((const struct smtp_out *)self)->key;
}

static void smtp_out_hang_up(void *line)
{
    struct smtp_line *h = line;

    curl_line_close(&h->curl);
    free(h);
}

static struct smtp_line *smtp_line_new(const struct smtp_out *self)
{
    struct smtp_line *h = NEW(struct smtp_line);

    h->has_login = self->options.has_login;
    h->curl.pieces = true;
    h->curl.ready = smtp_out_on_ready;
    h->curl.opened = smtp_out_on_open;
    h->curl.answered = smtp_out_on_answer;
    h->curl.arg = h;
    return h;
}

static bool smtp_out_set_login(struct smtp_line *h, const struct smtp_out *self)
{
    const char *ways = self->token.len > 0 ? "AUTH=XOAUTH2" : "AUTH=PLAIN;AUTH=LOGIN";
    CURL *e = h->curl.easy;

    return curl_easy_setopt(e, CURLOPT_LOGIN_OPTIONS, ways) == CURLE_OK &&
           (self->token.len == 0 ||
            curl_easy_setopt(e, CURLOPT_XOAUTH2_BEARER, self->token.ptr) == CURLE_OK);
}

/* The server is met by the first request. */
static bool smtp_out_open(void *arg, struct call *c, void **ret_line, struct err *err)
{
    const struct smtp_out *self = arg;
    struct smtp_line *h = smtp_line_new(self);

    if (!curl_line_open(&h->curl, &self->options, c, false, err)) {
        smtp_out_hang_up(h);
        return false;
    }
    if (curl_easy_setopt(h->curl.easy, CURLOPT_READFUNCTION, smtp_out_on_read) != CURLE_OK ||
        curl_easy_setopt(h->curl.easy, CURLOPT_READDATA, h) != CURLE_OK ||
        !smtp_out_set_login(h, self)) {
        smtp_out_hang_up(h);
        return err_set(err, ERR_TRANSIENT, 0, "libcurl does not take the settings of a mail");
    }
    *ret_line = h;
    return true;
}

static bool smtp_out_is_open(void *line)
{
    return curl_line_is_quiet(&((struct smtp_line *)line)->curl);
}

static const struct line_type smtp_out_lines = { .key = smtp_out_key,
                                                 .open = smtp_out_open,
                                                 .is_open = smtp_out_is_open,
                                                 .close = smtp_out_hang_up };

static void smtp_out_hold(struct letter *l, struct smtp_line *h)
{
    l->held = h;
    l->line = &h->curl;
    l->broken = false;
    h->letter = l;
    h->curl.options = &l->self->options;
    h->curl.call = l->call;
    h->curl.until_us = l->until_us;
}

static void smtp_out_drop(struct letter *l)
{
    struct smtp_line *h = l->held;

    if (h == NULL)
        return;
    h->letter = NULL;
    h->curl.call = NULL;
    l->held = NULL;
    l->line = NULL;
    line_give(l->call, &smtp_out_lines, l->self, h, !l->broken);
}

static void letter_done(struct letter *l)
{
    smtp_out_drop(l);
    buf_done(&l->head);
    buf_done(&l->out);
}

/* Whether a server that was met before still listens. */
static CURLcode smtp_out_reset(struct letter *l)
{
    CURL *e = l->line->easy;

    if (curl_easy_setopt(e, CURLOPT_UPLOAD, 0L) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, "RSET") != CURLE_OK)
        return CURLE_FAILED_INIT;
    l->line->until_us = curl_line_soon_us(l->line);
    CURLcode rc = curl_line_perform(l->line);

    l->line->until_us = l->until_us;
    return rc;
}

static bool smtp_out_set_mail(struct letter *l)
{
    CURL *e = l->line->easy;

    return curl_easy_setopt(e, CURLOPT_NOBODY, 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, NULL) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)mail_size(l)) == CURLE_OK;
}

/* A connection that was kept and is gone by now, or silent, is no failure: nothing was sent over
 * it.  If it is silent the next one is new, because others that were kept may be so, too. */
static bool smtp_out_reach(struct letter *l, struct err *err)
{
    l->until_us = l->sending->bytes.ptr == NULL ? 0 : clock_mono_us() + l->self->options.timeout_us;
    for (CURLcode rc = CURLE_OK;;) {
        void *self = (void *)(uintptr_t)l->self, *line;
        bool kept = false;

        if (!(rc == CURLE_OPERATION_TIMEDOUT
                  ? smtp_out_open(self, l->call, &line, err)
                  : line_take(l->call, &smtp_out_lines, self, &line, &kept, err)))
            return false;
        smtp_out_hold(l, line);
        if (!kept || (rc = smtp_out_reset(l)) == CURLE_OK)
            break;
        l->broken = true;
        smtp_out_drop(l);
        call_alive(l->call);
    }
    return smtp_out_set_mail(l) ||
           err_set(err, ERR_TRANSIENT, 0, "libcurl does not take the settings of a mail");
}

static void send_letter(struct letter *l, struct verdict *ret)
{
    for (size_t i = 0; i < l->count; i++) {
        if (!l->recipients[i].due)
            continue;
        if (curl_line_is_late(l->line)) {
            (void)verdict_say(&l->seen.again, VERDICT_RETRY,
                              "the time for an attempt (`timeout`) ended before all recipients had "
                              "their mail: the others get it in the next one");
            break;
        }
        if (!send_to(l, &l->recipients[i]))
            break;
    }
    if (l->sending->note != NULL)
        mail_recipients_note(l->recipients, l->count, l->sending->note);
    mail_recipients_judge(l->recipients, l->count, &l->seen, ret);
}

static void smtp_send(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(LETTER_ARENA);
    AUTO(letter_done)
    struct letter l = { .self = self,
                        .sending = s,
                        .call = c,
                        .head = BUF_INIT(MAIL_HEAD_MOST),
                        .out = BUF_INIT(MAIL_HEAD_MOST + SLICE_ROOM) };
    struct err err = { 0 };

    *ret = (struct verdict){ 0 };
    if (!write_mail(&l, &a, &err)) {
        ret->code = dead_codes[DEAD_REJECTED];
        (void)verdict_say(ret, VERDICT_FAILED, "%s", err.text);
        return;
    }
    if (!smtp_out_reach(&l, &err)) {
        (void)verdict_say(ret, VERDICT_RETRY, "%s", err.text);
        return;
    }
    mail_recipients_recall(l.recipients, l.count, s->note != NULL ? buf_view(s->note) : STR(""),
                           s->attempt);
    send_letter(&l, ret);
}

/* ---- options ---- */

static const struct option options[] = {
    OPTION("url", OPT_URL,
           "the mail server; with smtp:// encryption is begun by STARTTLS, and required unless the "
           "server is this machine",
           .flags = OPT_REQUIRED, .words = OPTION_WORDS("smtp", "smtps")),
    OPTIONS(grammar_login),
    OPTION("token", OPT_SECRET, "a bearer token of OAuth 2.0 in place of the password (XOAUTH2)"),
    OPTION("from", OPT_TEMPLATE, "the mail's sender", .flags = OPT_REQUIRED),
    OPTION("to", OPT_TEMPLATE, "its recipients, at most 100", .flags = OPT_REQUIRED | OPT_OR_LIST),
    OPTION("subject", OPT_TEMPLATE, "its subject", .fallback = "${type} ${id}"),
    OPTION("body", OPT_TEMPLATE,
           "its text; the document is attached; left out: the document is the mail, shown in place "
           "if its type is a text"),
    OPTIONS(grammar_file_name),
    OPTIONS(grammar_tls),
    OPTION_CONNECTIONS("2"),
    { 0 },
};

static bool compile(const struct settings *s, const char *key, const struct template **ret,
                    struct err *err)
{
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    if (text.ptr == NULL)
        return true;
    return template_compile(text, s->arena, ret, err) || err_context(err, "`%s`", key);
}

static bool smtp_read_to(const struct settings *s, struct smtp_out *self, struct err *err)
{
    const struct str *texts;

    if (!settings_texts(s, "to", &texts, &self->to_count, err))
        return false;
    if (self->to_count == 0 || self->to_count > MAIL_TO_MOST)
        return err_set(err, ERR_CONFIG, 0, "`to` names from 1 to %d recipients", MAIL_TO_MOST);
    self->to = ARENA_ARRAY(s->arena, const struct template *, self->to_count);
    for (size_t i = 0; i < self->to_count; i++)
        if (!template_compile(texts[i], s->arena, &self->to[i], err))
            return err_context(err, "`to`, number %zu", i + 1);
    return true;
}

static bool smtp_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct smtp_out *self = ARENA_NEW(s->arena, struct smtp_out);

    if (!curl_line_read(s, "smtp,smtps", &self->options, err) ||
        !settings_text(s, "token", &self->token, err) || !compile(s, "from", &self->from, err) ||
        !smtp_read_to(s, self, err) || !smtp_reply_read(s, &self->replies, err) ||
        !compile(s, "subject", &self->subject, err) || !compile(s, "body", &self->text, err) ||
        !compile(s, "name", &self->name, err))
        return false;
    if (str_has_control(self->token))
        return err_set(err, ERR_CONFIG, 0, "`token` holds a control character");
    if (self->token.len > 0 && !self->options.has_login)
        return err_set(err, ERR_CONFIG, 0, "`token` needs `user`, whose mailbox it opens");
    self->key = curl_line_key("smtp", &self->options, self->token);
    *ret_self = self;
    return true;
}

static void smtp_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* An address without values of a document can be told right or wrong now. */
static void check_mailbox(const struct yaml_node *n, struct problem_list *problems)
{
    struct mail_address a;
    struct err err = { 0 };

    if (n == NULL || n->kind != YAML_SCALAR || str_find(n->text, '$') >= 0 ||
        mail_address_parse(n->text, &a, &err))
        return;
    problem_add(problems, n->place, "write NAME@DOMAIN, or TEXT <NAME@DOMAIN>", "%s", err.text);
}

static void smtp_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *to = yaml_get(map, "to"), *token = yaml_get(map, "token");

    smtp_reply_check(yaml_get(map, "outcome"), problems);
    check_mailbox(yaml_get(map, "from"), problems);
    check_mailbox(to, problems);
    if (to != NULL && to->kind == YAML_LIST)
        for (const struct yaml_node *n = to->first; n != NULL; n = n->next)
            check_mailbox(n, problems);
    if (to != NULL && to->kind == YAML_LIST && to->count > MAIL_TO_MOST)
        problem_add(problems, to->place, "use several endpoints, or a list of the mail server",
                    "`to` names more than %d recipients", MAIL_TO_MOST);
    if (token != NULL && yaml_get(map, "password") != NULL)
        problem_add(problems, token->place, "keep one of them",
                    "`token` stands in place of `password`");
}

/* ---- waybill probe ---- */

/* Greeting, encryption and login; no mail is begun. */
static void smtp_probe(void *self, struct call *c, struct probing *p)
{
    AUTO(letter_done) struct letter l = { .self = self, .call = c };
    struct probing_net net;
    CURLcode rc;

    smtp_out_hold(&l, smtp_line_new(l.self));
    l.broken = true; /* it is not kept */
    if (!curl_line_probe_open(l.line, &l.self->options, c, p, &net))
        return;
    if (!smtp_out_set_login(l.held, l.self) ||
        curl_easy_setopt(l.line->easy, CURLOPT_CONNECT_ONLY, 1L) != CURLE_OK) {
        (void)probing_fail(p, "connect", "correct `url`", "libcurl does not take the settings");
        return;
    }
    if (curl_line_probe(l.line, p, &net, &rc))
        probing_leave(p, "rights", "not tried: whom it takes mail from, and for, shows with one");
}

const struct endpoint_type endpoint_smtp = {
    .kind = { .name = "smtp",
              .help = "each document as a mail",
              .keys = options,
              .check = smtp_check,
              .example =
                  "desk: { kind: smtp, url: \"smtp://mail.example.org:587\", user: waybill,\n"
                  "        password: \"${secret:mail}\", from: waybill@example.org,\n"
                  "        to: orders@example.org, name: \"${id}.xml\" }" },
    .make = smtp_make,
    .unmake = smtp_unmake,
    .send = smtp_send,
    .probe = smtp_probe,
    .keeps_time = true,
    .line = &smtp_out_lines,
};
