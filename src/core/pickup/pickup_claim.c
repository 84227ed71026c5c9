/* pickup_claim.c - work folders: files are claimed by a rename, then taken.
 *
 *     FOLDER/.waybill/CLAIM/PATH     CLAIM: 16 random hex digits
 *
 * PATH is the one that the file had in its folder, sub folders included, so a file that is not
 * taken can be put back where it was. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/fault.h"
#include "core/pickup/pickup_run.h"

enum {
    CLAIMS_MOST = 64, /* files claimed with one sync */
    LEFT_MOST = 1024, /* work folders of one poll that were left */
    CLAIM_NAME = 17,
    CLAIM_PATH = sizeof FOLDER_WORK + CLAIM_NAME
};

/* Where a file is that was claimed. */
static bool claimed_at(char ret[static PICKUP_PATH], const char *claim, const char *path)
{
    return snprintf(ret, PICKUP_PATH, "%s/%s", claim, path) < PICKUP_PATH;
}

/* ---- back, or away ---- */

static void drop_marker(const struct pickup_run *r, const char *at)
{
    char marker[PICKUP_PATH];
    struct err err = { 0 };

    if (pickup_marker(r, at, marker))
        (void)r->src->remove(r->arg, marker, &err); /* else the next poll meets it */
}

/* What cannot be put back stays in the work folder and is met there by the next poll. */
static void put_back(const struct pickup_run *r, const char *at, const char *path)
{
    char marker[PICKUP_PATH], old_marker[PICKUP_PATH];
    struct err err = { 0 };

    if (r->src->rename(r->arg, at, path, &err) && pickup_marker(r, at, marker) &&
        pickup_marker(r, path, old_marker))
        (void)r->src->rename(r->arg, marker, old_marker, &err);
}

/* Removes the file, unless that was written to since. */
static bool finish_claimed(struct pickup_run *r, const struct pickup_parcel *stored,
                           struct err *err)
{
    struct pickup_entry now = { 0 };
    bool ok = r->src->stat(r->arg, stored->path, &now, err);

    if (ok && strcmp(now.version, stored->version) != 0) {
        pickup_complain(
            r, stored->shown, "it was changed after it had been taken",
            "It is taken again as another document. Write under a name that ends in .part, "
            "and rename when it is whole.");
        put_back(r, stored->path, stored->shown);
        return true;
    }
    ok = ok && (r->p->after == PICKUP_MOVE ? pickup_move_on(r, stored->path, stored->source, err)
                                           : r->src->remove(r->arg, stored->path, err));
    if (!ok && err->sys == ENOENT) { /* another poll was faster */
        *err = (struct err){ 0 };
        ok = true;
    }
    if (ok)
        drop_marker(r, stored->path);
    return ok;
}

static bool take_claimed(struct pickup_run *r, const char *claim, const char *path,
                         const char *version, struct err *err)
{
    char source[CLAIM_NAME + PICKUP_PATH + 1], at[PICKUP_PATH];
    struct pickup_parcel parcel = { .path = at, .shown = path, .version = version };

    if (!claimed_at(at, claim, path))
        return true; /* nothing can be there */
    (void)snprintf(source, sizeof source, "%s\n%s", claim + sizeof FOLDER_WORK, path);
    parcel.source = str_of(source);
    enum pickup_end end = pickup_read(r, &parcel, err);

    if (end == PICKUP_UNFIT)
        put_back(r, at, path);
    return end != PICKUP_FAILED;
}

/* ---- what was left ---- */

static bool ends_in_marker(const struct pickup_run *r, struct str name)
{
    struct str end = r->p->marker;

    return end.len > 0 && name.len > end.len && str_eq(str_from(name, name.len - end.len), end);
}

/* What pickup_walk() is to do in a work folder. */
struct left {
    const char *claim;
    struct pickup_queue queue;
};

/* A crash came between marker and file: the file was complete, so claim it too. */
static bool found_marker(struct pickup_run *r, const char *path, struct pickup_entry *e, void *arg,
                         struct err *err)
{
    const struct left *left = arg;
    struct pickup_entry there = { 0 };
    struct err why = { 0 };
    char name[PICKUP_PATH], at[PICKUP_PATH];

    if (!ends_in_marker(r, e->name) || !safe_name(e->name, &why))
        return true;
    (void)snprintf(name, sizeof name, "%.*s",
                   (int)(strlen(path) - strlen(left->claim) - 1 - r->p->marker.len),
                   path + strlen(left->claim) + 1);
    if (!claimed_at(at, left->claim, name) || r->src->stat(r->arg, at, &there, err))
        return true;
    if (err->sys != ENOENT)
        return false;
    *err = (struct err){ 0 };
    if (r->src->rename(r->arg, name, at, err))
        return true;
    if (err->sys == ENOENT)
        drop_marker(r, at);
    return pickup_go_on(r, name, "Its marker is in the work folder " FOLDER_WORK ".", err);
}

