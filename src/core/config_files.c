#include "core/config_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "core/config_check.h"

enum { PATH_ROOM = 8192 };

const struct config_file *config_files_find(const struct config_files *files, struct str path)
{
    for (size_t i = 0; files != NULL && i < files->count; i++)
        if (str_eq(files->items[i].path, path))
            return &files->items[i];
    return NULL;
}

/* ---- what a configuration names ---- */

static int use_by_path(const void *a, const void *b)
{
    const struct config_file_use *x = a, *y = b;
    int c = str_cmp(x->path, y->path);

    if (c != 0)
        return c;
    if (x->place.line != y->place.line)
        return x->place.line < y->place.line ? -1 : 1;
    return x->place.column < y->place.column ? -1 : x->place.column > y->place.column;
}

/* Each path once, at its first place. */
static size_t drop_repeats(struct config_file_use *uses, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (n == 0 || !str_eq(uses[n - 1].path, uses[i].path))
            uses[n++] = uses[i];
    return n;
}

static void copy_files(struct config *c, const struct config_files *from)
{
    struct config_file *items = ARENA_ARRAY(&c->arena, struct config_file, c->file_use_count);
    size_t n = 0;

    for (size_t i = 0; i < c->file_use_count; i++) {
        const struct config_file *f = config_files_find(from, c->file_uses[i].path);

        if (f != NULL)
            items[n++] = (struct config_file){ .path = c->file_uses[i].path,
                                               .bytes = arena_copy(&c->arena, f->bytes) };
    }
    c->files = (struct config_files){ items, n };
}

void config_build_files(struct config *c, const struct check *check)
{
    struct config_file_use *uses;
    size_t count = 0, n = 0;

    for (const struct check_seen *s = check->files.first; s != NULL; s = s->next)
        count++;
    if (count == 0)
        return;
    uses = ARENA_ARRAY(&c->arena, struct config_file_use, count);
    for (const struct check_seen *s = check->files.first; s != NULL; s = s->next)
        uses[n++] = (struct config_file_use){ .path = s->name, .place = s->node->place };
    qsort(uses, count, sizeof *uses, use_by_path);
    c->file_uses = uses;
    c->file_use_count = drop_repeats(uses, count);
    if (c->file_use_count > CONFIG_FILES_MOST)
        problem_add(check->problems, uses[CONFIG_FILES_MOST].place,
                    "put what belongs together into one file", "more than %d files are named",
                    CONFIG_FILES_MOST);
    else
        copy_files(c, check->options->files);
}

static void say_too_large(struct problem_list *problems, const struct config_file_use *use)
{
    char name[PROBLEM_QUOTE];

    problem_add(problems, use->place, "a file that belongs to a version has at most 1 MiB",
                "the file `%s` is too large", problem_quote(name, use->path));
}

static void say_too_much(struct problem_list *problems, const struct config_file_use *use)
{
    problem_add(problems, use->place, "large tables are better kept as records",
                "the files of this version have more than %d MiB together",
                CONFIG_FILES_BYTES >> 20);
}

void config_ask_files(const struct config *config, struct problem_list *problems)
{
    size_t all = 0;

    for (size_t i = 0; i < config->file_use_count && problems->count < PROBLEM_MOST; i++) {
        const struct config_file_use *use = &config->file_uses[i];
        const struct config_file *f = config_files_find(&config->files, use->path);
        char name[PROBLEM_QUOTE];

        if (f == NULL)
            problem_add(problems, use->place,
                        "it is sent along with the configuration; `waybill apply` takes it from "
                        "beside the configuration file",
                        "the file `%s` is missing", problem_quote(name, use->path));
        else if (f->bytes.len > CONFIG_FILE_BYTES)
            say_too_large(problems, use);
        all += f != NULL ? f->bytes.len : 0;
        if (f != NULL && all > CONFIG_FILES_BYTES && all - f->bytes.len <= CONFIG_FILES_BYTES)
            say_too_much(problems, use);
    }
}

/* ---- reading them ---- */

/* The folders that decide what may be read, without links; NULL: not there. */
struct config_home {
    char *folder, *data;
};

static void config_home_done(struct config_home *h)
{
    free(h->folder);
    free(h->data);
}

