/* The slots of a system that this node may fill, while other nodes want some, too.  The test is the
 * store. */
#include "store/govern/allot.h"

#include "engine/dispatch/field.h"

enum { SLOTS = 2 /* of hub */, TURN = 6 /* looks */ };

static struct allot_op *asked;

static void on_allot(void *arg, struct allot_op *op)
{
    (void)arg;
    asked = op;
}

static void grant(int64_t n)
{
    struct allot_op *op = asked;

    asked = NULL;
    op->op.ok = true;
    op->granted = n;
    op->op.done(&op->op);
}

/* One of several nodes. */
static struct field *node_new(void)
{
    struct field *f = field_new();

    asked = NULL;
    dispatch_free(f->dispatch);
    f->dispatch = dispatch_new(
        f->govern, &(struct dispatch_calls){
                       .changed = on_changed, .hungry = on_hungry, .allot = on_allot, .arg = f });
    dispatch_use(f->dispatch, f->plan);
    return f;
}

/* What all nodes hold of the slots, and how many others want some or have none. */
static void look(struct field *f, int64_t total, int64_t wanting, int64_t waiting)
{
    struct allotted all = { .system = word(f, NAME_SYSTEM, "hub"),
                            .total = total,
                            .wanting = wanting,
                            .waiting = waiting };

    dispatch_allot(f->dispatch, &all, 1);
}

static struct leg *begun(struct field *f)
{
    struct dispatch_next next;

    dispatch_due(f->dispatch, 0, &next);
    return next.begin;
}

/* A node that sends all the time: `held` slots, and as many legs in progress; more wait. */
static struct leg *busy(struct field *f, int64_t held)
{
    for (int i = 0; i < 8; i++)
        (void)offer(f, leg(f, "hub", "one"), NULL);
    if (asked == NULL || asked->upto != SLOTS || !asked->wants)
        return NULL;
    grant(held);
    return begun(f);
}

TEST(a_node_alone_keeps_its_slots)
{
    struct field *f = node_new();

    CHECK(count(busy(f, SLOTS)) == SLOTS);
    for (int i = 0; i < 3 * TURN; i++) {
        look(f, SLOTS, 0, 0);
        CHECK(asked == NULL);
    }
    field_free(f);
}

/* Rounded up, the parts of two busy nodes would leave nothing for the third. */
TEST(a_node_that_has_none_gets_one_from_those_that_have_more)
{
    struct field *f = node_new();

    CHECK(count(busy(f, SLOTS)) == SLOTS);
    look(f, SLOTS, 1, 1);
    CHECK(asked != NULL && asked->upto == 1 && asked->keep == SLOTS); /* both are in use */
    grant(SLOTS);
    field_free(f);
}

/* More nodes than slots: a node that is always busy gives its only one back when it had its turn.
 */
TEST(slots_go_round)
{
    struct field *f = node_new();
    struct leg *sent = busy(f, 1);
    int looks = 0;

    CHECK(count(sent) == 1);
    while (sent != NULL) { /* it goes on sending until its turn is over */
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
        look(f, SLOTS, SLOTS, 1);
        if (asked != NULL)
            grant(1);
        sent = end(f, sent, VERDICT_DELIVERED).begin;
        CHECK(++looks < 2 * TURN);
    }
    CHECK(looks >= TURN);
    CHECK(offer(f, leg(f, "hub", "one"), NULL) != DISPATCH_BEGIN && asked == NULL);
    look(f, SLOTS, SLOTS, 1);
    CHECK(asked != NULL && asked->keep == 0 && asked->upto == 0 && asked->wants);
    grant(0);
    look(f, SLOTS - 1, SLOTS, 1); /* it stands in line again: the store says when */
    CHECK(asked != NULL && asked->upto == 1 && asked->wants);
    grant(1);
    CHECK(count(begun(f)) == 1);
    look(f, SLOTS, SLOTS, 1);
    CHECK(asked == NULL || asked->upto > 0); /* a new turn */
    field_free(f);
}

int main(void)
{
    return test_main();
}
