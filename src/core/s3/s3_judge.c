#include "core/s3/s3_judge.h"

#include "base/auto.h"
#include "core/web/answer_excerpt.h"
#include "core/web/http_client.h"

enum { SAID_MOST = 200 }; /* bytes of the service's own words in a message */

/* What a code means, and the remedy. */
struct meaning {
    const char *code;
    enum verdict_kind kind;
    const char *text;
};

static const struct meaning meanings[] = {
    /* our credential */
    { "SignatureDoesNotMatch", VERDICT_CREDENTIAL,
      "the signature is wrong: `secret_key` is not the secret of this `access_key`" },
    { "InvalidAccessKeyId", VERDICT_CREDENTIAL,
      "the service does not know this `access_key`: correct it, or create it there" },
    { "RequestTimeTooSkewed", VERDICT_CREDENTIAL,
      "the clock of this machine is wrong, or that of the service: set it (NTP)" },
    { "RequestExpired", VERDICT_CREDENTIAL,
      "the clock of this machine is wrong, or that of the service: set it (NTP)" },
    { "ExpiredToken", VERDICT_CREDENTIAL, "`session_token` has expired: set a new one" },
    { "InvalidToken", VERDICT_CREDENTIAL,
      "`session_token` is wrong, or belongs to another `access_key`" },
    { "TokenRefreshRequired", VERDICT_CREDENTIAL, "`session_token` has expired: set a new one" },
    { "AccessDenied", VERDICT_CREDENTIAL,
      "this `access_key` may not do that in this bucket: give it the right to" },
    { "AllAccessDisabled", VERDICT_CREDENTIAL, "the bucket is closed to everybody" },
    { "AccountProblem", VERDICT_CREDENTIAL, "the service has closed the account" },
    /* our region or address */
    { "IllegalLocationConstraintException", VERDICT_CREDENTIAL,
      "the bucket is in another region: set `region`" },
    /* later */
    { "SlowDown", VERDICT_RETRY, "the service asks for fewer requests" },
    { "ServiceUnavailable", VERDICT_RETRY, "the service is not available now" },
    { "RequestTimeout", VERDICT_RETRY, "the service waited too long for our bytes" },
    { "OperationAborted", VERDICT_RETRY, "another request changes the same object" },
    { "ConditionalRequestConflict", VERDICT_RETRY, "another request changes the same object" },
    { "NoSuchUpload", VERDICT_RETRY, "the upload in parts was ended by somebody else" },
    { "NoSuchKey", VERDICT_RETRY, /* Swift says so to a PUT while it starts */
      "the service does not find the object: it has not started whole, or somebody removed it" },
    { "QuotaExceeded", VERDICT_UNREACHED, "the quota of the bucket is used up: make room" },
    { "EntityTooSmall", VERDICT_RETRY, "the service lost a part of the upload" },
    { "InvalidPart", VERDICT_RETRY, "the service lost a part of the upload" },
    /* damaged on its way */
    { "BadDigest", VERDICT_RETRY, "the bytes were damaged on their way" },
    { "XAmzContentSHA256Mismatch", VERDICT_RETRY, "the bytes were damaged on their way" },
    { "IncompleteBody", VERDICT_RETRY, "the bytes did not arrive whole" },
};

static const struct meaning *find_meaning(struct str code)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (str_is(code, meanings[i].code))
            return &meanings[i];
    return NULL;
}

bool s3_is_stored(const struct http_out_answer *answer, struct str etag)
{
    return answer->status >= 200 && answer->status <= 299 && etag.len > 0 &&
           str_trim(answer->body).len == 0;
}

/* ---- without a code ---- */

static enum verdict_kind kind_of_status(const struct s3_asked *asked, int64_t status)
{
    enum verdict_kind kind = http_client_usual(status);

    if (kind == VERDICT_DELIVERED) /* a page, where an object was to be stored */
        return VERDICT_UNREACHED;
    if (kind == VERDICT_DOUBT && !asked->changes)
        return VERDICT_RETRY;
    return status == 507 ? VERDICT_UNREACHED : kind;
}

/* An answer that no S3 service gives. */
static void judge_page(const struct s3_asked *asked, const struct http_out_answer *a,
                       struct verdict *v)
{
    AUTO(buf_done) struct buf said = BUF_INIT(SAID_MOST);

    answer_excerpt(a->body, &said);
    (void)verdict_say(v, kind_of_status(asked, a->status),
                      "answered %lld with a page instead of as an S3 service does: is `url` right, "
                      "is there a proxy? It says: %.*s",
                      (long long)a->status, STR_ARG(buf_view(&said)));
}

/* HEAD has no body: the status is all there is. */
static void judge_status(const struct s3_asked *asked, const struct http_out_answer *a,
                         struct verdict *v)
{
    enum verdict_kind kind = kind_of_status(asked, a->status);

