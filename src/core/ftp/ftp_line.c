#include "core/ftp/ftp_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/probing/probing_net.h"

enum {
    COMMAND_MOST = 2 * FTP_PLACE_PATH + 1600, /* a verb and a path */
    WINDOW = 256 << 10,
    LINES_MOST = 10 * 1000 * 1000, /* of a listing */
    ALIVE_US = 5 * CLOCK_S,
    SERVICE_ENDS = 421,
    TRANSFER_BEGINS = 125,
    TRANSFER_OPENS = 150
};

struct ftp_listing {
    struct ftp_line *line;
    ftp_line_found *found;
    void *arg;
    int64_t now_s;
    int64_t lines;
    bool facts;
    struct buf piece; /* of a line */
    bool skips;       /* the rest of a line that is too long */
    struct err err;
};

/* ---- failures ---- */

static bool ftp_line_fail(const struct ftp_line *l, CURLcode rc, struct err *err)
{
    /* libcurl calls the end of the service a time-out, too */
    int sys = rc == CURLE_OPERATION_TIMEDOUT && l->line.code != SERVICE_ENDS ? ETIMEDOUT : 0;
    char why[CURL_LINE_WHY];

    (void)curl_line_why(&l->line, rc, why);
    if (l->line.code >= 400)
        return err_set(err, ERR_TRANSIENT, sys, "%s said %lld %.60s: %s",
                       l->place->options.host.ptr, (long long)l->line.code, l->line.answer.ptr,
                       why);
    return err_set(err, ERR_TRANSIENT, sys, "%s: %s", l->place->options.host.ptr, why);
}

/* ---- callbacks ---- */

static void ftp_line_on_answer(void *arg, int64_t code)
{
    struct ftp_line *l = arg;
    struct ftp_said *said = &l->said[l->said_count++ % FTP_LINE_COMMANDS];

    l->fresh = l->fresh || !l->line.began; /* it greets, and takes the login */
    said->code = code;
    (void)snprintf(said->text, sizeof said->text, "%s", l->line.answer.ptr);
    l->flows = l->flows || code == TRANSFER_BEGINS || code == TRANSFER_OPENS;
}

static bool has_word(struct str text, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.len; i++)
        if (str_eq_nocase(str_mem(text.ptr + i, n), str_of(word)))
            return true;
    return false;
}

/* Of the answer to FEAT: " MLST type*;size*;modify*;" and others, a line each. */
static void ftp_line_on_feature(void *arg, struct str line)
{
    struct ftp_line *l = arg;
    struct str name, rest = str_cut(str_trim(line), ' ', &name);

    if (line.len == 0 || line.ptr[0] != ' ')
        return;
    if (str_eq_nocase(name, STR("MLST")))
        l->tells_facts =
            has_word(rest, "type") && has_word(rest, "size") && has_word(rest, "modify");
    else if (str_eq_nocase(name, STR("UTF8")))
        l->reads_utf8 = true;
}

/* *bytes: what is left of them.  False: no more is wanted. */
static bool take_listed_line(struct ftp_listing *g, struct str *bytes)
{
    struct str head, rest = str_cut(*bytes, '\n', &head);
    bool whole = head.len < bytes->len;
    struct ftp_list_entry e = { 0 };

    *bytes = rest;
    if (g->skips) {
        g->skips = !whole;
        return true;
    }
    if (g->piece.len + head.len > FTP_LIST_LINE_MOST) {
        buf_put(&g->piece, str_mem(head.ptr, FTP_LIST_LINE_MOST - g->piece.len));
        g->skips = !whole;
        whole = true;
    } else {
        buf_put(&g->piece, head);
    }
    if (!whole)
        return true;
    struct str line = buf_view(&g->piece);
    enum ftp_list_line is = line.len == FTP_LIST_LINE_MOST ? FTP_LIST_UNREAD
                            : g->facts                     ? ftp_list_facts(line, &e)
                                                           : ftp_list_text(line, g->now_s, &e);

    if (++g->lines > LINES_MOST)
        return err_set(&g->err, ERR_LIMIT, 0, "the listing does not end");
    bool ok = g->found(g->arg, is, line, &e, &g->err);

    buf_clear(&g->piece);
    return ok;
}

