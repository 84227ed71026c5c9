#include "sql/sql_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/call.h"
#include "core/probing/probing_net.h"
#include "sql/sql_file.h"
#include "sql/sql_names.h"

enum {
    DIAL_US = 3 * CLOCK_S, /* kept for finding out where a connection fails */
    LEAST_US = CLOCK_S,
    NUMBER_DATABASE = 1049,     /* of MariaDB: unknown database */
    NUMBER_NOT_THIS = 1044,     /* ... not this user in this database */
    NUMBER_NOT_PREPARED = 1295, /* ... this command cannot be */
    NUMBER_TLS = 2026
};

#define DRIVER_REMEDY                                                                  \
    "install the package of the driver on this machine, or correct `Driver` in `dsn` " \
    "(docs/sql.md)"
#define LOGIN_REMEDY "check `UID` and `PWD` in `dsn`, and that the server lets them in from here"
#define DATABASE_REMEDY \
    "create it, or correct `Database` in `dsn`; check that the user may connect to it"
#define FILE_REMEDY "check `Database` in `dsn`; a new database is made first, by its owner"
#define OURS_REMEDY "correct `dsn`, or the node's settings (docs/reach.md)"
#define TLS_REMEDY  "check the settings of TLS in `dsn` and those of the server (docs/sql.md)"
#define STUCK_REMEDY \
    "check whether the database is stuck, and that `Port` in `dsn` is that of a database"
#define RIGHTS_REMEDY "grant it to the user of `dsn`"

/* ---- opening ---- */

static bool said_any(const struct sql_failure *f, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(f->text, parts[i]) != NULL)
            return true;
    return false;
}

static bool is_about_database(const struct sql_failure *f)
{
    return f->native == NUMBER_DATABASE || f->native == NUMBER_NOT_THIS ||
           (strstr(f->text, "database \"") != NULL && strstr(f->text, "does not exist") != NULL) ||
           strstr(f->text, "permission denied for database") != NULL;
}

static bool is_about_tls(const struct sql_failure *f)
{
    static const char *const parts[] = { "SSL", "TLS", "certificate" };

    return f->native == NUMBER_TLS || (said_any(f, parts, sizeof parts / sizeof parts[0]) &&
                                       strstr(f->text, "pg_hba.conf") == NULL);
}

/* A server at a port of a host, which can be connected to without its driver. */
static bool has_port(const struct sql_place *place)
{
    return place->server.len > 0 && place->server.ptr[0] != '/' && place->port != 0 &&
           str_find(place->server, ',') < 0;
}

static void pass_connect(const struct sql_place *place, struct probing *p)
{
    if (place->file.len > 0)
        (void)probing_pass(p, "database", "%.*s", STR_ARG(place->file));
    else if (place->server.len > 0 && place->server.ptr[0] != '/')
        (void)probing_pass(p, "connect", "%.*s, port %u", STR_ARG(place->server),
                           (unsigned)place->port);
    else
        (void)probing_pass(p, "connect", "by a socket of this machine");
}

/* It was not reached, or says nothing: the way there, without the driver, tells more. */
static bool fail_reach(const struct sql_place *place, struct call *c, struct probing *p,
                       const struct sql_failure *f)
{
    AUTO_TEXT host = strndup(place->server.ptr != NULL ? place->server.ptr : "", place->server.len);

    if (place->file.len > 0)
        return probing_fail(p, "database", FILE_REMEDY, "%s", f->text);
    if (!has_port(place) || host == NULL)
        return probing_fail(p, "connect", "check `Server`, `Port` and `Socket` in `dsn`", "%s",
                            f->text);
    if (!probing_dial(host, place->port, place->connect_us, c != NULL ? c->egress : NULL, c, p))
        return false;
    if (f->hung)
        return probing_fail(p, "login", STUCK_REMEDY,
                            "the server takes the connection and does not answer: %s", f->text);
    return probing_fail(p, "login", STUCK_REMEDY, "%s", f->text);
}