static bool lies_in(const char *path, const char *folder)
{
    size_t n = folder != NULL ? strlen(folder) : 0;

    if (n == 1) /* the root */
        return true;
    return n > 0 && strncmp(path, folder, n) == 0 && path[n] == '/';
}

static struct config_home config_home_of(const struct config *c)
{
    const char *slash = strrchr(c->file, '/');
    AUTO(buf_done) struct buf folder = BUF_INIT(PATH_ROOM);
    struct err err;

    if (slash != NULL &&
        !buf_append(&folder, str_mem(c->file, (size_t)(slash - c->file) + 1), &err))
        return (struct config_home){ 0 };
    return (struct config_home){ .folder = realpath(slash != NULL ? folder.ptr : ".", NULL),
                                 .data = realpath(c->node.data, NULL) };
}

static bool config_files_take(int fd, struct buf *to, struct err *err)
{
    while (to->len <= CONFIG_FILE_BYTES) {
        if (!buf_reserve(to, 65536, err))
            return false;
        ssize_t n = read(fd, to->ptr + to->len, 65536);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_CONFIG, errno, "%s", strerror(errno));
        if (n == 0)
            return true;
        buf_added(to, (size_t)n);
    }
    return true; /* the caller sees that it is too large */
}

/* Links are followed as long as they stay below the folder: files of a container are links. */
static bool config_files_open(const struct config_home *h, const char *path, int *ret_fd,
                              struct err *err)
{
    AUTO_TEXT real = realpath(path, NULL);
    struct stat st;

    if (real == NULL)
        return err_set(err, ERR_CONFIG, errno, "%s", strerror(errno));
    if (!lies_in(real, h->folder))
        return err_set(err, ERR_CONFIG, 0, "it leads out of the folder of the configuration");
    if (lies_in(real, h->data))
        return err_set(err, ERR_CONFIG, 0, "it lies in the data folder of the node");
    *ret_fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (*ret_fd < 0 || fstat(*ret_fd, &st) != 0)
        return err_set(err, ERR_CONFIG, errno, "%s", strerror(errno));
    return S_ISREG(st.st_mode) || err_set(err, ERR_CONFIG, 0, "it is not a file");
}

static bool read_one(const struct config *c, const struct config_home *h, struct str path,
                     struct buf *to, struct err *err)
{
    AUTO(buf_done) struct buf plain = BUF_INIT(PATH_ROOM), whole = BUF_INIT(2 * PATH_ROOM);

    if (h->folder == NULL)
        return err_set(err, ERR_CONFIG, 0, "the folder of the configuration is not there");
    if (!buf_append(&plain, path, err) || !config_path(plain.ptr, c->file, &whole, err))
        return err_set(err, ERR_CONFIG, 0, "the path is too long");
    AUTO_FD fd = -1;

    return config_files_open(h, whole.ptr, &fd, err) && config_files_take(fd, to, err);
}

void config_read_files(const struct config *c, struct arena *a, struct config_files *ret,
                       struct problem_list *problems)
{
    struct config_file *items = ARENA_ARRAY(a, struct config_file, c->file_use_count + 1);
    AUTO(config_home_done) struct config_home h = config_home_of(c);
    size_t all = 0;

    *ret = (struct config_files){ .items = items };
    for (size_t i = 0; i < c->file_use_count && problems->count < PROBLEM_MOST; i++) {
        AUTO(buf_done) struct buf bytes = BUF_INIT(CONFIG_FILE_BYTES + 2 * 65536);
        const struct config_file_use *use = &c->file_uses[i];
        char name[PROBLEM_QUOTE];
        struct err err = { 0 };

        if (!read_one(c, &h, use->path, &bytes, &err)) {
            problem_add(problems, use->place,
                        "a file that a step names lies beside the configuration file or below",
                        "the file `%s` cannot be read: %s", problem_quote(name, use->path),
                        err.text);
        } else if (bytes.len > CONFIG_FILE_BYTES) {
            say_too_large(problems, use);
        } else if ((all += bytes.len) > CONFIG_FILES_BYTES) {
            say_too_much(problems, use);
            return;
        } else {
            items[ret->count++] = (struct config_file){ .path = arena_copy(a, use->path),
                                                        .bytes = arena_copy(a, buf_view(&bytes)) };
        }
    }
}
