/* s3_parts.h - a large document as an object that is uploaded in parts.
 *
 * Nothing of it is visible before the last request completes the upload.  An upload that fails is
 * aborted; one that a crash left behind is aborted by the next attempt of the same delivery, which
 * has the same key: an upload under this key that this process does not work on is a broken one.
 *
 * The document is read twice: first for the digests of its parts, which the signatures need, then
 * for its bytes.  So no part is held in memory.
 *
 * Threads: any.
 */
#pragma once

#include <pthread.h>

#include "delivery/s3_object.h"

#define S3_PARTS_FROM (INT64_C(64) << 20) /* larger documents are uploaded in parts ... */
#define S3_PART       (INT64_C(16) << 20) /* ... of this size, or of a 10000th of the document */

/* The uploads that this process works on. */
struct s3_upload {
    struct s3_upload *next;
    struct str id;
};

struct s3_uploads {
    pthread_mutex_t mutex;
    struct s3_upload *first;
};

void s3_uploads_init(struct s3_uploads *u);
void s3_uploads_done(struct s3_uploads *u);

/* `replaces`: whatever is there gives way.  The verdict on all of it. */
void s3_parts_send(struct s3_object *o, struct s3_uploads *u, bool replaces, struct verdict *ret);
