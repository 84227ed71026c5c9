/* sim.h - a small world in which the rules of src/core meet: nodes, one store, receivers, people.
 *
 * Everything that happens comes from one seed and a queue of events in virtual time, so a run is
 * the same each time.  The model calls the rules as the engine does; what it must keep is
 * checked apart from it, in check.c, after every change.  docs/internals/sim.md tells what is in
 * it and what is not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/doubt.h"
#include "core/lease_time.h"
#include "core/rate.h"
#include "core/retry.h"
#include "core/state.h"
#include "core/steady.h"
#include "core/window.h"
#include "engine/dispatch/govern.h"
#include "jobs.h"

enum {
    NODES_MOST = 4,
    SYSTEMS = 4,
    GATEWAYS = 2,
    KEYS = 3,
    LANES = SYSTEMS * KEYS,
    DOCS = 50,
    CHILDREN = 2,
    DELIVERIES_MOST = DOCS * CHILDREN,
    HOLDS_MOST = 8,
    TASKS_MOST = 16, /* of a node */
    EVENTS_MOST = 4096,
    OPS_MOST = 128,
    CLAIMS_MOST = 8, /* at once */
    SENDS_MOST = 8192,
    JOURNAL_MOST = 256,
    MS = 1000,
    S = 1000000,
    LOOK_US = 1 * S,
    ACTIVE_US = 100 * S,
    TOLERANCE_US = 100 * MS, /* of clocks that are read over a wire */
};

enum bug {
    BUG_NONE,
    BUG_FENCE,
    BUG_RELEASE,
    BUG_TOKEN,
    BUG_HEAD,
    BUG_BACKOFF,
    BUG_OWNERS,
    BUG_TAKER,
    BUG_STATE,
    BUG_SLOT,
    BUG_TIME,
    BUG_LEFT,
    BUGS
};

struct bits {
    uint64_t word[(DELIVERIES_MOST + 63) / 64];
};

/* ---- the store ---- */

/* A row of the table node. */
struct member {
    int64_t node, epoch;
    int64_t alive_until_us; /* its last heartbeat and LEASE_TTL_US */
    bool dead;              /* declared */
};

struct document {
    int64_t seq; /* 0: not stored */
    bool routed;
    struct claim claim;
};

/* Of an ordered system: in its lane it waits, or it goes; one at a time goes (store/road/order.h).
 */
enum turn { TURN_NONE, TURN_WAITS, TURN_GOES };

struct delivery {
    bool exists, intent, unconfirmed;
    enum delivery_state state;
    enum turn turn;
    struct claim claim;
    int64_t attempts, first_us, due_us, asked;
};

struct hold {
    int system;
    bool at_once;
    int64_t from_us, until_us, mark, ended_mark; /* 0: without an end; not ended */
};

struct store {
    int64_t tokens, epochs, seqs, mark;
    struct member nodes[NODES_MOST];
    struct document docs[DOCS];
    struct delivery deliveries[DELIVERIES_MOST]; /* document * CHILDREN + child */
    int order[DELIVERIES_MOST], order_count;     /* those that are not over, by (seq, child) */
    struct rate_row rate[SYSTEMS];
    struct hold holds[HOLDS_MOST];
    int hold_count;
    bool paused[NODES_MOST];
    int64_t seen_mark[NODES_MOST]; /* what this node goes by */
    struct bits seen_sending[NODES_MOST];
};

/* ---- what is fixed for a run ---- */

struct system {
    enum doubt_policy policy;
    bool ordered, remembers;
    bool skips; /* a dead delivery lets those behind it pass */
    int concurrency;
    int64_t timeout_us; /* of a send */
    bool limited;
    struct rate_rule rate;
    struct retry_rule retry;
    struct breaker_rule breaker;
    bool windowed;
    struct window window;
    struct window_set windows;
    int ill; /* of a hundred attempts, how many go wrong */
};

struct target { /* where a document goes; its deliveries are made by routing */
    int system, key;
};

struct paper {
    int gateway, children;
    struct target to[CHILDREN];
    bool stored, acked;
};

/* ---- nodes ---- */

enum stage { TASK_FREE, TASK_ROUTING, TASK_INTENDING, TASK_SENDING, TASK_ASKING, TASK_SETTLING };

struct task {
    enum stage stage;
    uint32_t serial; /* events for an earlier task of this place do nothing */
    int doc, delivery;
    struct claim claim;
    struct delivery row; /* as it was claimed, and as it is to be */
    bool begun, probe;   /* it has a slot; it probes the breaker */
    int send;            /* under way */
};

