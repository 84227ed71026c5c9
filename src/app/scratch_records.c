#include "app/scratch_records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/csv_records.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/scratch.h"
#include "base/auto.h"
#include "base/file.h"
#include "core/format/record_text.h"
#include "core/service.h"
#include "engine/rehearse/workbench.h"
#include "store/govern/record_table.h"

enum { PORTION = 200, PORTION_BYTES = 4 << 20, FILE_MOST = 2 * SERVICE_RECORD_MOST };

/* Records on their way into the store. */
struct record_filling {
    struct store *store;
    int64_t set;
    struct arena arena; /* of the portion */
    struct record_put list[PORTION];
    size_t count;
};

static bool fill_commit(struct record_filling *f, struct err *err)
{
    int64_t changed;
    bool ok = f->count == 0 || records_import(f->store, f->set, f->list, f->count, &changed, err);

    f->count = 0;
    arena_reset(&f->arena);
    return ok;
}

static bool fill_add(void *arg, struct str key, struct str value, struct err *err)
{
    struct record_filling *f = arg;

    if ((f->count == PORTION || f->arena.used + value.len > PORTION_BYTES) && !fill_commit(f, err))
        return false;
    f->list[f->count++] =
        (struct record_put){ arena_copy(&f->arena, key), arena_copy(&f->arena, value) };
    return true;
}

/* ---- a table ---- */

static bool fill_from_csv(struct record_filling *f, const char *path, struct err *err)
{
    struct csv_records csv = { .path = path, .give = fill_add, .arg = f };

    return csv_records_check(&csv, err) && csv_records_give(&csv, err);
}

/* ---- a record ---- */

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Without what stands around the value: so does `store` keep it. */
static bool fill_from_file(struct record_filling *f, int dirfd, const char *name, struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(FILE_MOST);
    const char *end = strrchr(name, '.');
    struct str key = end != NULL ? str_mem(name, (size_t)(end - name)) : str_of(name);
    struct record_text value;
    struct err why = { 0 };

    if (!file_read_whole(dirfd, name, &bytes, err))
        return false;
    if (!record_text_read(buf_view(&bytes), &value, &why))
        return err_set(err, ERR_PERMANENT, 0, "%s: %s", name, why.text);
    if (value.text.len > SERVICE_RECORD_MOST)
        return err_set(err, ERR_LIMIT, 0, "%s: the value of a record may have %d bytes", name,
                       SERVICE_RECORD_MOST);
    return fill_add(f, key, value.text, err);
}

static bool fill_from_folder(struct record_filling *f, const char *path, struct err *err)
{
    AUTO_FD dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **list = NULL;

    if (dirfd < 0 && errno == ENOTDIR)
        return err_set(err, ERR_PERMANENT, 0,
                       "%s: records are in SET.csv, or one by one in a folder SET", path);
    int count = dirfd < 0 ? -1 : scandir(path, &list, is_visible, alphasort);
    bool ok = count >= 0 || err_set(err, ERR_PERMANENT, errno, "%s: %s", path, strerror(errno));

    for (int i = 0; i < count; i++) {
        ok = ok && fill_from_file(f, dirfd, list[i]->d_name, err);
        free(list[i]);
    }
    free(list);
    return ok;
}

/* ---- the folder ---- */

/* The set is named by its file without `.csv`, or by its folder. */
static bool fill_set(struct scratch *s, const char *folder, const char *name, struct err *err)
{
    struct record_filling f = { .store = workbench_store(s->bench),
                                .arena = ARENA_INIT(PORTION_BYTES + (4 << 20)) };
    struct str set = str_of(name);
    const char *end = strrchr(name, '.');
    bool is_table = end != NULL && strcmp(end, ".csv") == 0;
    char path[PATH_MAX];

    if (is_table)
        set.len -= strlen(".csv");
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return err_set(err, ERR_PERMANENT, ENAMETOOLONG, "%s: %s", name, strerror(ENAMETOOLONG));
    bool ok = record_set_id(f.store, set, &f.set, err) &&
              (is_table ? fill_from_csv(&f, path, err) : fill_from_folder(&f, path, err)) &&
              fill_commit(&f, err);

    arena_done(&f.arena);
    return ok;
}

int scratch_records(struct scratch *s, const char *folder, bool must)
{
    struct dirent **list = NULL;
    int count = scandir(folder, &list, is_visible, alphasort);
    struct err err = { 0 };
    bool ok = true;

    if (count < 0 && errno == ENOENT && !must)
        return EXIT_DONE;
    if (count < 0)
        return print_fail(EXIT_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        ok = ok && fill_set(s, folder, list[i]->d_name, &err);
        free(list[i]);
    }
    free(list);
    return ok ? EXIT_DONE : print_fail(EXIT_IO, "records of %s: %s", folder, err.text);
}
