#include "cage/process_end.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "cage/lock.h"

static const char *signal_meaning(int signal)
{
    switch (signal) {
    case SIGSYS:
        return "it made a system call that a cage does not allow";
    case SIGABRT:
        return "a library in it gave up (SIGABRT), perhaps for want of memory";
    case SIGSEGV:
    case SIGBUS:
        return "it used memory that it does not have (SIGSEGV): its stack overflowed, or a "
               "library in it has a fault";
    case SIGKILL:
        return "it was killed from outside (SIGKILL), perhaps because this machine ran out of "
               "memory";
    case SIGXCPU:
        return "it used all of its processor time";
    default:
        return NULL;
    }
}

static void blame_status(struct cage_job *job, const struct process_death *d)
{
    if (!d->known) {
        (void)service_fail(&job->failure, DEAD_SERVICE_FAILED, "the step's process died");
    } else if (WIFEXITED(d->status) && WEXITSTATUS(d->status) == LOCK_NO_MEMORY) {
        job->result = CAGE_FAILED;
        (void)service_fail(&job->failure, DEAD_BUDGET,
                           "it needs more than %lld bytes of memory: see `limits` of the step",
                           (long long)d->limits->memory);
    } else if (WIFSIGNALED(d->status)) {
        const char *meaning = signal_meaning(WTERMSIG(d->status));

        if (meaning != NULL)
            (void)service_fail(&job->failure, DEAD_SERVICE_FAILED, "the step's process died: %s",
                               meaning);
        else
            (void)service_fail(&job->failure, DEAD_SERVICE_FAILED,
                               "the step's process died of signal %d", WTERMSIG(d->status));
    } else {
        (void)service_fail(&job->failure, DEAD_SERVICE_FAILED,
                           "the step's process ended by itself, with status %d",
                           WEXITSTATUS(d->status));
    }
}

static void blame_job(struct talk *t, struct cage_job *job, const struct process_death *d)
{
    if (t->answer.over && job == &t->jobs[t->ended]) {
        job->result = CAGE_FAILED; /* on this side, before */
        return;
    }
    job->result = CAGE_DIED;
    switch (d->how) {
    case END_TIME:
        job->result = CAGE_FAILED;
        (void)service_fail(&job->failure, DEAD_BUDGET,
                           "it takes longer than %lld ms: see `limits` of the step",
                           (long long)(d->time_us / CLOCK_MS));
        break;
    case END_OUTPUT:
        job->result = CAGE_FAILED; /* the failure is set */
        break;
    case END_BROKEN:
        (void)service_fail(&job->failure, DEAD_SERVICE_FAILED,
                           "the step's process was killed, it said what it must not say: %s",
                           t->broken);
        break;
    default:
        blame_status(job, d);
        break;
    }
}

void process_blame(struct talk *t, const struct process_death *d)
{
    bool told = d->how == END_BROKEN || d->how == END_OUTPUT; /* the answer that came last */
    size_t guilty = told ? t->ended : d->guilty;

    /* It said something that no document asked for: the first one that is left pays. */
    if (guilty >= t->count)
        return;
    blame_job(t, &t->jobs[guilty], d);
    /* An answer that was cut off: its io has a part of it, so it did run. */
    if (t->ended < guilty && t->answer.begun)
        blame_job(t, &t->jobs[t->ended], d);
}

void process_blame_start(struct cage_job *jobs, size_t count, const struct err *err)
{
    bool config = err->kind == ERR_CONFIG;

    for (size_t i = 0; i < count; i++) {
        jobs[i].result = config ? CAGE_FAILED : CAGE_NOT_RUN; /* no document is guilty */
        (void)service_fail(&jobs[i].failure, DEAD_SERVICE_FAILED, "the step does not start: %s",
                           err->text);
    }
}
