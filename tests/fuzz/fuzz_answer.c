/* fuzz_answer.c - whatever a hostile receiver answers, the verdict is one the engine knows.
 *
 * Input: the status as one byte, a line that is Retry-After, a line that is Content-Type, the body.
 */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/web/answer_excerpt.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

extern const struct endpoint_type endpoint_http;

static void *receiver(void)
{
    static struct arena arena = ARENA_INIT(16u << 20u);
    static void *self;
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct err err;

    if (self != NULL)
        return self;
    struct settings settings = {
        .node = yaml_load(STR("kind: http\nurl: http://a.example/in\noutcome: { 409: delivered }\n"
                              "probe: { url: 'http://a.example/${id}' }\n"),
                          &arena, &problems),
        .common = grammar_endpoint,
        .own = endpoint_http.kind.keys,
        .file = "/waybill.yaml",
        .arena = &arena,
    };

    require(endpoint_http.make(&settings, &self, &err));
    problem_list_done(&problems);
    return self;
}

static void check_line(struct str text)
{
    require(str_is_utf8(text));
    for (size_t i = 0; i < text.len; i++)
        require((unsigned char)text.ptr[i] >= ' ');
}

static void check_verdict(const struct verdict *v)
{
    require(v->retry_after_us >= 0);
    require(memchr(v->message, '\0', sizeof v->message) != NULL);
    check_line(str_of(v->message));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(buf_done) struct buf excerpt = BUF_INIT(200);
    struct http_out_answer answer = { .reach = HTTP_OUT_ANSWERED,
                                      .now_us = INT64_C(1794711130000000) };
    struct verdict verdict = { 0 };

    if (size == 0)
        return 0;
    answer.status = 100 + bytes[0] * 2;
    answer.body = str_cut(str_mem(bytes + 1, size - 1), '\n', &answer.retry_after);
    answer.body = str_cut(answer.body, '\n', &answer.ctype);
    if (answer.body.len > VERDICT_ANSWER_MOST)
        answer.body.len = VERDICT_ANSWER_MOST;
    answer.came = (int64_t)answer.body.len + bytes[0] % 2;
    endpoint_http.http->judge(receiver(), &answer, &verdict);
    check_verdict(&verdict);
    verdict = (struct verdict){ 0 };
    endpoint_http.http->hear(receiver(), &answer, &verdict);
    check_verdict(&verdict);
    answer_excerpt(answer.body, &excerpt);
    require(excerpt.len <= 200);
    return 0;
}
