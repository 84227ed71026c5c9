/* config_reach.c - what a version may reach on the machine of its node: folders, environment
 * variables and files.  The node's own section is the list of what is allowed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "core/config_check.h"
#include "core/connector.h"

enum { PATH_MOST = 8192, OWNER_MOST = 128 };

/* ---- variables and files ---- */

/* Takes the first name off a path; empty names and `.` are skipped. */
static struct str next_name(struct str *path)
{
    struct str name = STR("");

    while (path->len > 0 && (name.len == 0 || str_is(name, ".")))
        *path = str_cut(*path, '/', &name);
    return str_is(name, ".") ? STR("") : name;
}

/* By their texts: a file need not be there when a configuration is checked. */
static bool is_same_path(struct str a, struct str b)
{
    struct str x, y;

    if (str_starts(a, STR("/")) != str_starts(b, STR("/")))
        return false;
    do {
        x = next_name(&a);
        y = next_name(&b);
        if (!str_eq(x, y))
            return false;
    } while (x.len > 0);
    return true;
}

static bool is_exposed_file(const struct config_node *node, struct str name)
{
    AUTO(buf_done) struct buf plain = BUF_INIT(PATH_MOST);
    AUTO(buf_done) struct buf path = BUF_INIT(2 * PATH_MOST);
    struct err err;

    if (!buf_append(&plain, name, &err) || !config_path(plain.ptr, node->file, &path, &err))
        return false;
    for (size_t i = 0; i < node->expose_files.count; i++) {
        AUTO(buf_done) struct buf one = BUF_INIT(2 * PATH_MOST);

        if (config_path(node->expose_files.items[i], node->file, &one, &err) &&
            is_same_path(buf_view(&path), buf_view(&one)))
            return true;
    }
    return false;
}

bool config_exposes(const struct config_node *node, enum config_outside kind, struct str name)
{
    if (kind == CONFIG_SECRET)
        return true;
    if (kind == CONFIG_FILE)
        return is_exposed_file(node, name);
    for (size_t i = 0; i < node->expose_env.count; i++)
        if (str_is(name, node->expose_env.items[i]))
            return true;
    return false;
}

void config_say_hidden(const struct config_reference *r, struct problem_list *problems)
{
    bool env = r->kind == CONFIG_ENV;
    char name[PROBLEM_QUOTE], hint[PROBLEM_QUOTE + 120];

    (void)snprintf(hint, sizeof hint,
                   "add to the node's own file, under `node:`, the line `expose: { %s: [%s] }`; or "
                   "use a secret",
                   env ? "env" : "files", problem_quote(name, r->name));
    problem_add(problems, r->place, hint, "`${%s:%s}`: this node does not expose it",
                env ? "env" : "file", name);
}

void config_ask_exposed(const struct config *config, struct problem_list *problems)
{
    struct config_outside_walk walk = { 0 };
    struct config_reference r;

    while (problems->count < PROBLEM_MOST && config_outside_next(config->root, &walk, &r))
        if (!config_exposes(&config->node, r.kind, r.name))
            config_say_hidden(&r, problems);
}

/* ---- folders ---- */

struct folder_list {
    struct config *config;
    struct folder_use *uses;
    struct place *places;
    size_t count;
};

/* The path as the node opens it; NULL: only the node can know, which asks when it opens it. */
static const char *folder_path(struct config *c, struct str text)
{
    AUTO(buf_done) struct buf plain = BUF_INIT(PATH_MOST);
    AUTO(buf_done) struct buf path = BUF_INIT(2 * PATH_MOST);
    struct err err;

    if (check_has_reference(text) || !buf_append(&plain, text, &err) ||
        !config_path(plain.ptr, c->file, &path, &err))
        return NULL;
    return arena_text(&c->arena, buf_view(&path));
}

static void add_folder(struct folder_list *l, enum folder_purpose purpose, const char *role,
                       const char *name, const char *part, const struct yaml_node *value)
{
    struct arena *a = &l->config->arena;

    if (value == NULL || value->kind != YAML_SCALAR || yaml_is_null(value))
        return;
    l->places[l->count] = value->place;
    l->uses[l->count++] =
        (struct folder_use){ .purpose = purpose,
                             .owner = arena_printf(a, "%s%.*s", role, OWNER_MOST, name),
                             .part = part,
                             .path = folder_path(l->config, value->text) };
}

