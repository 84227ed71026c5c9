/* pickup_walk.c - a folder and its sub folders, entry by entry.
 *
 * One listing is open at a time: sub folders are noted and listed afterwards.  So a server needs
 * one connection, and nothing recurs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "core/pickup/pickup_run.h"

enum { FOLDERS_ROOM_LEAST = 16, ALIVE_EVERY = 256 /* entries */ };

void pickup_folders_done(struct pickup_folders *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->list[i].path);
    free(f->list);
    *f = (struct pickup_folders){ 0 };
}

void pickup_folders_add(struct pickup_folders *f, const char *path, int64_t depth)
{
    if (f->count == f->room) {
        f->room = f->room > 0 ? f->room * 2 : FOLDERS_ROOM_LEAST;
        f->list = xrealloc(f->list, f->room * sizeof *f->list);
    }
    f->list[f->count++] = (struct pickup_folder){ .path = xstrdup(path), .depth = depth };
}

static bool join_path(const char *folder, struct str name, char ret[static PICKUP_PATH])
{
    return snprintf(ret, PICKUP_PATH, "%s%s%.*s", folder, folder[0] != '\0' ? "/" : "",
                    STR_ARG(name)) < PICKUP_PATH;
}

/* Hidden folders belong to somebody: work folders, version control, snapshots. */
static void note_folder(struct pickup_run *r, struct pickup_folders *f, const char *path,
                        struct str name, int64_t depth)
{
    struct err err = { 0 };

    if (name.len > 0 && name.ptr[0] == '.')
        return;
    if (!safe_name(name, &err))
        pickup_complain(r, path, err.text, "Rename the folder; nothing in it is taken.");
    else if (f->count > PICKUP_FOLDERS_MOST) /* the folder itself is in the list, too */
        r->branched = true;
    else
        pickup_folders_add(f, path, depth);
}

static bool walk_one(struct pickup_run *r, const struct pickup_folder *at, int64_t depth,
                     pickup_found *found, void *arg, struct pickup_folders *f, struct err *err)
{
    char path[PICKUP_PATH];
    bool ok = true, end = false;
    void *list;

    if (!r->src->list(r->arg, at->path, &list, err))
        return at->depth > 0 && /* a sub folder may be gone, or closed to us */
               pickup_go_on(r, at->path, "Give the node the right to read it, or remove it.", err);
    while (ok && !pickup_is_over(r)) {
        struct pickup_entry e = { 0 };

        ok = r->src->next(list, &e, &end, err) &&
             (++r->listed % ALIVE_EVERY != 0 || r->port->alive(r->deposit, err));
        if (!ok || end)
            break;
        if (!join_path(at->path, e.name, path))
            pickup_complain(r, path, "its path is too long", "Shorten the names of its folders.");
        else if (e.kind != PICKUP_FOLDER)
            ok = found(r, path, &e, arg, err);
        else if (at->depth < depth)
            note_folder(r, f, path, e.name, at->depth + 1);
    }
    r->src->end(list);
    return ok;
}

bool pickup_walk(struct pickup_run *r, const char *folder, int64_t depth, pickup_found *found,
                 void *arg, struct pickup_folders *folders, struct err *err)
{
    struct pickup_folders own = { 0 }, *f = folders != NULL ? folders : &own;
    bool ok = true;

    pickup_folders_add(f, folder, 0);
    for (size_t i = 0; ok && i < f->count && !pickup_is_over(r); i++) {
        struct pickup_folder at = f->list[i]; /* the list may move */

        ok = walk_one(r, &at, depth, found, arg, f, err);
    }
    pickup_folders_done(&own);
    return ok;
}
