/* board_out.c - a file that always holds the newest document.
 *
 *     news: { kind: board, path: ./news.txt }
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "core/connector.h"

struct board {
    const char *path;
};

static const struct option options[] = {
    OPTION("path", OPT_PATH, "the file", .flags = OPT_REQUIRED),
    { 0 },
};

static bool board_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct board *self = ARENA_NEW(s->arena, struct board);
    struct str path;

    *ret_self = self;
    if (!settings_path(s, "path", &path, err))
        return false;
    self->path = arena_text(s->arena, path);
    return path.len > 0 || err_set(err, ERR_CONFIG, 0, "`path` is empty");
}

static void board_unmake(void *self)
{
    (void)self; /* all of it hangs on the arena */
}

/* A document is in memory, or comes piece by piece until a piece is empty. */
static bool write_document(const struct sending *s, int fd, struct err *err)
{
    struct str piece;

    if (s->bytes.ptr != NULL)
        return file_write_all(fd, s->bytes, err);
    do
        if (!s->next(s->next_arg, &piece, err) || !file_write_all(fd, piece, err))
            return false;
    while (piece.len > 0);
    return true;
}

/* The same document again leaves the same file: there is never a doubt. */
static void board_send(void *arg, const struct sending *s, struct call *c, struct verdict *ret)
{
    const struct board *self = arg;
    /* From here on somebody may see it; a call that was given up does nothing more. */
    AUTO_FD fd =
        call_commit(c) ? open(self->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    struct err err = { 0 };

    if (fd < 0)
        (void)verdict_say(ret, VERDICT_UNREACHED, "%s: %s", self->path, strerror(errno));
    else if (!write_document(s, fd, &err) || !file_try_sync(fd, self->path, &err))
        (void)verdict_say(ret, VERDICT_RETRY, "%s", err.text);
    else
        (void)verdict_say(ret, VERDICT_DELIVERED, "written to %s", self->path);
}

const struct endpoint_type endpoint_board = {
    .kind = { .name = "board", .help = "the newest document in a file", .keys = options },
    .make = board_make,
    .unmake = board_unmake,
    .send = board_send,
};
