/* version_file.c - the files that belong to a version of the configuration: ConfigFile, those that
 * a caller sends along, and what differs. */
#include "admin/api/version_file.h"

#include "admin/api/parts.h"
#include "admin/view/diff.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/safe_path.h"
#include "store/govern/version_file.h"

enum { FILES_ARENA_MOST = 64 << 20 };

/* ---- sent along ---- */

/* Of a ConfigFileInput. */
static bool read_content(struct graphql_call *call, const struct graphql_value *v, struct str *ret,
                         struct err *err)
{
    const struct graphql_value *text = graphql_value_field(v, "text");
    const struct graphql_value *coded = graphql_value_field(v, "base64");
    AUTO(buf_done) struct buf bytes = BUF_INIT(CONFIG_FILES_BYTES + 3);

    if ((text->kind == GRAPHQL_TEXT) == (coded->kind == GRAPHQL_TEXT))
        return err_set(err, ERR_PERMANENT, 0, "a file has either `text` or `base64`");
    if (text->kind == GRAPHQL_TEXT) {
        *ret = text->text;
        return true;
    }
    if (!base64_decode(coded->text, &bytes, err))
        return err->kind == ERR_LIMIT
                   ? err_set(err, ERR_LIMIT, 0, "the files of a version have at most %d MiB",
                             CONFIG_FILES_BYTES >> 20)
                   : false;
    *ret = arena_copy(call->arena, buf_view(&bytes));
    return true;
}

bool api_config_files(struct graphql_call *call, struct config_files *ret, struct err *err)
{
    const struct graphql_value *list = graphql_arg(call, "files");
    size_t count = list->kind == GRAPHQL_LIST ? list->count : 0;

    if (count > CONFIG_FILES_MOST)
        return err_set(err, ERR_LIMIT, 0, "a version has at most %d files", CONFIG_FILES_MOST);
    struct config_file *items = ARENA_ARRAY(call->arena, struct config_file, count + 1);

    *ret = (struct config_files){ .items = items };
    for (size_t i = 0; i < count; i++) {
        struct config_file *f = &items[ret->count];

        f->path = graphql_value_field(&list->items[i], "path")->text;
        if (!safe_path(str_from(f->path, str_starts(f->path, STR("./")) ? 2 : 0), err))
            return err_context(err, "`path` of file %zu", i + 1);
        if (config_files_find(ret, f->path) != NULL)
            return err_set(err, ERR_PERMANENT, 0, "the file %.*s is sent twice",
                           (int)(f->path.len < 150 ? f->path.len : 150), f->path.ptr);
        if (!read_content(call, &list->items[i], &f->bytes, err))
            return err_context(err, "file %.*s", (int)(f->path.len < 150 ? f->path.len : 150),
                               f->path.ptr);
        ret->count++;
    }
    return true;
}

/* ---- what differs ---- */

static bool is_shown(struct str bytes)
{
    return str_is_utf8(bytes) && memchr(bytes.ptr, '\0', bytes.len) == NULL;
}

/* `path` in both, or in one of them. */
static bool diff_file(const struct file_side *old, const struct file_side *new, struct str path,
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
    if (is_shown(was) && is_shown(is)) {
        if (!diff_text(was, is, from, to, out, err))
            return false;
        if (out->len > before)
            return true;
    }
    buf_printf(out, "--- %s\n+++ %s\n# %zu and %zu bytes\n", from, to, was.len, is.len);
    return true;
}

bool api_files_diff(const struct file_side *old, const struct file_side *new, struct buf *out,
                    struct err *err)
{
    for (size_t i = 0; i < old->files.count; i++)
        if (!diff_file(old, new, old->files.items[i].path, out, err))
            return false;
    for (size_t i = 0; i < new->files.count; i++)
        if (config_files_find(&old->files, new->files.items[i].path) == NULL &&
            !diff_file(old, new, new->files.items[i].path, out, err))
            return false;
    return true;
}

/* ---- fields ---- */

bool api_set_version_files(struct graphql_call *call, int64_t version, struct err *err)
{
    struct str path = graphql_arg_text(call, "path");
    struct version_file *list;
    size_t n;

    if (!version_file_list(api_store(call), version, call->arena, &list, &n, err))
        return false;
    for (size_t i = 0; path.ptr != NULL && i < n; i++)
        if (str_eq(list[i].path, path))
            return graphql_set_structs(call, &list[i], 1, sizeof *list);
    return graphql_set_structs(call, list, path.ptr != NULL ? 0 : n, sizeof *list);
}

/* False with ERR_NONE: it is not there, or damaged. */
static bool content_of(struct graphql_call *call, struct arena *a, struct str *ret, struct err *err)
{
    const struct version_file *f = call->parent;

    return version_file_content(api_store(call), &f->sha256, a, ret, err);
}

static bool file_text(struct graphql_call *call, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(FILES_ARENA_MOST);
    struct str bytes;

    if (!content_of(call, &a, &bytes, err))
        return err->kind == ERR_NONE && graphql_set_null(call);
    return is_shown(bytes) ? graphql_set_text(call, bytes) : graphql_set_null(call);
}

static bool file_base64(struct graphql_call *call, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(FILES_ARENA_MOST);
    AUTO(buf_done) struct buf coded = BUF_INIT(CONFIG_FILE_BYTES * 2);
    struct str bytes;

    if (!content_of(call, &a, &bytes, err))
        return err->kind == ERR_NONE && graphql_set_null(call);
    return base64_encode(bytes, &coded, err) && graphql_set_text(call, buf_view(&coded));
}

const struct graphql_resolver api_version_file[] = {
    GRAPHQL_MEMBER("ConfigFile.path", struct version_file, path),
    GRAPHQL_MEMBER("ConfigFile.size", struct version_file, size),
    GRAPHQL_MEMBER("ConfigFile.sha256", struct version_file, sha256),
    { .field = "ConfigFile.text", .fn = file_text },
    { .field = "ConfigFile.base64", .fn = file_base64 },
};
const size_t api_version_file_count = sizeof api_version_file / sizeof api_version_file[0];
