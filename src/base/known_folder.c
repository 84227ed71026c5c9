#include "base/known_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool known_folder_look(const char *path, int *ret_fd, uint64_t *ret_ino, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return err_set(err, errno == ENOTDIR ? ERR_CONFIG : ERR_TRANSIENT, errno,
                       "folder %.120s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0) {
        (void)err_set(err, ERR_TRANSIENT, errno, "folder %.120s: %s", path, strerror(errno));
        (void)close(fd);
        return false;
    }
    *ret_fd = fd;
    *ret_ino = st.st_ino;
    return true;
}

bool known_folder_meet(struct known_folder *f, const char *path, struct err *err)
{
    uint64_t ino;
    int fd;

    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return err_set(err, ERR_TRANSIENT, errno, "make folder %.120s: %s", path, strerror(errno));
    if (!known_folder_look(path, &fd, &ino, err))
        return false;
    (void)close(fd);
    *f = (struct known_folder){ .path = path, .ino = ino };
    return true;
}

bool known_folder_open(const struct known_folder *f, int *ret_fd, struct err *err)
{
    uint64_t ino;
    int fd;

    if (!known_folder_look(f->path, &fd, &ino, err))
        return false;
    if (ino != f->ino) {
        (void)close(fd);
        return err_set(err, ERR_TRANSIENT, ENODEV,
                       "folder %.120s is not the one that was there at the start; is it mounted?",
                       f->path);
    }
    *ret_fd = fd;
    return true;
}
