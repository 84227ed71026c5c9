#include "base/safe_path.h"

static bool safe_path_check_bytes(struct str s, struct err *err)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
            return err_set(err, ERR_PERMANENT, 0, "the name has a control character at byte %zu",
                           i + 1);
    return str_is_utf8(s) || err_set(err, ERR_PERMANENT, 0, "the name is not UTF-8");
}

static bool check_part(struct str part, struct err *err)
{
    if (part.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "the name has an empty part");
    if (part.len > SAFE_NAME_MOST)
        return err_set(err, ERR_PERMANENT, 0, "a part of the name has %zu bytes, at most %d",
                       part.len, SAFE_NAME_MOST);
    if (str_is(part, ".") || str_is(part, ".."))
        return err_set(err, ERR_PERMANENT, 0, "the name has a part that is `%.*s`", STR_ARG(part));
    return true;
}

bool safe_name(struct str name, struct err *err)
{
    if (str_find(name, '/') >= 0)
        return err_set(err, ERR_PERMANENT, 0, "the name has a `/` in it");
    return safe_path_check_bytes(name, err) && check_part(name, err);
}

bool safe_path(struct str path, struct err *err)
{
    size_t depth = 0;

    if (path.len > SAFE_PATH_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the name has %zu bytes, at most %d", path.len,
                       SAFE_PATH_MOST);
    if (path.len > 0 && path.ptr[0] == '/')
        return err_set(err, ERR_PERMANENT, 0, "the name begins with a `/`");
    if (path.len > 0 && path.ptr[path.len - 1] == '/')
        return err_set(err, ERR_PERMANENT, 0, "the name ends with a `/`");
    if (!safe_path_check_bytes(path, err))
        return false;
    do {
        struct str part;

        path = str_cut(path, '/', &part);
        if (!check_part(part, err))
            return false;
        if (++depth > SAFE_PATH_DEPTH)
            return err_set(err, ERR_PERMANENT, 0, "the name has more than %d parts",
                           SAFE_PATH_DEPTH);
    } while (path.len > 0);
    return true;
}
