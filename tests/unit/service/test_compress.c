/* What compress writes, decompress reads; what others write is in test_decompress.c. */
#include "stepping.h"
#include "test.h"

static const char *const formats[] = { "gzip", "zstd", "deflate", "zip" };

static void fill(struct buf *to, size_t size)
{
    uint32_t x = 1;

    while (to->len < size) {
        x = x * 1664525 + 1013904223;
        buf_printf(to, "%u;", x >> (to->len % 3 * 8));
    }
    to->len = size;
}

TEST(compress_and_back_is_the_same)
{
    static const size_t sizes[] = { 0, 1, 5000, 300000 };

    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 4; i++) {
            char packs[64], unpacks[64];
            AUTO(buf_done) struct buf in = BUF_INIT(1 << 20);

            (void)snprintf(packs, sizeof packs, "compress: %s", formats[f]);
            (void)snprintf(unpacks, sizeof unpacks, "decompress: %s",
                           i % 2 == 0 ? "auto" : formats[f]);
            AUTO(step_done) struct step c = step_of(&service_compress, packs);
            AUTO(step_done) struct step d = step_of(&service_decompress, unpacks);

            CHECK(c.self != NULL && d.self != NULL);
            c.document.name = STR("a/b/orders.csv");
            c.document.received_us = 1700000000000000;
            fill(&in, sizes[i]);
            CHECK(step_run(&c, buf_view(&in)) && c.ok);
            CHECK(step_run(&d, buf_view(&c.m.out)) && d.ok);
            CHECK(str_eq(buf_view(&d.m.out), buf_view(&in)));
            CHECK(sizes[i] < 5000 || c.m.out.len < in.len);
        }
}

/* A size that is not known beforehand, or over 4 GiB, makes a zip64 archive. */
TEST(compress_writes_wide_archives)
{
    AUTO(step_done) struct step c = step_of(&service_compress, "compress: zip");
    AUTO(step_done) struct step d = step_of(&service_decompress, "decompress:");
    struct service_failure failure;

    CHECK(c.self != NULL && d.self != NULL);
    service_memory_init(&c.m, &c.document, STR("some text"), STEP_OUT, &c.arena);
    c.m.io.size = -1;
    CHECK(service_run(c.type, c.self, &c.m.io, &failure));
    CHECK(memmem(c.m.out.ptr, c.m.out.len, "PK\x06\x06", 4) != NULL);
    CHECK(step_run(&d, buf_view(&c.m.out)) && d.ok);
    CHECK(str_is(buf_view(&d.m.out), "some text"));
}

TEST(compress_names_the_entry_of_an_archive)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        { "../../etc/passwd", "passwd" },
        { "a\\b.txt", "b.txt" },
        { "x/", "document" },
        { "", "document" },
        { "..", "document" },
        { "x/.", "document" },
        { "k\xe4se", "document" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(step_done) struct step s = step_of(&service_compress, "compress: { format: zip }");

        CHECK(s.self != NULL);
        s.document.name = str_of(cases[i].name);
        CHECK(step_run(&s, STR("text")) && s.ok);
        CHECK(s.m.out.len > 30 && (size_t)s.m.out.ptr[26] == strlen(cases[i].want));
        CHECK(memcmp(s.m.out.ptr + 30, cases[i].want, strlen(cases[i].want)) == 0);
    }
}

int main(void)
{
    return test_main();
}
