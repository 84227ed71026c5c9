/* pickup_run.h - one poll of pickup.h: what its files share.
 *
 *     pickup.c        which files are taken, in which order; files that are not claimed
 *     pickup_walk.c   a folder and its sub folders, entry by entry
 *     pickup_claim.c  work folders: claim, take, and what a crash left in them
 *     pickup_take.c   files become documents, several with one commit
 */
#pragma once

#include "core/deposit.h"
#include "core/pickup/pickup.h"

struct pickup_run;

/* One file to store. */
struct pickup_parcel {
    const char *path;    /* where it is now */
    const char *shown;   /* its path in the folder of the gateway */
    struct str source;   /* identifies it for ever; with the digest it is the key */
    const char *version; /* that it must have; NULL: any */
};

/* A file that was read, and is to be committed together with others. */
struct pickup_held {
    struct deposit *deposit;
    char *path, *shown, *version, *key; /* key: begins with the source */
    size_t source_len;
};

/* The document of the file is stored: what becomes of the file. */
typedef bool pickup_finish(struct pickup_run *r, const struct pickup_parcel *stored,
                           struct err *err);

struct pickup_run {
    struct pickup *p;
    const struct pickup_source *src;
    void *arg; /* of the source */
    const struct deposit_port *port;
    void *deposit; /* of the port */
    int64_t taken;
    bool unripe;    /* a file only has to be seen once more */
    bool crowded;   /* too many files wait to be remembered */
    bool branched;  /* there are too many sub folders */
    int64_t listed; /* entries */

    struct pickup_held held[DEPOSIT_COMMIT_MOST];
    size_t held_count;
    int64_t held_bytes, held_since_us; /* held_since_us: of the first one, monotonic */
    pickup_finish *finish;
};

/* ---- pickup.c ---- */

/* A version of a file, as the ledger knows it. */
void pickup_source_of(char ret[static PICKUP_VERSION + PICKUP_PATH], const char *version,
                      const char *path);
/* Removes a file that was taken where it is, or moves it on.  One that cannot be removed is
 * reported and noted in the ledger. */
bool pickup_drop(const struct pickup_run *r, const char *path, struct str source, struct err *err);

/* ---- pickup_take.c ---- */

bool pickup_is_over(const struct pickup_run *r);
void pickup_complain(const struct pickup_run *r, const char *path, const char *why,
                     const char *hint);

/* A call of the source about one file or sub folder has failed.  True: it is gone, or was reported
 * now; *err is clear again, and the poll goes on. */
bool pickup_go_on(const struct pickup_run *r, const char *path, const char *hint, struct err *err);

/* Whether the file is one to take; else it is reported. */
bool pickup_is_fit(const struct pickup_run *r, const char *path, const struct pickup_entry *e);

/* PATH and the ending of markers; false: no file can have that name. */
bool pickup_marker(const struct pickup_run *r, const char *path, char ret[static PICKUP_PATH]);

/* Into the folder of `after: move`; under another name, made of `source`, when its own is taken. */
bool pickup_move_on(const struct pickup_run *r, const char *path, struct str source,
                    struct err *err);

enum pickup_end {
    PICKUP_READ,    /* read and held, or stored already */
    PICKUP_GONE,    /* somebody else took it, or it was reported now */
    PICKUP_UNFIT,   /* not one to take: put it back */
    PICKUP_CHANGED, /* it changed while it was read: read it again later */
    PICKUP_FAILED   /* nothing can be stored now: err says why */
};

/* Reads one file.  It is held until enough are, for one commit. */
enum pickup_end pickup_read(struct pickup_run *r, const struct pickup_parcel *parcel,
                            struct err *err);
/* After the last file: commits what is held, and finishes what was stored.  `ok` false: a failure
 * is in *err already. */
bool pickup_settle_rest(struct pickup_run *r, bool ok, struct err *err);

/* ---- pickup_walk.c ---- */

/* `path` is not checked: it may only be used when safe_name(e->name) is true. */
typedef bool pickup_found(struct pickup_run *r, const char *path, struct pickup_entry *e, void *arg,
                          struct err *err);

/* Sub folders that were found, each after the one that it is in. */
struct pickup_folders {
    struct pickup_folder {
        char *path;
        int64_t depth;
    } * list;
    size_t count, room;
};

void pickup_folders_add(struct pickup_folders *f, const char *path, int64_t depth);
void pickup_folders_done(struct pickup_folders *f);

/* Calls `found` for everything in a folder that is no folder, and in its sub folders down to
 * `depth`.  It ends early when the poll is over.  `folders` is empty before; NULL: not wanted. */
bool pickup_walk(struct pickup_run *r, const char *folder, int64_t depth, pickup_found *found,
                 void *arg, struct pickup_folders *folders, struct err *err);

/* ---- pickup_claim.c ---- */

/* Takes what a crash or a failure left in work folders. */
bool pickup_take_left(struct pickup_run *r, struct err *err);
/* Claims and takes the files of the queue. */
bool pickup_claim_all(struct pickup_run *r, struct err *err);