static size_t ftp_line_on_write(char *bytes, size_t size, size_t count, void *arg)
{
    struct ftp_line *l = arg;
    struct str rest = str_mem(bytes, size * count);

    if (l->listing != NULL) {
        while (rest.len > 0)
            if (!take_listed_line(l->listing, &rest))
                return 0;
        return size * count;
    }
    if (!l->reading) /* libcurl tells what it knows of a file as if it were HTTP */
        return size * count;
    if (l->window.len + rest.len > WINDOW) {
        l->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    buf_put(&l->window, rest);
    return size * count;
}

/* ---- requests ---- */

enum ftp_line_verb { LINE_TALK, LINE_LIST, LINE_GET };

/* A path as the server is to read it. */
static void ftp_line_put_path(struct buf *to, const struct ftp_place *place, const char *path)
{
    if (path[0] != '/')
        buf_put(to, place->path);
    buf_puts(to, path);
}

static bool ftp_line_put_url(const struct ftp_line *l, struct buf *url, const char *path,
                             bool folder)
{
    struct err err = { 0 };
    char *escaped = path[0] != '\0' ? curl_easy_escape(l->line.easy, path, 0) : NULL;
    bool ok = buf_append(url, l->place->url, &err) &&
              (path[0] == '\0' || (escaped != NULL && buf_append(url, str_of(escaped), &err) &&
                                   (!folder || buf_append(url, STR("/"), &err))));

    curl_free(escaped);
    return ok;
}

/* Listings are those of the folder into which libcurl changed: as a word of LIST a name may mean
 * something else.  All other paths are whole, so that it stays in the folder of the login. */
static bool set_request(struct ftp_line *l, enum ftp_line_verb verb, const char *path)
{
    AUTO(buf_done) struct buf url = BUF_INIT(FTP_PLACE_URL);
    const char *list = verb == LINE_LIST && l->tells_facts ? "MLSD" : NULL;
    CURL *e = l->line.easy;

    if (verb == LINE_TALK)
        buf_put(&url, l->place->server);
    else if (!ftp_line_put_url(l, &url, path, verb == LINE_LIST))
        return false;
    l->line.until_us =
        verb == LINE_TALK ? clock_mono_us() + l->place->options.timeout_us : 0; /* else silence */
    if (l->checking)
        l->line.until_us = curl_line_soon_us(&l->line);
    return curl_easy_setopt(e, CURLOPT_URL, url.ptr) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_NOBODY, verb == LINE_TALK ? 1L : 0L) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, list) == CURLE_OK &&
           curl_easy_setopt(e, CURLOPT_FTP_FILEMETHOD,
                            verb == LINE_LIST ? (long)CURLFTPMETHOD_MULTICWD
                                              : (long)CURLFTPMETHOD_NOCWD) == CURLE_OK;
}

/* What a request leaves behind. */
static void note_request(struct ftp_line *l, enum ftp_line_verb verb)
{
    if (l->fresh) {
        l->met = l->binary = l->fresh = false;
        l->login = chance_u64();
    }
    if (verb != LINE_TALK)
        l->binary = verb == LINE_GET;
}

static bool ftp_line_set(struct ftp_line *l, struct err *err)
{
    CURL *e;

    l->line.pieces = true;
    l->line.arg = l;
    l->line.answered = ftp_line_on_answer;
    if (!curl_line_open(&l->line, &l->place->options, NULL, true, err))
        return false;
    e = l->line.easy;
    if (curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, ftp_line_on_write) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_WRITEDATA, l) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_FTP_SKIP_PASV_IP, 1L) != CURLE_OK ||
        curl_easy_setopt(e, CURLOPT_IGNORE_CONTENT_LENGTH, 1L) != CURLE_OK) /* SIZE is asked for */
        return err_set(err, ERR_TRANSIENT, 0, "libcurl does not take the settings of a folder");
    return true;
}

/* ---- commands ---- */

/* Sends commands ("RNFR a", "RNTO b"), up to FTP_LINE_COMMANDS, whatever the answers are; `ret` has
 * room for those. */
static bool ftp_line_talk(struct ftp_line *l, const char *const *commands, size_t count,
                          struct ftp_said *ret, struct err *err)
{
    char texts[FTP_LINE_COMMANDS][COMMAND_MOST];
    struct curl_slist list[FTP_LINE_COMMANDS];

