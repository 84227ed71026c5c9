#include "admin/view/file_diff.h"

#include "admin/view/diff.h"
#include "base/arena.h"
#include "base/auto.h"

bool file_is_text(struct str bytes)
{
    return str_is_utf8(bytes) && memchr(bytes.ptr, '\0', bytes.len) == NULL;
}

/* `path` in both, or in one of them. */
static bool file_diff_one(const struct file_side *old, const struct file_side *new, struct str path,
                          struct buf *out, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 10);
    const struct config_file *x = config_files_find(&old->files, path);
    const struct config_file *y = config_files_find(&new->files, path);
    struct str was = x != NULL ? x->bytes : STR(""), is = y != NULL ? y->bytes : STR("");
    const char *from =
        arena_printf(&a, "%s: %.*s%s", old->name, STR_ARG(path), x != NULL ? "" : " (not there)");
    const char *to =
        arena_printf(&a, "%s: %.*s%s", new->name, STR_ARG(path), y != NULL ? "" : " (not there)");
    size_t before = out->len;

    if (x != NULL && y != NULL && str_eq(was, is))
        return true;
    if (file_is_text(was) && file_is_text(is)) {
        if (!diff_text(was, is, from, to, out, err))
            return false;
        if (out->len > before)
            return true;
    }
    if (!buf_reserve(out, strlen(from) + strlen(to) + 80, err))
        return false;
    buf_printf(out, "--- %s\n+++ %s\n# %zu and %zu bytes\n", from, to, was.len, is.len);
    return true;
}

bool file_diff(const struct file_side *old, const struct file_side *new, struct buf *out,
               struct err *err)
{
    for (size_t i = 0; i < old->files.count; i++)
        if (!file_diff_one(old, new, old->files.items[i].path, out, err))
            return false;
    for (size_t i = 0; i < new->files.count; i++)
        if (config_files_find(&old->files, new->files.items[i].path) == NULL &&
            !file_diff_one(old, new, new->files.items[i].path, out, err))
            return false;
    return true;
}
