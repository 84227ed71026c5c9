/* folder_rule.h - whether a folder may be used, and for what.
 *
 * A configuration names folders of the machine: gateways take files from them and remove them,
 * endpoints write, the archive and backups are kept in them.  Whoever may change a configuration
 * must not reach the store or the rest of the machine that way.  One function decides,
 * folder_may_use(); it is asked when a configuration is checked, and again when a folder is opened,
 * because another folder may be in its place by then.
 *
 * The rule, each by device and inode (folder_spot.h):
 *   (1) the folder is one of the roots, or lies in one;
 *   (2) it is not the data folder of the node, nor contains it or lies in it;
 *   (3) it does not contain the configuration file of the node;
 *   (4) it is not, contains or lies in what belongs to another user of folders: the archive, the
 *       backups of a job, the work folder of a gateway (WORK in it), the folder that a gateway
 * moves files to.  Several gateways may move files to one folder, and several backups may lie in
 *       one.
 *
 * The folders of the others are compared as they were seen last, by the check or when they were
 * opened: looking at them here could hang, when they are on a share whose server is away.
 *
 * Threads: any; calls of the kernel may block.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/folder_spot.h"

/* In each folder from which a gateway takes files. */
#define FOLDER_WORK ".waybill"

enum folder_purpose {
    FOLDER_READ,    /* a gateway reads files and leaves them there */
    FOLDER_TAKE,    /* a gateway takes files out of it, by way of FOLDER_WORK */
    FOLDER_MOVE,    /* a gateway puts files there that it has taken */
    FOLDER_WRITE,   /* an endpoint writes files */
    FOLDER_ARCHIVE, /* what is purged is copied there before */
    FOLDER_BACKUP   /* a backup is written to it, or read from it; a job has its backups in it */
};

/* What was seen of a folder. */
struct folder_seen {
    struct folder_spot spot, work; /* work: of FOLDER_TAKE */
};

struct folder_use {
    enum folder_purpose purpose;
    const char *owner;        /* "gateway orders"; "" : nobody's */
    const char *part;         /* the key that names the folder, such as "path" */
    const char *path;         /* as it is opened; NULL: not known before */
    struct folder_seen *seen; /* last; NULL: not yet.  Guarded by the mutex of the rule */
};

struct folder_rule {
    const char *data;         /* the data folder; NULL: none */
    const char *home;         /* the folder of the configuration file; NULL: none */
    const char *const *roots; /* NULL: any folder, for one who has the machine anyway */
    size_t root_count;
    bool usual; /* the only root is `home`, because none was given */
    struct folder_use *uses;
    size_t use_count;
    pthread_mutex_t mutex;
};

void folder_rule_done(struct folder_rule *r); /* forgets what was seen; NULL is fine */

/* The use of this owner and part, or NULL. */
struct folder_use *folder_rule_find(struct folder_rule *r, const char *owner, const char *part);

/* Whether the folder may be used; `fd`: it is open, -1: by its path, which may not exist yet.  A
 * use of the rule is remembered as it was seen.  False with ERR_CONFIG and
 * KNOWN_FOLDER_STRANGE: it may not, and the text says what to change; with another error: it cannot
 * be looked at. */
bool folder_may_use(struct folder_rule *r, struct folder_use *use, int fd, struct err *err);

/* Looks at the folder and remembers it, without a verdict: before the first question, so that each
 * is compared with all others.  A folder that cannot be reached is not remembered. */
void folder_rule_look(struct folder_rule *r, struct folder_use *use);
