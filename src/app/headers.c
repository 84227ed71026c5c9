#include "app/headers.h"

#include <string.h>

#include "base/http_target.h"

void headers_done(struct headers *h)
{
    arena_done(&h->arena);
}

enum { NAME_MOST = 255 };

static bool is_header_value(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 ? s.ptr[i] != '\t' : s.ptr[i] == 0x7f)
            return false;
    return s.len <= 8192;
}

bool headers_add(struct headers *h, const struct args *a, struct str name, struct str value)
{
    if (!http_is_token(name) || name.len > NAME_MOST) {
        (void)args_wrong(a, "\"%.*s\" is not the name of a header; write --header K:V",
                         STR_ARG(name));
        return false;
    }
    if (!is_header_value(value)) {
        (void)args_wrong(a,
                         "the value for %.*s has line breaks or other control characters, "
                         "or is over 8 KiB",
                         STR_ARG(name));
        return false;
    }
    if (h->count == CLIENT_HEADERS) {
        (void)args_wrong(a, "more than %d headers", CLIENT_HEADERS);
        return false;
    }
    /* libcurl drops a header "K:" without a value and sends "K;" as an empty one. */
    h->line[h->count++] =
        value.len == 0 ? arena_printf(&h->arena, "%.*s;", STR_ARG(name))
                       : arena_printf(&h->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value));
    return true;
}
