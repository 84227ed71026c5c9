/* config.h - a configuration: checked whole, then one immutable snapshot.
 *
 * config_load() reads a text, checks everything in it against the grammar
 * (grammar.h) and against itself, and collects every problem with its place.
 * Only a text without problems becomes a struct config.  What the engine reads
 * is typed here; the rest is kept as names, places and the tree itself.
 *
 * Invariants
 *   (1) a struct config is never changed after config_load() returned it.
 *   (2) every reference in it (endpoint to system, route to endpoint) resolves.
 *   (3) no text of a report contains a value that may be secret.
 *
 * Ownership: everything belongs to the snapshot and lives until the last
 * config_unref().  Texts are terminated.  A report owns its problems.
 * Threads: a snapshot may be shared; ref and unref are safe from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/folder_rule.h"
#include "base/network.h"
#include "base/str.h"
#include "core/config_files.h"
#include "core/problem.h"
#include "core/units.h"
#include "core/yaml.h"

enum { CONFIG_JOBS_MOST = 20000 };

/* The kind of jobs that check databases. */
#define CONFIG_KIND_CHECK "check"
/* The kinds of jobs that links are made of. */
#define CONFIG_KIND_REPLICATE "replicate"
#define CONFIG_KIND_VERIFY    "verify"

/* ---- options of the check ---- */

struct connectors;

struct config_options {
    const struct connectors *connectors; /* the kinds that this build runs (connector.h) */
    bool expand_node;                    /* replace ${env:} and ${file:} in the node section */
    bool ask_zones; /* a time zone that this machine does not know is a problem */
    bool refuse;    /* a planned key of something that runs is a problem, not a warning */
    const struct config_node *node;   /* the node that runs the version, lent for as long as the
                                       * snapshot lives; NULL: that of the text */
    const struct config_files *files; /* what is there for options that name files; those that are
                                       * named are copied.  NULL: none */
    /* A step that takes the place of all routes, to be tried (config_trial.c): the places of
     * problems count in this text.  ptr NULL: none. */
    struct str step;
    /* Called last, for checks that only the caller can make; may be NULL.  The tree may have any
     * mistake that is in `problems` already. */
    void (*also)(void *arg, const struct yaml_node *root, struct problem_list *problems);
    void *also_arg;
};

/* ---- the snapshot ---- */

enum config_area {
    CONFIG_LOCALHOST,
    CONFIG_INTERNAL,
    CONFIG_DMZ,
    CONFIG_EXTERNAL,
    CONFIG_ANYWHERE
};
enum config_log { CONFIG_LOG_DEBUG, CONFIG_LOG_INFO, CONFIG_LOG_WARN, CONFIG_LOG_ERROR };
enum config_auth { CONFIG_AUTH_KEY, CONFIG_AUTH_BASIC, CONFIG_AUTH_NONE, CONFIG_AUTH_HMAC };

enum config_source { CONFIG_FROM_STORE, CONFIG_FROM_FILE };

struct config_texts {
    const char *const *items;
    size_t count;
};

struct config_networks {
    const struct network *items;
    size_t count;
};

/* Ports that gateways may listen on. */
struct config_ports {
    const uint16_t *items;
    size_t count;
    bool any;
};

struct config_node {
    const char *file;            /* of the configuration: the paths below start in its folder */
    struct units_address listen; /* host "" : written as ${...} and not expanded */
    struct place listen_place;   /* line 0: the default */
    const char *name;            /* NULL: that of the machine */
    const char *data;
    const char *store; /* NULL: SQLite in `data` */
    enum config_area area;
    enum config_log log;
    /* Each a path (see config_path) or, when config_is_pem(), the PEM itself. */
    const char *tls_cert, *tls_key; /* NULL: no TLS */
    uint64_t connections, memory_bytes, disk_reserve_bytes, commit_queue, replies;
    uint64_t per_address; /* of the connections; 0: left out */
    uint64_t job_batch, job_slots;
    struct config_texts job_kinds; /* count 0: all */
    const char *hand_over;         /* NULL: jobs are run here */
    const char *hand_over_key;     /* as written: it may name a secret */
    uint64_t message_limit;        /* bytes */
    /* Paths as written: see config_path().  No folders: that of the configuration file. */
    struct config_texts folders, expose_files, expose_env;
    struct config_networks trust, egress, monitors;
    struct config_ports ports;
    bool environment_proxy;
    bool insecure;
    enum config_source source;
};

struct config_user {
    const char *name, *hash;
};

struct config_gateway {
    const char *name, *kind;
    struct place place;
    enum config_area area; /* CONFIG_ANYWHERE: every node runs it */
    struct units_rate rate;
    uint64_t burst;          /* 0 without a rate */
    struct units_rate total; /* of all callers; count 0: no limit */
    uint64_t size_bytes;
    const struct yaml_node *extract; /* NULL: none */
    const struct yaml_node *node;

    /* Only for kinds whose options include grammar_senders. */
    enum config_auth auth;
    int64_t idempotency_us;
    const struct config_user *users;
    size_t user_count;
};

struct config_endpoint {
    const char *name, *kind;
    const char *system; /* NULL: the document's receiver */
    enum config_area area;
    struct place place;
    const struct yaml_node *node;
};

struct config_route {
    const char *name;
    struct place place;
    const struct yaml_node *when; /* NULL: any */
    const struct yaml_node *steps;
    size_t step_count;
    const struct yaml_node *node;
};

/* An entry of a section that has no struct of its own. */
struct config_entry {
    const char *name;
    const char *kind; /* of a job; else NULL */
    struct place place;
    const struct yaml_node *node;
};

