/* cmd_check.h - `waybill check FILE`: is this configuration valid? */
#pragma once

/* argv[0] is the verb.  Prints every problem with its place on stdout and gives
 * the exit code: 0 valid, 1 invalid, 2 usage, 74 the file cannot be read. */
int cmd_check(int argc, char **argv);
