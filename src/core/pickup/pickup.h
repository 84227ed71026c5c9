/* pickup.h - takes files from a folder, on this machine or on a server.
 *
 *     FOLDER/NAME  ──►  FOLDER/.waybill/CLAIM/NAME  ──►  stored  ──►  removed, or moved on
 *
 * A gateway gives a source, which knows how to list, read and remove files; what is taken, when,
 * and what becomes of it afterwards is decided here, the same for every source.
 *
 * With `after: delete` or `move` a file is claimed first: renamed into a work folder with a random
 * name and synced.  It is removed only after its document is stored.  Files that a crash leaves in
 * a work folder are stored again by the next poll, under the same key (work folder, path and
 * digest): so one claimed file is one document, and another file of the same name and content is
 * another.  Two polls of one folder are harmless: rename lets one of them claim a file, and both
 * give a work folder the same keys.
 *
 * With `after: keep` files stay as they are; the ledger knows those taken by path and version.  The
 * same is done with `after: delete` and `move` when the source cannot claim: the file is removed
 * after it is stored, and one that cannot be removed is noted in the ledger.  If files can be
 * claimed later, those that are noted are removed then.
 *
 * A poll lists the folder, keeps the oldest files that are ripe, and takes those, oldest first.
 * Small files that were read are held for a moment and stored together, with one commit.
 *
 * Bounded: a poll takes at most DEPOSIT_LOOK_MOST files, and memory does not grow with the folder
 * (PICKUP_QUEUE_MOST, SIGHTINGS_MOST, PICKUP_FOLDERS_MOST).
 *
 * Threads: one poll at a time; calls of the source and of the port may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/folder_rule.h"
#include "base/safe_path.h"
#include "base/str.h"
#include "core/pickup/pickup_queue.h"
#include "core/pickup/sighting.h"

struct deposit_port;
struct settings;

enum {
    PICKUP_VERSION = 128,       /* room for the text of a version */
    PICKUP_FOLDERS_MOST = 4096, /* sub folders of one poll */
    /* A path, also of a claimed file: FOLDER_WORK/CLAIM/PATH. */
    PICKUP_PATH = SAFE_PATH_MOST + 64
};

/* ---- the source: implemented by a gateway ---- */

enum pickup_kind { PICKUP_FILE, PICKUP_FOLDER, PICKUP_OTHER };

/* What is known of a file or a folder. */
struct pickup_entry {
    /* Of list entries: any bytes, lent until the next call.  In a source with `opaque` the path
     * below the folder that is listed. */
    struct str name;
    enum pickup_kind kind;
    bool bare; /* of list entries that are no folders: only the name is known, stat() knows more.
                * Only for a source whose names never contain a `/` */
    int64_t size;
    int64_t time_ns; /* of the last change; 0: not known */
    /* Another text whenever the file is another one or has another content: inode, size and time,
     * or an ETag with a time.  It is part of keys and of the ledger, so its form never changes. */
    char version[PICKUP_VERSION];
    struct str ctype; /* of open(): its media type, lent until close(); empty: not known */
    const char *refused, *hint; /* why it can never be taken, and what to do; NULL: it can */
};

/* Paths are relative to the folder of the gateway, have passed safe_path() unless the source is
 * `opaque`, and "" is the folder itself.
 *
 * stat() and open() get the version that was listed in ret->version, or "", and set it anew: a
 * source that is told a version less exactly there than in a list compares for itself.
 *
 * Errors.  sys ENOENT: it is not there (any more), the poll goes on.  sys EEXIST of rename() and
 * move(): the name is taken.  ERR_PERMANENT: this one file or sub folder cannot be handled; it is
 * reported, and the poll goes on.  Any other error ends the poll. */
struct pickup_source {
    bool claims; /* files can be renamed into FOLDER_WORK, which exists unless `after` is keep */
    /* With claims: some files may have been taken when they could not be claimed, and are in the
     * ledger.  They are removed, not taken again. */
    bool noted;
    bool coarse; /* times are whole seconds: a second write may leave the version as it is */
    /* Names are keys of objects, never those of a file system: a `..` or an empty part in them
     * means nothing.  Nothing is claimed; a listing is flat, down to pickup.depth.  The source says
     * of a name that it cannot handle that it is refused. */
    bool opaque;

    /* One listing is open at a time.  It may grow and shrink while it is read. */
    bool (*list)(void *arg, const char *folder, void **ret_list, struct err *err);
    bool (*next)(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err);
    void (*end)(void *list);

    bool (*stat)(void *arg, const char *path, struct pickup_entry *ret, struct err *err);
    /* *ret_file NULL: ret->refused says why it cannot be read. */
    bool (*open)(void *arg, const char *path, struct pickup_entry *ret, void **ret_file,
                 struct err *err);
    /* 0: the end.  ERR_PERMANENT with sys EACCES: it may not be read, and is put back. */
    bool (*read)(void *file, char *to, size_t room, size_t *ret_len, struct err *err);
    /* Whether the open file still has this version, after it was read. */
    bool (*same)(void *file, const char *version, bool *ret, struct err *err);
    void (*close)(void *file);

    bool (*remove)(void *arg, const char *path, struct err *err);
    /* Into the folder of `after: move`, under another name, never over an existing file. */
    bool (*move)(void *arg, const char *path, const char *name, struct err *err);

    /* For claims; may be NULL without them. */
    bool (*rename)(void *arg, const char *from, const char *to, struct err *err); /* never over */
    bool (*make_folder)(void *arg, const char *path, struct err *err); /* an existing one is fine */
    void (*remove_folder)(void *arg, const char *path);                /* if it is empty */
    bool (*sync)(void *arg, const char *folder, struct err *err);      /* its names; may be NULL */
};

/* ---- the rules of one gateway ---- */

enum pickup_after { PICKUP_KEEP, PICKUP_DELETE, PICKUP_MOVE };

struct pickup_known;

struct pickup {
    const char *title; /* of the folder, for people; set by the gateway, lent */
    enum pickup_after after;
    const struct str *match; /* lent by the settings */
    size_t match_count;
    struct str marker; /* empty: none */
    int64_t every_us, min_age_us;
    int64_t depth; /* of sub folders; 0: none is looked into */

    struct sightings sightings;
    struct pickup_queue queue;  /* listed and not taken yet */
    struct pickup_known *known; /* cache of files that the ledger knows */
    int64_t known_since_us;
    bool rested; /* the last poll left no file behind that is to be taken */
};

/* Reads grammar_every and grammar_files.  The folder of `after: move` is the gateway's to read. */
bool pickup_init(struct pickup *p, const struct settings *s, struct err *err);
void pickup_done(struct pickup *p); /* safe on a zeroed one, and twice */

/* One poll. */
bool pickup_look(struct pickup *p, const struct pickup_source *src, void *arg,
                 const struct deposit_port *port, void *deposit, int64_t *ret_taken,
                 struct err *err);
