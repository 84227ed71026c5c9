/* road.c - endpoints, probes of gateways and endpoints and their folders, mishaps, and the dry run
 * of one document. */
#include <errno.h>

#include "admin/api/audit.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/log.h"
#include "core/config.h"
#include "engine/dispatch/dispatch.h"
#include "engine/engine.h"
#include "engine/intake/poller.h"
#include "engine/plan/areas.h"
#include "engine/plan/folders.h"
#include "engine/plan/plan.h"
#include "engine/probes.h"
#include "engine/rehearse/dry.h"
#include "engine/road/road.h"
#include "store/govern/failing.h"
#include "store/road/aloft.h"
#include "store/store.h"
#include "store/watch/mishap.h"

enum { WHY_MOST = 512, BODY_MOST = 8 << 20, HEAD_MOST = 64 << 10, PAGE_MOST = 200 };

/* ---- endpoints ---- */

struct shown_endpoint {
    struct str name, kind, system, broken, failing;
    const char *breaker;
    int64_t since_us, until_us, pause_us, active, waiting;
};

static void show_endpoint(struct dispatch *d, const struct config_endpoint *c,
                          const struct plan_endpoint *p, unsigned served, struct arena *a,
                          struct shown_endpoint *ret)
{
    struct endpoint_look look = { 0 };
    char room[AREAS_TEXT];
    const char *unserved = areas_why(served, c->area, room);

    *ret = (struct shown_endpoint){ .name = arena_copy(a, str_of(c->name)),
                                    .kind = arena_copy(a, str_of(c->kind)),
                                    .breaker = "closed" };
    if (c->system != NULL)
        ret->system = arena_copy(a, str_of(c->system));
    if (p->broken != NULL || unserved != NULL)
        ret->broken = arena_copy(a, str_of(p->broken != NULL ? p->broken : unserved));
    if (!dispatch_look(d, p->word, &look))
        return;
    ret->breaker = look.open ? "open" : "closed";
    ret->since_us = look.open ? look.since_us : 0;
    ret->until_us = look.open ? look.until_us : 0;
    ret->pause_us = look.pause_until_us;
    ret->active = look.active;
    ret->waiting = look.waiting;
    if (look.broken[0] != '\0')
        ret->broken = arena_copy(a, str_of(look.broken));
}

/* An endpoint without a system serves all receivers and shows the backlog of all, so it takes the
 * right for all systems. */
static bool api_road_sees_endpoint(struct graphql_call *call, const struct config_endpoint *c)
{
    return api_sees_all(call, RIGHT_SEE) ||
           (c->system != NULL && api_sees_system(call, RIGHT_SEE, str_of(c->system)));
}

static void add_elsewhere(const struct aloft_count *counts, size_t count, int64_t endpoint,
                          struct shown_endpoint *io)
{
    for (size_t i = 0; i < count; i++)
        if (counts[i].endpoint == endpoint) {
            io->active += counts[i].sending_elsewhere;
            io->waiting += counts[i].waiting_elsewhere;
        }
}

static void add_report(const struct failing *all, size_t count, int64_t endpoint, struct arena *a,
                       struct shown_endpoint *io)
{
    for (size_t i = 0; i < count && io->failing.ptr == NULL; i++)
        if (all[i].word == endpoint)
            io->failing = str_of(arena_printf(a, "node on %.*s: %.*s", STR_ARG(all[i].host),
                                              STR_ARG(all[i].message)));
}

static bool endpoints(struct graphql_call *call, struct err *err)
{
    struct failing *reports = ARENA_ARRAY(call->arena, struct failing, FAILINGS_MOST);
    size_t report_count;
    struct aloft_count *counts = ARENA_ARRAY(call->arena, struct aloft_count, ALOFT_COUNTS_MOST);
    size_t count;
    unsigned served;

    if (!aloft_counts(api_store(call), counts, ALOFT_COUNTS_MOST, &count, err) ||
        !failing_list(api_store(call), call->arena, reports, &report_count, err) ||
        !areas_served(api_store(call), &served, err))
        return false;
    struct road *road = engine_road(api_engine(call));
    struct plan *plan = road_plan(road);
    size_t n = plan->endpoint_count;
    struct shown_endpoint *shown = ARENA_ARRAY(call->arena, struct shown_endpoint, n);
    const void **list = ARENA_ARRAY(call->arena, const void *, n);
    size_t seen = 0;

    for (size_t i = 0; i < n; i++) {
        if (!api_road_sees_endpoint(call, &plan->config->endpoints[i]))
            continue;
        show_endpoint(road_dispatch(road), &plan->config->endpoints[i], &plan->endpoints[i], served,
                      call->arena, &shown[i]);
        add_elsewhere(counts, count, plan->endpoints[i].word, &shown[i]);
        add_report(reports, report_count, plan->endpoints[i].word, call->arena, &shown[i]);
        list[seen++] = &shown[i];
    }
    plan_unref(plan);
    return graphql_set_objects(call, list, seen);
}

