/* reach.h - which files a node needs: the rules that Landlock enforces.
 *
 * Rules stand on folders, not on single files or gateways: a certificate or a resolver's file is
 * replaced by a new one of the same name, and a version that is applied later may name any folder
 * below `node.folders`.  What a gateway or an endpoint may use of that is decided elsewhere; this
 * is the second wall, for a process that no longer follows its own rules.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/confine.h"
#include "core/config.h"

struct reach {
    struct arena arena;
    struct confine_rule *rules;
    size_t count, room;
};

#define REACH_INIT                       \
    {                                    \
        .arena = ARENA_INIT(256u << 20u) \
    }

void reach_done(struct reach *r);

/* Only the folders of `node.folders`, in which connectors may write. */
void reach_collect_folders(struct reach *r, const struct config *config);

/* The rules for a node of this configuration, whose file has this text.  The data folder should
 * exist.  Does not wait for file servers. */
void reach_collect(struct reach *r, const struct config *config, struct str text);
