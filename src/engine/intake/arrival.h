/* arrival.h - a document between its head and its commit; see core/intake.h. */
#pragma once

#include <pthread.h>

#include "engine/intake/intake.h"
#include "engine/intake/intake_table.h"
#include "engine/intake/spool.h"
#include "store/road/accept.h"

enum { ARRIVAL_MAGIC = 0x61727276, ARRIVAL_KEEP = 8 << 10, ARRIVALS_KEPT = 1024 };

/* State of one loop: operations of this round, arrivals for reuse. */
struct intake_loop {
    struct intake *intake;
    struct loop *loop;
    struct loop_hook hook;
    struct store_op *first, *last;
    size_t count;
    uv_timer_t timer;     /* checks again while the road is busy */
    int64_t held_us;      /* since when operations are held back; 0: they are not */
    struct arrival *idle; /* by `next_idle` */
    size_t idle_count;
};

struct intake {
    struct intake_options options;
    pthread_rwlock_t table_lock;
    struct intake_table *table;
    struct intake_gateway_state *states;
    struct intake_loop *lanes;
    struct login_limit *logins; /* of senders with passwords */
    struct replies *replies;

    _Atomic int64_t open;    /* arrivals begun and not ended */
    _Atomic int64_t commits; /* submitted to the writer and not answered */
    _Atomic int64_t free_disk;
    _Atomic(const char *) store_why_not;
    _Atomic bool store_full; /* ... for want of space */
    _Atomic bool stopping, paused;
};

struct arrival {
    struct accept_op accept;
    unsigned magic;
    struct intake *intake;
    struct intake_loop *lane;
    struct intake_table *table;
    const struct intake_gateway *gateway;
    const struct arrival_calls *calls;
    void *user;
    bool aborted, committing;
    bool named;         /* its key is `name` and the digest of its bytes */
    struct sha256 name; /* of the text */
    int64_t reserved;   /* bytes of the share of memory */
    int64_t began_us;

    struct buf body;
    struct spool_body *spool;

    struct buf texts;         /* ctype, name, head: copied */
    struct reply_wait *reply; /* the sender waits for the receiver; NULL: it does not */
    struct loop_msg answered;
    struct arrival *next_idle;
};

void arrival_hand_over(struct loop_hook *hook); /* called at the end of each round of a loop */