    require(count > 0 && count <= FTP_LINE_COMMANDS);
    for (size_t i = 0; i < count; i++) {
        /* A star: libcurl goes on, whatever the answer is. */
        if (snprintf(texts[i], COMMAND_MOST, "*%s", commands[i]) >= COMMAND_MOST)
            return err_set(err, ERR_PERMANENT, ENAMETOOLONG, "its path is too long");
        list[i] =
            (struct curl_slist){ .data = texts[i], .next = i + 1 < count ? &list[i + 1] : NULL };
    }
    if (!set_request(l, LINE_TALK, "") ||
        curl_easy_setopt(l->line.easy, CURLOPT_POSTQUOTE, list) != CURLE_OK)
        return ftp_line_fail(l, CURLE_FAILED_INIT, err);
    l->said_count = 0;
    CURLcode rc = curl_line_perform(&l->line);

    (void)curl_easy_setopt(l->line.easy, CURLOPT_POSTQUOTE, NULL); /* the list is ours */
    note_request(l, LINE_TALK);
    if (rc != CURLE_OK || l->said_count < count)
        return ftp_line_fail(l, rc != CURLE_OK ? rc : CURLE_RECV_ERROR, err);
    for (size_t i = 0; i < count; i++) {
        ret[i] = l->said[(l->said_count - count + i) % FTP_LINE_COMMANDS];
        if (ret[i].code == SERVICE_ENDS)
            return ftp_line_fail(l, CURLE_RECV_ERROR, err);
    }
    return true;
}

bool ftp_line_ask(struct ftp_line *l, const char *verb, const char *path, struct ftp_said *ret,
                  struct err *err)
{
    AUTO(buf_done) struct buf command = BUF_INIT(COMMAND_MOST);

    buf_printf(&command, "%s ", verb);
    ftp_line_put_path(&command, l->place, path);
    return ftp_line_talk(l, (const char *const[]){ command.ptr }, 1, ret, err);
}

bool ftp_line_rename(struct ftp_line *l, const char *from, const char *to, struct ftp_said *ret,
                     struct err *err)
{
    AUTO(buf_done) struct buf a = BUF_INIT(COMMAND_MOST);
    AUTO(buf_done) struct buf b = BUF_INIT(COMMAND_MOST);
    struct ftp_said said[2];

    buf_puts(&a, "RNFR ");
    ftp_line_put_path(&a, l->place, from);
    buf_puts(&b, "RNTO ");
    ftp_line_put_path(&b, l->place, to);
    if (!ftp_line_talk(l, (const char *const[]){ a.ptr, b.ptr }, 2, said, err))
        return false;
    *ret = said[ftp_is_done(&said[0]) ? 1 : 0];
    return true;
}

/* ---- what is there ---- */

static bool is_unknown_command(const struct ftp_said *s)
{
    return s->code == 500 || s->code == 502 || s->code == 504;
}

static bool judge_stat(struct ftp_line *l, const struct ftp_said *size, const struct ftp_said *time,
                       struct ftp_stat *ret, struct err *err)
{
    uint64_t n;

    if (is_unknown_command(size))
        return err_set(err, ERR_CONFIG, 0, "%s does not know SIZE, without which no file is taken",
                       l->place->options.host.ptr);
    if (size->code >= 400 && size->code < 500)
        return err_set(err, ERR_PERMANENT, EAGAIN, "the server does not tell its size: %lld %s",
                       (long long)size->code, size->text);
    ret->there =
        size->code == 213 && str_to_u64(str_trim(str_of(size->text)), &n) && n <= INT64_MAX;
    if (!ret->there)
        return true;
    ret->size = (int64_t)n;
    l->lacks_times = is_unknown_command(time);
    if (time->code != 213 || !ftp_list_time(str_trim(str_of(time->text)), &ret->time_s))
        ret->time_s = 0;
    return true;
}

bool ftp_line_stat(struct ftp_line *l, const char *path, struct ftp_stat *ret, struct err *err)
{
    AUTO(buf_done) struct buf size = BUF_INIT(COMMAND_MOST);
    AUTO(buf_done) struct buf time = BUF_INIT(COMMAND_MOST);
    struct ftp_said said[3];

    buf_puts(&size, "SIZE ");
    ftp_line_put_path(&size, l->place, path);
    buf_puts(&time, l->lacks_times ? "NOOP" : "MDTM ");
    if (!l->lacks_times)
        ftp_line_put_path(&time, l->place, path);
    const char *const commands[] = { "TYPE I", size.ptr, time.ptr };

    for (;;) {
        size_t from = l->binary ? 1 : 0;

        if (!ftp_line_talk(l, commands + from, 3 - from, said + from, err))
            return false;
        if (l->binary || from == 0)
            break; /* else it is a new login, and was not told the type */
    }
    l->binary = true;
    *ret = (struct ftp_stat){ .size = -1 };
    return judge_stat(l, &said[1], &said[2], ret, err);
}

