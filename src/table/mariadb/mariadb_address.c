/* mariadb_address.c - where a server is, as its dsn says:
 *
 *     mariadb://USER:PASSWORD@HOST:PORT/DATABASE?socket=/PATH&tls=WORD&ca=/PATH
 *
 * Everything between the marks is percent-encoded.  HOST is not needed with a socket; the port is
 * 3306.  tls: `off`, `on` (encrypted, whoever it is) or `verify` (its certificate is looked at,
 * against `ca` or the certificates of the system); without it `off` for a socket and this machine,
 * else `verify`.
 */
#include <string.h>

#include "core/units.h"
#include "table/mariadb/mariadb.h"

static bool place_decode(struct str raw, struct arena *a, char **ret, struct err *err)
{
    char *to = arena_alloc(a, raw.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];

        if (c == '%') {
            int high = i + 2 < raw.len ? str_hex_digit(raw.ptr[i + 1]) : -1;
            int low = high >= 0 ? str_hex_digit(raw.ptr[i + 2]) : -1;

            if (low < 0)
                return err_set(err, ERR_CONFIG, 0,
                               "`dsn` has a percent sign without two hex digits (write %%25)");
            c = (char)(high * 16 + low);
            i += 2;
        }
        if ((unsigned char)c < ' ')
            return err_set(err, ERR_CONFIG, 0, "`dsn` has a control character");
        to[n++] = c;
    }
    *ret = to;
    return true;
}

static bool place_word(struct mariadb_place *p, struct str key, struct str raw, struct arena *a,
                       bool *ret_tls, struct err *err)
{
    char *value;

    if (!place_decode(raw, a, &value, err))
        return false;
    if (str_is(key, "socket")) {
        p->socket = value;
    } else if (str_is(key, "ca")) {
        p->ca = value;
    } else if (str_is(key, "tls")) {
        *ret_tls = true;
        p->verify = strcmp(value, "verify") == 0;
        p->tls = p->verify || strcmp(value, "on") == 0;
        if (!p->tls && strcmp(value, "off") != 0)
            return err_set(err, ERR_CONFIG, 0, "`tls` in `dsn` is off, on or verify");
    } else {
        return err_set(err, ERR_CONFIG, 0,
                       "`dsn` takes socket, tls and ca behind the question "
                       "mark");
    }
    return true;
}

static bool place_words(struct mariadb_place *p, struct str rest, struct arena *a, struct err *err)
{
    bool said = false;
    struct str pair, key;

    while (rest.len > 0) {
        rest = str_cut(rest, '&', &pair);
        struct str value = str_cut(pair, '=', &key);

        if (!place_word(p, key, value, a, &said, err))
            return false;
    }
    if (!said) {
        p->verify = p->socket[0] == '\0' && !units_is_loopback(str_of(p->host));
        p->tls = p->verify;
    }
    return true;
}

static bool place_host(struct mariadb_place *p, struct str host, struct arena *a, struct err *err)
{
    struct units_address address;
    struct err why = { 0 };
    bool has_port = host.len > 0 && host.ptr[host.len - 1] != ']' && str_find(host, ':') >= 0;

    p->host = arena_text(a, STR(""));
    p->port = 3306;
    if (host.len == 0)
        return true;
    const char *text = arena_printf(a, "%.*s%s", STR_ARG(host), has_port ? "" : ":3306");

    if (!units_address(str_of(text), &address, &why) || address.port == 0)
        return err_set(err, ERR_CONFIG, 0, "`dsn` has no HOST:PORT that can be used");
    p->host = arena_text(a, str_of(address.host));
    p->port = address.port;
    return true;
}

bool mariadb_place_read(struct str dsn, struct arena *a, struct mariadb_place *ret, struct err *err)
{
    struct str head, login = STR(""), user, words, host;
    char *none = arena_text(a, STR(""));

    *ret = (struct mariadb_place){
        .user = none, .password = none, .host = none, .database = none, .socket = none, .ca = none
    };
    if (!str_starts(dsn, STR("mariadb://")))
        return err_set(err, ERR_CONFIG, 0,
                       "`dsn` is not mariadb://USER:PASSWORD@HOST:PORT/DATABASE");
    words = str_cut(str_from(dsn, strlen("mariadb://")), '?', &head);
    struct str database = str_cut(head, '/', &host);

    if (str_find(host, '@') >= 0) {
        struct str rest = str_cut(host, '@', &login);

        host = rest;
    }
    struct str password = str_cut(login, ':', &user);

    if (database.len == 0 || str_find(database, '/') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`dsn` names no database behind the host");
    if (str_find(host, '@') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`dsn` has two @: write %%40 in a user or password");
    return place_decode(user, a, &ret->user, err) &&
           place_decode(password, a, &ret->password, err) &&
           place_decode(database, a, &ret->database, err) && place_host(ret, host, a, err) &&
           place_words(ret, words, a, err) &&
           (ret->host[0] != '\0' || ret->socket[0] != '\0' ||
            err_set(err, ERR_CONFIG, 0, "`dsn` names neither a host nor a socket"));
}
