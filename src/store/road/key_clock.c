#include "store/road/key_clock.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

struct key_clock {
    pthread_mutex_t mutex;
    struct steady steady;
};

struct key_clock *key_clock_new(void)
{
    struct key_clock *c = NEW(struct key_clock);

    (void)pthread_mutex_init(&c->mutex, NULL);
    return c;
}

void key_clock_free(struct key_clock *c)
{
    free(c);
}

static struct steady key_clock_get(struct key_clock *c)
{
    (void)pthread_mutex_lock(&c->mutex);
    struct steady s = c->steady;

    (void)pthread_mutex_unlock(&c->mutex);
    return s;
}

bool key_clock_look(struct key_clock *c, struct db *db, struct steady *ret, bool *ret_again,
                    struct err *err)
{
    struct steady s = key_clock_get(c);
    int64_t asked = clock_mono_us(), clock, step;

    if (!db_one_int(db, SQL_RATE_NOW, DB_NO_ARGS, 0, &clock, err))
        return false;
    *ret_again = s.read;
    (void)steady_note(&s, clock, asked + (clock_mono_us() - asked) / 2, &step);
    *ret = s;
    return true;
}

void key_clock_set(struct key_clock *c, const struct steady *s)
{
    (void)pthread_mutex_lock(&c->mutex);
    c->steady = *s;
    (void)pthread_mutex_unlock(&c->mutex);
}

int64_t key_clock_now_of(const struct steady *s)
{
    return s->base_us + (clock_mono_us() - s->base_mono_us);
}

int64_t key_clock_now_us(struct key_clock *c)
{
    struct steady s = key_clock_get(c);

    return key_clock_now_of(&s);
}

int64_t key_clock_over_us(struct key_clock *c)
{
    struct steady s = key_clock_get(c);

    return steady_early_us(&s, clock_mono_us());
}

bool key_clock_is_doubted(struct key_clock *c)
{
    return key_clock_get(c).frozen;
}
