#include "engine/watch/watchdog.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/tls.h"
#include "core/reminder.h"
#include "core/state.h"
#include "engine/dispatch/dispatch.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "engine/watch/alerts.h"
#include "store/kernel/node.h"
#include "store/road/accept.h"
#include "store/road/overdue.h"
#include "store/road/settle.h"
#include "store/road/task.h"
#include "store/search/document.h"
#include "store/store.h"

enum { QUEUES_MOST = 4096, DAY_S = 86400 };

#define LATE_TEXT "a node holds some of it for longer than an hour"

/* State per queue, kept for ever: queues are pairs of system and endpoint, which configurations
 * bound. */
struct queue_known {
    struct queue_known *next;
    int64_t queue;
    struct queue_look look;
    struct reminder reminder, late_reminder;
    struct overdue late; /* of the current check: the longest overdue; count 0: none is */
};

/* The object name of a queue in alerts is its endpoint's.  An endpoint has one queue per system; it
 * is stuck if one of them is. */
struct queue_name {
    struct queue_name *next;
    struct str name; /* lives as long as the store */
    bool stuck;      /* in the current check */
    bool late;       /* in the current check: a node holds some of it past its deadline */
};

struct system_known {
    struct system_known *next;
    int64_t word;
    char labels[160];
    struct metric depth, oldest;
    int64_t count, oldest_us; /* in the current check */
    int64_t late_us;          /* the oldest that is not held */
    int64_t held_us;          /* when the system was last held */
};

struct certificate_known {
    struct certificate_known *next;
    char name[100];
    struct reminder reminder;
};

struct watchdog {
    struct watchdog_options o;
    struct metric depth, oldest, dead, dead_oldest, stuck, overdue;
    struct queue_known *queues;
    struct queue_name *names;
    struct system_known *systems;
    struct certificate_known *certificates;
    struct reminder dead_reminder;
};

/* ---- rules ---- */

bool queue_is_stuck(struct queue_look *q, int64_t front_us, bool has_reason, int64_t now_us)
{
    if (front_us == 0 || has_reason || front_us != q->front_us) {
        *q = (struct queue_look){ .front_us = front_us, .since_us = now_us };
        return false;
    }
    return now_us - q->since_us >= (int64_t)WATCHDOG_STUCK_S * CLOCK_S;
}

/* ---- queues ---- */

static struct queue_known *queue_of(struct watchdog *l, int64_t queue)
{
    struct queue_known *q = l->queues;

    while (q != NULL && q->queue != queue)
        q = q->next;
    if (q == NULL) {
        q = NEW(struct queue_known);
        *q = (struct queue_known){ .next = l->queues, .queue = queue };
        l->queues = q;
    }
    return q;
}

static struct queue_name *watchdog_name_of(struct watchdog *l, struct str name)
{
    struct queue_name *n = l->names;

    while (n != NULL && !str_eq(n->name, name))
        n = n->next;
    if (n == NULL) {
        n = NEW(struct queue_name);
        *n = (struct queue_name){ .next = l->names, .name = name };
        l->names = n;
    }
    return n;
}

static struct system_known *watchdog_system_of(struct watchdog *l, int64_t word)
{
    struct system_known *s = l->systems;

    while (s != NULL && s->word != word)
        s = s->next;
    if (s != NULL)
        return s;
    s = NEW(struct system_known);
    s->next = l->systems;
    s->word = word;
    (void)snprintf(s->labels, sizeof s->labels, "system=\"%.*s\"",
                   STR_ARG(name_text(l->o.store, word)));
    s->depth = (struct metric){ .name = "waybill_system_queue_depth",
                                .help = "Deliveries that wait for this system.",
                                .labels = s->labels,
                                .type = METRIC_GAUGE };
    s->oldest = (struct metric){ .name = "waybill_system_queue_oldest_seconds",
                                 .help = "How long the first of them has waited.",
                                 .labels = s->labels,
                                 .type = METRIC_GAUGE };
    metrics_register(&s->depth);
    metrics_register(&s->oldest);
    l->systems = s;
    return s;
}

/* A person or a calendar holds the queue: its age is expected.  A pause that the receiver asks for
 * does not count: it may ask again and again. */