static bool is_folder_kind(const struct connectors *all, enum option_role role, const char *kind)
{
    const struct option_kind *k = kind != NULL ? kind_find(all, role, str_of(kind)) : NULL;
    const struct option *path = k != NULL ? kind_key(role, k, STR("path")) : NULL;

    return path != NULL && (path->flags & OPT_FOLDER) != 0;
}

static void add_gateway_folders(struct folder_list *l, const struct config_gateway *g)
{
    const struct yaml_node *after = yaml_get(g->node, "after");
    bool moves = after != NULL && after->kind == YAML_MAP;
    bool takes = moves || str_is(yaml_text(after), "delete");

    add_folder(l, takes ? FOLDER_TAKE : FOLDER_READ, "gateway ", g->name, "path",
               yaml_get(g->node, "path"));
    if (moves)
        add_folder(l, FOLDER_MOVE, "gateway ", g->name, "move", yaml_get(after, "move"));
}

/* The folder of jobs that write backups. */
static bool is_backup_kind(const struct connectors *all, const char *kind)
{
    const struct option_kind *k = kind != NULL ? kind_find(all, ROLE_JOB, str_of(kind)) : NULL;
    const struct option *folder = k != NULL ? kind_key(ROLE_JOB, k, STR("folder")) : NULL;

    return folder != NULL && (folder->flags & OPT_FOLDER) != 0;
}

static size_t count_folders(const struct config *c, const struct connectors *all)
{
    size_t count = 1; /* the archive */

    for (size_t i = 0; i < c->gateway_count; i++)
        count += is_folder_kind(all, ROLE_GATEWAY, c->gateways[i].kind) ? 2 : 0;
    for (size_t i = 0; i < c->endpoint_count; i++)
        count += is_folder_kind(all, ROLE_ENDPOINT, c->endpoints[i].kind);
    for (size_t i = 0; i < c->job_count; i++)
        count += is_backup_kind(all, c->jobs[i].kind);
    return count;
}

static const char *path_beside(const char *path, const char *file, struct arena *a)
{
    AUTO(buf_done) struct buf out = BUF_INIT(2 * PATH_MOST);
    struct err err;

    return config_path(path, file, &out, &err) ? arena_text(a, buf_view(&out)) : path;
}

/* The rule of a node, without uses; relative paths start in the folder of `file`. */
static struct folder_rule config_node_folders(const struct config_node *node, const char *file,
                                              struct arena *a)
{
    bool usual = node->folders.count == 0;
    const char **roots = ARENA_ARRAY(a, const char *, usual ? 1 : node->folders.count);
    const char *slash = strrchr(node->file, '/');
    const char *home =
        slash == NULL ? "." : arena_text(a, str_mem(node->file, (size_t)(slash - node->file) + 1));

    roots[0] = home;
    for (size_t i = 0; i < node->folders.count; i++)
        roots[i] = path_beside(node->folders.items[i], node->file, a);
    return (struct folder_rule){ .data = path_beside(node->data, file, a),
                                 .home = home,
                                 .roots = roots,
                                 .root_count = usual ? 1 : node->folders.count,
                                 .usual = usual,
                                 .mutex = PTHREAD_MUTEX_INITIALIZER };
}

void config_build_folders(struct config *c, const struct connectors *all)
{
    size_t most = count_folders(c, all);
    struct folder_list l = { .config = c,
                             .uses = ARENA_ARRAY(&c->arena, struct folder_use, most),
                             .places = ARENA_ARRAY(&c->arena, struct place, most) };

    for (size_t i = 0; i < c->gateway_count; i++)
        if (is_folder_kind(all, ROLE_GATEWAY, c->gateways[i].kind))
            add_gateway_folders(&l, &c->gateways[i]);
    for (size_t i = 0; i < c->endpoint_count; i++)
        if (is_folder_kind(all, ROLE_ENDPOINT, c->endpoints[i].kind))
            add_folder(&l, FOLDER_WRITE, "endpoint ", c->endpoints[i].name, "path",
                       yaml_get(c->endpoints[i].node, "path"));
    for (size_t i = 0; i < c->job_count; i++)
        if (is_backup_kind(all, c->jobs[i].kind))
            add_folder(&l, FOLDER_BACKUP, "job ", c->jobs[i].name, "folder",
                       yaml_get(c->jobs[i].node, "folder"));
    add_folder(&l, FOLDER_ARCHIVE, "retention", "", "archive",
               yaml_get(yaml_get(c->root, "retention"), "archive"));
    c->folders = ARENA_NEW(&c->arena, struct folder_rule);
    *c->folders = config_node_folders(&c->node, c->file, &c->arena);
    c->folders->uses = l.uses;
    c->folders->use_count = l.count;
    c->folder_places = l.places;
}

