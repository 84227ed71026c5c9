#include "base/folder_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/known_folder.h"

/* ---- two folders ---- */

enum relation { APART, SAME, CONTAINS, LIES_IN };

static const char *const relation_words[] = {
    [APART] = "is apart from", [SAME] = "is", [CONTAINS] = "contains", [LIES_IN] = "lies in"
};

static enum relation relation_of(const struct folder_spot *a, const struct folder_spot *b)
{
    bool in = folder_spot_is_in(a, b), holds = folder_spot_is_in(b, a);

    return in && holds ? SAME : in ? LIES_IN : holds ? CONTAINS : APART;
}

static bool folder_refuse(const struct folder_spot *spot, enum relation how, const char *what,
                          const char *whose, struct err *err)
{
    return err_set(err, ERR_CONFIG, KNOWN_FOLDER_STRANGE, "folder %.80s %s %s%.40s: choose another",
                   spot->path, relation_words[how], what, whose);
}

/* ---- (1) roots ---- */

/* Roots whose path begins as that of the folder come first, so that others, which may be on a share
 * that hangs, are not looked at for nothing. */
static bool looks_like_root(const char *root, const struct folder_spot *spot)
{
    return strncmp(spot->path, root, strlen(root)) == 0;
}

static bool is_in_root(const char *root, const struct folder_spot *spot)
{
    struct folder_spot top;
    struct err err = { 0 };

    return folder_spot_find(root, &top, &err) && folder_spot_was_in(spot, &top);
}

static bool is_in_roots(const struct folder_rule *r, const struct folder_spot *spot)
{
    for (int likely = 1; likely >= 0; likely--)
        for (size_t i = 0; i < r->root_count; i++)
            if (looks_like_root(r->roots[i], spot) == likely && is_in_root(r->roots[i], spot))
                return true;
    return false;
}

static bool refuse_outside(const struct folder_rule *r, const struct folder_spot *spot,
                           struct err *err)
{
    if (r->usual)
        return err_set(err, ERR_CONFIG, KNOWN_FOLDER_STRANGE,
                       "it is outside of node.folders: under `node:` add `folders: [., %.120s]`",
                       spot->path);
    return err_set(err, ERR_CONFIG, KNOWN_FOLDER_STRANGE,
                   "it is outside of node.folders: add %.120s to `folders: [...]` under `node:`",
                   spot->path);
}

/* ---- (2) and (3) the node's own ---- */

static bool is_apart_from_node(const struct folder_rule *r, const struct folder_spot *spot,
                               struct err *err)
{
    struct folder_spot own;
    enum relation how;

    if (r->data != NULL) {
        if (!folder_spot_find(r->data, &own, err))
            return err_context(err, "the data folder");
        how = relation_of(spot, &own);
        if (how != APART)
            return folder_refuse(spot, how, "the data folder", "", err);
    }
    if (r->home == NULL)
        return true;
    if (!folder_spot_find(r->home, &own, err))
        return err_context(err, "the folder of the configuration file");
    if (folder_spot_is_in(&own, spot))
        return folder_refuse(spot, CONTAINS, "the configuration file of the node", "", err);
    return true;
}

/* ---- (4) the others ---- */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* What of a folder may not be touched by another; NULL: nothing. */
static const struct folder_spot *area_of(const struct folder_use *use,
                                         const struct folder_seen *seen, const char **ret_what)
{
    switch (use->purpose) {
    case FOLDER_TAKE:
        *ret_what = "the work folder of ";
        return &seen->work;
    case FOLDER_MOVE:
        *ret_what = "the move target of ";
        return &seen->spot;
    case FOLDER_ARCHIVE:
        *ret_what = "the archive of ";
        return &seen->spot;
    case FOLDER_BACKUP: /* one that a person asks for is a new folder */
        *ret_what = "the backups of ";
        return use->owner[0] != '\0' ? &seen->spot : NULL;
    default:
        return NULL;
    }
}

