#include "store/road/retain_days.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "core/retain_rule.h"
#include "store/kernel/store_state.h"

struct retain_rules_held {
    pthread_rwlock_t lock;
    struct retain_rules rules;
    struct retain_type *types; /* of the rules */
};

struct retain_rules_held *retain_rules_new(void)
{
    struct retain_rules_held *h = NEW(struct retain_rules_held);

    (void)pthread_rwlock_init(&h->lock, NULL);
    h->rules.other_days = RETAIN_BY_RULE;
    for (int i = 0; i < DOCUMENT_STATES; i++)
        h->rules.days[i] = RETAIN_DAYS;
    return h;
}

void retain_rules_free(struct retain_rules_held *h)
{
    if (h == NULL)
        return;
    free(h->types);
    free(h);
}

void retain_use(struct store *s, const struct retain_rules *rules)
{
    struct retain_rules_held *h = s->retain_rules;
    struct retain_type *types = xcalloc(rules->type_count + 1, sizeof *types), *old;

    if (rules->type_count > 0)
        memcpy(types, rules->types, rules->type_count * sizeof *types);
    (void)pthread_rwlock_wrlock(&h->lock);
    old = h->types;
    h->rules = *rules;
    h->rules.types = h->types = types;
    (void)pthread_rwlock_unlock(&h->lock);
    free(old);
}

static int retain_days_by_word(const void *a, const void *b)
{
    const struct retain_type *x = a, *y = b;

    return x->type < y->type ? -1 : x->type > y->type;
}

int64_t retain_days(struct store *s, int64_t type, enum document_state state)
{
    struct retain_rules_held *h = s->retain_rules;
    const struct retain_rules *r = &h->rules;
    struct retain_type key = { .type = type }, *found = NULL;

    (void)pthread_rwlock_rdlock(&h->lock);
    if (r->type_count > 0)
        found = bsearch(&key, r->types, r->type_count, sizeof key, retain_days_by_word);
    int64_t days = found != NULL ? found->days : r->other_days;

    if (days < 0)
        days = r->days[state];
    (void)pthread_rwlock_unlock(&h->lock);
    return days;
}

bool retain_days_for(struct writer *w, int64_t num, enum document_state state, int64_t *ret,
                     struct err *err)
{
    int64_t type;

    if (!db_one_int(w->db, SQL_RETAIN_TYPE, DB_ARGS(db_int(num)), 0, &type, err))
        return false;
    *ret = retain_days(w->store, type, state);
    return true;
}

static size_t add_days(int64_t *all, size_t count, size_t most, int64_t days)
{
    for (size_t i = 0; i < count; i++)
        if (all[i] == days)
            return count;
    if (days >= 0 && count < most)
        all[count++] = days;
    return count;
}

size_t retain_days_all(struct store *s, int64_t *ret, size_t most)
{
    struct retain_rules_held *h = s->retain_rules;
    size_t n = 0;

    (void)pthread_rwlock_rdlock(&h->lock);
    for (int i = 0; i < DOCUMENT_STATES; i++)
        if (document_is_over((enum document_state)i))
            n = add_days(ret, n, most, h->rules.days[i]);
    n = add_days(ret, n, most, h->rules.other_days);
    for (size_t i = 0; i < h->rules.type_count; i++)
        n = add_days(ret, n, most, h->rules.types[i].days);
    (void)pthread_rwlock_unlock(&h->lock);
    return n;
}
