#include "app/confine_node.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "app/reach.h"
#include "base/auto.h"
#include "base/log.h"

/* A rule needs its folder; the store reports why it cannot be made. */
static void make_data_folder(const char *path)
{
    (void)mkdir(path, 0700);
}

void confine_node(const struct config *config, struct str text, struct confined *ret)
{
    AUTO(reach_done) struct reach reach = REACH_INIT;

    *ret = (struct confined){ .asked = true };
    (void)confine_process(&ret->process);
    make_data_folder(config->node.data);
    reach_collect(&reach, config, text);
    ret->rules = reach.count;
    (void)confine_files(reach.rules, reach.count, config->node.listen.port, &ret->files,
                        &ret->landlock);
    (void)confine_calls(&ret->seccomp);
}

void confine_node_say(const struct confined *c)
{
    char landlock[32] = "none";
    bool whole = c->asked && c->process.kind == ERR_NONE && c->landlock.kind == ERR_NONE &&
                 c->seccomp.kind == ERR_NONE;
    const char *why = !c->asked                      ? "started with --unconfined"
                      : c->landlock.kind != ERR_NONE ? c->landlock.text
                      : c->seccomp.kind != ERR_NONE  ? c->seccomp.text
                                                     : c->process.text;

    if (c->asked && c->landlock.kind == ERR_NONE)
        (void)snprintf(landlock, sizeof landlock, "abi %d", c->files.abi);
    const char *seccomp = c->asked && c->seccomp.kind == ERR_NONE ? "on" : "none";

    if (whole)
        log_event(LOG_INFO, "node.confine", kv_z("landlock", landlock),
                  kv_int("rules", (int64_t)(c->rules - c->files.skipped)),
                  kv_z("seccomp", seccomp));
    else
        log_event(LOG_WARN, "node.confine", kv_z("landlock", landlock), kv_z("seccomp", seccomp),
                  kv_z("why", why),
                  kv_z("hint", "The node runs, but an intruder in its process could reach what its "
                               "user can: see docs/security.md."));
}
