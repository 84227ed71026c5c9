#include "base/http_crowd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/require.h"

enum { PLACES_LEAST = 64, PLACES_MOST = 1 << 16 };

struct member {
    struct member *next;
    uint64_t net[2]; /* the bytes that count */
    uint32_t count;
};

struct http_crowd {
    pthread_mutex_t mutex;
    uint64_t secret[2];
    size_t places; /* a power of two */
    struct member **at;
};

struct http_crowd *http_crowd_new(size_t connections)
{
    struct http_crowd *c = NEW(struct http_crowd);

    (void)pthread_mutex_init(&c->mutex, NULL);
    chance_bytes(c->secret, sizeof c->secret);
    c->places = PLACES_LEAST;
    while (c->places < connections && c->places < PLACES_MOST)
        c->places *= 2;
    c->at = xcalloc(c->places, sizeof(struct member *));
    return c;
}

void http_crowd_free(struct http_crowd *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->places; i++)
        for (struct member *m = c->at[i], *next; m != NULL; m = next) {
            next = m->next;
            free(m);
        }
    free(c->at);
    (void)pthread_mutex_destroy(&c->mutex);
    free(c);
}

static void net_of(const struct network_address *from, uint64_t ret[static 2])
{
    static const struct network v4 = { .base = { .bytes = { [10] = 0xff, [11] = 0xff } },
                                       .bits = 96 };

    memcpy(ret, from->bytes, 2 * sizeof *ret);
    if (!network_has(&v4, from))
        ret[1] = 0;
}

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* The link to the member, or to NULL where it would be put. */
static struct member **http_crowd_find(struct http_crowd *c, const uint64_t net[static 2])
{
    uint64_t hash = mix(mix(net[0] ^ c->secret[0]) + (net[1] ^ c->secret[1]));
    struct member **at = &c->at[hash & (c->places - 1)];

    while (*at != NULL && ((*at)->net[0] != net[0] || (*at)->net[1] != net[1]))
        at = &(*at)->next;
    return at;
}

uint32_t http_crowd_enter(struct http_crowd *c, const struct network_address *from)
{
    uint64_t net[2];

    net_of(from, net);
    (void)pthread_mutex_lock(&c->mutex);
    struct member **at = http_crowd_find(c, net);

    if (*at == NULL) {
        *at = NEW(struct member);
        memcpy((*at)->net, net, sizeof net);
    }
    uint32_t count = ++(*at)->count;

    (void)pthread_mutex_unlock(&c->mutex);
    return count;
}

void http_crowd_leave(struct http_crowd *c, const struct network_address *from)
{
    uint64_t net[2];

    net_of(from, net);
    (void)pthread_mutex_lock(&c->mutex);
    struct member **at = http_crowd_find(c, net), *m = *at;

    require(m != NULL && m->count > 0);
    if (--m->count == 0) {
        *at = m->next;
        free(m);
    }
    (void)pthread_mutex_unlock(&c->mutex);
}

bool http_crowd_same(const struct network_address *a, const struct network_address *b)
{
    uint64_t x[2], y[2];

    net_of(a, x);
    net_of(b, y);
    return x[0] == y[0] && x[1] == y[1];
}
