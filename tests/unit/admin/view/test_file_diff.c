/* The difference between the files of two versions, in a text that has a limit. */
#include "admin/view/file_diff.h"

#include <stdio.h>

#include "base/auto.h"
#include "test.h"

enum { FILES = 40 };

/* Bytes that are no text: two lines are said of each. */
static struct file_side side_of(const char *name, const char *bytes,
                                struct config_file files[static FILES], char paths[FILES][200])
{
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%0150d.bin", i);
        files[i] = (struct config_file){ str_of(paths[i]), str_mem(bytes, 2) };
    }
    return (struct file_side){ name, { files, FILES } };
}

TEST(a_list_that_does_not_fit_is_a_limit)
{
    static struct config_file before[FILES], after[FILES];
    static char paths[FILES][200];
    struct file_side old = side_of("1", "\xff\x00", before, paths);
    struct file_side new = side_of("2", "\xff\x01", after, paths);

    size_t fitted = 0, refused = 0;

    for (size_t cap = 100; cap <= 20000; cap += 53) { /* wherever it ends */
        AUTO(buf_done) struct buf out = BUF_INIT(cap);
        struct err err = { 0 };
        bool ok = file_diff(&old, &new, &out, &err);

        CHECK(ok || err.kind == ERR_LIMIT);
        fitted += ok;
        refused += !ok;
    }
    CHECK(fitted > 0 && refused > 200);
}

int main(void)
{
    return test_main();
}
