/* orders.c - what people have said to a table of a link: all rows again, or go on (replicating.h).
 *
 * An order goes after it was carried out, so a run that dies in between carries it out again.  One
 * for which there is nothing to do goes with a note.
 */
#include <stdio.h>

#include "link/replication.h"
#include "store/replica/replica_order.h"
#include "store/replica/set_aside.h"

static bool order_drop(struct replication *p, int64_t id, struct err *err)
{
    return replica_order_drop(p->r->store, id, err) || err_context(err, "the order");
}

/* ---- all rows again ---- */

/* What is set aside goes first: if the run dies then, the order is still there, and so are the
 * rows, at the source. */
static bool order_resync(struct replication *p, int64_t id, struct err *err)
{
    bool begun;

    if (!set_aside_drop_all(p->r->store, p->r->spec->link, p->r->spec->table, err) ||
        !replication_load_begin(p, &begun, err))
        return false;
    p->s->set_aside = 0;
    return !begun || order_drop(p, id, err);
}

/* ---- go on ---- */

/* A limit is off until the table is current.  That stands in the state, which is stored with the
 * end of the run: only the next run that reads it takes the order away. */
static bool order_allow(struct replication *p, int64_t *allowed, int64_t id, struct err *err)
{
    if (*allowed == id)
        return order_drop(p, id, err);
    *allowed = id;
    p->go_on = id;
    return true;
}

static bool order_refuse(struct replication *p, int64_t id, const char *why, struct err *err)
{
    (void)snprintf(p->note, sizeof p->note, "go-on: %s. ", why);
    return order_drop(p, id, err);
}

/* The source has another history: another server has taken over.
 *
 * Which changes the destination has seen of the new history cannot be told from numbers: where the
 * new one begins to count is not known, and changes of it that have smaller numbers than the place
 * would be missed.  So it is not gone on from the place, but the journal is followed once more from
 * its beginning: it has one row for each key that was ever changed, whatever its number, and a row
 * that is written again does no harm.  Rows that only the old history had stay at the destination;
 * that is what the person has looked at (waybill repl verify).
 *
 * It is not offered where the source counts below the place: then the journal may have rows with
 * numbers that are not final for long.  Nor where the table has another life: what was emptied is
 * in no journal.  A column is no number of the server: there the place holds. */
static bool order_adopt(struct replication *p, int64_t id, struct err *err)
{
    struct side *s = p->source;
    struct ceiling c;
    bool put;

    if (!str_eq(p->mark.life, p->look.life))
        return order_refuse(p, id, "the table was emptied or made anew, too; only resync helps",
                            err);
    if (!side_ceiling(s, &c, err))
        return err_context(err, "source");
    if (s->capture.kind == CAPTURE_JOURNAL && c.now_x < p->mark.place.x)
        return order_refuse(p, id,
                            "the source is behind the destination, and changes would be missed; "
                            "only resync helps",
                            err);
    struct mark to = replication_next(p);

    p->s->known_x = c.now_x; /* what was removed long ago was removed there, too */
    p->s->known_batches = to.batches;
    to.epoch = p->look.epoch;
    to.place = (struct change_place){ .key = STR("") };
    if (s->capture.kind != CAPTURE_JOURNAL)
        to.place.x = p->mark.place.x < c.below ? p->mark.place.x : c.below;
    return replication_put(p, STR(""), &to, NULL, 0, &put, err) && (!put || order_drop(p, id, err));
}

static bool order_go_on(struct replication *p, int64_t id, struct err *err)
{
    if (p->has_mark && !str_eq(p->mark.epoch, p->look.epoch))
        return order_adopt(p, id, err);
    if (p->has_mark && !str_eq(p->mark.life, p->look.life))
        return order_refuse(p, id, "it would keep rows that the source has not; only resync helps",
                            err);
    if (p->s->reason == LINK_DELETES || p->s->deletes_allowed == id)
        return order_allow(p, &p->s->deletes_allowed, id, err);
    if (p->s->reason == LINK_CLOCK || p->s->clock_allowed == id)
        return order_allow(p, &p->s->clock_allowed, id, err);
    return order_refuse(p, id, "there was nothing to go on from", err);
}

/* ---- both ---- */

bool replication_take_orders(struct replication *p, struct err *err)
{
    const struct link_spec *spec = p->r->spec;
    struct replica_order order;
    bool has;

    if (!replica_order_get(p->r->store, REPLICA_RESYNC, spec->link, spec->table, p->r->arena, &has,
                           &order, err))
        return false;
    if (has && !order_resync(p, order.id, err))
        return false;
    if (replication_stopped(p) || !replica_order_get(p->r->store, REPLICA_GO_ON, spec->link,
                                                     spec->table, p->r->arena, &has, &order, err))
        return replication_stopped(p);
    return !has || order_go_on(p, order.id, err);
}

bool replication_end_orders(struct replication *p, struct err *err)
{
    char message[LINK_MESSAGE_MOST + 1];

    if (p->note[0] != '\0') {
        (void)snprintf(message, sizeof message, "%s%.*s", p->note,
                       (int)(LINK_MESSAGE_MOST - sizeof p->note), p->s->message);
        (void)snprintf(p->s->message, sizeof p->s->message, "%s", message);
    }
    /* The limit is on again: what was allowed is done. */
    return p->go_on == 0 || p->s->deletes_allowed == p->go_on || p->s->clock_allowed == p->go_on ||
           order_drop(p, p->go_on, err);
}
