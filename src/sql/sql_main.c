/* sql_main.c - the process of a connection: confines itself, connects, serves one caller. */
#include "sql/sql_main.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/confine.h"
#include "base/file.h"
#include "base/require.h"
#include "cage/inside.h"
#include "cage/keeper.h"
#include "sql/sql_names.h"
#include "sql/sql_odbc.h"
#include "sql/sql_wire.h"

#define DRIVERS_FOLDER "/etc" /* of odbcinst.ini */

enum {
    FILES_MOST = 128,        /* descriptors */
    INI_MOST = 1 << 20,      /* bytes of odbcinst.ini */
    ROWS_AT_ONCE = 64 << 10, /* bytes, before the caller is asked whether it wants more */
    ARENA_MOST = 4 << 20,
    KEPT_MOST = 1 << 20,
    DNS_PORT = 53
};

struct serving {
    struct inside io;
    struct odbc odbc;
    struct buf run; /* a message that came in several frames */
    struct buf room;
    struct arena arena;
};

bool sql_main_is(int argc, char **argv)
{
    return argc == 3 && str_is(str_of(argv[1]), KEEPER_VERB) &&
           str_is(str_of(argv[2]), KEEPER_CONNECT);
}

static void say_failure(struct serving *s, const struct sql_failure *f)
{
    sql_wire_put_failure(&s->io.out, f, s->odbc.gone);
    inside_flush(&s->io);
}

static bool flush_io(void *arg)
{
    inside_flush(arg); /* it ends the process when nobody hears */
    return true;
}

static struct sql_wire_writer writer_of(struct serving *s)
{
    return (struct sql_wire_writer){ .to = &s->io.out, .flush = flush_io, .arg = &s->io };
}

/* ---- before it connects ---- */

/* Whether odbcinst.ini has the driver; else the names that it has are told. */
static bool find_driver(const struct sql_wire_open *o, struct sql_failure *f)
{
    AUTO(buf_done) struct buf ini = BUF_INIT(INI_MOST);
    char path[4096], names[SQL_TEXT_MOST / 2] = "";
    struct str rest, line, name;
    struct err err = { 0 };

    (void)snprintf(path, sizeof path, "%.*s/odbcinst.ini", STR_ARG(o->drivers));
    if (!file_read_whole(AT_FDCWD, path, &ini, &err))
        return sql_fail(f, SQL_FAULT_CONFIG, "no ODBC driver is installed: %s", err.text);
    for (rest = buf_view(&ini); rest.len > 0;) {
        rest = str_cut(rest, '\n', &line);
        line = str_trim(line);
        if (line.len == 0 || line.ptr[0] != '[' || str_find(line, ']') < 0)
            continue;
        (void)str_cut(str_from(line, 1), ']', &name);
        name = str_trim(name);
        if (str_eq_nocase(name, o->driver))
            return true;
        if (strlen(names) + name.len + 4 < sizeof names && !str_eq_nocase(name, STR("ODBC")))
            (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.*s",
                           names[0] != '\0' ? ", " : "", STR_ARG(name));
    }
    return sql_fail(f, SQL_FAULT_CONFIG, "no ODBC driver is installed under the name `%.*s`%s%s",
                    STR_ARG(o->driver), names[0] != '\0' ? "; there are: " : "", names);
}

static void set_word(const char *name, struct str value)
{
    AUTO_TEXT text = strndup(value.ptr != NULL ? value.ptr : "", value.len);

    require(text != NULL && setenv(name, text, 1) == 0);
}

/* The program was started without an environment; drivers read these. */
static void set_environment(const struct sql_wire_open *o)
{
    set_word("ODBCSYSINI", o->drivers);
    set_word("ODBCINI", STR("/dev/null"));
    set_word("HOME", STR("/nonexistent"));
    set_word("TZ", STR("UTC"));
    set_word("PGTZ", STR("UTC"));
    set_word("PGPASSFILE", STR("/dev/null"));
    set_word("PGAPPNAME", STR("waybill"));
    set_word("PGCONNECT_TIMEOUT", o->login_seconds);
    if (o->ca.len > 0)
        set_word("PGSSLROOTCERT", o->ca);
    set_word("LC_ALL", STR("C.UTF-8")); /* texts are UTF-8 to every driver */
    (void)setlocale(LC_ALL, "C.UTF-8");
}

static const char *folder_of(struct arena *a, struct str path)
{
    const char *text = arena_text(a, path), *slash = strrchr(text, '/');

    return slash == NULL || slash == text ? "/"
                                          : arena_text(a, str_mem(text, (size_t)(slash - text)));
}

