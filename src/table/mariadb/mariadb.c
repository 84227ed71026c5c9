/* mariadb.c - MariaDB as a database of tables that are replicated (database.h).
 *
 * Rights that an account needs: SELECT on the tables; of a source also TRIGGER on them, which shows
 * its triggers, and PROCESS (mariadb_ceiling.c); of a destination INSERT, UPDATE and DELETE on them
 * and on waybill_applied.  The statements of a plan need those to create and drop.
 *
 * A session is strict, in UTC and READ COMMITTED, and of no mode that its server may have.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/egress.h"
#include "core/call.h"
#include "table/mariadb/mariadb.h"

enum { PLACE_ARENA = 64 << 10, LOCK_MOST_S = 10 };

#define CONNECT_US (10 * CLOCK_S) /* where nothing says how long */

/* ---- opening ---- */

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_init(void)
{
    (void)mysql_library_init(0, NULL, NULL);
}

/* The library counts in seconds. */
static unsigned mariadb_seconds(int64_t us)
{
    int64_t seconds = (us + CLOCK_S - 1) / CLOCK_S;

    return (unsigned)(seconds < 1 ? 1 : seconds > 86400 ? 86400 : seconds);
}

static void mariadb_set_options(MYSQL *my, const struct mariadb_place *p,
                                const struct database_address *address)
{
    int64_t connect_us = address->connect_timeout_us > 0 ? address->connect_timeout_us : CONNECT_US;
    unsigned wait = mariadb_seconds(address->timeout_us), connect = mariadb_seconds(connect_us);
    unsigned off = 0;
    unsigned long most = SHAPE_ROW_BYTES + (1UL << 20);
    my_bool yes = 1, verify = p->verify;

    (void)mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &connect);
    (void)mysql_options(my, MYSQL_OPT_READ_TIMEOUT, &wait);
    (void)mysql_options(my, MYSQL_OPT_WRITE_TIMEOUT, &wait);
    (void)mysql_options(my, MYSQL_OPT_MAX_ALLOWED_PACKET, &most);
    (void)mysql_options(my, MYSQL_OPT_LOCAL_INFILE, &off);
    (void)mysql_options(my, MYSQL_REPORT_DATA_TRUNCATION, &yes);
    (void)mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (p->tls)
        (void)mysql_options(my, MYSQL_OPT_SSL_ENFORCE, &yes);
    if (p->ca[0] != '\0')
        (void)mysql_options(my, MYSQL_OPT_SSL_CA, p->ca);
    (void)mysql_options(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

static bool packet_take(void *arg, const struct cell *cells, struct err *err)
{
    struct database *d = arg;
    int64_t most = cells[0].i;

    (void)err;
    d->packet = most > 64 << 10 ? (size_t)most - (16 << 10) : 48 << 10;
    if (d->packet > 4 << 20 && d->packet < SHAPE_ROW_BYTES)
        return true;
    if (d->packet > SHAPE_ROW_BYTES)
        d->packet = SHAPE_ROW_BYTES;
    return true;
}

static bool mariadb_begin_session(struct database *d, int64_t timeout_us, struct err *err)
{
    static const enum mariadb_kind kind = MARIADB_INT;
    const struct mariadb_ask packet = { .sql = STR("SELECT @@max_allowed_packet"),
                                        .kinds = &kind,
                                        .column_count = 1,
                                        .fn = packet_take,
                                        .arg = d };
    int64_t seconds = timeout_us / CLOCK_S / 2;
    char sql[1024];

    /* A lock ends before the silence does: then the connection stays. */
    (void)snprintf(sql, sizeof sql,
                   "SET SESSION sql_mode = 'STRICT_ALL_TABLES,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,"
                   "NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,"
                   "NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES', time_zone = '+00:00',"
                   " innodb_lock_wait_timeout = %lld, lock_wait_timeout = %lld,"
                   " net_write_timeout = %lld, net_read_timeout = %lld,"
                   " autocommit = 1, foreign_key_checks = 1,"
                   " unique_checks = 1, sql_safe_updates = 0, sql_select_limit = DEFAULT",
                   (long long)(seconds < 1             ? 1
                               : seconds > LOCK_MOST_S ? LOCK_MOST_S
                                                       : seconds),
                   (long long)(seconds < 1             ? 1
                               : seconds > LOCK_MOST_S ? LOCK_MOST_S
                                                       : seconds),
                   (long long)(timeout_us / CLOCK_S + 1), (long long)(timeout_us / CLOCK_S + 1));
    return mariadb_run(d, STR("SET NAMES utf8mb4 COLLATE utf8mb4_bin"), err) &&
           mariadb_run(d, STR("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"), err) &&
           mariadb_run(d, str_of(sql), err) && mariadb_ask(d, &packet, err);
}

static void mariadb_close(struct database *d)
{
    if (d == NULL)
        return;
    mariadb_forget_statements(d);
    if (d->my != NULL)
        mysql_close(d->my); /* the server rolls back what is open */
    arena_done(&d->row);
    buf_done(&d->sights_of);
    free(d);
}

static bool mariadb_reach(struct database *d, const struct mariadb_place *p,
                          const struct database_address *address, struct err *err)
{
    d->my = mysql_init(NULL);
    if (d->my == NULL)
        return err_set(err, ERR_TRANSIENT, 0, "no memory for a connection");
    mariadb_set_options(d->my, p, address);
    if (mysql_real_connect(d->my, p->socket[0] != '\0' ? NULL : p->host, p->user, p->password,
                           p->database, p->port, p->socket[0] != '\0' ? p->socket : NULL,
                           0) == NULL)
        return mariadb_failed(d, err);
    if (p->tls && mysql_get_ssl_cipher(d->my) == NULL)
        return err_set(err, ERR_CONFIG, 0, "`dsn` asks for TLS, and the server has none");
    return mariadb_begin_session(d, address->timeout_us, err);
}

static bool mariadb_open(const struct database_address *address, struct database **ret,
                         struct err *err)
{
    struct arena a = ARENA_INIT(PLACE_ARENA);
    struct mariadb_place place;
    struct database *d = NEW(struct database);

    *d = (struct database){ .call = address->call,
                            .timeout_us = address->timeout_us,
                            .row = ARENA_INIT(2 * SHAPE_ROW_BYTES),
                            .sights_of = BUF_INIT(2 * SHAPE_NAME_MOST) };
    for (size_t i = 0; i < MARIADB_STATEMENTS; i++)
        d->statements[i].sql = (struct buf)BUF_INIT(MARIADB_SQL_MOST);
    (void)pthread_once(&library_once, library_init);
    bool ok =
        address->dsn.len < PLACE_ARENA / 16 || err_set(err, ERR_CONFIG, 0, "`dsn` is too long");

    ok = ok && mariadb_place_read(address->dsn, &a, &place, err) &&
         (place.socket[0] != '\0' || address->call == NULL ||
          egress_allows(address->call->egress, str_of(place.host), err)) &&
         mariadb_reach(d, &place, address, err);
    arena_done(&a);
    if (ok)
        *ret = d;
    else
        mariadb_close(d);
    return ok;
}

static void mariadb_lend(struct database *d, struct call *call)
{
    d->call = call;
}

static bool mariadb_broken(const struct database *d)
{
    return d->lost;
}

/* ---- transactions ---- */

static bool mariadb_origin(struct database *d, struct str origin, int64_t at_us, struct err *err)
{
    struct cell values[] = { mariadb_text(origin), mariadb_int(at_us) };

    if (origin.len == 0)
        values[0].type = CELL_NULL;
    if (at_us == 0)
        values[1].type = CELL_NULL;
    if (!mariadb_tell(d, STR("SET @waybill_origin = ?, @waybill_at = ?"), values, 2, NULL, err))
        return false;
    d->has_origin = origin.len > 0 || at_us != 0;
    return true;
}

static bool mariadb_begin(struct database *d, enum database_mode mode, struct err *err)
{
    static const struct str starts[] = {
        [DATABASE_READ] = { "START TRANSACTION READ ONLY", 27 },
        [DATABASE_SNAPSHOT] = { "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", 53 },
        [DATABASE_WRITE] = { "START TRANSACTION READ WRITE", 28 },
    };

    if (d->has_origin && !mariadb_origin(d, STR(""), 0, err))
        return false;
    if (mode == DATABASE_SNAPSHOT &&
        !mariadb_run(d, STR("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), err))
        return false;
    if (!mariadb_run(d, starts[mode], err))
        return false;
    d->open = true;
    d->writing = mode == DATABASE_WRITE;
    return true;
}

static bool mariadb_commit(struct database *d, struct err *err)
{
    bool ok = mysql_real_query(d->my, "COMMIT", 6) == 0, writing = d->writing;

    d->open = d->writing = false;
    if (ok)
        return true;
    (void)mariadb_failed(d, err);
    if (writing && d->lost)
        err->kind = ERR_UNCERTAIN;
    return false;
}

static void mariadb_rollback(struct database *d)
{
    bool open = d->open;

    d->open = d->writing = false;
    if (open && !d->lost && mysql_real_query(d->my, "ROLLBACK", 8) != 0)
        d->lost = true;
}

static bool mariadb_save(struct database *d, struct err *err)
{
    return mariadb_run(d, STR("SAVEPOINT waybill"), err);
}

static bool mariadb_back(struct database *d, struct err *err)
{
    return mariadb_run(d, STR("ROLLBACK TO SAVEPOINT waybill"), err);
}

/* ---- the driver ---- */

static const struct option mariadb_keys[] = {
    OPTION(
        "dsn", OPT_SECRET,
        "where it is: mariadb://USER:PASSWORD@HOST:PORT/DATABASE?socket=/PATH&tls=verify&ca=/PATH",
        .flags = OPT_REQUIRED),
    OPTION("connect_timeout", OPT_DURATION, "how long connecting may take", .fallback = "10s",
           .least = CLOCK_S),
    OPTION("timeout", OPT_DURATION, "how long the server may be silent", .fallback = "60s",
           .least = CLOCK_S),
    { 0 },
};

const struct database_type database_mariadb = {
    .kind = { .name = "mariadb",
              .help = "a database of a MariaDB server, its tables kept by InnoDB",
              .keys = mariadb_keys,
              .example = "databases:\n"
                         "  shop: { kind: mariadb, dsn: \"${secret:shop-db}\" }\n" },
    .open = mariadb_open,
    .close = mariadb_close,
    .broken = mariadb_broken,
    .lend = mariadb_lend,
    .describe = mariadb_describe,
    .begin = mariadb_begin,
    .commit = mariadb_commit,
    .rollback = mariadb_rollback,
    .save = mariadb_save,
    .back = mariadb_back,
    .plan_capture = mariadb_plan_capture,
    .plan_capture_removal = mariadb_plan_capture_removal,
    .look = mariadb_look,
    .ceiling = mariadb_ceiling,
    .changes = mariadb_changes,
    .changes_of = mariadb_changes_of,
    .backlog = mariadb_backlog,
    .pruned = mariadb_pruned,
    .prune = mariadb_prune,
    .rows = mariadb_rows,
    .rows_of = mariadb_rows_of,
    .count = mariadb_count,
    .find = mariadb_find,
    .plan_mark = mariadb_plan_mark,
    .plan_mark_removal = mariadb_plan_mark_removal,
    .mark_get = mariadb_mark_get,
    .mark_put = mariadb_mark_put,
    .mark_drop = mariadb_mark_drop,
    .origin = mariadb_origin,
    .upsert = mariadb_upsert,
    .add = mariadb_add,
    .remove = mariadb_remove,
    .run_ddl = mariadb_run,
};
