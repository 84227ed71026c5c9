#include "app/reach.h"

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/db/pg_files.h"

/* What the C library, OpenSSL, curl and libpq read: the resolver's files, certificates of
 * authorities, time zones, modules.  Files of /etc are replaced by renaming, so the rule is on the
 * folder. */
static const char *const always_read[] = { "/etc",  "/usr", "/lib",        "/lib64",
                                           "/proc", "/sys", "/dev/random", "/dev/urandom" };

/* `task`: names of threads are written there. */
static const char *const always_written[] = { "/dev/null", "/proc/self/task" };

/* File systems whose server may be gone: opening a path in them may wait for ever, and when the
 * server is back it may be another mount, which a rule on the old one does not cover. */
static const char *const remote_types[] = { "nfs",  "nfs4", "cifs", "smb3",
                                            "ceph", "9p",   "afs",  "autofs" };

void reach_done(struct reach *r)
{
    arena_done(&r->arena);
    *r = (struct reach)REACH_INIT;
}

static void reach_add(struct reach *r, const char *path, enum confine_access access)
{
    if (r->count == r->room) {
        size_t room = r->room == 0 ? 64 : r->room * 2;
        struct confine_rule *more = ARENA_ARRAY(&r->arena, struct confine_rule, room);

        if (r->count > 0)
            memcpy(more, r->rules, r->count * sizeof *more);
        r->rules = more;
        r->room = room;
    }
    r->rules[r->count++] = (struct confine_rule){ arena_text(&r->arena, str_of(path)), access };
}

/* The folder of a path; NULL: it is the root, or the path says none. */
static const char *reach_parent(struct reach *r, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return ".";
    return slash == path ? NULL : arena_text(&r->arena, str_mem(path, (size_t)(slash - path)));
}

/* A file that may be replaced while the node runs, and the place to which it is linked today. */
static void add_file(struct reach *r, const char *path)
{
    AUTO_TEXT real = realpath(path, NULL);
    const char *folder = reach_parent(r, path);

    reach_add(r, folder != NULL ? folder : path, CONFINE_READ);
    if (real != NULL) {
        folder = reach_parent(r, real);
        reach_add(r, folder != NULL ? folder : real, CONFINE_READ);
    }
}

static void add_configured_file(struct reach *r, const struct config *c, const char *path)
{
    AUTO(buf_done) struct buf whole = BUF_INIT(8192);
    struct err err;

    if (path != NULL && !config_is_pem(path) && config_path(path, c->file, &whole, &err))
        add_file(r, whole.ptr);
}

/* ---- folders ---- */

/* Absolute and without `.`, `..` and double slashes, by the text alone: no file is touched. */
static bool lexical(const char *path, struct buf *out, struct err *err)
{
    char cwd[PATH_MAX] = "";
    struct str rest = str_of(path), part;

    if (path[0] != '/' && getcwd(cwd, sizeof cwd) == NULL)
        return false;
    if (!buf_append(out, str_of(cwd), err))
        return false;
    while (rest.len > 0) {
        rest = str_cut(rest, '/', &part);
        if (part.len == 0 || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            const char *slash = out->len > 0 ? strrchr(out->ptr, '/') : NULL;

            out->len = slash != NULL ? (size_t)(slash - out->ptr) : 0;
            if (out->ptr != NULL)
                out->ptr[out->len] = '\0';
        } else if (!buf_append(out, STR("/"), err) || !buf_append(out, part, err)) {
            return false;
        }
    }
    return true;
}

static bool is_remote(const char *type)
{
    for (size_t i = 0; i < sizeof remote_types / sizeof remote_types[0]; i++)
        if (strcmp(type, remote_types[i]) == 0)
            return true;
    return strncmp(type, "fuse", 4) == 0;
}

static bool is_beneath(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* The mount point above a path if its file system is remote, else NULL. */
static const char *remote_mount(struct reach *r, const char *path)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    const char *found = NULL;
    size_t longest = 0;

    for (struct mntent *m; mounts != NULL && (m = getmntent(mounts)) != NULL;)
        if (is_beneath(path, m->mnt_dir) && strlen(m->mnt_dir) >= longest) {
            longest = strlen(m->mnt_dir);
            found = is_remote(m->mnt_type) ? arena_text(&r->arena, str_of(m->mnt_dir)) : NULL;
        }
    if (mounts != NULL)
        (void)endmntent(mounts);
    return found;
}

/* A root of `node.folders`.  A share is reached by the folder in which it is mounted, and a folder
 * that is missing by the one in which it will be made; the root of all is not given for either. */
