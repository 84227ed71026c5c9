/* ftp_out.c - writes each document as a file on an FTP server.
 *
 * A file is sent under a temporary name in its folder (.DELIVERY.part), its size is compared, and
 * then it is renamed, so that nobody sees half of it.  If a file that has the name already has
 * these bytes, an earlier attempt of the delivery gave it the name; else it is replaced or waited
 * for, as `exists` says.  FTP cannot rename only where nothing is, so somebody else who takes the
 * name between our look and our rename loses the file to us.
 *
 * Until the rename was sent nothing can be seen of a document; without an answer to it, it is in
 * doubt.
 *
 * One login serves many documents (core/line/line.h).  A login that was kept goes back to where it
 * began before it is used, so that the folder is the one that has the name now, and a server that
 * is gone is noticed before anything is sent.
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
#include "core/ftp/ftp_place.h"
#include "core/grammar.h"
#include "core/line/line.h"
#include "core/probing/probing_net.h"
#include "core/template.h"

#define PARCEL_PART ".part"

enum { ASKS_NAME = 350, ENDS_SERVICE = 421 };

struct ftp_out {
    struct ftp_place place; /* first: what its lines are opened with */
    const struct template *name;
    bool replace; /* a file that has the name */
};

struct parcel;

/* A login, kept from one document to the next. */
struct ftp_out_line {
    struct curl_line curl;
    struct parcel *parcel; /* the one under way */
    bool newest;           /* TLS 1.3: for one file only */
};

/* One document being delivered. */
struct parcel {
    const struct ftp_out *self;
    const struct sending *sending;
    struct call *call;
    int64_t until_us;          /* all of it ends by then, monotonic; 0: silence counts instead */
    struct ftp_out_line *held; /* NULL: no line was taken */
    struct curl_line *line;    /* that of `held` */
    bool broken;               /* it is not in the state in which the next document expects it */
    char name[SAFE_NAME_MOST + 1], temp[SAFE_NAME_MOST + 1];
    struct str piece;     /* of the document, not sent yet */
    int64_t came;         /* bytes of the document so far */
    bool read;            /* some of it was */
    struct err err;       /* why there is no more */
    struct digest theirs; /* of the file that has our name ... */
    bool comparing;       /* ... while it is read */
    bool asked;           /* the server asked for the new name: the rename may happen */
    bool other;           /* another file has the name, and is to be replaced */
    struct verdict *verdict;
};

/* ---- verdicts ---- */

static bool ftp_out_say(struct parcel *p, enum verdict_kind kind, const char *what)
{
    struct verdict *v = p->verdict;

    v->status = p->line->code >= 400 ? p->line->code : 0;
    if (v->status != 0)
        (void)verdict_say(v, kind, "%s: %s; it said %lld %.*s", p->self->place.options.host.ptr,
                          what, (long long)v->status, STR_ARG(buf_view(&p->line->answer)));
    else
        (void)verdict_say(v, kind, "%s: %s", p->self->place.options.host.ptr, what);
    return false;
}

/* Nothing can be seen of the document. */
static bool ftp_out_fail(struct parcel *p, CURLcode rc)
{
    enum verdict_kind kind = VERDICT_UNREACHED;
    char why[CURL_LINE_WHY];

    if (p->err.kind != ERR_NONE) {
        (void)verdict_say(p->verdict, p->err.kind == ERR_PERMANENT ? VERDICT_FAILED : VERDICT_RETRY,
                          "%s", p->err.text);
        return false;
    }
    if (rc == CURLE_ABORTED_BY_CALLBACK && p->line->barred == NULL)
        return ftp_out_say(p, VERDICT_RETRY, "the node is stopping, and the file has no name yet");
    if (rc == CURLE_LOGIN_DENIED)
        kind = p->line->code >= 400 && p->line->code < 500 ? VERDICT_RETRY : VERDICT_CREDENTIAL;
    return ftp_out_say(p, kind, curl_line_why(p->line, rc, why));
}

static bool say_name_taken(struct parcel *p)
{
    p->line->code = 0;
    (void)verdict_say(p->verdict, VERDICT_RETRY, "%s is there already and is not replaced",
                      p->name);
    return false;
}

