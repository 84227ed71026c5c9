#include "core/s3/s3_probe.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/probing/probing_net.h"
#include "core/s3/s3_judge.h"
#include "core/s3/s3_line.h"

#define CLOCK_REMEDY "set the clock of this machine (NTP), or that of the service"

enum { URL_MOST = 1024, HEAD_MOST = 64 << 10, CLOCK_MOST_S = 300 };

/* ---- the connection ---- */

static bool s3_probe_connect(const struct s3_service *s, struct str bucket, struct call *c,
                             struct probing *p)
{
    bool in_host = s->host_style && bucket.len > 0;
    char url[URL_MOST];

    (void)snprintf(url, sizeof url, "%.*s://%.*s%s%.*s/", STR_ARG(s->scheme),
                   in_host ? (int)bucket.len : 0, bucket.ptr, in_host ? "." : "", STR_ARG(s->host));
    return probing_connect(&(struct probing_place){ .url = url,
                                                    .no_tls = "not used: `url` is http",
                                                    .ca = s->http.ca,
                                                    .cert = s->http.cert,
                                                    .key = s->http.key,
                                                    .verify = s->http.verify,
                                                    .connect_us = s->http.connect_timeout_us,
                                                    .http = true },
                           c, p);
}

/* ---- the clock ---- */

/* How many seconds the service's clock is ahead of ours; false: it does not say. */
static bool s3_clock_ahead(const struct s3_exchange *x, int64_t *ret_s)
{
    char text[80];

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(s3_exchange_field(x, "Date")));
    time_t there = text[0] != '\0' ? curl_getdate(text, NULL) : -1;

    *ret_s = there != -1 ? (int64_t)there - x->answer.now_us / CLOCK_S : 0;
    return there != -1;
}

static bool s3_is_clock(struct str code)
{
    return str_is(code, "RequestTimeTooSkewed") || str_is(code, "RequestExpired");
}

static bool s3_tell_clock(const struct s3_exchange *x, struct str code, struct probing *p)
{
    int64_t ahead;
    bool known = s3_clock_ahead(x, &ahead);
    const char *word = ahead < 0 ? "behind" : "ahead of";

    if (known && (s3_is_clock(code) || llabs(ahead) > CLOCK_MOST_S))
        return probing_fail(p, "clock", CLOCK_REMEDY,
                            "the clock of the service is %lld s %s that of this machine",
                            llabs(ahead), word);
    if (s3_is_clock(code))
        return probing_fail(p, "clock", CLOCK_REMEDY,
                            "the service finds our clock wrong, and does not tell its own");
    if (known)
        return probing_pass(p, "clock", "that of the service is %lld s %s ours", llabs(ahead),
                            word);
    probing_leave(p, "clock", "the service does not tell its time");
    return true;
}

/* ---- the answer ---- */

static void s3_pass_login(const struct s3_service *s, struct probing *p)
{
    if (s->signer.access_key.len > 0)
        (void)probing_pass(p, "login", "the signature is right, for region %.*s",
                           STR_ARG(s->signer.region));
    else
        probing_leave(p, "login", "no `access_key` is configured: requests are not signed");
}

static bool s3_is_of_login(struct str code)
{
    static const char *const codes[] = {
        "SignatureDoesNotMatch",
        "InvalidAccessKeyId",
        "ExpiredToken",
        "InvalidToken",
        "AccountProblem",
        "TokenRefreshRequired",
        "AuthorizationHeaderMalformed",
        "PermanentRedirect",
        "InvalidRegion",
        "IllegalLocationConstraintException",
    };

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (str_is(code, codes[i]))
            return true;
    return false;
}

static bool s3_tell_answer(const struct s3_service *s, struct str bucket,
                           const struct s3_exchange *x, const struct verdict *v, struct str code,
                           struct probing *p)
{
    if (s3_is_of_login(code) || (x->answer.status == 301 && code.len == 0))
        return probing_fail(p, "login",
                            "correct `access_key`, `secret_key`, `region` or `url`, as the message "
                            "says",
                            "%s", v->message);
    if (str_is(code, "NoSuchBucket")) {
        s3_pass_login(s, p);
        return probing_fail(p, "folder", "create the bucket, or correct `bucket`", "%s",
                            v->message);
    }
    if (str_is(code, "AccessDenied") || str_is(code, "AllAccessDisabled")) {
        s3_pass_login(s, p);
        return probing_fail(p, "rights",
                            "give it the right to look into the bucket (GetObject, ListBucket); a "
                            "key that may only write cannot be told from one that may nothing",
                            "%s", v->message);
    }
    if (x->answer.reach != HTTP_OUT_ANSWERED || x->answer.status != 404 ||
        !str_is(code, "NoSuchKey"))
        return probing_fail(p, "login", "check `url`, and that an S3 service answers there", "%s",
                            v->message);
    s3_pass_login(s, p);
    (void)probing_pass(p, "folder", "the bucket %.*s is there", STR_ARG(bucket));
    probing_leave(p, "rights",
                  "not tried: an object that is stored and deleted again may stay as a version");
    return true;
}

static bool s3_probe_bucket(const struct s3_service *s, struct str bucket, struct call *c,
                            struct probing *p)
{
    struct http_out_options options = s->http;
    struct s3_lines lines;
    struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
    char name[PROBING_NAME];
    struct s3_exchange x = { .bytes = STR(""),
                             .head = BUF_INIT(HEAD_MOST),
                             .body = BUF_INIT(S3_ANSWER_MOST) };
    struct s3_order order = { .method = "GET",
                              .bucket = bucket,
                              .key = str_of(probing_name("", name)),
                              .digest = digest_of(STR("")) };
    struct verdict v;
    struct str code;

    probing_begin(p, "login");
    options.timeout_us = probing_time(p, options.timeout_us);
    s3_lines_init(&lines, &options);
    struct s3_talk talk = {
        .lines = &lines, .call = c, .whole = true, .began_us = clock_mono_us()
    };

    s3_talk_ask(&talk, s, &order, &x);
    s3_judge(&(struct s3_asked){ .service = s, .bucket = bucket, .key = order.key }, &x.answer, &a,
             &v, &code);
    bool ok = (x.answer.reach != HTTP_OUT_ANSWERED || s3_tell_clock(&x, code, p)) &&
              s3_tell_answer(s, bucket, &x, &v, code, p);

    s3_exchange_done(&x);
    s3_lines_done(&lines);
    arena_done(&a);
    return ok;
}

bool s3_probe(const struct s3_service *s, struct str bucket, struct call *c, struct probing *p)
{
    if (!s3_probe_connect(s, bucket, c, p))
        return false;
    if (bucket.len > 0)
        return s3_probe_bucket(s, bucket, c, p);
    probing_leave(p, "login", "not tried: the bucket depends on the document");
    return true;
}
