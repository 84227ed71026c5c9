#include "store/db/pg_connect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/pq_address.h"
#include "base/require.h"
#include "base/str.h"
#include "core/lease_time.h"
#include "store/db/db.h"
#include "store/db/pg_lineage.h"

/* ---- connecting ---- */

/* Connection parameters; the address may override those that are not fixed. */
static const struct {
    const char *name, *value;
    bool fixed;
} parameters[] = {
    { "client_encoding", "UTF8", true },
    { "application_name", "waybill", false },
    { "connect_timeout", "5", false },
    { "keepalives", "1", false },
    { "keepalives_idle", "5", false },
    { "keepalives_interval", "2", false },
    { "keepalives_count", "3", false },
    { "tcp_user_timeout", "10000", false },
    { "target_session_attrs", "read-write", true },
};
enum {
    PARAMETERS = sizeof parameters / sizeof parameters[0],
    GIVEN_MOST = 64,
    LISTS = 3,       /* is_list() */
    LIST_ITEM = 1100 /* longer than any host name or path of a socket */
};

static void free_options(PQconninfoOption **options)
{
    PQconninfoFree(*options);
}

static bool not_connected(PGconn *conn, const PQconninfoOption *options, struct err *err)
{
    char text[400];

    (void)snprintf(text, sizeof text, "%s", PQerrorMessage(conn));
    pq_address_hide(options, text);
    return err_set(err, ERR_TRANSIENT, 0, "the database cannot be reached: %s", text);
}

static size_t items_of(const char *list)
{
    size_t n = 1;

    for (; (list = strchr(list, ',')) != NULL; list++)
        n++;
    return n;
}

/* An item of a list that is separated by commas; a list of one is for all servers. */
static const char *item_of(const char *list, size_t at, char *room, size_t size)
{
    for (size_t i = items_of(list) > 1 ? at : 0; i > 0; i--)
        list = strchr(list, ',') + 1;
    (void)snprintf(room, size, "%.*s", (int)strcspn(list, ","), list);
    return room;
}

static bool count_servers(const PQconninfoOption *options, size_t *ret, struct err *err)
{
    size_t hosts = items_of(pq_address_given(options, "host")),
           ports = items_of(pq_address_given(options, "port")),
           addresses = items_of(pq_address_given(options, "hostaddr"));

    *ret = hosts > addresses ? hosts : addresses;
    if ((ports == 1 || ports == *ret) && (hosts == 1 || hosts == *ret) &&
        (addresses == 1 || addresses == *ret))
        return true;
    return err_set(err, ERR_CONFIG, EINVAL,
                   "the address of the database names %zu hosts and %zu ports", *ret, ports);
}

static bool is_list(const char *name)
{
    return strcmp(name, "host") == 0 || strcmp(name, "hostaddr") == 0 || strcmp(name, "port") == 0;
}

static bool connect_to(const PQconninfoOption *options, size_t server, PGconn **ret,
                       struct err *err)
{
    const char *names[GIVEN_MOST + PARAMETERS + 1], *values[GIVEN_MOST + PARAMETERS + 1];
    char lists[LISTS][LIST_ITEM];
    size_t n = 0, cut = 0;

    for (size_t i = 0; i < PARAMETERS; i++) {
        const char *own = pq_address_given(options, parameters[i].name);

        names[n] = parameters[i].name;
        values[n++] = parameters[i].fixed || *own == '\0' ? parameters[i].value : own;
    }
    for (const PQconninfoOption *o = options; o->keyword != NULL; o++) {
        bool ours = false;

        for (size_t i = 0; i < PARAMETERS; i++)
            ours = ours || strcmp(o->keyword, parameters[i].name) == 0;
        if (ours || o->val == NULL)
            continue;
        require(n < GIVEN_MOST + PARAMETERS);
        names[n] = o->keyword;
        values[n++] =
            is_list(o->keyword) ? item_of(o->val, server, lists[cut++], LIST_ITEM) : o->val;
    }
    names[n] = values[n] = NULL;
    PGconn *conn = PQconnectdbParams(names, values, 0);

