/* What people are shown of two payloads that differ. */
#include "admin/view/payload_diff.h"

#include <string.h>

#include "base/auto.h"
#include "test.h"

TEST(payload_diff_shows_lines)
{
    static const struct {
        const char *was, *would, *want;
    } cases[] = {
        { "a\nb\n", "a\nc\n", "--- was\n+++ would be\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n" },
        { "", "a", "--- was\n+++ would be\n@@ -1,0 +1,1 @@\n+a\n" },
        { "a", "", "--- was\n+++ would be\n@@ -1,1 +1,0 @@\n-a\n" },
        { "a@b\n", "a@b", "--- was\n+++ would be\nonly the end of the last line differs\n" },
        { "\tx", "\ty", "--- was\n+++ would be\n@@ -1,1 +1,1 @@\n-\tx\n+\ty\n" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf got = BUF_INIT(PAYLOAD_DIFF_OUT);
        bool cut = true;

        CHECK(payload_diff(str_of(cases[i].was), str_of(cases[i].would), &got, &cut));
        CHECK(str_is(buf_view(&got), cases[i].want) && !cut);
    }
}

/* "<r><a>1</a><a>2</a>...</r>" in one line, or each tag in its own. */
static void make(struct buf *to, int count, int odd, const char *between)
{
    for (int i = 0; i < count; i++)
        buf_printf(to, "<a>%d</a>%s", i == odd ? -1 : i, between);
}

TEST(payload_diff_breaks_long_lines)
{
    AUTO(buf_done) struct buf was = BUF_INIT(64 << 10);
    AUTO(buf_done) struct buf would = BUF_INIT(64 << 10);
    AUTO(buf_done) struct buf got = BUF_INIT(PAYLOAD_DIFF_OUT);
    bool cut;

    make(&was, 100, -1, "");
    make(&would, 100, 50, "");
    CHECK(payload_diff(buf_view(&was), buf_view(&would), &got, &cut) && !cut);
    CHECK(strstr(got.ptr, "\n-50\n+-1\n </a>\n") != NULL && got.len < 200);
}

TEST(payload_diff_of_what_is_broken_alike)
{
    AUTO(buf_done) struct buf was = BUF_INIT(64 << 10);
    AUTO(buf_done) struct buf would = BUF_INIT(64 << 10);
    AUTO(buf_done) struct buf got = BUF_INIT(PAYLOAD_DIFF_OUT);
    bool cut;

    for (int i = 0; i < 100; i++) {
        buf_puts(&was, "a,");
        buf_puts(&would, "a,\n");
    }
    CHECK(payload_diff(buf_view(&was), buf_view(&would), &got, &cut));
    CHECK(strstr(got.ptr, "\n-a,a,a,") != NULL && strstr(got.ptr, "\n+a,\n+a,\n") != NULL);
}

TEST(payload_diff_is_cut)
{
    AUTO(buf_done) struct buf was = BUF_INIT(PAYLOAD_DIFF_IN);
    AUTO(buf_done) struct buf would = BUF_INIT(PAYLOAD_DIFF_IN);
    AUTO(buf_done) struct buf got = BUF_INIT(PAYLOAD_DIFF_OUT);
    bool cut = false;

    make(&was, 1000, -1, "\n");
    CHECK(payload_diff(buf_view(&was), STR("x"), &got, &cut) && cut);
    CHECK(got.len <= PAYLOAD_DIFF_OUT && got.ptr[got.len - 1] == '\n');
    /* One line that cannot be broken, of characters of three bytes. */
    buf_clear(&was);
    buf_clear(&got);
    for (int i = 0; i < 5000; i++)
        buf_puts(&was, "\xe2\x82\xac");
    CHECK(payload_diff(buf_view(&was), STR("x"), &got, &cut) && cut);
    CHECK(got.len > PAYLOAD_DIFF_OUT - 4 && str_is_utf8(buf_view(&got)));
}

TEST(payload_diff_refuses_what_is_no_text)
{
    AUTO(buf_done) struct buf large = BUF_INIT(PAYLOAD_DIFF_IN + 1);
    AUTO(buf_done) struct buf got = BUF_INIT(PAYLOAD_DIFF_OUT);
    bool cut;

    for (int i = 0; i <= PAYLOAD_DIFF_IN; i++)
        buf_putc(&large, 'x');
    CHECK(!payload_diff(STR("\xff"), STR("a"), &got, &cut));
    CHECK(!payload_diff(STR("a"), STR("\xff"), &got, &cut));
    CHECK(!payload_diff(str_mem("a\0b", 3), STR("a"), &got, &cut));
    CHECK(!payload_diff(STR("a\x1b[31m"), STR("a"), &got, &cut));
    CHECK(!payload_diff(buf_view(&large), STR("a"), &got, &cut));
    CHECK(!payload_diff((struct str){ 0 }, STR("a"), &got, &cut));
    CHECK(got.len == 0);
}

int main(void)
{
    return test_main();
}
