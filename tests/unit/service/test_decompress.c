#include <zlib.h>

#include "packed.h"
#include "stepping.h"
#include "test.h"

#define BYTES(array) str_mem((array), sizeof(array))
#define BYTES_OF(array)                                     \
    {                                                       \
        .ptr = (const char *)(array), .len = sizeof(array), \
    }

static const char hello[] = "hello, hello, hello\n";

static const struct str packed[] = {
    BYTES_OF(by_gzip),    BYTES_OF(by_zstd),  BYTES_OF(by_zip),      BYTES_OF(zip_deflated),
    BYTES_OF(zip_stored), BYTES_OF(zip_wide), BYTES_OF(zip_trailed),
};

TEST(decompress_reads_what_others_write)
{
    AUTO(step_done) struct step s = step_of(&service_decompress, "decompress:");

    CHECK(s.self != NULL);
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        CHECK(step_run(&s, packed[i]) && s.ok);
        CHECK(str_is(buf_view(&s.m.out), hello));
    }
}

/* Every beginning of a packed document is a failure, and so is one byte more. */
TEST(decompress_wants_all_of_it_and_nothing_more)
{
    AUTO(step_done) struct step s = step_of(&service_decompress, "decompress:");
    struct service_failure failure;

    CHECK(s.self != NULL);
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        AUTO(buf_done) struct buf more = BUF_INIT(4096);

        for (size_t n = 0; n < packed[i].len; n++) {
            step_run_pieces(&s, str_mem(packed[i].ptr, n), 3);
            CHECK(!s.ok && s.failure.code == DEAD_SERVICE_FAILED);
            CHECK(strstr(s.failure.message, "at byte") != NULL);
        }
        failure = s.failure;
        buf_put(&more, packed[i]);
        buf_putc(&more, 'x');
        CHECK(step_run(&s, buf_view(&more)) && !s.ok);
        CHECK(strstr(s.failure.message, "something stands behind the end") != NULL);
        CHECK(strcmp(s.failure.message, failure.message) != 0);
    }
}

/* A changed byte is found, by a checksum at the latest; names and times are not what matters. */
TEST(decompress_finds_damage)
{
    AUTO(step_done) struct step s = step_of(&service_decompress, "decompress:");

    CHECK(s.self != NULL);
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++)
        for (size_t n = 0; n < packed[i].len; n++) {
            AUTO(buf_done) struct buf bad = BUF_INIT(4096);

            buf_put(&bad, packed[i]);
            bad.ptr[n] ^= 0x10;
            step_run_pieces(&s, buf_view(&bad), 0);
            CHECK(!s.ok || str_is(buf_view(&s.m.out), hello));
            CHECK(s.ok || (s.failure.message[0] != '\0' && s.m.part_count == 0));
        }
}

TEST(decompress_takes_members_as_one_stream)
{
    AUTO(step_done) struct step s = step_of(&service_decompress, "decompress:");
    AUTO(buf_done) struct buf in = BUF_INIT(4096);

    CHECK(s.self != NULL);
    buf_put(&in, BYTES(by_gzip));
    buf_put(&in, BYTES(by_gzip));
    CHECK(step_run(&s, buf_view(&in)) && s.ok && s.m.out.len == 2 * strlen(hello));
    buf_clear(&in);
    buf_put(&in, BYTES(by_zstd));
    buf_put(&in, STR("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz")); /* a frame to be skipped */
    buf_put(&in, BYTES(by_zstd));
    CHECK(step_run(&s, buf_view(&in)) && s.ok && s.m.out.len == 2 * strlen(hello));
    buf_put(&in, BYTES(by_gzip));
    CHECK(step_fails(&s, buf_view(&in), DEAD_SERVICE_FAILED, "something stands behind the end"));
}

