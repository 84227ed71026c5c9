/* fuzz_s3.c - what a service answers, any bytes: it is read within its limits or refused, and is
 * always judged; a key that is encoded is the same when it is decoded. */
#include "base/auto.h"
#include "base/require.h"
#include "core/s3/s3_judge.h"
#include "core/s3/s3_text.h"
#include "core/s3/s3_version.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { KEY_MOST = 64 << 10 };

static void check_names(struct str text)
{
    AUTO(buf_done) struct buf there = BUF_INIT(3 * KEY_MOST);
    AUTO(buf_done) struct buf back = BUF_INIT(KEY_MOST);
    AUTO(buf_done) struct buf as_is = BUF_INIT(KEY_MOST);
    struct err err = { 0 };

    if (text.len > KEY_MOST)
        return;
    require(s3_encode(text, true, &there, &err) && s3_decode(buf_view(&there), &back, &err));
    require(str_eq(buf_view(&back), text));
    (void)s3_decode(text, &as_is, &err);
}

static void check_judge(struct str body, int64_t status)
{
    static const struct s3_service service = { .signer = { .access_key = STR("AKOURS"),
                                                           .secret_key = STR("OURSECRET") } };
    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
    const struct s3_asked asked = { .service = &service, .bucket = STR("b"), .changes = true };
    const struct http_out_answer answer = { .status = status, .body = body };
    struct verdict v;
    struct str code;

    s3_judge(&asked, &answer, &a, &v, &code);
    require(v.kind != VERDICT_DELIVERED && v.message[0] != '\0');
    require(strstr(v.message, "OURSECRET") == NULL && strstr(v.message, "AKOURS") == NULL);
}

/* What a list says of an object is a version that fits, and is the one of the same object. */
static void check_version(struct str etag, struct str time)
{
    char version[S3_VERSION], condition[S3_VERSION];
    int64_t ms = 0;

    if (!s3_version_time(time, &ms))
        ms = 0;
    s3_version_put(etag, ms, version);
    require(strlen(version) < S3_VERSION && s3_version_is(version, etag, ms));
    require(s3_version_ms(version) == ms);
    if (s3_version_condition(version, condition))
        require(!str_has_control(str_of(condition)) && str_is_utf8(str_of(condition)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
    struct str text = str_mem(bytes, size);
    struct s3_answer answer;
    struct err err = { 0 };

    check_names(text);
    check_version(text, text);
    check_judge(text, 200);
    check_judge(text, 403);
    check_judge(text, 500);
    if (!s3_answer_read(text, &a, &answer, &err)) {
        require(err.kind == ERR_PERMANENT || err.kind == ERR_LIMIT);
        return 0;
    }
    require(answer.count <= S3_ITEMS_MOST && (answer.count == 0 || answer.items != NULL));
    for (size_t i = 0; i < answer.count; i++) {
        require(answer.items[i].size >= 0 && answer.items[i].key.len <= S3_TEXT_MOST);
        check_version(answer.items[i].etag, answer.items[i].time);
    }
    return 0;
}
