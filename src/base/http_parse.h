/* http_parse.h - the bytes of one HTTP/1.1 request in, events out; no sockets.
 *
 * The head is gathered whole in memory of the parser, checked here for what
 * llhttp leaves to its user, and then given to llhttp in one piece; the body is
 * never copied.  How the bytes were split into reads makes no difference, except
 * for which of two reasons to refuse them is named.
 *
 * Refused: bare LF, obs-fold, blank before the colon, Content-Length beside
 * Transfer-Encoding, either of them twice, a coding other than chunked, no Host
 * or two, chunk extensions over 64 bytes, control bytes, targets that are not
 * for this server, HTTP other than 1.0 and 1.1.
 *
 * Invariants
 *   (1) events come as HEAD BODY* END, or end in BAD; after END and BAD only
 *       http_parser_reset() is allowed.
 *   (2) no byte after the end of the message is taken from *bytes.
 *   (3) head_len never exceeds limits->head_bytes.
 *
 * Ownership      views of the head live until http_parser_reset(); the view of a
 *                body piece is part of the caller's bytes.
 * Threads        one at a time.
 */
#pragma once

#include <llhttp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define HTTP_HEAD_BYTES  (32 * 1024)
#define HTTP_LINE_BYTES  (8 * 1024)
#define HTTP_HEAD_FIELDS 100

enum {
    HTTP_HEAD_KEEP = 4096,         /* a larger head is freed after its request  */
    HTTP_FIELDS_MAX = 128,         /* the upper bound of limits->fields         */
    HTTP_HEAD_MAX = 64 * 1024 - 1, /* ... and of head_bytes: spans are 16 bit   */
    HTTP_CHUNK_EXTENSION_BYTES = 64,
    HTTP_FRAMING_BYTES = 8 * 1024, /* chunk lines and trailers without progress */
};

struct http_head_limits {
    uint32_t head_bytes, line_bytes, fields;
};

enum http_method {
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_OPTIONS,
    HTTP_METHODS,
};

/* Fields that are looked up by index; each may stand in a head only once. */
enum http_known {
    HTTP_HOST,
    HTTP_AUTHORIZATION,
    HTTP_IDEMPOTENCY_KEY,
    HTTP_CONTENT_TYPE,
    HTTP_CONTENT_LENGTH,
    HTTP_TRANSFER_ENCODING,
    HTTP_EXPECT,
    HTTP_RANGE,
    HTTP_KNOWN,
};

enum http_event {
    HTTP_MORE, /* give more bytes                                          */
    HTTP_HEAD_DONE,
    HTTP_BODY_PIECE,
    HTTP_END,
    HTTP_BAD, /* answer p->status with p->code and p->message, and close   */
};

struct http_span {
    uint16_t at, len;
};

struct http_field {
    struct http_span name, value;
};

struct http_parser {
    llhttp_t ll;
    const struct http_head_limits *limits;
    /* Asked before the memory of the head grows by `more`; false: refuse (503).  NULL: it may. */
    bool (*may_grow)(struct http_parser *p, uint32_t more);
    enum { HTTP_IN_HEAD, HTTP_IN_BODY, HTTP_AT_END, HTTP_ENDED, HTTP_REFUSED } where;

    char *head;
    uint32_t head_len, head_size;
    uint32_t line_start, line_count, first_line, empty_lines;

    uint16_t field_count;
    uint8_t known[HTTP_KNOWN]; /* index + 1; 0: not there */
    struct http_field now;

    enum http_method method;
    struct http_span path, query;
    bool http_1_0, keep_alive, chunked, expect_continue;
    int64_t content_length; /* -1: none given */
    uint64_t body_bytes;    /* so far */

    struct str piece;
    uint32_t extension_bytes, trailer_fields, framing_bytes;
    bool progress, no_body;

    int status;
    const char *code, *message;

    struct http_field fields[HTTP_FIELDS_MAX];
};

void http_parser_init(struct http_parser *p, const struct http_head_limits *limits);
void http_parser_done(struct http_parser *p);
void http_parser_reset(struct http_parser *p); /* ready for the next request */

/* The next event; removes the bytes it used from the front of *bytes.  Call again
 * until it returns HTTP_MORE: an event may follow without further bytes. */
enum http_event http_parser_next(struct http_parser *p, struct str *bytes, struct str *ret_piece);

/* Views of the head. */
struct str http_parser_view(const struct http_parser *p, struct http_span s);
struct str http_parser_known(const struct http_parser *p, enum http_known k); /* ptr NULL: none */
struct str http_parser_field(const struct http_parser *p, struct str name);   /* the first one  */
