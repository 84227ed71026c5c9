/* confine_node.h - a node gives up what it never needs, and says so in its log (base/confine.h). */
#pragma once

#include "base/confine.h"
#include "core/config.h"

struct confined {
    bool asked; /* false: the operator wants to look into the process */
    size_t rules;
    struct confine_files_report files;
    struct err process, landlock, seccomp; /* ERR_NONE: in force */
};

/* What the kernel does not offer is left out.  Before the first thread starts. */
void confine_node(const struct config *config, struct str text, struct confined *ret);

/* One line of the log; a warning if something is missing. */
void confine_node_say(const struct confined *c);
