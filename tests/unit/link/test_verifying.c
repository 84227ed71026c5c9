/* Passes of verification over two tables in memory: what is planted is found, and nothing else. */
#include "link/verifying.h"

#include "test.h"
#include "verify_scene.h"

TEST(a_table_that_is_the_same_is_ok)
{
    struct scene s;

    scene_begin(&s, 3000);
    CHECK(scene_pass(&s));
    CHECK(s.done.pass.result == PASS_OK);
    CHECK(s.done.pass.segments == 4); /* the last one begins behind the last row */
    CHECK(s.done.pass.rows_source == 3000 && s.done.pass.rows_dest == 3000);
    CHECK(strcmp(s.message, "ok: 3 000 rows in 4 segments") == 0);
    CHECK(fake_store.finding_count == 0 && fake_dest.written == 0);
    CHECK(fake_store.passes[0].result == PASS_OK && fake_store.passes[0].ended_us > 0);
    scene_end(&s);
}

TEST(empty_tables_are_ok_and_an_empty_source_has_extra_rows)
{
    struct scene s;

    scene_begin(&s, 0);
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_OK);
    fake_plant(&fake_dest, 7, "a row");
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_DIVERGED);
    CHECK(s.done.pass.extra == 1 && scene_found(7, FINDING_EXTRA, FINDING_CONFIRMED));
    scene_end(&s);
}

static void plant_all(void)
{
    fake_plant(&fake_dest, 100, NULL);
    fake_plant(&fake_dest, 301, "nobody knows it");
    fake_plant(&fake_dest, 2000, "row 2000 "); /* the last of a segment */
    fake_plant(&fake_dest, 2001, "between segments");
    fake_plant(&fake_dest, 500, "row 502"); /* two that are swapped */
    fake_plant(&fake_dest, 502, "row 500");
    for (int64_t id = 4000; id < 4200; id += 2) /* a range that is gone */
        fake_plant(&fake_dest, id, NULL);
    fake_plant(&fake_dest, 7001, "behind the last key");
}

static bool found_all(enum finding_state state)
{
    for (int64_t id = 4000; id < 4200; id += 2)
        if (!scene_found(id, FINDING_MISSING, state))
            return false;
    return scene_found(100, FINDING_MISSING, state) && scene_found(301, FINDING_EXTRA, state) &&
           scene_found(2000, FINDING_DIFFERENT, state) && scene_found(2001, FINDING_EXTRA, state) &&
           scene_found(500, FINDING_DIFFERENT, state) &&
           scene_found(502, FINDING_DIFFERENT, state) && scene_found(7001, FINDING_EXTRA, state) &&
           fake_store.finding_count == 107;
}

TEST(what_is_planted_is_found_and_nothing_else)
{
    struct scene s;

    scene_begin(&s, 3000);
    plant_all();
    CHECK(scene_pass(&s));
    CHECK(s.done.pass.result == PASS_DIVERGED);
    CHECK(s.done.pass.missing == 101 && s.done.pass.extra == 3 && s.done.pass.different == 3);
    CHECK(found_all(FINDING_CONFIRMED));
    CHECK(strstr(s.message, "107 differences: 101 missing, 3 extra, 3 different") == s.message);
    CHECK(fake_dest.written == 0);
    scene_end(&s);
}

TEST(changes_on_their_way_are_no_differences)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 3000);
    for (int64_t id = 2; id < 600; id += 4)
        fake_set(&fake_source, id, "changed");
    fake_set(&fake_source, 1000, NULL);
    fake_set(&fake_source, 1001, "new");
    fake_plant(&fake_dest, 800, NULL);
    for (int i = 0; i < 200; i++) /* as long as they are on their way nothing is said of them */
        CHECK(scene_step(&s, &err));
    CHECK(s.done.more && fake_store.passes[0].missing == 1);
    CHECK(fake_store.passes[0].different + fake_store.passes[0].extra == 0);
    CHECK(fake_store.finding_count == 150 + 2 + 1);
    scene_follow();
    CHECK(scene_pass(&s));
    CHECK(s.done.pass.result == PASS_DIVERGED);
    CHECK(s.done.pass.missing == 1 && s.done.pass.different + s.done.pass.extra == 0);
    CHECK(s.done.pass.moving == 0);
    CHECK(fake_store.finding_count == 1);
    scene_end(&s);
}

/* A row that changes each time it is read. */
static void move_a_row(struct database *d)
{
    char v[FAKE_TEXT];

    if (!d->is_source)
        return;
    (void)snprintf(v, sizeof v, "%d", d->reads);
    fake_set(d, 1200, v);
}

