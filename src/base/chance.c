#include "base/chance.h"

#include <errno.h>
#include <sys/random.h>

#include "base/require.h"

void chance_bytes(void *to, size_t len)
{
    char *p = to;

    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        require(n > 0);
        p += n;
        len -= (size_t)n;
    }
}

uint64_t chance_u64(void)
{
    static _Thread_local uint64_t pool[64];
    static _Thread_local size_t left;

    if (left == 0) {
        chance_bytes(pool, sizeof pool);
        left = sizeof pool / sizeof pool[0];
    }
    return pool[--left];
}
