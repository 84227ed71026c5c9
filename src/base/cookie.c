#include "base/cookie.h"

struct str cookie_value(struct str field, const char *name)
{
    struct str pair, key;

    while (field.len > 0) {
        field = str_cut(field, ';', &pair);
        struct str is = str_cut(str_trim(pair), '=', &key);

        if (str_is(key, name) && is.len > 0)
            return is;
    }
    return (struct str){ 0 };
}
