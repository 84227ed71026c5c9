/* node.c - nodes and the keys of callers: keys, keyAdd, keyRemove, nodes, nodePause, nodeResume,
 * doctor. */
#include <stdio.h>

#include "admin/api/parts.h"
#include "admin/view/doctor.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/network.h"
#include "engine/engine.h"
#include "engine/intake/intake.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/upkeep/controls.h"
#include "engine/upkeep/live.h"
#include "store/kernel/node.h"
#include "store/people/caller.h"
#include "store/store.h"

/* ---- keys ---- */

struct shown_key {
    struct str id, gateway, title, key;
    int64_t made_us, expires_us, used_us;
    struct str *systems, *networks;
    size_t system_count, network_count;
};

/* A stored list: words separated by blanks. */
static size_t words_of(struct arena *a, struct str text, size_t most, struct str **ret)
{
    size_t n = 0;

    *ret = ARENA_ARRAY(a, struct str, most);
    while (text.len > 0 && n < most)
        text = str_cut(text, ' ', &(*ret)[n++]);
    return n;
}

static bool keys(struct graphql_call *call, struct err *err)
{
    struct store *s = api_store(call);
    struct caller *all;
    size_t n;

    if (!caller_list(s, call->arena, &all, &n, err))
        return false;
    const void **shown = ARENA_ARRAY(call->arena, const void *, n);

    for (size_t i = 0; i < n; i++) {
        struct shown_key *k = ARENA_NEW(call->arena, struct shown_key);

        *k = (struct shown_key){ .id = all[i].name,
                                 .gateway = name_text(s, all[i].gateway),
                                 .made_us = all[i].made_us };
        if (all[i].title.len > 0)
            k->title = all[i].title;
        k->expires_us = all[i].expires_us;
        k->used_us = all[i].used_us;
        k->system_count = words_of(call->arena, all[i].systems, CALLER_SYSTEMS_MOST, &k->systems);
        k->network_count =
            words_of(call->arena, all[i].networks, CALLER_NETWORKS_MOST, &k->networks);
        shown[i] = k;
    }
    return graphql_set_objects(call, shown, n);
}

/* Whose documents the key may send: systems of the live configuration. */
static bool check_key_system(struct graphql_call *call, struct str name, struct err *err)
{
    struct plan *p = road_plan(engine_road(api_engine(call)));
    bool found = plan_system_named(p, name) != NULL;

    plan_unref(p);
    return found || err_set(err, ERR_PERMANENT, 0, "there is no system %.64s",
                            arena_text(call->arena, name));
}

static bool check_key_network(struct graphql_call *call, struct str text, struct err *err)
{
    struct network ignored;

    return network_parse(text, &ignored, err) ||
           err_context(err, "from %.64s", arena_text(call->arena, text));
}

/* Reads a list of texts; *ret: them, separated by blanks.  No text has a blank when it is checked.
 */
static bool read_key_list(struct graphql_call *call, const char *arg, size_t most,
                          bool (*check)(struct graphql_call *, struct str, struct err *),
                          struct str *ret, struct err *err)
{
    const struct graphql_value *list = graphql_arg(call, arg);
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);

    if (list->kind != GRAPHQL_LIST)
        return true;
    if (list->count == 0 || list->count > most)
        return err_set(err, ERR_LIMIT, 0, "%s has 1 to %zu entries: leave it out for no limit", arg,
                       most);
    for (size_t i = 0; i < list->count; i++) {
        if (!check(call, list->items[i].text, err))
            return false;
        buf_put(&text, i > 0 ? STR(" ") : STR(""));
        buf_put(&text, list->items[i].text);
    }
    *ret = arena_copy(call->arena, buf_view(&text));
    return true;
}

