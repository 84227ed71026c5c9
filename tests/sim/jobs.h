/* jobs.h - recurring work in the simulated world: records and tokens, slots, hand-overs, acks.
 *
 * When a job runs is asked of src/job/planning.c, which ships.  What its store does (store/job)
 * is written again in jobs_store.c, one transaction per request, in the journal of store.c.  Part
 * of sim.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/cron.h"
#include "core/schedule/schedule.h"

enum {
    JOBS = 5,
    JOB_RULES = 2, /* versions of its settings */
    JOB_RUNS_MOST = 3,
    JOB_STATES = 8,   /* that are kept */
    JOB_ACKS = 24,    /* whose answers are kept */
    SLOTS_MOST = 4,   /* of a node */
    JOB_BATCH = 2,    /* claimed at once, and handed over at the same time */
    JOB_OPS = 256,    /* under way */
    JOB_POSTS = 4096, /* the last ones */
    JOB_RESETS_MOST = 3,
    JOB_OPEN_MINUTES = 2, /* of a window, out of: */
    JOB_TURN_MINUTES = 3,
    JOB_LATE_US = 5 * 1000000,      /* the queue check waits so long after a time-out */
    HAND_OVER_US = 5 * 1000000,     /* how long a scheduler waits for 202 */
    JOB_NO_ROOM_US = 1 * 1000000,   /* the token waits so long when all runs are there */
    JOB_PAST_US = 1800 * 1000000LL, /* the longest time before the start that nobody served */
};

/* Of a document, a delivery or a job. */
struct claim {
    int64_t token; /* 0: nobody has it; never given twice */
    int64_t node, epoch;
};

/* ---- what is fixed for a run of the world ---- */

struct job_rule {
    struct schedule schedule;
    struct cron cron;
    int step, phase; /* SCHEDULE_AT: the minutes with phase = minute % step */
    int parallel;    /* so many runs at the same time */
    bool outside;    /* a service works in its own time and acknowledges */
    int64_t timeout_us, longest_us;
    int failing, idle, full, hanging; /* of a hundred runs */
};

/* ---- the store ---- */

enum job_stop { JOB_GOES, JOB_PAUSED, JOB_SUSPENDED, JOB_AT_END };
enum job_token { JOB_TOKEN_NONE, JOB_TOKEN_WAITS, JOB_TOKEN_CLAIMED };

/* A run without the token; claim 0: none. */
struct job_run {
    int64_t claim, epoch; /* of its node */
    int64_t nominal_us, claimed_us, began_us, until_us, state_number;
    bool waits, outside, asked;
};

struct job_state {
    int64_t number, value; /* how often the work moved on */
};

struct job_row {
    enum job_token token;
    struct claim claim;         /* of a token that is claimed */
    int64_t due_us, claimed_us; /* of the token */
    int64_t turn, asked_us, resets;
    enum job_stop stop;
    bool gone;
    int rule;                    /* the settings that are followed */
    int64_t next_us, nominal_us; /* the plan; 0: never again */
    int64_t served_us;           /* the nominal time that was served last */
    struct schedule_known known;
    int64_t left_out;
    struct job_state state, states[JOB_STATES];
    struct job_run runs[JOB_RUNS_MOST];
    int64_t acks[JOB_ACKS]; /* claims of runs that were acknowledged */
    int ack_count;
};

/* What the schedule says of a record, and the turn of that record. */
struct job_plan {
    struct schedule_known known;
    int64_t next_us, nominal_us, left_out, turn;
    int rule;
    int64_t served_us; /* the time that it counts as served, if any */
    bool suspend;
};

/* ---- nodes ---- */

enum slot_stage {
    SLOT_FREE,
    SLOT_CLAIMED,
    SLOT_PASSING, /* handed over, and no answer yet */
    SLOT_OPENING,
    SLOT_WORKING,
    SLOT_CALLING, /* a service that will acknowledge later */
    SLOT_ENDING,  /* or giving back */
    SLOT_STUCK,   /* it hangs; or BUG_SLOT */
};

/* How a run ends. */
struct job_result {
    enum schedule_outcome outcome;
    bool has_state;
    int64_t nominal_us, claimed_us, began_us, ended_us;
    bool asked;             /* a person asked for it: the schedule stays as it is */
    struct job_state state; /* the number of the one that it has read, and its new value */
};

struct slot {
    enum slot_stage stage;
    uint32_t serial;
    int job;
    struct claim claim;
    struct job_row row; /* as it was claimed */
    int64_t awaited;    /* its token is the time-out of this run outside */
    bool opened;        /* it has a row of its own, and no token */
    struct job_result result;
};

struct scheduler {
    bool looking;
    struct slot slots[SLOTS_MOST + JOB_BATCH]; /* the last ones are for hand-overs */
};

/* ---- messages ---- */

enum job_op_kind {
    JOB_OP_CLAIM,
    JOB_OP_OPEN,
    JOB_OP_END,
    JOB_OP_RUN_END,
    JOB_OP_BEAT,
    JOB_OP_BACK,
    JOB_OP_TAKE,
    JOB_OP_CHECK,
    JOB_OP_RETURN,
};

enum job_answer {
    JOB_WRITTEN,
    JOB_LOST,
    JOB_OTHER_PLAN, /* or other settings: nothing was changed, the claim stays */
    JOB_HELD,       /* JOB_OP_OPEN: it keeps the token */
    JOB_TOO_MANY,
};

struct job_claimed {
    int job;
    struct claim claim;
    struct job_row row;
    int64_t awaited;
};

struct job_op {
    bool used;
    enum job_op_kind kind;
    int node, slot, job, post; /* -1: none */
    uint32_t life, serial;
    int64_t epoch, claim, now_us;
    bool failed; /* nothing happened, or nobody knows: try again */
    enum job_answer answer;
    struct job_plan plan;
    struct job_result result;
    int64_t awaited, until_us;
    bool outside, late, acked, stale;
    struct job_row row; /* the answer: as it is now */
    int room, count;
    struct job_claimed claimed[JOB_BATCH];
    int64_t returned[JOB_BATCH]; /* JOB_OP_RETURN: claims that nobody knows of */
};

enum post_kind { POST_RUN, POST_CALL, POST_ACK, POST_BEAT };

struct post {
    enum post_kind kind;
    int from, to; /* nodes; -1: the service */
    uint32_t life, serial;
    int asked;            /* an answer: to the one at this place */
    uint32_t asks;        /* and of this serial */
    int slot;             /* of the sender */
    uint32_t slot_serial; /* as it was then */
    int job;
    int64_t claim, until_us;
    struct job_row row; /* POST_CALL: what the service gets to know */
    struct job_result result;
    int status, tries;
    bool arrived, heard;
    bool told_done, told_late; /* POST_ACK: what it was told */
    int effects;               /* ends that were written for it */
};

/* ---- what the checks remember ---- */

struct job_watch {
    int64_t forgiven;      /* claims up to here may have been taken away from a node that lives */
    int64_t ended_us;      /* the last run that ended */
    int64_t stopped_us;    /* it was stopped, or had other settings, until then, ... */
    int64_t passed_us;     /* ... and times up to here are left out */
    bool finished;         /* all is well, and it is not needed any more */
    int64_t served, stale; /* for the trace */
};

struct jobs {
    int count, slots;
    bool farm; /* nodes hand over what they claim */
    struct job_rule rules[JOBS][JOB_RULES];
    struct job_row rows[JOBS];
    struct job_watch watch[JOBS];
    int op_next, post_count;
};
