/* trial.h - bytes that nobody sent, through one step or a whole way, without effect.
 *
 * The walk is a dry one (walk/walk.h): nothing is sent, stored or counted.  A step that is caged
 * runs in its process, as it does for a document of the road.
 *
 * Bounded: the bytes fit into memory (SERVICE_BYTES_MOST), parts are limited (TRIAL_PARTS_MOST and
 * the same bytes), and a step has its own limits of time and memory.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "core/facts.h"
#include "core/service.h"
#include "engine/flight/caught.h"
#include "engine/plan/plan.h"

struct flight;
struct foretold;
struct road;

enum { TRIAL_PARTS_MOST = 10000 };

/* What is tried; everything is lent. */
struct trial_document {
    struct str bytes, name, ctype;
    struct str head;    /* header fields in stored form: "Name: value\n" ... */
    int64_t gateway;    /* a name id of the plan; 0: none */
    struct facts facts; /* if `has_facts`, else they are extracted */
    bool has_facts;
    struct id id;              /* the seed of chance */
    int64_t received_us;       /* the clock of the step */
    struct foretold *foretold; /* what services answer (flight/foretold.h); NULL: nobody knows */
};

/* ---- one step ---- */

enum trial_end {
    TRIAL_DEAD, /* the document would be a dead letter: `code`, `message` */
    TRIAL_BYTES,
    TRIAL_NONE, /* nothing came out */
    TRIAL_PARTS
};

struct trial {
    enum trial_end end;
    enum dead_code code;
    struct str message;
    struct str bytes;                     /* TRIAL_BYTES; lent by the trial, as is all below */
    struct caught caught;                 /* TRIAL_PARTS: its parts */
    struct str notes[SERVICE_NOTES_MOST]; /* what a script logged */
    size_t note_count;
    int64_t took_us;
    int64_t memory; /* of the process of a caged step; 0: not known, or it ran here */

    struct flight *flight; /* its own */
};

/* Runs the step over the bytes.  ERR_CONFIG: it is none that makes something of bytes (`deliver`
 * and those that end a chain), or this build cannot run it. */
bool trial_step(struct road *r, struct plan *plan, const struct plan_step *s,
                const struct trial_document *d, struct trial *ret, struct err *err);
/* The same on a running node: one at a time, with those who compute stages (stage.h).
 * ERR_TRANSIENT: another one takes until then (monotonic). */
bool trial_step_alone(struct road *r, struct plan *plan, const struct plan_step *s,
                      const struct trial_document *d, int64_t until_us, struct trial *ret,
                      struct err *err);
void trial_done(struct trial *t); /* safe on a zeroed one */

/* ---- a whole way ---- */

enum { TRIAL_WAY_DOCUMENTS = 10000, TRIAL_WAY_DELIVERIES = 10000, TRIAL_WAY_BYTES = 256 << 20 };

struct trial_walked {
    size_t parent; /* of a part or a copy: the position of the document that it was made of */
    bool is_copy;  /* for a subscriber, its receiver */
    struct facts facts;
    struct str name, route; /* route: ptr NULL if there was none */
    bool dead;
    enum dead_code code;
    struct str message; /* of a dead one, or why it ended without deliveries; may be empty */
    size_t parts;       /* documents that were made of it */
};

/* What would be sent; to a batch that the document joins: `batch NAME`. */
struct trial_delivery {
    size_t document;
    struct str endpoint, system, bytes;
};

/* The document itself is the first one; its parts or copies follow in their order, then theirs. */
struct trial_way {
    struct arena arena;
    struct trial_walked *documents;
    struct trial_delivery *deliveries;
    size_t document_count, delivery_count;
};

/* Extracts, routes and processes the document, and every part and copy that is made of it.
 * ERR_LIMIT: there are more of them than are kept.  *ret is to be freed after a failure, too. */
bool trial_walk(struct road *r, struct plan *plan, const struct trial_document *d,
                struct trial_way *ret, struct err *err);
void trial_way_done(struct trial_way *w); /* safe on a zeroed one */