struct node {
    bool up, registered, gone; /* it does not come back */
    uint32_t life;
    int64_t epoch;
    int64_t frozen_until_us;
    int64_t cut_until_us; /* it does not reach the store */
    int64_t off_us;       /* of its wall clock */
    int64_t beaten_us, mark, told_mark;
    bool looking;
    struct govern *govern;
    struct steady clock;
    struct rate_piece piece[SYSTEMS];
    int64_t piece_now_ns[SYSTEMS], piece_at_us[SYSTEMS]; /* the store's time, and when that was */
    bool reserving[SYSTEMS];
    int64_t rested_us[SYSTEMS]; /* no time for one before */
    struct breaker breaker[SYSTEMS];
    int busy[SYSTEMS];
    bool asleep[SYSTEMS]; /* BUG_RELEASE */
    int64_t boot_off_us;
    struct task tasks[TASKS_MOST];
};

/* ---- messages ---- */

enum op_kind {
    OP_REGISTER,
    OP_BEAT,
    OP_SEEN,
    OP_ACCEPT,
    OP_CLAIM,
    OP_ROUTE,
    OP_INTENT,
    OP_SETTLE,
    OP_RESERVE,
};

enum op_result { OP_DONE, OP_LOST, OP_FAILED }; /* FAILED: nothing happened, try again */

/* A request of a node to the store, and its answer. */
struct op {
    bool used;
    enum op_kind kind;
    int node;
    uint32_t life, serial;
    int64_t epoch, sent_us;
    enum op_result result;
    int task, doc, delivery, system;
    struct claim claim;
    struct delivery row;
    unsigned systems; /* CLAIM: those it may claim of */
    int slots[SYSTEMS], routes;
    struct task claimed[CLAIMS_MOST];
    int claimed_count;
    struct rate_piece piece;
    int64_t wait_until_ns, clock_us, mark;
    struct bits sending;
    struct hold holds[HOLDS_MOST];
    int hold_count;
    bool paused, ok;
    int64_t failed_us, tries; /* SETTLE: what the wait follows from, for the checks */
    uint64_t chance;
};

struct send {
    int delivery, node, task;
    uint32_t life, serial;
    bool ask, arrived;
    enum verdict_kind verdict; /* what the receiver says, when it is reached */
    bool takes, answers;
};

enum event_kind {
    EV_APPLY,  /* the store: an op */
    EV_ANSWER, /* a node: an op */
    EV_KEEP,   /* a node: heartbeat, holds */
    EV_LOOK,   /* a node: is there something to do */
    EV_ROUTED, /* a node: a task */
    EV_AGAIN,  /* a node: an op that failed */
    EV_ARRIVE, /* a receiver: a send */
    EV_TOLD,   /* a node: the answer to a send */
    EV_GIVEUP, /* a node: no answer to a send */
    EV_SUBMIT, /* a sender: a document */
    EV_BOOT,   /* a node */
    EV_TROUBLE,
    EV_PEOPLE,
    EV_DRAIN,
    EV_NIGHT,      /* all nodes are down for minutes */
    EV_JOB_APPLY,  /* the store: a request about jobs */
    EV_JOB_ANSWER, /* a node: its answer */
    EV_JOB_AGAIN,  /* a node: a request that failed */
    EV_JOB_WORKED, /* a node: the work in a slot is done */
    EV_JOB_STOP,   /* a node: a slot is given up */
    EV_JOB_WAITED, /* a node: no answer to a post */
    EV_JOB_POST,   /* a node or the service: a post */
    EV_JOB_REPLY,  /* who sent a post: the answer */
    EV_JOB_TELL,   /* the service: it acknowledges */
    EV_JOB_PEOPLE,
};

struct event {
    int64_t at_us;
    uint64_t order;
    enum event_kind kind;
    int node; /* -1: none */
    uint32_t life;
    int a, b;
};

/* ---- what the checks remember ---- */

struct watch {
    int arrivals, effects;
    int resends; /* decisions of people to send it once more */
    int missing; /* answers that the receiver does not have it */
    bool was_dead, resolved;
    int64_t not_before_us, begun_us;
};

struct undo {
    void *at;
    size_t size;
    char was[sizeof(struct job_row)]; /* the largest */
};

