/* s3_answer.h - the XML that an S3 service answers: errors, lists, uploads in parts.
 *
 * What is no XML, such as the page of a proxy, is an error that says so.  Elements that nobody asks
 * for are skipped; more than S3_ITEMS_MOST items, S3_DEPTH elements in each other or a text of more
 * than S3_TEXT_MOST bytes are refused.
 *
 * Threads: any; results live in the arena.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    S3_ITEMS_MOST = 1000,
    S3_DEPTH = 16,
    S3_TEXT_MOST = 8 << 10,
    S3_ANSWER_MOST = 4 << 20,   /* bytes of an answer */
    S3_ANSWER_ARENA = 12 << 20, /* what reading one may take of the arena */
};

enum s3_answer_kind {
    S3_ANSWER_OTHER,
    S3_ANSWER_ERROR,
    S3_ANSWER_OBJECTS,   /* ListObjectsV2 */
    S3_ANSWER_UPLOADS,   /* ListMultipartUploads */
    S3_ANSWER_BEGUN,     /* CreateMultipartUpload */
    S3_ANSWER_COMPLETED, /* CompleteMultipartUpload */
    S3_ANSWER_COPIED,    /* CopyObject */
};

/* An object, or an upload that is not complete. */
struct s3_item {
    struct str key, etag, upload, time; /* time: last changed, or begun, as the service writes it */
    int64_t size;
};

/* What an answer does not have is empty. */
struct s3_answer {
    enum s3_answer_kind kind;
    struct str code, message, region, endpoint; /* of an error */
    struct str upload, etag;
    bool more; /* the list goes on behind `next` */
    struct str next, next_upload;
    struct s3_item *items;
    size_t count;
};

bool s3_answer_read(struct str xml, struct arena *a, struct s3_answer *ret, struct err *err);
