/* Runs of a table of a link: load, follow, stop, go on. */
#include "base/clock.h"
#include "core/call.h"
#include "link_scene.h"

TEST(all_rows_are_loaded_and_changes_follow)
{
    CHECK(load(1000) && state.load_rows == 1000 && state.load_total == 1000);
    CHECK(fake_dest.now.mark.phase == MARK_FOLLOW && done.batches > 5 && done.written == 1000);
    fake_put(&fake_source, 5, "five");
    fake_put(&fake_source, 5000, "new");
    CHECK(fake_remove(&fake_source, 7));
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && !done.more && done.moved);
    CHECK(done.written == 2 && done.removed == 1);
    CHECK(is_current() && !done.moved);
}

/* A connection outlives the run that has opened it. */
TEST(connections_that_are_kept_work_for_the_run_that_has_them)
{
    struct call one = { 0 }, other = { 0 };

    call = &one;
    CHECK(load(3) && fake_source.lent == &one && fake_dest.lent == &one);
    struct side *source = &kept.idle->source, *dest = &kept.idle->dest;

    CHECK(source->db->call == NULL && dest->db->call == NULL);
    call = &other;
    fake_put(&fake_source, 1, "newer");
    CHECK(is_current() && fake_source.lent == &other && fake_dest.lent == &other);
    CHECK(&kept.idle->source == source && source->db->call == NULL && dest->db->call == NULL);
    call = NULL;
}

TEST(a_key_that_changes_is_a_row_that_goes_and_one_that_comes)
{
    CHECK(load(3));
    CHECK(fake_remove(&fake_source, 2));
    fake_put(&fake_source, -2, "name of 2");
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
    CHECK(strcmp(fake_name(&fake_dest, -2), "name of 2") == 0);
}

TEST(rows_that_the_source_has_not_are_swept)
{
    begin();
    fill(&fake_source, 1, 100);
    fill(&fake_dest, 95, 10);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && state.removed == 4);
}

/* proves: RP5 */
TEST(what_may_still_change_is_waited_for)
{
    CHECK(load(3));
    fake_put(&fake_source, 1, "first");
    fake_source.held_x = fake_source.now.x + 1;
    fake_put(&fake_source, 2, "second");
    CHECK(is_current() && strcmp(fake_name(&fake_dest, 1), "first") == 0);
    CHECK(strcmp(fake_name(&fake_dest, 2), "name of 2") == 0);
    fake_source.held_x = 0;
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

TEST(too_many_deletions_are_asked_for)
{
    CHECK(load(100));
    for (int i = 1; i <= 20; i++)
        CHECK(fake_remove(&fake_source, i));
    CHECK(stops(LINK_DELETES) && fake_dest.now.count == 100);
    CHECK(strstr(state.message, "waybill repl go-on a-b/t") != NULL && state.since_us == 1000);
    now_us = 2000;
    CHECK(stops(LINK_DELETES) && state.since_us == 1000);
    order(REPLICA_GO_ON);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && fake_orders[REPLICA_GO_ON] == 0);
    CHECK(state.deletes_allowed == 0 && state.since_us == 2000);
    for (int i = 21; i <= 40; i++)
        CHECK(fake_remove(&fake_source, i));
    CHECK(stops(LINK_DELETES)); /* it was for once */
}

/* The run that was allowed to go on dies: what it has done is done, what its state says is lost. */
TEST(a_person_says_go_on_once_also_if_the_run_dies)
{
    struct link_state before;

    CHECK(load(100));
    for (int i = 1; i <= 20; i++)
        CHECK(fake_remove(&fake_source, i));
    CHECK(stops(LINK_DELETES));
    order(REPLICA_GO_ON);
    before = state;
    fake_dest.lose_answer = true;
    CHECK(!run_with(++fence) && err.kind == ERR_UNCERTAIN && fake_orders[REPLICA_GO_ON] != 0);
    state = before;
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && fake_orders[REPLICA_GO_ON] == 0);
}

