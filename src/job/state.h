/* state.h - the inside of struct jobs, for the files of this room. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "core/connector.h"
#include "job/jobs.h"
#include "job/planning.h"
#include "job/ports.h"
#include "store/job/job_claim.h"
#include "store/job/job_end.h"

struct back;
struct book;
struct book_job;
struct crew;
struct farm;
struct handover;
struct journal;
struct queue_check;
struct mishaps;
struct road;
struct run;
struct taken;
struct ending;
struct acking;

enum {
    JOBS_GRACE_US = 5 * 1000000, /* a run that was told to stop is given up after that */
    JOBS_AGAIN_US = 200 * 1000,  /* what failed is repeated after that */
    JOBS_ORDER_TRIES = 100,      /* to have the settings that a record has */
    JOBS_ORDER_WAIT_US = 50 * 1000,
    JOBS_ENDING_MOST = 512 /* ends on their way to the store; more claim nothing */
};

/* The queues that this node claims from, as bits of jobs.due. */
enum { JOBS_ANY, JOBS_AREA, JOBS_QUEUES };

struct jobs {
    struct engine *engine;
    struct store *store;
    struct road *road;
    struct controls *controls;
    struct mishaps *mishaps;
    const struct connectors *connectors;
    const struct config_node *node;
    struct job_ports ports;
    struct crew *crew; /* NULL: this node has no slots */
    struct journal *journal;
    struct queue_check *check; /* NULL: the node stops */
    void (*check_backfills)(struct queue_check *check);
    pthread_t thread;
    bool running; /* the thread is there */
    int64_t queues[JOBS_QUEUES];
    struct buf kinds; /* that it runs, as job_claim() takes them; empty: all */

    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t wake;   /* for the scheduler */
    pthread_cond_t rested; /* a run or an end is over, or a version is followed */
    bool asked;            /* something changed for the scheduler */
    bool stopping;         /* nothing more is claimed */
    bool ends;             /* the thread ends */
    unsigned due;          /* bits of 1 << JOBS_ANY ...: the queue may have tokens */
    struct book *book;     /* in force; NULL: none yet */
    struct config *config; /* of a version that is to be followed; NULL: none */
    bool follows;          /* one is being followed */
    int64_t version;
    int64_t follow_us; /* not before; monotonic */
    char trouble[300]; /* why it is not followed; empty: all is well */
    struct run *runs;  /* on slots */
    size_t run_count;
    size_t handed_count;  /* claims that are being handed over */
    size_t taking;        /* slots that are reserved for claims of other nodes */
    struct taken *taken;  /* claims of other nodes that are to be begun */
    struct ending *again; /* ends that are to be submitted once more */
    size_t ending_count;  /* all of them */
    struct back *backs;   /* claims that are to be given back */
    int64_t back_us;      /* when that is tried again; monotonic */
    struct acking *acks;  /* acknowledgements whose end is on its way */

    /* The scheduler's own. */
    bool claim_failing;
    struct farm *farm; /* that it hands over to; NULL: it runs them itself */
    struct handover *handed;
};

struct book *jobs_book(struct jobs *j); /* a reference, or NULL */
/* The clock of the store.  While a jump of it is not confirmed, what is over is over by
 * jobs_now_us(), and what begins now and lasts for so long is not over before jobs_until_us(). */
int64_t jobs_now_us(const struct jobs *j);
int64_t jobs_until_us(const struct jobs *j, int64_t lasts_us);
/* A plan was written: logs the times that it leaves out, and the end of the schedule. */
void jobs_say_plan(struct str job, const struct planning *p);
/* Logs the jobs of a version whose times this node does not know. */
void jobs_say_unknown(const struct book *b);
void jobs_say_suspended(struct jobs *j, struct str job, struct str why);
/* Waits until the version in force is followed; false: not within a moment. */
bool jobs_settle(struct jobs *j);
bool jobs_say_unsettled(struct err *err); /* returns false */
/* The queue has tokens that are due: the scheduler looks. */
void jobs_due(struct jobs *j, int64_t queue);
/* A token was put at due_us: the nodes learn of it in time. */
void jobs_token_put(struct jobs *j, int64_t queue, int64_t due_us);
/* A backfill may go on with its next time. */
void jobs_backfill_soon(struct jobs *j);

/* How many more may run here; 0 while the node stops, or has no settings yet.  With the mutex held.
 */
size_t jobs_free_slots(const struct jobs *j);

/* following.c: follows the version that waits; false: it is to be tried again. */
void following_look(struct jobs *j);

