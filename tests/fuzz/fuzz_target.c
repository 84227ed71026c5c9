/* fuzz_target.c - the parts of a request that are decoded: path, query, fields.
 *
 * Input: the path, a line feed, the query, a line feed, a value of a field. */
#include <stdint.h>

#include "base/auto.h"
#include "base/http_target.h"
#include "base/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Decoded text is whole UTF-8 without control bytes. */
static void check_decoded(struct str s)
{
    require(str_is_utf8(s));
    for (size_t i = 0; i < s.len; i++)
        require((unsigned char)s.ptr[i] >= ' ' && s.ptr[i] != 0x7f);
}

static void check_no_dots(struct str path)
{
    struct str part;

    while (path.len > 0) {
        path = str_cut(path, '/', &part);
        require(!str_is(part, ".") && !str_is(part, ".."));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(buf_done) struct buf path = BUF_INIT(4096), value = BUF_INIT(4096), field = BUF_INIT(8192);
    struct str raw, query, rest = str_mem(bytes, size);
    struct err err = { 0 };
    bool found = false;

    rest = str_cut(rest, '\n', &raw);
    rest = str_cut(rest, '\n', &query);
    if (http_decode_path(raw, &path, &err)) {
        check_decoded(buf_view(&path));
        check_no_dots(buf_view(&path));
        require(path.len <= raw.len);
    } else {
        require(err.kind == ERR_PERMANENT || err.kind == ERR_LIMIT);
    }
    if (http_decode_query(query, STR("a"), &value, &found, &err) && found)
        require(value.len <= query.len && str_is_utf8(buf_view(&value)));
    if (http_put_field(&field, "X-A", rest, &err)) {
        require(field.len >= 7 && memcmp(field.ptr + field.len - 2, "\r\n", 2) == 0);
        require(memchr(field.ptr, '\n', field.len - 1) == NULL);
    }
    if (http_is_token(rest))
        require(rest.len > 0 && str_find(rest, ' ') < 0 && str_find(rest, ':') < 0);
    return 0;
}
