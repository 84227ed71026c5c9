#include "app/client_setup.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/exit_code.h"
#include "app/print.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/network.h"
#include "base/require.h"
#include "base/str.h"

static const char default_url[] = "http://127.0.0.1:8480";

static void url_free(CURLU **u)
{
    curl_url_cleanup(*u);
}

static bool has_part(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return has;
}

static bool client_setup_is_loopback(CURLU *u)
{
    struct in_addr v4 = { 0 };
    char *host = NULL;

    if (curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return false;
    bool yes = str_eq_nocase(str_of(host), STR("localhost")) || str_is(str_of(host), "[::1]") ||
               (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);

    curl_free(host);
    return yes;
}

/* An address of this machine; no name, which may mean another machine a moment later. */
static bool client_setup_is_here(CURLU *u)
{
    struct network_address address;
    char *host = NULL;

    if (curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return false;
    struct str text = str_of(host);

    if (text.len > 2 && text.ptr[0] == '[')
        text = str_mem(text.ptr + 1, text.len - 2);
    bool yes = network_address_parse(text, &address) && network_address_is_here(&address);

    curl_free(host);
    return yes;
}

bool client_setup_url(struct client *c, const struct args *a)
{
    const char *given = args_text(a, "url");
    struct str url = str_of(given != NULL ? given : default_url);
    AUTO(url_free) CURLU *u = curl_url();

    require(u != NULL);
    if (!str_starts(url, STR("http://")) && !str_starts(url, STR("https://"))) {
        c->exit_code = args_wrong(a, "--url starts with http:// or https://, not \"%s\"", given);
        return false;
    }
    if (curl_url_set(u, CURLUPART_URL, url.ptr, 0) != CURLUE_OK || has_part(u, CURLUPART_QUERY) ||
        has_part(u, CURLUPART_FRAGMENT) || url.len > 2000) {
        c->exit_code = args_wrong(a, "--url \"%s\" is not the address of a node; one looks like %s",
                                  given, default_url);
        return false;
    }
    if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD)) {
        c->exit_code = args_wrong(a, "--url takes no user and password; a node wants --token");
        return false;
    }
    c->loopback = client_setup_is_loopback(u);
    c->here = c->loopback || client_setup_is_here(u);
    while (url.ptr[url.len - 1] == '/')
        url.len--;
    c->url = xstrndup(url);
    return true;
}

/* Whether the text can be sent in a header field: printable ASCII without blanks. */
static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~')
            return false;
    return s.len > 0 && s.len <= CLIENT_TOKEN_CAP;
}

static bool use_token(struct client *c, struct str token, const char *from)
{
    while (token.len > 0 && strchr(" \t\r\n", token.ptr[token.len - 1]) != NULL)
        token.len--;
    if (!is_token(token)) {
        c->exit_code = print_fail(EXIT_USAGE, "what %s holds is not a token", from);
        return false;
    }
    c->token = xstrndup(token);
    c->token_from = from;
    return true;
}

/* True with c->token still NULL: the file does not exist, or is not for the node that is asked. */
static bool read_token(struct client *c, const char *path, const char *from)
{
    AUTO(buf_done) struct buf text = BUF_INIT(CLIENT_TOKEN_CAP + 2);
    struct err err;

    if (!c->here) {
        c->token_unsent = c->token_unsent || access(path, F_OK) == 0;
        return true;
    }
    if (file_read_whole(AT_FDCWD, path, &text, &err))
        return use_token(c, buf_view(&text), from);
    if (err.sys == ENOENT || err.sys == ENOTDIR)
        return true;
    if (err.kind == ERR_LIMIT)
        return use_token(c, STR(""), from);
    if (err.sys == EACCES || err.sys == EPERM)
        c->exit_code = print_fail(EXIT_DENIED,
                                  "not allowed to read the token in %s: run this as the user of "
                                  "the node, or give --token",
                                  path);
    else
        c->exit_code = print_fail(EXIT_IO, "no token: %s", err.text);
    return false;
}

bool client_setup_token(struct client *c, const struct args *a)
{
    const char *token = args_text(a, "token"), *folder = getenv("WAYBILL_DATA");

    if (token != NULL)
        return use_token(c, str_of(token), "--token");
    token = getenv("WAYBILL_TOKEN");
    if (token != NULL && *token != '\0')
        return use_token(c, str_of(token), "WAYBILL_TOKEN");
    if (folder != NULL && *folder != '\0') {
        AUTO(buf_done) struct buf path = BUF_INIT(64 << 10);
        struct err err;

        if (!buf_append(&path, str_of(folder), &err) || !buf_append(&path, STR("/token"), &err)) {
            c->exit_code = print_fail(EXIT_USAGE, "WAYBILL_DATA is too long");
            return false;
        }
        if (!read_token(c, path.ptr, "WAYBILL_DATA/token") || c->token != NULL)
            return c->token != NULL;
    }
    return read_token(c, "data/token", "./data/token");
}
