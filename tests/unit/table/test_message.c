/* Questions and answers of another location: what is written is read as it was; what is cut, too
 * large or meant otherwise is not read. */
#include "base/auto.h"
#include "table/away/answering.h"
#include "table/away/away.h"
#include "table/away/parts.h"
#include "test.h"

enum { MOST = 1 << 20 };

static struct err err;

static bool put(enum side_what what, void *question, struct buf *to)
{
    struct message_column columns[] = { { STR("id"), CELL_INT, -1, false },
                                        { STR("name"), CELL_TEXT, 2, true } };
    struct message m = {
        .what = what,
        .database = STR("base"),
        .at = STR("item"),
        .link = STR("mirror"),
        .table = STR("item"),
        .is_source = true,
        .capture = { .kind = CAPTURE_COLUMN, .column = STR("at"), .safety_us = -5 },
        .columns = columns,
        .column_count = 2,
        .key_count = 1,
        .answer_most = 80000
    };

    if (!envelope_begin(to, ENVELOPE_WHOLE, &err))
        return false;
    struct wire w = wire_put(to);

    message_head(&w, &m);
    message_question(&w, what, &question);
    return wire_end(&w, &err) && envelope_end(to, &err);
}

TEST(a_question_comes_as_it_was_asked)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(MOST);
    AUTO(buf_done) struct buf bytes = BUF_INIT(MOST);
    struct side_window window = {
        .after = { -7, STR("key") },
        .bytes_most = 70000,
        .rows_most = 500,
        .back = { .link = STR("back"), .table = STR("t"), .origin = STR("o") }
    };
    struct message m;
    void *question;

    CHECK(put(SIDE_CHANGES, &window, &bytes));
    CHECK(message_take(buf_view(&bytes), &a, &m, &question, &err));
    const struct side_window *got = question;

    CHECK(m.what == SIDE_CHANGES && str_is(m.database, "base") && str_is(m.link, "mirror"));
    CHECK(m.is_source && m.capture.kind == CAPTURE_COLUMN && m.capture.safety_us == -5);
    CHECK(m.column_count == 2 && m.key_count == 1 && str_is(m.columns[1].name, "name"));
    CHECK(m.columns[1].digits == 2 && m.columns[1].padded && m.columns[0].digits == -1);
    CHECK(got->after.x == -7 && str_is(got->after.key, "key") && str_is(got->back.origin, "o"));
    CHECK(got->bytes_most == 70000 && got->rows_most == 500);
}

TEST(a_limit_of_a_question_is_ours)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(MOST);
    AUTO(buf_done) struct buf bytes = BUF_INIT(MOST);
    struct side_window window = { .after = { 0, STR("") },
                                  .bytes_most = (size_t)AWAY_ROW_MOST + 1,
                                  .rows_most = 1,
                                  .back = { STR(""), STR(""), STR("") } };
    struct message m;
    void *question;

    CHECK(put(SIDE_CHANGES, &window, &bytes));
    CHECK(!message_take(buf_view(&bytes), &a, &m, &question, &err) && err.kind == ERR_PERMANENT);
}

TEST(what_is_changed_or_cut_is_no_message)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(MOST);
    AUTO(buf_done) struct buf bytes = BUF_INIT(MOST);
    struct message m;
    void *question;

    CHECK(put(SIDE_LOOK, NULL, &bytes));
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.ptr[i] ^= 1;
        CHECK(!message_take(buf_view(&bytes), &a, &m, &question, &err));
        bytes.ptr[i] ^= 1;
        CHECK(!message_take(str_mem(bytes.ptr, i), &a, &m, &question, &err));
    }
    CHECK(message_take(buf_view(&bytes), &a, &m, &question, &err));
}