struct config {
    struct config_node node;
    const struct config_gateway *gateways;
    const struct config_endpoint *endpoints;
    const struct config_route *routes;
    const struct config_entry *systems, *types;
    const struct config_entry *jobs; /* also those that links are made of */
    size_t gateway_count, endpoint_count, route_count, system_count, type_count, job_count;
    const struct yaml_node *root; /* the whole tree, with the planned keys */
    struct folder_rule *folders;  /* those that it names, and what was seen of them since: it has a
                                   * lock of its own */
    const struct place *folder_places;       /* of each use in `folders` */
    const char *file;                        /* as given to config_load() */
    struct config_files files;               /* that it names, as far as they were there */
    const struct config_file_use *file_uses; /* all that it names, by path */
    size_t file_use_count;
    bool has_node; /* the text has a node section */

    struct arena arena;
    _Atomic unsigned refs;
};

struct config_report {
    struct problem_list problems; /* if there is one, there is no snapshot */
    struct problem_list warnings;
};

#define CONFIG_REPORT_INIT                                           \
    {                                                                \
        .problems = PROBLEM_LIST_INIT, .warnings = PROBLEM_LIST_INIT \
    }

void config_report_done(struct config_report *report); /* safe on a zeroed report, and twice */

/* The snapshot with one reference, or NULL and at least one problem.  `file` is
 * for messages and for paths beside it; it is copied. */
struct config *config_load(struct str text, const char *file, const struct config_options *options,
                           struct config_report *report);

struct config *config_ref(struct config *config);
void config_unref(struct config *config);

/* NULL: no gateway has this name. */
const struct config_gateway *config_gateway_find(const struct config *config, struct str name);

/* Checks `config` against a node that its text does not describe, such as a stored
 * version on the node that runs it: `auth: none` is refused away from loopback.
 * config_load() has made this check for the node section of its own text. */
bool config_fits_node(const struct config *config, const struct config_node *node,
                      struct problem_list *problems);

/* ---- what it reaches on the machine ---- */

/* Whether a gateway may listen on the port: `node.ports`. */
bool config_allows_port(const struct config_node *node, uint16_t port);

/* Adds a problem for each folder that the node does not allow (folder_rule.h), and for each
 * database of `databases` that is a file in one.  Looks at the folders, so it may block. */
void config_ask_folders(const struct config *config, struct problem_list *problems);

/* Whether a file may be read and written as a database, wherever links lead to: its folder is one
 * that the node allows, and has nothing to do with its data folder.  Relative folders start in that
 * of `file`, the configuration.  Looks at them, too. */
bool config_may_use_file(const struct config_node *node, const char *file, const char *path,
                         struct err *err);

/* ---- texts ---- */

/* The text that becomes a version: without its top-level `node:` block, everything
 * else byte by byte as it was.  The same text gives the same result, and a result
 * given again is unchanged.  Fails when the text cannot be read. */
bool config_without_node(struct str text, struct buf *out, struct err *err);

/* Append `value` with ${env:NAME} and ${file:PATH} replaced; ${secret:NAME},
 * secret:NAME and every other ${...} stay as they are.  Relative paths start in
 * the folder of `file`.  One newline at the end of a file is left out.  Reads
 * files, so it may block.  The error names the variable or file, never a value. */
bool config_expand(struct str value, const char *file, struct buf *out, struct err *err);

/* Append `path` as seen from the folder of the configuration file `file`. */
bool config_path(const char *path, const char *file, struct buf *out, struct err *err);

bool config_is_pem(const char *value);

/* "secret:NAME" as a whole value: its NAME, else an empty view. */
struct str config_secret_name(struct str value);

/* ---- references to values outside of the text ---- */

/* A route, a batch or `services` has this very step, with the same content of the files that it
 * names.  `step` is the map of its options in `proposed`, with the name of the step as its key. */
bool config_has_step(const struct config *c, const struct config *proposed,
                     const struct yaml_node *step);

/* An option of a kind of step; `first` is the one that `step: VALUE` is short for. */
struct config_option_place {
    struct str step, option, first;
};

/* A step of a route, a batch or `services` refers to the secret in this option. */
bool config_option_has_secret(const struct config *c, const struct config_option_place *at,
                              struct str name);
/* The value of an option refers to it. */
bool config_names_secret(const struct yaml_node *option, struct str name);

enum config_outside { CONFIG_SECRET, CONFIG_ENV, CONFIG_FILE };

struct config_reference {
    enum config_outside kind;
    struct str name; /* of the secret or variable, or the path as written */
    struct place place;
};

/* Position of a walk; starts zeroed. */
struct config_outside_walk {
    const struct yaml_node *at, *above[YAML_DEPTH];
    size_t depth;
    struct str rest;
    bool done;
};

/* Every secret:NAME, ${secret:NAME}, ${env:NAME} and ${file:PATH} outside of the node
 * section, in the order of the text; false at the end.  Whether the values exist is for the
 * caller to check: the secrets, the environment and the files are those of a node. */
bool config_outside_next(const struct yaml_node *root, struct config_outside_walk *walk,
                         struct config_reference *ret);

/* The node lists the variable or file in `expose`.  Secrets need not be listed. */
bool config_exposes(const struct config_node *node, enum config_outside kind, struct str name);
/* Adds the problem of a reference that is not exposed, with the line that is missing. */
void config_say_hidden(const struct config_reference *r, struct problem_list *problems);
/* Adds a problem for each such reference. */
void config_ask_exposed(const struct config *config, struct problem_list *problems);