/* ---- the bytes of the document ---- */

static void ftp_out_begin_reading(struct parcel *p)
{
    const struct sending *s = p->sending;
    struct err ignored; /* only a call that is given up; next() says so */

    if (p->read && s->bytes.ptr == NULL && s->rewind != NULL)
        (void)s->rewind(s->next_arg, &ignored);
    p->piece = s->bytes.ptr != NULL ? s->bytes : STR("");
    p->came = 0;
    p->read = false;
}

/* The next bytes; *ret empty: the end. */
static bool ftp_out_next(struct parcel *p, size_t room, struct str *ret)
{
    const struct sending *s = p->sending;

    p->read = true;
    if (p->piece.len == 0 && s->bytes.ptr == NULL && s->next != NULL &&
        !s->next(s->next_arg, &p->piece, &p->err))
        return err_context(&p->err, "the bytes of the document");
    *ret = str_mem(p->piece.ptr, p->piece.len < room ? p->piece.len : room);
    p->piece = str_from(p->piece, ret->len);
    p->came += (int64_t)ret->len;
    return ret->len > 0 || p->came == s->size ||
           err_set(&p->err, ERR_PERMANENT, 0, "the document has %lld bytes and gave %lld",
                   (long long)s->size, (long long)p->came);
}

static size_t ftp_out_on_read(char *to, size_t size, size_t count, void *arg)
{
    struct parcel *p = ((struct ftp_out_line *)arg)->parcel;
    struct str piece;

    if (!ftp_out_next(p, size * count, &piece))
        return CURL_READFUNC_ABORT;
    if (piece.len > 0)
        memcpy(to, piece.ptr, piece.len);
    return piece.len;
}

static size_t ftp_out_on_write(char *bytes, size_t size, size_t count, void *arg)
{
    struct parcel *p = ((struct ftp_out_line *)arg)->parcel;

    if (!p->comparing) /* libcurl tells what it knows of a file as if it were HTTP */
        return size * count;
    p->came += (int64_t)(size * count);
    digest_add(&p->theirs, str_mem(bytes, size * count));
    return p->came <= p->sending->size ? size * count : 0;
}

/* ---- requests ---- */

/* Sets the url of a file in the folder; an empty name is the folder itself. */
static bool ftp_out_set_url(struct parcel *p, const char *name)
{
    AUTO(buf_done) struct buf url = BUF_INIT(FTP_PLACE_URL);
    char *escaped = curl_easy_escape(p->line->easy, name, (int)strlen(name));
    struct err err = { 0 };
    bool ok = escaped != NULL && buf_append(&url, p->self->place.url, &err) &&
              buf_append(&url, name[0] != '\0' ? str_of(escaped) : STR(""), &err) &&
              curl_easy_setopt(p->line->easy, CURLOPT_URL, url.ptr) == CURLE_OK;

    curl_free(escaped);
    return ok;
}

enum ftp_verb { FTP_LOOK, FTP_PUT, FTP_GET };

/* A line speaks TLS 1.2.  With 1.3 libcurl 7.88 resumes a session once, and learns of the next one
 * only by reading, which it does not when it sends a file: a server that wants the session of the
 * login again (require_ssl_reuse) would refuse the second file.  A server that has nothing but 1.3
 * gets it, and a login for each document. */
static CURLcode ftp_out_request(struct parcel *p)
{
    CURLcode rc = curl_line_perform(p->line);

    if (rc == CURLE_SSL_CONNECT_ERROR && !p->held->newest && !p->line->began) {
        p->held->newest = true;
        if (curl_easy_setopt(p->line->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) ==
            CURLE_OK)
            rc = curl_line_perform(p->line);
    }
    p->broken = p->broken || (rc != CURLE_OK && rc != CURLE_REMOTE_FILE_NOT_FOUND);
    return rc;
}

static CURLcode ftp_out_perform(struct parcel *p, enum ftp_verb verb, const char *name)
{
    CURL *e = p->line->easy;
    long put = verb == FTP_PUT;

    if (!ftp_out_set_url(p, name) || curl_easy_setopt(e, CURLOPT_UPLOAD, put) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_NOBODY, verb == FTP_LOOK ? 1L : 0L) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE,
                         put ? (curl_off_t)p->sending->size : (curl_off_t)-1) != CURLE_OK)
        return CURLE_FAILED_INIT;
    return ftp_out_request(p);
}

