#include "engine/intake/key_search.h"

#include "base/auto.h"
#include "core/intake.h"
#include "engine/intake/intake_table.h"
#include "store/search/key_find.h"
#include "store/store.h"

enum { DIGESTS_MOST = 4096 }; /* per query */

struct sha256 key_search_digest(int64_t gateway, int64_t caller, struct str user, struct str key)
{
    struct digest d = digest_start();
    int64_t who[3] = { gateway, caller, (int64_t)user.len };

    digest_add(&d, str_mem(who, sizeof who));
    digest_add(&d, user);
    digest_add(&d, key);
    return digest_end(&d);
}

struct asking {
    struct store *store;
    struct str key;
    struct sha256 *digests;
    size_t count;
    int64_t *nums;
    size_t found, most;
};

static bool key_search_ask(struct asking *q, struct err *err)
{
    size_t n;
    bool ok =
        key_find(q->store, q->digests, q->count, q->nums + q->found, q->most - q->found, &n, err);

    q->found += ok ? n : 0;
    q->count = 0;
    return ok;
}

static bool key_search_add(struct asking *q, int64_t gateway, int64_t caller, struct str user,
                           struct err *err)
{
    if (q->count == DIGESTS_MOST && !key_search_ask(q, err))
        return false;
    q->digests[q->count++] = key_search_digest(gateway, caller, user, q->key);
    return true;
}

static bool add_gateway(struct asking *q, const struct intake_table *t,
                        const struct intake_gateway *g, struct err *err)
{
    if (!key_search_add(q, g->word, CALLER_NONE, STR(""), err) ||
        !key_search_add(q, g->word, CALLER_ADMIN, STR(""), err))
        return false;
    for (size_t i = 0; i < g->config->user_count; i++)
        if (!key_search_add(q, g->word, CALLER_BASIC, str_of(g->config->users[i].name), err))
            return false;
    for (size_t i = 0; i < t->caller_count; i++)
        if (t->callers[i].gateway == g->word &&
            !key_search_add(q, g->word, t->callers[i].id, STR(""), err))
            return false;
    return true;
}

bool key_search(struct store *s, const struct intake_table *t, int64_t gateway, struct str key,
                int64_t *ret, size_t most, size_t *ret_count, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)DIGESTS_MOST * SHA256_SIZE * 2);
    struct asking q = { .store = s,
                        .key = key,
                        .digests = ARENA_ARRAY(&a, struct sha256, DIGESTS_MOST),
                        .nums = ret,
                        .most = most };
    bool ok = true;

    for (size_t i = 0; i < t->gateway_count && ok; i++)
        if (gateway == 0 || gateway == t->gateways[i].word)
            ok = add_gateway(&q, t, &t->gateways[i], err);
    ok = ok && key_search_ask(&q, err);
    *ret_count = q.found;
    return ok;
}
