/* live.h - the configuration in force: the newest stored version.
 *
 * The file given at start becomes version 1 of an empty store; from then on the store is the truth,
 * and a file that differs is reported and ignored.  apply and revert make new versions, validated
 * as a whole; this node follows at once, every other within a second.
 *
 * A version that this program cannot read (a newer program wrote it) leaves the one before in
 * force, and the node reports it until that changes.
 *
 * Threads: any that may block; calls that change something take turns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/config.h"

struct connectors;
struct intake;
struct listeners;
struct live;
struct losses;
struct plan;
struct poller;
struct road;
struct store;

struct live_options {
    struct store *store;
    struct intake *intake;
    struct road *road;
    struct poller *poller;
    struct listeners *listeners;
    const struct connectors *connectors;
    const struct config_node *node; /* lent: a version must fit the node that runs it */
    bool file_rules;                /* a file that differs is not ignored (file_config.h) */
};

struct live *live_new(const struct live_options *options);
void live_free(struct live *l);

/* Makes version 1 if there is none, then uses the newest. */
bool live_start(struct live *l, struct str file_text, struct err *err);

struct live_change {
    struct str text, by, note;
    int64_t over; /* the version it replaces; 0: whichever is the newest */
    bool force;   /* keeps keys that this build does not run; else they are problems */
    /* What it removes is a problem (removal.h), unless this is the `confirm` of these losses ... */
    struct str confirm;
    bool confirmed; /* ... or all of them are confirmed */
    /* Files that belong to it: those that were sent along (NULL: none), else those of the version
     * `files_of` (0: of the version in force); or, of the node's own configuration file, those that
     * lie beside it. */
    const struct config_files *files;
    int64_t files_of;
    bool beside_file;
    /* For live_propose(): a step to be tried takes the place of its routes, and problems have their
     * places in it.  ptr NULL: none. */
    struct str step;
};

/* False with problems in the report: nothing was changed.  False with err set: it could not be
 * stored.  Secrets, variables and files that it refers to must exist on this node.  If the
 * version that it replaces is not the newest any more, nothing is stored and the error is
 * ERR_TRANSIENT.  *ret_losses, in the arena: what it removes, as far as it got. */
bool live_apply(struct live *l, const struct live_change *change, struct config_report *report,
                struct arena *a, struct losses *ret_losses, int64_t *ret_version, struct err *err);

/* Whether the newest version has this text of the node's configuration file, and its files. */
bool live_is_newest(struct live *l, struct str text, bool *ret, struct err *err);

/* Builds the plan of a proposed text, a reference; checked as in live_apply(), nothing is stored.
 * False with problems in the report, or with err set. */
bool live_propose(struct live *l, const struct live_change *change, struct config_report *report,
                  struct plan **ret, struct err *err);
/* What the proposed plan would remove.  Texts are in the arena. */
bool live_losses(struct live *l, const struct plan *proposed, struct arena *a, struct losses *ret,
                 struct err *err);

/* `used` is called with each configuration that is put into force, and when its secrets have
 * changed, with the live locked; it must not block for long, and takes a reference if it keeps it.
 * Called at once with the one in force.  NULL: nobody wants to know. */
void live_tell(struct live *l, void (*used)(void *arg, struct config *c, int64_t version),
               void *arg);

/* Uses what other nodes made; cheap when nothing changed. */
bool live_follow(struct live *l, struct err *err);
/* Callers or secrets changed on this node: use them now. */
bool live_refresh(struct live *l, struct err *err);

/* Whether the version in force refers to the secret, and in which line first. */
bool live_names_secret(struct live *l, struct str name, unsigned *ret_line);
/* Why the newest version is not in force, or NULL; valid as long as the live. */
const char *live_trouble(struct live *l);
/* The longest time that any gateway keeps idempotency keys. */
int64_t live_key_period_us(struct live *l);
/* The plan of a stored version, a reference; NULL with *err.  For road_options. */
struct plan *live_plan_of(void *live, int64_t version, struct err *err);