/* *ret -1: there is no such file, or the server does not tell. */
static bool ftp_out_size(struct parcel *p, const char *name, bool *ret_there, int64_t *ret)
{
    CURLcode rc = ftp_out_perform(p, FTP_LOOK, name);
    curl_off_t size = -1;

    *ret_there = rc == CURLE_OK;
    *ret = -1;
    if (rc == CURLE_REMOTE_FILE_NOT_FOUND)
        return true;
    if (rc != CURLE_OK)
        return ftp_out_fail(p, rc);
    if (curl_easy_getinfo(p->line->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &size) == CURLE_OK)
        *ret = size;
    return true;
}

static bool digest_parcel(struct parcel *p, struct sha256 *ret)
{
    struct digest d = digest_start();
    struct str piece;

    ftp_out_begin_reading(p);
    do {
        if (call_is_over(p->call) || !ftp_out_next(p, SIZE_MAX, &piece)) {
            digest_drop(&d);
            return ftp_out_fail(p, CURLE_ABORTED_BY_CALLBACK);
        }
        digest_add(&d, piece);
        call_alive(p->call);
    } while (piece.len > 0);
    *ret = digest_end(&d);
    return true;
}

/* The file of our name and size: does it have our bytes? */
static bool ftp_out_compare(struct parcel *p, bool *ret_same)
{
    struct sha256 ours, theirs;

    if (!digest_parcel(p, &ours))
        return false;
    p->came = 0;
    p->theirs = digest_start();
    p->comparing = true;
    CURLcode rc = ftp_out_perform(p, FTP_GET, p->name);

    p->comparing = false;
    *ret_same = false;
    if (rc != CURLE_OK) {
        digest_drop(&p->theirs);
        return rc == CURLE_WRITE_ERROR /* it is longer than ours */ || ftp_out_fail(p, rc);
    }
    theirs = digest_end(&p->theirs);
    *ret_same = digest_same(&ours, &theirs);
    return true;
}

/* Whether an earlier attempt has delivered it.  False, with the verdict: the name is another's, or
 * it cannot be found out. */
static bool ftp_out_meet(struct parcel *p, bool *ret_ours)
{
    bool there;
    int64_t size;

    *ret_ours = p->other = false;
    if (!ftp_out_size(p, p->name, &there, &size))
        return false;
    if (!there)
        return true;
    if ((size < 0 || size == p->sending->size) && !ftp_out_compare(p, ret_ours))
        return false;
    p->other = !*ret_ours;
    return *ret_ours || p->self->replace || say_name_taken(p);
}

static bool ftp_out_stage(struct parcel *p)
{
    int64_t size;
    bool there;

    ftp_out_begin_reading(p);
    CURLcode rc = ftp_out_perform(p, FTP_PUT, p->temp);

    if (rc != CURLE_OK)
        return ftp_out_fail(p, rc);
    if (!ftp_out_size(p, p->temp, &there, &size))
        return false;
    if (!there || (size >= 0 && size != p->sending->size)) {
        (void)verdict_say(p->verdict, VERDICT_RETRY,
                          "%s: of %lld bytes %lld arrived: check the space on the server",
                          p->self->place.options.host.ptr, (long long)p->sending->size,
                          there ? (long long)size : 0);
        return false;
    }
    fault_point(FTP_STAGED);
    return true;
}

static void ftp_out_on_answer(void *arg, int64_t code)
{
    struct parcel *p = ((struct ftp_out_line *)arg)->parcel;

    p->asked = p->asked || code == ASKS_NAME;
}

/* Paths of these commands count from the folder into which libcurl has changed. */
static CURLcode ftp_out_tell(struct parcel *p, struct curl_slist *commands)
{
    CURL *e = p->line->easy;

    if (curl_easy_setopt(e, CURLOPT_POSTQUOTE, commands) != CURLE_OK)
        return CURLE_FAILED_INIT;
    p->asked = false;
    p->line->answered = ftp_out_on_answer;
    CURLcode rc = ftp_out_perform(p, FTP_LOOK, "");

    p->line->answered = NULL;
    (void)curl_easy_setopt(e, CURLOPT_POSTQUOTE, NULL); /* the list is ours */
    return rc;
}

