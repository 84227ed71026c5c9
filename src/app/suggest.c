#include "app/suggest.h"

void suggest(struct suggestion *s, const char *known)
{
    size_t distance = str_distance(s->word, str_of(known));
    size_t near = s->word.len <= 3 ? 1 : s->word.len <= 6 ? 2 : 3;

    if (distance <= near && (s->best == NULL || distance < s->distance)) {
        s->best = known;
        s->distance = distance;
    }
}
