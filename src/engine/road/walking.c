#include "engine/road/walking.h"

#include "engine/road/state.h"

void walking_init(struct walking_place *p)
{
    (void)pthread_mutex_init(&p->mutex, NULL);
}

void walking_show(struct flight *f)
{
    struct walking_place *p = f->place;

    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->mutex);
    p->flight = f;
    p->facts = f->facts;
    p->noted = false;
    (void)pthread_mutex_unlock(&p->mutex);
}

void walking_end(struct flight *f)
{
    struct walking_place *p = f->place;

    f->place = NULL;
    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->mutex);
    p->flight = NULL;
    (void)pthread_mutex_unlock(&p->mutex);
}

void walking_each_old(struct road *r, int64_t before_us,
                      void (*see)(void *arg, struct walking_place *p), void *arg)
{
    for (size_t i = 0; i < RECORDER_SLOTS; i++) {
        struct walking_place *p = &r->walking[i];

        (void)pthread_mutex_lock(&p->mutex);
        if (p->flight != NULL && p->flight->began_us < before_us)
            see(arg, p);
        (void)pthread_mutex_unlock(&p->mutex);
    }
}