static bool found_left(struct pickup_run *r, const char *path, struct pickup_entry *e, void *arg,
                       struct err *err)
{
    struct left *left = arg;
    struct err why = { 0 };

    if (ends_in_marker(r, e->name))
        return true;
    if (!safe_name(e->name, &why)) {
        pickup_complain(r, path, why.text, "Rename it.");
        return true;
    }
    if (e->bare && !r->src->stat(r->arg, path, e, err))
        return pickup_go_on(r, path, "Move it out of the work folder.", err);
    pickup_queue_put(&left->queue, e->time_ns, path + strlen(left->claim) + 1, "");
    return true;
}

/* Fails silently while files are left in a folder. */
static void remove_claim(const struct pickup_run *r, const struct pickup_folders *folders)
{
    for (size_t i = folders->count; i-- > 0;)
        r->src->remove_folder(r->arg, folders->list[i].path);
}

static bool take_claim(struct pickup_run *r, const char *claim, struct err *err)
{
    struct pickup_folders folders = { 0 };
    struct left left = { .claim = claim };
    struct pickup_item item;
    bool ok = r->p->marker.len == 0 ||
              pickup_walk(r, claim, SAFE_PATH_DEPTH, found_marker, &left, NULL, err);

    ok = ok && pickup_walk(r, claim, SAFE_PATH_DEPTH, found_left, &left, &folders, err);
    if (!ok && err->sys == ENOENT) { /* another poll was faster */
        *err = (struct err){ 0 };
        ok = true;
    }
    pickup_queue_sort(&left.queue);
    while (ok && !pickup_is_over(r) && pickup_queue_take(&left.queue, &item)) {
        ok = take_claimed(r, claim, item.path, NULL, err);
        free(item.path);
    }
    ok = pickup_settle_rest(r, ok, err);
    if (ok)
        remove_claim(r, &folders);
    pickup_queue_done(&left.queue);
    pickup_folders_done(&folders);
    return ok;
}

static bool is_claim_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (strchr("0123456789abcdef", name.ptr[i]) == NULL)
            return false;
    return name.len == CLAIM_NAME - 1;
}

static bool list_left(struct pickup_run *r, char names[][CLAIM_PATH], size_t *ret_count,
                      struct err *err)
{
    bool ok, end = false;
    void *list;

    *ret_count = 0;
    if (!r->src->list(r->arg, FOLDER_WORK, &list, err))
        return false;
    do {
        struct pickup_entry e = { 0 };

        ok = r->src->next(list, &e, &end, err);
        if (ok && !end && e.kind == PICKUP_FOLDER && is_claim_name(e.name))
            (void)snprintf(names[(*ret_count)++], CLAIM_PATH, FOLDER_WORK "/%.*s", STR_ARG(e.name));
    } while (ok && !end && *ret_count < LEFT_MOST && !pickup_is_over(r));
    r->src->end(list);
    return ok;
}

bool pickup_take_left(struct pickup_run *r, struct err *err)
{
    char names[LEFT_MOST][CLAIM_PATH];
    size_t count;

    r->finish = finish_claimed;
    if (!list_left(r, names, &count, err))
        return false;
    for (size_t i = 0; i < count && !pickup_is_over(r); i++)
        if (!take_claim(r, names[i], err))
            return false;
    return true;
}

/* ---- claim ---- */

/* Files that are claimed together. */
struct batch {
    char claim[CLAIM_PATH];
    struct pickup_item items[CLAIMS_MOST];
    size_t count;
    struct pickup_folders folders; /* made in the work folder; the claim itself first */
};

static void batch_done(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->items[i].path);
    pickup_folders_done(&b->folders);
}

static bool make_claim_folder(const struct pickup_run *r, struct batch *b, const char *path,
                              struct err *err)
{
    for (size_t i = 0; i < b->folders.count; i++)
        if (strcmp(b->folders.list[i].path, path) == 0)
            return true;
    if (!r->src->make_folder(r->arg, path, err))
        return false;
    pickup_folders_add(&b->folders, path, 0);
    return true;
}

/* Makes the work folder, and in it the folders that the file is in. */
static bool make_claim_folders(const struct pickup_run *r, struct batch *b, const char *path,
                               struct err *err)
{
    char at[PICKUP_PATH];

