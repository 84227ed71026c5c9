/* poller_state.h - the inside of struct poller, for poller.c and what it shows (poller_show.c). */
#pragma once

#include <pthread.h>

#include "engine/intake/deposit.h"
#include "engine/intake/poll_metrics.h"
#include "engine/intake/polled.h"
#include "engine/intake/poller.h"
#include "engine/threads/crew.h"

struct lines;

enum look_result { LOOK_SKIPPED, LOOK_ELSEWHERE, LOOK_FAILED, LOOK_REFUSED, LOOK_DONE };

/* A gateway as one configuration has it: what a poll uses.  It belongs to the poll while that runs,
 * and to the thread of one that was given up for ever. */
struct poller_post {
    struct crew_call call;
    struct duty *duty;
    bool gone; /* the gateway is not configured any more: release its turn, poll no more */

    struct config *config; /* a reference */
    struct lines *lines;   /* a reference: a lost thread may outlive the poller */
    const struct config_gateway *gateway;
    const struct gateway_type *type;
    void *self; /* the connector; NULL: it could not be set up */
    struct arena arena;
    int64_t every_us, held_us; /* held_us: when the turn was renewed, monotonic */
    struct depositor depositor;
    struct polled_period whole; /* in which no poll failed or was skipped */
    struct polled_complaints complaints;

    enum look_result result; /* of the poll that has just ended */
    int64_t taken, wait_us;
    struct err err;
};

/* One gateway.  The mutex guards all of it but the metrics. */
struct duty {
    struct poller *poller;
    struct duty *next;
    struct poller_post *post; /* NULL: made for the next poll */
    bool busy, gone;
    size_t lost;          /* polls that were given up and have not returned */
    bool unshared;        /* the other nodes do not know yet that a poll hung */
    bool released;        /* gone, and its turn is given back: nothing is left to do */
    struct config *fresh; /* a new configuration to adopt; NULL: none */
    int64_t fresh_version, due_us;
    struct config *config; /* of the next post */
    int64_t version;
    int64_t word;                 /* of the gateway; 0: not known yet */
    struct rate rate, rate_total; /* outlive configurations */
    struct polled_line line;

    int64_t failures; /* in a row */
    struct duty_count count;
    int64_t every_us, began_us; /* began_us: monotonic */
    char error[200];
    struct poll_metrics metrics;
    char name[80];
};

struct poller {
    struct poller_options o;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool running;
    _Atomic bool stopping;
    struct duty *duties; /* in the order in which they were last submitted */
    size_t busy;
    struct lines *lines; /* connections of polls */
};
