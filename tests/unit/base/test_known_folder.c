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
    known_folder_init(&box, path, "path", NULL, NULL);
    CHECK(known_folder_meet(&box, &err)); /* is made */
    CHECK(known_folder_meet(&box, &err)); /* is there */
    CHECK(known_folder_open(&box, &fd, &err) && fd >= 0);
    (void)close(fd);
    CHECK(rename(path, other) == 0);
    CHECK(!known_folder_open(&box, &fd, &err) && err.kind == ERR_TRANSIENT);
    CHECK(access(path, F_OK) < 0); /* never made again behind the back */
    CHECK(mkdir(path, 0700) == 0); /* what is left of a mount point */
    err = (struct err){ 0 };
    CHECK(!known_folder_open(&box, &fd, &err) && err.kind == ERR_TRANSIENT);
    CHECK(err.sys == KNOWN_FOLDER_STRANGE && strstr(err.text, "mounted") != NULL);
    CHECK(rmdir(path) == 0 && rename(other, path) == 0);
    CHECK(known_folder_open(&box, &fd, &err));
    (void)close(fd);
    known_folder_init(&box, deep, "path", NULL, NULL);
    CHECK(!known_folder_meet(&box, &err)); /* not without its parent */
    CHECK(close(openat(f.fd, "file", O_CREAT | O_WRONLY, 0600)) == 0);
    (void)snprintf(path, sizeof path, "%s/file", f.path);
    known_folder_init(&box, path, "path", NULL, NULL);
    CHECK(!known_folder_meet(&box, &err) && err.kind == ERR_CONFIG);
}

/* A memory that outlives the known_folder, as the store does. */
struct memory {
    bool known;
    int learned;
    struct folder_id id;
};

static bool recall(void *arg, const char *part, const char *path, struct folder_id *ret,
                   bool *ret_known, struct err *err)
{
    const struct memory *m = arg;

    (void)part, (void)path, (void)err;
    *ret_known = m->known;
    *ret = m->id;
    return true;
}

static bool learn(void *arg, const char *part, const char *path, const struct folder_id *id,
                  bool mount, struct err *err)
{
    struct memory *m = arg;

    (void)part, (void)path, (void)err, (void)mount;
    *m = (struct memory){ .known = true, .learned = m->learned + 1, .id = *id };
    return true;
}

/* proves: FI12 */
TEST(known_folder_is_known_after_a_restart)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct memory m = { 0 };
    const struct folder_port port = { .recall = recall, .learn = learn, .arg = &m };
    struct known_folder box;
    struct err err = { 0 };
    bool mount;
    char path[300];

    (void)snprintf(path, sizeof path, "%s/box", f.path);
    known_folder_init(&box, path, "path", NULL, &port);
    CHECK(known_folder_meet(&box, &err) && known_folder_meet(&box, &err) && m.learned == 1);

    known_folder_init(&box, path, "path", NULL, &port); /* another process */
    CHECK(known_folder_meet(&box, &err) && m.learned == 1);
    m.id.fs ^= 1; /* it was on another file system */
    known_folder_init(&box, path, "path", NULL, &port);
    CHECK(!known_folder_meet(&box, &err) && err.sys == KNOWN_FOLDER_STRANGE && m.learned == 1);
    CHECK(known_folder_look(path, &m.id, &mount, &err) && !mount); /* a person accepts it */
    CHECK(known_folder_meet(&box, &err) && m.learned == 1);

    CHECK(rmdir(path) == 0); /* not made again in the place of a share */
    known_folder_init(&box, path, "path", NULL, &port);
    CHECK(!known_folder_meet(&box, &err) && access(path, F_OK) < 0);
}

/* proves: FI12 */
TEST(known_folder_without_its_proof_is_not_met)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct memory m = { 0 };
    const struct folder_port port = { .recall = recall, .learn = learn, .arg = &m };
    struct known_folder box;
    struct err err = { 0 };

    known_folder_init(&box, f.path, "path", ".share", &port);
    CHECK(!known_folder_meet(&box, &err) && err.sys == KNOWN_FOLDER_STRANGE && m.learned == 0);
    CHECK(close(openat(f.fd, ".share", O_CREAT | O_WRONLY, 0600)) == 0);
    CHECK(known_folder_meet(&box, &err) && m.learned == 1);
}

TEST(folder_same_compares_what_each_file_system_keeps)
{
    enum { EXT = 0xef53, XFS = 0x58465342, NFS = 0x6969, FUSE = 0x65735546, TMPFS = 0x01021994 };
    static const struct {
        const char *what;
        struct folder_id a, b;
        bool same, restarted;
    } cases[] = {
        { "one folder", { EXT, 7, 12, 1 }, { EXT, 7, 12, 1 }, true, true },
        { "another device number", { EXT, 7, 12, 1 }, { EXT, 7, 12, 2 }, true, true },
        { "another disk", { EXT, 7, 2, 1 }, { EXT, 8, 2, 1 }, false, false },
        { "another folder", { EXT, 7, 12, 1 }, { EXT, 7, 13, 1 }, false, false },
        { "the mount point", { NFS, 0, 12, 1 }, { EXT, 7, 12, 1 }, false, false },
        { "xfs on a disk found later", { XFS, 7, 12, 1 }, { XFS, 8, 12, 1 }, true, true },
        { "nfs mounted again", { NFS, 0, 12, 40 }, { NFS, 0, 12, 41 }, true, true },
        { "fuse mounted again", { FUSE, 0, 12, 40 }, { FUSE, 0, 99, 41 }, true, true },
        { "memory", { TMPFS, 7, 12, 40 }, { TMPFS, 8, 13, 40 }, false, true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(folder_same(&cases[i].a, &cases[i].b, false) == cases[i].same);
        CHECK(folder_same(&cases[i].a, &cases[i].b, true) == cases[i].restarted);
    }
}

int main(void)
{
    return test_main();
}
