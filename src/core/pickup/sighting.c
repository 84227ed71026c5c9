#include "core/pickup/sighting.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { ROOM_LEAST = 64 };

/* FNV-1a.  A hash collision only makes both names wait longer. */
static uint64_t hash(struct str name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < name.len; i++)
        h = (h ^ (unsigned char)name.ptr[i]) * UINT64_C(0x100000001b3);
    return h != 0 ? h : 1;
}

void sightings_done(struct sightings *s)
{
    free(s->places);
    *s = (struct sightings){ 0 };
}

static struct sighting *sighting_place_of(const struct sightings *s, uint64_t name)
{
    size_t at = (size_t)(name & (s->room - 1));

    while (s->places[at].name != 0 && s->places[at].name != name)
        at = (at + 1) & (s->room - 1);
    return &s->places[at];
}

/* Rebuilds the table with those seen since that round, and room for as many more. */
static void rebuild(struct sightings *s, uint64_t since_round)
{
    struct sighting *old = s->places;
    size_t old_room = s->room, keep = 0;

    for (size_t i = 0; i < old_room; i++)
        keep += old[i].name != 0 && old[i].round >= since_round;
    s->room = ROOM_LEAST;
    while (s->room < keep * 4)
        s->room *= 2;
    s->places = xcalloc(s->room, sizeof *s->places);
    s->count = keep;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].name != 0 && old[i].round >= since_round)
            *sighting_place_of(s, old[i].name) = old[i];
    free(old);
}

static bool sighting_is_same(const struct sighting *p, uint64_t ino, int64_t size, int64_t time_ns)
{
    return p->name != 0 && p->ino == ino && p->size == size && p->time_ns == time_ns;
}

bool sightings_has(const struct sightings *s, struct str name, uint64_t ino, int64_t size,
                   int64_t time_ns)
{
    return s->room > 0 && sighting_is_same(sighting_place_of(s, hash(name)), ino, size, time_ns);
}

int64_t sightings_age_us(struct sightings *s, struct str name, uint64_t ino, int64_t size,
                         int64_t time_ns, int64_t now_us)
{
    uint64_t h = hash(name);

    if (s->count * 2 >= s->room)
        rebuild(s, 0);
    struct sighting *p = sighting_place_of(s, h);

    if (p->name == 0 && s->count >= SIGHTINGS_MOST)
        return -1;
    s->count += p->name == 0;
    if (!sighting_is_same(p, ino, size, time_ns))
        *p = (struct sighting){
            .name = h, .ino = ino, .size = size, .time_ns = time_ns, .since_us = now_us
        };
    p->round = s->round;
    return now_us - p->since_us;
}

void sightings_turn(struct sightings *s)
{
    if (s->count > 0)
        rebuild(s, s->round);
    s->round++;
}
