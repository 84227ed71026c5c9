#include "sql/sql_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/egress.h"
#include "cage/keeper.h"
#include "core/call.h"
#include "sql/sql_file.h"
#include "sql/sql_names.h"
#include "sql/sql_wire.h"

enum {
    LINK_ROOM = FRAME_WHOLE_MOST * 2,
    LOOK_MS = 200, /* how often it is asked whether somebody still waits */
    LINK_ARENA = 4 << 20,
    DATABASE_MOST = 80
};

struct sql_link {
    int fd;
    struct leash leash;
    struct call *call;
    int64_t until_us;
    bool committing;          /* a commit was sent and is not answered */
    bool rows;                /* the last statement has rows that were not all read */
    bool fetching;            /* FETCH was sent: its rows come until MORE or END */
    struct sql_failure death; /* SQL_FAULT_NONE: it lives */
    struct buf out;
    struct buf message;   /* one that came in several frames */
    struct arena columns; /* of the result */
    struct datum *row;
    size_t column_count;
    size_t at, len;
    char database[DATABASE_MOST]; /* its name and version */
    char in[LINK_ROOM];
};

/* ---- a link that is lost ---- */

static const char *death_of(struct sql_link *l)
{
    static const char crashed[] = "the driver crashed", ended[] = "the driver ended its process";
    int status = 0;

    if (l->leash.fd < 0 || !leash_pull(&l->leash, &status))
        return ended;
    return WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL ? crashed : ended;
}

/* Kills the process and keeps why.  A commit that was not answered is in doubt. */
static bool link_lose(struct sql_link *l, enum sql_fault kind, bool hung, const char *why,
                      struct sql_failure *f)
{
    if (l->committing)
        (void)sql_fail(f, SQL_FAULT_DOUBT, "%s before the commit was answered", why);
    else
        (void)sql_fail(f, kind, "%s", why);
    f->hung = hung;
    l->committing = false;
    l->death = *f;
    if (l->leash.fd >= 0)
        leash_drop(&l->leash);
    return false;
}

static bool link_ended(struct sql_link *l, struct sql_failure *f)
{
    return link_lose(l, SQL_FAULT_TIME, false, death_of(l), f);
}

static bool link_broken(struct sql_link *l, struct sql_failure *f)
{
    return link_lose(l, SQL_FAULT_TIME, false, "the driver's process said what it must not say", f);
}

static bool is_dead_link(const struct sql_link *l, struct sql_failure *f)
{
    if (l->death.kind == SQL_FAULT_NONE)
        return false;
    *f = l->death;
    if (f->kind == SQL_FAULT_DOUBT) /* that was the commit; what is asked now did not happen */
        f->kind = SQL_FAULT_LOST;
    return true;
}

/* ---- the socket ---- */

/* False: it was lost meanwhile, and *f says why. */
static bool link_await(struct sql_link *l, short events, struct sql_failure *f)
{
    for (;;) {
        struct pollfd p = { .fd = l->fd, .events = events };
        int64_t left = l->until_us - clock_mono_us();

        if (call_is_given_up(l->call))
            return link_lose(l, SQL_FAULT_TIME, true, "nobody waits for the database any more", f);
        if (left <= 0)
            return link_lose(l, SQL_FAULT_TIME, true, "the database did not answer in time", f);
        int64_t ms = left / CLOCK_MS + 1;
        int ready = poll(&p, 1, (int)(ms < LOOK_MS ? ms : LOOK_MS));

        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return link_ended(l, f);
    }
}

