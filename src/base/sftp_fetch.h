/* sftp_fetch.h - what is on an SFTP server: folders, and the files in them, as they are read.
 *
 * A file is read from its beginning to its end, with several requests under way, so that a line
 * with long ways is used.  How it is at its end is asked for together with its last bytes: whoever
 * read it knows whether it changed meanwhile.
 *
 * Errors and waits: as of sftp_client.h.  No request is under way between two calls, except between
 * those that read one file.
 *
 * Bounded: a file that is read holds at most SFTP_FETCH_WINDOW pieces, a folder one answer.
 *
 * Threads: one at a time per connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sftp_client.h"
#include "base/sftp_wire.h"
#include "base/str.h"

enum { SFTP_FETCH_WINDOW = 16, SFTP_FETCH_PIECE = 64 << 10 };

/* follow: of what a link leads to. */
bool sftp_fetch_stat(struct sftp_client *s, struct str path, bool follow, struct sftp_attrs *ret,
                     struct err *err);
/* The path without links and dots, as the server knows it. */
bool sftp_fetch_real(struct sftp_client *s, struct str path, struct buf *ret, struct err *err);

/* ---- folders ---- */

struct sftp_folder {
    char handle[SFTP_HANDLE_MOST];
    size_t handle_len;
    struct buf page; /* names of one answer ... */
    struct str rest; /* ... those that are left of them */
    uint32_t left;
    bool end;
};

bool sftp_folder_open(struct sftp_client *s, struct str path, struct sftp_folder *ret,
                      struct err *err);
/* The name has any bytes, `.` and `..` are among them; it is lent until the next call. */
bool sftp_folder_next(struct sftp_client *s, struct sftp_folder *f, struct str *ret_name,
                      struct sftp_attrs *ret_attrs, bool *ret_end, struct err *err);
void sftp_folder_close(struct sftp_client *s, struct sftp_folder *f);

/* ---- files ---- */

/* One request for a piece of the file. */
struct sftp_piece {
    uint32_t id; /* 0: it is answered */
    uint64_t offset;
    uint32_t len;
    bool end;         /* the answer: there is nothing at this place ... */
    struct err error; /* ... or it is refused ... */
    struct buf bytes; /* ... or these bytes, of which some are given already */
    size_t given;
};

struct sftp_fetch {
    struct sftp_attrs attrs; /* of the file when it was opened */
    struct sftp_attrs after; /* when all of it was read */
    /* It has all been read, and its size was always the one that it had when it was opened. */
    bool whole;

    /* The file's own. */
    char handle[SFTP_HANDLE_MOST];
    size_t handle_len;
    struct sftp_piece pieces[SFTP_FETCH_WINDOW]; /* a ring, in the order of their offsets */
    unsigned first, count;
    uint64_t asked;       /* up to where */
    uint32_t stat, close; /* ids of requests under way; 0: none is */
    bool odd;             /* another size than it had */
    bool at_end, ended;
    struct err failed; /* why `after` is not known */
};

bool sftp_fetch_open(struct sftp_client *s, struct str path, struct sftp_fetch *ret,
                     struct err *err);
/* Some of the bytes that follow; *ret_len 0: the end.  Its length is then compared: `whole`. */
bool sftp_fetch_read(struct sftp_client *s, struct sftp_fetch *f, char *to, size_t room,
                     size_t *ret_len, struct err *err);
void sftp_fetch_close(struct sftp_client *s,
                      struct sftp_fetch *f); /* after any open that succeeded */
