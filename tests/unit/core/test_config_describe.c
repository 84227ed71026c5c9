/* docs/configuration.md is what the tables say.  After a change of the tables:
 *
 *     build/debug/test_config_describe print > docs/configuration.md
 */
#include <stdlib.h>

#include "app/registry.h"
#include "base/auto.h"
#include "config_describe.h"
#include "test.h"

enum { PAGE_MOST = 1024 * 1024 };

static void read_page(struct buf *page)
{
    static const char here[] = __FILE__;
    AUTO(buf_done) struct buf path = BUF_INIT(4096);
    struct err err;

    buf_put(&path, str_mem(here, sizeof here - sizeof "tests/unit/core/test_config_describe.c"));
    buf_puts(&path, "docs/configuration.md");
    FILE *file = fopen(path.ptr, "rb");

    if (file == NULL)
        return;
    if (buf_reserve(page, PAGE_MOST - 1, &err)) {
        page->len = fread(page->ptr, 1, PAGE_MOST - 1, file);
        page->ptr[page->len] = '\0';
    }
    (void)fclose(file);
}

TEST(config_describe_is_the_page_in_docs)
{
    AUTO(buf_done) struct buf made = BUF_INIT(PAGE_MOST), page = BUF_INIT(PAGE_MOST);

    config_describe(&registry, &made);
    read_page(&page);
    CHECK(made.len > 10000);
    CHECK(str_eq(buf_view(&made), buf_view(&page)));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "print") == 0) {
        AUTO(buf_done) struct buf made = BUF_INIT(PAGE_MOST);

        config_describe(&registry, &made);
        (void)fwrite(made.ptr, 1, made.len, stdout);
        return 0;
    }
    return test_main();
}