/* Rows that are not there are no deletions. */
TEST(what_is_gone_already_is_not_counted)
{
    CHECK(load(100));
    for (int i = 1; i <= 20; i++) {
        CHECK(fake_remove(&fake_source, i));
        CHECK(fake_remove(&fake_dest, i));
    }
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

TEST(a_row_that_is_refused_is_set_aside_and_tried_again)
{
    CHECK(load(100));
    fake_dest.refused = 50;
    for (int i = 40; i < 60; i++)
        fake_put(&fake_source, i, "other");
    CHECK(is_current() && state.set_aside == 1 && fake_aside_count == 1);
    CHECK(strcmp(fake_aside[0].kind, "refused") == 0 &&
          fake_key_id(str_mem(fake_aside[0].key, fake_aside[0].key_len)) == 50);
    CHECK(strcmp(fake_aside[0].why, "a rule of its own") == 0 && fake_aside[0].tries == 1);
    CHECK(strcmp(fake_name(&fake_dest, 49), "other") == 0 &&
          strcmp(fake_name(&fake_dest, 50), "name of 50") == 0);
    CHECK(is_current() && fake_aside[0].tries == 1); /* not due */
    now_us += 60 * (int64_t)CLOCK_S;
    CHECK(is_current() && fake_aside[0].tries == 2 && state.set_aside == 1);
    fake_dest.refused = 0;
    now_us += 120 * (int64_t)CLOCK_S;
    CHECK(is_current() && state.set_aside == 0 && fake_aside_count == 0);
    CHECK(fake_same(&fake_source, &fake_dest));
}

TEST(a_newer_image_takes_its_place_or_resolves_it)
{
    CHECK(load(10));
    fake_dest.refused = 5;
    fake_put(&fake_source, 5, "bad");
    CHECK(is_current() && fake_aside_count == 1);
    fake_put(&fake_source, 5, "still bad");
    CHECK(is_current() && fake_aside_count == 1 && fake_aside[0].tries == 2);
    fake_dest.refused = 0;
    fake_put(&fake_source, 5, "good");
    CHECK(is_current() && fake_aside_count == 0 && fake_same(&fake_source, &fake_dest));
}

TEST(one_that_is_gone_at_the_source_is_removed)
{
    CHECK(load(10));
    fake_dest.refused = 5;
    fake_put(&fake_source, 5, "bad");
    CHECK(is_current() && fake_aside_count == 1);
    fake_source.journals = false; /* the retry comes before the journal knows */
    CHECK(fake_remove(&fake_source, 5));
    fake_source.journals = true;
    now_us += 60 * (int64_t)CLOCK_S;
    CHECK(is_current() && fake_aside_count == 0 && fake_same(&fake_source, &fake_dest));
}

TEST(a_row_that_cannot_travel_is_set_aside)
{
    CHECK(load(10));
    fake_put(&fake_source, 5, "\xff");
    fake_put(&fake_source, 6, "six");
    CHECK(is_current() && fake_aside_count == 1 && strcmp(fake_aside[0].kind, "source") == 0);
    CHECK(strcmp(fake_name(&fake_dest, 6), "six") == 0);
    now_us += 60 * (int64_t)CLOCK_S;
    CHECK(is_current() && fake_aside_count == 1 && fake_aside[0].tries == 2);
    fake_source.journals = false;
    fake_put(&fake_source, 5, "five");
    now_us += 120 * (int64_t)CLOCK_S;
    CHECK(is_current() && fake_aside_count == 0 && fake_same(&fake_source, &fake_dest));
}

/* What the state says is lost with the run; the store knows. */
TEST(a_run_that_dies_forgets_no_row_that_is_set_aside)
{
    struct link_state before;

    CHECK(load(10));
    before = state;
    fake_dest.refused = 5;
    fake_put(&fake_source, 5, "bad");
    CHECK(is_current() && fake_aside_count == 1);
    state = before;
    fake_dest.refused = 0;
    now_us += 60 * (int64_t)CLOCK_S;
    CHECK(is_current() && fake_aside_count == 0 && fake_same(&fake_source, &fake_dest));
}

TEST(with_too_many_set_aside_it_stops_until_they_are_fewer)
{
    CHECK(load(10));
    for (int i = 1; i <= 4; i++)
        fake_put(&fake_source, i, "\xff");
    CHECK(stops(LINK_QUARANTINE) && fake_aside_count == 4);
    CHECK(strstr(state.message, "4 rows") &&
          strstr(state.message, "waybill repl quarantine a-b/t"));
    fake_put(&fake_source, 9, "nine");
    CHECK(stops(LINK_QUARANTINE) && strcmp(fake_name(&fake_dest, 9), "nine") != 0);
    fake_aside[0].discarded = true;
    fake_put(&fake_source, 1, "one"); /* else the same rows are set aside again */
    CHECK(is_current() && strcmp(fake_name(&fake_dest, 9), "nine") == 0);
}

TEST(an_older_run_may_not_write_any_more)
{
    CHECK(load(10));
    fake_put(&fake_source, 5, "five");
    fake_dest.now.mark.fence = fence + 10;
    CHECK(!run_with(++fence) && err.kind == ERR_TRANSIENT);
    CHECK(strcmp(fake_name(&fake_dest, 5), "five") != 0);
    fence += 10;
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

/* proves: RP3 SC10 */
TEST(an_answer_that_was_lost_changes_nothing_twice)
{
    CHECK(load(10));
    fake_put(&fake_source, 5, "five");
    fake_dest.lose_answer = true;
    CHECK(!run_with(++fence) && err.kind == ERR_UNCERTAIN);
    size_t upserts = fake_dest.upserts;

    CHECK(is_current() && fake_dest.upserts == upserts && fake_same(&fake_source, &fake_dest));
}

TEST(a_load_goes_on_where_it_was)
{
    struct fake_tables early;

    begin();
    fill(&fake_source, 1, 2000);
    fake_dest.lose_answer = true; /* of the mark of the load */
    CHECK(!run_with(++fence) && fake_dest.now.has_mark);
    fake_dest.lose_answer = true; /* of its first piece */
    CHECK(!run_with(++fence) && fake_dest.now.count > 0 && fake_dest.now.count < 2000);
    early = fake_dest.now;
    fake_put(&fake_source, 1, "changed meanwhile");
    CHECK(fake_remove(&fake_source, 2));
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && fake_dest.upserts < 2100);
    fake_dest.now = early; /* it is put back to an older copy */
    fake_put(&fake_source, 3, "three");
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
    memset(&fake_dest.now, 0, sizeof fake_dest.now); /* it is made anew */
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

TEST(a_source_that_was_put_back_stops_it)
{
    struct fake_tables early;

    CHECK(load(10));
    fake_put(&fake_source, 5, "five");
    CHECK(is_current());
    early = fake_source.now;
    fake_put(&fake_source, 5, "lost");
    fake_put(&fake_source, 6, "lost");
    CHECK(is_current());
    fake_source.now = early;
    CHECK(stops(LINK_SRC_REWOUND) && strstr(state.message, "waybill repl resync") != NULL);
    for (int i = 0; i < 50; i++)
        fake_put(&fake_source, 8, "eight"); /* its numbers grow beyond the place */
    CHECK(stops(LINK_SRC_REWOUND));
    order(REPLICA_GO_ON);
    CHECK(stops(LINK_SRC_REWOUND) && fake_orders[REPLICA_GO_ON] == 0);
    CHECK(strstr(state.message, "nothing to go on from") != NULL);
    order(REPLICA_RESYNC);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && fake_orders[REPLICA_RESYNC] == 0);
}

TEST(another_server_takes_over)
{
    CHECK(load(10));
    fake_put(&fake_source, 5, "five");
    CHECK(is_current());
    fake_source.epoch = "two";
    fake_put(&fake_source, 6, "six");
    CHECK(stops(LINK_SRC_REWOUND) && strstr(state.message, "go-on") != NULL);
    fake_source.now.journal[fake_source.now.changes - 1].x = 2; /* it counts from below the place */
    order(REPLICA_GO_ON);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && fake_orders[REPLICA_GO_ON] == 0);
    CHECK(strcmp(fake_dest.now.epoch, "two") == 0);
}

