#include "sql/sql_place.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "core/config_check.h"

enum { PAIRS_MOST = 40, CONNECT_US = 10 * CLOCK_S };

enum family { FAMILY_OTHER, FAMILY_POSTGRES, FAMILY_MARIADB, FAMILY_SQLITE };

/* What a key means to us; the driver gets it unless it is ours alone. */
enum meaning { PASSED, DRIVER, SERVER, PORT, DATABASE, SOCKET_PATH, CA, CA_OURS, TLS };

/* The keys that are passed on.  Others can load libraries (LoadExt, PluginDir), write files or read
 * settings from elsewhere (DSN, FileDSN). */
static const struct {
    const char *key;
    enum meaning meaning;
} known_keys[] = {
    { "Driver", DRIVER },
    { "Server", SERVER },
    { "Servername", SERVER },
    { "Port", PORT },
    { "Database", DATABASE },
    { "UID", PASSED },
    { "User", PASSED },
    { "Username", PASSED },
    { "PWD", PASSED },
    { "Password", PASSED },
    { "SSLmode", TLS },
    { "SSLrootcert", CA_OURS }, /* PostgreSQL's driver has no such key: see sql_main.c */
    { "SSLCA", CA },
    { "SSLVerify", TLS },
    { "ForceTLS", TLS },
    { "Socket", SOCKET_PATH },
    { "Charset", PASSED },
    { "TDS_Version", PASSED },
    { "ClientCharset", PASSED },
    { "Encryption", TLS },
    { "Encrypt", TLS },
    { "TrustServerCertificate", PASSED },
    { "Timeout", PASSED },
    { "FKSupport", PASSED },
    { "JournalMode", PASSED },
    { "SyncPragma", PASSED },
};

/* What each driver needs so that rows are not all held in memory and no value loses anything. */
static const struct {
    enum family family;
    const char *key, *value;
} own_keys[] = {
    { FAMILY_POSTGRES, "UseDeclareFetch", "1" },
    { FAMILY_POSTGRES, "Fetch", "500" },
    { FAMILY_POSTGRES, "BoolsAsChar", "0" },
    { FAMILY_POSTGRES, "ByteaAsLongVarBinary", "1" },
    { FAMILY_POSTGRES, "UseServerSidePrepare", "1" },
    { FAMILY_POSTGRES, "LFConversion", "0" },
    { FAMILY_MARIADB, "Charset", "utf8mb4" },
    { FAMILY_MARIADB, "NO_PROMPT", "1" },
    { FAMILY_MARIADB, "NO_CACHE", "1" },
    { FAMILY_MARIADB, "FORWARDONLY", "1" },
    { FAMILY_SQLITE, "StepAPI", "1" },
    { FAMILY_SQLITE, "BigInt", "1" },
    { FAMILY_SQLITE, "Timeout", "5000" },
};

/* ---- taking it apart ---- */

struct pair {
    struct str key, value; /* value: without its braces */
};

struct pairs {
    struct pair items[PAIRS_MOST];
    size_t count;
};

/* A value in braces; a closing one that is doubled stands for itself. */
static bool take_braced(struct str *rest, struct arena *a, struct str *ret)
{
    char *out = arena_alloc(a, rest->len + 1);
    size_t n = 0;

    for (size_t i = 1; i < rest->len; i++) {
        if (rest->ptr[i] != '}') {
            out[n++] = rest->ptr[i];
        } else if (i + 1 < rest->len && rest->ptr[i + 1] == '}') {
            out[n++] = rest->ptr[i++];
        } else {
            struct str more = str_trim(str_from(*rest, i + 1));

            if (more.len > 0 && more.ptr[0] != ';')
                return false;
            *rest = str_from(more, 1);
            *ret = str_mem(out, n);
            return true;
        }
    }
    return false;
}

static bool take_keyword(struct str *rest, struct arena *a, struct pair *ret, struct err *err)
{
    ptrdiff_t equals = str_find(*rest, '=');

    if (equals <= 0)
        return err_set(err, ERR_CONFIG, 0,
                       "`dsn` is KEY=VALUE;KEY=VALUE, such as "
                       "`Driver=SQLite3;Database=/srv/exchange/orders.db`");
    ret->key = str_trim(str_mem(rest->ptr, (size_t)equals));
    *rest = str_trim(str_from(*rest, (size_t)equals + 1));
    if (rest->len > 0 && rest->ptr[0] == '{')
        return take_braced(rest, a, &ret->value) ||
               err_set(err, ERR_CONFIG, 0,
                       "`dsn`: the value of a key begins with { and has no } at its end");
    *rest = str_cut(*rest, ';', &ret->value);
    ret->value = str_trim(ret->value);
    return true;
}

static bool take_keywords(struct str dsn, struct arena *a, struct pairs *ret, struct err *err)
{
    struct str rest = str_trim(dsn);

    ret->count = 0;
    while (rest.len > 0) {
        if (rest.ptr[0] == ';') {
            rest = str_trim(str_from(rest, 1));
            continue;
        }
        if (ret->count == PAIRS_MOST)
            return err_set(err, ERR_CONFIG, 0, "`dsn` has more than %d keys", PAIRS_MOST);
        if (!take_keyword(&rest, a, &ret->items[ret->count++], err))
            return false;
        rest = str_trim(rest);
    }
    return true;
}

