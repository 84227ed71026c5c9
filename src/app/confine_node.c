#include "app/confine_node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/reach.h"
#include "base/auto.h"
#include "base/log.h"

/* A rule needs its folder; the store reports why it cannot be made. */
static void make_data_folder(const char *path)
{
    (void)mkdir(path, 0700);
}

/* The port of the node itself, and those that its gateways may open while it runs. */
static struct confine_ports ports_of(const struct config_node *node, struct arena *a)
{
    uint16_t *all = ARENA_ARRAY(a, uint16_t, node->ports.count + 1);

    all[0] = node->listen.port;
    if (node->ports.count > 0)
        memcpy(all + 1, node->ports.items, node->ports.count * sizeof *all);
    return (struct confine_ports){ all, node->ports.count + 1, node->ports.any };
}

void confine_node(const struct config *config, struct str text, struct confined *ret)
{
    AUTO(reach_done) struct reach reach = REACH_INIT;

    *ret = (struct confined){ .asked = true };
    (void)confine_process(&ret->process);
    make_data_folder(config->node.data);
    reach_collect(&reach, config, text);
    ret->rules = reach.count;
    struct confine_ports ports = ports_of(&config->node, &reach.arena);

    (void)confine_files(reach.rules, reach.count, &ports, &ret->files, &ret->landlock);
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