TEST(one_that_is_behind_is_not_gone_on_from)
{
    CHECK(load(10));
    fake_put(&fake_source, 5, "five");
    CHECK(is_current());
    fake_source.epoch = "two";
    fake_source.now.x = 3;
    order(REPLICA_GO_ON);
    CHECK(stops(LINK_SRC_REWOUND) && fake_orders[REPLICA_GO_ON] == 0);
    CHECK(strstr(state.message, "only resync helps") != NULL);
    order(REPLICA_RESYNC);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

TEST(a_table_that_was_emptied_as_a_whole_stops_it)
{
    CHECK(load(10));
    fake_source.life = "second";
    fake_source.now.count = 0;
    fill(&fake_source, 3, 2);
    CHECK(stops(LINK_TRUNCATED) && fake_dest.now.count == 10);
    order(REPLICA_GO_ON);
    CHECK(stops(LINK_TRUNCATED) && fake_orders[REPLICA_GO_ON] == 0 && fake_dest.now.count == 10);
    order(REPLICA_RESYNC);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

TEST(all_rows_come_again_if_a_person_wants)
{
    CHECK(load(20));
    fake_dest.refused = 5;
    fake_put(&fake_source, 5, "bad");
    CHECK(is_current() && fake_aside_count == 1);
    fake_dest.refused = 0;
    fake_put(&fake_dest, 6, "other");
    fake_put(&fake_dest, 100, "extra");
    order(REPLICA_RESYNC);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && fake_aside_count == 0);
    CHECK(fake_orders[REPLICA_RESYNC] == 0 && state.set_aside == 0);
}

/* It dies when the load has begun: the order is carried out again. */
TEST(an_order_of_a_run_that_dies_is_carried_out_again)
{
    CHECK(load(20));
    fake_put(&fake_dest, 6, "other");
    order(REPLICA_RESYNC);
    fake_dest.lose_answer = true;
    CHECK(!run_with(++fence) && fake_dest.now.mark.phase == MARK_LOAD_OVER);
    CHECK(fake_orders[REPLICA_RESYNC] != 0);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && fake_orders[REPLICA_RESYNC] == 0);
}