static bool limit(int what, rlim_t value)
{
    const struct rlimit both = { value, value };

    return setrlimit((__rlimit_resource_t)what, &both) == 0;
}

/* What the kernel does not offer is left out, as for the node, which says so in its log. */
static bool confine_connection(const struct sql_wire_open *o, struct arena *a,
                               struct sql_failure *f)
{
    struct confine_rule rules[16] = {
        { "/usr", CONFINE_READ },         { "/lib", CONFINE_READ },
        { "/lib64", CONFINE_READ },       { "/opt", CONFINE_READ },
        { "/etc", CONFINE_READ },         { "/run/systemd/resolve", CONFINE_READ },
        { "/dev/urandom", CONFINE_READ }, { "/dev/random", CONFINE_READ },
        { "/dev/null", CONFINE_WRITE },   { "/proc/self", CONFINE_READ },
        { "/proc/sys", CONFINE_READ },
    };
    struct confine_files_report report;
    size_t count = 11;
    uint64_t port = 0;

    rules[count++] = (struct confine_rule){ arena_text(a, o->drivers), CONFINE_READ };
    if (o->ca.len > 0)
        rules[count++] = (struct confine_rule){ folder_of(a, o->ca), CONFINE_READ };
    if (o->file.len > 0)
        rules[count++] = (struct confine_rule){ folder_of(a, o->file), CONFINE_WRITE };
    (void)str_to_u64(o->port, &port);
    const uint16_t connect[] = { DNS_PORT, (uint16_t)port };

#if !KEEPER_SANITIZED
    if (!limit(RLIMIT_AS, SQL_MEMORY_MOST) || !limit(RLIMIT_NOFILE, FILES_MOST))
        return sql_fail(f, SQL_FAULT_LATER, "the limits of the process cannot be set");
    struct err err; /* a kernel that cannot do it was reported when the node started */

    (void)confine_files(
        rules, count,
        &(struct confine_ports){ .connect = connect, .connect_count = port != 0 ? 2 : 1 }, &report,
        &err);
    (void)confine_calls(&err);
#else
    (void)rules, (void)count, (void)report, (void)connect, (void)f, (void)limit;
#endif
    return true;
}

static bool open_database(struct serving *s, const struct sql_wire_open *o, struct sql_failure *f)
{
    uint64_t seconds = 10;

    (void)str_to_u64(o->login_seconds, &seconds);
    return find_driver(o, f) && confine_connection(o, &s->arena, f) && odbc_load(&s->odbc, f) &&
           odbc_connect(&s->odbc, o->connect, (long)seconds, f);
}

/* ---- requests ---- */

static struct datum *take_values(struct str *rest, struct arena *a, size_t *ret_count)
{
    uint64_t count;

    if (!varint_take(rest, &count) || count > SQL_PARAMETERS_MOST)
        return NULL;
    struct datum *values = ARENA_ARRAY(a, struct datum, (size_t)count + 1);

    for (size_t i = 0; i < count; i++)
        if (!sql_wire_take_datum(rest, &values[i]))
            return NULL;
    *ret_count = (size_t)count;
    return values;
}

static bool send_result(struct serving *s, int64_t affected, struct sql_failure *f)
{
    struct sql_wire_writer w = writer_of(s);
    struct str *names = ARENA_ARRAY(&s->arena, struct str, (size_t)s->odbc.columns + 1);

    for (SQLSMALLINT i = 0; i < s->odbc.columns; i++)
        if (!odbc_describe(&s->odbc, i, &s->arena, &names[i], f))
            return false;
    sql_wire_begin(&w, SQL_WORD_RESULT);
    sql_wire_number(&w, affected < 0 ? 0 : (uint64_t)affected + 1);
    sql_wire_number(&w, (uint64_t)s->odbc.columns);
    for (SQLSMALLINT i = 0; i < s->odbc.columns; i++)
        sql_wire_datum(&w, &(struct datum){ s->odbc.column[i].kind, names[i] });
    return sql_wire_end(&w);
}

