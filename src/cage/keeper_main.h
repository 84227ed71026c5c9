/* keeper_main.h - a process that starts others on request: the keeper, and the mould of a cage. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "cage/keeper_word.h"

struct keeper_calls {
    /* What a new process does with its socket and its page (keeper.h) and no other descriptor; it
     * does not return. */
    void (*become)(void *arg, enum keeper_task task);
    void *arg;
    int idle_ms; /* who has no processes for so long ends; -1: never */
};

/* Serves requests at KEEPER_SOCKET until nobody can ask any more; returns an exit status. */
int keeper_loop(const struct keeper_calls *calls);

/* The keeper: its processes execute the program again.  folders: where connections to databases may
 * write. */
int keeper_main(char *const *folders, size_t count);
