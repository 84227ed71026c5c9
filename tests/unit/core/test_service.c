#include <string.h>

#include "base/auto.h"
#include "core/service.h"
#include "test.h"

static bool twice(void *self, struct str in, const struct service_document *d, struct buf *out,
                  struct service_failure *ret_failure)
{
    (void)self, (void)d, (void)ret_failure;
    buf_put(out, in);
    buf_put(out, in);
    return true;
}

/* Each piece that comes is a part. */
static bool pieces(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    struct str piece;

    (void)self;
    while (io->next(io, &piece, ret_failure) && piece.len > 0) {
        struct service_part head = { .type = STR("piece") };

        if (!io->part(io, &head, ret_failure) || !io->put(io, piece, ret_failure))
            return false;
    }
    io->note(io, STR("all of it"));
    return true;
}

static const struct service_type whole = { .run = twice }, streams = { .stream = pieces };

TEST(a_service_with_run_gets_the_document_in_one)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(service_memory_done) struct service_memory m;
    struct service_failure failure;

    service_memory_init(&m, &(struct service_document){ 0 }, STR("abcdefg"), 100, &a);
    m.piece = 3;
    CHECK(service_run(&whole, NULL, &m.io, &failure));
    CHECK(str_eq(buf_view(&m.out), STR("abcdefgabcdefg")));
}

TEST(what_comes_out_has_a_limit)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(service_memory_done) struct service_memory m;
    struct service_failure failure;

    service_memory_init(&m, &(struct service_document){ 0 }, STR("abcdefg"), 13, &a);
    CHECK(!service_run(&whole, NULL, &m.io, &failure));
    CHECK(failure.code == DEAD_LIMIT);
    CHECK(strstr(failure.message, "larger than 13 bytes") != NULL);
}

TEST(a_service_with_stream_makes_parts)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(service_memory_done) struct service_memory m;
    struct service_failure failure;

    service_memory_init(&m, &(struct service_document){ 0 }, STR("abcdefg"), 100, &a);
    m.piece = 3;
    CHECK(service_run(&streams, NULL, &m.io, &failure));
    CHECK(m.part_count == 3);
    CHECK(str_eq(service_memory_bytes(&m, 0), STR("abc")));
    CHECK(str_eq(service_memory_bytes(&m, 2), STR("g")));
    CHECK(str_eq(m.parts[1].head.type, STR("piece")));
    CHECK(m.note_count == 1);
}

/* Whatever stood there before: a failure is for good unless the service says otherwise behind it.
 */
TEST(a_failure_is_for_good)
{
    struct service_failure failure;

    memset(&failure, 1, sizeof failure);
    CHECK(!service_fail(&failure, DEAD_LIMIT, "part %d", 7));
    CHECK(failure.code == DEAD_LIMIT && !failure.later && strcmp(failure.message, "part 7") == 0);
}

int main(void)
{
    return test_main();
}
