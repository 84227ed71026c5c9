#include "base/alloc.h"

#include <stdlib.h>

#include "base/require.h"

void *xmalloc(size_t size)
{
    void *p = malloc(size > 0 ? size : 1);

    require(p != NULL);
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = count > 0 && size > 0 ? calloc(count, size) : calloc(1, 1);

    require(p != NULL);
    return p;
}

void *xrealloc(void *old, size_t size)
{
    void *p = realloc(old, size > 0 ? size : 1);

    require(p != NULL);
    return p;
}

char *xstrdup(const char *z)
{
    return xstrndup(str_of(z));
}

char *xstrndup(struct str s)
{
    char *p = xmalloc(s.len + 1);

    if (s.len > 0)
        memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    return p;
}