static bool watchdog_is_held(struct watchdog *l, int64_t system)
{
    return (dispatch_system_why(road_dispatch(l->o.road), system) &
            (HELD_HOLD | HELD_WINDOW | HELD_PAUSE)) != 0;
}

static void note_system(struct system_known *s, const struct task_queue *q, bool held,
                        int64_t now_us)
{
    if (held)
        s->held_us = now_us;
    s->count += q->count;
    if (q->oldest_us != 0 && (s->oldest_us == 0 || q->oldest_us < s->oldest_us))
        s->oldest_us = q->oldest_us;
    if (!held && q->oldest_us != 0 && (s->late_us == 0 || q->oldest_us < s->late_us))
        s->late_us = q->oldest_us;
}

/* True: no known reason holds the queue, and none of its deliveries is being sent. */
static bool should_move(struct watchdog *l, int64_t queue, int64_t system, int64_t endpoint)
{
    struct dispatch *d = road_dispatch(l->o.road);
    struct endpoint_look look = { 0 };

    if (queue != QUEUE_INTAKE)
        return dispatch_held_why(d, system, endpoint) == 0 &&
               !(dispatch_look(d, endpoint, &look) && look.active > 0);
    struct plan *plan = road_plan(l->o.road);
    bool idle = plan == NULL || plan_is_idle(plan);

    plan_unref(plan);
    return !idle;
}

static void tell_stuck(struct watchdog *l, struct str what, int64_t age_s)
{
    log_event(LOG_WARN, "queue.stuck", kv_str("queue", what), kv_int("seconds", age_s),
              kv_z("hint", "Nothing keeps it from moving and it does not move; `waybill doctor` "
                           "tells more, a restart of the node recovers it."));
    mishaps_note(l->o.mishaps, "stuck", "queue", what, "it should move and does not");
}

/* Adds to *io_could the number of tasks that could run now. */
static bool look_at_queue(struct watchdog *l, const struct task_queue *q, int64_t now_us,
                          int64_t *io_could)
{
    struct queue_known *known = queue_of(l, q->queue);
    int64_t system = 0, endpoint = 0;
    struct str what = STR("intake");

    if (q->queue != QUEUE_INTAKE && queue_target(l->o.store, q->queue, &system, &endpoint)) {
        what = name_text(l->o.store, endpoint);
        note_system(watchdog_system_of(l, system), q, watchdog_is_held(l, system), now_us);
    }
    if (q->queue == QUEUE_INTAKE
            ? should_move(l, q->queue, 0, 0)
            : dispatch_held_why(road_dispatch(l->o.road), system, endpoint) == 0)
        *io_could += q->count;
    bool stuck = queue_is_stuck(&known->look, q->oldest_us,
                                !should_move(l, q->queue, system, endpoint), now_us);

    if (reminder_is_due(&known->reminder, stuck, now_us))
        tell_stuck(l, what, (now_us - known->look.since_us) / CLOCK_S);
    struct queue_name *name = watchdog_name_of(l, what);

    name->stuck = name->stuck || stuck;
    return stuck;
}

/* ---- claims that last too long ---- */

static struct str queue_endpoint(struct watchdog *l, int64_t queue)
{
    int64_t system, endpoint;

    return queue != QUEUE_INTAKE && queue_target(l->o.store, queue, &system, &endpoint)
               ? name_text(l->o.store, endpoint)
               : STR("intake");
}

static bool tell_late(struct watchdog *l, struct str what, const struct overdue *o, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct document d;
    struct str node;
    char id[ID_TEXT] = "";
    bool found;

    if (!node_name(l->o.store, o->node, &a, &node, err) ||
        !document_numbered(l->o.store, o->doc, &a, &d, &found, err))
        return false;
    log_event(LOG_WARN, "claim.overdue", kv_str("queue", what), kv_str("node", node),
              kv_int("count", o->count), kv_int("seconds", o->over_us / CLOCK_S),
              kv_z("document", found ? id_text(&d.source.id, id) : ""),
              kv_z("hint",
                   "That node has worked on it for longer than an hour, neither ended it nor gave "
                   "it up. `waybill docs show` tells what it does; if it is no long transfer, a "
                   "restart of the node releases it."));
    mishaps_note(l->o.mishaps, "stuck", "queue", what, LATE_TEXT);
    return true;
}

