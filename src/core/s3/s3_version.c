#include "core/s3/s3_version.h"

#include <stdio.h>
#include <time.h>

#include "base/digest.h"

enum { ETAG_MOST = 80, ISO_MOST = 40, NS_OF_MS = 1000000 };

/* In the place of an ETag that is too long or has bytes that no ETag has: its digest. */
#define DIGEST_MARK '#'

bool s3_version_time(struct str text, int64_t *ret_ms)
{
    char copy[ISO_MOST];
    struct tm tm = { 0 };
    int64_t ms = 0, unit = 100;

    if (text.len >= sizeof copy)
        return false;
    (void)snprintf(copy, sizeof copy, "%.*s", STR_ARG(text));
    const char *end = strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm);

    if (end == NULL)
        return false;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
            ms += unit * (*end - '0');
    if (end[0] != 'Z' || end[1] != '\0')
        return false;
    *ret_ms = (int64_t)timegm(&tm) * 1000 + ms;
    return *ret_ms > 0 && *ret_ms < INT64_MAX / NS_OF_MS;
}

static struct str s3_bare_etag(struct str etag)
{
    if (etag.len >= 2 && etag.ptr[0] == '"' && etag.ptr[etag.len - 1] == '"')
        return str_mem(etag.ptr + 1, etag.len - 2);
    return etag;
}

/* A weak one (W/"...") cannot be asked for, either. */
static bool s3_is_plain_etag(struct str bare)
{
    for (size_t i = 0; i < bare.len; i++)
        if (bare.ptr[i] <= ' ' || bare.ptr[i] > '~' || bare.ptr[i] == '"')
            return false;
    return bare.len > 0 && bare.len <= ETAG_MOST && bare.ptr[0] != DIGEST_MARK;
}

static struct str s3_etag_text(struct str etag, char room[static SHA256_TEXT + 1])
{
    struct str bare = s3_bare_etag(etag);
    struct sha256 sha;

    if (s3_is_plain_etag(bare))
        return bare;
    sha = digest_of(etag);
    room[0] = DIGEST_MARK;
    (void)digest_text(&sha, room + 1);
    return str_of(room);
}

void s3_version_put(struct str etag, int64_t time_ms, char to[static S3_VERSION])
{
    char room[SHA256_TEXT + 1];
    struct str text = s3_etag_text(etag, room);

    (void)snprintf(to, S3_VERSION, "%.*s %lld", STR_ARG(text), (long long)time_ms);
}

int64_t s3_version_ms(const char *version)
{
    struct str etag, time = str_cut(str_of(version), ' ', &etag);
    int64_t ms = 0;

    return str_to_i64(time, &ms) ? ms : 0;
}

bool s3_version_is(const char *version, struct str etag, int64_t time_ms)
{
    char room[SHA256_TEXT + 1];
    struct str old;
    int64_t ms = s3_version_ms(version);

    (void)str_cut(str_of(version), ' ', &old);
    return str_eq(old, s3_etag_text(etag, room)) &&
           (ms == 0 || time_ms == 0 ||
            (ms - time_ms <= S3_VERSION_APART_MS && time_ms - ms <= S3_VERSION_APART_MS));
}

bool s3_version_condition(const char *version, char to[static S3_VERSION])
{
    struct str etag;

    (void)str_cut(str_of(version), ' ', &etag);
    if (!s3_is_plain_etag(etag))
        return false;
    (void)snprintf(to, S3_VERSION, "\"%.*s\"", STR_ARG(etag));
    return true;
}
