/* people.c - what is done to the world: trouble, holds, pauses, decisions.  See sim.h. */
#include "sim.h"

#define TOUCH(w, thing) store_touch(w, &(thing), sizeof(thing))

void people_plan(struct world *w)
{
    int troubles = world_pick(w, 7), acts = 4 + world_pick(w, 16);

    for (int i = 0; i < troubles; i++)
        world_push(w, world_between(w, 0, ACTIVE_US), EV_TROUBLE, -1, 0, 0);
    for (int i = 0; i < acts; i++)
        world_push(w, world_between(w, 0, ACTIVE_US), EV_PEOPLE, -1, 0, 0);
}

/* ---- trouble ---- */

static void step_clock(struct world *w, int node)
{
    int64_t step =
        world_luck(w, 50) ? world_between(w, 1 * S, 30 * S) : world_between(w, 61 * S, 300 * S);

    if (world_luck(w, 50))
        step = -step;
    w->nodes[node].off_us += step;
    w->stepped |= w->node_count == 1;
    TRACE(w, "the clock of node %d is put by %lld s", node, (long long)(step / S));
}

static void freeze(struct world *w, struct node *n, int node)
{
    n->frozen_until_us = w->now_us + world_between(w, 500 * MS, 40 * S);
    TRACE(w, "node %d is frozen for %lld ms", node,
          (long long)((n->frozen_until_us - w->now_us) / MS));
}

/* The node lives and reaches its receivers, but not the store. */
static void cut_off(struct world *w, struct node *n, int node)
{
    n->cut_until_us = w->now_us + world_between(w, 500 * MS, 40 * S);
    TRACE(w, "node %d is cut off from the store for %lld ms", node,
          (long long)((n->cut_until_us - w->now_us) / MS));
}

void people_trouble(struct world *w)
{
    int node = world_pick(w, w->node_count), what = world_pick(w, 13);
    struct node *n = &w->nodes[node];

    if (w->draining)
        return;
    if (what < 2) {
        step_clock(w, node);
    } else if (n->up && what < 6) {
        node_die(w, node, "dies");
    } else if (n->up && what < 10) {
        freeze(w, n, node);
    } else if (n->up) {
        cut_off(w, n, node);
    }
}

/* Every so many times; a heartbeat counts while an intent is on its way too. */
static int odds_of(const struct node *n, enum op_kind kind)
{
    bool intends = false;

    for (int i = 0; i < TASKS_MOST; i++)
        intends |= n->tasks[i].stage == TASK_INTENDING;
    switch (kind) {
    case OP_BEAT:
        return intends ? 4 : 0;
    case OP_CLAIM:
    case OP_ROUTE:
    case OP_INTENT:
    case OP_SETTLE: /* of jobs, too */
        return 150;
    case OP_REGISTER:
    case OP_SEEN:
    case OP_ACCEPT:
    case OP_RESERVE:
        break;
    }
    return 0;
}

/* Trouble at the worst moment: a commit whose answer nobody hears, or hears too late. */
void people_strike(struct world *w, int node, enum op_kind kind)
{
    struct node *n = &w->nodes[node];
    int odds = odds_of(n, kind);

    if (w->draining || !n->up || n->frozen_until_us > w->now_us || w->strikes >= 5 || odds == 0 ||
        world_pick(w, odds) != 0)
        return;
    w->strikes++;
    if (world_luck(w, 50))
        node_die(w, node, "dies at a commit");
    else
        freeze(w, n, node);
}

void people_night(struct world *w)
{
    int64_t for_us = world_between(w, 60 * S, 300 * (int64_t)S);

    for (int i = 0; i < w->node_count && !w->draining; i++)
        if (w->nodes[i].up)
            node_sleep(w, i, for_us + world_between(w, 0, 5 * S));
}

/* ---- holds and pauses ---- */

static void add_hold(struct world *w)
{
    struct store *s = &w->store;
    int64_t now = world_store_us(w);
    bool at_once = world_luck(w, 70);

    if (s->hold_count == HOLDS_MOST)
        return;
    struct hold *h = &s->holds[s->hold_count++];

    *h = (struct hold){ .system = world_pick(w, SYSTEMS),
                        .at_once = at_once,
                        .from_us = at_once ? now : now + world_between(w, 1 * S, 20 * S),
                        .mark = ++s->mark };
    if (world_luck(w, 60))
        h->until_us = h->from_us + world_between(w, 2 * S, 40 * S);
    TRACE(w, "hold %d on system %d%s%s", s->hold_count - 1, h->system,
          at_once ? ", at once" : ", later", h->until_us == 0 ? ", without an end" : "");
}

