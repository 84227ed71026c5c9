#include "store/kernel/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "store/kernel/store_state.h"

enum { SHARE = 8 };

/* Given up, it has another name and its size, but no blocks. */
static const char reserve_name[] = "reserve", given_name[] = "reserve.given";

static int64_t reserve_size(int data_fd, const char *name)
{
    struct stat st;

    return fstatat(data_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
}

static bool reserve_drop(int data_fd)
{
    int64_t size = reserve_size(data_fd, reserve_name);
    struct err err;

    if (size == 0 || !file_rename_over(data_fd, reserve_name, given_name, &err))
        return false;
    AUTO_FD fd = openat(data_fd, given_name, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && ftruncate(fd, 0) == 0 && ftruncate(fd, size) == 0;
}

void reserve_before_start(int data_fd)
{
    int64_t room;
    struct err err;

    if (file_free_bytes(data_fd, &room, &err) && room < RESERVE_LEAST)
        (void)reserve_drop(data_fd);
}

bool reserve_give_up(struct store *s)
{
    return reserve_drop(s->data_fd);
}

bool reserve_keep(struct store *s)
{
    int64_t room, has = reserve_size(s->data_fd, reserve_name);
    int64_t gave = reserve_size(s->data_fd, given_name);
    struct err err;

    if (!file_free_bytes(s->data_fd, &room, &err))
        return has > 0;
    int64_t want = (room + has) / SHARE < RESERVE_MOST ? (room + has) / SHARE : RESERVE_MOST;

    if (gave > 0)
        want =
            room >= 2 * gave ? gave : 0; /* what it gave is room now, and must not open the door */
    if (want < RESERVE_LEAST || (has > 0 && want < 2 * has))
        return has > 0;
    AUTO_FD fd = openat(s->data_fd, reserve_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return has > 0;
    if (posix_fallocate(fd, 0, want) == 0) {
        (void)unlinkat(s->data_fd, given_name, 0);
        return true;
    }
    (void)unlinkat(s->data_fd, reserve_name, 0); /* a part of it: there is no space */
    return false;
}