static bool ftp_out_rename(struct parcel *p)
{
    char from[SAFE_NAME_MOST + 8], to[SAFE_NAME_MOST + 8], drop[SAFE_NAME_MOST + 8],
        why[CURL_LINE_WHY];
    struct curl_slist third = { .data = to }, second = { .data = from, .next = &third },
                      first = { .data = drop, .next = &second };

    (void)snprintf(from, sizeof from, "RNFR %s", p->temp);
    (void)snprintf(to, sizeof to, "RNTO %s", p->name);
    (void)snprintf(drop, sizeof drop, "DELE %s", p->name);
    if (!call_commit(p->call)) /* another attempt may be under way */
        return ftp_out_say(p, VERDICT_RETRY, "it was given up, because it hung");
    CURLcode rc = ftp_out_tell(p, &second);

    /* Some servers rename over nothing: there the old file goes first. */
    if (rc == CURLE_QUOTE_ERROR && p->other && p->asked && p->line->code >= 500)
        rc = ftp_out_tell(p, &first);
    if (rc == CURLE_OK) {
        fault_point(FTP_NAMED);
        return true;
    }
    if (p->asked && (p->line->code < 400 || p->line->code >= 600))
        return ftp_out_say(p, VERDICT_DOUBT,
                           "the file was to get its name, and no answer came: whether it has it is "
                           "not known");
    (void)curl_line_why(p->line, rc, why);
    return rc == CURLE_QUOTE_ERROR ? ftp_out_say(p, VERDICT_UNREACHED, why) : ftp_out_fail(p, rc);
}

static bool ftp_out_name(struct parcel *p, struct err *err)
{
    const struct sending *s = p->sending;
    struct template_values values = sending_values(s);
    AUTO(buf_done) struct buf name = BUF_INIT(SAFE_NAME_MOST);

    values.path = true;
    if (!template_render(p->self->name, &values, &name, err) || !safe_name(buf_view(&name), err))
        return err_context(err, "the name of the file");
    memcpy(p->name, name.ptr, name.len + 1);
    if (snprintf(p->temp, sizeof p->temp, ".%.*s" PARCEL_PART, STR_ARG(s->delivery)) >=
        (int)sizeof p->temp)
        return err_set(err, ERR_PERMANENT, 0, "the delivery's id is too long for a file name");
    return safe_name(str_of(p->temp), err);
}

static bool ftp_out_set(struct ftp_out_line *l)
{
    CURL *e = l->curl.easy;

    return curl_easy_setopt(e, CURLOPT_READFUNCTION, ftp_out_on_read) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_READDATA, l) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, ftp_out_on_write) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_WRITEDATA, l) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_FTP_SKIP_PASV_IP, 1L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_SSLVERSION,
                            (long)CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_2) ==
               CURLE_OK;
}

/* ---- lines ---- */

static const struct sha256 *ftp_out_key(const void *self)
{
    return &((const struct ftp_out *)self)->place.key;
}

static void ftp_out_hang_up(void *line)
{
    struct ftp_out_line *l = line;

    curl_line_close(&l->curl);
    free(l);
}

static struct ftp_out_line *ftp_out_line_new(void)
{
    struct ftp_out_line *l = NEW(struct ftp_out_line);

    l->curl.pieces = true;
    l->curl.arg = l;
    return l;
}

/* The server is met by the first request. */
static bool ftp_out_open(void *self, struct call *c, void **ret_line, struct err *err)
{
    struct ftp_out_line *l = ftp_out_line_new();

    if (!curl_line_open(&l->curl, &((struct ftp_out *)self)->place.options, c, false, err) ||
        !ftp_out_set(l)) {
        ftp_out_hang_up(l);
        return err->kind != ERR_NONE
                   ? false
                   : err_set(err, ERR_TRANSIENT, 0, "libcurl does not take the settings of a file");
    }
    *ret_line = l;
    return true;
}

