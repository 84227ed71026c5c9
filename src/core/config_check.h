/* config_check.h - the checks of a configuration, for config.c only.
 *
 *     check_services  puts named steps where they are used    (config_services.c)
 *     check_grammar   every key and value against the tables  (config_walk.c)
 *     check_value     one scalar                              (config_value.c)
 *     check_cross     names, references, keys that depend on
 *                     each other                              (config_cross.c)
 *     check_routes    routes that tie                         (config_routes.c)
 *     check_batches   batches, and the routes into them       (config_batches.c)
 *     check_jobs      schedules of jobs                       (config_jobs.c)
 *     check_links     databases and links                     (config_links.c)
 *     check_safety    what is valid and still may hurt        (config_safety.c)
 *
 * The walk collects what the later checks need: references and attributes.
 */
#pragma once

#include "core/config.h"
#include "core/option.h"

/* A value that the walk found, in the order of the file. */
struct check_seen {
    struct yaml_node *node;
    enum option_type type; /* of a reference: what it points to */
    struct str name;
    struct check_seen *next;
};

struct check_list {
    struct check_seen *first, *last;
};

struct check {
    struct problem_list *problems, *warnings;
    const struct config_options *options;
    const char *file;
    struct yaml_node *root;
    struct arena *tree;    /* of the snapshot */
    struct arena *scratch; /* of this check   */
    size_t effort;         /* comparisons so far, where they could be many */
    struct check_list references;
    struct check_list attributes; /* names that extract, search and split define */
    struct check_list unknown;    /* keys of `when` that may be attributes        */
    struct check_list words;      /* words of templates: ${word}                  */
    struct check_list files;      /* that options name                            */
};

/* The sorted names of a section. */
struct check_name {
    struct str text;
    const struct yaml_node *node;
};

struct check_names {
    struct check_name *items;
    size_t count;
};

void check_see(struct check *c, struct check_list *list, struct yaml_node *node,
               enum option_type type, struct str name);

void check_services(struct check *c);
void check_grammar(struct check *c);
void check_cross(struct check *c);
void check_routes(struct check *c);
void check_batches(struct check *c);
void check_subscriptions(struct check *c);
void check_jobs(struct check *c);
void check_links(struct check *c);
/* Keys of a schedule, of whatever map has it. */
void check_schedule(struct check *c, const struct yaml_node *map);
/* ... and whether it has any time; *io_looks bounds the search over all of them.  To be asked of a
 * tree without mistakes. */
struct window_maker;
void check_schedule_comes(struct check *c, struct window_maker *m, const struct yaml_node *map,
                          size_t *io_looks);
/* The value of a key `window`. */
void check_windows(struct check *c, const struct yaml_node *window);
/* Refuses an attribute that stands both directly in `when` and in its `attributes`. */
void check_doubles(struct check *c, const struct yaml_node *when);
void check_safety(struct check *c);
extern const char *const check_batch_words[]; /* attributes of a batch document; NULL ends */

/* Checks one value that is not null; `label` is its name in messages. */
void check_value(struct check *c, struct yaml_node *node, const struct option *option, bool in_node,
                 struct str label);

/* Warns of a valid value that is weak, or a secret that is written out. */
void check_safe_value(struct check *c, const struct yaml_node *node, const struct option *option,
                      bool in_node, struct str label);

/* Refuses `auth: none` unless `host`, where the node listens, is loopback; an empty host is
 * unknown and not checked. */
void check_open_gateways(const struct yaml_node *root, const char *host,
                         struct problem_list *problems);

void check_names_sort(struct check_names *names);
/* Of a section that is a map. */
struct check_names check_names_of(struct check *c, const char *section);
const struct check_name *check_names_find(const struct check_names *names, struct str text);

/* Builds a hint: "did you mean `x`? allowed: a, b, c".  Candidates are added one by one; the text
 * is written to a buffer of the caller. */
struct check_hint {
    struct option_guess guess;
    char names[1024];
    size_t used, left_out;
    bool plan; /* the next candidate is the first planned one */
    bool off;  /* the list of problems is full: the hint is not shown */
};

void check_hint_start(struct check_hint *hint, const struct check *c, struct str word);
void check_hint_add(struct check_hint *hint, struct str candidate);
void check_hint_add_names(struct check_hint *hint, const struct check_names *names);
void check_hint_add_kinds(struct check_hint *hint, const struct connectors *connectors,
                          enum option_role role);
/* Candidates added after this call are planned: "allowed: a, b; planned: c". */
void check_hint_plan(struct check_hint *hint);
/* `lead` is "allowed" or "defined". */
const char *check_hint_text(struct check_hint *hint, const char *lead, char text[static 1400]);

/* The table of another link that goes the other way (config_link_pairs.c); false: there is none. */
struct link_way_back {
    struct str link, table;     /* names */
    struct str peer;            /* where the link is; empty: here */
    const struct yaml_node *of; /* a link that is here, or NULL */
};

bool config_link_back(const struct yaml_node *root, const struct yaml_node *link,
                      const struct yaml_node *table, struct link_way_back *ret);
void check_link_pairs(struct check *c, const struct yaml_node *link);
void check_link_rule(struct check *c, const struct yaml_node *link);

/* Adds the jobs that links are made of (config_link_jobs.c). */
void config_build_link_jobs(struct config *c);
/* How many these are at most; the tree may have any mistake. */
size_t check_link_jobs(const struct yaml_node *root);

/* Lists the folders that the configuration names (config_reach.c). */
void config_build_folders(struct config *c, const struct connectors *all);

/* Lists the files that it names, and copies those that are there (config_files.c). */
void config_build_files(struct config *c, const struct check *check);

/* Gives the jobs that check databases what they name (config_check_jobs.c). */
void config_build_check_jobs(struct config *c);

/* A step takes the place of the routes; places in it count in its own text (config_trial.c). */
void config_put_step(struct yaml_node *root, struct str step, struct arena *a,
                     struct problem_list *problems);

/* ${env:}, ${file:}, ${secret:} or a leading secret: anywhere in the text. */
bool check_has_reference(struct str text);