/* Notes of each queue its claims that are overdue, of all nodes. */
static bool note_late(struct watchdog *l, struct err *err)
{
    struct overdue late[OVERDUE_MOST];
    int64_t all = 0;
    size_t count;

    if (!overdue_claims(l->o.store, late, &count, err))
        return false;
    for (struct queue_known *q = l->queues; q != NULL; q = q->next)
        q->late = (struct overdue){ 0 };
    for (size_t i = 0; i < count; i++) {
        struct queue_known *q = queue_of(l, late[i].queue);

        all += late[i].count;
        if (q->late.count == 0 || late[i].over_us > q->late.over_us)
            q->late = late[i];
    }
    metric_set(&l->overdue, all);
    return true;
}

/* What cannot be read now stays as it was last seen: an alert does not end by that. */
static bool look_at_claims(struct watchdog *l, int64_t now_us, struct err *err)
{
    bool ok = note_late(l, err);

    for (struct queue_known *q = l->queues; q != NULL; q = q->next) {
        struct str what = queue_endpoint(l, q->queue);

        if (q->late.count > 0)
            watchdog_name_of(l, what)->late = true;
        if (reminder_is_due(&q->late_reminder, q->late.count > 0, now_us))
            ok = tell_late(l, what, &q->late, err) && ok;
    }
    return ok;
}

static int64_t age_s(int64_t since_us, int64_t now_us)
{
    return since_us > 0 && since_us < now_us ? (now_us - since_us) / CLOCK_S : 0;
}

static void say_system(struct watchdog *l, const struct system_known *s, int64_t now_us)
{
    struct str name = name_text(l->o.store, s->word);
    int64_t late_s =
        s->late_us == 0 ? 0 : age_s(s->late_us > s->held_us ? s->late_us : s->held_us, now_us);
    char depth[80], age[80];

    (void)snprintf(depth, sizeof depth, "%lld deliveries wait", (long long)s->count);
    (void)snprintf(age, sizeof age, "the first delivery has waited for %lld seconds",
                   (long long)late_s);
    alerts_see(l->o.alerts, ALERT_QUEUE_DEPTH, name, s->count, depth);
    alerts_see(l->o.alerts, ALERT_QUEUE_AGE, name, late_s, age);
}

