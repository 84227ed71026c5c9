/* config_safety.c - what is allowed and still may hurt: said aloud, or refused without a word for
 * it.
 *
 * A configuration that sends a password in clear text is valid; whoever reads it must have been
 * told. Only one thing is refused: the admin API in clear text on an address that others reach,
 * unless `node.insecure` says that this is meant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/config_check.h"

/* ---- URLs ---- */

struct url_parts {
    struct str scheme, user, host, rest; /* user: what stands before an @; rest: from the path on */
};

/* How many bytes precede the first one of the set. */
static size_t length_before(struct str s, const char *set)
{
    for (size_t i = 0; i < s.len; i++)
        if (strchr(set, s.ptr[i]) != NULL)
            return i;
    return s.len;
}

/* False: no URL is written here, such as when it is a reference. */
static bool url_split(struct str text, struct url_parts *ret)
{
    ptrdiff_t colon = str_find(text, ':');

    *ret = (struct url_parts){ 0 };
    if (colon <= 0 || !str_starts(str_from(text, (size_t)colon), STR("://")))
        return false;
    ret->scheme = str_mem(text.ptr, (size_t)colon);
    text = str_from(text, (size_t)colon + 3);
    size_t end = length_before(text, "/?#");

    ret->rest = str_from(text, end);
    struct str host = str_mem(text.ptr, end);

    for (size_t i = host.len; i > 0; i--)
        if (host.ptr[i - 1] == '@') {
            ret->user = str_mem(host.ptr, i - 1);
            host = str_from(host, i);
            break;
        }
    ret->host = host;
    return true;
}

/* A host with or without a port.  An empty one is a socket of this machine. */
static bool is_this_machine(struct str host)
{
    if (host.len > 0 && host.ptr[0] == '[') {
        host = str_from(host, 1);
        host.len = length_before(host, "]");
    } else {
        host.len = length_before(host, ":");
    }
    return host.len == 0 || host.ptr[0] == '/' || str_starts(host, STR("%2F")) ||
           str_starts(host, STR("%2f")) || units_is_loopback(host);
}

/* ---- single values ---- */

/* The number after `name=`; 0: there is none. */
static uint64_t hash_number(struct str hash, const char *name)
{
    for (size_t i = 0; i < hash.len; i++) {
        struct str at = str_from(hash, i), digits = str_from(at, strlen(name));
        uint64_t number;

        if (!str_starts(at, str_of(name)) || (i > 0 && strchr("$,", hash.ptr[i - 1]) == NULL))
            continue;
        digits.len = length_before(digits, "$,");
        return str_to_u64(digits, &number) ? number : 0;
    }
    return 0;
}

/* The measure is that of OWASP: 19 MiB and two passes, or as much work with less memory. */
static void warn_of_hash(struct check *c, const struct yaml_node *node, struct str label)
{
    enum { LEAST_KIB = 7168, LEAST_WORK = 35840 };
    uint64_t memory = hash_number(node->text, "m="), passes = hash_number(node->text, "t=");
    char name[PROBLEM_QUOTE];

    if (memory < LEAST_KIB || passes > LEAST_WORK || memory * passes < LEAST_WORK)
        problem_add(c->warnings, node->place, "`waybill hash` makes one that is hard to guess from",
                    "the hash of `%s` is weak: whoever reads it can try many passwords",
                    problem_quote(name, label));
}

void check_safe_value(struct check *c, const struct yaml_node *node, const struct option *option,
                      bool in_node, struct str label)
{
    char name[PROBLEM_QUOTE];

    if (node->outside)
        return;
    if (option->type == OPT_HASH)
        warn_of_hash(c, node, label);
    /* `key` of TLS is a path, or the key itself. */
    bool path = str_is(label, "key") && strstr(node->text.ptr, "-----BEGIN ") == NULL;

    if (option->type == OPT_SECRET && !in_node && !path)
        problem_add(c->warnings, node->place,
                    "`waybill secret add NAME` keeps it; write secret:NAME here",
                    "`%s` is written out: everybody who may read the configuration sees it",
                    problem_quote(name, label));
}

