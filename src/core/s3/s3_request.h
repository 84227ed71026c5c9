/* s3_request.h - an S3 service as it is configured, and signed requests to it.
 *
 * `style: path` puts the bucket in front of the path (https://host/bucket/key), `style: host` in
 * front of the name (https://bucket.host/key).
 *
 * Threads: any; a service is not changed after s3_service_read().
 */
#pragma once

#include "base/digest.h"
#include "core/connector.h"
#include "core/s3/s3_sign.h"

enum { S3_KEY_MOST = 1024, S3_BUCKET_LEAST = 3, S3_BUCKET_MOST = 63, S3_QUERY_MOST = 6 };
enum { S3_FIELDS_MOST = 8 };

struct s3_service {
    struct str scheme, host; /* host: with a port that is not the usual one */
    struct str base;         /* what precedes the bucket in a path, without its last `/` */
    bool host_style;
    struct s3_signer signer; /* access_key empty: requests are not signed */
    struct str session_token;
    struct http_out_options http;
};

/* The keys of grammar_s3, timeout, connect_timeout and tls. */
bool s3_service_read(const struct settings *s, struct s3_service *ret, struct err *err);

/* ERR_PERMANENT: there can be no bucket, no object of that name. */
bool s3_bucket_check(const struct s3_service *s, struct str name, struct err *err);
bool s3_key_check(struct str key, struct err *err);

struct s3_query {
    const char *name;
    struct str value;
};

/* A request before it is signed. */
struct s3_order {
    const char *method;
    struct str bucket, key;               /* key empty: the bucket itself */
    struct s3_query query[S3_QUERY_MOST]; /* by name */
    size_t query_count;
    struct http_out_field fields[S3_FIELDS_MOST]; /* besides those of the signature */
    size_t field_count;
    struct sha256 digest; /* of the body */
};

/* The request, signed at `now_us`, on the arena. */
void s3_request_make(const struct s3_service *s, const struct s3_order *o, int64_t now_us,
                     struct arena *a, struct http_out_request *ret);