    if (!make_claim_folder(r, b, b->claim, err))
        return false;
    for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        (void)snprintf(at, sizeof at, "%s/%.*s", b->claim, (int)(slash - path), path);
        if (!make_claim_folder(r, b, at, err))
            return false;
    }
    return true;
}

/* *ret_claimed false: somebody else took it, or it was reported. */
static bool claim_file(const struct pickup_run *r, const char *claim, const char *path,
                       bool *ret_claimed, struct err *err)
{
    char at[PICKUP_PATH], marker[PICKUP_PATH], marker_at[PICKUP_PATH];
    static const char hint[] = "Give the node the right to rename it, or say `after: keep`.";
    bool marked = r->p->marker.len > 0;

    *ret_claimed = false;
    if (!claimed_at(at, claim, path) ||
        (marked && (!pickup_marker(r, path, marker) || !pickup_marker(r, at, marker_at))))
        return true; /* nothing can have that name */
    if (marked && !r->src->rename(r->arg, marker, marker_at, err))
        return pickup_go_on(r, path, hint, err);
    if (r->src->rename(r->arg, path, at, err)) {
        *ret_claimed = true;
        fault_point(FILE_CLAIMED);
        return true;
    }
    if (marked && err->sys == ENOENT)
        drop_marker(r, at);
    else if (marked) {
        struct err again = { 0 };

        (void)r->src->rename(r->arg, marker_at, marker, &again); /* else the next poll meets it */
    }
    return pickup_go_on(r, path, hint, err);
}

/* The names in the work folder and in the folders that the files came from.  Without a sync a power
 * cut could lose a file: gone from its folder, and in no other. */
static bool sync_claim(const struct pickup_run *r, const struct batch *b, struct err *err)
{
    if (r->src->sync == NULL)
        return true;
    for (size_t i = 0; i < b->folders.count; i++) {
        const char *from = b->folders.list[i].path + strlen(b->claim);

        if (!r->src->sync(r->arg, b->folders.list[i].path, err) ||
            !r->src->sync(r->arg, from[0] == '/' ? from + 1 : from, err))
            return false;
    }
    return b->folders.count == 0 || r->src->sync(r->arg, FOLDER_WORK, err);
}

/* *ret: it was taken before it could be claimed, and is dealt with. */
static bool meet_noted(const struct pickup_run *r, const struct pickup_item *item, bool *ret,
                       struct err *err)
{
    char source[PICKUP_VERSION + PICKUP_PATH];

    *ret = false;
    if (!r->src->noted)
        return true;
    pickup_source_of(source, item->version, item->path);
    return r->port->seen(r->deposit, str_of(source), ret, err) &&
           (!*ret || pickup_drop(r, item->path, str_of(source), err));
}

/* Claims up to CLAIMS_MOST files into a work folder of their own, durably. */
static bool claim_some(struct pickup_run *r, struct batch *b, struct err *err)
{
    struct pickup_item item;

    while (b->count < CLAIMS_MOST && r->taken + (int64_t)b->count < DEPOSIT_LOOK_MOST &&
           !r->port->stopping(r->deposit) && pickup_queue_take(&r->p->queue, &item)) {
        bool claimed = false, over = false;
        bool ok = meet_noted(r, &item, &over, err) &&
                  (over || (make_claim_folders(r, b, item.path, err) &&
                            claim_file(r, b->claim, item.path, &claimed, err)));

        if (claimed)
            b->items[b->count++] = item;
        else
            free(item.path);
        if (!ok)
            return false; /* the next poll finds what was claimed */
    }
    return sync_claim(r, b, err);
}

/* A file that changed between listing and claim is not ripe any more, unless nobody asked for
 * that. */
static bool take_batch(struct pickup_run *r, const struct batch *b, struct err *err)
{
    bool ripe = r->p->min_age_us > 0 && r->p->marker.len == 0, ok = true;

    for (size_t i = 0; ok && i < b->count && !pickup_is_over(r); i++)
        ok = take_claimed(r, b->claim, b->items[i].path, ripe ? b->items[i].version : NULL, err);
    ok = pickup_settle_rest(r, ok, err);
    if (ok)
        remove_claim(r, &b->folders);
    return ok;
}

bool pickup_claim_all(struct pickup_run *r, struct err *err)
{
    r->finish = finish_claimed;
    for (;;) {
        AUTO(batch_done) struct batch b = { 0 };

        (void)snprintf(b.claim, sizeof b.claim, FOLDER_WORK "/%016llx",
                       (unsigned long long)chance_u64());
        if (!claim_some(r, &b, err) || !take_batch(r, &b, err))
            return false;
        if (b.count < CLAIMS_MOST || pickup_is_over(r))
            return true;
    }
}
