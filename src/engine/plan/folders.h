/* folders.h - what this node knows of the folders outside that gateways and endpoints use, and
 * which of them it may use: the port that their connectors ask (base/known_folder.h), questions
 * about a whole configuration, and probes for people.
 *
 * Threads: any that may block.  A probe gives up a file system that hangs (base/patient.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/known_folder.h"
#include "base/str.h"
#include "store/govern/folder.h"
#include "store/kernel/names.h"

struct call;
struct config;
struct config_node;
struct problem_list;
struct store;

/* The port of one gateway or endpoint of `config`; it lives on the arena, the name and the
 * configuration are lent.  `trial`: of a
 * configuration that may come into force; nothing is noted.  `call`: the call that uses it; one
 * that was given up gets an error and nothing of the store.  NULL: none. */
const struct folder_port *folders_port(struct store *s, const struct config *config,
                                       enum name_kind kind, const char *name, bool trial,
                                       struct call *call, struct arena *a);

/* config_ask_folders(), given up when a file system hangs: that is no mistake of the configuration,
 * and each folder is asked about again when it is opened. */
void folders_ask(struct config *config, struct problem_list *problems);
/* Whether a backup may be written to the folder, while `config` is in force. */
bool folders_ask_backup(struct config *config, const char *path, struct err *err);
/* Whether the archive of `config` may be written to its folder.  May hang. */
bool folders_ask_archive(const struct config *config, const char *path, struct err *err);

struct folder_probe {
    struct folder_row known;
    bool reached; /* else `error` says why it is not */
    struct folder_id found;
    bool mount; /* a file system is mounted there now */
    bool same;  /* it is the known one */
    char error[200];
};

/* Looks at the known folders of a gateway or endpoint; `ret` has room for FOLDERS_MOST.  None: no
 * folder was met yet, or the connector uses none. */
bool folders_probe(struct store *s, int64_t owner, struct arena *a, struct folder_probe *ret,
                   size_t *ret_count, struct err *err);
/* What is there now is right: the known folders are what folders_probe() has found. */
bool folders_accept(struct store *s, int64_t owner, struct str by, struct folder_probe *probes,
                    size_t count, struct err *err);
