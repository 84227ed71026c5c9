/* quiet_input.h - reads what nobody else should see: the value of a secret, a password.
 *
 * From a file, from stdin, or from the terminal without echo; never from the command line, where
 * everybody on the machine could see it.  One line end behind it is left out.
 */
#pragma once

#include <stddef.h>

enum { QUIET_INPUT_MOST = 64 << 10 };

struct quiet_input {
    char bytes[QUIET_INPUT_MOST + 3]; /* one byte over the limit, and the line end */
    size_t len;
};

void quiet_input_done(struct quiet_input *v); /* wipes it */

/* path NULL: stdin, or a terminal, where `what` and `name` are the prompt; "-": stdin.  Returns the
 * exit status, after telling what is wrong. */
int quiet_input_read(const char *path, const char *what, const char *name, struct quiet_input *ret);
