/* inside.h - what the files of store/ share and nobody else sees. */
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "store/store.h"

enum { READERS = 4, WORDS_MOST = 1 << 19 /* fewer than 20 bits: see facet */, WRITERS_MOST = 8 };

struct word {
    int64_t id;
    enum word_kind kind;
    struct str name;
};

struct word_table {
    struct word *words;
    size_t count, slots;
    uint32_t *by_name, *by_id; /* of `slots` each */
    struct arena arena;
};

struct claims; /* task.c: SQLite's claims in memory */

struct store {
    struct store_options options;
    enum db_kind kind;
    int data_fd, payload_fd, large_fd, lock_fd;
    char *sqlite_path;
    struct segments *segments;
    struct writers *writers;
    struct db *writer_dbs[WRITERS_MOST];
    size_t writer_count;

    int64_t node, epoch;
    _Atomic int64_t beaten_us; /* PostgreSQL: the last heartbeat that was taken; monotonic */

    pthread_mutex_t reader_mutex;
    pthread_cond_t reader_free;
    struct db *readers[READERS];
    size_t reader_idle, reader_made;

    pthread_rwlock_t word_lock;
    struct word_table words;

    _Atomic int64_t key_slot_newest; /* the last table of keys that exists */

    struct done_days *done_days; /* tables of ended documents */
    int64_t indexed;             /* SQLite, the writer's: the watermark of the index */

    struct claims *claims;
    struct leases *leases;
    struct key_log *key_log; /* SQLite; the writer's */
    struct recorder *recorder;
    struct order *order;      /* lanes (order.h) */
    struct backup_copy *copy; /* SQLite, the writer's: a backup is being taken (backup.h) */
    struct retain_held *retain;
};

/* part families: tables that are numbered and dropped whole */
enum part_family { PART_IDEMPOTENCY = 1, PART_DONE = 2, PART_EMPTY = 3 /* retain.h */ };

bool store_connect(struct store *s, bool reader, struct db **ret, struct err *err);
bool words_load(struct store *s, struct err *err);
void words_done(struct store *s);
/* The name of a word of this kind; false: it is none, or not known here. */
bool store_word_of(struct store *s, enum word_kind kind, int64_t id, struct str *ret);