    require(conn != NULL);
    if (PQstatus(conn) != CONNECTION_OK || PQsetnonblocking(conn, 1) != 0) {
        (void)not_connected(conn, options, err);
        PQfinish(conn);
        return false;
    }
    *ret = conn;
    return true;
}

bool pg_connect(const char *url, pg_take *take, void *arg, struct err *passed_over, struct err *err)
{
    AUTO(free_options) PQconninfoOption *options = NULL;
    struct err first = { 0 }, refused = { 0 };
    size_t servers;

    if (!pq_address_parse(url, &options, err) || !count_servers(options, &servers, err))
        return false;
    for (size_t i = 0; i < servers; i++) {
        struct err why = { 0 };
        PGconn *conn;

        if (connect_to(options, i, &conn, &why)) {
            if (take(arg, conn, &why))
                return true;
            refused = why;
        }
        if (why.sys == PG_PASSED_OVER)
            *passed_over = why;
        if (first.kind == ERR_NONE)
            first = why;
    }
    *err = refused.kind != ERR_NONE ? refused : first;
    return false;
}

/* Sequential scans are off, because tables begin empty and the plans of that time are kept.  Merge
 * joins are off for writers, which look rows up by keys only (sql.h): a merge join reads a whole
 * index.  JIT is off, because a plan that still needs a sequential scan is estimated so expensive
 * that it would always be compiled.
 *
 * A writer's time limits are shorter than a lease: a node that freezes inside a transaction loses
 * it and its locks before the node itself is given up, and who waits for such a lock outlasts that.
 */
_Static_assert(LEASE_TTL_US > 8 * 1000000, "the limits of a writer are below the lease");

void pg_settings(bool reader, struct pg_setting ret[static PG_SETTINGS])
{
    const char *lower = fault_switch("WAYBILL_TEST_SYNCHRONOUS");
    const struct pg_setting settings[PG_SETTINGS] = {
        { "synchronous_commit", lower != NULL ? lower : "on" },
        { "default_transaction_isolation", "read committed" },
        { "default_transaction_read_only", reader ? "on" : "off" },
        { "plan_cache_mode", "force_generic_plan" },
        { "enable_seqscan", "off" },
        { "enable_hashjoin", "on" }, /* joins rows that were found by key, some hundreds */
        { "enable_mergejoin", reader ? "on" : "off" },
        { "jit", "off" },
        { "statement_timeout", reader ? "2s" : "8s" },
        { "lock_timeout", reader ? "2s" : "6s" },
        { "idle_in_transaction_session_timeout", reader ? "8s" : "4s" },
        { "client_min_messages", "warning" },
    };

    memcpy(ret, settings, sizeof settings);
}

/* ---- waiting and failing ---- */

bool pg_lost(PGconn *conn, struct err *err)
{
    const char *why = PQerrorMessage(conn); /* several lines; the first has the reason */

    return err_set(err, ERR_TRANSIENT, DB_AGAIN, "the connection to the database was lost: %.*s",
                   (int)strcspn(why, "\n"), why);
}

bool pg_wait(PGconn *conn, int64_t wait_us, struct err *err)
{
    int64_t until = clock_mono_us() + wait_us;

    for (;;) {
        int unsent = PQflush(conn);

        if (unsent < 0)
            break;
        if (PQisBusy(conn) == 0)
            return true;
        int64_t left = until - clock_mono_us();
        struct pollfd p = { .fd = PQsocket(conn),
                            .events = (short)(POLLIN | (unsent > 0 ? POLLOUT : 0)) };

        if (wait_us > 0 && left <= 0)
            return err_set(err, ERR_TRANSIENT, DB_AGAIN, "the database does not answer");
        if (poll(&p, 1, wait_us > 0 ? (int)(left / CLOCK_MS) + 1 : -1) < 0 && errno != EINTR)
            break;
        if ((p.revents & ~POLLOUT) != 0 && PQconsumeInput(conn) == 0)
            break;
    }
    return pg_lost(conn, err);
}

