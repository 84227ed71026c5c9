/* plan_find.c - parts of a plan, found by name or by name id. */
#include "engine/plan/plan_build.h"

static size_t plan_home(int64_t word, size_t slots)
{
    return (size_t)((uint64_t)word * UINT64_C(0x9e3779b97f4a7c15) >> 24) % slots;
}

void plan_index_words(struct arena *a, struct plan_index *x, const void *first, size_t size,
                      size_t count, size_t word_at)
{
    x->slots = count * 2 + 1;
    x->at = ARENA_ARRAY(a, uint32_t, x->slots);
    for (size_t i = 0; i < count; i++) {
        size_t k =
            plan_home(*(const int64_t *)((const char *)first + i * size + word_at), x->slots);

        while (x->at[k] != 0)
            k = (k + 1) % x->slots;
        x->at[k] = (uint32_t)i + 1;
    }
}

/* The element with this name id, or NULL. */
static const void *find_word(const struct plan_index *x, const void *first, size_t size,
                             size_t word_at, int64_t word)
{
    if (x->slots == 0)
        return NULL;
    for (size_t k = plan_home(word, x->slots); x->at[k] != 0; k = (k + 1) % x->slots) {
        const char *one = (const char *)first + (x->at[k] - 1) * size;

        if (*(const int64_t *)(one + word_at) == word)
            return one;
    }
    return NULL;
}

#define FIND_WORD(p, index, list, value) \
    find_word(&(p)->index, (list), sizeof *(list), offsetof(typeof(*(list)), word), (value))

const struct plan_system *plan_system_find(const struct plan *p, int64_t word)
{
    return FIND_WORD(p, systems_by_word, p->systems, word);
}

const struct plan_endpoint *plan_endpoint_find(const struct plan *p, int64_t word)
{
    return FIND_WORD(p, endpoints_by_word, p->endpoints, word);
}

const struct plan_endpoint *plan_endpoint_named(const struct plan *p, struct str name)
{
    for (size_t i = 0; i < p->endpoint_count; i++)
        if (str_eq(p->endpoints[i].name, name))
            return &p->endpoints[i];
    return NULL;
}

const struct plan_system *plan_system_named(const struct plan *p, struct str name)
{
    for (size_t i = 0; i < p->system_count; i++)
        if (str_eq(p->systems[i].name, name))
            return &p->systems[i];
    return NULL;
}

const struct plan_gateway *plan_gateway_find(const struct plan *p, int64_t word)
{
    return FIND_WORD(p, gateways_by_word, p->gateways, word);
}

const struct plan_batch *plan_batch_find(const struct plan *p, int64_t word)
{
    for (size_t i = 0; i < p->batch_count; i++)
        if (p->batches[i].word == word)
            return &p->batches[i];
    return NULL;
}