TEST(an_answer_comes_as_it_was_given)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(MOST);
    AUTO(buf_done) struct buf bytes = BUF_INIT(MOST);
    struct side_bad_row bad = { .key = STR("k"), .row = STR("r"), .x = 9, .why = "too long" };
    struct side_applied given = { .outcome = SIDE_BAD,
                                  .has_mark = true,
                                  .mark = { .epoch = STR("e"),
                                            .life = STR("l"),
                                            .phase = MARK_FOLLOW,
                                            .place = { INT64_MIN, STR("p") },
                                            .load_key = STR(""),
                                            .fence = INT64_MAX,
                                            .batches = 3,
                                            .rows = 4,
                                            .at_us = 5 },
                                  .written = 6,
                                  .bad = &bad,
                                  .bad_count = 1 };
    struct side_applied got = { 0 };
    struct wire w = wire_put(&bytes);

    message_answer(&w, SIDE_APPLY, &given);
    CHECK(wire_end(&w, &err));
    w = wire_take(buf_view(&bytes), &a);
    message_answer(&w, SIDE_APPLY, &got);
    CHECK(wire_end(&w, &err) && got.outcome == SIDE_BAD && got.written == 6);
    CHECK(got.mark.place.x == INT64_MIN && got.mark.fence == INT64_MAX && got.mark.at_us == 5);
    CHECK(got.bad_count == 1 && got.bad[0].x == 9 && strcmp(got.bad[0].why, "too long") == 0);
}

TEST(rows_that_have_lost_come_as_they_were)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(MOST);
    AUTO(buf_done) struct buf bytes = BUF_INIT(MOST);
    struct side_lost rows[] = {
        { STR("k1"), STR("row"), STR("has lost"), 7, .waits = true },
        { STR("k2"), STR(""), STR(""), INT64_MIN, .discarded = true },
    };
    const struct sha256 gone[] = { digest_of(STR("a")), digest_of(STR("b")) };
    struct side_keeping keeping = { .rows = rows, .count = 2, .gone = gone, .gone_count = 2 };
    struct message m;
    void *question;

    CHECK(put(SIDE_KEEP, &keeping, &bytes));
    CHECK(message_take(buf_view(&bytes), &a, &m, &question, &err) && m.what == SIDE_KEEP);
    const struct side_keeping *got = question;

    CHECK(got->count == 2 && str_is(got->rows[0].key, "k1") && str_is(got->rows[0].row, "row"));
    CHECK(str_is(got->rows[0].why, "has lost") && got->rows[0].x == 7 && got->rows[0].waits);
    CHECK(!got->rows[0].discarded && got->rows[1].discarded && got->rows[1].row.len == 0);
    CHECK(got->gone_count == 2 && digest_same(&got->gone[1], &gone[1]));
    CHECK(answering_needs(SIDE_KEEP) == ANSWERING_APPLY);

    struct side_lost *many = ARENA_ARRAY(&a, struct side_lost, SIDE_BAD_MOST + 1);

    for (size_t i = 0; i <= SIDE_BAD_MOST; i++)
        many[i] = rows[1];
    keeping = (struct side_keeping){ .rows = many, .count = SIDE_BAD_MOST + 1 };
    buf_clear(&bytes);
    CHECK(put(SIDE_KEEP, &keeping, &bytes));
    CHECK(!message_take(buf_view(&bytes), &a, &m, &question, &err) && err.kind == ERR_PERMANENT);
}

TEST(a_link_of_the_other_direction_is_asked_for)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(MOST);
    AUTO(buf_done) struct buf bytes = BUF_INIT(MOST);
    struct side_pairing pairing = { STR("back"), STR("t"), STR("version:at") };
    struct side_paired given = { .why = "it is another one" }, got = { .why = "" };
    struct message m;
    void *question;

    CHECK(put(SIDE_PAIR, &pairing, &bytes));
    CHECK(message_take(buf_view(&bytes), &a, &m, &question, &err) && m.what == SIDE_PAIR);
    const struct side_pairing *asked = question;

    CHECK(str_is(asked->link, "back") && str_is(asked->table, "t"));
    CHECK(str_is(asked->rule, "version:at"));
    buf_clear(&bytes);
    struct wire w = wire_put(&bytes);

    message_answer(&w, SIDE_PAIR, &given);
    CHECK(wire_end(&w, &err));
    w = wire_take(buf_view(&bytes), &a);
    message_answer(&w, SIDE_PAIR, &got);
    CHECK(wire_end(&w, &err) && strcmp(got.why, "it is another one") == 0);
}

