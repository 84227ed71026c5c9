#include "admin/login/oidc_fetch.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include "base/egress.h"

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

/* What a request in progress runs into. */
struct way {
    const struct oidc_fetch *fetch;
    const char *barred; /* NULL: it is not */
};

static curl_socket_t oidc_fetch_open(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
    struct way *way = arg;

    (void)purpose;
    way->barred = egress_bars(way->fetch->egress, &addr->addr);
    if (way->barred != NULL)
        return CURL_SOCKET_BAD;
    return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static int oidc_fetch_ready(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct way *way = arg;

    (void)local_ip, (void)local_port;
    way->barred = egress_bars_own(way->fetch->egress, ip, port, str_of(way->fetch->url));
    return way->barred != NULL ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void oidc_fetch_set_up(CURL *curl, struct way *way, struct buf *to)
{
    const struct oidc_fetch *f = way->fetch;
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
    (void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, oidc_fetch_open);
    (void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, way);
    (void)curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, oidc_fetch_ready);
    (void)curl_easy_setopt(curl, CURLOPT_PREREQDATA, way);
    if (plain || f->egress == NULL || !f->egress->environment_proxy)
        (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
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
    struct way way = { .fetch = f };

    oidc_fetch_set_up(curl, &way, to);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    CURLcode rc = curl_easy_perform(curl);

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    if (rc != CURLE_OK && way.barred != NULL)
        return err_set(err, ERR_CONFIG, 0, "the provider is not asked: %s", way.barred);
    if (rc != CURLE_OK)
        return err_set(err, ERR_TRANSIENT, (int)rc, "the provider does not answer: %.120s",
                       why[0] != '\0' ? why : curl_easy_strerror(rc));
    *ret_status = (int)status;
    return true;
}
