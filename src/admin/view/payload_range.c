#include "admin/view/payload_range.h"

enum range_result payload_range(struct str field, int64_t size, int64_t *ret_from,
                                int64_t *ret_length)
{
    struct str first, last;
    int64_t from, to;

    *ret_from = 0;
    *ret_length = size;
    if (!str_starts(field, STR("bytes=")) || str_find(field, ',') >= 0 || str_find(field, '-') < 0)
        return RANGE_WHOLE;
    last = str_cut(str_from(field, 6), '-', &first);
    if (first.len == 0) {
        if (!str_to_i64(last, &to))
            return RANGE_WHOLE;
        if (to == 0)
            return RANGE_UNSATISFIABLE;
        from = to < size ? size - to : 0;
        to = size - 1;
    } else {
        if (!str_to_i64(first, &from) || (last.len > 0 && !str_to_i64(last, &to)))
            return RANGE_WHOLE;
        if (last.len == 0 || to >= size)
            to = size - 1;
        if (last.len > 0 && to < from && from < size)
            return RANGE_WHOLE;
    }
    if (from >= size)
        return RANGE_UNSATISFIABLE;
    *ret_from = from;
    *ret_length = to - from + 1;
    return RANGE_PART;
}