bool pg_send_all(PGconn *conn, int64_t wait_us, struct err *err)
{
    int64_t until = clock_mono_us() + wait_us;
    int unsent;

    while ((unsent = PQflush(conn)) > 0) {
        struct pollfd p = { .fd = PQsocket(conn), .events = POLLIN | POLLOUT };
        int64_t left = until - clock_mono_us();

        if (left <= 0)
            return err_set(err, ERR_TRANSIENT, DB_AGAIN, "the database takes no more");
        if (poll(&p, 1, (int)(left / CLOCK_MS) + 1) < 0 && errno != EINTR)
            break;
        /* A server whose answers are not read stops reading. */
        if ((p.revents & ~POLLOUT) != 0 && PQconsumeInput(conn) == 0)
            break;
    }
    if (unsent == 0)
        return true;
    return pg_lost(conn, err);
}

static bool is_in(const char *state, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strncmp(state, *list, strlen(*list)) == 0)
            return true;
    return false;
}

/* SQLSTATEs, or their classes, that are not a fault of the statement. */
static const char *const not_now[] = { "53",    "57",
                                       "58",    "55P03", /* resources, operator, system, lock */
                                       "25006", NULL };
/* The session has ended, was given to another client (by a pooler), or is on a server that accepts
 * no writes. */
static const char *const session_over[] = { "08", "57P0", "26000", "25006", "25P03", NULL };
/* A conflict with another transaction: a second try sees the result of that one. */
static const char *const lost_against_another[] = { "40001", "40P01", "23505", "42P07", NULL };

/* A page or an index is not what it must be: no statement can help. */
static const char *const damaged[] = { "XX001", "XX002", NULL };

bool pg_failed(PGconn *conn, const PGresult *result, enum sql_id id, bool *ret_lost,
               struct err *err)
{
    const char *name = id < SQL_COUNT ? sql_postgresql[id].name : "script";
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *why = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    *ret_lost = state == NULL || PQstatus(conn) != CONNECTION_OK;
    if (state == NULL || why == NULL)
        return err_set(err, ERR_TRANSIENT, DB_AGAIN, "%s: the connection to the database was lost",
                       name);
    if (strcmp(state, "53100") == 0)
        return err_set(err, ERR_LIMIT, ENOSPC, "%s: no space left for the database", name);
    if (id == SQL_NODE_ENTER && strcmp(state, "22012") == 0)
        return err_set(err, ERR_TRANSIENT, 0, "this node was declared dead");
    if (is_in(state, damaged))
        return err_set(err, ERR_PERMANENT, DB_DAMAGED, "%s: the database is damaged: %s (%s)", name,
                       why, state);
    bool no_table = strcmp(state, "42P01") == 0; /* it went with its day */

    if (no_table && (id == SQL_PAYLOAD_GET || id == SQL_PAYLOAD_PIECE_GET))
        return err_set(err, ERR_PERMANENT, ENOENT, "the payload is not in the store");
    *ret_lost = *ret_lost || is_in(state, session_over);
    /* Retention looked for the table before another node dropped it. */
    bool dropped = no_table && (id == SQL_RETAIN_PIECES || id == SQL_RETAIN_PAYLOAD);
    bool again = *ret_lost || dropped || is_in(state, lost_against_another);
    bool tidied = no_table && (id == SQL_PAYLOAD_LEFT || id == SQL_PIECE_LEFT);
    bool passes = *ret_lost || tidied || is_in(state, not_now) || strncmp(state, "40", 2) == 0;

    return err_set(err, passes ? ERR_TRANSIENT : ERR_PERMANENT, again ? DB_AGAIN : 0, "%s: %s (%s)",
                   name, why, state);
}