TEST(a_row_that_keeps_changing_is_counted_as_moving)
{
    struct scene s;

    scene_begin(&s, 3000);
    before_read = move_a_row;
    fake_plant(&fake_dest, 1202, "differs");
    CHECK(scene_pass(&s));
    CHECK(s.done.pass.moving == 1 && s.done.pass.different == 1);
    CHECK(scene_found(1200, FINDING_DIFFERENT, FINDING_MOVING));
    CHECK(scene_found(1202, FINDING_DIFFERENT, FINDING_CONFIRMED));
    CHECK(strstr(s.message, "; 1 row kept changing") != NULL);
    scene_end(&s);
}

static bool was_suspect;

/* Whenever the destination is read a row was just changed, and the change was applied: what was
 * read of the source is older. */
static void change_behind(struct database *d)
{
    char v[FAKE_TEXT];

    was_suspect = was_suspect || fake_store.finding_count > 0;
    if (d->is_source || d->reads > 15)
        return;
    (void)snprintf(v, sizeof v, "newer %d", d->reads);
    fake_set(&fake_source, 40, v);
    scene_follow();
}

TEST(a_row_that_changes_between_two_reads_is_none)
{
    struct scene s;

    scene_begin(&s, 100);
    before_read = change_behind;
    CHECK(scene_pass(&s));
    CHECK(was_suspect && fake_dest.reads > 15);
    CHECK(s.done.pass.result == PASS_OK && fake_store.finding_count == 0);
    scene_end(&s);
}

TEST(without_a_journal_it_must_stay_the_same_for_two_looks)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 100);
    s.spec.capture = (struct capture){ .kind = CAPTURE_COLUMN, .column = STR("v") };
    fake_plant(&fake_dest, 10, "differs");
    fake_plant(&fake_dest, 20, "differs, still");
    for (int i = 0; fake_store.finding_count == 0 && i < 20; i++)
        CHECK(scene_step(&s, &err));
    fake_plant(&fake_dest, 20, "row 20");
    CHECK(scene_pass(&s));
    CHECK(s.runs >= 4); /* two looks, twice the interval apart */
    CHECK(s.done.pass.different == 1 && scene_found(10, FINDING_DIFFERENT, FINDING_CONFIRMED));
    CHECK(fake_store.finding_count == 1);
    scene_end(&s);
}

TEST(a_side_that_cannot_be_read_is_no_difference)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 3000);
    CHECK(scene_step(&s, &err) && scene_step(&s, &err));
    fake_dest.fails = true;
    CHECK(!scene_step(&s, &err) && err.kind == ERR_TRANSIENT);
    CHECK(strstr(err.text, "destination") != NULL);
    fake_dest.fails = false;
    fake_source.fails = true;
    CHECK(!scene_step(&s, &err) && err.kind == ERR_TRANSIENT);
    fake_source.fails = false;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_OK);
    CHECK(fake_store.pass_count == 1 && s.done.pass.rows_source == 3000);
    scene_end(&s);
}

TEST(a_lost_state_is_found_again_in_the_store)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 3000);
    plant_all();
    do {
        s.state[0] = '\0';
        CHECK(scene_step(&s, &err) && s.runs < 3000);
    } while (s.done.more);
    CHECK(s.done.ended && s.done.pass.result == PASS_DIVERGED && fake_store.pass_count == 1);
    CHECK(found_all(FINDING_CONFIRMED) && s.done.pass.rows_source == 3000);
    scene_end(&s);
}

TEST(a_pass_waits_while_replication_loads_or_is_stopped)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 3000);
    s.follower.stands = LINK_STOPPED;
    CHECK(scene_step(&s, &err) && !s.done.more && fake_store.pass_count == 0);
    CHECK(strstr(s.message, "not compared: replication is stopped") == s.message);
    s.follower.stands = LINK_CURRENT;
    CHECK(scene_step(&s, &err) && s.done.more);
    fake_dest.mark.phase = MARK_LOAD;
    for (int i = 0; i < 5; i++)
        CHECK(scene_step(&s, &err) && s.done.more);
    CHECK(strcmp(s.message, "waits: replication loads the table") == 0);
    CHECK(fake_store.passes[0].segments == 1);
    fake_dest.mark.phase = MARK_FOLLOW;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_OK);
    scene_end(&s);
}

TEST(a_pass_that_waits_for_a_day_is_given_up)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 3000);
    CHECK(scene_step(&s, &err));
    s.follower.stands = LINK_STOPPED;
    CHECK(scene_step(&s, &err) && s.done.more);
    s.now_us += 25 * 3600 * (int64_t)CLOCK_S;
    CHECK(scene_step(&s, &err) && s.done.ended && s.done.pass.result == PASS_ABORTED);
    scene_end(&s);
}