/* ---- files that are databases ---- */

/* The file as far as it is there; a link that leads nowhere may lead anywhere later. */
static bool config_real_file(const char *path, char **ret, struct err *err)
{
    struct stat st;

    *ret = realpath(path, NULL);
    if (*ret == NULL && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return err_set(err, ERR_CONFIG, KNOWN_FOLDER_STRANGE,
                       "it is a link that leads nowhere: make the file, or name another");
    if (*ret == NULL)
        *ret = xstrdup(path);
    return true;
}

/* Only one file of the folder is used, so it may have the data folder in it. */
static bool config_is_apart_from_data(const struct folder_rule *rule, const char *folder,
                                      struct err *err)
{
    struct folder_spot own, there;

    if (!folder_spot_find(folder, &there, err) || !folder_spot_find(rule->data, &own, err))
        return false;
    return !folder_spot_is_in(&there, &own) ||
           err_set(err, ERR_CONFIG, KNOWN_FOLDER_STRANGE,
                   "it lies in the data folder of the node: put it in a folder of its own");
}

bool config_may_use_file(const struct config_node *node, const char *file, const char *path,
                         struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct folder_rule rule = config_node_folders(node, file, &a);
    AUTO_TEXT real = NULL;

    if (!config_real_file(path, &real, err))
        return false;
    const char *slash = strrchr(real, '/');
    struct folder_use use = {
        .purpose = FOLDER_WRITE,
        .owner = "",
        .part = "path",
        .path = slash == NULL ? "." : arena_text(&a, str_mem(real, (size_t)(slash - real) + 1))
    };

    if (!config_is_apart_from_data(&rule, use.path, err))
        return false;
    rule.data = rule.home = NULL; /* what is left are the roots */
    return folder_may_use(&rule, &use, -1, err);
}

static void config_ask_databases(const struct config *config, struct problem_list *problems)
{
    const struct yaml_node *all = yaml_get(config->root, "databases");
    AUTO(arena_done) struct arena a = ARENA_INIT(YAML_ARENA);

    if (all == NULL)
        return;
    for (const struct yaml_node *d = all->first; d != NULL; d = d->next) {
        const struct yaml_node *path = yaml_get(d, "path");
        struct str text = yaml_text(path);
        struct err err = { 0 };

        if (text.len == 0 || check_has_reference(text) ||
            config_may_use_file(&config->node, config->file,
                                path_beside(text.ptr, config->file, &a), &err) ||
            err.kind != ERR_CONFIG || (err.sys != 0 && err.sys != KNOWN_FOLDER_STRANGE))
            continue;
        problem_add(problems, path->place, NULL, "database %.*s: `path`: %s", (int)OWNER_MOST,
                    d->key->text.ptr, err.text);
    }
}

void config_ask_folders(const struct config *config, struct problem_list *problems)
{
    struct folder_rule *r = config->folders;

    for (size_t i = 0; i < r->use_count; i++)
        folder_rule_look(r, &r->uses[i]);
    for (size_t i = 0; i < r->use_count && problems->count < PROBLEM_MOST; i++) {
        struct err err = { 0 };

        if (r->uses[i].path == NULL || folder_may_use(r, &r->uses[i], -1, &err) ||
            err.kind != ERR_CONFIG || (err.sys != 0 && err.sys != KNOWN_FOLDER_STRANGE))
            continue; /* what is no folder, or away, may be one later: it is asked about again */
        problem_add(problems, config->folder_places[i],
                    strstr(err.text, "node.folders") != NULL
                        ? "`folders` is in the node's own file, read at start: no part of a version"
                        : NULL,
                    "%s%s`%s`: %s", r->uses[i].owner, r->uses[i].owner[0] != '\0' ? ": " : "",
                    r->uses[i].part, err.text);
    }
    config_ask_databases(config, problems);
}
