#include "core/sftp/sftp_place.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/http_target.h"
#include "core/config_check.h"

enum { FOLDER_MOST = 1024, CONNECT_US = 10 * CLOCK_S };

/* ---- the URL ---- */

struct sftp_url {
    struct str user, host, path; /* user: empty, none is written */
    uint64_t port;
    bool has_password;
};

static bool sftp_url_host(struct str host, struct sftp_url *ret)
{
    struct str port;

    if (host.len > 0 && host.ptr[0] == '[') { /* IPv6 */
        port = str_cut(str_from(host, 1), ']', &ret->host);
        if (port.len > 0 && port.ptr[0] != ':')
            return false;
        port = str_from(port, 1);
    } else {
        port = str_cut(host, ':', &ret->host);
    }
    ret->port = SSH_LINK_PORT;
    return ret->host.len > 0 && (port.len == 0 || (str_to_u64(port, &ret->port) && ret->port > 0 &&
                                                   ret->port <= UINT16_MAX));
}

/* sftp://[USER@]HOST[:PORT][/PATH] */
static bool sftp_url_split(struct str url, struct sftp_url *ret)
{
    struct str authority, rest = str_from(url, strlen("sftp://")), host;

    *ret = (struct sftp_url){ 0 };
    if (!str_starts(url, STR("sftp://")))
        return false;
    (void)str_cut(rest, '/', &authority);
    ret->path = str_from(rest, authority.len);
    host = str_cut(authority, '@', &ret->user);
    if (host.len == 0 && str_find(authority, '@') < 0) {
        host = authority;
        ret->user = STR("");
    }
    ret->has_password = str_find(ret->user, ':') >= 0;
    return sftp_url_host(host, ret);
}

/* /out is a folder of the server, /~/out one in the folder of the user. */
static bool sftp_place_folder(const struct settings *s, struct str path, struct str *ret,
                              struct err *err)
{
    AUTO(buf_done) struct buf folder = BUF_INIT(FOLDER_MOST);

    if (!http_decode_path(path, &folder, err)) {
        err->kind = ERR_CONFIG;
        return err_context(err, "the path of `url`");
    }
    struct str text = buf_view(&folder);

    while (text.len > 1 && text.ptr[text.len - 1] == '/')
        text.len--;
    if (str_is(text, "/~"))
        text = STR("");
    else if (str_starts(text, STR("/~/")))
        text = str_from(text, strlen("/~/"));
    *ret = arena_copy(s->arena, text);
    return true;
}

/* ---- the server's keys ---- */

static bool sftp_place_prints(const struct settings *s, struct ssh_login *login, struct err *err)
{
    const struct str *texts;
    size_t count;

    if (!settings_texts(s, "host_key", &texts, &count, err))
        return false;
    struct sha256 *prints = ARENA_ARRAY(s->arena, struct sha256, count + 1);

    for (size_t i = 0; i < count; i++)
        if (str_is(texts[i], "any") && count == 1)
            return true;
        else if (!ssh_link_print_parse(texts[i], &prints[i]))
            return err_set(err, ERR_CONFIG, 0,
                           "`host_key` is SHA256: and 43 characters, as ssh-keygen -l writes it");
    login->prints = prints;
    login->print_count = count;
    return count > 0 || err_set(err, ERR_CONFIG, 0, "`host_key` is empty");
}

/* ---- all of it ---- */

static bool sftp_place_text(const struct settings *s, const char *key, const char **ret,
                            struct err *err)
{
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    *ret = text.len > 0 ? text.ptr : NULL;
    return true;
}

static void sftp_place_add(struct digest *d, struct str part)
{
    uint64_t len = part.len;

    digest_add(d, str_mem(&len, sizeof len));
    digest_add(d, part);
}

static struct sha256 sftp_place_key(const struct ssh_login *l)
{
    const char *parts[] = { "sftp", l->host, l->user, l->password, l->private_key, l->passphrase };
    struct digest d = digest_start();

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        sftp_place_add(&d, parts[i] != NULL ? str_of(parts[i]) : STR(""));
    sftp_place_add(&d, str_mem(&l->port, sizeof l->port));
    for (size_t i = 0; i < l->print_count; i++)
        sftp_place_add(&d, str_mem(l->prints[i].bytes, SHA256_SIZE));
    return digest_end(&d);
}