static bool read_new_key(struct graphql_call *call, struct caller *ret, struct err *err)
{
    struct str gateway = graphql_arg_text(call, "gateway");
    struct intake_table *t = intake_port.table(engine_intake(api_engine(call)));
    const struct intake_gateway *g = intake_port.find(t, gateway);

    *ret = (struct caller){ .gateway = g != NULL ? g->word : 0,
                            .title = graphql_arg_text(call, "title") };
    intake_port.release(t);
    if (ret->gateway == 0)
        return err_set(err, ERR_PERMANENT, 0, "there is no gateway %.64s",
                       arena_text(call->arena, gateway));
    (void)graphql_arg_int(call, "expires", &ret->expires_us);
    if (ret->expires_us != 0 && ret->expires_us <= clock_wall_us())
        return err_set(err, ERR_PERMANENT, 0, "expires is in the past");
    return read_key_list(call, "systems", CALLER_SYSTEMS_MOST, check_key_system, &ret->systems,
                         err) &&
           read_key_list(call, "from", CALLER_NETWORKS_MOST, check_key_network, &ret->networks,
                         err);
}

static bool api_node_key_add(struct graphql_call *call, struct err *err)
{
    struct engine *e = api_engine(call);
    struct shown_key *k = ARENA_NEW(call->arena, struct shown_key);
    char name[KEY_NAME], key[KEY_TEXT];
    struct caller new;

    if (!read_new_key(call, &new, err) || !caller_add(engine_store(e), &new, name, key, err))
        return false;
    *k = (struct shown_key){ .id = arena_copy(call->arena, str_of(name)),
                             .gateway = graphql_arg_text(call, "gateway"),
                             .key = arena_copy(call->arena, str_of(key)) };
    explicit_bzero(key, sizeof key);
    if (!live_refresh(engine_live(e), err))
        return err_behind(err, "key %s is made, but cannot be shown: remove it and make another",
                          name);
    return graphql_set_object(call, k);
}

static bool api_node_key_remove(struct graphql_call *call, struct err *err)
{
    struct engine *e = api_engine(call);
    bool was_there;

    if (!caller_remove(engine_store(e), graphql_arg_text(call, "id"), &was_there, err) ||
        !live_refresh(engine_live(e), err))
        return false;
    return graphql_set_bool(call, was_there);
}

/* ---- nodes ---- */

struct shown_pause {
    struct str reason, by;
    const char *what;
    int64_t since_us;
    bool everywhere;
};

struct shown_node {
    struct str id, name, host, area, state;
    int64_t node, pid, started_us;
    bool self;
};

