/* auto.h - release at end of scope (gcc and clang `cleanup`). */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define AUTO(fn) __attribute__((cleanup(fn)))

static inline void auto_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}
#define AUTO_FD AUTO(auto_close) int

static inline void auto_free(char **p)
{
    free(*p);
}
#define AUTO_TEXT AUTO(auto_free) char *
