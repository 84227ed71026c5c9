/* exit_code.h - the exit status of the program.
 *
 * Part of the contract with users; the numbers above 2 are those of sysexits.h.
 */
#pragma once

enum exit_code {
    EXIT_DONE = 0,         /* done, or the answer is yes                          */
    EXIT_NO = 1,           /* the answer is no: invalid, differs, lost, not there */
    EXIT_USAGE = 2,        /* the command line is wrong                           */
    EXIT_UNREACHABLE = 69, /* no node answers, or it cannot take this now         */
    EXIT_IO = 74,          /* a file or a pipe failed on our side                 */
    EXIT_DENIED = 77,      /* the node does not allow it                          */
};
