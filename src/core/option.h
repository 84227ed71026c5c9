/* option.h - the keys of a configuration, described as data.
 *
 * One table entry says what a key is called, what it takes, what it is when left
 * out and what it is for.  The checker (config_walk.c), the reference page
 * docs/configuration.md, help texts, the admin API and the console's forms read the
 * same tables, so that they cannot disagree.
 *
 * A table of keys is an array that ends with { 0 }.
 *
 * To add a key: one entry in a table of grammar*.c, and the reference page made
 * anew (see tests/unit/core/test_config_describe.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum option_type {
    OPT_END,

    /* One value. */
    OPT_TEXT,     /* any text; ${env:} ${file:} ${secret:} are kept as written  */
    OPT_SECRET,   /* likewise, and never shown                                  */
    OPT_TEMPLATE, /* likewise, with ${sender}, ${id}, ... filled in per document */
    OPT_PATH,
    OPT_URL,     /* words: the schemes */
    OPT_ADDRESS, /* host:port          */
    OPT_WORD,    /* one of words       */
    OPT_NAME,
    OPT_BOOL,
    OPT_INT,
    OPT_SIZE,
    OPT_DURATION,
    OPT_RATE,
    OPT_TIME,
    OPT_DAYS,
    OPT_DATE,
    OPT_ZONE,
    OPT_CRON,
    OPT_EXPR, /* where to look in a document: expr.h */
    OPT_XML_PATH,
    OPT_POINTER, /* a JSON Pointer */
    OPT_HASH,    /* an argon2id hash of a password      */
    OPT_REGEX,   /* a regular expression, as it stands  */

    /* One name that must be defined elsewhere in the file. */
    OPT_SYSTEM,
    OPT_DOCTYPE,
    OPT_ENDPOINT,
    OPT_CALENDAR,

    /* Something with parts. */
    OPT_MAP,   /* the keys of `keys`                                   */
    OPT_NAMED, /* names chosen by the user, each with a value `each`   */
    OPT_LIST,  /* values `each`                                        */
    OPT_KIND,  /* a map whose key `kind` picks more keys out of `kinds` */
    OPT_STEP,  /* a map of one key, the name of one of `kinds`         */
    OPT_ANY,   /* anything; kept                                       */
};

enum option_flag {
    OPT_REQUIRED = 1,
    OPT_OR_LIST = 2,   /* also a list of such values                         */
    OPT_STAR = 4,      /* also "*" (as a value, or as a name in OPT_NAMED)   */
    OPT_ONE_OF = 8,    /* of the keys with this flag exactly one is given    */
    OPT_RELATIVE = 16, /* OPT_EXPR: paths may start at the part              */
    OPT_OUTGOING = 32, /* OPT_ADDRESS: a port to connect to, so not 0        */
    OPT_FREE = 64,     /* OPT_NAMED: the names are any text (header names)   */
    OPT_ATTRS = 128,   /* OPT_NAMED: the names become attributes             */
    OPT_MORE = 256,    /* OPT_MAP: names of attributes are keys too          */
    OPT_FILLED = 512,  /* OPT_URL: words of templates may stand in it        */
};

struct option {
    const char *name;
    enum option_type type;
    unsigned flags;
    const char *fallback;     /* its text when left out; NULL: nothing */
    const char *help;         /* one line, no full stop                */
    const char *const *words; /* ends with NULL; for a type with parts: words
                               * that may stand in its place           */
    const struct option *keys;
    const struct option *each;
    const struct option_kinds *kinds;
    const char *noun;    /* what one of these is called: "gateway"     */
    int64_t least, most; /* numbers, in bytes or microseconds; most 0: no bound */
};

struct option_kind {
    const char *name, *help;
    const struct option *keys; /* of this kind; in OPT_STEP the first takes a bare value */
    bool ends;                 /* OPT_STEP: nothing follows it */
};

struct option_kinds {
    const struct option *common;     /* keys of every kind; NULL: none */
    const struct option_kind *kinds; /* ends with { 0 } */
};

#define OPTION_WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The key in one table, or NULL. */
const struct option *option_find(const struct option *keys, struct str name);

const struct option_kind *option_kind_find(const struct option_kinds *kinds, struct str name);

/* The key of a kind, common or its own, or NULL. */
const struct option *option_kind_key(const struct option_kinds *kinds,
                                     const struct option_kind *kind, struct str name);

/* "duration", and how one is written: "a whole number and a unit ...". */
const char *option_type_name(enum option_type type);
const char *option_form(enum option_type type);

/* Whether the value may stand in a message; what may hold a secret may not. */
bool option_may_show(enum option_type type);

/* The candidate nearest to `word` as far as one can speak of a slip, else an
 * empty view.  Feed candidates one by one. */
struct option_guess {
    struct str word, best;
    size_t distance;
};

void option_guess_try(struct option_guess *guess, struct str candidate);
