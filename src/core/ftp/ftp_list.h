/* ftp_list.h - what a line of an FTP server's listing says.
 *
 *     MLSD      type=file;size=12;modify=20261118105902; name     RFC 3659: exact, in UTC
 *     LIST      -rw-r--r--   1 ftp  ftp    12 Nov 18 10:59 name   Unix servers, in the form of ls
 *     LIST      11-18-26  10:59AM                    12 name      Windows servers
 *
 * The text of LIST is made for people: its times are those of the server's own clock and zone, to
 * the minute at best, and say no year when they are recent.  They are good to sort by, not to tell
 * one version of a file from another.
 *
 * A name is whatever follows the one blank after the facts, with blanks at its beginning and end.
 * It may hold any byte but `/`, NUL, CR and LF; it is neither empty nor `.` or `..`.  A name with a
 * line break in it comes as two lines, of which the second is somebody's invention: an entry says
 * that a file of that name may be there, not that it is.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { FTP_LIST_LINE_MOST = 2048 }; /* a longer one is no entry */

enum ftp_list_kind { FTP_LIST_FILE, FTP_LIST_FOLDER, FTP_LIST_LINK, FTP_LIST_OTHER };

struct ftp_list_entry {
    struct str name; /* lent: part of the line */
    enum ftp_list_kind kind;
    int64_t size;   /* -1: not told */
    int64_t time_s; /* since 1970; 0: not told */
};

enum ftp_list_line {
    FTP_LIST_ENTRY,
    FTP_LIST_NONE,  /* nothing to know: "total 12", the folder itself */
    FTP_LIST_UNREAD /* not understood */
};

/* `line` is without its line break; a CR at its end is left out. */
enum ftp_list_line ftp_list_facts(struct str line, struct ftp_list_entry *ret); /* MLSD */
/* now_s: of the wall clock, for times without a year: they lie at most a day ahead of it. */
enum ftp_list_line ftp_list_text(struct str line, int64_t now_s, struct ftp_list_entry *ret);

/* YYYYMMDDHHMMSS[.FRACTION], as MDTM and MLSD tell it; the fraction is left out. */
bool ftp_list_time(struct str text, int64_t *ret_s);
