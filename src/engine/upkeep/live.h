/* live.h - the configuration in force: the newest stored version.
 *
 * The file given at start becomes version 1 of an empty store; from then on the store
 * is the truth and a file that differs is reported and ignored.  apply and revert make
 * versions, validated whole; this node follows at once, every other within a second.
 *
 * A version that this program cannot read (a newer one wrote it) leaves the one before
 * in force, and the node says so until that is mended.
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
struct live;
struct plan;
struct poller;
struct road;
struct store;

struct live_options {
    struct store *store;
    struct intake *intake;
    struct road *road;
    struct poller *poller;
    const struct connectors *connectors;
    const struct config_node *node; /* lent: a version must fit the node that runs it */
};

struct live *live_new(const struct live_options *options);
void live_free(struct live *l);

/* Version 1 if there is none, then use the newest. */
bool live_start(struct live *l, struct str file_text, struct err *err);

/* False with problems in the report: nothing was changed.  False with err set: it could
 * not be stored.  Secrets, variables and files that it names must be there on this node.
 * over: the version that it was compared with, and takes the place of; when another is the newest
 * by now nothing is stored, ERR_TRANSIENT.  0: of whichever is the newest. */
bool live_apply(struct live *l, int64_t over, struct str text, struct str by, struct str note,
                struct config_report *report, int64_t *ret_version, struct err *err);

/* The plan of a text that is not in force, a reference; checked as live_apply() does, and
 * nothing is stored.  False with problems in the report, or with err set. */
bool live_propose(struct live *l, struct str text, struct config_report *report, struct plan **ret,
                  struct err *err);

/* Use what others made; cheap when nothing changed. */
bool live_follow(struct live *l, struct err *err);
/* The callers or secrets changed here: use them now. */
bool live_refresh(struct live *l, struct err *err);

/* Whether the version in force names the secret, and in which line first. */
bool live_names_secret(struct live *l, struct str name, unsigned *ret_line);
/* Why the newest version is not in force, or NULL; the text is static or the live's. */
const char *live_trouble(struct live *l);
/* The longest time that any gateway keeps idempotency keys. */
int64_t live_key_period_us(struct live *l);
/* The plan of a stored version, a reference; NULL with *err.  For road_options. */
struct plan *live_plan_of(void *live, int64_t version, struct err *err);
