/* container_of.h - from a member back to the struct that embeds it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ptr_ must point to exactly the type of that member, const included; anything else does
 * not compile. */
#define container_of(ptr_, type_, member_)                                 \
    ((type_ *)((uintptr_t) _Generic((ptr_), typeof(&((type_ *)0)->member_) \
                                    : (ptr_)) -                            \
               offsetof(type_, member_)))