static bool fail_open(const struct sql_place *place, struct call *c, struct probing *p,
                      const struct sql_failure *f)
{
    if (f->kind == SQL_FAULT_CONFIG)
        return f->ours ? probing_fail(p, place->file.len > 0 ? "database" : "connect", OURS_REMEDY,
                                      "%s", f->text)
                       : probing_fail(p, "driver", DRIVER_REMEDY, "%s", f->text);
    if (f->kind == SQL_FAULT_TIME && !f->hung)
        return probing_fail(p, "driver", "update the driver, or use another one", "%s", f->text);
    (void)probing_pass(p, "driver", "%.*s is installed", STR_ARG(place->driver));
    if (is_about_database(f) || f->kind == SQL_FAULT_LOGIN) {
        pass_connect(place, p);
        return is_about_database(f) ? probing_fail(p, "database", DATABASE_REMEDY, "%s", f->text)
                                    : probing_fail(p, "login", LOGIN_REMEDY, "%s", f->text);
    }
    if (is_about_tls(f) && place->file.len == 0) {
        pass_connect(place, p);
        return probing_fail(p, "TLS", TLS_REMEDY, "%s", f->text);
    }
    return fail_reach(place, c, p, f);
}

/* SQLite would make a file that is missing.  Whether there is one is told only of a place that the
 * node may use. */
static bool is_there(const struct sql_place *place, struct probing *p)
{
    struct sql_failure f = { 0 };
    AUTO_TEXT path = strndup(place->file.ptr != NULL ? place->file.ptr : "", place->file.len);
    struct stat st;

    if (place->file.len == 0 || path == NULL)
        return true;
    probing_begin(p, "database");
    if (!sql_file_may_use(place, &f))
        return probing_fail(p, "database", f.ours ? OURS_REMEDY : FILE_REMEDY, "%s", f.text);
    if (stat(path, &st) < 0)
        return probing_fail(p, "database", FILE_REMEDY, "%s: %s", path, strerror(errno));
    return S_ISREG(st.st_mode) || probing_fail(p, "database", FILE_REMEDY, "%s is no file", path);
}

static enum sql_probe_family family_now(const char *database)
{
    if (strcasestr(database, "postgres") != NULL)
        return SQL_PROBE_POSTGRES;
    if (strcasestr(database, "mariadb") != NULL || strcasestr(database, "mysql") != NULL)
        return SQL_PROBE_MARIADB;
    return strcasestr(database, "sqlite") != NULL ? SQL_PROBE_SQLITE : SQL_PROBE_OTHER;
}

/* ---- asking the database itself ---- */

bool sql_probe_ask(struct sql_probe *s, const char *query, const struct datum *values, size_t count,
                   size_t column, char *to, size_t size)
{
    struct sql_failure f = { 0 }, ignored = { 0 };
    const struct datum *row = NULL;
    struct sql_result result;
    bool ok = sql_link_run(s->link, str_of(query), values, count, &result, &f) &&
              column < result.column_count && sql_link_next(s->link, &row, &f) && row != NULL;

    if (ok)
        (void)snprintf(to, size, "%.*s", STR_ARG(str_first(row[column].bytes, size - 1)));
    (void)sql_link_rollback(s->link, &ignored);
    return ok;
}

static bool probe_encryption(struct sql_probe *s)
{
    static const char *const asks[] = {
        [SQL_PROBE_OTHER] = NULL,
        [SQL_PROBE_POSTGRES] = "select case when ssl then 'TLS ' || version else '' end, version "
                               "from pg_stat_ssl where pid = pg_backend_pid()",
        [SQL_PROBE_MARIADB] = "show session status like 'Ssl_version'",
        [SQL_PROBE_SQLITE] = NULL
    };
    struct probing *p = s->probing;
    char version[40] = "";

    if (s->family == SQL_PROBE_SQLITE)
        return true;
    probing_begin(p, "TLS");
    if (asks[s->family] == NULL ||
        !sql_probe_ask(s, asks[s->family], NULL, 0, 1, version, sizeof version))
        probing_leave(p, "TLS", "the database does not tell");
    else if (version[0] != '\0')
        (void)probing_pass(p, "TLS", "%s", version);
    else if (s->place->tls)
        return probing_fail(p, "TLS", TLS_REMEDY,
                            "`dsn` asks for it, and the driver has connected without it");
    else
        probing_leave(p, "TLS", "not used: `dsn` does not ask for it");
    return true;
}