TEST(decompress_takes_deflate_with_and_without_its_frame)
{
    static const unsigned char raw[] = { 0xf3, 0xc8, 0xe4, 0x02, 0x00 }; /* "Hi\n" */
    static const unsigned char zlib[] = { 0x78, 0x9c, 0xf3, 0xc8, 0xe4, 0x02,
                                          0x00, 0x01, 0xb7, 0x00, 0xbc };
    AUTO(step_done) struct step named = step_of(&service_decompress, "decompress: deflate");
    AUTO(step_done) struct step any = step_of(&service_decompress, "decompress: auto");

    CHECK(named.self != NULL && any.self != NULL);
    CHECK(step_run(&named, BYTES(raw)) && named.ok && str_is(buf_view(&named.m.out), "Hi\n"));
    CHECK(step_run(&named, BYTES(zlib)) && named.ok && str_is(buf_view(&named.m.out), "Hi\n"));
    CHECK(step_run(&any, BYTES(zlib)) && any.ok && str_is(buf_view(&any.m.out), "Hi\n"));
    CHECK(step_fails(&any, BYTES(raw), DEAD_SERVICE_FAILED, "neither gzip, zstd, deflate nor zip"));
}

TEST(decompress_refuses_what_is_something_else)
{
    static const struct {
        const char *yaml;
        struct str in;
        const char *message;
    } cases[] = {
        { "decompress:", STR(""), "neither gzip, zstd, deflate nor zip, at byte 1" },
        { "decompress:", STR("{\"a\":1}"), "nor zip, at byte 1: 7b 22 61 22" },
        { "decompress: gzip", STR("{}"), "not valid as gzip: incorrect header check" },
        { "decompress: zstd", STR("not this"), "not valid as zstd: Unknown frame descriptor" },
        { "decompress: zip", STR("PK this is none"), "neither an entry nor a directory" },
        { "decompress: zip", BYTES_OF(zip_two), "the archive has several files" },
        { "decompress: zip", BYTES_OF(zip_empty), "the archive has no file" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(step_done) struct step s = step_of(&service_decompress, cases[i].yaml);

        CHECK(s.self != NULL);
        CHECK(step_fails(&s, cases[i].in, DEAD_SERVICE_FAILED, cases[i].message));
    }
}

static void pack_zeros(struct buf *to, size_t size)
{
    AUTO(step_done) struct step c = step_of(&service_compress, "compress: gzip");
    char *zeros = calloc(1, size);

    step_run_pieces(&c, str_mem(zeros, size), 0);
    buf_put(to, buf_view(&c.m.out));
    free(zeros);
}

/* Rule PR3 for bytes: a small document cannot become a huge one. */
TEST(decompress_stops_a_bomb)
{
    AUTO(step_done) struct step s = step_of(&service_decompress, "decompress: { most: 1 GiB }");
    AUTO(step_done) struct step small = step_of(&service_decompress, "decompress: { most: 1000 }");
    AUTO(buf_done) struct buf bomb = BUF_INIT(1 << 20), fine = BUF_INIT(1 << 20);

    CHECK(s.self != NULL && small.self != NULL);
    s.least = small.least = 7;
    pack_zeros(&bomb, 100 << 20);
    CHECK(step_fails(&s, buf_view(&bomb), DEAD_LIMIT, "unpack to more than 100 times as many"));
    pack_zeros(&fine, 1 << 20); /* over 100:1, but small */
    CHECK(fine.len < 10000 && step_run(&s, buf_view(&fine)) && s.ok && s.m.out.len == 1 << 20);
    CHECK(step_fails(&small, buf_view(&fine), DEAD_LIMIT, "larger than 1000 bytes; `most`"));
}

TEST(decompress_refuses_a_huge_window)
{
    /* The head of a frame that asks for 64 MiB: descriptor, window 26 << 3 - 10 << 3. */
    AUTO(step_done) struct step s = step_of(&service_decompress, "decompress: zstd");

    CHECK(s.self != NULL);
    CHECK(step_fails(&s, STR("\x28\xb5\x2f\xfd\x00\x80\x01\x00\x00"), DEAD_LIMIT,
                     "a window of more than 8 MiB"));
}

int main(void)
{
    return test_main();
}