/* Reports the load for the alerts scale_out and scale_in. */
static bool say_scale(struct watchdog *l, int64_t could, struct err *err)
{
    static struct node_row nodes[NODES_MOST];
    size_t count, living = 0;
    char text[80];

    if (!node_list(l->o.store, nodes, NODES_MOST, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        living += nodes[i].state == 0;
    (void)snprintf(text, sizeof text, "%lld tasks wait that could go, for %zu nodes",
                   (long long)could, living);
    alerts_see(l->o.alerts, ALERT_SCALE_OUT, ALERTS_STORE, could, text);
    alerts_see(l->o.alerts, ALERT_SCALE_IN, ALERTS_STORE, living > 1 ? -could : INT64_MIN, text);
    return true;
}

/* Once per name, also for queues that are not listed any more because they are empty. */
static void say_stuck(struct watchdog *l)
{
    for (struct queue_name *n = l->names; n != NULL; n = n->next) {
        alerts_see_if(l->o.alerts, ALERT_STUCK, n->name, n->stuck || n->late,
                      n->stuck ? "it should move and does not" : LATE_TEXT);
        n->stuck = n->late = false;
    }
}

bool watchdog_queues(struct watchdog *l, struct err *err)
{
    static struct task_queue queues[QUEUES_MOST];
    int64_t all = 0, oldest_us = 0, stuck = 0, could = 0, now = clock_wall_us();
    struct err late_err = { 0 };
    size_t count;

    if (!task_queues(l->o.store, queues, QUEUES_MOST, &count, err))
        return false;
    for (struct system_known *s = l->systems; s != NULL; s = s->next)
        s->count = s->oldest_us = s->late_us = 0;
    for (size_t i = 0; i < count; i++) {
        all += queues[i].count;
        if (queues[i].oldest_us != 0 && (oldest_us == 0 || queues[i].oldest_us < oldest_us))
            oldest_us = queues[i].oldest_us;
        stuck += look_at_queue(l, &queues[i], now, &could);
    }
    bool seen_late = look_at_claims(l, now, &late_err); /* the other alerts do not wait for it */

    for (struct system_known *s = l->systems; s != NULL; s = s->next) {
        metric_set(&s->depth, s->count);
        metric_set(&s->oldest, age_s(s->oldest_us, now));
        say_system(l, s, now);
    }
    say_stuck(l);
    metric_set(&l->depth, all);
    metric_set(&l->oldest, age_s(oldest_us, now));
    metric_set(&l->stuck, stuck);
    if (!say_scale(l, could, err))
        return false;
    if (!seen_late)
        *err = late_err;
    return seen_late;
}

/* ---- dead letters ---- */

bool watchdog_dead(struct watchdog *l, struct err *err)
{
    int64_t count, oldest_us, now = clock_wall_us();
    char text[120];

    if (!task_dead_sum(l->o.store, &count, &oldest_us, err))
        return false;
    metric_set(&l->dead, count);
    metric_set(&l->dead_oldest, age_s(oldest_us, now));
    (void)snprintf(text, sizeof text, "%lld wait for a person, the first for %lld seconds",
                   (long long)count, (long long)age_s(oldest_us, now));
    alerts_see(l->o.alerts, ALERT_DEAD_LETTERS, ALERTS_STORE, count, text);
    if (reminder_is_due(&l->dead_reminder, count > 0, now))
        log_event(LOG_WARN, "dead.wait", kv_int("count", count),
                  kv_int("oldest_seconds", age_s(oldest_us, now)),
                  kv_z("hint",
                       "They wait for a person: `waybill dead ls --by reason`; batches that "
                       "could not be built: `waybill batches ls`."));
    return true;
}

/* ---- certificates ---- */

static struct certificate_known *certificate_of(struct watchdog *l, const char *name)
{
    struct certificate_known *c = l->certificates;

    while (c != NULL && strcmp(c->name, name) != 0)
        c = c->next;
    if (c == NULL) {
        c = NEW(struct certificate_known);
        *c = (struct certificate_known){ .next = l->certificates };
        (void)snprintf(c->name, sizeof c->name, "%s", name);
        l->certificates = c;
    }
    return c;
}

/* An unreadable certificate is reported by its user. */
static void look_at_certificate(struct watchdog *l, const char *of, struct str object,
                                const char *cert)
{
    struct certificate_known *c = certificate_of(l, of);
    int64_t ends_us, now = clock_wall_us();
    struct err err = { 0 };

    if (!tls_certificate_end(cert, &ends_us, &err))
        return;
    int64_t days = (ends_us - now) / ((int64_t)DAY_S * CLOCK_S);
    char text[CLOCK_TEXT + 40], end[CLOCK_TEXT];

    (void)snprintf(text, sizeof text, "its certificate %s %s", ends_us > now ? "ends" : "has ended",
                   clock_utc_text(ends_us, end));
    alerts_see(l->o.alerts, ALERT_CERTIFICATE, object, -(ends_us - now) / CLOCK_S, text);

    if (!reminder_is_due(&c->reminder, days < WATCHDOG_CERTIFICATE_DAYS, now))
        return;
    log_event(LOG_WARN, "certificate.end", kv_z("of", of), kv_int("days", ends_us > now ? days : 0),
              kv_bool("over", ends_us <= now),
              kv_z("hint", "Replace the file; SIGHUP reads the node's own again."));
    mishaps_note(l->o.mishaps, "certificate", "of", str_of(of), "its certificate ends");
}

/* Of a gateway or endpoint, as far as the configuration itself says where it is. */
static void look_at_own_certificate(struct watchdog *l, const char *part, const char *of,
                                    const struct yaml_node *node)
{
    const struct yaml_node *cert = yaml_get(yaml_get(node, "tls"), "cert");
    AUTO(buf_done) struct buf path = BUF_INIT(1 << 20);
    char name[100];
    struct err err;

    if (cert == NULL || cert->kind != YAML_SCALAR || cert->outside)
        return;
    if (config_is_pem(cert->text.ptr))
        buf_put(&path, cert->text);
    else if (!config_path(cert->text.ptr, l->o.node->file, &path, &err))
        return;
    (void)snprintf(name, sizeof name, "%s %s", part, of);
    look_at_certificate(l, name, str_of(name), path.ptr);
}

/* HTTP endpoints say what they were made with, wherever that came from. */
static void look_at_http_certificate(struct watchdog *l, const struct plan_endpoint *e)
{
    AUTO(buf_done) struct buf cert = BUF_INIT(1 << 20);
    char name[100];

    buf_put(&cert, e->type->http->options(e->self)->cert);
    (void)snprintf(name, sizeof name, "endpoint %.*s", STR_ARG(e->name));
    if (cert.len > 0)
        look_at_certificate(l, name, str_of(name), cert.ptr);
}

static void look_at_plans_certificates(struct watchdog *l, const struct plan *p)
{
    const struct config *c = p->config;

    for (size_t i = 0; i < p->endpoint_count; i++) {
        const struct plan_endpoint *e = &p->endpoints[i];

        if (e->self != NULL && e->type->http != NULL)
            look_at_http_certificate(l, e);
        else if (e->self != NULL)
            look_at_own_certificate(l, "endpoint", c->endpoints[i].name, c->endpoints[i].node);
    }
    for (size_t i = 0; i < c->gateway_count; i++)
        look_at_own_certificate(l, "gateway", c->gateways[i].name, c->gateways[i].node);
}

bool watchdog_certificates(struct watchdog *l, struct err *err)
{
    struct plan *plan = road_plan(l->o.road);

    (void)err;
    if (l->o.node->tls_cert != NULL)
        look_at_certificate(l, "the node", alerts_own_name(l->o.alerts), l->o.node->tls_cert);
    if (plan != NULL)
        look_at_plans_certificates(l, plan);
    plan_unref(plan);
    return true;
}

/* ---- life ---- */

static void watchdog_gauge(struct metric *m, const char *name, const char *help)
{
    *m = (struct metric){ .name = name, .help = help, .type = METRIC_GAUGE };
    metrics_register(m);
}

struct watchdog *watchdog_new(const struct watchdog_options *options)
{
    struct watchdog *l = NEW(struct watchdog);

    l->o = *options;
    (void)watchdog_name_of(l, STR("intake")); /* an alert of before the start ends, too */
    watchdog_gauge(&l->depth, "waybill_queue_depth",
                   "Tasks that wait for their turn or their time.");
    watchdog_gauge(&l->oldest, "waybill_queue_oldest_seconds",
                   "How long the first of them has waited.");
    watchdog_gauge(&l->stuck, "waybill_queues_stuck", "Queues that should move and do not.");
    watchdog_gauge(&l->overdue, "waybill_claims_overdue",
                   "Tasks that live nodes have claimed and held for longer than an hour.");
    watchdog_gauge(&l->dead, "waybill_dead_letters",
                   "Dead letters, and batches that could not be built, that wait for a person.");
    watchdog_gauge(&l->dead_oldest, "waybill_dead_oldest_seconds",
                   "How long the first of them has waited.");
    return l;
}

void watchdog_free(struct watchdog *l)
{
    if (l == NULL)
        return;
    struct metric *own[] = { &l->depth,   &l->oldest, &l->stuck,
                             &l->overdue, &l->dead,   &l->dead_oldest };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        metrics_forget(own[i]);
    for (struct system_known *s = l->systems, *next; s != NULL; s = next) {
        next = s->next;
        metrics_forget(&s->depth);
        metrics_forget(&s->oldest);
        free(s);
    }
    for (struct queue_known *q = l->queues, *next; q != NULL; q = next) {
        next = q->next;
        free(q);
    }
    for (struct queue_name *n = l->names, *next; n != NULL; n = next) {
        next = n->next;
        free(n);
    }
    for (struct certificate_known *c = l->certificates, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    free(l);
}
