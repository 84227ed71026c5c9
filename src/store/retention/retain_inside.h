/* retain_inside.h - what the files of retain share.
 *
 *   retain.c          rules, slices of tables          retain_bytes.c  files, pieces, segments
 *   index_forget.c    what the index knows of documents that went
 */
#pragma once

#include <pthread.h>

#include "store/kernel/writer.h"
#include "store/retention/retain.h"

struct retain_held {
    pthread_mutex_t mutex;
    pthread_cond_t idle;
    int paused, working;
    int64_t pauses; /* that began */
    pthread_rwlock_t rules_lock;
    struct retain_rules rules;
    struct retain_type *types; /* of the rules */
};

struct retain_held *retain_held_new(void);

/* Whoever lets go of something is inside; false: it is paused. */
bool retain_enter(struct store *s);
void retain_leave(struct store *s);

/* Some of the pieces of an upload that is noted as gone (payload_gone). */
enum { RETAIN_PIECES_AT_ONCE = 32 }; /* 8 MiB */
bool retain_pieces(struct store *s, int64_t upload, bool *ret_more, struct err *err);

/* A document that went. */
struct gone {
    int64_t num, size, gateway, sender, receiver, type;
};

/* The index knows nothing of them any more (SQLite). */
bool index_forget(struct writer *w, const struct gone *gone, size_t count, struct err *err);
