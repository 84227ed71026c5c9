/* libuv_close.c - lets the thread sanitizer see how libuv closes descriptors.
 *
 * libuv calls syscall(SYS_close), which is not intercepted: to the sanitizer the descriptor stays
 * open, and whoever is given its number next races with the connection that had it.  This
 * definition takes precedence over that of the C library and closes by close(), which is
 * intercepted.  Every program of the tsan build has it (CMakeLists.txt); no other build does.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    static long (*_Atomic found)(long, ...);
    long (*next)(long, ...) = found; /* GCC reads without care when it calls an atomic pointer */
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++) /* as the C library does: there are registers for all of them */
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_close)
        return close((int)a[0]);
    if (next == NULL)
        found = next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
