#include "engine/intake/intake_table.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/key.h"
#include "base/require.h"
#include "engine/intake/served.h"

enum { KEY_MOST = 200 };

struct intake_table *intake_table_ref(struct intake_table *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void intake_table_unref(struct intake_table *t)
{
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < t->gateway_count; i++)
        served_unmake(&t->gateways[i]);
    config_unref(t->config);
    arena_done(&t->arena);
    free(t);
}

static int by_gateway_name(const void *a, const void *b)
{
    const struct intake_gateway *x = a, *y = b;

    return str_cmp(str_of(x->config->name), str_of(y->config->name));
}

static int by_caller_name(const void *a, const void *b)
{
    const struct intake_caller *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

void intake_table_sort(struct intake_table *t)
{
    if (t->gateway_count > 0)
        qsort(t->gateways, t->gateway_count, sizeof *t->gateways, by_gateway_name);
    if (t->caller_count > 0)
        qsort(t->callers, t->caller_count, sizeof *t->callers, by_caller_name);
}

static uint64_t gate_key(int64_t caller, struct str user)
{
    uint64_t h = (uint64_t)caller + UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = 0; i < user.len; i++)
        h = (h ^ (unsigned char)user.ptr[i]) * UINT64_C(0x100000001b3);
    h = (h ^ h >> 31) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return h | 1;
}

struct rate *intake_gate(struct intake_gateway_state *s, int64_t caller, struct str user)
{
    uint64_t key = gate_key(caller, user);
    size_t home = (size_t)(key >> 32) % CALLER_GATES;

    for (size_t i = 0; i < CALLER_GATES; i++) {
        struct caller_gate *g = &s->gates[(home + i) % CALLER_GATES];
        uint64_t owner = 0;

        if (atomic_compare_exchange_strong(&g->caller, &owner, key) || owner == key)
            return &g->rate;
    }
    return &s->gates[home].rate;
}

const struct intake_gateway *intake_find(const struct intake_table *t, struct str name)
{
    size_t low = 0, high = t->gateway_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = str_cmp(str_of(t->gateways[mid].config->name), name);

        if (c == 0)
            return &t->gateways[mid];
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

bool intake_is_admin(const struct intake_table *t, struct str token)
{
    struct sha256 got = digest_of(token);

    return token.len > 0 && token.len <= KEY_MOST && digest_same(&got, &t->admin_token);
}

static const struct intake_caller *find_caller(const struct intake_table *t, struct str key)
{
    struct intake_caller want = { .name = key_name(key) };
    const struct intake_caller *c;
    struct sha256 got;

    if (want.name.len == 0 || key.len > KEY_MOST || t->caller_count == 0)
        return NULL;
    c = bsearch(&want, t->callers, t->caller_count, sizeof *t->callers, by_caller_name);
    if (c == NULL)
        return NULL;
    got = digest_of(key);
    return digest_same(&got, &c->secret) ? c : NULL;
}

static bool caller_is_over(const struct intake_caller *c)
{
    return c->expires_us != 0 && clock_wall_us() >= c->expires_us;
}

int64_t intake_caller_of(const struct intake_table *t, struct str key, struct str address)
{
    const struct intake_caller *c = find_caller(t, key);

    if (c == NULL || caller_is_over(c) || (c->network_count > 0 && !intake_is_from(c, address)))
        return CALLER_NONE;
    intake_note_use(c);
    return c->id;
}

void intake_table_carry(struct intake_table *t, const struct intake_table *from)
{
    size_t k = 0;

    for (size_t i = 0; i < t->caller_count && k < from->caller_count;) {
        struct caller_use *to = t->callers[i].use;
        const struct caller_use *was = from->callers[k].use;
        int c = str_cmp(t->callers[i].name, from->callers[k].name);

        if (c == 0) {
            if (atomic_load(&was->lately))
                atomic_store(&to->lately, true);
            if (atomic_load(&was->used_us) > atomic_load(&to->used_us))
                atomic_store(&to->used_us, atomic_load(&was->used_us));
        }
        i += c <= 0;
        k += c >= 0;
    }
}

enum intake_auth intake_check_key(const struct intake_table *t, const struct intake_gateway *g,
                                  struct str key, const struct intake_caller **ret)
{
    static const struct intake_caller admin = { .id = CALLER_ADMIN };
    const struct intake_caller *c;

    if (key.ptr == NULL)
        return AUTH_MISSING;
    c = find_caller(t, key);
    if (c == NULL && intake_is_admin(t, key)) {
        *ret = &admin;
        return AUTH_OK;
    }
    if (c == NULL)
        return AUTH_WRONG;
    *ret = c;
    return c->gateway != g->word ? AUTH_OTHER_GATEWAY : caller_is_over(c) ? AUTH_EXPIRED : AUTH_OK;
}
