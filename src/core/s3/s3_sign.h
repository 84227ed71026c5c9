/* s3_sign.h - AWS Signature Version 4: proves to a service who sent a request, and which.
 *
 *     canonical request   method, path, query, fields, their names, digest of the body
 *     string to sign      time, scope (day/region/s3/aws4_request), digest of the canonical request
 *     signing key         HMAC over day, region, service, "aws4_request", begun with the secret
 *
 * Every field that is given is signed.  S3 signs paths as they are sent: encoded once.
 *
 * Threads: any.
 */
#pragma once

#include "base/buf.h"
#include "core/connector.h"

enum { S3_TIME_TEXT = 17, S3_SIGNED_MOST = 24 };

/* Whose signature, for which region. */
struct s3_signer {
    struct str access_key, secret_key, region;
};

struct s3_unsigned {
    struct str method, path, query;      /* encoded; the query is sorted by name, without its `?` */
    const struct http_out_field *fields; /* with Host; at most S3_SIGNED_MOST */
    size_t field_count;
    struct str digest; /* of the body, in hex */
};

/* "20130524T000000Z" */
const char *s3_sign_time(int64_t now_us, char text[static S3_TIME_TEXT]);

/* Appends the value of the field Authorization.  `time` as above. */
void s3_sign(const struct s3_signer *by, const struct s3_unsigned *what, const char *time,
             struct buf *to);