bool api_set_pauses(struct graphql_call *call, int64_t node, struct err *err)
{
    struct pause *all = ARENA_ARRAY(call->arena, struct pause, PAUSES_MOST);
    const void **list = ARENA_ARRAY(call->arena, const void *, PAUSES_MOST);
    size_t count, n = 0;

    if (!pause_list(api_store(call), call->arena, all, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct shown_pause *v;

        if ((all[i].node != 0 && all[i].node != node) || all[i].what == PAUSE_DRAINED)
            continue;
        v = ARENA_NEW(call->arena, struct shown_pause);
        *v = (struct shown_pause){ .reason = all[i].reason,
                                   .by = all[i].by,
                                   .what = pause_names[all[i].what],
                                   .since_us = all[i].made_us,
                                   .everywhere = all[i].node == 0 };
        list[n++] = v;
    }
    return graphql_set_objects(call, list, n);
}

static bool nodes(struct graphql_call *call, struct err *err)
{
    struct store *s = api_store(call);
    struct node_row *rows = ARENA_ARRAY(call->arena, struct node_row, NODES_MOST);
    const void **shown = ARENA_ARRAY(call->arena, const void *, NODES_MOST);
    size_t n;

    if (!node_list(s, rows, NODES_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct shown_node *v = ARENA_NEW(call->arena, struct shown_node);

        *v = (struct shown_node){
            .id = str_of(arena_printf(call->arena, "%lld", (long long)rows[i].node)),
            .name = str_of(rows[i].name),
            .host = str_of(rows[i].host),
            .area = str_of(rows[i].area),
            .state = rows[i].state == 0 ? STR("alive") : STR("dead"),
            .node = rows[i].node,
            .pid = rows[i].pid,
            .started_us = rows[i].started_us,
            .self = rows[i].node == store_node(s),
        };
        shown[i] = v;
    }
    return graphql_set_objects(call, shown, n);
}

static bool node_drain_state(struct graphql_call *call, struct err *err)
{
    struct pause *all = ARENA_ARRAY(call->arena, struct pause, PAUSES_MOST);
    const struct shown_node *v = call->parent;
    unsigned what = 0;
    size_t count;

    if (!pause_list(api_store(call), call->arena, all, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (all[i].node == v->node)
            what |= 1u << all[i].what;
    if ((what >> PAUSE_DRAIN & 1) == 0)
        return graphql_set_null(call);
    return graphql_set_z(call, (what >> PAUSE_DRAINED & 1) != 0 ? "drained" : "draining");
}

static bool node_pauses(struct graphql_call *call, struct err *err)
{
    return api_set_pauses(call, ((const struct shown_node *)call->parent)->node, err);
}

/* ---- pauses ---- */

/* How many live nodes the argument may mean; *ret: the last of them.  An id means one, also a dead
 * one. */
static size_t api_node_count_named(const struct node_row *rows, size_t n, struct str given,
                                   int64_t *ret)
{
    size_t found = 0;
    int64_t id;

    for (size_t i = 0; i < n; i++)
        if (str_to_i64(given, &id) && rows[i].node == id) {
            *ret = id;
            return 1;
        }
    for (size_t i = 0; i < n; i++)
        if (rows[i].state == 0 && str_is(given, rows[i].name)) {
            *ret = rows[i].node;
            found++;
        }
    return found;
}

/* Reads the argument `node`, an id or a name; *ret is 0 for all nodes. */
static bool api_node_read_node(struct graphql_call *call, int64_t *ret, struct err *err)
{
    struct node_row *rows = ARENA_ARRAY(call->arena, struct node_row, NODES_MOST);
    struct str given = graphql_arg_text(call, "node");
    size_t n;

    *ret = 0;
    if (given.ptr == NULL)
        return true;
    if (!node_list(api_store(call), rows, NODES_MOST, &n, err))
        return false;
    switch (api_node_count_named(rows, n, given, ret)) {
    case 0:
        return err_set(err, ERR_PERMANENT, 0, "there is no node %.64s: see `waybill node ls`",
                       arena_text(call->arena, given));
    case 1:
        return true;
    default:
        return err_set(err, ERR_PERMANENT, 0,
                       "several nodes are called %.64s: give the id, see `waybill node ls`",
                       arena_text(call->arena, given));
    }
}

/* The enum of the schema has the order of enum pause_what. */
static unsigned api_node_read_what(const struct graphql_call *call, unsigned usual)
{
    const struct graphql_value *list = graphql_arg(call, "what");
    unsigned what = 0;

    for (size_t i = 0; list->kind == GRAPHQL_LIST && i < list->count; i++)
        what |= 1u << list->items[i].number;
    return what != 0 ? what : usual;
}

static bool put_pause(struct graphql_call *call, unsigned what, struct err *err)
{
    struct str reason = graphql_arg_text(call, "reason");
    int64_t node;

    if (reason.ptr == NULL)
        reason = STR("");
    if (reason.len > API_REASON_MOST)
        return err_set(err, ERR_LIMIT, 0, "a reason is at most %d bytes", API_REASON_MOST);
    return api_node_read_node(call, &node, err) &&
           controls_pause(engine_controls(api_engine(call)), node, what, reason, api_name(call),
                          err) &&
           nodes(call, err);
}

static bool node_pause(struct graphql_call *call, struct err *err)
{
    unsigned what = api_node_read_what(call, PAUSE_USUAL);

    if ((what >> PAUSE_DRAIN & 1) != 0)
        return err_set(err, ERR_PERMANENT, 0, "a node is drained by nodeDrain, one at a time");
    return put_pause(call, what, err);
}

static bool node_drain(struct graphql_call *call, struct err *err)
{
    return put_pause(call, 1u << PAUSE_DRAIN, err);
}

static bool node_resume(struct graphql_call *call, struct err *err)
{
    unsigned what = api_node_read_what(call, (1u << PAUSES) - 1);
    int64_t node, count;

    if ((what >> PAUSE_DRAIN & 1) != 0)
        what |= 1u << PAUSE_DRAINED;
    return api_node_read_node(call, &node, err) &&
           controls_resume(engine_controls(api_engine(call)), node, what, &count, err) &&
           nodes(call, err);
}

/* ---- doctor ---- */

static bool doctor(struct graphql_call *call, struct err *err)
{
    struct doctor_report *r = ARENA_NEW(call->arena, struct doctor_report);
    int64_t from = clock_mono_us();
    bool deep = false;

    (void)graphql_arg_bool(call, "deep", &deep);
    if (!doctor_run(api_store(call), deep, call->arena, r, err))
        return false;
    graphql_lend(call, clock_mono_us() - from); /* a large store may exceed the time limit */
    return graphql_set_object(call, r);
}

static bool report_checks(struct graphql_call *call, struct err *err)
{
    const struct doctor_report *r = call->parent;
    const void **checks = ARENA_ARRAY(call->arena, const void *, DOCTOR_CHECKS_MOST);

    (void)err;
    for (size_t i = 0; i < r->count; i++)
        checks[i] = &r->checks[i];
    return graphql_set_objects(call, checks, r->count);
}

const struct graphql_resolver api_node[] = {
    { .field = "Query.keys", .fn = keys },
    { .field = "Mutation.keyAdd", .fn = api_node_key_add },
    { .field = "Mutation.keyRemove", .fn = api_node_key_remove },
    GRAPHQL_MEMBER("Key.id", struct shown_key, id),
    GRAPHQL_MEMBER("Key.gateway", struct shown_key, gateway),
    GRAPHQL_MEMBER("Key.title", struct shown_key, title),
    GRAPHQL_MEMBER("Key.made", struct shown_key, made_us),
    GRAPHQL_LIST_OF("Key.systems", struct shown_key, systems, system_count),
    GRAPHQL_LIST_OF("Key.from", struct shown_key, networks, network_count),
    API_NUMBER_AT("Key.expires", struct shown_key, expires_us),
    API_NUMBER_AT("Key.used", struct shown_key, used_us),
    GRAPHQL_MEMBER("NewKey.id", struct shown_key, id),
    GRAPHQL_MEMBER("NewKey.gateway", struct shown_key, gateway),
    GRAPHQL_MEMBER("NewKey.key", struct shown_key, key),
    { .field = "Query.nodes", .fn = nodes },
    GRAPHQL_MEMBER("Node.id", struct shown_node, id),
    GRAPHQL_MEMBER("Node.name", struct shown_node, name),
    GRAPHQL_MEMBER("Node.host", struct shown_node, host),
    GRAPHQL_MEMBER("Node.pid", struct shown_node, pid),
    GRAPHQL_MEMBER("Node.area", struct shown_node, area),
    GRAPHQL_MEMBER("Node.state", struct shown_node, state),
    GRAPHQL_MEMBER("Node.started", struct shown_node, started_us),
    GRAPHQL_MEMBER("Node.self", struct shown_node, self),
    { .field = "Node.pauses", .fn = node_pauses },
    { .field = "Node.drain", .fn = node_drain_state },
    { .field = "Mutation.nodePause", .fn = node_pause },
    { .field = "Mutation.nodeDrain", .fn = node_drain },
    { .field = "Mutation.nodeResume", .fn = node_resume },
    GRAPHQL_MEMBER("Pause.what", struct shown_pause, what),
    API_TEXT_AT("Pause.reason", struct shown_pause, reason),
    GRAPHQL_MEMBER("Pause.by", struct shown_pause, by),
    GRAPHQL_MEMBER("Pause.since", struct shown_pause, since_us),
    GRAPHQL_MEMBER("Pause.everywhere", struct shown_pause, everywhere),
    { .field = "Query.doctor", .fn = doctor },
    GRAPHQL_MEMBER("DoctorReport.ok", struct doctor_report, ok),
    { .field = "DoctorReport.checks", .fn = report_checks },
    GRAPHQL_MEMBER("DoctorCheck.name", struct doctor_check, name),
    GRAPHQL_MEMBER("DoctorCheck.ok", struct doctor_check, ok),
    GRAPHQL_MEMBER("DoctorCheck.message", struct doctor_check, message),
    GRAPHQL_MEMBER("DoctorCheck.count", struct doctor_check, count),
};
const size_t api_node_count = sizeof api_node / sizeof api_node[0];
