/* file_config.h - a node whose configuration file is the truth (`node.config: file`, `serve
 * --apply`), for people who deploy by Git.
 *
 * A file that differs from the newest version becomes a new one at start and at SIGHUP, if it is
 * valid; nothing else changes the configuration on this node.  A file that is refused leaves the
 * version in force, and the node says why until a later one is accepted.
 *
 * Nobody sits there to confirm what a file removes (removal.h).  A file that was cut off, or the
 * wrong one, must not empty a node, so such a file is refused too, unless the node was started with
 * `serve --yes`.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct file_config;
struct live;

/* `file`, its name, is lent. */
struct file_config *file_config_new(struct live *live, const char *file, bool confirmed);
void file_config_free(struct file_config *f);

/* The file reads so now. */
void file_config_apply(struct file_config *f, struct str text);
/* The file cannot be used, for this reason; refuse: which is logged. */
void file_config_trouble(struct file_config *f, const char *why);
void file_config_refuse(struct file_config *f, const char *why);
const char *file_config_name(const struct file_config *f);
/* Appends why the file is not in force, a line; nothing when it is. */
void file_config_tell(struct file_config *f, struct buf *to);
