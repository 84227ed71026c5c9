#include "app/checkpoint_keep.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"

enum { POST_TIMEOUT_S = 60 };

int checkpoint_keep_file(const char *path, const char *text)
{
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    struct err err = { 0 };

    if (fd < 0 && errno == EEXIST)
        return print_fail(EXIT_IO, "%s is there already: a checkpoint is kept, not replaced", path);
    if (fd < 0)
        return print_fail(EXIT_IO, "cannot make %s: %s", path, strerror(errno));
    if (file_write_all(fd, str_of(text), &err) && file_try_sync(fd, path, &err))
        return EXIT_DONE;
    (void)unlink(path);
    return print_fail(EXIT_IO, "cannot write %s: %s", path, err.text);
}

/* ---- webhook ---- */

static size_t drop_answer(char *bytes, size_t size, size_t count, void *arg)
{
    (void)bytes;
    (void)arg;
    return size * count;
}

static CURLcode post_text(CURL *curl, const char *url, const char *text, long *ret_status)
{
    struct curl_slist *fields = curl_slist_append(NULL, "Content-Type: text/plain");

    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)POST_TIMEOUT_S);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop_answer);
    CURLcode rc = curl_easy_perform(curl);

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, ret_status);
    curl_slist_free_all(fields);
    return rc;
}

int checkpoint_keep_post(const char *url, const char *text)
{
    CURL *curl = curl_easy_init();
    long status = 0;

    if (curl == NULL)
        return print_fail(EXIT_IO, "curl cannot be used");
    CURLcode rc = post_text(curl, url, text, &status);

    curl_easy_cleanup(curl);
    if (rc != CURLE_OK)
        return print_fail(EXIT_UNREACHABLE, "no connection to the webhook: %s",
                          curl_easy_strerror(rc));
    if (status < 200 || status > 299)
        return print_fail(EXIT_UNREACHABLE, "the webhook did not take it: status %ld", status);
    return EXIT_DONE;
}

/* ---- reading ---- */

int checkpoint_keep_read(const char *path, struct checkpoint *ret)
{
    bool from_stdin = strcmp(path, "-") == 0;
    AUTO_FD file = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int fd = from_stdin ? STDIN_FILENO : file;
    char text[2 * CHECKPOINT_TEXT];
    size_t got = 0;
    ssize_t n = -1;
    struct err err = { 0 };

    while (fd >= 0 && got < sizeof text && (n = read(fd, text + got, sizeof text - got)) > 0)
        got += (size_t)n;
    if (n < 0)
        return print_fail(EXIT_IO, "cannot read %s: %s", path, strerror(errno));
    if (!checkpoint_read(str_mem(text, got), ret, &err))
        return print_fail(EXIT_NO, "%s: %s", path, err.text);
    return EXIT_DONE;
}
