/* s3_object.h - one document as an object: its names, what is stored with it, requests about it.
 *
 * The delivery's id and the digest are stored with an object, so that a later attempt, or a probe,
 * recognises what an earlier one has stored.
 *
 * Threads: an object belongs to one call.
 */
#pragma once

#include "base/digest.h"
#include "core/s3/s3_judge.h"
#include "core/s3/s3_line.h"
#include "core/template.h"

struct s3_object {
    const struct s3_service *service;
    const struct sending *sending;
    struct s3_talk talk;
    struct arena arena;
    struct str bucket, key;
    bool bucket_is_chosen;
    struct sha256 sha256;

    /* Of the last request. */
    struct s3_exchange exchange;
    struct str code; /* of its error; empty: none */

    /* What is left of the piece that was read last. */
    struct str piece;
};

/* What stands under the key. */
enum s3_found {
    S3_FOUND_NOTHING,
    S3_FOUND_OURS,   /* what this delivery has stored */
    S3_FOUND_OTHER,  /* something else */
    S3_FOUND_UNKNOWN /* the service did not say: *ret_why */
};

void s3_object_init(struct s3_object *o, const struct s3_service *service, struct s3_lines *lines,
                    const struct sending *s, struct call *c);
void s3_object_done(struct s3_object *o);

/* Renders and checks the names, and finds the digest.  ERR_PERMANENT: there can be no such
 * object. */
bool s3_object_name(struct s3_object *o, const struct template *bucket, const struct template *key,
                    struct err *err);

/* The type of the document, the delivery and the digest. */
void s3_object_put_fields(struct s3_object *o, struct s3_order *order);

/* Sends a request; its body is that of `order->digest`: `bytes`, or, with ptr NULL, the next `size`
 * bytes of the document.  `is_final`: see s3_line.h. */
void s3_object_ask(struct s3_object *o, const struct s3_order *order, struct str bytes,
                   int64_t size, bool is_final);
/* The verdict on an answer that was not the awaited one. */
void s3_object_judge(struct s3_object *o, bool changes, struct verdict *ret);

/* The next piece of the document, at most `most` bytes; empty: it ends. */
bool s3_object_next(struct s3_object *o, size_t most, struct str *ret, struct err *err);
bool s3_object_rewind(struct s3_object *o, struct err *err);

/* HEAD. */
enum s3_found s3_object_find(struct s3_object *o, struct verdict *ret_why);
