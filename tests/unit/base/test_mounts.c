#include "test.h"

#include <string.h>

#include "base/auto.h"
#include "base/mounts.h"

/* A disk at /, its folder /srv/data shown again at /mnt/a b, a part of that at /x/part, a second
 * disk, a share whose root says nothing, and a bind mount of the whole disk. */
static const char table[] =
    "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "21 20 8:1 /srv/data /mnt/a\\040b rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "22 20 8:1 /srv/data/segments/one /x/part rw - ext4 /dev/sda1 rw\n"
    "23 20 8:2 / /srv/other rw - xfs /dev/sdb1 rw\n"
    "24 20 0:50 / /share/a rw - nfs4 server:/a rw\n"
    "25 20 0:50 / /share/b rw - nfs4 server:/b rw\n"
    "26 20 8:1 / /whole rw master:2 propagate_from:1 - ext4 /dev/sda1 rw\n"
    "a line that is none\n";

struct seen {
    char text[1000];
};

static void note(void *arg, const char *path, bool part)
{
    struct seen *s = arg;
    size_t n = strlen(s->text);

    (void)snprintf(s->text + n, sizeof s->text - n, "%s%s;", part ? "part " : "", path);
}

TEST(mounts_tell_every_other_path)
{
    static const struct {
        const char *what, *path, *want;
        uint64_t id;
    } cases[] = {
        { "on the disk itself", "/srv/data", "/mnt/a b;part /x/part;/whole/srv/data;", 20 },
        { "in the bind mount", "/mnt/a b/segments",
          "/srv/data/segments;part /x/part;"
          "/whole/srv/data/segments;",
          21 },
        { "in the part", "/x/part/deep",
          "/srv/data/segments/one/deep;/mnt/a b/segments/one/deep;"
          "/whole/srv/data/segments/one/deep;",
          22 },
        { "a name that only begins alike", "/srv/data2", "/whole/srv/data2;", 20 },
        { "the root", "/", "part /mnt/a b;part /x/part;/whole;", 20 },
        { "another disk", "/srv/other/x", "", 23 },
        { "a share", "/share/a/x", "", 24 },
        { "no such mount", "/srv/data", "", 99 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen s = { "" };

        mounts_other_paths(STR(table), cases[i].id, str_of(cases[i].path), note, &s);
        if (strcmp(s.text, cases[i].want) != 0)
            (void)printf("# %s: %s\n", cases[i].what, s.text);
        CHECK(strcmp(s.text, cases[i].want) == 0);
    }
}

TEST(mounts_of_this_process_can_be_read)
{
    AUTO(buf_done) struct buf text = BUF_INIT(MOUNTS_TEXT_MOST);
    struct err err = { 0 };

    CHECK(mounts_read(&text, &err) && text.len > 0);
}

int main(void)
{
    return test_main();
}