static void end_hold(struct world *w, int hold)
{
    struct hold *h = &w->store.holds[hold];

    if (hold >= w->store.hold_count || h->ended_mark != 0)
        return;
    h->ended_mark = ++w->store.mark;
    TRACE(w, "hold %d on system %d is ended", hold, h->system);
    for (int i = 0; i < w->node_count; i++)
        if (w->nodes[i].registered && world_luck(w, 50))
            w->nodes[i].asleep[h->system] = false; /* a hint that may be lost */
}

static void pause_node(struct world *w, int node, bool on)
{
    if (w->store.paused[node] == on)
        return;
    w->store.paused[node] = on;
    w->store.mark++;
    TRACE(w, "node %d is %s", node, on ? "paused" : "resumed");
}

/* ---- decisions ---- */

static void decide(struct world *w, int d, enum delivery_state to, const char *what)
{
    struct delivery *row = &w->store.deliveries[d];

    TRACE(w, "a person: %s delivery %d.%d", what, d / CHILDREN, d % CHILDREN);
    TOUCH(w, *row);
    if (delivery_system(w, d)->ordered &&
        (row->state == DELIVERY_IN_DOUBT || row->turn == TURN_NONE))
        row->turn = TURN_WAITS; /* at its old place */
    row->state = to;
    row->due_us = row->first_us = row->attempts = row->asked = 0;
    row->intent = false;
    w->watch[d].not_before_us = 0;
    if (delivery_is_over(to))
        store_leave(w, d);
    store_commit(w, NULL);
}

static void look_at(struct world *w, int d)
{
    const struct delivery *row = &w->store.deliveries[d];

    if (row->claim.token != 0)
        return; /* being sent: refused */
    if (row->state == DELIVERY_IN_DOUBT && world_luck(w, 50)) {
        w->watch[d].resends++;
        decide(w, d, DELIVERY_READY, "resolve --resend");
    } else if (row->state == DELIVERY_IN_DOUBT) {
        w->watch[d].resolved = true;
        decide(w, d, DELIVERY_DELIVERED, "resolve --delivered");
    } else if (row->state == DELIVERY_DEAD) {
        bool again = world_luck(w, 70);

        decide(w, d, again ? DELIVERY_READY : DELIVERY_CANCELLED, again ? "retry" : "discard");
    } else if (!row->intent && !w->draining && world_luck(w, 2)) {
        decide(w, d, DELIVERY_CANCELLED, "cancel");
    }
}

static void look_at_all(struct world *w, int percent)
{
    struct store *s = &w->store;
    int all[DELIVERIES_MOST], count = s->order_count;

    for (int i = 0; i < count; i++)
        all[i] = s->order[i];
    for (int i = 0; i < count; i++)
        if (world_luck(w, percent))
            look_at(w, all[i]);
}

void people_act(struct world *w)
{
    if (w->draining) {
        look_at_all(w, 100);
        jobs_see_to(w);
        world_push(w, 2 * S, EV_PEOPLE, -1, 0, 0);
        return;
    }
    switch (world_pick(w, 5)) {
    case 0:
    case 1:
        add_hold(w);
        return;
    case 2:
        end_hold(w, world_pick(w, HOLDS_MOST));
        return;
    case 3:
        pause_node(w, world_pick(w, w->node_count), world_luck(w, 50));
        return;
    default:
        look_at_all(w, 50);
        return;
    }
}

/* From here on there is no trouble and no reason to wait. */
void people_drain(struct world *w)
{
    TRACE(w, "all is well from here on");
    w->draining = true;
    for (int i = 0; i < w->store.hold_count; i++)
        end_hold(w, i);
    for (int i = 0; i < w->node_count; i++) {
        struct node *n = &w->nodes[i];

        pause_node(w, i, false);
        if (n->frozen_until_us > w->now_us + 1 * S)
            n->frozen_until_us = w->now_us + 1 * S;
        n->cut_until_us = 0;
    }
    for (int i = 0; i < SYSTEMS; i++) {
        w->systems[i].ill = 0;
        w->systems[i].windowed = false;
    }
    jobs_drain(w);
    world_push(w, 2 * S, EV_PEOPLE, -1, 0, 0);
}
