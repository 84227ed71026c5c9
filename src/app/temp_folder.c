#include "app/temp_folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/print.h"

enum { TREE_FILES = 16 }; /* descriptors that nftw() may use */

bool temp_folder_make(const char *what, char ret[static PATH_MAX], struct err *err)
{
    const char *temp = getenv("TMPDIR");

    if (temp == NULL || *temp != '/' ||
        snprintf(ret, PATH_MAX, "%s/waybill-%s-XXXXXX", temp, what) >= PATH_MAX)
        (void)snprintf(ret, PATH_MAX, "/tmp/waybill-%s-XXXXXX", what);
    if (mkdtemp(ret) != NULL)
        return true;
    (void)err_set(err, ERR_PERMANENT, errno, "%s: %s", ret, strerror(errno));
    ret[0] = '\0';
    return false;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void temp_folder_remove(const char *path)
{
    if (path[0] != '\0' && nftw(path, remove_one, TREE_FILES, FTW_DEPTH | FTW_PHYS) != 0)
        (void)print_fail(0, "%s could not be removed: %s", path, strerror(errno));
}