static bool sftp_place_login(const struct settings *s, const struct sftp_url *url,
                             struct ssh_login *login, struct err *err)
{
    const char *user;

    if (url->has_password)
        return err_set(err, ERR_CONFIG, 0,
                       "`url` has a password in it: write `password: secret:NAME` beside it");
    if (!sftp_place_text(s, "user", &user, err))
        return false;
    if (user == NULL && url->user.len == 0)
        return err_set(err, ERR_CONFIG, 0, "`user` is missing, or USER@ in `url`");
    *login = (struct ssh_login){ .host = arena_text(s->arena, url->host),
                                 .port = (uint16_t)url->port,
                                 .user = user != NULL ? user : arena_text(s->arena, url->user),
                                 .connect_us = CONNECT_US };
    return sftp_place_text(s, "password", &login->password, err) &&
           sftp_place_text(s, "private_key", &login->private_key, err) &&
           sftp_place_text(s, "passphrase", &login->passphrase, err) &&
           sftp_place_prints(s, login, err) &&
           settings_duration(s, "connect_timeout", &login->connect_us, err) &&
           (login->private_key == NULL ||
            ssh_link_check_key(login->private_key, login->passphrase, err));
}

bool sftp_place_read(const struct settings *s, struct sftp_place *ret, struct err *err)
{
    struct sftp_url url;
    struct str text;

    if (!settings_text(s, "url", &text, err))
        return false;
    if (!sftp_url_split(text, &url))
        return err_set(err, ERR_CONFIG, 0, "`url` is sftp://USER@HOST:PORT/FOLDER");
    if (!sftp_place_login(s, &url, &ret->login, err) ||
        !sftp_place_folder(s, url.path, &ret->folder, err))
        return false;
    ret->key = sftp_place_key(&ret->login);
    return settings_duration(s, "timeout", &ret->timeout_us, err);
}

/* ---- before it is used ---- */

static bool is_written_out(const struct yaml_node *n)
{
    return n != NULL && n->kind == YAML_SCALAR && !n->outside && n->text.len > 0 &&
           !check_has_reference(n->text);
}

static void sftp_place_check_print(const struct yaml_node *one, bool alone,
                                   struct problem_list *problems)
{
    struct sha256 print;

    if (!is_written_out(one) || ssh_link_print_parse(one->text, &print))
        return;
    if (str_is(one->text, "any") && alone)
        return;
    problem_add(
        problems, one->place, "`ssh-keyscan HOST | ssh-keygen -lf -` prints those of a server",
        str_is(one->text, "any") ? "`any` stands alone: beside it, fingerprints mean nothing"
                                 : "a fingerprint is SHA256: and 43 letters, digits, + and /");
}

void sftp_place_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *prints = yaml_get(map, "host_key"), *url = yaml_get(map, "url");
    bool list = prints != NULL && prints->kind == YAML_LIST;
    struct sftp_url parts;

    for (const struct yaml_node *p = list ? prints->first : prints; p != NULL;
         p = list ? p->next : NULL)
        sftp_place_check_print(p, !list || prints->count == 1, problems);
    if (is_written_out(url) && str_starts(url->text, STR("sftp://"))) {
        if (!sftp_url_split(url->text, &parts))
            problem_add(problems, url->place, "sftp://USER@HOST:PORT/FOLDER",
                        "the URL has no host, or a port that is none");
        else if (parts.user.len == 0 && yaml_get(map, "user") == NULL)
            problem_add(problems, url->place, "write sftp://USER@HOST/FOLDER, or `user`",
                        "nothing says as which user to log in");
    }
    if (yaml_get(map, "password") == NULL && yaml_get(map, "private_key") == NULL)
        problem_add(problems, map->place, "`password: secret:NAME` or `private_key: secret:NAME`",
                    "nothing says how to log in");
}
