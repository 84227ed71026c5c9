/* s3_in.h - one poll of a bucket: what the files of the gateway s3 share.
 *
 *     s3_in.c         options, and the poll
 *     s3_in_list.c    what is in the bucket, page by page
 *     s3_in_object.c  requests about one object: what it is, its bytes, away with it
 */
#pragma once

#include "core/deposit.h"
#include "core/pickup/pickup.h"
#include "core/s3/s3_line.h"
#include "core/s3/s3_request.h"
#include "core/s3/s3_version.h"

enum { S3_IN_STALE = 64 };

struct s3_in {
    struct s3_service service;
    struct s3_lines lines; /* kept from poll to poll */
    struct str bucket, prefix;
    struct str folder; /* the prefix up to its last `/` */
    struct str moved;  /* what keys of `after: move` begin with, with a `/` at its end */
    struct pickup pickup;
    bool unconditional; /* the service refuses conditions of DELETE */
    /* Hashes of listed versions that were not there when they were asked for. */
    uint64_t stale[S3_IN_STALE];
};

/* One poll. */
struct s3_poll {
    struct s3_in *self;
    const struct deposit_port *port;
    void *deposit;
    struct s3_talk talk;
    struct s3_exchange exchange; /* of the last request, unless it opened an object */
    /* What stat() has found last. */
    char path[PICKUP_PATH], version[S3_VERSION];
    int64_t size;
};

/* ---- s3_in_object.c ---- */

struct s3_exchange s3_in_exchange(void);
/* A request without a body.  key empty: about the bucket. */
struct s3_order s3_in_order(const struct s3_poll *p, const char *method, struct str key);
void s3_in_ask(struct s3_poll *p, const struct s3_order *order);
/* A whole answer came, with such a status. */
bool s3_in_has_status(const struct s3_exchange *x, int64_t least, int64_t most);
/* An answer that is not the awaited one, as pickup.h wants errors. */
bool s3_in_fail(const struct s3_poll *p, const struct s3_exchange *x, struct str key,
                struct err *err);

/* The slots of a pickup_source: `arg` is a poll. */
bool s3_in_stat(void *arg, const char *path, struct pickup_entry *ret, struct err *err);
bool s3_in_open(void *arg, const char *path, struct pickup_entry *ret, void **ret_file,
                struct err *err);
bool s3_in_read(void *file, char *to, size_t room, size_t *ret_len, struct err *err);
bool s3_in_same(void *file, const char *version, bool *ret, struct err *err);
void s3_in_close(void *file);
bool s3_in_remove(void *arg, const char *path, struct err *err);
bool s3_in_move(void *arg, const char *path, const char *name, struct err *err);

/* ---- s3_in_list.c ---- */

bool s3_in_list(void *arg, const char *folder, void **ret_list, struct err *err);
bool s3_in_next(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err);
void s3_in_end(void *list);
