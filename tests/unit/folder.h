/* folder.h - a folder of a test's own, gone when its scope ends.
 *
 *     AUTO(folder_done) struct folder f = folder_make();
 *     int fd = openat(f.fd, "name", ...);
 */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct folder {
    char path[256];
    int fd;
};

static int folder_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

__attribute__((unused)) static void folder_done(struct folder *f)
{
    (void)close(f->fd);
    (void)nftw(f->path, folder_remove, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static struct folder folder_make(void)
{
    const char *under = getenv("TMPDIR");
    struct folder f = { .fd = -1 };

    (void)snprintf(f.path, sizeof f.path, "%s/waybill.XXXXXX", under != NULL ? under : "/tmp");
    if (mkdtemp(f.path) != NULL)
        f.fd = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f.fd < 0) {
        perror(f.path);
        exit(1);
    }
    return f;
}