/* With the mutex held.  Both ways: `use` in what belongs to the other, and the other in what
 * belongs to `use`. */
static bool is_apart_from(const struct folder_use *use, const struct folder_seen *seen,
                          const struct folder_use *other, struct err *err)
{
    const struct folder_spot *area;
    const char *what;
    enum relation how;

    if (other->seen == NULL || same_text(use->owner, other->owner) ||
        (use->purpose == other->purpose &&
         (use->purpose == FOLDER_MOVE || use->purpose == FOLDER_BACKUP)))
        return true;
    area = area_of(other, other->seen, &what);
    if (area != NULL && (how = relation_of(&seen->spot, area)) != APART)
        return folder_refuse(&seen->spot, how, what, other->owner, err);
    area = area_of(use, seen, &what);
    if (area != NULL && relation_of(&other->seen->spot, area) != APART)
        return err_set(err, ERR_CONFIG, KNOWN_FOLDER_STRANGE,
                       "folder %.80s: a folder of %.40s touches %s%.40s: choose another",
                       seen->spot.path, other->owner, what, use->owner);
    return true;
}

/* ---- asking ---- */

struct folder_use *folder_rule_find(struct folder_rule *r, const char *owner, const char *part)
{
    for (size_t i = 0; i < r->use_count; i++)
        if (same_text(r->uses[i].owner, owner) && same_text(r->uses[i].part, part))
            return &r->uses[i];
    return NULL;
}

static bool folder_rule_see(const struct folder_use *use, int fd, struct folder_seen *ret,
                            struct err *err)
{
    char work[4096];

    if (!(fd >= 0 ? folder_spot_of(fd, &ret->spot, err)
                  : folder_spot_find(use->path, &ret->spot, err)))
        return false;
    if (use->purpose != FOLDER_TAKE)
        return true;
    if (fd >= 0)
        return folder_spot_below(fd, FOLDER_WORK, &ret->work, err);
    return (snprintf(work, sizeof work, "%s/" FOLDER_WORK, use->path) < (int)sizeof work ||
            err_set(err, ERR_CONFIG, 0, "the path of a folder is too long")) &&
           folder_spot_find(work, &ret->work, err);
}

/* With the mutex held.  A use that is none of the rule's is not remembered. */
static void folder_rule_keep(struct folder_rule *r, struct folder_use *use,
                             const struct folder_seen *seen)
{
    if (use < r->uses || use >= r->uses + r->use_count)
        return;
    if (use->seen == NULL)
        use->seen = NEW(struct folder_seen);
    *use->seen = *seen;
}

void folder_rule_look(struct folder_rule *r, struct folder_use *use)
{
    struct folder_seen seen;
    struct err err = { 0 };

    if (use->path == NULL || !folder_rule_see(use, -1, &seen, &err))
        return;
    (void)pthread_mutex_lock(&r->mutex);
    folder_rule_keep(r, use, &seen);
    (void)pthread_mutex_unlock(&r->mutex);
}

bool folder_may_use(struct folder_rule *r, struct folder_use *use, int fd, struct err *err)
{
    struct folder_seen seen;
    bool ok = true;

    if (!folder_rule_see(use, fd, &seen, err) || !is_apart_from_node(r, &seen.spot, err))
        return false;
    if (r->roots != NULL && !is_in_roots(r, &seen.spot))
        return refuse_outside(r, &seen.spot, err);
    (void)pthread_mutex_lock(&r->mutex);
    for (size_t i = 0; ok && i < r->use_count; i++)
        ok = &r->uses[i] == use || is_apart_from(use, &seen, &r->uses[i], err);
    if (ok)
        folder_rule_keep(r, use, &seen);
    (void)pthread_mutex_unlock(&r->mutex);
    return ok;
}

void folder_rule_done(struct folder_rule *r)
{
    for (size_t i = 0; r != NULL && i < r->use_count; i++) {
        free(r->uses[i].seen);
        r->uses[i].seen = NULL;
    }
}
