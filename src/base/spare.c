#include "base/spare.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void *spare_malloc(size_t size)
{
    return malloc(size);
}

void *spare_calloc(size_t count, size_t size)
{
    return calloc(count, size);
}

void *spare_realloc(void *p, size_t size)
{
    return realloc(p, size);
}

char *spare_strdup(const char *z)
{
    return strdup(z);
}

void spare_free(void *p)
{
    free(p);
}

size_t spare_size(const void *p)
{
    return malloc_usable_size((void *)(uintptr_t)p);
}

#else

enum { STEP = 32, CLASSES = 64, KEPT = 64, LARGE = CLASSES }; /* up to 2 KiB is kept */

struct piece {
    union {
        struct piece *next; /* while it is kept */
        size_t size;        /* of a large one */
    };
    size_t class;
    _Alignas(16) char bytes[];
};

struct kept {
    struct piece *first[CLASSES];
    uint8_t count[CLASSES];
};

static _Thread_local struct kept *own;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void give_back(void *arg)
{
    struct kept *k = arg;

    for (size_t i = 0; i < CLASSES; i++)
        for (struct piece *p = k->first[i], *next; p != NULL; p = next) {
            next = p->next;
            free(p);
        }
    own = NULL;
    free(k);
}

static void make_key(void)
{
    (void)pthread_key_create(&key, give_back);
}

static struct kept *kept(void)
{
    if (own == NULL) {
        (void)pthread_once(&once, make_key);
        own = calloc(1, sizeof *own);
        if (own != NULL)
            (void)pthread_setspecific(key, own);
    }
    return own;
}

static struct piece *piece_of(const void *p)
{
    return (struct piece *)((uintptr_t)p - offsetof(struct piece, bytes));
}

size_t spare_size(const void *bytes)
{
    const struct piece *p = piece_of(bytes);

    return p->class < CLASSES ? p->class * STEP : p->size;
}

void *spare_malloc(size_t size)
{
    size_t class = (size + STEP - 1) / STEP;
    struct kept *k = kept();
    struct piece *p;

    if (class < CLASSES && k != NULL && k->first[class] != NULL) {
        p = k->first[class];
        k->first[class] = p->next;
        k->count[class]--;
        return p->bytes;
    }
    if (size > SIZE_MAX / 2)
        return NULL;
    p = malloc(sizeof *p + (class < CLASSES ? class * STEP : size));
    if (p == NULL)
        return NULL;
    p->size = size;
    p->class = class < CLASSES ? class : LARGE;
    return p->bytes;
}

void spare_free(void *bytes)
{
    if (bytes == NULL)
        return;
    struct piece *p = piece_of(bytes);
    struct kept *k = p->class < CLASSES ? kept() : NULL;

    if (k == NULL || k->count[p->class] == KEPT) {
        free(p);
        return;
    }
    p->next = k->first[p->class];
    k->first[p->class] = p;
    k->count[p->class]++;
}

void *spare_calloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *p = spare_malloc(bytes);

    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

void *spare_realloc(void *bytes, size_t size)
{
    if (bytes == NULL)
        return spare_malloc(size);
    size_t had = spare_size(bytes);

    if (piece_of(bytes)->class < CLASSES && size <= had)
        return bytes;
    void *to = spare_malloc(size);

    if (to == NULL)
        return NULL;
    memcpy(to, bytes, had < size ? had : size);
    spare_free(bytes);
    return to;
}

char *spare_strdup(const char *z)
{
    size_t len = strlen(z) + 1;
    char *to = spare_malloc(len);

    return to != NULL ? memcpy(to, z, len) : NULL;
}

#endif
