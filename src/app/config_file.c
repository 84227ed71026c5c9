#include "app/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/buf.h"

enum { TEXT_CAP = 8 << 20 };

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
