/* fuzz_template.c - any template with any values: a file name stays below its folder, and a value
 * adds nothing to a URL but a part of it.
 *
 * Input: the template, a line feed, the value of every word. */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "base/safe_path.h"
#include "core/facts.h"
#include "core/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct template *compile(struct str text, struct arena *a)
{
    const struct template *t;
    struct err err = { 0 };

    if (template_compile(text, a, &t, &err))
        return t;
    require(err.kind == ERR_CONFIG && err.text[0] != '\0');
    return NULL;
}

static bool render(const struct template *t, struct str value, bool url, struct buf *out)
{
    struct fact attribute = { STR("a"), value };
    struct facts facts = { .sender = value,
                           .receiver = value,
                           .type = value,
                           .attributes = &attribute,
                           .attribute_count = 1 };
    struct template_values v = { .id = STR("0193-doc"),
                                 .delivery = STR("0193-doc.e"),
                                 .name = value,
                                 .gateway = STR("g"),
                                 .endpoint = STR("e"),
                                 .url = url,
                                 .received_us = INT64_C(1794711130000000),
                                 .facts = &facts };
    struct err err = { 0 };

    if (template_render(t, &v, out, &err))
        return true;
    require((err.kind == ERR_PERMANENT || err.kind == ERR_LIMIT) && out->len == 0);
    return false;
}

/* What passes as a path names only what is below. */
static void check_path(struct str path)
{
    struct err err;
    struct str part;

    if (!safe_path(path, &err))
        return;
    require(path.len > 0 && path.ptr[0] != '/' && memchr(path.ptr, '\0', path.len) == NULL);
    while (path.len > 0) {
        path = str_cut(path, '/', &part);
        require(part.len > 0 && !str_is(part, ".") && !str_is(part, ".."));
    }
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("-._~%", c) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16u << 20u);
    AUTO(buf_done) struct buf name = BUF_INIT(4096), url = BUF_INIT(4096);
    struct str text, value = str_cut(str_mem(bytes, size), '\n', &text);

    if (size > 4096)
        return 0;
    const struct template *any = compile(text, &a), *own = compile(STR("${sender}"), &a);

    require(own != NULL);
    if (any != NULL && render(any, value, false, &name))
        check_path(buf_view(&name));
    if (value.len > 0 && render(own, value, true, &url))
        for (size_t i = 0; i < url.len; i++)
            require(is_plain(url.ptr[i]));
    return 0;
}
