#include "core/ftp/ftp_place.h"

#include "base/clock.h"
#include "base/safe_path.h"

enum { CONNECT_US = 10 * CLOCK_S };

/* The path as the server is to read it, and the url without it. */
static bool ftp_place_split(const struct settings *s, struct ftp_place *p)
{
    CURLU *u = curl_url();
    char *path = NULL, *server = NULL;
    bool ok = u != NULL && curl_url_set(u, CURLUPART_URL, p->url.ptr, 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_PATH, &path, CURLU_URLDECODE) == CURLUE_OK &&
              curl_url_set(u, CURLUPART_PATH, "/", 0) == CURLUE_OK &&
              curl_url_get(u, CURLUPART_URL, &server, 0) == CURLUE_OK;

    if (ok) {
        p->path = arena_copy(s->arena, str_from(str_of(path), 1));
        p->server = arena_copy(s->arena, str_of(server));
    }
    curl_free(path);
    curl_free(server);
    curl_url_cleanup(u);
    return ok;
}

bool ftp_place_read(const struct settings *s, struct ftp_place *ret, struct err *err)
{
    struct curl_line_options *o = &ret->options;

    *ret = (struct ftp_place){ 0 };
    if (!curl_line_read(s, "ftp,ftps", o, err))
        return false;
    if (o->connect_timeout_us == 0)
        o->connect_timeout_us = o->timeout_us < CONNECT_US ? o->timeout_us : CONNECT_US;
    if (o->url.len > FTP_PLACE_URL - 3 * SAFE_PATH_MOST - 256)
        return err_set(err, ERR_CONFIG, 0, "`url` is too long");
    if (str_find(o->url, '?') >= 0 || str_find(o->url, '#') >= 0 || str_find(o->url, ';') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`url` is a folder: write %%3F, %%23 and %%3B in it");
    o->plain = o->anywhere = str_starts(o->url, STR("ftp://")) && !settings_has(s, "tls");
    ret->url = str_of(arena_printf(s->arena, "%.*s%s", STR_ARG(o->url),
                                   o->url.ptr[o->url.len - 1] == '/' ? "" : "/"));
    if (!ftp_place_split(s, ret) || str_has_control(ret->path))
        return err_set(err, ERR_CONFIG, 0, "the path of `url` cannot be read");
    if (ret->path.len > FTP_PLACE_PATH)
        return err_set(err, ERR_CONFIG, 0, "the path of `url` is too long");
    ret->key = curl_line_key("ftp", o, STR(""));
    return true;
}