struct world {
    uint64_t seed, chance;
    enum bug bug;
    bool trace, draining, drained;
    int64_t now_us, start_us, end_us;
    int node_count, papers;
    int strikes;
    bool stepped; /* a clock was put forward or back */
    struct system systems[SYSTEMS];
    struct paper paper[DOCS];
    struct store store;
    struct node nodes[NODES_MOST];
    size_t event_count;
    uint64_t event_order;
    int op_next, send_count;
    uint32_t serials;
    size_t journal_count;
    struct watch watch[DELIVERIES_MOST];
    struct jobs jobs;
    struct scheduler schedulers[NODES_MOST];
    int64_t rate_t_ns[SYSTEMS]; /* the timeline, played again */
    int64_t live_mark;          /* holds up to this are live everywhere */
    struct bits live_sending;   /* and this was on the wire then */
    uint64_t steps;
    const char *invariant;
    char why[300];
    /* From here on not cleared between runs. */
    struct op ops[OPS_MOST];
    struct event events[EVENTS_MOST];
    struct send sends[SENDS_MOST];
    struct job_op job_ops[JOB_OPS];
    struct post posts[JOB_POSTS];
    struct undo journal[JOURNAL_MOST];
};

/* ---- world.c ---- */
/* One run; false: an invariant is broken, w->invariant and w->why say which. */
bool world_run(struct world *w, uint64_t seed, enum bug bug, bool trace);
uint64_t world_chance(struct world *w);
int world_pick(struct world *w, int below);
bool world_luck(struct world *w, int percent);
int64_t world_between(struct world *w, int64_t from, int64_t to);
void world_push(struct world *w, int64_t in_us, enum event_kind kind, int node, int a, int b);
/* What the clock of the store says. */
int64_t world_store_us(const struct world *w);
void world_trace(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define TRACE(w, ...)                    \
    do {                                 \
        if ((w)->trace)                  \
            world_trace(w, __VA_ARGS__); \
    } while (0)

/* ---- queue.c ---- */
void queue_push(struct world *w, const struct event *e);
bool queue_pop(struct world *w, struct event *ret);

/* ---- store.c ---- */
void store_apply(struct world *w, int op);
/* For people, in one transaction: touch what changes, then commit. */
void store_touch(struct world *w, void *at, size_t size);
void store_commit(struct world *w, const struct op *op);
void store_rollback(struct world *w);
bool store_has_node(const struct world *w, int node, int64_t epoch); /* it may change something */
bool store_has_epoch(const struct world *w, int64_t epoch);          /* a node of it is not dead */
void store_leave(struct world *w, int delivery); /* it is over: it leaves its lane */
void store_enter(struct world *w, int delivery);

/* ---- node.c ---- */
struct op *node_ask(struct world *w, int node, enum op_kind kind);
void node_boot(struct world *w, int node);
void node_die(struct world *w, int node, const char *why);
void node_sleep(struct world *w, int node, int64_t for_us); /* it dies, and comes back then */
void node_keep(struct world *w, int node);
void node_look(struct world *w, int node, bool periodic);
void node_answer(struct world *w, int op);
void node_routed(struct world *w, int node, int task, uint32_t serial);
struct op *node_ask_for(struct world *w, int node, int task, enum op_kind kind);
void node_kick(struct world *w, int node, int64_t in_us); /* it looks then */
unsigned node_reasons(struct world *w, int node, int system);
bool node_may_send(const struct world *w, int node);
int64_t node_clock_us(const struct world *w, int node);

/* ---- sending.c ---- */
void sending_start(struct world *w, int node, int task); /* it was claimed */
void sending_intended(struct world *w, int node, int task, bool ours);
void sending_told(struct world *w, int send);
void sending_gave_up(struct world *w, int send);

/* ---- receiver.c ---- */
void receiver_send(struct world *w, int node, int task, bool ask);
void receiver_arrive(struct world *w, int send);

/* ---- people.c ---- */
void people_plan(struct world *w); /* trouble and decisions of the whole run */
void people_act(struct world *w);
void people_trouble(struct world *w);
/* A request of this kind was just done, and the node does not know it yet. */
void people_strike(struct world *w, int node, enum op_kind kind);
void people_drain(struct world *w);
void people_night(struct world *w);

/* ---- check.c ---- */
void check_fail(struct world *w, const char *invariant, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void check_commit(struct world *w, const struct op *op); /* the journal has what was before */
void check_begin(struct world *w, int node, int task, bool ask);
void check_byte(struct world *w, int node, int task);
void check_arrival(struct world *w, int send);
void check_holds(struct world *w);
void check_end(struct world *w);
void check_node(struct world *w, int node, int64_t epoch); /* it may change something */

/* ---- jobs.c ---- */
void jobs_make(struct world *w);
bool jobs_are_over(const struct world *w);
void jobs_describe(struct world *w);

/* ---- jobs_plan.c ---- */
const struct job_rule *job_rule_of(const struct world *w, int job, const struct job_row *r);
int64_t job_awaited_us(const struct job_row *r); /* its token is a time-out until then; 0: no */
int64_t job_awaited(const struct job_row *r);    /* of this run */
const struct job_run *job_find_run(const struct job_row *r, int64_t claim);
bool job_was_asked(const struct job_row *r); /* for the run that is there */
int job_open_runs(const struct job_row *r);
bool job_may_run(const struct job_row *r);
struct job_plan job_plan_of(const struct job_row *r);
struct job_plan job_plan_now(const struct world *w, int job, const struct job_row *r,
                             int64_t now_us);
/* With the run that the record names ended, or, of one beside others, begun. */
struct job_plan job_plan_end(const struct world *w, int job, const struct job_row *r,
                             const struct job_result *result, int64_t now_us);
struct job_plan job_plan_beside(const struct world *w, int job, const struct job_row *r,
                                int64_t now_us);
struct job_plan job_plan_new(const struct world *w, int job, const struct job_row *r,
                             int64_t now_us);
struct job_plan job_plan_resumed(const struct world *w, int job, const struct job_row *r,
                                 int64_t now_us);
struct job_plan job_plan_changed(const struct world *w, int job, const struct job_row *r,
                                 int64_t now_us);
struct job_plan job_plan_cancelled(const struct world *w, int job, const struct job_row *r,
                                   int64_t now_us);

/* ---- jobs_store.c ---- */
void jobs_apply(struct world *w, int op);
void jobs_rescue(struct world *w, int node); /* in the transaction that declares it dead */
void job_put_plan(struct job_row *r, const struct job_plan *p);
void jobs_commit(struct world *w, const struct job_op *op);

/* ---- jobs_node.c ---- */
struct job_op *jobs_ask(struct world *w, int node, enum job_op_kind kind);
/* Free slots for what this node runs, or hands over, and the first of them. */
int jobs_room(const struct world *w, int node, bool hand_over, int *ret_first);
void jobs_look(struct world *w, int node);
void jobs_keep(struct world *w, int node);
void jobs_answer(struct world *w, int op);
void jobs_worked(struct world *w, int node, int slot, uint32_t serial);
void jobs_stop(struct world *w, int node, int slot, uint32_t serial);
struct slot *jobs_slot(struct world *w, int node, int slot, uint32_t serial); /* NULL: not it */
void jobs_begin(struct world *w, int node, int slot);
void jobs_back(struct world *w, int node, int slot, int64_t due_us);
void jobs_fail(struct world *w, int node, int slot); /* nobody works: the run ends as failed */
struct job_result jobs_result(struct world *w, int job, const struct job_row *r);

/* ---- jobs_post.c ---- */
void jobs_hand_over(struct world *w, int node, int slot);
void jobs_call(struct world *w, int node, int slot);
void jobs_post_arrives(struct world *w, int node, int post, uint32_t serial);
void jobs_post_reply(struct world *w, int post, uint32_t serial);
void jobs_post_done(struct world *w, const struct job_op *op); /* what the store says to a post */
void jobs_waited(struct world *w, int node, int slot, uint32_t serial);
void jobs_tell(struct world *w, int post, uint32_t serial);

/* ---- jobs_people.c ---- */
void jobs_people_plan(struct world *w);
void jobs_people(struct world *w, int job, int what);
void jobs_drain(struct world *w);
void jobs_see_to(struct world *w); /* from then on */

/* ---- jobs_check.c ---- */
void jobs_check_row(struct world *w, const struct job_op *op, int job, const struct job_row *was);
void jobs_check_begin(struct world *w, int node, int slot);
void jobs_check_effect(struct world *w, const struct job_op *op); /* it was written */
void jobs_check_reply(struct world *w, int post);
bool jobs_is_served(const struct world *w, int job, int64_t now_us);
void jobs_check_end(struct world *w);

static inline const struct target *delivery_target(const struct world *w, int d)
{
    return &w->paper[d / CHILDREN].to[d % CHILDREN];
}

static inline int delivery_lane(const struct world *w, int d)
{
    return delivery_target(w, d)->system * KEYS + delivery_target(w, d)->key;
}

static inline const struct system *delivery_system(const struct world *w, int d)
{
    return &w->systems[delivery_target(w, d)->system];
}
