/* store_state.h - the parts of an open store.  Only files of store/ include it. */
#pragma once

#include <pthread.h>

#include "store/kernel/names.h"
#include "store/kernel/store.h"
#include "store/kernel/writer.h"

enum { READERS = 4, WRITERS_MOST = 8 };

enum { DAY_TABLES = 2 }; /* kinds of tables of payloads (payload_days.h) */

struct store {
    struct store_options options;
    enum db_kind kind;
    int data_fd, payload_fd, large_fd, lock_fd;
    char *sqlite_path;
    struct segments *segments;
    struct writers *writers;
    struct db *writer_dbs[WRITERS_MOST];
    size_t writer_count;

    int64_t node, epoch, identity; /* identity: of the store, mark `store` */
    struct told *told;             /* the last commit that callers were told of */
    _Atomic int64_t beaten_us;  /* PostgreSQL: when the last good heartbeat was sent; monotonic */
    _Atomic int64_t resumed_us; /* when a lease that had ended was taken up again; monotonic */

    pthread_mutex_t reader_mutex;
    pthread_cond_t reader_free;
    struct db *readers[READERS];
    size_t reader_idle, reader_made;

    pthread_rwlock_t name_lock;
    struct name_table names; /* under name_lock */

    struct key_clock *key_clock;     /* when keys are forgotten (key_clock.h) */
    _Atomic int64_t key_slot_newest; /* the newest table of idempotency keys */

    _Atomic int64_t payload_day; /* PostgreSQL: the table for new payloads (payload_days.h) */
    _Atomic int64_t payload_tidy_from[DAY_TABLES]; /* the day at which tidying goes on */

    struct health *health; /* whether it can commit (health.h) */
    struct health_look *health_look;

    struct done_days *done_days; /* tables of ended documents */
    int64_t indexed;             /* SQLite, the writer's: the watermark of the index */
    _Atomic bool recovering;     /* documents with lower numbers come in: the watermark waits */

    struct claims *claims;      /* SQLite: in memory (claims.h) */
    struct pg_lineage *lineage; /* PostgreSQL: which server holds the store (pg_lineage.h) */
    struct leases *leases;      /* PostgreSQL: claims of uncertain commits (lease_rows.h) */
    struct key_log *key_log;    /* SQLite; the writer's */
    struct recorder *recorder;
    struct order *order;      /* lanes (order.h) */
    struct backup_copy *copy; /* SQLite, the writer's: a backup is being taken (backup.h) */
    struct retain_rules_held *retain_rules; /* how long documents are kept (retain_days.h) */
    struct retain_gate *retain_gate;        /* whether retention is paused */
};

/* Families of numbered tables; a table is dropped whole. */
enum table_family {
    TABLES_IDEMPOTENCY = 1,
    TABLES_DONE = 2,
    TABLES_EMPTY = 3,   /* retain.h */
    TABLES_PAYLOAD = 4, /* payload_days.h */
    TABLES_PIECE = 5,   /* the same */
    TABLES_JOB_LOG = 6  /* job_log.h */
};
