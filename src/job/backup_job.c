/* backup_job.c - a backup of the store, and the removal of old ones.
 *
 *     nightly: { kind: backup, at: "01:30", folder: /backup, keep: 7 }
 *
 * Each backup is a folder of its own, NAME-20261118T013000Z by the nominal time: an iteration that
 * is run again finds the one that was finished, and removes what one that was not has left
 * (store/backup/backup_old.h).  It is taken as `waybill backup` takes it, which shows its progress.
 *
 * On PostgreSQL it is what the server's own tools leave out (docs/backup.md).  Which node takes it
 * is decided by who is first: the folder is then one that all nodes of the area have.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/job_type.h"
#include "engine/engine.h"
#include "engine/upkeep/backups.h"
#include "job/ports.h"
#include "store/backup/backup_old.h"

enum { BACKUP_JOB_LOOK_US = 100 * CLOCK_MS };

struct backup_job {
    struct str folder;
    int64_t keep;
};

static const struct option options[] = {
    OPTION("folder", OPT_PATH,
           "where the backups are, each in a folder of its own; made when it is missing and its "
           "parent is there",
           .flags = OPT_REQUIRED | OPT_FOLDER),
    OPTION("keep", OPT_INT, "how many of its backups it keeps; older ones are removed", .least = 1,
           .most = 3660, .fallback = "7"),
    { 0 },
};

static bool backup_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct backup_job *j = ARENA_NEW(s->arena, struct backup_job);

    *ret_self = j;
    return settings_path(s, "folder", &j->folder, err) && settings_int(s, "keep", &j->keep, err);
}

static void backup_job_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- the folder ---- */

/* -1 with *err. */
static int backup_job_open(const struct backup_job *j, const struct job_io *io, struct err *err)
{
    if (!backups_may_use(engine_backups(io->ports->engine), j->folder, err))
        return -1;
    if (mkdir(j->folder.ptr, 0700) < 0 && errno != EEXIST) {
        (void)err_set(err, ERR_TRANSIENT, errno, "make the folder: %s", strerror(errno));
        return -1;
    }
    int fd = open(j->folder.ptr, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        (void)err_set(err, ERR_TRANSIENT, errno, "open the folder: %s", strerror(errno));
    return fd;
}

static bool backup_job_prune(const struct backup_job *j, struct job_io *io, int dirfd,
                             struct backup_old_result *ret, struct err *err)
{
    int64_t began_us = clock_mono_us();

    if (!backup_old_prune(io->ports->store, dirfd, io->job, (size_t)j->keep, ret, err))
        return err_context(err, "remove old backups");
    if (ret->removed > 0)
        job_step(io, arena_printf(io->arena, "removed %zu old backups", ret->removed),
                 clock_mono_us() - began_us);
    return true;
}

/* ---- the backup ---- */

/* Until it has ended, or the job is told to stop. */
static bool backup_job_wait(struct job_io *io, int64_t number, struct backups_look *ret,
                            struct err *err)
{
    struct backups *b = engine_backups(io->ports->engine);
    int64_t began_us = clock_mono_us(), stage_us = began_us;
    enum backup_stage stage = BACKUP_DATABASE;
    bool told = false;

    for (;; clock_sleep_us(BACKUP_JOB_LOOK_US)) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

        backups_look(b, &a, ret);
        if (ret->number == number && (ret->stage != stage || !ret->running)) {
            job_step(io, backup_stages[stage], clock_mono_us() - stage_us);
            stage = ret->stage;
            stage_us = clock_mono_us();
        }
        if (ret->number != number)
            return err_set(err, ERR_TRANSIENT, 0,
                           "another backup began before the outcome of this one was read");
        if (!ret->running)
            return ret->ok || err_set(err, ERR_TRANSIENT, 0, "%.*s", STR_ARG(ret->error));
        if (call_is_over(io->call) && !told) {
            backups_cancel(b, number);
            told = true;
        }
    }
}

static bool backup_job_take(const struct backup_job *j, struct job_io *io, const char *name,
                            struct backups_look *ret, struct err *err)
{
    const char *path = arena_printf(io->arena, "%.*s/%s", STR_ARG(j->folder), name);
    int64_t number;

    return backups_start(engine_backups(io->ports->engine), str_of(path), false, &number, err) &&
           backup_job_wait(io, number, ret, err);
}

/* What is left of one that was not finished goes first. */
static bool backup_job_work(const struct backup_job *j, struct job_io *io, int dirfd,
                            struct job_result *ret, struct err *err)
{
    enum backup_old_state state;
    struct backup_old_result old;
    struct backups_look done = { 0 };
    char name[BACKUP_OLD_NAME];

    backup_old_name(io->job, io->nominal_us, name);
    if (!backup_old_look(io->ports->store, dirfd, name, &state, err))
        return false;
    if (state == BACKUP_OLD_STRANGE)
        return err_set(err, ERR_PERMANENT, 0, "%s is there, and is no backup of this store", name);
    if (state != BACKUP_OLD_WHOLE) {
        if ((state == BACKUP_OLD_UNFINISHED && !backup_job_prune(j, io, dirfd, &old, err)) ||
            !backup_job_take(j, io, name, &done, err))
            return false;
    }
    if (!backup_job_prune(j, io, dirfd, &old, err))
        return false;
    job_done(ret);
    if (done.result.damaged > 0)
        job_fail(ret, "%s: %" PRId64 " payloads are missing or damaged in the store itself: %s",
                 name, done.result.damaged, done.result.damage);
    else if (old.strange[0] != '\0')
        job_fail(ret, "%s was taken; %s is not removed, because it holds other files", name,
                 old.strange);
    else if (state == BACKUP_OLD_WHOLE)
        (void)snprintf(ret->message, sizeof ret->message, "%s was taken before", name);
    else
        (void)snprintf(ret->message, sizeof ret->message,
                       "%s: %" PRId64 " files, %" PRId64 " bytes; removed %zu", name,
                       done.result.files, done.result.bytes, old.removed);
    ret->moved = ret->ok;
    ret->final = !ret->ok;
    return true;
}

static void backup_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    const struct backup_job *j = self;
    struct err err = { 0 };
    AUTO_FD fd = backup_job_open(j, io, &err);

    if (fd >= 0 && backup_job_work(j, io, fd, ret, &err))
        return;
    job_fail(ret, "folder %.*s: %s", STR_ARG(j->folder), err.text);
    ret->final = err.kind == ERR_CONFIG;
}

const struct job_type job_backup = {
    .kind = { .name = "backup",
              .help = "take a backup, and remove old ones",
              .keys = options,
              .example = "nightly: { kind: backup, at: \"01:30\", folder: ./backups, keep: 7 }" },
    .make = backup_job_make,
    .unmake = backup_job_unmake,
    .run = backup_job_run,
};
