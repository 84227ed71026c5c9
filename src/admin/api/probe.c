/* probe.c - probe, probeAccept: the folders of a gateway or endpoint, as they are known on this
 * node and as they are. */
#include <stdio.h>

#include "admin/api/parts.h"
#include "base/auto.h"
#include "base/log.h"
#include "core/config.h"
#include "engine/dispatch/dispatch.h"
#include "engine/engine.h"
#include "engine/intake/poller.h"
#include "engine/plan/folders.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "store/store.h"

enum { WHY_MOST = 512 };

struct shown_folder {
    struct str part, path, known, found, error, accepted_by;
    int64_t seen_us, accepted_us;
    bool mount, same;
};

struct shown_probe {
    struct str name, kind, broken;
    const char *role;
    struct shown_folder folders[FOLDERS_MOST];
    size_t count;
};

struct shown_probes {
    struct shown_probe list[2]; /* a gateway and an endpoint may have one name */
    size_t count;
};

/* "nfs, inode 12, mounted" */
static struct str say_folder(struct arena *a, const struct folder_id *id, bool mount)
{
    char fs[24];

    return str_of(arena_printf(a, "%s, inode %llu, %s", folder_fs_name(id->fs, fs),
                               (unsigned long long)id->ino, mount ? "mounted" : "not a mount"));
}

static struct shown_folder show_folder(struct arena *a, const struct folder_probe *p)
{
    struct shown_folder f = { .part = p->known.part,
                              .path = p->known.path,
                              .known = say_folder(a, &p->known.id, p->known.mount),
                              .accepted_by = p->known.accepted_by,
                              .seen_us = p->known.seen_us,
                              .accepted_us = p->known.accepted_us,
                              .mount = p->mount,
                              .same = p->same };

    if (p->reached)
        f.found = say_folder(a, &p->found, p->mount);
    else
        f.error = arena_copy(a, str_of(p->error));
    return f;
}

/* Probes one owner, and accepts what is there if the call is the mutation. */
static bool probe_owner(struct graphql_call *call, int64_t owner, bool accept,
                        struct shown_probe *ret, struct err *err)
{
    struct folder_probe *probes = ARENA_ARRAY(call->arena, struct folder_probe, FOLDERS_MOST);
    struct store *s = api_store(call);

    if (!folders_probe(s, owner, call->arena, probes, &ret->count, err))
        return false;
    if (accept) {
        if (!folders_accept(s, owner, api_name(call), probes, ret->count, err) ||
            !folders_probe(s, owner, call->arena, probes, &ret->count, err))
            return false;
        log_event(LOG_INFO, "folder.accept", kv_z("role", ret->role), kv_str("name", ret->name),
                  kv_str("by", api_name(call)));
    }
    for (size_t i = 0; i < ret->count; i++)
        ret->folders[i] = show_folder(call->arena, &probes[i]);
    return true;
}

static bool probe_gateway(struct graphql_call *call, const struct plan *plan, struct str name,
                          bool accept, struct shown_probes *all, struct err *err)
{
    const struct config_gateway *c = config_gateway_find(plan->config, name);
    struct shown_probe *p = &all->list[all->count];
    struct poller *poller = engine_poller(api_engine(call));
    AUTO(buf_done) struct buf why = BUF_INIT(WHY_MOST);
    int64_t word;

    if (c == NULL || !name_find(api_store(call), NAME_GATEWAY, name, &word))
        return true;
    poller_why(poller, name, &why);
    *p = (struct shown_probe){ .name = arena_copy(call->arena, name),
                               .kind = arena_copy(call->arena, str_of(c->kind)),
                               .broken = arena_copy(call->arena, buf_view(&why)),
                               .role = "gateway" };
    all->count++;
    if (!probe_owner(call, word, accept, p, err))
        return false;
    if (accept)
        poller_try_again(poller, name);
    return true;
}

static bool probe_endpoint(struct graphql_call *call, const struct plan *plan, struct str name,
                           bool accept, struct shown_probes *all, struct err *err)
{
    struct dispatch *d = road_dispatch(engine_road(api_engine(call)));
    struct shown_probe *p = &all->list[all->count];
    struct endpoint_look look = { 0 };
    size_t i = 0;

    while (i < plan->endpoint_count && !str_eq(plan->endpoints[i].name, name))
        i++;
    if (i == plan->endpoint_count)
        return true;
    (void)dispatch_look(d, plan->endpoints[i].word, &look);
    *p = (struct shown_probe){ .name = arena_copy(call->arena, name),
                               .kind =
                                   arena_copy(call->arena, str_of(plan->config->endpoints[i].kind)),
                               .broken = arena_copy(call->arena, str_of(look.broken)),
                               .role = "endpoint" };
    all->count++;
    if (!probe_owner(call, plan->endpoints[i].word, accept, p, err))
        return false;
    if (accept)
        dispatch_try(d, plan->endpoints[i].word);
    return true;
}

static bool probe_named(struct graphql_call *call, bool accept, struct err *err)
{
    struct shown_probes *all = ARENA_NEW(call->arena, struct shown_probes);
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    struct str name = graphql_arg_text(call, "name");
    bool ok = probe_gateway(call, plan, name, accept, all, err) &&
              probe_endpoint(call, plan, name, accept, all, err);

    plan_unref(plan);
    if (ok && all->count == 0)
        return err_set(err, ERR_PERMANENT, 0, "there is no gateway or endpoint %.64s",
                       arena_text(call->arena, name));
    return ok && graphql_set_structs(call, all->list, all->count, sizeof all->list[0]);
}

static bool api_probe_look(struct graphql_call *call, struct err *err)
{
    return probe_named(call, false, err);
}

static bool api_probe_accept(struct graphql_call *call, struct err *err)
{
    return probe_named(call, true, err);
}

static bool api_probe_folders(struct graphql_call *call, struct err *err)
{
    const struct shown_probe *p = call->parent;

    (void)err;
    return graphql_set_structs(call, p->folders, p->count, sizeof p->folders[0]);
}

const struct graphql_resolver api_probe[] = {
    { .field = "Query.probe", .fn = api_probe_look },
    { .field = "Mutation.probeAccept", .fn = api_probe_accept },
    GRAPHQL_MEMBER("Probe.name", struct shown_probe, name),
    GRAPHQL_MEMBER("Probe.role", struct shown_probe, role),
    GRAPHQL_MEMBER("Probe.kind", struct shown_probe, kind),
    API_TEXT_AT("Probe.broken", struct shown_probe, broken),
    { .field = "Probe.folders", .fn = api_probe_folders },
    GRAPHQL_MEMBER("ProbedFolder.part", struct shown_folder, part),
    GRAPHQL_MEMBER("ProbedFolder.path", struct shown_folder, path),
    GRAPHQL_MEMBER("ProbedFolder.known", struct shown_folder, known),
    API_TEXT_AT("ProbedFolder.found", struct shown_folder, found),
    API_TEXT_AT("ProbedFolder.error", struct shown_folder, error),
    GRAPHQL_MEMBER("ProbedFolder.mount", struct shown_folder, mount),
    GRAPHQL_MEMBER("ProbedFolder.same", struct shown_folder, same),
    GRAPHQL_MEMBER("ProbedFolder.seen", struct shown_folder, seen_us),
    API_NUMBER_AT("ProbedFolder.accepted", struct shown_folder, accepted_us),
    API_TEXT_AT("ProbedFolder.acceptedBy", struct shown_folder, accepted_by),
};
const size_t api_probe_count = sizeof api_probe / sizeof api_probe[0];