static bool ftp_out_is_open(void *line)
{
    return curl_line_is_quiet(&((struct ftp_out_line *)line)->curl);
}

static const struct line_type ftp_out_lines = {
    .key = ftp_out_key, .open = ftp_out_open, .is_open = ftp_out_is_open, .close = ftp_out_hang_up
};

static void ftp_out_hold(struct parcel *p, struct ftp_out_line *l)
{
    p->held = l;
    p->line = &l->curl;
    p->broken = false;
    l->parcel = p;
    l->curl.options = &p->self->place.options;
    l->curl.call = p->call;
    l->curl.until_us = p->until_us;
}

/* The next document finds its way from where the login began: that place has to be known. */
static bool ftp_out_may_keep(const struct parcel *p)
{
    char *home = NULL;

    return !p->broken && !p->held->newest &&
           curl_easy_getinfo(p->held->curl.easy, CURLINFO_FTP_ENTRY_PATH, &home) == CURLE_OK &&
           home != NULL && home[0] != '\0';
}

static void ftp_out_drop(struct parcel *p)
{
    struct ftp_out_line *l = p->held;

    if (l == NULL)
        return;
    bool keep = ftp_out_may_keep(p);

    l->parcel = NULL;
    l->curl.call = NULL;
    p->held = NULL;
    p->line = NULL;
    line_give(p->call, &ftp_out_lines, p->self, l, keep);
}

static void parcel_done(struct parcel *p)
{
    ftp_out_drop(p);
    digest_drop(&p->theirs);
}

/* Before a login that was kept is used: out of the folder, which libcurl enters anew then. */
static CURLcode ftp_out_go_back(struct parcel *p)
{
    struct curl_slist noop = { .data = (char[]){ "*NOOP" } }; /* a star: whatever the answer is */
    CURL *e = p->line->easy;

    if (curl_easy_setopt(e, CURLOPT_URL, p->self->place.server.ptr) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_UPLOAD, 0L) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_FTP_FILEMETHOD, (long)CURLFTPMETHOD_NOCWD) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_POSTQUOTE, &noop) != CURLE_OK)
        return CURLE_FAILED_INIT;
    p->line->until_us = curl_line_soon_us(p->line);
    CURLcode rc = ftp_out_request(p);

    p->line->until_us = p->until_us;
    (void)curl_easy_setopt(e, CURLOPT_POSTQUOTE, NULL); /* the list is ours */
    (void)curl_easy_setopt(e, CURLOPT_FTP_FILEMETHOD, (long)CURLFTPMETHOD_MULTICWD);
    /* libcurl calls this a time-out, or takes it for an answer */
    return p->line->code == ENDS_SERVICE ? CURLE_RECV_ERROR : rc;
}

/* A login that was kept and is gone by now, or silent, is no failure: nothing was sent over it.  If
 * it is silent the next one is new, because others that were kept may be so, too. */
static bool ftp_out_reach(struct parcel *p)
{
    p->until_us =
        p->sending->bytes.ptr == NULL ? 0 : clock_mono_us() + p->self->place.options.timeout_us;
    for (CURLcode rc = CURLE_OK;;) {
        void *self = (void *)(uintptr_t)p->self, *line;
        struct err err = { 0 };
        bool kept = false;

        if (!(rc == CURLE_OPERATION_TIMEDOUT
                  ? ftp_out_open(self, p->call, &line, &err)
                  : line_take(p->call, &ftp_out_lines, self, &line, &kept, &err))) {
            (void)verdict_say(p->verdict, VERDICT_RETRY, "%s", err.text);
            return false;
        }
        ftp_out_hold(p, line);
        if (!kept || (rc = ftp_out_go_back(p)) == CURLE_OK)
            return true;
        p->broken = true;
        if (call_is_over(p->call))
            return ftp_out_fail(p, rc);
        ftp_out_drop(p);
        call_alive(p->call);
    }
}

/* ---- the endpoint ---- */

static bool ftp_out_begin(struct parcel *p)
{
    struct verdict *v = p->verdict;
    struct err err = { 0 };

    *v = (struct verdict){ 0 };
    if (!ftp_out_name(p, &err)) {
        v->code = dead_codes[DEAD_REJECTED];
        (void)verdict_say(v, VERDICT_FAILED, "%s", err.text);
        return false;
    }
    return ftp_out_reach(p);
}

