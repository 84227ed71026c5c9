#include "sql/sql_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

static char *data_folder;
static char **file_roots; /* NULL: any folder */
static size_t file_root_count;
static bool file_roots_usual; /* the only one is the folder of the node's file */

void sql_file_prepare(const char *data, const struct folder_rule *rule)
{
    free(data_folder);
    for (size_t i = 0; i < file_root_count; i++)
        free(file_roots[i]);
    free(file_roots);
    data_folder = xstrdup(data);
    file_roots = NULL;
    file_root_count = 0;
    if (rule == NULL || rule->roots == NULL)
        return;
    file_roots = xcalloc(rule->root_count + 1, sizeof *file_roots);
    for (; file_root_count < rule->root_count; file_root_count++)
        file_roots[file_root_count] = xstrdup(rule->roots[file_root_count]);
    file_roots_usual = rule->usual;
}

static bool is_apart_from_data(const char *folder, struct sql_failure *f)
{
    struct folder_spot own, there;
    struct err err = { 0 };

    if (!folder_spot_find(folder, &there, &err) || !folder_spot_find(data_folder, &own, &err))
        return sql_fail(f, SQL_FAULT_LOST, "the folder of the database: %s", err.text);
    if (folder_spot_is_in(&there, &own) || folder_spot_is_in(&own, &there))
        return sql_fail(f, SQL_FAULT_CONFIG,
                        "the file of the database is in or above the data folder of the node: put "
                        "it in a folder of its own");
    return true;
}

static bool is_in_node_folders(const char *folder, struct sql_failure *f)
{
    struct folder_use use = { .purpose = FOLDER_WRITE, .owner = "", .part = "dsn", .path = folder };
    struct folder_rule rule = { .roots = (const char *const *)file_roots,
                                .root_count = file_root_count,
                                .usual = file_roots_usual,
                                .mutex = PTHREAD_MUTEX_INITIALIZER };
    struct err err = { 0 };

    if (file_roots == NULL || folder_may_use(&rule, &use, -1, &err))
        return true;
    return sql_fail(f, err.kind == ERR_CONFIG ? SQL_FAULT_CONFIG : SQL_FAULT_LOST,
                    "the folder of the database: %s", err.text);
}

bool sql_file_may_use(const struct sql_place *place, struct sql_failure *f)
{
    char *slash;

    if (place->file.len == 0 || data_folder == NULL)
        return true;
    AUTO_TEXT folder = strndup(place->file.ptr, place->file.len);

    slash = folder != NULL ? strrchr(folder, '/') : NULL;
    if (slash == NULL)
        return sql_fail(f, SQL_FAULT_CONFIG, "the file of the database has no folder");
    slash[slash == folder ? 1 : 0] = '\0';
    bool ok = is_apart_from_data(folder, f) && is_in_node_folders(folder, f);

    f->ours = !ok && f->kind == SQL_FAULT_CONFIG;
    return ok;
}
