/* Whatever the body: nothing breaks, merged pointers answer as each alone, and what jansson
 * takes for JSON, so do we, with the same answer. */
#include <jansson.h>
#include <stdint.h>

#include "extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const pointers[] = {
    "json:",   "json:/a", "json:/a/b",  "json:/a/0",      "json:/a/1/b",
    "json:/b", "json:/",  "json:/a~1b", "json:/\xc3\xa4", NULL,
};

/* The answer of `json:/a` against jansson's. */
static void compare(const struct extractor *x, struct str body)
{
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)16 << 20);
    json_t *root = json_loadb(body.ptr, body.len,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    struct extract_source source = { .body = body, .whole = true };
    struct extract_failure failure = { 0 };
    struct facts f = { 0 };

    if (root == NULL)
        return;
    bool found = extract_run(x, &source, &a, &f, &failure);
    const json_t *v = json_object_get(root, "a");

    require(strstr(failure.message, "not JSON") == NULL);
    if (found)
        require(v != NULL);
    if (found && json_is_string(v)) {
        struct str want = str_mem(json_string_value(v), json_string_length(v));

        require(f.sender.len <= want.len);
        require(memmem(want.ptr, want.len, f.sender.ptr, f.sender.len) != NULL);
    }
    if (v != NULL && (json_is_number(v) || json_is_boolean(v)))
        require(found || strstr(failure.message, "too long") != NULL ||
                failure.code == DEAD_BUDGET);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct questions q;
    static struct extractor *one;
    struct str body = str_mem(bytes, size);

    if (q.all == NULL) {
        questions_init(&q, pointers);
        one = extractor_of("sender: json:/a");
    }
    questions_ask(&q, body);
    /* jansson takes a NUL for the end. */
    if (size > 0 && size <= EXTRACT_BYTES_MOST && memchr(bytes, '\0', size) == NULL)
        compare(one, body);
    return 0;
}
