/* sighting.h - what was seen lying there, so that only what has settled is taken.
 *
 * A source (a file, by its name) is settled when it looked the same for some time, by our own
 * clock: clocks of file servers and of copied files are not to be trusted.  What is not met in a
 * round is forgotten at its end.
 *
 * Bounded: at most SIGHTINGS_MOST are remembered.  A place is free again when its source was not
 * met in a round: it was taken, or whoever looks knows it by then and does not ask here.  So only
 * what may be taken and was not yet is to be asked for; the others would hold their places for
 * ever.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { SIGHTINGS_MOST = 48 << 10 };

struct sighting {
    uint64_t name; /* hash, 0: an empty place */
    uint64_t ino;
    int64_t size, time_ns; /* time: of its last change */
    int64_t since_us;      /* when it was first seen like this */
    uint64_t round;
};

struct sightings {
    struct sighting *places;
    size_t room, count; /* room: a power of two, or 0 */
    uint64_t round;
};

void sightings_done(struct sightings *s);

/* It was met before, and looked like this. */
bool sightings_has(const struct sightings *s, struct str name, uint64_t ino, int64_t size,
                   int64_t time_ns);
/* How long this one has looked like this; 0 when it is new or has changed, -1 when there is no
 * room for it now. */
int64_t sightings_age_us(struct sightings *s, struct str name, uint64_t ino, int64_t size,
                         int64_t time_ns, int64_t now_us);
/* The round is over: forget what was not met in it. */
void sightings_turn(struct sightings *s);
