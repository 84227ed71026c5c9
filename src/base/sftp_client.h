/* sftp_client.h - files on an SFTP server, over an SSH connection (base/ssh_link.h).
 *
 * Each function waits for the answer of the server, as long as sftp_client_set_pace() allows.  Two
 * kinds of failure are told apart, because they mean different things:
 *
 *   the server refuses     it has answered; the connection goes on.  err->sys is ENOENT, EACCES,
 *                          ENOTSUP or, for everything else, EREMOTEIO
 *   the connection is lost sftp_client_is_lost(); whether the last request had its effect is not
 * known
 *
 * Writes are under way several at a time; their answers are read by sftp_client_finish() at the
 * latest.
 *
 * Threads: one at a time per connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sftp_wire.h"
#include "base/ssh_link.h"
#include "base/str.h"

struct egress;
struct sftp_client;

/* How long the requests that follow may take. */
struct sftp_client_pace {
    int64_t until_us;                /* all of them together; monotonic, 0: each by itself ... */
    int64_t silence_us;              /* ... and then this is how long the server may be silent */
    bool (*is_over)(const void *of); /* nobody waits any more; NULL: never ... */
    void (*alive)(void *of);         /* ... and an answer has come; NULL: nobody is told */
    void *of;
};

bool sftp_client_open(const struct ssh_login *login, const struct egress *egress,
                      const struct sftp_client_pace *pace, struct sftp_client **ret,
                      struct err *err);
void sftp_client_close(struct sftp_client *s);              /* waits for nothing */
bool sftp_client_is_open(struct sftp_client *s);            /* one look, without waiting */
const char *sftp_client_print(const struct sftp_client *s); /* ssh_link_print() */
void sftp_client_set_pace(struct sftp_client *s, const struct sftp_client_pace *pace);
bool sftp_client_is_lost(const struct sftp_client *s);
bool sftp_client_has(const struct sftp_client *s, enum sftp_extension what);

enum sftp_found { SFTP_MISSING, SFTP_A_FILE, SFTP_OTHER }; /* OTHER: a folder, a link, ... */

/* What is there, without following a link. */
bool sftp_client_look(struct sftp_client *s, struct str path, enum sftp_found *ret,
                      uint64_t *ret_size, struct err *err);
bool sftp_client_remove(struct sftp_client *s, struct str path, struct err *err);
bool sftp_client_mkdir(struct sftp_client *s, struct str path, struct err *err);
bool sftp_client_rmdir(struct sftp_client *s, struct str path, struct err *err);
/* Refused if `to` is there, by servers that keep to the protocol. */
bool sftp_client_rename(struct sftp_client *s, struct str from, struct str to, struct err *err);
/* In place of what is there, at once; only with SFTP_POSIX_RENAME. */
bool sftp_client_rename_over(struct sftp_client *s, struct str from, struct str to,
                             struct err *err);

struct sftp_client_file {
    char handle[SFTP_HANDLE_MOST];
    size_t handle_len;
    uint64_t offset;
    unsigned pending;    /* requests without an answer yet */
    uint32_t first, end; /* the ids of the requests since the file was opened */
    uint32_t sync;       /* the id of the one that syncs; 0: none */
    struct err refused;  /* the first refusal of them */
};

/* For writing: made when it is missing, kept as it is when it is there. */
bool sftp_client_create(struct sftp_client *s, struct str path, struct sftp_client_file *ret,
                        struct err *err);
bool sftp_client_read_begin(struct sftp_client *s, struct str path, struct sftp_client_file *ret,
                            struct err *err);
/* The bytes that follow, lent until the next call; empty at the end. */
bool sftp_client_read(struct sftp_client *s, struct sftp_client_file *f, struct str *ret,
                      struct err *err);
bool sftp_client_write(struct sftp_client *s, struct sftp_client_file *f, struct str bytes,
                       struct err *err);
/* Everything that was written is on the server's disk, if it can do that, and the file is closed.
 * cut: a file that was longer is cut to what was written. */
bool sftp_client_finish(struct sftp_client *s, struct sftp_client_file *f, bool cut,
                        struct err *err);
/* Closes it, whatever was written. */
void sftp_client_leave(struct sftp_client *s, struct sftp_client_file *f);
