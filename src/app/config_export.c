#include "app/config_export.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/client.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/safe_path.h"
#include "core/config_files.h"

enum { NAME_ROOM = SAFE_PATH_MOST + 16 };

/* Makes the folders above the last name of a path. */
static bool export_folders(int dirfd, struct str path, struct err *err)
{
    char name[NAME_ROOM];

    for (size_t i = 1; i < path.len; i++) {
        if (path.ptr[i] != '/')
            continue;
        memcpy(name, path.ptr, i);
        name[i] = '\0';
        if (mkdirat(dirfd, name, 0777) != 0 && errno != EEXIST)
            return err_set(err, ERR_PERMANENT, errno, "%s: %s", name, strerror(errno));
    }
    return true;
}

/* The path comes from a node: it must not lead out of the folder. */
static bool write_below(int dirfd, struct str path, struct str bytes, struct err *err)
{
    struct str plain = str_from(path, str_starts(path, STR("./")) ? 2 : 0);
    char name[NAME_ROOM];

    if (!safe_path(plain, err) || !export_folders(dirfd, plain, err))
        return false;
    memcpy(name, plain.ptr, plain.len);
    name[plain.len] = '\0';
    AUTO_FD fd = file_open_beneath(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "%s: %s", name, strerror(errno));
    return file_write_all(fd, bytes, err);
}

static bool write_file_of(int dirfd, const json_t *file, struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(CONFIG_FILE_BYTES + 3);
    const char *path = member_text(file, "path"), *coded = member_text(file, "base64");

    if (path == NULL || coded == NULL)
        return err_set(err, ERR_PERMANENT, 0,
                       "the content of %s is not there: see `waybill doctor`",
                       path != NULL ? path : "a file");
    return base64_decode(str_of(coded), &bytes, err) &&
           write_below(dirfd, str_of(path), buf_view(&bytes), err);
}

/* One by one: all together may be more than an answer holds. */
static int export_file(struct client *c, int64_t version, const char *path, int dirfd)
{
    json_auto_t *data = NULL;
    struct err err = { 0 };

    if (!client_graphql(c,
                        "query($version: Int, $path: String)"
                        " { config(version: $version) { files(path: $path) { path base64 } } }",
                        json_pack("{s:I,s:s}", "version", (json_int_t)version, "path", path),
                        &data))
        return c->exit_code;
    const json_t *files = json_object_get(json_object_get(data, "config"), "files");

    return write_file_of(dirfd, json_array_get(files, 0), &err)
               ? EXIT_DONE
               : print_fail(EXIT_IO, "cannot write: %s", err.text);
}

int config_export_files(struct client *c, const json_t *version, const char *folder)
{
    const json_t *files = json_object_get(version, "files"), *file;
    int code = EXIT_DONE;
    size_t i;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return print_fail(EXIT_IO, "%s: %s", folder, strerror(errno));
    AUTO_FD dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dirfd < 0)
        return print_fail(EXIT_IO, "%s: %s", folder, strerror(errno));
    json_array_foreach(files, i, file)
    {
        const char *path = member_text(file, "path");

        if (code == EXIT_DONE && path != NULL)
            code = export_file(c, member_number(version, "version"), path, dirfd);
    }
    return code;
}
