/* sighting.h - remembers files between polls, so that only settled ones are taken.
 *
 * A source (a file, by its name) is settled when it has looked the same for some time by our own
 * clock: clocks of file servers and of copied files are not trusted.  A source that is not seen in
 * a round is forgotten at its end.
 *
 * Bounded: at most SIGHTINGS_MOST sources.  A slot is released when its source is not seen in a
 * round: it was taken, or the caller knows it and does not ask any more.  So ask only for sources
 * that may be taken and were not yet; others would keep their slots for ever.
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
    uint64_t name; /* hash; 0: an empty slot */
    uint64_t ino;
    int64_t size, time_ns; /* time_ns: of the last change */
    int64_t since_us;      /* when it was first seen like this */
    uint64_t round;
};

struct sightings {
    struct sighting *places;
    size_t room, count; /* room: a power of two, or 0 */
    uint64_t round;
};

void sightings_done(struct sightings *s);

/* Whether the source was seen before and looked the same. */
bool sightings_has(const struct sightings *s, struct str name, uint64_t ino, int64_t size,
                   int64_t time_ns);
/* How long the source has looked like this; 0: it is new or has changed; -1: no slot is free. */
int64_t sightings_age_us(struct sightings *s, struct str name, uint64_t ino, int64_t size,
                         int64_t time_ns, int64_t now_us);
/* Ends a round: forgets sources that were not seen in it. */
void sightings_turn(struct sightings *s);
