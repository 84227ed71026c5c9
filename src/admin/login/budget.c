#include "admin/login/budget.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/digest.h"

enum { PRINCIPALS = 512 };

struct account {
    struct sha256 who;
    int64_t left_us; /* of the budget, as of seen_us; below 0: a debt */
    int64_t seen_us; /* 0: free */
};

struct budget {
    pthread_mutex_t mutex;
    struct account accounts[PRINCIPALS];
};

struct budget *budget_new(void)
{
    struct budget *b = NEW(struct budget);

    (void)pthread_mutex_init(&b->mutex, NULL);
    return b;
}

void budget_free(struct budget *b)
{
    free(b);
}

/* The account, with what was earned since it was last seen.  With the mutex held. */
static struct account *account_of(struct budget *b, struct str who, int64_t now_us)
{
    struct sha256 id = digest_of(who);
    struct account *oldest = &b->accounts[0];

    for (size_t i = 0; i < PRINCIPALS; i++) {
        struct account *a = &b->accounts[i];

        if (a->seen_us != 0 && digest_same(&a->who, &id)) {
            int64_t idle = now_us - a->seen_us;

            a->seen_us = now_us;
            a->left_us += idle;
            if (a->left_us > BUDGET_BURST_US)
                a->left_us = BUDGET_BURST_US;
            return a;
        }
        if (a->seen_us < oldest->seen_us)
            oldest = a;
    }
    *oldest = (struct account){ .who = id, .left_us = BUDGET_BURST_US, .seen_us = now_us };
    return oldest;
}

int64_t budget_wait(struct budget *b, struct str who, int64_t now_us)
{
    (void)pthread_mutex_lock(&b->mutex);
    int64_t left = account_of(b, who, now_us)->left_us;

    (void)pthread_mutex_unlock(&b->mutex);
    return left > 0 ? 0 : 1 - left;
}

void budget_pay(struct budget *b, struct str who, int64_t took_us, int64_t now_us)
{
    (void)pthread_mutex_lock(&b->mutex);
    account_of(b, who, now_us)->left_us -= took_us < BUDGET_BURST_US ? took_us : BUDGET_BURST_US;
    (void)pthread_mutex_unlock(&b->mutex);
}
