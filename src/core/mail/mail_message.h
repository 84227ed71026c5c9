/* mail_message.h - a document as a mail (RFC 5322, MIME): everything but the sending.
 *
 * The mail is its head, the document in base64, and its tail:
 *
 *     mail_head(m, &b, &err)
 *     mail_encode(&e, piece, &b) ...   for all bytes of the document, in pieces of any size
 *     mail_encode_end(&e, &b)
 *     mail_tail(m, &b)
 *
 * With a text the document is attached behind it; without one it is the mail: shown in place if its
 * type is a text, attached otherwise.  The same mail has the same bytes in every attempt: nothing
 * in it is made of the time or of chance.
 *
 * Values of a document stand in its headers.  One with a control character is refused, so that no
 * value can end its header; bytes that are not UTF-8 become U+FFFD; what is not ASCII, or long, is
 * written as RFC 2047 and RFC 2231 say.  Lines are short, end with CRLF, and none begins with a
 * dot.
 *
 * Pure.  Bounds: MAIL_HEAD_MOST bytes in front of the document, lines of 76 characters; a text of
 * MAIL_TEXT_MOST bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/mail/mail_address.h"

enum {
    MAIL_SUBJECT_MOST = 2000,
    MAIL_TEXT_MOST = 64 << 10,
    MAIL_TO_MOST = 100,
    MAIL_HEAD_MOST = 256 << 10,
    MAIL_TAIL_MOST = 256,
};

struct mail {
    struct mail_address from;
    const struct mail_address *to; /* shown to all of them */
    size_t to_count;               /* 1 to MAIL_TO_MOST */
    struct str subject;
    struct str id;       /* of the delivery: makes its Message-ID */
    struct str document; /* its id */
    int64_t date_us;
    struct str text;  /* in front of the document; ptr NULL: none */
    struct str name;  /* of the document, one that passed safe_name() */
    struct str ctype; /* its type; one that is not well formed counts as none */
};

/* Appends all that precedes the document.  ERR_PERMANENT: a value cannot stand in a mail. */
bool mail_head(const struct mail *m, struct buf *to, struct err *err);
/* Appends what follows it. */
void mail_tail(const struct mail *m, struct buf *to);

enum { MAIL_LINE_BYTES = 57 }; /* of the document, in a line of 76 characters */

struct mail_encoder {
    char line[MAIL_LINE_BYTES];
    size_t len;
};

/* `to` has room for mail_encoded_size(bytes.len + MAIL_LINE_BYTES). */
void mail_encode(struct mail_encoder *e, struct str bytes, struct buf *to);
void mail_encode_end(struct mail_encoder *e, struct buf *to);
/* How long a document of that size is in a mail, with its line ends. */
int64_t mail_encoded_size(int64_t bytes);
