#include "base/key_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "test.h"

static int fresh_folder(char *path)
{
    return mkdtemp(path) != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

TEST(a_key_that_was_made_is_read_again)
{
    char path[] = "/tmp/key_file_XXXXXX";
    AUTO_FD dir = fresh_folder(path);
    unsigned char one[KEY_FILE_BYTES] = { 0 }, two[KEY_FILE_BYTES] = { 0 };
    struct err err = { 0 };
    struct stat st;

    CHECK(dir >= 0 && key_file_make(dir, "a.key", &err) && key_file_make(dir, "b.key", &err));
    CHECK(fstatat(dir, "a.key", &st, 0) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(key_file_read(dir, "a.key", one, &err) && key_file_read(dir, "a.key", two, &err));
    CHECK(memcmp(one, two, sizeof one) == 0);
    CHECK(key_file_read(dir, "b.key", two, &err) && memcmp(one, two, sizeof one) != 0);
    (void)unlinkat(dir, "a.key", 0);
    (void)unlinkat(dir, "b.key", 0);
    (void)rmdir(path);
}

TEST(what_is_no_key_file_is_refused)
{
    static const char *const texts[] = { "", "00", "x", "0123456789abcdef0123456789abcdef\n" };
    char path[] = "/tmp/key_file_XXXXXX";
    AUTO_FD dir = fresh_folder(path);
    unsigned char key[KEY_FILE_BYTES];
    struct err err = { 0 };

    CHECK(dir >= 0 && !key_file_read(dir, "none", key, &err) && err.kind == ERR_CONFIG);
    CHECK(!key_file_read(dir, ".", key, &err)); /* a folder */
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK(publish_bytes(dir, "a.key", str_of(texts[i]), 0600, &err));
        CHECK(!key_file_read(dir, "a.key", key, &err) && err.kind == ERR_CONFIG);
        (void)unlinkat(dir, "a.key", 0);
    }
    CHECK(key_file_make(dir, "a.key", &err) && fchmodat(dir, "a.key", 0644, 0) == 0);
    CHECK(!key_file_read(dir, "a.key", key, &err) && strstr(err.text, "chmod 600") != NULL);
    (void)unlinkat(dir, "a.key", 0);
    (void)rmdir(path);
}

int main(void)
{
    return test_main();
}
