/* postgres_connect.c - a connection to a PostgreSQL of others, and how its session is set up.
 *
 * Connecting does not block for longer than it may, and asks before anything is sent whether the
 * address is one that this node may speak to.  A message never has the password.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/egress.h"
#include "base/pq_address.h"
#include "base/require.h"
#include "core/call.h"
#include "table/postgres/postgres.h"

enum { DSN_MOST = 8192, OPTIONS_MOST = 80, MEMORY_MOST = 4 << 20 };

#define CONNECT_US (10 * CLOCK_S) /* where the address does not say */
#define LOCK_US    (10 * CLOCK_S) /* how long a lock is waited for, at most */
#define SLICE_US   (250 * CLOCK_MS)

/* Parameters of ours; an address may say its own of those that are not fixed. */
static const struct {
    const char *name, *value;
    bool fixed;
} postgres_parameters[] = {
    { "client_encoding", "UTF8", true },   { "application_name", "waybill", false },
    { "keepalives", "1", false },          { "keepalives_idle", "10", false },
    { "keepalives_interval", "5", false }, { "keepalives_count", "3", false },
};
enum { PARAMETERS = sizeof postgres_parameters / sizeof postgres_parameters[0] };

/* ---- the address ---- */

static bool postgres_parse(struct str dsn, PQconninfoOption **ret, struct err *err)
{
    char text[DSN_MOST];

    if (dsn.len == 0 || dsn.len >= sizeof text || memchr(dsn.ptr, '\0', dsn.len) != NULL)
        return err_set(err, ERR_CONFIG, EINVAL, "the address of the database is empty or no text");
    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(dsn));
    bool ok = pq_address_parse(text, ret, err);

    memset(text, 0, sizeof text);
    return ok;
}

/* The SQLSTATE in a message of a login that the server has refused, "FATAL:  28P01: ..."; libpq has
 * no other place for it.  NULL: there is none. */
static const char *postgres_login_state(const char *text)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    while ((text = strstr(text, ":  ")) != NULL) {
        text += 3;
        if (strspn(text, letters) == 5 && text[5] == ':')
            return text;
    }
    return NULL;
}

static bool postgres_unreached(PGconn *conn, const PQconninfoOption *options, struct err *err)
{
    char text[800];

    (void)snprintf(text, sizeof text, "%s", PQerrorMessage(conn));
    pq_address_hide(options, text);
    const char *state = postgres_login_state(text);
    bool config = state != NULL ? strncmp(state, "28", 2) == 0 || strncmp(state, "3D", 2) == 0 ||
                                      strncmp(state, "42501", 5) == 0
                                : strstr(text, "no password supplied") != NULL;

    text[strcspn(text, "\r\n")] = '\0';
    return err_set(err, config ? ERR_CONFIG : ERR_TRANSIENT, 0, "it cannot be reached: %s", text);
}

/* ---- connecting ---- */

static PGconn *postgres_start(const PQconninfoOption *options)
{
    const char *names[OPTIONS_MOST + PARAMETERS + 1], *values[OPTIONS_MOST + PARAMETERS + 1];
    size_t n = 0;

    for (size_t i = 0; i < PARAMETERS; i++) {
        const char *own = pq_address_given(options, postgres_parameters[i].name);

        names[n] = postgres_parameters[i].name;
        values[n++] =
            postgres_parameters[i].fixed || *own == '\0' ? postgres_parameters[i].value : own;
    }
    for (const PQconninfoOption *o = options; o->keyword != NULL; o++) {
        bool ours = o->val == NULL;

        for (size_t i = 0; i < PARAMETERS; i++)
            ours = ours || strcmp(o->keyword, postgres_parameters[i].name) == 0;
        if (ours)
            continue;
        require(n < OPTIONS_MOST + PARAMETERS);
        names[n] = o->keyword;
        values[n++] = o->val;
    }
    names[n] = values[n] = NULL;
    PGconn *conn = PQconnectStartParams(names, values, 0);

    require(conn != NULL);
    (void)PQsetErrorVerbosity(conn, PQERRORS_VERBOSE); /* postgres_login_state() */
    return conn;
}

static bool postgres_may_connect(const struct postgres *p, const PQconninfoOption *options,
                                 struct err *err)
{
    const char *address = pq_address_given(options, "hostaddr");
    const char *servers = *address != '\0' ? address : pq_address_given(options, "host");

    return p->call == NULL || egress_allows(p->call->egress, str_of(servers), err);
}

/* Before anything is sent to it: the name may be that of another address by now. */
static bool postgres_may_reach(const struct postgres *p, struct err *err)
{
    struct sockaddr_storage to;
    socklen_t size = sizeof to;

    if (p->call == NULL || p->call->egress == NULL || PQsocket(p->conn) < 0 ||
        getpeername(PQsocket(p->conn), (struct sockaddr *)&to, &size) != 0)
        return true;
    const char *bars = egress_bars(p->call->egress, (const struct sockaddr *)&to);

    return bars == NULL || err_set(err, ERR_CONFIG, EACCES, "nothing is sent there: %s", bars);
}