static void ftp_send(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    AUTO(parcel_done)
    struct parcel p = { .self = self, .sending = s, .call = c, .verdict = ret };
    bool ours = false;

    if (!ftp_out_begin(&p) || !ftp_out_meet(&p, &ours))
        return;
    if (ours) {
        (void)verdict_say(ret, VERDICT_DELIVERED, "%s is there with these bytes", p.name);
        return;
    }
    if (!ftp_out_stage(&p) || !ftp_out_meet(&p, &ours))
        return;
    if (ours || ftp_out_rename(&p))
        (void)verdict_say(ret, VERDICT_DELIVERED, "written as %s", p.name);
}

static void ftp_ask(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    AUTO(parcel_done)
    struct parcel p = { .self = self, .sending = s, .call = c, .verdict = ret };
    bool ours = false;

    if (!ftp_out_begin(&p))
        return;
    if (!ftp_out_meet(&p, &ours)) /* if another's file has the name, ours has not arrived */
        return;
    if (ours)
        (void)verdict_say(ret, VERDICT_DELIVERED, "asked: %s is there with these bytes", p.name);
    else if (p.other)
        (void)verdict_say(ret, VERDICT_DOUBT,
                          "asked: %s is there with other bytes; they may have replaced ours",
                          p.name);
    else
        (void)verdict_say(ret, VERDICT_RETRY, "asked: %s is not there; it is sent again", p.name);
}

/* ---- options ---- */

static const struct option options[] = {
    OPTIONS(grammar_ftp),
    OPTIONS(grammar_login),
    OPTION("name", OPT_TEMPLATE,
           "the name it gets; a value of the document that has a `/` or begins with a dot is "
           "refused",
           .fallback = "${id}"),
    OPTIONS(grammar_exists),
    OPTION_CONNECTIONS("4"),
    { 0 },
};

static bool ftp_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct ftp_out *self = ARENA_NEW(s->arena, struct ftp_out);
    struct str name, exists;

    if (!ftp_place_read(s, &self->place, err) || !settings_text(s, "name", &name, err) ||
        !settings_text(s, "exists", &exists, err) ||
        !template_compile(name, s->arena, &self->name, err))
        return false;
    self->replace = str_is(exists, "replace");
    *ret_self = self;
    return true;
}

static void ftp_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- waybill probe ---- */

static bool ftp_out_fail_step(struct parcel *p, const char *step, const char *remedy, CURLcode rc,
                              struct probing *probing)
{
    char why[CURL_LINE_WHY];

    (void)curl_line_why(p->line, rc, why);
    if (p->line->code < 400)
        return probing_fail(probing, step, remedy, "%s", why);
    return probing_fail(probing, step, remedy, "%s; it said: %lld %.*s", why,
                        (long long)p->line->code, STR_ARG(buf_view(&p->line->answer)));
}

/* A file of our own is sent, renamed and removed. */
static CURLcode ftp_out_try_file(struct parcel *p, const char *name, const char *other)
{
    char from[PROBING_NAME + 8], to[PROBING_NAME + 8], drop[PROBING_NAME + 8];
    struct curl_slist third = { .data = drop };
    struct curl_slist second = { .data = to, .next = &third };
    struct curl_slist first = { .data = from, .next = &second };

    (void)snprintf(from, sizeof from, "RNFR %s", name);
    (void)snprintf(to, sizeof to, "RNTO %s", other);
    (void)snprintf(drop, sizeof drop, "DELE %s", other);
    ftp_out_begin_reading(p);
    CURLcode rc = ftp_out_perform(p, FTP_LOOK, name); /* as a delivery begins */

    if (rc == CURLE_OK || rc == CURLE_REMOTE_FILE_NOT_FOUND) {
        (void)curl_easy_setopt(p->line->easy, CURLOPT_POSTQUOTE, &first);
        rc = ftp_out_perform(p, FTP_PUT, name);
    }
    (void)curl_easy_setopt(p->line->easy, CURLOPT_POSTQUOTE, NULL); /* the lists are ours */
    return rc;
}