/* ---- the beginning ---- */

static bool ftp_line_meet(struct ftp_line *l, struct err *err)
{
    const char *commands[2];
    struct ftp_said said[2];
    size_t count = 0;

    l->tells_facts = l->reads_utf8 = l->lacks_times = false;
    l->line.heard = ftp_line_on_feature;
    bool ok = ftp_line_talk(l, (const char *const[]){ "FEAT" }, 1, said, err);

    l->line.heard = NULL;
    if (!ok)
        return false;
    if (l->reads_utf8)
        commands[count++] = "OPTS UTF8 ON";
    if (l->tells_facts)
        commands[count++] = "OPTS MLST type;size;modify;";
    if (count > 0 && !ftp_line_talk(l, commands, count, said, err))
        return false;
    l->met = true;
    return true;
}

static bool ftp_line_is_there(struct ftp_line *l, struct err *err)
{
    struct ftp_said said;

    l->checking = true;
    bool ok = ftp_line_talk(l, (const char *const[]){ "NOOP" }, 1, &said, err);

    l->checking = false;
    return ok;
}

bool ftp_line_begin(struct ftp_line *l, const struct ftp_place *place, struct call *call, bool kept,
                    struct err *err)
{
    l->place = place;
    l->line.options = &place->options;
    l->line.call = call;
    return (!kept || ftp_line_is_there(l, err)) && (l->met || ftp_line_meet(l, err));
}

void ftp_line_rest(struct ftp_line *l)
{
    ftp_line_end(l);
    l->alive = NULL;
    l->line.call = NULL;
}

/* ---- lines ---- */

static const struct sha256 *ftp_line_key(const void *self)
{
    return &((const struct ftp_place *)self)->key;
}

static void ftp_line_close(void *line)
{
    struct ftp_line *l = line;

    l->line.call = NULL;
    curl_line_close(&l->line);
    buf_done(&l->window);
    free(l);
}

static bool ftp_line_make(void *self, struct call *c, void **ret_line, struct err *err)
{
    struct ftp_line *l = NEW(struct ftp_line);

    l->place = self;
    if (!ftp_line_set(l, err) || !ftp_line_begin(l, self, c, false, err)) {
        ftp_line_close(l);
        return false;
    }
    *ret_line = l;
    return true;
}

static bool ftp_line_is_open(void *line)
{
    return curl_line_is_quiet(&((struct ftp_line *)line)->line);
}

const struct line_type ftp_line_type = {
    .key = ftp_line_key, .open = ftp_line_make, .is_open = ftp_line_is_open, .close = ftp_line_close
};

/* ---- probes ---- */

static bool ftp_line_log_in(struct ftp_line *l, struct call *call, struct probing *p,
                            struct probing_net *net)
{
    struct err err = { 0 };
    CURLcode rc;

    probing_begin(p, "connect");
    if (!ftp_line_set(l, &err) || !probing_net_watch(net, l->line.easy) ||
        !set_request(l, LINE_TALK, ""))
        return probing_fail(p, "connect", "correct `url` and `tls`", "%s",
                            err.kind != ERR_NONE ? err.text : "libcurl does not take the settings");
    l->line.call = call;
    if (!curl_line_probe(&l->line, p, net, &rc))
        return false;
    note_request(l, LINE_TALK);
    if (rc != CURLE_OK)
        (void)ftp_line_fail(l, rc, &err);
    else if (ftp_line_meet(l, &err))
        return true;
    return probing_fail(p, "folder", "look after the server", "%s", err.text);
}

bool ftp_line_probe(const struct ftp_place *place, struct call *call, struct probing *p,
                    struct probing_net *net, struct ftp_line **ret)
{
    struct ftp_line *l = NEW(struct ftp_line);

    l->place = place;
    if (!ftp_line_log_in(l, call, p, net)) {
        ftp_line_close(l);
        return false;
    }
    *ret = l;
    return true;
}

/* ---- listings ---- */