static bool send_out(struct sql_link *l, struct sql_failure *f)
{
    struct str rest = buf_view(&l->out);

    while (rest.len > 0) {
        ssize_t n = send(l->fd, rest.ptr, rest.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            rest = str_from(rest, (size_t)n);
        else if (errno != EAGAIN && errno != EINTR)
            return link_ended(l, f);
        else if (!link_await(l, POLLOUT, f))
            return false;
        if (n > 0)
            call_alive(l->call);
    }
    buf_clear(&l->out);
    return true;
}

static bool link_take_frame(struct sql_link *l, struct frame *ret, struct sql_failure *f)
{
    for (;;) {
        struct str rest = str_mem(l->in + l->at, l->len - l->at);
        enum frame_take got = frame_take(&rest, ret);

        if (got == FRAME_MALFORMED)
            return link_broken(l, f);
        if (got == FRAME_TAKEN) {
            l->at = l->len - rest.len;
            return true;
        }
        memmove(l->in, l->in + l->at, l->len - l->at);
        l->len -= l->at;
        l->at = 0;
        if (!link_await(l, POLLIN, f))
            return false;
        ssize_t n = recv(l->fd, l->in + l->len, LINK_ROOM - l->len, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return link_ended(l, f);
        l->len += n > 0 ? (size_t)n : 0;
        call_alive(l->call);
    }
}

/* A whole message; its body is lent until the next one. */
static bool take_message(struct sql_link *l, struct frame *ret, struct sql_failure *f)
{
    struct err err = { 0 };

    if (!link_take_frame(l, ret, f))
        return false;
    if (ret->last)
        return true;
    enum frame_kind kind = ret->kind;

    buf_clear(&l->message);
    for (;;) {
        if (!buf_append(&l->message, ret->body, &err))
            return link_broken(l, f);
        if (ret->last)
            break;
        if (!link_take_frame(l, ret, f))
            return false;
        if (ret->kind != kind)
            return link_broken(l, f);
    }
    ret->body = buf_view(&l->message);
    return true;
}

/* The process says why something failed; without a connection it is of no use any more. */
static bool hear_failure(struct sql_link *l, struct str body, struct sql_failure *f)
{
    bool gone = false;

    if (!sql_wire_take_failure(body, f, &gone))
        return link_broken(l, f);
    l->rows = l->fetching = false;
    if (f->kind == SQL_FAULT_DOUBT && !l->committing)
        f->kind = SQL_FAULT_LOST;
    l->committing = false;
    if (gone || f->kind == SQL_FAULT_DOUBT)
        l->death = *f;
    return false;
}

/* An answer of this kind, or a failure. */
static bool hear(struct sql_link *l, enum sql_word word, struct frame *ret, struct sql_failure *f)
{
    if (!take_message(l, ret, f))
        return false;
    if ((int)ret->kind == SQL_WORD_FAILED)
        return hear_failure(l, ret->body, f);
    return (int)ret->kind == (int)word || link_broken(l, f);
}

static bool say(struct sql_link *l, enum sql_word word, struct sql_failure *f)
{
    frame_put(&l->out, (enum frame_kind)word, true, STR(""));
    return send_out(l, f);
}

/* ---- opening ---- */

/* The driver resolves the name itself, once more. */
static bool check_egress(const struct sql_place *place, const struct egress *e,
                         struct sql_failure *f)
{
    struct err why = { 0 };

    return egress_allows(e, place->server, &why) ||
           sql_fail(f, why.kind == ERR_CONFIG ? SQL_FAULT_CONFIG : SQL_FAULT_LOST, "%s", why.text);
}

static bool link_start(struct sql_link *l, struct sql_failure *f)
{
    struct err err = { 0 };
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return sql_fail(f, SQL_FAULT_LOST, "socketpair: %s", strerror(errno));
    l->fd = ends[0];
    bool started = keeper_start(KEEPER_DATABASE, ends[1], ends[1], &l->leash, &err);

    (void)close(ends[1]);
    return started || sql_fail(f, SQL_FAULT_LOST, "%s", err.text);
}

static bool introduce(struct sql_link *l, const struct sql_place *place, struct sql_failure *f)
{
    const char *drivers = getenv("ODBCSYSINI");
    int64_t seconds = (place->connect_us + CLOCK_S - 1) / CLOCK_S;
    char port[8], wait[24];
    struct frame frame;

    (void)snprintf(port, sizeof port, "%u", place->port);
    (void)snprintf(wait, sizeof wait, "%lld", (long long)seconds);
    const struct sql_wire_open o = { .connect = place->connect,
                                     .driver = place->driver,
                                     .file = place->file,
                                     .ca = place->ca,
                                     .drivers = drivers != NULL ? str_of(drivers) : STR(""),
                                     .port = str_of(port),
                                     .login_seconds = str_of(wait) };

    sql_wire_put_open(&l->out, &o);
    bool ok = send_out(l, f) && hear(l, SQL_WORD_OPENED, &frame, f);

    if (ok && str_is_utf8(frame.body) && !str_has_control(frame.body))
        (void)snprintf(l->database, sizeof l->database, "%.*s",
                       STR_ARG(str_first(frame.body, sizeof l->database - 1)));
    explicit_bzero(l->out.ptr, l->out.len);
    return ok;
}

/* MariaDB's driver connects in the clear to a server that has no TLS, whatever it was told: that is
 * found out before the first statement. */
static bool link_has_tls(struct sql_link *l, const struct sql_place *place, struct sql_failure *f)
{
    const struct datum *row = NULL;
    struct sql_result result;

    if (!place->tls ||
        (strcasestr(l->database, "mariadb") == NULL && strcasestr(l->database, "mysql") == NULL))
        return true;
    if (!sql_link_run(l, STR("SHOW SESSION STATUS LIKE 'Ssl_version'"), NULL, 0, &result, f) ||
        !sql_link_next(l, &row, f))
        return false;
    bool encrypted = row != NULL && result.column_count == 2 && row[1].bytes.len > 0;

    return sql_link_rollback(l, f) &&
           (encrypted || sql_fail(f, SQL_FAULT_LOST,
                                  "`dsn` asks for TLS, and the driver has connected without it: "
                                  "nothing is sent"));
}

bool sql_link_open(const struct sql_place *place, struct call *c, int64_t until_us,
                   struct sql_link **ret, struct sql_failure *f)
{
    if (!check_egress(place, c != NULL ? c->egress : NULL, f) || !sql_file_may_use(place, f)) {
        f->ours = f->kind == SQL_FAULT_CONFIG;
        return false;
    }
    struct sql_link *l = xmalloc(sizeof *l);
    int64_t connect_until = clock_mono_us() + place->connect_us;

    *l = (struct sql_link){ .fd = -1,
                            .leash.fd = -1,
                            .call = c,
                            .until_us = connect_until < until_us ? connect_until : until_us,
                            .out = BUF_INIT(FRAME_WHOLE_MOST * 2),
                            .message = BUF_INIT(SQL_WIRE_ROW_MOST),
                            .columns = ARENA_INIT(LINK_ARENA) };
    if (!link_start(l, f) || !introduce(l, place, f)) {
        sql_link_close(l);
        return false;
    }
    l->until_us = until_us;
    if (!link_has_tls(l, place, f)) {
        sql_link_close(l);
        return false;
    }
    *ret = l;
    return true;
}

void sql_link_set_pace(struct sql_link *l, struct call *c, int64_t until_us)
{
    l->call = c;
    l->until_us = until_us;
}

void sql_link_close(struct sql_link *l)
{
    if (l == NULL)
        return;
    if (l->leash.fd >= 0)
        leash_drop(&l->leash);
    if (l->fd >= 0)
        (void)close(l->fd);
    buf_done(&l->out);
    buf_done(&l->message);
    arena_done(&l->columns);
    free(l);
}

bool sql_link_is_lost(const struct sql_link *l)
{
    return l->death.kind != SQL_FAULT_NONE;
}

const char *sql_link_database(const struct sql_link *l)
{
    return l->database;
}

bool sql_link_is_open(struct sql_link *l)
{
    struct pollfd p = { .fd = l->fd, .events = POLLIN };

    return !sql_link_is_lost(l) && l->at == l->len && poll(&p, 1, 0) == 0;
}

/* ---- statements ---- */

struct flushing {
    struct sql_link *link;
    struct sql_failure *f;
};

static bool flush_link(void *arg)
{
    const struct flushing *to = arg;

    return send_out(to->link, to->f);
}

/* Reads what is left of rows that were asked for. */
static bool end_rows(struct sql_link *l, struct sql_failure *f)
{
    while (l->fetching) {
        struct frame frame;

        if (!take_message(l, &frame, f))
            return false;
        if ((int)frame.kind == SQL_WORD_MORE || (int)frame.kind == SQL_WORD_END)
            l->fetching = false;
        else if ((int)frame.kind == SQL_WORD_FAILED)
            return hear_failure(l, frame.body, f);
        else if ((int)frame.kind != SQL_WORD_ROW)
            return link_broken(l, f);
    }
    l->rows = false;
    return true;
}

static bool link_read_columns(struct sql_link *l, struct str body, struct sql_result *ret)
{
    uint64_t affected, count;

    arena_reset(&l->columns);
    if (!varint_take(&body, &affected) || !varint_take(&body, &count) || count > SQL_COLUMNS_MOST)
        return false;
    struct sql_field *columns = ARENA_ARRAY(&l->columns, struct sql_field, (size_t)count + 1);

    for (size_t i = 0; i < count; i++) {
        struct datum d;

        if (!sql_wire_take_datum(&body, &d) || d.bytes.len > FRAME_BODY_MOST / 100)
            return false;
        columns[i] = (struct sql_field){ arena_copy(&l->columns, d.bytes), d.kind };
        if (!str_is_utf8(columns[i].name))
            columns[i].name = STR("?");
    }
    l->row = ARENA_ARRAY(&l->columns, struct datum, (size_t)count + 1);
    l->column_count = (size_t)count;
    *ret = (struct sql_result){ columns, (size_t)count,
                                affected > INT64_MAX ? -1 : (int64_t)affected - 1 };
    return body.len == 0;
}

static bool link_ask(struct sql_link *l, enum sql_word word, struct str statement,
                     const struct datum *values, size_t count, struct sql_result *ret,
                     struct sql_failure *f)
{
    struct flushing to = { l, f };
    struct sql_wire_writer w = { .to = &l->out, .flush = flush_link, .arg = &to };
    struct frame frame;
    size_t size = 0;

    if (is_dead_link(l, f) || !end_rows(l, f))
        return false;
    for (size_t i = 0; i < count; i++)
        size += values[i].bytes.len;
    if (size > SQL_VALUE_MOST || statement.len > SQL_STATEMENT_MOST || count > SQL_PARAMETERS_MOST)
        return sql_fail(f, SQL_FAULT_LIMIT,
                        "the values of a statement have more than %d MiB together",
                        SQL_VALUE_MOST >> 20);
    sql_wire_begin(&w, word);
    sql_wire_text(&w, statement);
    sql_wire_number(&w, count);
    for (size_t i = 0; i < count; i++)
        sql_wire_datum(&w, &values[i]);
    if (!sql_wire_end(&w) || !send_out(l, f) || !hear(l, SQL_WORD_RESULT, &frame, f))
        return false;
    if (!link_read_columns(l, frame.body, ret))
        return link_broken(l, f);
    l->rows = word == SQL_WORD_RUN && l->column_count > 0;
    return true;
}

bool sql_link_run(struct sql_link *l, struct str statement, const struct datum *values,
                  size_t count, struct sql_result *ret, struct sql_failure *f)
{
    return link_ask(l, SQL_WORD_RUN, statement, values, count, ret, f);
}

bool sql_link_describe(struct sql_link *l, struct str statement, size_t count,
                       struct sql_result *ret, struct sql_failure *f)
{
    const struct datum values[SQL_PARAMETERS_MOST] = { 0 };

    return link_ask(l, SQL_WORD_DESCRIBE, statement, values, count, ret, f);
}

static bool link_read_row(struct sql_link *l, struct str body, const struct datum **ret,
                          struct sql_failure *f)
{
    for (size_t i = 0; i < l->column_count; i++)
        if (!sql_wire_take_datum(&body, &l->row[i]))
            return link_broken(l, f);
    if (body.len > 0)
        return link_broken(l, f);
    *ret = l->row;
    return true;
}

bool sql_link_next(struct sql_link *l, const struct datum **ret, struct sql_failure *f)
{
    *ret = NULL;
    if (is_dead_link(l, f))
        return false;
    while (l->rows) {
        struct frame frame;

        if (!l->fetching) {
            if (!say(l, SQL_WORD_FETCH, f))
                return false;
            l->fetching = true;
        }
        if (!take_message(l, &frame, f))
            return false;
        switch ((int)frame.kind) {
        case SQL_WORD_ROW:
            return link_read_row(l, frame.body, ret, f);
        case SQL_WORD_END:
            l->rows = l->fetching = false;
            break;
        case SQL_WORD_MORE:
            l->fetching = false;
            break;
        case SQL_WORD_FAILED:
            return hear_failure(l, frame.body, f);
        default:
            return link_broken(l, f);
        }
    }
    return true;
}

bool sql_link_commit(struct sql_link *l, struct sql_failure *f)
{
    struct frame frame;

    if (is_dead_link(l, f) || !end_rows(l, f))
        return false;
    l->committing = true;
    bool ok = say(l, SQL_WORD_COMMIT, f) && hear(l, SQL_WORD_DONE, &frame, f);

    l->committing = false;
    return ok;
}

bool sql_link_rollback(struct sql_link *l, struct sql_failure *f)
{
    struct frame frame;

    return !is_dead_link(l, f) && end_rows(l, f) && say(l, SQL_WORD_ROLLBACK, f) &&
           hear(l, SQL_WORD_DONE, &frame, f);
}

void sql_link_leave(struct sql_link *l)
{
    struct sql_failure f = { 0 };
    struct frame frame;

    if (!is_dead_link(l, &f) && end_rows(l, &f) && say(l, SQL_WORD_LEAVE, &f))
        (void)link_take_frame(l, &frame, &f); /* until it has ended */
    sql_link_close(l);
}