/* Whichever name it has by now. */
static void ftp_out_remove_tried(struct parcel *p, const char *const names[static 2])
{
    char drop[PROBING_NAME + 8];
    struct curl_slist list = { .data = drop };

    for (int i = 0; i < 2; i++) {
        (void)snprintf(drop, sizeof drop, "DELE %s", names[i]);
        (void)curl_easy_setopt(p->line->easy, CURLOPT_POSTQUOTE, &list);
        (void)ftp_out_perform(p, FTP_LOOK, "");
        (void)curl_easy_setopt(p->line->easy, CURLOPT_POSTQUOTE, NULL);
    }
}

static bool is_broken_off(const struct parcel *p, CURLcode rc)
{
    return p->line->code < 400 && p->line->barred == NULL &&
           (rc == CURLE_SEND_ERROR || rc == CURLE_RECV_ERROR || rc == CURLE_SSL_CONNECT_ERROR ||
            rc == CURLE_GOT_NOTHING || rc == CURLE_PARTIAL_FILE);
}

static bool ftp_out_probe_rights(struct parcel *p, struct probing *probing)
{
    char name[PROBING_NAME], other[PROBING_NAME];
    const char *const names[] = { probing_name(PARCEL_PART, name),
                                  probing_name(PARCEL_PART, other) };

    probing_begin(probing, "rights");
    CURLcode rc = ftp_out_try_file(p, name, other);

    /* A connection that broke says nothing of rights, unless it does so again. */
    if (is_broken_off(p, rc)) {
        ftp_out_remove_tried(p, names);
        rc = ftp_out_try_file(p, name, other);
    }
    if (rc == CURLE_OK)
        return probing_pass(probing, "rights", "files can be sent, renamed and removed there");
    bool refused = p->line->code >= 400;

    (void)ftp_out_fail_step(p, "rights",
                            refused ? "give the user the right on the server; check its space and "
                                      "quota"
                                    : "check the ports for data connections of the server, and the "
                                      "firewalls between",
                            rc, probing);
    ftp_out_remove_tried(p, names);
    return false;
}

static void ftp_probe(void *self, struct call *c, struct probing *probing)
{
    const struct sending nothing = { .bytes = STR("probe\n"), .size = strlen("probe\n") };
    AUTO(parcel_done)
    struct parcel p = { .self = self, .sending = &nothing, .call = c };
    struct probing_net net;
    CURLcode rc;

    ftp_out_hold(&p, ftp_out_line_new());
    p.broken = true; /* it is not kept */
    if (!curl_line_probe_open(p.line, &p.self->place.options, c, probing, &net))
        return;
    p.held->newest = true; /* it sends one file */
    if (!ftp_out_set(p.held) || !ftp_out_set_url(&p, "") ||
        curl_easy_setopt(p.line->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) !=
            CURLE_OK ||
        curl_easy_setopt(p.line->easy, CURLOPT_NOBODY, 1L) != CURLE_OK) {
        (void)probing_fail(probing, "connect", "correct `url`",
                           "libcurl does not take the settings");
        return;
    }
    if (!curl_line_probe(p.line, probing, &net, &rc))
        return;
    if (rc != CURLE_OK) {
        (void)ftp_out_fail_step(&p, "folder",
                                "create the folder on the server, or correct the path of `url`", rc,
                                probing);
        return;
    }
    (void)probing_pass(probing, "folder", "it is there");
    (void)ftp_out_probe_rights(&p, probing);
}

const struct endpoint_type endpoint_ftp = {
    .kind = { .name = "ftp",
              .help = "files on an FTP server",
              .keys = options,
              .example = "edi: { kind: ftp, url: \"ftp://ftp.example.org/in\", tls: explicit,\n"
                         "       user: waybill, password: \"${secret:ftp}\",\n"
                         "       name: \"${id}.xml\" }" },
    .make = ftp_make,
    .unmake = ftp_unmake,
    .send = ftp_send,
    .ask = ftp_ask,
    .probe = ftp_probe,
    .keeps_time = true,
    .line = &ftp_out_lines,
};