static void serve_run(struct serving *s, struct frame f, bool run)
{
    struct sql_failure failure = { 0 };
    struct err err = { 0 };
    struct str statement;
    int64_t affected = -1;
    size_t count = 0;

    buf_clear(&s->run);
    while (buf_append(&s->run, f.body, &err) && !f.last)
        f = inside_take(&s->io);
    struct str rest = buf_view(&s->run);
    struct datum *values =
        varint_take_text(&rest, &statement) ? take_values(&rest, &s->arena, &count) : NULL;

    require(f.last && values != NULL); /* our own caller made it */
    if (!(run ? odbc_run(&s->odbc, statement, values, count, &affected, &failure)
              : odbc_prepare(&s->odbc, statement, count, &failure)) ||
        !send_result(s, affected, &failure))
        say_failure(s, &failure);
    if (s->run.len > KEPT_MOST)
        buf_done(&s->run), s->run = (struct buf)BUF_INIT(SQL_WIRE_RUN_MOST);
}

static void send_row(struct serving *s)
{
    struct sql_wire_writer w = writer_of(s);
    size_t left = SQL_ROW_MOST;

    sql_wire_begin(&w, SQL_WORD_ROW);
    for (SQLSMALLINT i = 0; i < s->odbc.columns; i++) {
        struct datum d = { 0 };

        buf_clear(&s->room);
        odbc_value(&s->odbc, i, left, &s->room, &d);
        left -= d.bytes.len < left ? d.bytes.len : left;
        sql_wire_datum(&w, &d);
    }
    (void)sql_wire_end(&w);
    if (s->room.size > KEPT_MOST)
        buf_done(&s->room), s->room = (struct buf)BUF_INIT(SQL_ROW_MOST + KEPT_MOST);
}

static void serve_fetch(struct serving *s)
{
    struct sql_failure f = { 0 };
    size_t sent = 0;
    bool more = true;

    while (more && sent < ROWS_AT_ONCE) {
        if (!odbc_fetch(&s->odbc, &more, &f)) {
            say_failure(s, &f);
            return;
        }
        size_t before = s->io.out.len;

        if (more)
            send_row(s);
        sent += s->io.out.len > before ? s->io.out.len - before : (size_t)ROWS_AT_ONCE;
        if (s->io.out.len > ROWS_AT_ONCE)
            inside_flush(&s->io);
    }
    frame_put(&s->io.out, (enum frame_kind)(more ? SQL_WORD_MORE : SQL_WORD_END), true, STR(""));
}

static void serve_end(struct serving *s, bool commit)
{
    struct sql_failure f = { 0 };

    if (odbc_end(&s->odbc, commit, &f))
        frame_put(&s->io.out, (enum frame_kind)SQL_WORD_DONE, true, STR(""));
    else
        say_failure(s, &f);
}

_Noreturn static void serve_caller(struct serving *s)
{
    for (;;) {
        struct frame f = inside_take(&s->io); /* it sends what there is, and ends with the caller */

        arena_reset(&s->arena);
        switch ((int)f.kind) {
        case SQL_WORD_RUN:
        case SQL_WORD_DESCRIBE:
            serve_run(s, f, (int)f.kind == SQL_WORD_RUN);
            break;
        case SQL_WORD_FETCH:
            serve_fetch(s);
            break;
        case SQL_WORD_COMMIT:
        case SQL_WORD_ROLLBACK:
            serve_end(s, (int)f.kind == SQL_WORD_COMMIT);
            break;
        case SQL_WORD_LEAVE:
            odbc_disconnect(&s->odbc);
            _exit(0);
        default:
            _exit(1);
        }
    }
}

int sql_main(void)
{
    static struct serving s = { .run = BUF_INIT(SQL_WIRE_RUN_MOST),
                                .room = BUF_INIT(SQL_ROW_MOST + KEPT_MOST),
                                .arena = ARENA_INIT(ARENA_MOST),
                                .odbc.prepared = BUF_INIT(SQL_STATEMENT_MOST) };
    struct sql_failure failure = { 0 };
    struct sql_wire_open o;
    struct err err;

    (void)close(KEEPER_PAGE);
    (void)umask(077);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NAME, "sql", 0, 0, 0);
    inside_init(&s.io, KEEPER_SOCKET, NULL);
    struct frame f = inside_take(&s.io);

    if (!confine_process(&err) || (int)f.kind != SQL_WORD_OPEN || !sql_wire_take_open(f.body, &o))
        return 1;
    if (o.drivers.len == 0)
        o.drivers = STR(DRIVERS_FOLDER);
    set_environment(&o);
    if (!open_database(&s, &o, &failure)) {
        say_failure(&s, &failure);
        return 0;
    }
    frame_put(&s.io.out, (enum frame_kind)SQL_WORD_OPENED, true, str_of(s.odbc.database));
    serve_caller(&s);
}