static CURLcode run_listing(struct ftp_line *l, struct err *err)
{
    int64_t alive_us = clock_mono_us();
    CURLcode rc = curl_line_begin(&l->line);
    bool done = rc != CURLE_OK;

    for (bool wait = false; !done; wait = true) {
        rc = curl_line_step(&l->line, wait, &done);
        if (done || l->alive == NULL || clock_mono_us() - alive_us < ALIVE_US)
            continue;
        alive_us = clock_mono_us();
        if (!l->alive(l->arg, err)) {
            rc = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
    }
    note_request(l, LINE_LIST);
    curl_line_end(&l->line);
    return rc;
}

bool ftp_line_list(struct ftp_line *l, const char *folder, ftp_line_found *found, void *arg,
                   struct err *err)
{
    struct ftp_listing g = { .line = l,
                             .found = found,
                             .arg = arg,
                             .now_s = clock_wall_us() / CLOCK_S,
                             .facts = l->tells_facts,
                             .piece = BUF_INIT(FTP_LIST_LINE_MOST) };
    struct str end = STR("\n");

    if (!set_request(l, LINE_LIST, folder))
        return err_set(err, ERR_PERMANENT, ENAMETOOLONG, "its path is too long");
    l->listing = &g;
    CURLcode rc = run_listing(l, err);
    bool ok = rc == CURLE_OK && (g.piece.len == 0 || take_listed_line(&g, &end));

    l->listing = NULL;
    buf_done(&g.piece);
    if (ok || err->kind != ERR_NONE) /* the owner ended it */
        return ok;
    if (g.err.kind != ERR_NONE) {
        *err = g.err;
        return false;
    }
    (void)ftp_line_fail(l, rc, err);
    if (rc == CURLE_REMOTE_ACCESS_DENIED && l->line.code >= 500)
        err->sys = EACCES;
    return false;
}

/* ---- files ---- */

static void step_file(struct ftp_line *l, bool wait)
{
    l->result = curl_line_step(&l->line, wait, &l->done);
}

bool ftp_line_open(struct ftp_line *l, const char *path, bool *ret_open, struct err *err)
{
    *ret_open = false;
    if (!set_request(l, LINE_GET, path))
        return err_set(err, ERR_PERMANENT, ENAMETOOLONG, "its path is too long");
    l->window = (struct buf)BUF_INIT(WINDOW);
    l->taken = 0;
    l->reading = true;
    l->flows = l->paused = l->done = false;
    l->result = curl_line_begin(&l->line);
    l->done = l->result != CURLE_OK;
    for (bool wait = false; !l->done && !l->flows && l->window.len == 0; wait = true)
        step_file(l, wait);
    if (!l->done || l->result == CURLE_OK) {
        *ret_open = true;
        return true;
    }
    ftp_line_end(l);
    return l->result == CURLE_REMOTE_FILE_NOT_FOUND || l->result == CURLE_FTP_COULDNT_RETR_FILE ||
           ftp_line_fail(l, l->result, err);
}

bool ftp_line_read(struct ftp_line *l, char *to, size_t room, size_t *ret_len, struct err *err)
{
    if (l->taken == l->window.len) {
        buf_clear(&l->window);
        l->taken = 0;
        l->line.alive_us = clock_mono_us(); /* until now we were busy, not the server silent */
        if (l->paused && !l->done) {
            l->paused = false;
            if (curl_easy_pause(l->line.easy, CURLPAUSE_CONT) != CURLE_OK)
                return ftp_line_fail(l, CURLE_RECV_ERROR, err);
        }
    }
    for (bool wait = false; !l->done && l->window.len == 0; wait = true)
        step_file(l, wait);
    if (l->window.len == 0 && l->result != CURLE_OK) {
        (void)ftp_line_fail(l, l->result, err);
        err->sys = l->line.code >= 400 && l->line.code != SERVICE_ENDS ? EIO : 0;
        return false;
    }
    *ret_len = l->window.len - l->taken < room ? l->window.len - l->taken : room;
    if (*ret_len > 0)
        memcpy(to, l->window.ptr + l->taken, *ret_len);
    l->taken += *ret_len;
    return true;
}

void ftp_line_end(struct ftp_line *l)
{
    if (!l->reading)
        return;
    note_request(l, LINE_GET);
    curl_line_end(&l->line);
    buf_done(&l->window);
    l->reading = false;
}
