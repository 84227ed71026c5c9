/* known_folder.h - a folder outside of our storage, and whether it is still the same one.
 *
 * A mount point looks like an empty folder while nothing is mounted: files that are written there
 * are hidden by the next mount, and files that should be read seem to be deleted.  So the identity
 * of a folder is noted when it is first seen, durably if there is a port, and a folder with another
 * identity is refused until a person has accepted it.  The folder is opened by its path each time
 * and not kept open, so that it can be unmounted.
 *
 * What identifies a folder
 *   - the type of its file system,
 *   - its inode,
 *   - the id of the file system (f_fsid), on types that keep it: ext2 to ext4, btrfs, zfs, SMB.
 * The device number is kept for people and not compared: NFS, FUSE, btrfs and overlays get another
 * one with each mount, disks with another order of discovery.  FUSE and SMB number inodes anew with
 * each mount, so there the inode is not compared.  On tmpfs and ramfs it is compared only with one
 * seen by this process: after a restart of the machine a folder there is another one anyway.  So
 * two FUSE or two NFS shares in each other's place may look alike; a proof tells them apart: a file
 * on the share that must be there.
 *
 * Whether a folder may be used at all is asked of the port before anything else, again whenever
 * another folder is in its place, and every ALLOWED_FOR_US, because a folder above it may have been
 * moved.
 *
 * First contact.  Nothing tells the folder of an unmounted share from a right one that is seen for
 * the first time, except a proof.  A folder is created only at first contact.
 *
 * Threads: any, after known_folder_init(); calls of the port and of the kernel may block.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct folder_id {
    uint64_t fs;   /* the type of its file system (f_type) */
    uint64_t fsid; /* 0: it has none */
    uint64_t ino, dev;
};

/* Where identities are kept; `part` tells the folders of one connector apart. */
struct folder_port {
    /* *ret_known false: nothing is known of the folder at this path. */
    bool (*recall)(void *arg, const char *part, const char *path, struct folder_id *ret,
                   bool *ret_known, struct err *err);
    /* `mount`: a file system is mounted there. */
    bool (*learn)(void *arg, const char *part, const char *path, const struct folder_id *id,
                  bool mount, struct err *err);
    /* Whether the folder may be used at all (folder_rule.h); `fd` -1: it does not exist yet. */
    bool (*allow)(void *arg, const char *part, const char *path, int fd, struct err *err);
    void *arg;
};

struct known_folder {
    const char *path, *part; /* lent */
    const char *proof;       /* lent; a file that must be there; NULL: none */
    const struct folder_port *port;
    pthread_mutex_t mutex;
    bool met;
    struct folder_id id;      /* as this process saw it first; valid when `met` */
    struct folder_id allowed; /* the folder that may be used, as was asked at allowed_us */
    int64_t allowed_us;       /* monotonic; 0: never */
};

/* err.sys of a folder that is another one, that lacks its proof, or that must not be used. */
enum { KNOWN_FOLDER_STRANGE = 123 };

/* proof and port may be NULL; touches nothing. */
void known_folder_init(struct known_folder *f, const char *path, const char *part,
                       const char *proof, const struct folder_port *port);
/* Opens the folder once.  ERR_CONFIG: the path is not a folder, or one that must not be used (sys
 * KNOWN_FOLDER_STRANGE); ERR_TRANSIENT: the folder cannot be reached, or is another one (sys
 * KNOWN_FOLDER_STRANGE). */
bool known_folder_meet(struct known_folder *f, struct err *err);
/* Errors as of known_folder_meet(). */
bool known_folder_open(struct known_folder *f, int *ret_fd, struct err *err);

/* What stands at the path now; *ret_mount: it is the root of a mount. */
bool known_folder_look(const char *path, struct folder_id *ret, bool *ret_mount, struct err *err);
/* Whether both are the same folder; `restarted`: they may have been seen before and after a restart
 * of the machine. */
bool folder_same(const struct folder_id *a, const struct folder_id *b, bool restarted);
/* "nfs", or a number; for people. */
const char *folder_fs_name(uint64_t fs, char text[static 24]);
