/* receiver.c - what happens to a request on its way, and what the receiver makes of it.
 *
 * A connection carries a request once: one that is doubled is seen as such.  What is sent anew
 * is another request; a receiver that remembers keys takes each delivery once.  See sim.h. */
#include "base/require.h"
#include "sim.h"

enum fate {
    FATE_WELL,
    FATE_UNREACHED,
    FATE_LOST,        /* the request */
    FATE_ANSWER_LOST, /* it was taken */
    FATE_LATE,        /* its answer comes when nobody waits any more */
    FATE_SLOW,        /* it arrives, and is answered, just within its time */
    FATE_CUT,         /* the connection, before it arrives */
    FATE_DOUBLED,     /* request and answer */
    FATE_BUSY,        /* not now */
    FATE_REJECTED,
    FATE_ERROR, /* taken, or not */
    FATE_CREDENTIAL,
    FATES
};

static enum fate fate_of(struct world *w, int system)
{
    int ill = w->systems[system].ill;

    if (!world_luck(w, ill))
        return world_luck(w, 5) && !w->draining ? FATE_DOUBLED : FATE_WELL;
    enum fate f = (enum fate)(1 + world_pick(w, FATES - 1));

    /* What is never taken is rare. */
    return (f == FATE_REJECTED || f == FATE_CREDENTIAL) && world_luck(w, 60) ? FATE_BUSY : f;
}

static void push(struct world *w, int64_t in_us, enum event_kind kind, int send)
{
    const struct send *s = &w->sends[send];
    struct event e = { .at_us = w->now_us + in_us,
                       .order = ++w->event_order,
                       .kind = kind,
                       .node = kind == EV_ARRIVE ? -1 : s->node,
                       .life = s->life,
                       .a = send };

    queue_push(w, &e);
}

static void set_answer(struct world *w, struct send *s, enum fate f)
{
    static const enum verdict_kind says[FATES] = { [FATE_UNREACHED] = VERDICT_UNREACHED,
                                                   [FATE_BUSY] = VERDICT_RETRY,
                                                   [FATE_REJECTED] = VERDICT_REJECTED,
                                                   [FATE_ERROR] = VERDICT_DOUBT,
                                                   [FATE_CREDENTIAL] = VERDICT_CREDENTIAL };

    s->verdict = f == FATE_CUT ? VERDICT_DELIVERED : says[f];
    s->takes = s->verdict == VERDICT_DELIVERED || (f == FATE_ERROR && world_luck(w, 50));
    s->answers = f != FATE_ANSWER_LOST && f != FATE_CUT;
}

static void on_its_way(struct world *w, int send, enum fate f)
{
    if (f == FATE_UNREACHED) {
        push(w, world_between(w, 1 * MS, 100 * MS), EV_TOLD, send);
        return;
    }
    int64_t longest_us = delivery_system(w, w->sends[send].delivery)->timeout_us;

    push(w, f == FATE_CUT ? world_between(w, 1 * MS, 60 * MS) : longest_us, EV_GIVEUP, send);
    if (f == FATE_LOST || (f == FATE_CUT && world_luck(w, 50)))
        return;
    push(w, world_between(w, 1 * MS, f == FATE_SLOW ? longest_us : 150 * MS), EV_ARRIVE, send);
    if (f == FATE_DOUBLED)
        push(w, world_between(w, 1 * MS, 150 * MS), EV_ARRIVE, send);
}

void receiver_send(struct world *w, int node, int task, bool ask)
{
    static const char *const names[FATES] = { "well",        "unreached",      "lost",
                                              "answer lost", "answer late",    "slow",
                                              "cut",         "doubled",        "refuse",
                                              "rejected",    "internal error", "credential" };
    struct task *j = &w->nodes[node].tasks[task];
    enum fate f = fate_of(w, delivery_target(w, j->delivery)->system);
    int send = w->send_count++ % SENDS_MOST;
    struct send *s = &w->sends[send];

    *s = (struct send){ .delivery = j->delivery,
                        .node = node,
                        .task = task,
                        .life = w->nodes[node].life,
                        .serial = j->serial,
                        .ask = ask };
    j->send = send;
    set_answer(w, s, f);
    TRACE(w, "node %d %s delivery %d.%d (%s)", node, ask ? "asks about" : "sends",
          j->delivery / CHILDREN, j->delivery % CHILDREN, names[f]);
    on_its_way(w, send, f);
    if (f == FATE_LATE)
        s->answers = false; /* whoever waits has given up, and gets nothing from it */
}

/* It is true to what it has. */
static void hear_question(struct world *w, struct send *s)
{
    if (s->verdict == VERDICT_DELIVERED && w->watch[s->delivery].effects == 0) {
        s->verdict = VERDICT_RETRY;
        w->watch[s->delivery].missing++;
    } else if (s->verdict == VERDICT_RETRY) {
        s->verdict = VERDICT_UNREACHED; /* not now: nobody could be asked */
    }
}

static void take(struct world *w, int send)
{
    const struct send *s = &w->sends[send];
    struct watch *watch = &w->watch[s->delivery];

    watch->arrivals++;
    if (!delivery_system(w, s->delivery)->remembers || watch->effects == 0)
        watch->effects++;
    TRACE(w, "system %d takes delivery %d.%d%s", delivery_target(w, s->delivery)->system,
          s->delivery / CHILDREN, s->delivery % CHILDREN,
          watch->arrivals > 1 ? ", which it had" : "");
    check_arrival(w, send);
}

void receiver_arrive(struct world *w, int send)
{
    struct send *s = &w->sends[send];

    if (!s->arrived) {
        s->arrived = true;
        if (s->ask)
            hear_question(w, s);
        else if (s->takes)
            take(w, send);
    }
    if (s->answers)
        push(w, world_between(w, 1 * MS, 150 * MS), EV_TOLD, send);
}
