/* cage_main.h - the program, executed again for a cage. */
#pragma once

#include "core/connector.h"

/* True: these are the arguments of such a process.  The words are no verb of the command line. */
bool cage_main_is(int argc, char **argv);
/* Runs it and returns its exit status.  Call it before anything else, so that it starts fast and
 * holds nothing that it does not need. */
int cage_main(int argc, char **argv, const struct connectors *connectors);