/* running.c */
/* A claim whose run begins, on a slot; planned at now_us.  The texts of the claim are copied.
 * opens: others may be beside it: the store is asked first whether there is room for one more.
 * False: the node stops. */
bool running_begin(struct jobs *j, struct book *book, const struct book_job *job,
                   const struct job_claim *c, int64_t nominal_us, int64_t now_us, bool opens);
/* Tells the runs to stop whose time is over; returns when it is to be asked again (monotonic). */
int64_t running_look(struct jobs *j, int64_t mono_us);
/* Tells the runs of a job to stop, because somebody has cancelled them. */
void running_cancel(struct jobs *j, struct str name);
/* The run of this claim, if it is here: the claim was taken away. */
void running_release(struct jobs *j, int64_t claim);
/* The claims of those on slots, without those that were told to stop, or were left outside. */
size_t running_claims(struct jobs *j, struct arena *a, struct task **ret);
/* The run of this claim: the claim was taken away on another node. */
void running_lose(struct jobs *j, const struct task *t);
void running_stop(struct jobs *j); /* tells all */

/* Fails a result whose state cannot be kept. */
void running_check_state(const struct book_job *job, struct job_result *result);

/* ending.c */
struct ending_result {
    const struct job_result *result; /* lent; NULL: the run was given up */
    const char *message;             /* instead of that of the result; NULL: that */
    struct str steps;
    int64_t nominal_us, due_us, claimed_us, began_us, ended_us;
    bool cancelled;
    bool outside;              /* somebody outside may have ended it already */
    bool stopped;              /* beside others: its node stops; it has not failed */
    bool late;                 /* it ends only if its time is over */
    const struct job_ack *ack; /* outside: it ends by this one */
    /* Once, from any thread: it was written, or it was over already.  NULL: nobody waits. */
    void (*told)(void *arg, bool written, bool stale);
    void *told_arg;
};

/* The end of a run is on its way to the store.  `blocks`: the calling thread may block.  `job` and
 * `book` are NULL where the job is gone, and no configuration has it. */
void ending_begin(struct jobs *j, struct book *book, const struct book_job *job,
                  const struct job_claim *c, bool beside, bool blocks,
                  const struct ending_result *r);
/* Submits those whose time has come; returns when it is to be asked again (monotonic). */
int64_t ending_look(struct jobs *j, int64_t mono_us);
void ending_drop(struct jobs *j); /* those that were never written */

/* over.c */
/* The nominal time of the run that holds the token; 0: it is not known. */
int64_t over_nominal(struct jobs *j, struct str name);
/* The order has ended runs (order->over): counts them, and writes their lines in the log of runs,
 * which nobody else does.  nominal_us: of the one that held the token. */
void over_log(struct jobs *j, const struct job_order *order, int64_t nominal_us);

/* scheduler.c */
void *scheduler_main(void *jobs);
/* A claim is run, or handed over, or given back; `here`: it is not handed over.  On the scheduler.
 */
void scheduler_take(struct jobs *j, struct book *b, const struct job_claim *c, bool here);
/* Of claims that begin now, by the settings of this book, which is lent to it. */
struct job_lease scheduler_lease(const struct jobs *j, const struct book *b);
/* False: it was not ours any more.  What the store does not take now is given back later. */
bool scheduler_give_back(struct jobs *j, const struct job_claim *c, int64_t due_us,
                         const struct planning *p);

bool scheduler_has_kind(const struct jobs *j, struct str kind); /* this node runs it */
/* A claim is given back as soon as the store takes it; told as trouble.  From any thread. */
void scheduler_back_later(struct jobs *j, const struct task *t, const char *what, struct str job,
                          const struct err *why);

/* handover.c; all but start and free on the scheduler */
void handover_start(struct jobs *j); /* before the scheduler */
/* Passes a claim to the farm; false: it cannot be passed now. */
bool handover_begin(struct jobs *j, const struct job_claim *c, struct err *err);
void handover_say_failed(struct jobs *j, struct str job, const char *why);
/* Looks what became of those that were handed over; returns when it is to be asked again. */
int64_t handover_look(struct jobs *j, int64_t mono_us);
void handover_run_taken(struct jobs *j);
void handover_free(struct jobs *j);

/* counts.c */
void counts_start(struct jobs *j);
void counts_use(struct store *store, const struct book *b);
void counts_stop(struct jobs *j);
void counts_end(const struct book_job *job, enum job_outcome outcome, bool stale, int64_t now_us);
void counts_lost(void);
void counts_claim(int64_t lag_us);
