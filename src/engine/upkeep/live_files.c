#include "engine/upkeep/live_files.h"

#include "base/auto.h"
#include "core/config.h"
#include "engine/upkeep/live.h"
#include "store/govern/version_file.h"

void live_files_beside(const struct live_options *o, struct str text, struct arena *a,
                       struct config_files *ret, struct problem_list *problems)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    const struct config_options options = { .connectors = o->connectors, .node = o->node };
    struct config *c = config_load(text, o->node->file, &options, &report);

    *ret = (struct config_files){ 0 };
    if (c != NULL)
        config_read_files(c, a, ret, problems);
    config_unref(c);
}

/* Adds those of `from` that are not there yet. */
static void join_files(struct config_file *items, size_t *count, const struct config_files *from,
                       struct arena *a)
{
    struct config_files there = { items, *count };

    for (size_t i = 0; from != NULL && i < from->count; i++)
        if (config_files_find(&there, from->items[i].path) == NULL)
            items[(*count)++] =
                (struct config_file){ .path = arena_copy(a, from->items[i].path),
                                      .bytes = arena_copy(a, from->items[i].bytes) };
}

bool live_files_of(const struct live_options *o, const struct live_change *change,
                   const struct config *in_force, struct arena *a, struct config_files *ret,
                   struct err *err)
{
    struct config_files stored = { 0 };

    if (change->files_of != 0 && !version_files(o->store, change->files_of, a, &stored, err))
        return false;
    if (change->files_of == 0 && in_force != NULL)
        stored = in_force->files;
    size_t sent = change->files != NULL ? change->files->count : 0, n = 0;
    struct config_file *items = ARENA_ARRAY(a, struct config_file, sent + stored.count + 1);

    join_files(items, &n, change->files, a);
    join_files(items, &n, &stored, a);
    *ret = (struct config_files){ items, n };
    return true;
}