TEST(an_order_begins_a_pass_of_its_own)
{
    struct scene s;

    scene_begin(&s, 3000);
    fake_plant(&fake_dest, 10, NULL);
    fake_store.has_order = true;
    fake_store.order = (struct replica_order){
        .id = 9, .wish = REPLICA_VERIFY, .detail = STR("{\"mode\":\"count\"}"), .by = STR("ann")
    };
    CHECK(scene_pass(&s));
    CHECK(!fake_store.has_order && fake_store.pass_count == 1);
    CHECK(str_is(fake_store.passes[0].by, "ann") && str_is(fake_store.passes[0].mode, "count"));
    CHECK(s.done.pass.result == PASS_DIVERGED && s.done.pass.missing == 1);
    fake_plant(&fake_dest, 10, "differs");
    fake_store.has_order = true;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL);
    CHECK(strcmp(s.message, "ok of what was compared: 3 000 rows by their number only") == 0);
    scene_end(&s);
}

TEST(an_order_that_cannot_be_carried_out_is_told)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 3000);
    fake_store.has_order = true;
    fake_store.order = (struct replica_order){ .id = 9, .detail = STR(""), .by = STR("ann") };
    fake_dest.has_mark = false;
    CHECK(scene_step(&s, &err) && s.done.ended && !s.done.more && !fake_store.has_order);
    CHECK(fake_store.passes[0].result == PASS_ABORTED);
    CHECK(str_is(fake_store.passes[0].message, "not compared: replication has not begun"));
    fake_dest.has_mark = true;
    s.follower.stands = LINK_STOPPED; /* then a person wants to see what there is */
    fake_set(&fake_source, 10, "is not applied");
    fake_plant(&fake_dest, 12, "differs");
    fake_store.has_order = true;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_DIVERGED);
    CHECK(s.done.pass.different == 1 && s.done.pass.moving == 1 && s.done.pass.skipped == 1);
    scene_end(&s);
}

TEST(an_order_waits_for_the_pass_that_is_under_way)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s, 3000);
    CHECK(scene_step(&s, &err) && s.done.more);
    fake_store.has_order = true;
    fake_store.order = (struct replica_order){ .id = 9, .detail = STR(""), .by = STR("ann") };
    do
        CHECK(scene_step(&s, &err) && s.runs < 100);
    while (!s.done.ended);
    CHECK(s.done.more && fake_store.has_order);
    CHECK(scene_pass(&s) && fake_store.pass_count == 2 && !fake_store.has_order);
    scene_end(&s);
}

TEST(a_sample_compares_some_segments_and_is_never_ok)
{
    struct scene s;

    scene_begin(&s, 3000);
    s.rule.mode = LINK_VERIFY_SAMPLE;
    s.segment_rows = 100;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL);
    CHECK(s.done.pass.segments == 31);
    CHECK(s.done.pass.skipped > 3 && s.done.pass.skipped < 28);
    CHECK(s.done.pass.rows_source <= 100 * (31 - s.done.pass.skipped));
    CHECK(strstr(s.message, "ok of what was compared: ") == s.message);
    scene_end(&s);
}

/* A place of the journal is passed when nothing before it is left. */
TEST(recent_compares_what_has_changed_since_the_last_such_pass)
{
    struct scene s;

    scene_begin(&s, 3000);
    s.rule.mode = LINK_VERIFY_RECENT;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL && s.done.pass.rows_source == 0);
    fake_set(&fake_source, 2, "a");
    fake_set(&fake_source, 4, "b");
    fake_set(&fake_source, 6, NULL);
    scene_follow();
    fake_plant(&fake_dest, 4, "wrong");
    fake_plant(&fake_dest, 6, "back");
    fake_plant(&fake_dest, 5000, "not of late");
    for (int pass = 0; pass < 2; pass++) {
        CHECK(scene_pass(&s) && s.done.pass.result == PASS_DIVERGED);
        CHECK(s.done.pass.different == 1 && s.done.pass.extra == 1 && s.done.pass.missing == 0);
        CHECK(s.done.pass.rows_source == 2 && s.done.pass.rows_dest == 3);
    }
    fake_plant(&fake_dest, 4, "b");
    fake_plant(&fake_dest, 6, NULL);
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL && s.done.pass.rows_source == 2);
    CHECK(strstr(s.message, "of those that have changed of late") != NULL);
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL && s.done.pass.rows_source == 0);
    scene_end(&s);
}

TEST(recent_goes_over_many_changes_in_pieces_and_begins_anew_with_another_history)
{
    struct scene s;

    scene_begin(&s, 3000);
    s.rule.mode = LINK_VERIFY_RECENT;
    for (int64_t id = 2; id <= 2400; id += 2)
        fake_set(&fake_source, id, "new");
    scene_follow();
    fake_plant(&fake_dest, 2400, NULL);
    CHECK(scene_pass(&s) && s.done.pass.missing == 1 && s.done.pass.segments == 3);
    CHECK(s.done.pass.rows_source == 1200 && s.done.pass.rows_dest == 1199);
    fake_plant(&fake_dest, 2400, "new");
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL && s.done.pass.rows_source == 1200);
    fake_epoch = fake_dest.mark.epoch = STR("another");
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL && s.done.pass.rows_source == 1200);
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_PARTIAL && s.done.pass.rows_source == 0);
    scene_end(&s);
}

