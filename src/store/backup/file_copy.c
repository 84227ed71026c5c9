#include "store/backup/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"

enum { BLOCK = 256 << 10, SYNC_BYTES = 16 << 20 };

static bool read_some(int fd, char *to, size_t most, size_t *ret, const char *name, struct err *err)
{
    ssize_t n;

    do
        n = read(fd, to, most);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, ERR_TRANSIENT, errno, "read %s: %s", name, strerror(errno));
    *ret = (size_t)n;
    return true;
}

/* Syncs every SYNC_BYTES, so that the store's own syncs do not wait for the whole file. */
static bool write_some(int fd, struct str bytes, int64_t before, const char *name, struct err *err)
{
    if (fd < 0)
        return true;
    if (!file_write_all(fd, bytes, err))
        return err_context(err, "%s", name);
    return before / SYNC_BYTES == (before + (int64_t)bytes.len) / SYNC_BYTES ||
           file_try_sync(fd, name, err);
}

static bool pump(const struct file_copy *c, int in, int out, const char *name,
                 struct digest *digest, int64_t *ret_size, struct err *err)
{
    AUTO_TEXT block = xmalloc(BLOCK);
    int64_t at = 0;
    size_t n = 1;

    while (n > 0 && (c->most < 0 || at < c->most)) {
        size_t most = c->most >= 0 && c->most - at < BLOCK ? (size_t)(c->most - at) : BLOCK;

        if (c->stop != NULL && *c->stop)
            return err_set(err, ERR_TRANSIENT, 0, "it was stopped");
        if (!read_some(in, block, most, &n, name, err) ||
            !write_some(out, str_mem(block, n), at, name, err))
            return false;
        digest_add(digest, str_mem(block, n));
        at += (int64_t)n;
        if (c->copied != NULL)
            *c->copied += (int64_t)n;
    }
    *ret_size = at;
    return out < 0 || file_try_sync(out, name, err);
}

bool file_copy(const struct file_copy *c, const char *name, struct manifest_file *ret,
               struct err *err)
{
    AUTO(digest_drop) struct digest digest = { 0 };
    AUTO_FD in = file_open_beneath(c->from_dirfd, name, O_RDONLY, 0);
    AUTO_FD out = -1;

    if (in < 0)
        return err_set(err, errno == ENOENT ? ERR_PERMANENT : ERR_TRANSIENT, errno, "open %s: %s",
                       name, strerror(errno));
    if (c->to_dirfd >= 0) {
        const char *as = c->as != NULL ? c->as : name;

        out = file_open_beneath(c->to_dirfd, as, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (out < 0)
            return err_set(err, file_err_kind(errno), errno, "create %s: %s", as, strerror(errno));
    }
    *ret = (struct manifest_file){ 0 };
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    digest = digest_start();
    if (!pump(c, in, out, name, &digest, &ret->size, err))
        return false;
    ret->sha256 = digest_end(&digest);
    return true;
}
