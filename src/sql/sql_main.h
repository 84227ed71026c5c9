/* sql_main.h - the program, executed again for a connection to a database.
 *
 * It has sockets, and of files what drivers and the resolver read; for SQLite the folder of the
 * database, where it may write.  It executes nothing, and its memory is limited.  TCP goes to the
 * port of the server alone, where the kernel can tell (Landlock, ABI 4).
 */
#pragma once

#include <stdbool.h>

/* True: these are the arguments of such a process.  The words are no verb of the command line. */
bool sql_main_is(int argc, char **argv);
/* Runs it and returns its exit status. */
int sql_main(void);