TEST(a_table_that_differs_all_over_is_told_and_not_listed)
{
    struct scene s;

    scene_begin(&s, 0);
    for (int64_t id = 1; id < FAKE_ROWS; id++)
        fake_plant(&fake_dest, id, "extra");
    for (int64_t id = 2; id < FAKE_ROWS; id += 2)
        fake_plant(&fake_source, id, "other");
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_DIVERGED);
    CHECK(s.done.pass.different == 3999 && s.done.pass.extra == 4000);
    CHECK(s.done.pass.segments_bad == 0);
    scene_end(&s);
}

/* ---- repair ---- */

TEST(a_repair_ends_with_equal_tables)
{
    struct scene s;

    scene_begin(&s, 3000);
    plant_all();
    s.rule.repair = true;
    int64_t place = fake_dest.mark.place.x;

    CHECK(scene_pass(&s));
    CHECK(s.done.pass.result == PASS_REPAIRED && s.done.pass.repaired == 107);
    CHECK(scene_sides_same() && found_all(FINDING_REPAIRED));
    CHECK(fake_dest.written == 107); /* nothing else */
    CHECK(fake_dest.mark.place.x == place && fake_dest.mark.batches > 0);
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_OK);
    scene_end(&s);
}

TEST(with_more_differences_than_allowed_nothing_is_repaired)
{
    struct scene s;

    scene_begin(&s, 3000);
    plant_all();
    s.rule.repair = true;
    s.rule.most = 106;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_DIVERGED);
    CHECK(fake_dest.written == 0 && found_all(FINDING_CONFIRMED));
    CHECK(strstr(s.message, "nothing is repaired, because they are more than the 106") != NULL);
    s.rule.most = 107;
    s.spec.deletes_most = 2;
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_DIVERGED);
    CHECK(fake_dest.rows[301].there && strstr(s.message, "`deletes`") != NULL);
    scene_end(&s);
}

TEST(a_dry_run_changes_nothing)
{
    struct scene s;

    scene_begin(&s, 3000);
    plant_all();
    fake_store.has_order = true;
    fake_store.order = (struct replica_order){
        .id = 3, .detail = STR("{\"mode\":\"full\",\"repair\":true,\"dry_run\":true,\"most\":200}")
    };
    CHECK(scene_pass(&s) && s.done.pass.result == PASS_DIVERGED);
    CHECK(fake_dest.written == 0 && fake_dest.mark.batches == 0);
    CHECK(strstr(s.message, "dry run: a repair would write 104 rows and remove 3 rows") != NULL);
    scene_end(&s);
}

/* Replication moves the mark whenever somebody reads the source, for a while. */
static void move_the_mark(struct database *d)
{
    if (d->is_source && fake_dest.mark.batches < 30) {
        fake_set(&fake_source, 2400, "again");
        scene_follow();
    }
}

TEST(a_repair_goes_on_while_replication_moves_the_mark)
{
    struct scene s;

    scene_begin(&s, 3000);
    fake_plant(&fake_dest, 100, "differs");
    s.rule.repair = true;
    before_read = move_the_mark;
    CHECK(scene_pass(&s));
    CHECK(s.done.pass.result == PASS_REPAIRED && scene_sides_same());
    scene_end(&s);
}

TEST(a_row_that_the_destination_refuses_stays_a_difference)
{
    struct scene s;

    scene_begin(&s, 3000);
    fake_plant(&fake_dest, 100, "differs");
    fake_plant(&fake_dest, 200, "differs");
    fake_dest.rows[200].refused = true;
    s.rule.repair = true;
    CHECK(scene_pass(&s));
    CHECK(s.done.pass.result == PASS_DIVERGED && s.done.pass.repaired == 1);
    CHECK(scene_found(100, FINDING_DIFFERENT, FINDING_REPAIRED));
    CHECK(scene_found(200, FINDING_DIFFERENT, FINDING_CONFIRMED));
    scene_end(&s);
}

TEST(states_that_are_none_are_refused)
{
    struct verify_state s;
    struct err err = { 0 };

    CHECK(verify_state_read(STR(""), &s, &err) && s.pass == 0);
    CHECK(!verify_state_read(STR("{}"), &s, &err) && err.kind == ERR_PERMANENT);
    CHECK(!verify_state_read(STR("[1"), &s, &err));
}

int main(void)
{
    return test_main();
}