static void probe_clock(struct sql_probe *s)
{
    static const char *const asks[] = {
        [SQL_PROBE_OTHER] = NULL,
        [SQL_PROBE_POSTGRES] = "select floor(extract(epoch from clock_timestamp()))::bigint",
        [SQL_PROBE_MARIADB] = "select cast(floor(unix_timestamp(sysdate())) as signed)",
        [SQL_PROBE_SQLITE] = NULL
    };
    struct probing *p = s->probing;
    char text[40] = "";

    if (s->family == SQL_PROBE_SQLITE) /* it has ours */
        return;
    probing_begin(p, "clock");
    if (asks[s->family] == NULL ||
        !sql_probe_ask(s, asks[s->family], NULL, 0, 0, text, sizeof text)) {
        probing_leave(p, "clock", "the database does not tell its time");
        return;
    }
    long long ahead = strtoll(text, NULL, 10) - clock_wall_us() / CLOCK_S;

    (void)probing_pass(p, "clock", "that of the database is %lld s %s ours", llabs(ahead),
                       ahead < 0 ? "behind" : "ahead of");
}

bool sql_probe_open(const struct sql_place *place, int64_t timeout_us, struct call *c,
                    struct probing *p, struct sql_probe *ret)
{
    struct sql_failure f = { 0 };
    int64_t now = clock_mono_us(), most = p->until_us - now - DIAL_US;

    *ret = (struct sql_probe){ .place = place, .probing = p };
    most = most > timeout_us ? timeout_us : most < LEAST_US ? LEAST_US : most;
    if (!is_there(place, p))
        return false;
    probing_begin(p, place->file.len > 0 ? "database" : "connect");
    if (!sql_link_open(place, c, now + most, &ret->link, &f)) {
        ret->link = NULL;
        return fail_open(place, c, p, &f);
    }
    sql_link_set_pace(ret->link, c, now + probing_time(p, 2 * timeout_us));
    ret->family = family_now(sql_link_database(ret->link));
    (void)probing_pass(p, "driver", "%.*s is installed", STR_ARG(place->driver));
    pass_connect(place, p);
    if (!probe_encryption(ret))
        return false;
    if (ret->family != SQL_PROBE_SQLITE)
        (void)probing_pass(p, "login", "to %s", sql_link_database(ret->link));
    return true;
}

/* ---- statements ---- */

static bool begins_with(struct str statement, const char *word)
{
    size_t n = strlen(word);

    statement = str_trim(statement);
    return statement.len > n && strncasecmp(statement.ptr, word, n) == 0 &&
           strchr(" \t\r\n(", statement.ptr[n]) != NULL;
}

