/* option.h - the keys of a configuration, described as data.
 *
 * One table entry gives the name of a key, the type of its value, its default and
 * its purpose.  The checker (config_walk.c), the reference page
 * docs/configuration.md, help texts, the admin API and the console's forms read the
 * same tables, so that they cannot disagree.
 *
 * A table of keys is an array that ends with { 0 }.  Keys that several tables share are in a
 * table of their own, a group, which OPTIONS(group) includes.
 *
 * To add a key: add one entry to the table of its connector, or to one of grammar*.c, and generate
 * the reference page again (see tests/unit/core/test_config_describe.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct problem_list;
struct yaml_node;

enum option_type {
    OPT_END,

    /* One value. */
    OPT_TEXT,     /* any text; ${env:} ${file:} ${secret:} are kept as written  */
    OPT_SECRET,   /* likewise, and never shown                                  */
    OPT_TEMPLATE, /* likewise, with ${sender}, ${id}, ... filled in per document */
    OPT_PATH,
    OPT_FILE,    /* a file beside the configuration, whose content belongs to the version */
    OPT_URL,     /* words: the schemes */
    OPT_ADDRESS, /* host:port          */
    OPT_NETWORK, /* an address or a range of them */
    OPT_WORD,    /* one of words       */
    OPT_NAME,
    OPT_BOOL,
    OPT_INT,
    OPT_SIZE,
    OPT_DURATION,
    OPT_RATE,
    OPT_SHARE, /* a part of a whole, in percent */
    OPT_TIME,
    OPT_DAYS,
    OPT_DATE,
    OPT_ZONE,
    OPT_CRON,
    OPT_AT,      /* a schedule, or a time of day */
    OPT_INSTANT, /* a point in time */
    OPT_EXPR,    /* where a value is in a document: expr.h */
    OPT_XML_PATH,
    OPT_POINTER, /* a JSON Pointer */
    OPT_HASH,    /* an argon2id hash of a password      */
    OPT_REGEX,   /* a regular expression, as it stands  */

    /* One name that must be defined elsewhere in the file. */
    OPT_SYSTEM,
    OPT_DOCTYPE,
    OPT_ENDPOINT,
    OPT_GATEWAY,
    OPT_CALENDAR,
    OPT_SUBSCRIPTION,
    OPT_DATABASE,

    /* A map or a list. */
    OPT_MAP,   /* the keys of `keys`                                   */
    OPT_NAMED, /* names chosen by the user, each with a value `each`   */
    OPT_LIST,  /* values `each`                                        */
    OPT_KIND,  /* a map whose key `kind` names a kind of `role`        */
    OPT_STEP,  /* a map of one key, the name of a kind of `role`       */
    OPT_ANY,   /* anything; kept                                       */

    OPT_GROUP, /* no key: includes the keys of `keys`, see OPTIONS() */
};

enum option_flag {
    OPT_REQUIRED = 1,
    OPT_OR_LIST = 2,    /* also a list of such values                         */
    OPT_STAR = 4,       /* also "*" (as a value, or as a name in OPT_NAMED)   */
    OPT_ONE_OF = 8,     /* of the keys with this flag exactly one is given    */
    OPT_RELATIVE = 16,  /* OPT_EXPR: paths may be relative to a part          */
    OPT_OUTGOING = 32,  /* OPT_ADDRESS: a port to connect to, so not 0        */
    OPT_FREE = 64,      /* OPT_NAMED: the names are any text (header names)   */
    OPT_ATTRS = 128,    /* OPT_NAMED: the names become attributes             */
    OPT_MORE = 256,     /* OPT_MAP: names of attributes are keys too          */
    OPT_FILLED = 512,   /* OPT_URL: words of templates may stand in it        */
    OPT_PLANNED = 1024, /* checked and kept; this build does not run it      */
    OPT_FOLDER = 2048   /* OPT_PATH: a folder of this machine, see config_ask_folders() */
};

/* What has kinds (core/connector.h lists them). */
enum option_role { ROLE_NONE, ROLE_GATEWAY, ROLE_ENDPOINT, ROLE_SERVICE, ROLE_JOB, ROLE_DATABASE };

struct option {
    const char *name;
    enum option_type type;
    unsigned flags;
    const char *fallback;       /* the default, as text; NULL: none      */
    const char *help;           /* one line, no full stop                */
    const char *const *words;   /* ends with NULL; for a map or list: words
                                 * that may replace it                   */
    const char *const *planned; /* those of `words` that are not run yet */
    const struct option *keys;
    const struct option *each;
    enum option_role role;
    const char *noun;    /* what messages call an entry: "gateway"     */
    int64_t least, most; /* numbers, in bytes or microseconds; most 0: no bound */
};

struct option_kind {
    const char *name;          /* as written in a configuration: kind: http */
    const char *help;          /* one line, no full stop */
    const struct option *keys; /* of this kind; in OPT_STEP a bare value is the first key */
    /* Checks what tables cannot express; may be NULL.  The map may have any mistake that is in
     * `problems` already. */
    void (*check)(const struct yaml_node *map, struct problem_list *problems);
    const char *example; /* as it stands in a configuration, for help; NULL: none */
    bool ends;           /* OPT_STEP: nothing follows it */
    bool planned;        /* checked and kept; this build does not run it */
    bool linked;         /* of jobs that links are made of: nobody writes one */
    bool groups;         /* of databases: whose change is of which transaction is known */
};

#define OPTION_WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* In a table: a key with the members that every key has; others follow by name, as in
 *     OPTION("every", OPT_DURATION, "how long from one look to the next", .fallback = "10s") */
#define OPTION(word, kind, sentence, ...)                               \
    {                                                                   \
        .name = (word), .type = (kind), .help = (sentence), __VA_ARGS__ \
    }

/* In a table: includes the keys of a group.  A group includes no other group. */
#define OPTIONS(group)                      \
    {                                       \
        .type = OPT_GROUP, .keys = (group), \
    }

/* Iterates over the keys of a table and of the groups that it includes, in order:
 *
 *     for (struct option_walk w = { keys }; (o = option_next(&w)) != NULL;)
 *
 * A table that is NULL has no keys. */
struct option_walk {
    const struct option *at, *back;
};

const struct option *option_next(struct option_walk *walk);

/* The key of that name in a table, or NULL. */
const struct option *option_find(const struct option *keys, struct str name);

/* `word` is a value of the key that this build does not run yet. */
bool option_word_is_planned(const struct option *option, struct str word);

/* The name of a type ("duration"), and its notation ("a whole number and a unit ..."). */
const char *option_type_name(enum option_type type);
const char *option_form(enum option_type type);

/* A value of the type may be shown in a message: it cannot hold a secret. */
bool option_may_show(enum option_type type);

/* Finds the candidate nearest to `word`; candidates are added one by one.  `best` is empty unless
 * one is close enough to be a typing error. */
struct option_guess {
    struct str word, best;
    size_t distance;
};

void option_guess_try(struct option_guess *guess, struct str candidate);