static bool postgres_connect(struct postgres *p, const PQconninfoOption *options, int64_t wait_us,
                             struct err *err)
{
    int64_t until = clock_mono_us() + wait_us;
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;

    p->conn = postgres_start(options);
    if (PQstatus(p->conn) == CONNECTION_BAD)
        return postgres_unreached(p->conn, options, err);
    while (state != PGRES_POLLING_OK) {
        int64_t left = until - clock_mono_us();
        struct pollfd f = { .fd = PQsocket(p->conn),
                            .events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT };

        if (left <= 0)
            return err_set(err, ERR_TRANSIENT, ETIMEDOUT, "it cannot be reached: no answer");
        if (call_is_over(p->call))
            return err_set(err, ERR_TRANSIENT, ECANCELED, "it is not wanted any more");
        int n = poll(&f, 1, (int)((left < SLICE_US ? left : SLICE_US) / CLOCK_MS) + 1);

        if (n == 0 || (n < 0 && errno == EINTR))
            continue;
        if (!postgres_may_reach(p, err))
            return false;
        state = PQconnectPoll(p->conn);
        if (state == PGRES_POLLING_FAILED)
            return postgres_unreached(p->conn, options, err);
    }
    return PQsetnonblocking(p->conn, 1) == 0 || postgres_unreached(p->conn, options, err);
}

/* ---- the session ---- */

/* Where a policy would hide rows from this role, statements fail: a row that is hidden is not gone.
 * Who waits for a lock lets others wait behind it, so it does not wait for long.
 * TimeZone and so on by SET, so that what the server has of itself can still be asked for
 * (reset_val of pg_settings). */
static bool postgres_set_up(struct postgres *p, struct err *err)
{
    long long ms = p->timeout_us / CLOCK_MS;
    long long lock_ms = (p->timeout_us < LOCK_US ? p->timeout_us : LOCK_US) / CLOCK_MS;
    char sql[1000];

    if (PQserverVersion(p->conn) < 130000)
        return err_set(err, ERR_CONFIG, 0, "PostgreSQL %d is too old: 13 or newer is needed",
                       PQserverVersion(p->conn) / 10000);
    (void)snprintf(sql, sizeof sql,
                   "SET jit = off; SET timezone = 'UTC'; SET datestyle = 'ISO'; "
                   "SET extra_float_digits = 3; SET bytea_output = 'hex'; "
                   "SET standard_conforming_strings = on; SET client_min_messages = warning; "
                   "SET row_security = off; "
                   "SET statement_timeout = %lld; SET lock_timeout = %lld; "
                   "SET idle_in_transaction_session_timeout = %lld",
                   ms, lock_ms, 2 * ms);
    return postgres_run(p, sql, err);
}

/* libpq says what the server tells beside its answers on stderr. */
static void postgres_no_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

bool postgres_open(const struct database_address *address, struct database **ret, struct err *err)
{
    PQconninfoOption *options;
    int64_t wait_us = address->connect_timeout_us > 0 ? address->connect_timeout_us : CONNECT_US;

    if (!postgres_parse(address->dsn, &options, err))
        return false;
    struct postgres *p = NEW(struct postgres);

    *p = (struct postgres){ .timeout_us =
                                address->timeout_us > 0 ? address->timeout_us : 60 * CLOCK_S,
                            .call = address->call,
                            .memory = ARENA_INIT(MEMORY_MOST),
                            .row = ARENA_INIT(POSTGRES_ROW_ARENA),
                            .sql = BUF_INIT(POSTGRES_SQL_MOST),
                            .late_name = BUF_INIT(4096) };
    p->name = arena_copy(&p->memory, address->name);
    bool ok = postgres_may_connect(p, options, err) && postgres_connect(p, options, wait_us, err);

    PQconninfoFree(options);
    if (ok) {
        (void)PQsetNoticeReceiver(p->conn, postgres_no_notice, NULL);
        ok = postgres_set_up(p, err);
    }
    if (!ok) {
        postgres_close((struct database *)(void *)p);
        return false;
    }
    *ret = (struct database *)(void *)p;
    return true;
}

/* The server rolls back what is open. */
void postgres_close(struct database *d)
{
    struct postgres *p = postgres_of(d);

    if (p == NULL)
        return;
    if (p->conn != NULL)
        PQfinish(p->conn);
    postgres_drop_kept(p);
    arena_done(&p->memory);
    arena_done(&p->row);
    buf_done(&p->sql);
    buf_done(&p->late_name);
    free(p);
}
