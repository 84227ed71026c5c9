/* slowsync.c - LD_PRELOAD shim: every sync call takes SLOW_SYNC_US microseconds longer.
 *
 * Models a slow disk under an unchanged program.  A data-sync write (pwritev2 with RWF_DSYNC or
 * RWF_SYNC) counts as a sync call, too.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

static void wait_for_disk(void)
{
    static long us = -1;

    if (us < 0) {
        const char *text = getenv("SLOW_SYNC_US");
        us = text != NULL ? strtol(text, NULL, 10) : 1000;
    }
    struct timespec pause = { us / 1000000, us % 1000000 * 1000 };
    nanosleep(&pause, NULL);
}

#define SLOW(name)                                        \
    int name(int fd)                                      \
    {                                                     \
        static int (*real)(int);                          \
        if (real == NULL)                                 \
            real = (int (*)(int))dlsym(RTLD_NEXT, #name); \
        wait_for_disk();                                  \
        return real(fd);                                  \
    }

SLOW(fsync)
SLOW(fdatasync)
SLOW(syncfs)

ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t at, int flags)
{
    static ssize_t (*real)(int, const struct iovec *, int, off_t, int);

    if (real == NULL)
        real = (ssize_t(*)(int, const struct iovec *, int, off_t, int))dlsym(RTLD_NEXT, "pwritev2");
    if (flags & (RWF_DSYNC | RWF_SYNC))
        wait_for_disk();
    return real(fd, vector, count, at, flags);
}