/* ---- connections to others ---- */

static bool is_credential(const struct yaml_node *header)
{
    static const char *const names[] = { "Authorization", "Proxy-Authorization", "Cookie",
                                         "X-Api-Key" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_eq_nocase(header->key->text, str_of(names[i])))
            return true;
    return str_starts(header->text, STR("secret:")) ||
           strstr(header->text.ptr, "${secret:") != NULL;
}

static bool sends_credentials(const struct yaml_node *map)
{
    const struct yaml_node *headers = yaml_get(map, "headers");

    if (yaml_get(map, "password") != NULL || yaml_get(map, "secret_key") != NULL ||
        yaml_get(map, "oauth2") != NULL)
        return true;
    if (headers != NULL && headers->kind == YAML_MAP)
        for (const struct yaml_node *h = headers->first; h != NULL; h = h->next)
            if (h->kind == YAML_SCALAR && is_credential(h))
                return true;
    return false;
}

static void warn_of_url(struct check *c, const struct yaml_node *map)
{
    const struct yaml_node *url = yaml_get(map, "url");
    struct url_parts parts;

    if (url == NULL || url->kind != YAML_SCALAR || !url_split(url->text, &parts))
        return;
    bool web = str_starts(parts.scheme, STR("http"));

    /* `user@` alone is how other kinds are told their user. */
    if (str_find(parts.user, ':') >= 0 || (web && parts.user.len > 0))
        problem_add(c->warnings, url->place,
                    "write `user` and `password: secret:NAME` beside the URL",
                    "the URL has a user name or a password in it, which is shown wherever it is");
    if ((parts.user.len > 0 || sends_credentials(map)) && str_is(parts.scheme, "http") &&
        !is_this_machine(parts.host))
        problem_add(c->warnings, url->place, "use https://",
                    "credentials go out in clear text: the URL starts with http://");
    if ((parts.user.len > 0 || sends_credentials(map)) && str_is(parts.scheme, "ftp") &&
        yaml_get(map, "tls") == NULL && !is_this_machine(parts.host))
        problem_add(c->warnings, url->place, "add `tls: explicit`, or use ftps:// or sftp://",
                    "credentials and files go out in clear text: the URL starts with ftp://, and "
                    "there is no `tls`");
}

/* One value, or the only one of a list. */
static void warn_of_host_key(struct check *c, const struct yaml_node *map)
{
    const struct yaml_node *key = yaml_get(map, "host_key");

    if (key != NULL && key->kind == YAML_LIST)
        key = key->first;
    if (key != NULL && str_is(yaml_text(key), "any"))
        problem_add(c->warnings, key->place,
                    "write the fingerprint of its key; `ssh-keyscan HOST | ssh-keygen -lf -` "
                    "prints it",
                    "with `host_key: any` whoever answers under the server's address gets the "
                    "password and the documents");
}

static void warn_of_connection(struct check *c, const struct yaml_node *map)
{
    const struct yaml_node *verify = yaml_get(map, "verify");

    if (map->key != NULL && str_is(map->key->text, "tls") && str_is(yaml_text(verify), "false"))
        problem_add(c->warnings, verify->place, "name the authority in `ca` instead",
                    "with `verify: false` anybody on the way can read and change what is sent");
    warn_of_host_key(c, map);
    warn_of_url(c, map);
}

/* Every map outside of the node section, in the order of the text. */
static void warn_of_connections(struct check *c)
{
    const struct yaml_node *above[YAML_DEPTH], *n = c->root;
    size_t depth = 0;

    while (n != NULL) {
        bool own = depth == 1 && n->key != NULL && str_is(n->key->text, "node");

        if (n->kind == YAML_MAP && !own)
            warn_of_connection(c, n);
        if (n->first != NULL && !own) {
            require(depth < YAML_DEPTH);
            above[depth++] = n;
            n = n->first;
            continue;
        }
        while (n->next == NULL && depth > 0)
            n = above[--depth];
        n = n->next;
    }
}

