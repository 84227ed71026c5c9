/* fuzz_http.c - the parse layer of the HTTP server.
 *
 * The same bytes are parsed whole and in pieces, whose sizes come from the input;
 * both must tell the same story, and every view must lie inside what it views.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/http_parse.h"
#include "base/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct story {
    uint64_t sum, body_bytes;
    int heads, ends, status;
};

static void tell(struct story *s, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        s->sum = (s->sum ^ (unsigned char)bytes.ptr[i]) * 0x100000001b3u;
}

static void tell_head(struct story *s, const struct http_parser *p)
{
    s->heads++;
    tell(s, http_parser_view(p, p->path));
    tell(s, http_parser_view(p, p->query));
    for (size_t i = 0; i < p->field_count; i++) {
        require(p->fields[i].name.at + p->fields[i].name.len <= p->head_len);
        require(p->fields[i].value.at + p->fields[i].value.len <= p->head_len);
        tell(s, http_parser_view(p, p->fields[i].name));
        tell(s, http_parser_view(p, p->fields[i].value));
    }
    require(!(p->chunked && p->content_length >= 0));
}

static void feed(struct story *s, struct http_parser *p, const uint8_t *bytes, size_t n)
{
    char *copy = xstrndup(str_mem(bytes, n));
    struct str in = { copy, n }, piece;

    while (s->status == 0) {
        size_t before = in.len;
        enum http_event e = http_parser_next(p, &in, &piece);

        require(in.len <= before);
        if (e == HTTP_MORE) {
            require(in.len == 0);
            break;
        }
        if (e == HTTP_HEAD_DONE)
            tell_head(s, p);
        else if (e == HTTP_BODY_PIECE) {
            require(piece.ptr >= copy && piece.ptr + piece.len <= copy + n);
            s->body_bytes += piece.len;
            tell(s, piece);
        } else if (e == HTTP_END) {
            s->ends++;
            http_parser_reset(p);
        } else
            s->status = p->status;
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct http_head_limits limits = { .head_bytes = 2048,
                                                    .line_bytes = 512,
                                                    .fields = 20 };
    struct story whole = { 0 }, cut = { 0 };
    struct http_parser p;

    if (size < 2)
        return 0;
    size_t step = (size_t)data[0] % 32 + 1, from = 1;

    http_parser_init(&p, &limits);
    feed(&whole, &p, data + 1, size - 1);
    http_parser_done(&p);
    http_parser_init(&p, &limits);
    while (from < size && cut.status == 0) {
        size_t n = size - from < step ? size - from : step;

        feed(&cut, &p, data + from, n);
        from += n;
    }
    http_parser_done(&p);
    require(whole.heads == cut.heads && whole.ends == cut.ends);
    require((whole.status != 0) == (cut.status != 0)); /* of two reasons either may be named */
    require(whole.status != 0 || (whole.sum == cut.sum && whole.body_bytes == cut.body_bytes));
    return 0;
}
