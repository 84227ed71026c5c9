/* fuzz_message.c - any bytes as a question of another location, as an answer, and as an envelope.
 *
 * A question that can be read is the same bytes when it is written again, and has a fit of the
 * table or none.  The first byte says what the rest is; of answers the second says to what.
 */
#include "base/auto.h"
#include "base/require.h"
#include "table/away/answering.h"

enum { CASES = 3, ANSWER_MOST = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct err err;

static void try_question(struct str in, struct arena *a)
{
    static struct shape_column columns[] = {
        { .name = { "id", 2 }, .natural = CELL_INT, .key_place = 1, .bytewise = true },
        { .name = { "name", 4 }, .natural = CELL_TEXT, .nullable = true },
        { .name = { "sum", 3 }, .natural = CELL_DEC, .generated = true },
    };
    static const struct shape shape = { .columns = columns, .count = 3, .key_count = 1 };
    AUTO(buf_done) struct buf again = BUF_INIT(ANSWER_MOST);
    struct wire w = wire_take(in, a);
    struct message m = { 0 };
    void *question = NULL;
    struct fit *fit;

    message_head(&w, &m);
    if (!w.bad)
        message_question(&w, m.what, &question);
    if (!wire_end(&w, &err))
        return;
    w = wire_put(&again);
    message_head(&w, &m);
    message_question(&w, m.what, &question);
    require(!wire_end(&w, &err) || str_eq(buf_view(&again), in));
    require(answering_needs(m.what) != 0);
    if (answering_fit(&m, &shape, a, &fit, &err))
        require(fit->count >= 1 && fit->count <= 2 && fit->columns[0].at == 0);
}

/* Room for any of them. */
union answer {
    struct side_changes changes;
    struct side_rows rows;
    struct buf batch;
    struct side_applied applied;
    struct capture_look look;
    struct ceiling ceiling;
    struct side_mark_answer mark;
    struct side_sum sum;
    struct side_paired paired;
};

static void try_answer(struct str in, struct arena *a)
{
    union answer room = { 0 };
    enum side_what what =
        (enum side_what)((in.len > 0 ? (unsigned char)in.ptr[0] : 0) % SIDE_WHATS);
    struct buf *batch = what == SIDE_CHANGES ? &room.changes.batch
                        : what == SIDE_ROWS  ? &room.rows.batch
                        : what == SIDE_FETCH ? &room.batch
                                             : NULL;
    struct wire w = wire_take(str_from(in, 1), a);

    if (batch != NULL)
        *batch = (struct buf)BUF_INIT(ANSWER_MOST);
    message_answer(&w, what, &room);
    (void)wire_end(&w, &err);
    if (batch != NULL)
        buf_done(batch);
}

static void try_envelope(struct str in, struct arena *a)
{
    AUTO(buf_done) struct buf sealed = BUF_INIT(ANSWER_MOST * 2);
    enum envelope_what what;
    struct str content;
    struct message m;
    void *question;

    (void)message_take(in, a, &m, &question, &err);
    require(envelope_begin(&sealed, ENVELOPE_GET, &err) && buf_append(&sealed, in, &err) &&
            envelope_end(&sealed, &err));
    require(envelope_take(buf_view(&sealed), &what, &content, &err) && what == ENVELOPE_GET &&
            str_eq(content, in));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(256 << 20);
    struct str in = str_mem(bytes, size);
    size_t which = size > 0 ? bytes[0] % CASES : 0;

    if (size > ANSWER_MOST)
        return 0;
    in = str_from(in, 1);
    if (which == 0)
        try_question(in, &a);
    else if (which == 1)
        try_answer(in, &a);
    else
        try_envelope(in, &a);
    return 0;
}