/* ---- probes ---- */

/* What is asked of a gateway or endpoint. */
enum asked { ASKED_FOLDERS, ASKED_ACCEPT, ASKED_STEPS };

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
    struct probing_line *steps;
    size_t step_count;
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

/* Looks at the folders of one owner, and accepts what is there if that is asked for. */
static bool probe_folders(struct graphql_call *call, int64_t owner, enum asked asked,
                          struct shown_probe *ret, struct err *err)
{
    struct folder_probe *probes = ARENA_ARRAY(call->arena, struct folder_probe, FOLDERS_MOST);
    struct store *s = api_store(call);

    if (!folders_probe(s, owner, call->arena, probes, &ret->count, err))
        return false;
    if (asked == ASKED_ACCEPT) {
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

static bool probe_owner(struct graphql_call *call, struct plan *plan, bool gateway, int64_t owner,
                        enum asked asked, struct shown_probe *ret, struct err *err)
{
    if (asked == ASKED_STEPS &&
        !probes_run(engine_probes(api_engine(call)), plan, gateway, ret->name, call->arena,
                    &ret->steps, &ret->step_count, err))
        return false;
    return probe_folders(call, owner, asked, ret, err);
}

/* A probe is for who may hold the system.  A gateway is of no system, an endpoint may be of all:
 * these take the right for all systems, as their folders do. */
static bool may_probe(struct graphql_call *call, enum asked asked, const char *system)
{
    return asked != ASKED_STEPS || api_sees_all(call, RIGHT_HOLD) ||
           (system != NULL && api_sees_system(call, RIGHT_HOLD, str_of(system)));
}

static bool probe_gateway(struct graphql_call *call, struct plan *plan, struct str name,
                          enum asked asked, struct shown_probes *all, struct err *err)
{
    const struct config_gateway *c = config_gateway_find(plan->config, name);
    struct shown_probe *p = &all->list[all->count];
    struct poller *poller = engine_poller(api_engine(call));
    AUTO(buf_done) struct buf why = BUF_INIT(WHY_MOST);
    int64_t word;

    if (c == NULL || !may_probe(call, asked, NULL) ||
        !name_find(api_store(call), NAME_GATEWAY, name, &word))
        return true;
    engine_gateway_why(api_engine(call), name, &why);
    *p = (struct shown_probe){ .name = arena_copy(call->arena, name),
                               .kind = arena_copy(call->arena, str_of(c->kind)),
                               .broken = arena_copy(call->arena, buf_view(&why)),
                               .role = "gateway" };
    all->count++;
    if (!probe_owner(call, plan, true, word, asked, p, err))
        return false;
    if (asked == ASKED_ACCEPT)
        poller_try_again(poller, name);
    return true;
}

static bool probe_endpoint(struct graphql_call *call, struct plan *plan, struct str name,
                           enum asked asked, struct shown_probes *all, struct err *err)
{
    struct dispatch *d = road_dispatch(engine_road(api_engine(call)));
    struct shown_probe *p = &all->list[all->count];
    struct endpoint_look look = { 0 };
    size_t i = 0;

    while (i < plan->endpoint_count && !str_eq(plan->endpoints[i].name, name))
        i++;
    if (i == plan->endpoint_count || !may_probe(call, asked, plan->config->endpoints[i].system))
        return true;
    (void)dispatch_look(d, plan->endpoints[i].word, &look);
    *p = (struct shown_probe){ .name = arena_copy(call->arena, name),
                               .kind =
                                   arena_copy(call->arena, str_of(plan->config->endpoints[i].kind)),
                               .broken = arena_copy(call->arena, str_of(look.broken)),
                               .role = "endpoint" };
    all->count++;
    if (!probe_owner(call, plan, false, plan->endpoints[i].word, asked, p, err))
        return false;
    if (asked == ASKED_ACCEPT)
        dispatch_try(d, plan->endpoints[i].word);
    return true;
}

static bool probe_named(struct graphql_call *call, enum asked asked, struct err *err)
{
    struct shown_probes *all = ARENA_NEW(call->arena, struct shown_probes);
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    struct str name = graphql_arg_text(call, "name");
    bool ok = probe_gateway(call, plan, name, asked, all, err) &&
              probe_endpoint(call, plan, name, asked, all, err);

    plan_unref(plan);
    if (ok && all->count == 0)
        return err_set(err, ERR_PERMANENT, 0, "there is no gateway or endpoint %.64s",
                       arena_text(call->arena, name));
    return ok && graphql_set_structs(call, all->list, all->count, sizeof all->list[0]);
}

static bool api_probe_look(struct graphql_call *call, struct err *err)
{
    return probe_named(call, ASKED_FOLDERS, err);
}

static bool api_probe_accept(struct graphql_call *call, struct err *err)
{
    return probe_named(call, ASKED_ACCEPT, err);
}

/* Nothing of the store changes: it is logged before, so that one that hangs is, too. */
static bool api_probe_run(struct graphql_call *call, struct err *err)
{
    return api_audit_now(call, err) && probe_named(call, ASKED_STEPS, err);
}

static bool api_probe_steps(struct graphql_call *call, struct err *err)
{
    const struct shown_probe *p = call->parent;

    (void)err;
    return graphql_set_structs(call, p->steps, p->step_count, sizeof p->steps[0]);
}

static bool api_probe_result(struct graphql_call *call, struct err *err)
{
    static const char *const words[] = {
        [PROBING_PASSED] = "passed", [PROBING_FAILED] = "failed", [PROBING_LEFT_OUT] = "left out"
    };
    const struct probing_line *l = call->parent;

    (void)err;
    return graphql_set_text(call, str_of(words[l->result]));
}

static bool api_probe_text(struct graphql_call *call, struct err *err)
{
    const struct probing_line *l = call->parent;

    (void)err;
    return graphql_set_text(call, str_of(l->text));
}

static bool api_probe_remedy(struct graphql_call *call, struct err *err)
{
    const struct probing_line *l = call->parent;

    (void)err;
    return l->remedy[0] != '\0' ? graphql_set_text(call, str_of(l->remedy))
                                : graphql_set_null(call);
}

static bool api_probe_folders(struct graphql_call *call, struct err *err)
{
    const struct shown_probe *p = call->parent;

    (void)err;
    return graphql_set_structs(call, p->folders, p->count, sizeof p->folders[0]);
}

/* ---- mishaps ---- */

static bool mishaps(struct graphql_call *call, struct err *err)
{
    int64_t first = 50;
    size_t n;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > PAGE_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", PAGE_MOST);
    struct mishap *all = ARENA_ARRAY(call->arena, struct mishap, (size_t)first);

    if (!mishap_list(api_store(call), call->arena, all, (size_t)first, &n, err))
        return false;
    return graphql_set_structs(call, all, n, sizeof *all);
}

/* ---- rehearse ---- */

struct rehearsal {
    struct dry_result result;
    struct str gateway;
    const char *code; /* dead-letter code; NULL: it would not become a dead letter */
};

/* Writes header lines in the form in which a gateway stores them. */
static bool put_headers(const struct graphql_value *list, struct buf *to, struct err *err)
{
    for (size_t i = 0; list->kind == GRAPHQL_LIST && i < list->count; i++) {
        struct str line = list->items[i].text, name, value = str_trim(str_cut(line, ':', &name));

        if (str_find(line, ':') < 1 || str_find(line, '\n') >= 0 || str_find(line, '\r') >= 0)
            return err_set(err, ERR_PERMANENT, 0, "a header is one line `Name: value`");
        if (!buf_append(to, name, err) || !buf_append(to, STR(": "), err) ||
            !buf_append(to, value, err) || !buf_append(to, STR("\n"), err))
            return err_context(err, "headers");
    }
    return true;
}

/* As of a document that the caller sends by hand. */
static bool sends_facts(struct graphql_call *call, const struct facts *f)
{
    return api_sees_all(call, RIGHT_EDIT) ||
           rights_cover(&api_principal(call)->rights, RIGHT_EDIT,
                        f->sender_unknown ? STR("") : f->sender, STR(""));
}

static bool api_road_rehearse(struct graphql_call *call, struct err *err)
{
    AUTO(buf_done) struct buf body = BUF_INIT(BODY_MOST);
    AUTO(buf_done) struct buf head = BUF_INIT(HEAD_MOST);
    struct rehearsal *r = ARENA_NEW(call->arena, struct rehearsal);
    struct dry_request request = { .gateway = graphql_arg_text(call, "gateway"),
                                   .name = graphql_arg_text(call, "name") };

    if (!base64_decode(graphql_arg_text(call, "payload"), &body, err))
        return err_context(err, "payload");
    if (!put_headers(graphql_arg(call, "headers"), &head, err))
        return false;
    request.body = buf_view(&body);
    request.head = buf_view(&head);
    if (!dry_run(engine_road(api_engine(call)), &request, call->arena, &r->result, err))
        return false;
    if (!sends_facts(call, &r->result.facts))
        return err_set(err, ERR_PERMANENT, EPERM, "its sender is no system that %.*s may edit for",
                       STR_ARG(api_name(call)));
    r->gateway = request.gateway;
    r->code = r->result.dead ? dead_codes[r->result.code] : NULL;
    return graphql_set_object(call, r);
}

static bool rehearsal_attributes(struct graphql_call *call, struct err *err)
{
    const struct rehearsal *r = call->parent;

    (void)err;
    return api_set_attributes(call, &r->result.facts);
}

static bool rehearsal_error(struct graphql_call *call, struct err *err)
{
    const struct rehearsal *r = call->parent;
    struct api_error *e = ARENA_NEW(call->arena, struct api_error);

    (void)err;
    if (r->code == NULL)
        return graphql_set_null(call);
    *e = (struct api_error){ .code = str_of(r->code), .message = r->result.message };
    return graphql_set_object(call, e);
}

const struct graphql_resolver api_road[] = {
    { .field = "Query.endpoints", .fn = endpoints },
    GRAPHQL_MEMBER("Endpoint.name", struct shown_endpoint, name),
    GRAPHQL_MEMBER("Endpoint.kind", struct shown_endpoint, kind),
    API_TEXT_AT("Endpoint.system", struct shown_endpoint, system),
    GRAPHQL_MEMBER("Endpoint.breaker", struct shown_endpoint, breaker),
    API_NUMBER_AT("Endpoint.since", struct shown_endpoint, since_us),
    API_NUMBER_AT("Endpoint.until", struct shown_endpoint, until_us),
    API_NUMBER_AT("Endpoint.pause", struct shown_endpoint, pause_us),
    GRAPHQL_MEMBER("Endpoint.active", struct shown_endpoint, active),
    GRAPHQL_MEMBER("Endpoint.waiting", struct shown_endpoint, waiting),
    API_TEXT_AT("Endpoint.broken", struct shown_endpoint, broken),
    API_TEXT_AT("Endpoint.failing", struct shown_endpoint, failing),
    { .field = "Query.probe", .fn = api_probe_look },
    { .field = "Mutation.probeAccept", .fn = api_probe_accept },
    GRAPHQL_MEMBER("Probe.name", struct shown_probe, name),
    GRAPHQL_MEMBER("Probe.role", struct shown_probe, role),
    GRAPHQL_MEMBER("Probe.kind", struct shown_probe, kind),
    API_TEXT_AT("Probe.broken", struct shown_probe, broken),
    { .field = "Probe.folders", .fn = api_probe_folders },
    { .field = "Mutation.probe", .fn = api_probe_run },
    { .field = "Probe.steps", .fn = api_probe_steps },
    GRAPHQL_MEMBER("ProbeStep.step", struct probing_line, step),
    { .field = "ProbeStep.result", .fn = api_probe_result },
    { .field = "ProbeStep.text", .fn = api_probe_text },
    { .field = "ProbeStep.remedy", .fn = api_probe_remedy },
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
    { .field = "Query.mishaps", .fn = mishaps },
    GRAPHQL_MEMBER("Mishap.code", struct mishap, code),
    GRAPHQL_MEMBER("Mishap.object", struct mishap, object),
    GRAPHQL_MEMBER("Mishap.message", struct mishap, message),
    GRAPHQL_MEMBER("Mishap.count", struct mishap, count),
    GRAPHQL_MEMBER("Mishap.first", struct mishap, first_us),
    GRAPHQL_MEMBER("Mishap.last", struct mishap, last_us),
    { .field = "Query.rehearse", .fn = api_road_rehearse },
    GRAPHQL_MEMBER("Rehearsal.config", struct rehearsal, result.config),
    GRAPHQL_MEMBER("Rehearsal.gateway", struct rehearsal, gateway),
    API_TEXT_AT("Rehearsal.sender", struct rehearsal, result.facts.sender),
    API_TEXT_AT("Rehearsal.receiver", struct rehearsal, result.facts.receiver),
    API_TEXT_AT("Rehearsal.type", struct rehearsal, result.facts.type),
    { .field = "Rehearsal.attributes", .fn = rehearsal_attributes },
    API_TEXT_AT("Rehearsal.route", struct rehearsal, result.route),
    GRAPHQL_LIST_OF("Rehearsal.steps", struct rehearsal, result.steps, result.step_count),
    GRAPHQL_LIST_OF("Rehearsal.deliveries", struct rehearsal, result.deliveries,
                    result.delivery_count),
    GRAPHQL_MEMBER("RehearsedDelivery.endpoint", struct dry_delivery, endpoint),
    API_TEXT_AT("RehearsedDelivery.system", struct dry_delivery, system),
    { .field = "Rehearsal.error", .fn = rehearsal_error },
};
const size_t api_road_count = sizeof api_road / sizeof api_road[0];
