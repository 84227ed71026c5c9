/* verb.h - a verb of the command line, as data.
 *
 * The verb's table feeds the parser, `waybill help`, `--help` and docs/cli.md.
 * A verb has one or more forms (`docs ls`, `docs show`).  A verb with a `run` of
 * its own parses its words itself; its forms are then only for the help.
 */
#pragma once

#include <stdio.h>

#include "app/args.h"

struct verb {
    const char *name;
    const char *summary; /* one line, for `waybill help`             */
    const char *about;   /* a few lines; each ends with '\n'         */
    const char *example; /* commands, one per line, each with '\n'   */
    const struct arg_form *forms;
    int (*run)(int argc, char **argv); /* argv[0] is the verb's name */
};

/* argv[0] is the verb's name; the result is the exit status. */
int verb_run(const struct verb *v, int argc, char **argv);

void verb_help(const struct verb *v, FILE *to);
