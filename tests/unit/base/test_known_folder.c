#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/known_folder.h"
#include "folder.h"

/* proves: FI12 */
TEST(known_folder_knows_its_own)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct known_folder box;
    struct err err = { 0 };
    char path[300], other[300], deep[320];
    int fd = -1;

    (void)snprintf(path, sizeof path, "%s/box", f.path);
    (void)snprintf(other, sizeof other, "%s/other", f.path);
    (void)snprintf(deep, sizeof deep, "%s/none/box", f.path);
    CHECK(known_folder_meet(&box, path, &err)); /* is made */
    CHECK(known_folder_meet(&box, path, &err)); /* is there */
    CHECK(known_folder_open(&box, &fd, &err) && fd >= 0);
    (void)close(fd);
    CHECK(rename(path, other) == 0);
    CHECK(!known_folder_open(&box, &fd, &err) && err.kind == ERR_TRANSIENT);
    CHECK(access(path, F_OK) < 0); /* never made again behind the back */
    CHECK(mkdir(path, 0700) == 0); /* what is left of a mount point */
    err = (struct err){ 0 };
    CHECK(!known_folder_open(&box, &fd, &err) && err.kind == ERR_TRANSIENT);
    CHECK(strstr(err.text, "mounted") != NULL);
    CHECK(rmdir(path) == 0 && rename(other, path) == 0);
    CHECK(known_folder_open(&box, &fd, &err));
    (void)close(fd);
    CHECK(!known_folder_meet(&box, deep, &err)); /* not without its parent */
    CHECK(close(openat(f.fd, "file", O_CREAT | O_WRONLY, 0600)) == 0);
    (void)snprintf(path, sizeof path, "%s/file", f.path);
    CHECK(!known_folder_meet(&box, path, &err) && err.kind == ERR_CONFIG);
}

int main(void)
{
    return test_main();
}
