/* process_end.h - a process of a cage is gone: which document pays, and what is said of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cage/cage.h"
#include "cage/talk.h"

enum process_end {
    END_NONE,
    END_BY_ITSELF,
    END_TIME,   /* killed: a document took too long */
    END_OUTPUT, /* killed: too much came out; the job has its failure */
    END_BROKEN, /* killed: it broke a rule (talk->broken) */
    END_STOPPED /* killed: nobody is guilty */
};

struct process_death {
    enum process_end how;
    size_t guilty; /* the job that it worked on */
    bool known;    /* `status` is that of waitpid() */
    int status;
    const struct cage_limits *limits;
    int64_t time_us; /* what the guilty one could have */
};

/* Gives the guilty job its result.  A limit that was overrun is CAGE_FAILED: the same document
 * would overrun it again.  Any other death is CAGE_DIED. */
void process_blame(struct talk *t, const struct process_death *death);

/* For a step whose process could not be started. */
void process_blame_start(struct cage_job *jobs, size_t count, const struct err *err);
