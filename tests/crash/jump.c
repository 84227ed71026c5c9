/* LD_PRELOAD: a wall clock that can be moved.
 *
 * The first eight bytes of the file $JUMP_FILE are added to it, in microseconds, as an int64_t in
 * the machine's order; the file is mapped, so whoever writes it moves the clock at once. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_us;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("JUMP_FILE");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof *offset_us, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    if (at != MAP_FAILED)
        offset_us = at;
    if (fd >= 0)
        (void)close(fd);
}

int clock_gettime(clockid_t which, struct timespec *t)
{
    if (real == NULL) /* somebody asks before us */
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(which, t);

    if (rc == 0 && which == CLOCK_REALTIME && offset_us != NULL) {
        int64_t us = *offset_us;

        t->tv_sec += us / 1000000;
        t->tv_nsec += us % 1000000 * 1000;
        if (t->tv_nsec >= 1000000000 || t->tv_nsec < 0) {
            int down = t->tv_nsec < 0 ? -1 : 1;

            t->tv_sec += down;
            t->tv_nsec -= down * 1000000000L;
        }
    }
    return rc;
}
