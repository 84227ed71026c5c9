/* sftp_wire.h - the packets of SFTP version 3 (draft-ietf-secsh-filexfer-02), as bytes.
 *
 * A request is appended to a buf as a whole packet: its length, its type, its id, its fields.  An
 * answer is read from the bytes behind its length; they come from outside, and every field is
 * checked against their end.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    SFTP_VERSION = 3,
    SFTP_LENGTH = 4,              /* bytes of the length before a packet */
    SFTP_ANSWER_MOST = 256 << 10, /* the longest answer that is read ... */
    SFTP_HEAD_MOST = 1 << 10,     /* ... and what may stand around the data of one */
    SFTP_HANDLE_MOST = 256,
};

enum sftp_status {
    SFTP_OK = 0,
    SFTP_EOF = 1,
    SFTP_NO_SUCH_FILE = 2,
    SFTP_PERMISSION_DENIED = 3,
    SFTP_FAILURE = 4, /* anything: the name is taken, the disk is full */
    SFTP_BAD_MESSAGE = 5,
    SFTP_NO_CONNECTION = 6,
    SFTP_CONNECTION_LOST = 7,
    SFTP_UNSUPPORTED = 8,
};

/* Flags of sftp_put_open(). */
enum { SFTP_READ = 1, SFTP_WRITE = 2, SFTP_CREATE = 8 };

/* Extensions of OpenSSH that others have too. */
enum sftp_extension { SFTP_POSIX_RENAME = 1, SFTP_FSYNC = 2, SFTP_LIMITS = 4 };

void sftp_put_init(struct buf *b);
void sftp_put_open(struct buf *b, uint32_t id, struct str path, uint32_t flags);
void sftp_put_close(struct buf *b, uint32_t id, struct str handle);
void sftp_put_read(struct buf *b, uint32_t id, struct str handle, uint64_t offset, uint32_t len);
void sftp_put_write(struct buf *b, uint32_t id, struct str handle, uint64_t offset,
                    struct str bytes);
void sftp_put_lstat(struct buf *b, uint32_t id, struct str path);
void sftp_put_stat(struct buf *b, uint32_t id, struct str path); /* follows a link */
void sftp_put_fstat(struct buf *b, uint32_t id, struct str handle);
void sftp_put_opendir(struct buf *b, uint32_t id, struct str path);
void sftp_put_readdir(struct buf *b, uint32_t id, struct str handle);
void sftp_put_realpath(struct buf *b, uint32_t id, struct str path);
void sftp_put_cut(struct buf *b, uint32_t id, struct str handle, uint64_t size); /* to this size */
void sftp_put_remove(struct buf *b, uint32_t id, struct str path);
void sftp_put_mkdir(struct buf *b, uint32_t id, struct str path);
void sftp_put_rmdir(struct buf *b, uint32_t id, struct str path);
void sftp_put_rename(struct buf *b, uint32_t id, struct str from, struct str to);
void sftp_put_posix_rename(struct buf *b, uint32_t id, struct str from, struct str to);
void sftp_put_fsync(struct buf *b, uint32_t id, struct str handle);
void sftp_put_limits(struct buf *b, uint32_t id);

enum sftp_kind {
    SFTP_A_STATUS = 101,
    SFTP_A_HANDLE = 102,
    SFTP_A_DATA = 103,
    SFTP_A_NAME = 104,
    SFTP_ATTRS = 105,
    SFTP_EXTENDED_REPLY = 201,
};

/* What is known of a file; what the server does not say is 0. */
struct sftp_attrs {
    bool has_size, has_mode, has_times;
    uint64_t size;
    uint32_t mode;  /* as of stat() */
    uint32_t mtime; /* seconds since 1970 */
};

/* One answer; the texts point into its bytes. */
struct sftp_answer {
    enum sftp_kind kind;
    uint32_t id;
    uint32_t status;    /* SFTP_A_STATUS (sftp_status, or a number that we do not know) ... */
    struct str message; /* ... and the server's words; may be empty */
    struct str data; /* the handle, the data, the fields of an extended reply, or the names ... */
    uint32_t count;  /* ... so many: SFTP_A_NAME */
    struct sftp_attrs attrs;
};

/* The length of a packet, from its first SFTP_LENGTH bytes.  ERR_TRANSIENT: too long, or empty. */
bool sftp_read_length(const uint8_t head[static SFTP_LENGTH], size_t *ret, struct err *err);
/* ERR_TRANSIENT: not an answer that makes sense. */
bool sftp_read_answer(struct str packet, struct sftp_answer *ret, struct err *err);
/* The next of `count` names in the data of SFTP_A_NAME, which gets shorter.  A name has any bytes.
 * ERR_TRANSIENT: there is none. */
bool sftp_take_name(struct str *io_data, struct str *ret_name, struct sftp_attrs *ret_attrs,
                    struct err *err);
/* The first packet of a server; *ret_extensions: bits of sftp_extension. */
bool sftp_read_version(struct str packet, unsigned *ret_extensions, struct err *err);
/* The answer to sftp_put_limits(): the longest data of a read and of a write; 0: no limit is said.
 */
bool sftp_read_limits(struct str data, uint64_t *ret_read, uint64_t *ret_write);
