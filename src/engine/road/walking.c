#include "engine/road/walking.h"

#include "engine/road/state.h"

void walking_init(struct walking_place *p)
{
    (void)pthread_mutex_init(&p->mutex, NULL);
}

void walking_list_init(struct walking_list *l)
{
    (void)pthread_mutex_init(&l->mutex, NULL);
}

/* ---- while it waits ---- */

static void list_add(struct walking_list *l, struct walking_place *p)
{
    (void)pthread_mutex_lock(&l->mutex);
    p->before = NULL;
    p->after = l->first;
    if (p->after != NULL)
        p->after->before = p;
    l->first = p;
    (void)pthread_mutex_unlock(&l->mutex);
}

static void list_take(struct walking_list *l, struct walking_place *p)
{
    (void)pthread_mutex_lock(&l->mutex);
    if (p->after != NULL)
        p->after->before = p->before;
    if (p->before != NULL)
        p->before->after = p->after;
    else
        l->first = p->after;
    (void)pthread_mutex_unlock(&l->mutex);
}

static void show_at(struct flight *f, struct walking_place *p, bool noted)
{
    (void)pthread_mutex_lock(&p->mutex);
    p->flight = f;
    p->facts = f->facts;
    p->noted = noted;
    (void)pthread_mutex_unlock(&p->mutex);
}

/* True: it had been noted. */
static bool leave_place(struct walking_place *p)
{
    (void)pthread_mutex_lock(&p->mutex);
    bool noted = p->noted;

    p->flight = NULL;
    (void)pthread_mutex_unlock(&p->mutex);
    return noted;
}

void walking_begin(struct flight *f, struct walking_place *place)
{
    struct walking_place *waits = f->waits;

    f->place = place;
    if (waits == NULL)
        return;
    f->waits = NULL;
    list_take(&f->road->waiting, waits);
    if (place != NULL)
        show_at(f, place, leave_place(waits));
}

void walking_wait(struct flight *f)
{
    struct walking_place *p = f->place, *waits = ARENA_NEW(&f->arena, struct walking_place);

    f->place = NULL;
    f->waits = waits;
    walking_init(waits);
    show_at(f, waits, p != NULL && leave_place(p));
    list_add(&f->road->waiting, waits);
}

/* ---- on a thread ---- */

void walking_show(struct flight *f)
{
    if (f->place != NULL)
        show_at(f, f->place, false);
}

void walking_end(struct flight *f)
{
    struct walking_place *p = f->place;

    f->place = NULL;
    if (p != NULL)
        (void)leave_place(p);
}

/* ---- looking ---- */

static void see_if_old(struct walking_place *p, int64_t before_us,
                       void (*see)(void *arg, struct walking_place *p), void *arg)
{
    (void)pthread_mutex_lock(&p->mutex);
    if (p->flight != NULL && p->flight->began_us < before_us)
        see(arg, p);
    (void)pthread_mutex_unlock(&p->mutex);
}

void walking_each_old(struct road *r, int64_t before_us,
                      void (*see)(void *arg, struct walking_place *p), void *arg)
{
    for (size_t i = 0; i < RECORDER_SLOTS; i++)
        see_if_old(&r->walking[i], before_us, see, arg);
    (void)pthread_mutex_lock(&r->waiting.mutex);
    for (struct walking_place *p = r->waiting.first; p != NULL; p = p->after)
        see_if_old(p, before_us, see, arg);
    (void)pthread_mutex_unlock(&r->waiting.mutex);
}
