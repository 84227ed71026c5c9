#include "core/config_files.h"

const struct config_file *config_files_find(const struct config_files *files, struct str path)
{
    for (size_t i = 0; files != NULL && i < files->count; i++)
        if (str_eq(files->items[i].path, path))
            return &files->items[i];
    return NULL;
}