TEST(an_order_without_a_cause_goes)
{
    CHECK(load(3));
    order(REPLICA_GO_ON);
    CHECK(is_current() && fake_orders[REPLICA_GO_ON] == 0);
    CHECK(strstr(state.message, "nothing to go on from") != NULL);
    CHECK(is_current() && state.message[0] == '\0');
}

TEST(without_its_triggers_nothing_is_read)
{
    CHECK(load(3));
    fake_source.capture = CAPTURE_IS_MISSING;
    fake_put(&fake_source, 1, "one");
    CHECK(stops(LINK_TRIGGER) && strstr(state.message, "a trigger is gone") != NULL);
    fake_source.capture = CAPTURE_IS_FINE;
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

/* A transaction that was open when the load began has a smaller number than others that it saw. */
TEST(what_is_open_during_a_load_is_not_missed)
{
    begin();
    fill(&fake_source, 1, 5);
    int64_t x = ++fake_source.now.x;

    fake_source.held_x = x;
    fake_put(&fake_source, 6, "six");
    CHECK(is_current());
    fake_put(&fake_source, 2, "late"); /* it commits */
    fake_find(fake_source.now.journal, fake_source.now.changes, 2)->x = x;
    fake_source.held_x = 0;
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

/* A batch of somebody else, such as a repair, that does not move the place. */
static void some_repair(void)
{
    fake_dest.now.mark.batches++;
    fake_dest.now.mark.at_us = 1;
}

TEST(what_another_batch_came_before_is_not_taken_for_written)
{
    CHECK(load(10));
    fake_dest.refused = 5;
    fake_put(&fake_source, 5, "bad");
    CHECK(is_current() && fake_aside_count == 1);
    fake_dest.refused = 0;
    now_us += 60 * (int64_t)CLOCK_S;
    fake_source.meanwhile = some_repair;
    CHECK(is_current() && fake_source.meanwhile == NULL && fake_aside_count == 1);
    CHECK(is_current() && fake_aside_count == 0 && fake_same(&fake_source, &fake_dest));
}

TEST(an_order_that_was_not_carried_out_stays)
{
    CHECK(load(10));
    fake_put(&fake_dest, 6, "other");
    order(REPLICA_RESYNC);
    fake_source.meanwhile = some_repair;
    CHECK(is_current() && fake_source.meanwhile == NULL && fake_orders[REPLICA_RESYNC] != 0);
    CHECK(is_current() && fake_orders[REPLICA_RESYNC] == 0 && fake_same(&fake_source, &fake_dest));
}

TEST(deletions_that_are_not_known_any_more_stop_it)
{
    CHECK(load(3));
    fake_put(&fake_source, 4, "four");
    CHECK(is_current());
    (void)fake_remove(&fake_source, 1);
    fake_source.pruned = fake_source.now.x; /* as if it had been long ago */
    fake_put(&fake_source, 5, "five");
    CHECK(stops(LINK_SRC_REWOUND) && strstr(state.message, "30 days behind") != NULL);
    CHECK(strcmp(fake_name(&fake_dest, 5), "") == 0); /* nothing is written */
    order(REPLICA_RESYNC);
    CHECK(is_current() && is_current() && fake_same(&fake_source, &fake_dest));
    /* What it has read is no harm, nor that the journal has its place no more. */
    (void)fake_remove(&fake_source, 2);
    CHECK(is_current());
    fake_source.pruned = fake_source.now.x;
    for (size_t i = 0; i < fake_source.now.changes; i++)
        if (fake_source.now.journal[i].gone)
            fake_source.now.journal[i--] = fake_source.now.journal[--fake_source.now.changes];
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
    fake_put(&fake_source, 6, "six");
    CHECK(is_current() && fake_same(&fake_source, &fake_dest));
}

TEST(a_destination_that_was_put_back_knows_less_of_old_deletions)
{
    CHECK(load(5));
    fake_put(&fake_source, 6, "six");
    CHECK(is_current());
    const struct fake_tables old = fake_dest.now;

    (void)fake_remove(&fake_source, 1);
    fake_source.pruned = fake_source.now.x;
    fake_put(&fake_source, 7, "seven");
    order(REPLICA_RESYNC);
    CHECK(is_current() && is_current() && fake_same(&fake_source, &fake_dest));
    fake_dest.now = old;
    CHECK(stops(LINK_SRC_REWOUND));
    order(REPLICA_RESYNC);
    CHECK(is_current() && is_current() && fake_same(&fake_source, &fake_dest));
}

TEST(a_deadlock_makes_the_next_batch_smaller)
{
    CHECK(load(3));
    fake_dest.held = 2;
    fill(&fake_source, 10, 20);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && state.rows_most > 0 &&
          state.rows_most <= 3);
    fake_dest.held = 0;
    fill(&fake_source, 40, 20);
    CHECK(is_current() && fake_same(&fake_source, &fake_dest) && state.rows_most > 3);
}

TEST(a_journal_is_pruned_once_an_hour)
{
    CHECK(load(3));
    now_us += INT64_C(3600) * CLOCK_S;
    CHECK(is_current());
    int64_t before = fake_source.prunes;

    CHECK(before > 0 && is_current() && fake_source.prunes == before && state.prune_denied == 0);
    now_us += INT64_C(3600) * CLOCK_S;
    fake_source.no_prune = true;
    CHECK(is_current() && fake_source.prunes == before + 1 && state.prune_denied == 1);
    CHECK(is_current() && fake_source.prunes == before + 1);
    now_us += INT64_C(3600) * CLOCK_S;
    fake_source.no_prune = false;
    CHECK(is_current() && fake_source.prunes == before + 2 && state.prune_denied == 0);
}

int main(void)
{
    return link_tests();
}
