/* one_delivery.h - a stored delivery by its number. */
#pragma once

#include "store/road/delivery.h"

/* False with ERR_NONE: there is no such delivery. */
static inline bool delivery_get(struct store *s, int64_t num, struct arena *a, struct delivery *ret,
                                struct err *err)
{
    struct delivery_look look = { .num = num, .arena = a };

    if (!delivery_find(s, &look, 1, err) || !look.found)
        return false;
    *ret = look.delivery;
    return true;
}
