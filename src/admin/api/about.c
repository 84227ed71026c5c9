/* about.c - the node in the head of every page of the console, and its health: about, health. */
#include "admin/api/parts.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/tls.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/upkeep/file_config.h"
#include "job/jobs.h"
#include "store/kernel/node.h"
#include "store/store.h"

enum { LINES_MOST = 32 << 10, CERT_MOST = 1 << 20, CERTIFICATES_MOST = 1000 };

/* ---- about ---- */

struct about {
    const char *version, *store;
    struct str node, name, host, area, location, environment, colour;
    int64_t number, started_us, now_us, config;
};

/* The grammar has checked that the colour is one of its words. */
static void read_location(struct graphql_call *call, struct about *to)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    const struct yaml_node *l = yaml_get(plan->config->root, "location");
    struct str colour = yaml_text(yaml_get(l, "colour"));

    to->location = arena_copy(call->arena, yaml_text(yaml_get(l, "name")));
    to->environment = arena_copy(call->arena, yaml_text(yaml_get(l, "environment")));
    to->colour = colour.len > 0 ? arena_copy(call->arena, colour) : STR("grey");
    to->config = plan->version;
    plan_unref(plan);
}

static bool api_about_read_node(struct graphql_call *call, struct about *to, struct err *err)
{
    struct node_row *rows = ARENA_ARRAY(call->arena, struct node_row, NODES_MOST);
    size_t n;

    if (!node_list(api_store(call), rows, NODES_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].node != to->number)
            continue;
        to->name = str_of(rows[i].name);
        to->host = str_of(rows[i].host);
        to->area = str_of(rows[i].area);
        to->started_us = rows[i].started_us;
    }
    return true;
}

static bool about(struct graphql_call *call, struct err *err)
{
    struct about *v = ARENA_NEW(call->arena, struct about);
    struct store *s = api_store(call);

    *v = (struct about){ .version = WAYBILL_VERSION,
                         .store = store_kind(s) == DB_SQLITE ? "sqlite" : "postgresql",
                         .number = store_node(s),
                         .name = STR(""),
                         .host = STR(""),
                         .area = STR(""),
                         .now_us = clock_wall_us() };
    v->node = str_of(arena_printf(call->arena, "%lld", (long long)v->number));
    read_location(call, v);
    return api_about_read_node(call, v, err) && graphql_set_object(call, v);
}

static bool about_file(struct graphql_call *call, struct err *err)
{
    const struct file_config *f = engine_file_config(api_engine(call));

    (void)err;
    return f != NULL ? graphql_set_text(call, str_of(file_config_name(f))) : graphql_set_null(call);
}

static bool about_pauses(struct graphql_call *call, struct err *err)
{
    return api_set_pauses(call, ((const struct about *)call->parent)->number, err);
}

/* ---- health ---- */

struct health {
    int64_t disk_free, disk_reserve, queue_check_us;
};

static bool health(struct graphql_call *call, struct err *err)
{
    struct health *v = ARENA_NEW(call->arena, struct health);
    struct engine *e = api_engine(call);

    v->disk_reserve = (int64_t)engine_node(e)->disk_reserve_bytes;
    v->queue_check_us = jobs_checked_us(api_principal(call)->jobs);
    return file_free_bytes(store_data_fd(engine_store(e)), &v->disk_free, err) &&
           graphql_set_object(call, v);
}

static bool set_lines(struct graphql_call *call, struct str text)
{
    size_t most = 0, n = 0;

    for (size_t i = 0; i < text.len; i++)
        most += text.ptr[i] == '\n';
    struct str *lines = ARENA_ARRAY(call->arena, struct str, most + 1);

    while (text.len > 0) {
        text = str_cut(text, '\n', &lines[n]);
        lines[n] = arena_copy(call->arena, lines[n]);
        n++;
    }
    return graphql_set_texts(call, lines, n);
}

static bool health_reasons(struct graphql_call *call, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(LINES_MOST);

    (void)err;
    engine_not_ready(api_engine(call), &text);
    return set_lines(call, buf_view(&text));
}

static bool health_troubles(struct graphql_call *call, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(LINES_MOST);

    (void)err;
    engine_troubles(api_engine(call), &text);
    jobs_tell(api_principal(call)->jobs, &text);
    return set_lines(call, buf_view(&text));
}

/* ---- certificates ---- */

struct certificate {
    struct str of, error;
    int64_t ends_us;
};

static const struct certificate *api_about_look_at(struct arena *a, struct str of, const char *cert)
{
    struct certificate *c = ARENA_NEW(a, struct certificate);
    struct err err = { 0 };

    c->of = of;
    if (!tls_certificate_end(cert, &c->ends_us, &err))
        c->error = arena_copy(a, str_of(err.text));
    return c;
}

static bool health_certificates(struct graphql_call *call, struct err *err)
{
    struct engine *e = api_engine(call);
    struct plan *plan = road_plan(engine_road(e));
    const void **list = ARENA_ARRAY(call->arena, const void *, plan->endpoint_count + 1);
    size_t n = 0;

    (void)err;
    if (engine_node(e)->tls_cert != NULL)
        list[n++] = api_about_look_at(call->arena, STR("this node"), engine_node(e)->tls_cert);
    for (size_t i = 0; i < plan->endpoint_count && n < CERTIFICATES_MOST; i++) {
        const struct plan_endpoint *p = &plan->endpoints[i];
        AUTO(buf_done) struct buf cert = BUF_INIT(CERT_MOST);

        if (p->self == NULL || p->type->http == NULL)
            continue;
        buf_put(&cert, p->type->http->options(p->self)->cert);
        if (cert.len > 0)
            list[n++] = api_about_look_at(
                call->arena, str_of(arena_printf(call->arena, "endpoint %.*s", STR_ARG(p->name))),
                cert.ptr);
    }
    plan_unref(plan);
    return graphql_set_objects(call, list, n);
}

const struct graphql_resolver api_about[] = {
    { .field = "Query.about", .fn = about },
    GRAPHQL_MEMBER("About.version", struct about, version),
    GRAPHQL_MEMBER("About.node", struct about, node),
    GRAPHQL_MEMBER("About.host", struct about, host),
    GRAPHQL_MEMBER("About.name", struct about, name),
    GRAPHQL_MEMBER("About.area", struct about, area),
    API_TEXT_AT("About.location", struct about, location),
    API_TEXT_AT("About.environment", struct about, environment),
    GRAPHQL_MEMBER("About.colour", struct about, colour),
    GRAPHQL_MEMBER("About.store", struct about, store),
    GRAPHQL_MEMBER("About.started", struct about, started_us),
    GRAPHQL_MEMBER("About.now", struct about, now_us),
    GRAPHQL_MEMBER("About.config", struct about, config),
    { .field = "About.configFile", .fn = about_file },
    { .field = "About.pauses", .fn = about_pauses },
    { .field = "Query.health", .fn = health },
    { .field = "Health.reasons", .fn = health_reasons },
    { .field = "Health.troubles", .fn = health_troubles },
    GRAPHQL_MEMBER("Health.diskFree", struct health, disk_free),
    GRAPHQL_MEMBER("Health.diskReserve", struct health, disk_reserve),
    API_NUMBER_AT("Health.queueCheck", struct health, queue_check_us),
    { .field = "Health.certificates", .fn = health_certificates },
    GRAPHQL_MEMBER("Certificate.of", struct certificate, of),
    API_NUMBER_AT("Certificate.ends", struct certificate, ends_us),
    API_TEXT_AT("Certificate.error", struct certificate, error),
};
const size_t api_about_count = sizeof api_about / sizeof api_about[0];