/* What can be explained; anything else could be done by saying EXPLAIN in front of it. */
static bool is_explained(struct str statement)
{
    static const char *const words[] = { "select", "insert", "update", "delete", "merge", "with" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (begins_with(statement, words[i]))
            return true;
    return false;
}

/* A driver may take several statements apart and run the second. */
static bool is_one(struct str statement)
{
    ptrdiff_t end = str_find(statement, ';');

    return end < 0 || str_trim(str_from(statement, (size_t)end + 1)).len == 0;
}

static bool explain(struct sql_probe *s, struct str statement, size_t count, bool run,
                    struct sql_result *ret, struct sql_failure *f)
{
    AUTO(buf_done) struct buf text = BUF_INIT(SQL_STATEMENT_MOST + 16);
    const struct datum values[SQL_PARAMETERS_MOST] = { 0 }; /* NULL */

    buf_puts(&text, "EXPLAIN ");
    buf_put(&text, statement);
    return run ? sql_link_run(s->link, buf_view(&text), values, count, ret, f)
               : sql_link_describe(s->link, buf_view(&text), count, ret, f);
}

/* MariaDB's driver leaves statements that it does not know for later; the server does not. */
static bool prepare_by_name(struct sql_probe *s, struct str statement, struct sql_failure *f)
{
    const struct datum text = { DATUM_TEXT, statement };
    struct sql_result ignored;

    if (sql_link_run(s->link, STR("SET @waybill_probe = ?"), &text, 1, &ignored, f) &&
        sql_link_run(s->link, STR("PREPARE waybill_probe FROM @waybill_probe"), NULL, 0, &ignored,
                     f))
        return true;
    if (f->native != NUMBER_NOT_PREPARED)
        return false;
    s->untold = "it does not tell them of such a statement";
    return true;
}

/* What the driver alone does not find. */
static bool look_closer(struct sql_probe *s, struct str statement, size_t count,
                        struct sql_failure *f)
{
    struct sql_result ignored;

    switch (s->family) {
    case SQL_PROBE_MARIADB:
        return prepare_by_name(s, statement, f);
    case SQL_PROBE_SQLITE:
        return explain(s, statement, count, false, &ignored, f);
    case SQL_PROBE_POSTGRES: /* EXPLAIN looks at the rights, preparing does not */
        if (is_explained(statement))
            return explain(s, statement, count, true, &ignored, f);
        s->untold = "it does not tell them of such a statement";
        return true;
    case SQL_PROBE_OTHER:
        s->untold = "the database is not asked for them";
        return true;
    }
    return true;
}

static bool fail_statement(struct sql_probe *s, const char *step, const char *remedy,
                           const struct sql_failure *f)
{
    if (f->kind != SQL_FAULT_LOGIN)
        return probing_fail(s->probing, step, f->hung ? STUCK_REMEDY : remedy, "%s", f->text);
    (void)probing_pass(s->probing, step, "the database understands it");
    return probing_fail(s->probing, "rights", RIGHTS_REMEDY, "%s", f->text);
}

static bool probe_text(struct sql_probe *s, const struct sql_probe_text *of, struct sql_result *ret,
                       struct sql_failure *f)
{
    struct sql_failure ignored = { 0 };

    if (look_closer(s, of->text, of->count, f) && sql_link_rollback(s->link, f) &&
        sql_link_describe(s->link, of->text, of->count, ret, f))
        return true;
    (void)sql_link_rollback(s->link, &ignored);
    return false;
}

bool sql_probe_statements(struct sql_probe *s, const char *step, const char *remedy,
                          const struct sql_probe_text *list, size_t n, struct sql_result *ret)
{
    struct sql_failure f = { 0 };

    *ret = (struct sql_result){ 0 };
    probing_begin(s->probing, step);
    for (size_t i = 0; i < n; i++) {
        if (!is_one(list[i].text)) {
            s->untold = "there are several statements";
            probing_leave(s->probing, step,
                          "not tried: there is a `;` in it, and what is behind could be run");
            return true;
        }
        if (!probe_text(s, &list[i], ret, &f))
            return fail_statement(s, step, remedy, &f);
    }
    return probing_pass(s->probing, step, "the database understands it");
}

/* Whether the file, and others beside it, can be written. */
static bool may_write_file(struct sql_probe *s)
{
    AUTO_TEXT path = strndup(s->place->file.ptr, s->place->file.len);
    char *slash = path != NULL ? strrchr(path, '/') : NULL;

    if (slash == NULL)
        return true;
    if (access(path, W_OK) < 0)
        return probing_fail(s->probing, "rights", "let the user of the node write there",
                            "may not write %s: %s", path, strerror(errno));
    slash[slash == path ? 1 : 0] = '\0';
    return access(path, W_OK) == 0 ||
           probing_fail(s->probing, "rights", "let the user of the node write there",
                        "may not write beside the database, in %s: %s", path, strerror(errno));
}

bool sql_probe_rights(struct sql_probe *s, bool writes)
{
    probing_begin(s->probing, "rights");
    if (s->untold != NULL) {
        probing_leave(s->probing, "rights", "not told: %s", s->untold);
        return true;
    }
    if (s->family == SQL_PROBE_SQLITE && writes && !may_write_file(s))
        return false;
    return probing_pass(s->probing, "rights", "the user may do that");
}

void sql_probe_close(struct sql_probe *s, bool ok)
{
    if (s->link == NULL)
        return;
    if (ok)
        probe_clock(s);
    sql_link_leave(s->link);
    s->link = NULL;
}
