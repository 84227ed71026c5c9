/* args.h - parses the command line by tables.
 *
 * A form is one usage line of a verb ("docs ls [filters]"): its options, how many
 * operands it takes, and the function that runs it.  args_parse() sorts the words
 * into options and operands; errors are printed on stderr with the usage line.
 *
 * Long options are `--name VALUE` or `--name=VALUE`; an option whose name is one
 * letter is `-o VALUE`.  `--` ends the options, `-` is an operand.  Options and
 * operands may be mixed.  A value that starts with `--` needs the form with `=`:
 * otherwise the value of the option before counts as missing.
 *
 * Ownership: struct args lends the words of argv and the tables; it owns nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum arg_kind {
    ARG_FLAG,
    ARG_TEXT,
    ARG_LIST,   /* text, may be repeated              */
    ARG_NUMBER, /* 1 .. ARGS_NUMBER_MAX               */
    ARG_TIME,   /* a point in time, see when.h        */
};

struct arg_option {
    const char *name; /* without dashes; NULL ends a table */
    enum arg_kind kind;
    const char *value; /* placeholder of the value, as in "--limit N" */
    const char *help;
};

struct args;

enum {
    FORM_NODE = 1, /* takes --url, --token, --timeout */
    FORM_JSON = 2, /* takes --json                    */
};

struct arg_form {
    const char *word;    /* "ls"; NULL: the verb has this form only */
    const char *usage;   /* operands and options, for the usage line */
    const char *summary; /* NULL ends a table                       */
    unsigned least, most;
    const struct arg_option *options; /* NULL: none of its own */
    unsigned common;                  /* FORM_ bits            */
    int (*run)(const struct args *args);
};

enum { ARGS_OPTIONS = 64, ARGS_OPERANDS = 1000, ARGS_NUMBER_MAX = 1000000 };

struct arg_given {
    const struct arg_option *option;
    const char *value; /* NULL for a flag */
    int64_t number;    /* ARG_NUMBER: the number; ARG_TIME: microseconds UTC */
};

struct args {
    const char *verb;
    const struct arg_form *form;
    struct arg_given given[ARGS_OPTIONS];
    const char *operand[ARGS_OPERANDS + 1]; /* the first unused one is NULL */
    size_t given_count, operand_count;
};

enum args_result { ARGS_READY, ARGS_HELP, ARGS_WRONG };

/* Parses the words after the verb (and after the form's word).  Before ARGS_WRONG is returned,
 * the error is printed on stderr. */
enum args_result args_parse(const char *verb, const struct arg_form *form, size_t count,
                            char **words, struct args *ret);

/* The name must be an option of the form: anything else is a bug and fails an assertion. */
const char *args_text(const struct args *a, const char *name); /* NULL: not given */
bool args_flag(const struct args *a, const char *name);
int64_t args_number(const struct args *a, const char *name, int64_t otherwise);
/* The n-th value of a repeated option; NULL after the last one. */
const char *args_list_at(const struct args *a, const char *name, size_t n);

/* Prints an error with the usage line on stderr; returns EXIT_USAGE. */
int args_wrong(const struct args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads an operand as a version number; false: it is none, and the error is printed. */
bool args_version(const struct args *a, size_t operand, int64_t *ret);

/* Checks that an operand can be the name of an object of a node: at most 255 bytes; false: the
 * error is printed. */
bool args_name(const struct args *a, size_t operand);

/* Prints the options of a form, or the common ones of these FORM_ bits, one line each. */
void args_print_options(FILE *to, const struct arg_option *options);
void args_print_common(FILE *to, unsigned common);

/* Prints a line such as "waybill docs ls [filters]". */
void args_print_usage(FILE *to, const char *verb, const struct arg_form *form);
