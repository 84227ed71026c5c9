/* polled.h - gateways that are polled: which of a configuration they are, what they read, and
 * whether they can be set up; what this node tells of them, and forgets of their sources. */
#pragma once

#include "base/digest.h"
#include "core/config.h"
#include "core/settings.h"
#include "engine/intake/poller.h"

struct call;
struct gateway_type;
struct lines;

/* NULL: gateways of this kind are not polled. */
const struct gateway_type *polled_type(const struct poller_options *o, const char *kind);
/* This node polls it. */
bool polled_is_for(const struct poller_options *o, const struct config_gateway *g);
/* The settings of a gateway of `config`; they live on the arena.  `trial` and `call`: see
 * folders_port() (plan/folders.h). */
struct settings polled_settings(const struct poller_options *o, const struct config *config,
                                const struct config_gateway *g, bool trial, struct call *call,
                                struct arena *a);

/* How often it is polled, and how long a poll may stand still before it is given up. */
void polled_read_times(const struct poller_options *o, const struct config *config,
                       const struct config_gateway *g, struct arena *a, int64_t *ret_every_us,
                       int64_t *ret_patience_us);

/* With what the connections of a gateway are opened (core/line/line.h). */
struct polled_line {
    bool has;
    struct sha256 key;
};

struct polled_line polled_line_of(const struct gateway_type *type, const void *self);
/* Those that are kept with other settings are closed. */
void polled_line_change(struct lines *l, const struct polled_line *before,
                        const struct polled_line *now);

/* How long to wait after so many polls in a row that failed. */
int64_t polled_back_off_us(int64_t every_us, int64_t failures);

/* A time in which polls have gone well.  since_us = 0 begins it anew. */
struct polled_period {
    int64_t since_us, since_wall_us; /* the same moment by both clocks */
};

/* After a poll that saw every source, and went well: sweeps the ledger when the period was long
 * enough; the next one begins then. */
void polled_forget_vanished(const struct poller_options *o, struct polled_period *p, int64_t word);

/* Another node may poll it.  `word` 0: it has no name id yet. */
void polled_give_turn_back(const struct poller_options *o, int64_t word);

/* Tells all nodes that polls of the gateway fail on this one, and that they go well again.  A store
 * that fails does not matter here: it is told elsewhere.  `word` 0: it has no name id yet. */
void polled_tell_trouble(const struct poller_options *o, int64_t word, const char *why);
void polled_tell_recovery(const struct poller_options *o, int64_t word);
void polled_note_mishap(const struct poller_options *o, const char *gateway, const char *why);

/* What was said of a gateway already: a hash each. */
struct polled_complaints {
    uint64_t said[256];
};

/* Logs each name and reason once, unless a hash collision evicted it. */
void polled_complain(struct polled_complaints *c, const char *gateway, struct str name,
                     const char *why, const char *hint);

/* Sets the gateway up and takes it down again, without effect.  A permanent error becomes a
 * problem. A folder that hangs is no problem of the configuration: its polls report it. */
void polled_try(const struct poller_options *o, struct config *config,
                const struct config_gateway *g, struct problem_list *problems);
