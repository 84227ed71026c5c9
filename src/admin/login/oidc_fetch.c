#include "admin/login/oidc_fetch.h"

#include <curl/curl.h>

enum { PATIENCE_MS = 10000, CONNECT_MS = 5000 };

static bool oidc_fetch_is_loopback(struct str host)
{
    return str_is(host, "localhost") || str_is(host, "127.0.0.1") || str_is(host, "[::1]");
}

bool oidc_fetch_may(struct str url)
{
    struct str rest, host;

    if (str_starts(url, STR("https://")))
        return true;
    if (!str_starts(url, STR("http://")))
        return false;
    rest = str_from(url, strlen("http://"));
    (void)str_cut(rest, '/', &host);
    if (str_find(host, '@') >= 0)
        return false;
    if (host.len > 0 && host.ptr[0] == '[') {
        ptrdiff_t end = str_find(host, ']');

        return end > 0 && oidc_fetch_is_loopback(str_mem(host.ptr, (size_t)end + 1));
    }
    (void)str_cut(host, ':', &rest);
    return oidc_fetch_is_loopback(rest);
}

static size_t oidc_fetch_take(char *bytes, size_t size, size_t count, void *arg)
{
    struct err err;

    return buf_append(arg, str_mem(bytes, size * count), &err) ? size * count : 0;
}

static void oidc_fetch_set_up(CURL *curl, const struct oidc_fetch *f, struct buf *to)
{
    bool plain = str_starts(str_of(f->url), STR("http://"));

    (void)curl_easy_setopt(curl, CURLOPT_URL, f->url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)PATIENCE_MS);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, oidc_fetch_take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, to);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "Waybill");
    if (plain)
        (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    if (f->form != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, f->form);
    if (f->user != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        (void)curl_easy_setopt(curl, CURLOPT_USERNAME, f->user);
        (void)curl_easy_setopt(curl, CURLOPT_PASSWORD, f->password);
    }
}

bool oidc_fetch(const struct oidc_fetch *f, struct buf *to, int *ret_status, struct err *err)
{
    char why[CURL_ERROR_SIZE] = "";
    long status = 0;

    if (!oidc_fetch_may(str_of(f->url)))
        return err_set(err, ERR_CONFIG, 0,
                       "the provider is asked by https, or by http on this machine: not %.100s",
                       f->url);
    CURL *curl = curl_easy_init();

    if (curl == NULL)
        return err_set(err, ERR_TRANSIENT, 0, "no memory to ask the provider");
    oidc_fetch_set_up(curl, f, to);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    CURLcode rc = curl_easy_perform(curl);

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    if (rc != CURLE_OK)
        return err_set(err, ERR_TRANSIENT, (int)rc, "the provider does not answer: %.120s",
                       why[0] != '\0' ? why : curl_easy_strerror(rc));
    *ret_status = (int)status;
    return true;
}