static struct shape_column shape_columns[] = {
    { .name = { "id", 2 }, .natural = CELL_INT, .key_place = 1 },
    { .name = { "name", 4 }, .natural = CELL_TEXT },
    { .name = { "made", 4 }, .natural = CELL_INT, .generated = true },
};
static const struct shape shape = { .columns = shape_columns, .count = 3, .key_count = 1 };

static bool fits(struct message_column *columns, size_t count, size_t keys)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(MOST);
    const struct message m = { .columns = columns, .column_count = count, .key_count = keys };
    struct fit *fit;

    return answering_fit(&m, &shape, &a, &fit, &err);
}

TEST(columns_are_those_of_the_table)
{
    struct message_column id = { STR("id"), CELL_INT, -1, false };
    struct message_column name = { STR("name"), CELL_TEXT, -1, false };
    struct message_column made = { STR("made"), CELL_INT, -1, false };
    struct message_column other = { STR("id; drop"), CELL_INT, -1, false };

    CHECK(fits((struct message_column[]){ id, name }, 2, 1));
    CHECK(!fits((struct message_column[]){ id, made }, 2, 1));
    CHECK(!fits((struct message_column[]){ id, other }, 2, 1));
    CHECK(!fits((struct message_column[]){ id, id }, 2, 1));
    CHECK(!fits((struct message_column[]){ id, id }, 2, 2));
    CHECK(!fits((struct message_column[]){ name, id }, 2, 1));
    CHECK(!fits(NULL, 0, 0));
}

TEST(parts_belong_to_who_sent_them_and_come_in_order)
{
    struct parts *p = parts_new();
    AUTO(buf_done) struct buf whole = BUF_INIT(MOST);
    struct envelope_part part = { .id = "0123456789abcde", .total = 6 };
    bool is_whole;

    CHECK(parts_put(p, STR("a"), &part, STR("abc"), 1, &whole, &is_whole, &err) && !is_whole);
    part.at = 3;
    CHECK(!parts_put(p, STR("b"), &part, STR("def"), 1, &whole, &is_whole, &err));
    CHECK(parts_put(p, STR("a"), &part, STR("def"), 1, &whole, &is_whole, &err) && is_whole);
    CHECK(str_is(buf_view(&whole), "abcdef"));
    CHECK(!parts_put(p, STR("a"), &part, STR("def"), 1, &whole, &is_whole, &err));
    part = (struct envelope_part){ .id = "x", .total = (size_t)AWAY_WHOLE_MOST + 1 };
    CHECK(!parts_put(p, STR("a"), &part, STR("abc"), 1, &whole, &is_whole, &err));
    CHECK(err.kind == ERR_LIMIT);
    parts_free(p);
}

TEST(answers_in_parts_are_kept_for_their_peer_and_a_minute)
{
    struct parts *p = parts_new();
    AUTO(buf_done) struct buf envelope = BUF_INIT(MOST);
    struct envelope_part part, again;

    CHECK(parts_keep(p, STR("a"), STR("an answer"), 1, &part, &err));
    again = part;
    CHECK(!parts_get(p, STR("b"), &part, 100, 2, &envelope, &err));
    CHECK(parts_get(p, STR("a"), &part, 100, 2, &envelope, &err) && part.total == 9);
    CHECK(!parts_get(p, STR("a"), &again, 100, 2, &envelope, &err) && err.kind == ERR_TRANSIENT);
    for (int i = 0; i < 8; i++)
        CHECK(parts_keep(p, STR("a"), STR("an answer"), 3, &part, &err));
    CHECK(!parts_keep(p, STR("a"), STR("an answer"), 3, &part, &err) && err.kind == ERR_TRANSIENT);
    CHECK(parts_keep(p, STR("a"), STR("an answer"), 61000005, &part, &err));
    parts_free(p);
}

int main(void)
{
    return test_main();
}