    if (kind == VERDICT_CREDENTIAL)
        (void)verdict_say(v, kind,
                          "the service answered %lld: `access_key`, `secret_key`, the right to the "
                          "bucket or the clock of this machine is wrong",
                          (long long)a->status);
    else if (a->status == 301)
        (void)verdict_say(v, VERDICT_CREDENTIAL,
                          "the bucket %.*s is in another region: set `region` and `url`",
                          STR_ARG(asked->bucket));
    else if (a->status < 300)
        (void)verdict_say(
            v, kind,
            "answered %lld, but not as an S3 service does: is `url` right, is there a "
            "proxy?",
            (long long)a->status);
    else
        (void)verdict_say(v, kind, "the service answered %lld", (long long)a->status);
}

/* ---- with a code ---- */

static bool is_wrong_place(struct str code)
{
    return str_is(code, "AuthorizationHeaderMalformed") || str_is(code, "PermanentRedirect") ||
           str_is(code, "InvalidRegion");
}

static void judge_place(const struct s3_asked *asked, const struct s3_answer *s, struct verdict *v)
{
    if (s->region.len > 0)
        (void)verdict_say(
            v, VERDICT_CREDENTIAL, "the region is wrong: it is %.*s here, and `region` says %.*s",
            STR_ARG(str_first(s->region, 60)), STR_ARG(asked->service->signer.region));
    else if (s->endpoint.len > 0)
        (void)verdict_say(v, VERDICT_CREDENTIAL,
                          "the bucket is elsewhere: set `url` to the address %.*s, and `region`",
                          STR_ARG(str_first(s->endpoint, 120)));
    else
        (void)verdict_say(v, VERDICT_CREDENTIAL,
                          "the region is wrong: `region` says %.*s, and the service has another",
                          STR_ARG(asked->service->signer.region));
}

static void judge_code(const struct s3_asked *asked, const struct s3_answer *s, int64_t status,
                       struct verdict *v)
{
    const struct meaning *m = find_meaning(s->code);
    struct str code = str_first(s->code, 60);

    if (is_wrong_place(s->code)) {
        judge_place(asked, s, v);
    } else if (str_is(s->code, "NoSuchBucket")) {
        (void)verdict_say(v, asked->is_chosen ? VERDICT_RETRY : VERDICT_UNREACHED,
                          "the bucket %.*s is not there: create it, or correct `bucket`",
                          STR_ARG(asked->bucket));
    } else if (m != NULL) {
        (void)verdict_say(v, m->kind, "%s (%.*s)", m->text, STR_ARG(code));
    } else {
        struct str words = str_first(s->message, SAID_MOST);

        if (status < 300) /* said behind a 200, when the service had begun to answer */
            status = 500;

        (void)verdict_say(v, kind_of_status(asked, status), "the service answered %lld %.*s%s%.*s",
                          (long long)status, STR_ARG(code), words.len > 0 ? ": " : "",
                          STR_ARG(words));
    }
}

/* A service may repeat what it was sent. */
static void hide_credential(const struct s3_asked *asked, struct verdict *v)
{
    const struct s3_signer *by = &asked->service->signer;

    for (struct str rest = str_of(v->message); rest.len > 0; rest = str_from(rest, 1))
        if ((by->access_key.len > 0 && str_starts(rest, by->access_key)) ||
            (by->secret_key.len > 0 && str_starts(rest, by->secret_key))) {
            (void)verdict_say(v, v->kind,
                              "the service answered %lld, in words that are not shown because our "
                              "credential is among them",
                              (long long)v->status);
            return;
        }
}

static void s3_judge_answer(const struct s3_asked *asked, const struct http_out_answer *answer,
                            struct arena *a, struct verdict *v, struct str *ret_code)
{
    struct s3_answer said;
    struct err err = { 0 };

    if (str_trim(answer->body).len == 0)
        judge_status(asked, answer, v);
    else if (!s3_answer_read(answer->body, a, &said, &err) || said.kind != S3_ANSWER_ERROR ||
             said.code.len == 0)
        judge_page(asked, answer, v);
    else {
        *ret_code = said.code;
        judge_code(asked, &said, answer->status, v);
    }
    hide_credential(asked, v);
    if (v->kind == VERDICT_RETRY)
        v->retry_after_us = http_client_pause_us(answer);
}

void s3_judge(const struct s3_asked *asked, const struct http_out_answer *answer, struct arena *a,
              struct verdict *v, struct str *ret_code)
{
    *v = (struct verdict){ .status = answer->status };
    *ret_code = STR("");
    if (answer->reach == HTTP_OUT_ANSWERED)
        s3_judge_answer(asked, answer, a, v, ret_code);
    else if (answer->reach == HTTP_OUT_NOT_SENT)
        (void)verdict_say(v, VERDICT_UNREACHED, "the service was not reached: %s", answer->failure);
    else if (answer->reach == HTTP_OUT_BAD_BODY) /* the service has less than was announced */
        (void)verdict_say(v, VERDICT_RETRY, "the document could not be read: %s", answer->failure);
    else
        (void)verdict_say(v, asked->changes ? VERDICT_DOUBT : VERDICT_UNREACHED,
                          "no whole answer came: %s", answer->failure);
}
