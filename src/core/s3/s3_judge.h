/* s3_judge.h - what an answer of an S3 service means, and what to do about it.
 *
 * The code in the answer decides where there is one, else the status.  The service refuses us, not
 * the document, when the secret, the clock, the region or a right is wrong: each is told apart,
 * with its remedy, and nothing becomes a dead letter for it.
 *
 * Threads: any.
 */
#pragma once

#include "core/s3/s3_answer.h"
#include "core/s3/s3_request.h"

/* What was asked for. */
struct s3_asked {
    const struct s3_service *service;
    struct str bucket, key;
    bool changes;   /* an error of the server leaves open whether it has happened */
    bool is_chosen; /* the document chose the bucket: that it is missing is its affair alone */
};

/* Whether an answer 2xx to a PUT is of an S3 service: it has an ETag and no page. */
bool s3_is_stored(const struct http_out_answer *answer, struct str etag);

/* Of any answer that is not the awaited one, and of none: kind, message and status.  *ret_code: the
 * code of the answer, on the arena; empty: none. */
void s3_judge(const struct s3_asked *asked, const struct http_out_answer *answer, struct arena *a,
              struct verdict *ret, struct str *ret_code);
