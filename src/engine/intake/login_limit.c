#include "engine/intake/login_limit.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/digest.h"

enum { SETS = 1024, WAYS = 4, SECOND_US = 1000000 };

struct slot {
    uint64_t key; /* 0: empty */
    int tries;    /* attempts; in the table `known`: attempts left of the burst */
    int64_t last_us, next_us;
};

struct table {
    struct slot slots[SETS][WAYS];
};

struct login_limit {
    pthread_mutex_t mutex;
    unsigned char secret[32]; /* keys the hash: nobody can choose which entry a new one replaces */
    struct table tries, known;
};

struct login_limit *login_limit_new(void)
{
    struct login_limit *l = NEW(struct login_limit);

    (void)pthread_mutex_init(&l->mutex, NULL);
    chance_bytes(l->secret, sizeof l->secret);
    return l;
}

void login_limit_free(struct login_limit *l)
{
    if (l == NULL)
        return;
    (void)pthread_mutex_destroy(&l->mutex);
    free(l);
}

/* ---- keys ---- */

/* The significant bytes of an address: all four of IPv4, the first eight of IPv6. */
static struct str network_of(struct str address, unsigned char bytes[16])
{
    static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
    char text[INET6_ADDRSTRLEN];

    if (address.len >= sizeof text)
        return address;
    memcpy(text, address.ptr, address.len);
    text[address.len] = '\0';
    if (inet_pton(AF_INET, text, bytes) == 1)
        return str_mem(bytes, 4);
    if (inet_pton(AF_INET6, text, bytes) != 1)
        return address;
    if (memcmp(bytes, mapped, sizeof mapped) == 0)
        return str_mem(bytes + 12, 4);
    return str_mem(bytes, 8);
}

static uint64_t login_limit_key_of(const struct login_limit *l, struct str user, struct str address)
{
    unsigned char bytes[16];
    struct digest d = digest_start();
    uint64_t key;

    digest_add(&d, str_mem(l->secret, sizeof l->secret));
    digest_add(&d, str_mem(&user.len, sizeof user.len));
    digest_add(&d, user);
    digest_add(&d, network_of(address, bytes));
    struct sha256 sum = digest_end(&d);

    memcpy(&key, sum.bytes, sizeof key);
    return key != 0 ? key : 1;
}

static struct slot *login_limit_find(struct table *t, uint64_t key)
{
    for (int i = 0; i < WAYS; i++)
        if (t->slots[key % SETS][i].key == key)
            return &t->slots[key % SETS][i];
    return NULL;
}

/* The slot of the key; if there is none, the least recently used slot of its set is replaced. */
static struct slot *login_limit_take(struct table *t, uint64_t key)
{
    struct slot *found = login_limit_find(t, key), *set = t->slots[key % SETS], *oldest = set;

    if (found != NULL)
        return found;
    for (int i = 0; i < WAYS; i++)
        if (set[i].key == 0 || set[i].last_us < oldest->last_us)
            oldest = &set[i];
    *oldest = (struct slot){ .key = key };
    return oldest;
}

/* ---- rules ---- */

static void count_try(struct slot *s, int free_tries, int64_t now_us)
{
    s->tries++;
    s->last_us = now_us;
    if (s->tries < free_tries)
        return;
    int doubled = s->tries - free_tries;
    int64_t wait = doubled < 10 ? (int64_t)SECOND_US << doubled : LOGIN_WAIT_MOST_US;

    s->next_us = now_us + (wait < LOGIN_WAIT_MOST_US ? wait : LOGIN_WAIT_MOST_US);
}

/* How long the key still has to wait.  Attempts longer ago than the longest delay are dropped. */
static int64_t wait_of(struct table *t, uint64_t key, int64_t now_us)
{
    struct slot *s = login_limit_find(t, key);

    if (s == NULL)
        return 0;
    if (now_us - s->last_us >= LOGIN_WAIT_MOST_US)
        *s = (struct slot){ .key = key };
    return s->next_us - now_us;
}

/* A refused attempt takes no slot, so further attempts cannot displace the counters. */
static int64_t try_stranger(struct login_limit *l, uint64_t pair, uint64_t place, int64_t now_us)
{
    int64_t by_pair = wait_of(&l->tries, pair, now_us),
            by_place = wait_of(&l->tries, place, now_us);
    int64_t wait = by_pair > by_place ? by_pair : by_place;

    if (wait > 0)
        return wait;
    count_try(login_limit_take(&l->tries, place), LOGIN_FREE_ADDRESS, now_us);
    count_try(login_limit_take(&l->tries, pair), LOGIN_FREE_PAIR, now_us);
    return 0;
}

static int64_t try_known(struct slot *s, int64_t now_us)
{
    int64_t more = (now_us - s->last_us) / SECOND_US;

    if (more > 0) {
        s->tries = more >= LOGIN_KNOWN_BURST - s->tries ? LOGIN_KNOWN_BURST : s->tries + (int)more;
        s->last_us = now_us;
    }
    if (s->tries == 0)
        return SECOND_US - (now_us - s->last_us);
    s->tries--;
    return 0;
}

int64_t login_limit_try(struct login_limit *l, struct str user, struct str address, int64_t now_us)
{
    uint64_t pair = login_limit_key_of(l, user, address),
             place = login_limit_key_of(l, STR(""), address);

    (void)pthread_mutex_lock(&l->mutex);
    struct slot *known = login_limit_find(&l->known, pair);
    int64_t wait = known != NULL ? try_known(known, now_us) : try_stranger(l, pair, place, now_us);

    (void)pthread_mutex_unlock(&l->mutex);
    return wait;
}

void login_limit_worked(struct login_limit *l, struct str user, struct str address, int64_t now_us)
{
    uint64_t pair = login_limit_key_of(l, user, address),
             place = login_limit_key_of(l, STR(""), address);

    (void)pthread_mutex_lock(&l->mutex);
    /* The attempt of a known pair was not counted for the address. */
    bool was_known = login_limit_find(&l->known, pair) != NULL;
    struct slot *known = login_limit_take(&l->known, pair),
                *at = login_limit_find(&l->tries, place),
                *failed = login_limit_find(&l->tries, pair);

    known->tries = LOGIN_KNOWN_BURST;
    known->last_us = now_us;
    if (failed != NULL)
        *failed = (struct slot){ 0 };
    if (!was_known && at != NULL && at->tries > 0) { /* take the attempt back: it did not fail */
        at->tries--;
        at->next_us = at->tries < LOGIN_FREE_ADDRESS ? 0 : at->next_us;
    }
    (void)pthread_mutex_unlock(&l->mutex);
}

/* The attempt was allowed, so there was no delay before it. */
static void uncount(struct slot *s)
{
    if (s == NULL || s->tries == 0)
        return;
    s->tries--;
    s->next_us = 0;
}

void login_limit_undo(struct login_limit *l, struct str user, struct str address)
{
    uint64_t pair = login_limit_key_of(l, user, address),
             place = login_limit_key_of(l, STR(""), address);

    (void)pthread_mutex_lock(&l->mutex);
    struct slot *known = login_limit_find(&l->known, pair);

    if (known != NULL) {
        known->tries += known->tries < LOGIN_KNOWN_BURST;
    } else {
        uncount(login_limit_find(&l->tries, pair));
        uncount(login_limit_find(&l->tries, place));
    }
    (void)pthread_mutex_unlock(&l->mutex);
}