static void add_root(struct reach *r, const char *path)
{
    AUTO(buf_done) struct buf whole = BUF_INIT(PATH_MAX * 2);
    struct err err;
    struct stat st;

    if (!lexical(path, &whole, &err) || whole.len == 0) {
        reach_add(r, path, CONFINE_WRITE);
        return;
    }
    const char *mount = remote_mount(r, whole.ptr), *parent;

    if (mount != NULL && (parent = reach_parent(r, mount)) != NULL) {
        reach_add(r, parent, CONFINE_WRITE);
        return;
    }
    if (stat(path, &st) < 0 && (parent = reach_parent(r, whole.ptr)) != NULL)
        reach_add(r, parent, CONFINE_WRITE);
    reach_add(r, path, CONFINE_WRITE);
}

static void add_roots(struct reach *r, const struct config *c)
{
    const char *own = reach_parent(r, c->file);

    reach_add(r, own != NULL ? own : "/", CONFINE_READ);
    if (c->node.folders.count == 0)
        reach_add(r, own != NULL ? own : "/", CONFINE_WRITE);
    for (size_t i = 0; i < c->node.folders.count; i++) {
        AUTO(buf_done) struct buf whole = BUF_INIT(8192);
        struct err err;

        if (config_path(c->node.folders.items[i], c->file, &whole, &err))
            add_root(r, whole.ptr);
    }
}

void reach_collect_folders(struct reach *r, const struct config *c)
{
    add_roots(r, c);
}

/* ---- the node's own files ---- */

static void add_pg_file(void *arg, const char *path)
{
    struct reach *r = arg;
    const char *folder = reach_parent(r, path), *home = getenv("HOME");

    /* The home folder has more in it than the password file. */
    if (folder != NULL && home != NULL && strcmp(folder, home) == 0)
        reach_add(r, path, CONFINE_READ);
    else
        add_file(r, path);
}

/* `${file:}` in the node section is read again at SIGHUP. */
static void add_references(struct reach *r, const struct config *c, struct str text)
{
    AUTO(arena_done) struct arena tree = ARENA_INIT(YAML_ARENA);
    struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *root = yaml_load(text, &tree, &problems), *own = yaml_get(root, "node");
    struct config_outside_walk walk = { 0 };
    struct config_reference ref;

    while (own != NULL && config_outside_next(own, &walk, &ref))
        if (ref.kind == CONFIG_FILE)
            add_configured_file(r, c, arena_text(&r->arena, ref.name));
    problem_list_done(&problems);
}

/* Files whose places the environment names. */
static void add_environment(struct reach *r)
{
    static const char *const files[] = { "WAYBILL_SECRET_KEY_FILE", "WAYBILL_AUDIT_KEY_FILE",
                                         "SSL_CERT_FILE", "OPENSSL_CONF" };
    const char *certificates = getenv("SSL_CERT_DIR");

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path = getenv(files[i]);

        if (path != NULL && path[0] != '\0')
            add_file(r, path);
    }
    if (certificates != NULL && certificates[0] == '/')
        reach_add(r, certificates, CONFINE_READ);
}

/* Builds that are looked into: a sanitizer reads the program and its libraries to name the lines of
 * a report, coverage is written beside the objects at the end. */
static void add_for_inspection(struct reach *r)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    reach_add(r, "/", CONFINE_READ);
#elif defined WAYBILL_COVERAGE
    reach_add(r, "/", CONFINE_WRITE);
#else
    (void)r;
#endif
}

void reach_collect(struct reach *r, const struct config *c, struct str text)
{
    for (size_t i = 0; i < sizeof always_read / sizeof always_read[0]; i++)
        reach_add(r, always_read[i], CONFINE_READ);
    for (size_t i = 0; i < sizeof always_written / sizeof always_written[0]; i++)
        reach_add(r, always_written[i], CONFINE_WRITE);
    add_file(r, "/etc/resolv.conf"); /* often a link into /run */
    reach_add(r, c->node.data, CONFINE_WRITE);
    add_roots(r, c);
    add_references(r, c, text);
    add_environment(r);
    if (c->node.tls_cert != NULL) {
        add_configured_file(r, c, c->node.tls_cert);
        add_configured_file(r, c, c->node.tls_key);
    }
    for (size_t i = 0; i < c->node.expose_files.count; i++)
        add_configured_file(r, c, c->node.expose_files.items[i]);
    if (c->node.store != NULL)
        pg_files(c->node.store, add_pg_file, r);
    add_for_inspection(r);
}
