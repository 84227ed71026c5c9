/* Whatever bytes go in, what we write parses, and text comes back as it was. */
#include <jansson.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(buf_done) struct buf b = BUF_INIT(8u << 20);
    struct json_out j = { .to = &b };
    struct str in = str_mem(bytes, size);

    if (size > 1u << 20)
        return 0;
    json_str(&j, in);
    json_t *v = json_loadb(b.ptr, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    require(v != NULL);
    bool same = str_eq(in, str_mem(json_string_value(v), json_string_length(v)));

    require(same == str_is_utf8(in));
    json_decref(v);
    return 0;
}