/* ---- what it means ---- */

static const char *known_key(struct str key, enum meaning *ret)
{
    for (size_t i = 0; i < sizeof known_keys / sizeof known_keys[0]; i++)
        if (str_eq_nocase(key, str_of(known_keys[i].key))) {
            *ret = known_keys[i].meaning;
            return known_keys[i].key;
        }
    return NULL;
}

static bool refuse_keyword(struct str key, bool behind_password, struct err *err)
{
    struct str shown = str_first(key, 40);

    if (str_eq_nocase(key, STR("DSN")) || str_eq_nocase(key, STR("FileDSN")))
        return err_set(err, ERR_CONFIG, 0,
                       "`dsn` names settings that are kept elsewhere (%.*s=): write the driver and "
                       "the server here, `Driver=...;Server=...`",
                       STR_ARG(shown));
    /* It may be a part of a password that was not put in braces. */
    if (behind_password || str_has_control(shown) || !str_is_utf8(shown))
        shown = STR("...");
    return err_set(err, ERR_CONFIG, 0,
                   "`dsn` has a key that is not passed on to a driver: `%.*s`; docs/sql.md lists "
                   "those that are; a value with ; stands in braces",
                   STR_ARG(shown));
}

static bool is_installed_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (strchr("/\\[]{}()=;", name.ptr[i]) != NULL)
            return false;
    return name.len > 0 && name.len <= 100 && !str_has_control(name) && name.ptr[0] != '.' &&
           memmem(name.ptr, name.len, ".so", 3) == NULL;
}

static enum family family_of(struct str driver)
{
    static const struct {
        const char *part;
        enum family family;
    } parts[] = { { "postgres", FAMILY_POSTGRES },
                  { "psql", FAMILY_POSTGRES },
                  { "mariadb", FAMILY_MARIADB },
                  { "mysql", FAMILY_MARIADB },
                  { "sqlite", FAMILY_SQLITE } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (size_t at = 0; at + strlen(parts[i].part) <= driver.len; at++)
            if (str_eq_nocase(str_mem(driver.ptr + at, strlen(parts[i].part)),
                              str_of(parts[i].part)))
                return parts[i].family;
    return FAMILY_OTHER;
}

/* The words of all drivers by which TLS is more than welcome. */
static bool demands_tls(struct str value)
{
    static const char *const words[] = { "require", "required",  "verify-ca", "verify-full",
                                         "strict",  "mandatory", "yes",       "true",
                                         "on",      "1" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_eq_nocase(value, str_of(words[i])))
            return true;
    return false;
}

static uint16_t usual_port(enum family f)
{
    return f == FAMILY_POSTGRES ? 5432 : f == FAMILY_MARIADB ? 3306 : f == FAMILY_OTHER ? 1433 : 0;
}

static bool note_meaning(struct sql_place *p, enum meaning meaning, struct str value,
                         struct arena *a, struct str *ret_database, struct err *err)
{
    uint64_t port;

    switch (meaning) {
    case DRIVER:
        value = str_trim(value);
        if (!is_installed_name(value))
            return err_set(err, ERR_CONFIG, 0,
                           "`dsn`: Driver is the name under which a driver is installed, such as "
                           "`PostgreSQL Unicode`, never a path (odbcinst -q -d lists them)");
        p->driver = arena_copy(a, value);
        return true;
    case SERVER:
        p->server = arena_copy(a, value);
        return true;
    case PORT:
        if (!str_to_u64(value, &port) || port == 0 || port > UINT16_MAX)
            return err_set(err, ERR_CONFIG, 0, "`dsn`: Port is a number from 1 to 65535");
        p->port = (uint16_t)port;
        return true;
    case DATABASE:
        *ret_database = value;
        return true;
    case CA:
    case CA_OURS:
        if (value.len == 0 || value.ptr[0] != '/')
            return err_set(err, ERR_CONFIG, 0,
                           "`dsn`: the file with the certificates has a path that begins with /");
        p->ca = arena_copy(a, value);
        p->tls = p->tls || meaning == CA; /* PostgreSQL has SSLmode for that */
        return true;
    case TLS:
        p->tls = p->tls || demands_tls(value);
        return true;
    case SOCKET_PATH:
    case PASSED:
        return true;
    }
    return true;
}

/* ---- writing it anew ---- */

/* Braces only where they are needed: not every driver takes them off. */
static bool put_keyword(struct buf *out, const char *key, struct str value, enum family family,
                        struct err *err)
{
    bool plain = value.len == 0 || (value.ptr[0] != ' ' && value.ptr[value.len - 1] != ' ');

