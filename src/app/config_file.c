#include "app/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/registry.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/require.h"
#include "core/config.h"

enum { TEXT_CAP = 8 << 20, FILES_ARENA = 2 * CONFIG_FILES_BYTES };

bool config_file_text(const char *file, struct buf *text, struct err *err)
{
    bool standard = strcmp(file, "-") == 0;
    AUTO_FD fd = standard ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "%s: %s", file, strerror(errno));
    while (text->len < text->cap) {
        size_t room = text->cap - text->len < 65536 ? text->cap - text->len : 65536;

        if (!buf_reserve(text, room, err))
            return false;
        ssize_t n = read(fd, text->ptr + text->len, room);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_PERMANENT, errno, "%s: %s", file, strerror(errno));
        if (n == 0)
            break;
        text->len += (size_t)n;
        text->ptr[text->len] = '\0';
    }
    return true;
}

json_t *config_file_read(const char *path, int *ret_exit)
{
    bool from_stdin = str_is(str_of(path), "-");
    AUTO(buf_done) struct buf text = BUF_INIT(TEXT_CAP);
    AUTO_FD file = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int fd = from_stdin ? STDIN_FILENO : file;
    char part[16384];
    struct err err;
    ssize_t n = -1;

    while (fd >= 0 && (n = read(fd, part, sizeof part)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        if (!buf_append(&text, str_mem(part, (size_t)n), &err)) {
            *ret_exit = print_fail(EXIT_NO, "%s is over %d MiB: that is no configuration", path,
                                   TEXT_CAP >> 20);
            return NULL;
        }
    }
    if (n < 0) {
        *ret_exit = print_fail(EXIT_IO, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    json_t *string = json_stringn(text.ptr, text.len);

    if (string == NULL)
        *ret_exit = print_fail(EXIT_NO, "%s is not text in UTF-8", path);
    return string;
}

/* A content that is no text is sent as base64. */
static json_t *file_object(const struct config_file *f)
{
    AUTO(buf_done) struct buf coded = BUF_INIT(2 * CONFIG_FILE_BYTES);
    bool is_text = str_is_utf8(f->bytes) && memchr(f->bytes.ptr, '\0', f->bytes.len) == NULL;
    struct str value = f->bytes;
    struct err err;

    if (!is_text) {
        require(base64_encode(f->bytes, &coded, &err));
        value = buf_view(&coded);
    }
    return json_pack("{s:s%,s:s%}", "path", f->path.ptr, f->path.len, is_text ? "text" : "base64",
                     value.ptr, value.len);
}

json_t *config_file_list(const struct config_files *files)
{
    json_t *list = json_array();

    for (size_t i = 0; i < files->count; i++)
        (void)json_array_append_new(list, file_object(&files->items[i]));
    return list;
}

void config_file_attach(json_t *variables, json_t *list)
{
    if (json_array_size(list) > 0)
        (void)json_object_set_new(variables, "files", list);
    else
        json_decref(list);
}

static void print_unread(const char *path, const struct problem_list *problems, bool as_json)
{
    json_auto_t *list = json_array();

    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *p = &problems->items[i];

        (void)json_array_append_new(
            list, json_pack("{s:i,s:i,s:s,s:s?}", "line", (int)p->place.line, "column",
                            (int)p->place.column, "message", p->message, "hint", p->hint));
    }
    config_file_problems(list, path, "error", as_json);
}

json_t *config_file_along(const char *path, const json_t *text, bool as_json, int *ret_exit)
{
    const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(arena_done) struct arena a = ARENA_INIT(FILES_ARENA);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct config_files files = { 0 };
    struct str body = str_mem(json_string_value(text), json_string_length(text));
    struct config *c = config_load(body, path, &options, &report);

    if (c != NULL)
        config_read_files(c, &a, &files, &problems);
    config_unref(c);
    bool ok = problems.count == 0;

    if (!ok) {
        print_unread(path, &problems, as_json);
        *ret_exit = print_fail(EXIT_NO,
                               "%s: nothing was sent; --keep-files takes the files of "
                               "the live version",
                               path);
    }
    problem_list_done(&problems);
    return ok ? config_file_list(&files) : NULL;
}

void config_file_problems(const json_t *list, const char *file, const char *severity, bool as_json)
{
    const json_t *p;
    size_t i;

    json_array_foreach(list, i, p)
    {
        int64_t line = member_number(p, "line"), column = member_number(p, "column");
        const char *message = member_text(p, "message"), *hint = member_text(p, "hint");

        if (!as_json) {
            print_problem(file, line, column, severity, message, hint);
            continue;
        }
        json_auto_t *object = json_pack("{s:s,s:I,s:I,s:s,s:s?,s:s?}", "file", file, "line",
                                        (json_int_t)line, "column", (json_int_t)column, "severity",
                                        severity, "message", message, "hint", hint);

        print_json(object);
    }
}

void config_file_losses(const json_t *list, bool as_json)
{
    const json_t *l;
    size_t i;

    json_array_foreach(list, i, l)
    {
        const char *kind = member_text(l, "kind"), *name = member_text(l, "name");

        if (member_text(l, "left") != NULL)
            continue;
        json_auto_t *object =
            json_pack("{s:s,s:s?,s:s?}", "severity", "loss", "kind", kind, "name", name);

        if (as_json)
            print_json(object);
        else
            (void)printf("removes %s `%s`\n", kind, name);
    }
}