/* ---- the node ---- */

static void check_clear_text(struct check *c, const struct yaml_node *node)
{
    const struct yaml_node *listen = yaml_get(node, "listen");
    struct units_address address;
    struct err err;

    if (!units_address(yaml_text(listen), &address, &err) ||
        units_is_loopback(str_of(address.host)) || yaml_get(node, "tls") != NULL)
        return;
    bool meant = str_is(yaml_text(yaml_get(node, "insecure")), "true");

    problem_add(meant ? c->warnings : c->problems, listen->place,
                meant ? "`insecure: true` allows it; add `tls` or listen on 127.0.0.1"
                      : "add `tls: { cert: FILE, key: FILE }`, listen on 127.0.0.1 behind a proxy "
                        "that has TLS, or write `insecure: true` beside it",
                "without `tls` the node answers in clear text on %s: passwords, tokens and "
                "documents can be read on the way",
                address.host);
}

/* A key that others on this machine can read is no secret. */
static void warn_of_key_file(struct check *c, const struct yaml_node *node)
{
    const struct yaml_node *key = yaml_get(yaml_get(node, "tls"), "key");
    AUTO(buf_done) struct buf path = BUF_INIT(8192);
    struct err err;
    struct stat st;

    if (key == NULL || key->kind != YAML_SCALAR || key->outside || key->text.len == 0 ||
        check_has_reference(key->text) || config_is_pem(key->text.ptr) ||
        !config_path(key->text.ptr, c->file, &path, &err) || stat(path.ptr, &st) < 0)
        return;
    if ((st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
        problem_add(c->warnings, key->place, "chmod 600, or 640 with a group of its own",
                    "other users of this machine can read or change the TLS key: its mode is %03o",
                    (unsigned)(st.st_mode & 0777));
}

/* The value of a parameter of a database's URL. */
static struct str url_parameter(struct str rest, const char *name)
{
    struct str part = STR("");

    rest = str_cut(rest, '?', &part);
    while (rest.len > 0) {
        struct str value;

        rest = str_cut(rest, '&', &part);
        value = str_cut(part, '=', &part);
        if (str_is(part, name))
            return value;
    }
    return STR("");
}

static bool is_encrypted(struct str mode)
{
    return str_is(mode, "require") || str_is(mode, "verify-ca") || str_is(mode, "verify-full");
}

static void warn_of_database(struct check *c, const struct yaml_node *node)
{
    const struct yaml_node *store = yaml_get(node, "store");
    const char *mode = getenv("PGSSLMODE");
    struct url_parts parts;
    bool remote = false;

    if (store == NULL || store->kind != YAML_SCALAR || !url_split(store->text, &parts))
        return;
    if (!store->outside && str_find(parts.user, ':') >= 0)
        problem_add(c->warnings, store->place,
                    "take it from ${env:NAME} or ${file:PATH}, or from a password file (.pgpass)",
                    "the password of the database is written out");
    for (struct str one, hosts = parts.host; hosts.len > 0;) {
        hosts = str_cut(hosts, ',', &one);
        remote = remote || !is_this_machine(one);
    }
    if (remote && !is_encrypted(url_parameter(parts.rest, "sslmode")) &&
        (mode == NULL || !is_encrypted(str_of(mode))))
        problem_add(c->warnings, store->place, "end the URL with ?sslmode=verify-full",
                    "the database is on another machine, and nothing says that the connection to "
                    "it is encrypted");
}

void check_safety(struct check *c)
{
    const struct yaml_node *node = yaml_get(c->root, "node");

    if (node != NULL && node->kind == YAML_MAP) {
        check_clear_text(c, node);
        warn_of_key_file(c, node);
        warn_of_database(c, node);
    }
    warn_of_connections(c);
}