    if (memchr(value.ptr, '\0', value.len) != NULL || str_has_control(value))
        return err_set(err, ERR_CONFIG, 0, "`dsn`: the value of %s has a control character", key);
    for (size_t i = 0; i < value.len; i++)
        plain = plain && strchr(";{}[]()=", value.ptr[i]) == NULL;
    if (!plain && family == FAMILY_SQLITE)
        return err_set(err, ERR_CONFIG, 0,
                       "`dsn`: the value of %s has one of ; = { } [ ] ( ), or a blank at its end, "
                       "which SQLite's driver cannot be told",
                       key);
    buf_printf(out, "%s=", key);
    if (!plain)
        buf_putc(out, '{');
    for (size_t i = 0; i < value.len; i++) {
        buf_putc(out, value.ptr[i]);
        if (!plain && value.ptr[i] == '}')
            buf_putc(out, '}');
    }
    buf_puts(out, plain ? ";" : "};");
    return true;
}

static bool pairs_have(const struct pairs *p, const char *key)
{
    for (size_t i = 0; i < p->count; i++)
        if (str_eq_nocase(p->items[i].key, str_of(key)))
            return true;
    return false;
}

static bool put_all(const struct pairs *pairs, const struct sql_place *p, enum family family,
                    struct buf *out, struct err *err)
{
    enum meaning meaning = PASSED;

    buf_printf(out, "Driver={%.*s};", STR_ARG(p->driver));
    for (size_t i = 0; i < pairs->count; i++) {
        const char *key = known_key(pairs->items[i].key, &meaning);

        if (meaning != DRIVER && meaning != CA_OURS &&
            !put_keyword(out, key, pairs->items[i].value, family, err))
            return false;
    }
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        if (own_keys[i].family == family && !pairs_have(pairs, own_keys[i].key))
            buf_printf(out, "%s=%s;", own_keys[i].key, own_keys[i].value);
    return true;
}

/* SQLite makes a new database where none is, and a path without / at its front is one in the folder
 * of whoever starts us. */
static bool read_file_name(struct str database, struct sql_place *p, struct arena *a,
                           struct err *err)
{
    if (database.len == 0 || database.ptr[0] != '/')
        return err_set(err, ERR_CONFIG, 0,
                       "`dsn`: Database of SQLite is the path of its file, which begins with /");
    p->file = arena_copy(a, database);
    return true;
}

static struct sha256 sql_place_key(const struct sql_place *p)
{
    struct digest d = digest_start();

    digest_add(&d, STR("sql\n"));
    digest_add(&d, p->connect);
    digest_add(&d, STR("\n"));
    digest_add(&d, p->ca);
    return digest_end(&d);
}

bool sql_place_parse(struct str dsn, struct arena *a, struct sql_place *ret, struct err *err)
{
    AUTO(buf_done) struct buf out = BUF_INIT(SQL_PLACE_MOST * 3);
    struct pairs *pairs = ARENA_NEW(a, struct pairs);
    struct sql_place p = { .connect_us = CONNECT_US };
    struct str database = { 0 };
    bool behind_password = false;

    if (dsn.len > SQL_PLACE_MOST)
        return err_set(err, ERR_CONFIG, 0, "`dsn` has more than %d bytes", SQL_PLACE_MOST);
    if (!take_keywords(dsn, a, pairs, err))
        return false;
    for (size_t i = 0; i < pairs->count; i++) {
        enum meaning meaning = PASSED;
        const char *key = known_key(pairs->items[i].key, &meaning);

        if (key == NULL)
            return refuse_keyword(pairs->items[i].key, behind_password, err);
        behind_password =
            behind_password || strcmp(key, "PWD") == 0 || strcmp(key, "Password") == 0;
        for (size_t j = 0; j < i; j++)
            if (str_eq_nocase(pairs->items[i].key, pairs->items[j].key))
                return err_set(err, ERR_CONFIG, 0, "`dsn` has the key %s twice", key);
        if (!note_meaning(&p, meaning, pairs->items[i].value, a, &database, err))
            return false;
    }
    if (p.driver.len == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "`dsn` names no driver: `Driver=PostgreSQL Unicode;Server=...`");
    enum family family = family_of(p.driver);

    if (p.port == 0)
        p.port = usual_port(family);
    if ((family == FAMILY_SQLITE && !read_file_name(database, &p, a, err)) ||
        !put_all(pairs, &p, family, &out, err))
        return false;
    p.connect = arena_copy(a, buf_view(&out));
    p.key = sql_place_key(&p);
    *ret = p;
    return true;
}

bool sql_place_read(const struct settings *s, struct sql_place *ret, struct err *err)
{
    struct str dsn;

    return settings_text(s, "dsn", &dsn, err) && sql_place_parse(dsn, s->arena, ret, err) &&
           settings_duration(s, "connect_timeout", &ret->connect_us, err);
}

/* ---- before it is used ---- */

void sql_place_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *dsn = yaml_get(map, "dsn");
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_place place;
    struct err err = { 0 };

    if (dsn == NULL || dsn->kind != YAML_SCALAR || dsn->outside || dsn->text.len == 0 ||
        check_has_reference(dsn->text))
        return;
    if (!sql_place_parse(dsn->text, &a, &place, &err))
        problem_add(problems, dsn->place, "docs/sql.md shows one for each driver", "%s", err.text);
}
