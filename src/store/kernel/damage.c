#include "store/kernel/damage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/kernel/store_state.h"

/* Without room for the mark the process ends all the same. */
_Noreturn void damage_end(const struct store *s, const struct err *err)
{
    struct err none = { 0 };

    (void)publish_bytes(s->data_fd, DAMAGE_MARK, str_of(err->text), 0600, &none);
    file_fatal_damaged(err->text);
}

bool damage_none(const struct store *s, struct err *err)
{
    struct stat st;

    if (fstatat(s->data_fd, DAMAGE_MARK, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    return err_set(err, ERR_CONFIG, 0,
                   "the database was found damaged (how is said in the file `" DAMAGE_MARK
                   "` of the data folder): restore a backup, or repair it and remove this file");
}
