#include "engine/plan/folders.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/patient.h"
#include "core/call.h"
#include "core/config.h"
#include "store/store.h"

enum { ROW_MOST = 64 << 10, PROBE_PATIENCE_US = 2 * CLOCK_S, ASK_PATIENCE_US = 2 * CLOCK_S };

struct folders_of {
    struct folder_port port;
    struct store *store;
    struct folder_rule *rule;
    enum name_kind kind;
    const char *name, *owner;
    struct call *call;
};

/* ---- the port ---- */

static bool folders_find(const struct folders_of *f, const char *part, const char *path,
                         struct folder_id *ret, bool *ret_known, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ROW_MOST);
    struct folder_row row;
    int64_t owner;

    *ret_known = false;
    if (!name_find(f->store, f->kind, str_of(f->name), &owner))
        return true;
    if (!folder_find(f->store, owner, str_of(part), str_of(path), &a, &row, ret_known, err))
        return err_context(err, "what is known of folder %.80s", path);
    if (*ret_known)
        *ret = row.id;
    return true;
}

static bool folders_recall(void *arg, const char *part, const char *path, struct folder_id *ret,
                           bool *ret_known, struct err *err)
{
    const struct folders_of *f = arg;

    if (!call_own_begin(f->call, err))
        return false;
    bool ok = folders_find(f, part, path, ret, ret_known, err);

    call_alive(f->call);
    return ok;
}

static bool folders_learn(void *arg, const char *part, const char *path, const struct folder_id *id,
                          bool mount, struct err *err)
{
    const struct folders_of *f = arg;
    char fs[24];
    int64_t owner;

    if (!call_own_begin(f->call, err))
        return false;
    bool ok = name_add(f->store, f->kind, str_of(f->name), &owner, err) &&
              folder_learn(f->store, owner, str_of(part), str_of(path), id, mount, err);

    call_alive(f->call);
    if (!ok)
        return err_context(err, "note folder %.80s", path);
    log_event(LOG_INFO, "folder.meet",
              kv_z(f->kind == NAME_GATEWAY ? "gateway" : "endpoint", f->name), kv_z("path", path),
              kv_z("fs", folder_fs_name(id->fs, fs)), kv_bool("mount", mount));
    return true;
}

static bool folders_learn_nothing(void *arg, const char *part, const char *path,
                                  const struct folder_id *id, bool mount, struct err *err)
{
    (void)arg, (void)part, (void)path, (void)id, (void)mount, (void)err;
    return true;
}

/* A connector whose folder the grammar does not mark (OPT_FOLDER) is asked about as well. */
static bool folders_allow(void *arg, const char *part, const char *path, int fd, struct err *err)
{
    const struct folders_of *f = arg;
    struct folder_use *use = folder_rule_find(f->rule, f->owner, part);
    struct folder_use now = { .purpose = use != NULL ? use->purpose : FOLDER_WRITE,
                              .owner = f->owner,
                              .part = part,
                              .path = path };

    bool known = use != NULL && (use->path != NULL || fd >= 0);

    return folder_may_use(f->rule, known ? use : &now, fd, err);
}

const struct folder_port *folders_port(struct store *s, const struct config *config,
                                       enum name_kind kind, const char *name, bool trial,
                                       struct call *call, struct arena *a)
{
    struct folders_of *f = ARENA_NEW(a, struct folders_of);

    *f = (struct folders_of){
        .port = { .recall = folders_recall,
                  .learn = trial ? folders_learn_nothing : folders_learn,
                  .allow = folders_allow,
                  .arg = f },
        .store = s,
        .rule = config->folders,
        .owner = arena_printf(a, "%s %s", kind == NAME_GATEWAY ? "gateway" : "endpoint", name),
        .kind = kind,
        .name = name,
        .call = call,
    };
    return &f->port;
}

/* ---- questions about a configuration ---- */

struct folders_question {
    struct config *config;        /* a reference */
    char *backup;                 /* NULL: about all that the configuration names */
    struct problem_list problems; /* the answer */
    struct err err;
    bool ok;
};

static void folders_question_run(void *arg)
{
    struct folders_question *q = arg;

    if (q->backup == NULL) {
        config_ask_folders(q->config, &q->problems);
        return;
    }
    struct folder_use use = {
        .purpose = FOLDER_BACKUP, .owner = "", .part = "", .path = q->backup
    };

    q->ok = folder_may_use(q->config->folders, &use, -1, &q->err);
}

static void folders_question_free(void *arg)
{
    struct folders_question *q = arg;

    problem_list_done(&q->problems);
    config_unref(q->config);
    free(q->backup);
    free(q);
}

static struct folders_question *folders_question_new(struct config *config)
{
    struct folders_question *q = NEW(struct folders_question);

    *q = (struct folders_question){ .config = config_ref(config), .problems = PROBLEM_LIST_INIT };
    return q;
}

void folders_ask(struct config *config, struct problem_list *problems)
{
    struct folders_question *q = folders_question_new(config);

    if (!patient_call(folders_question_run, folders_question_free, q, ASK_PATIENCE_US))
        return;
    for (size_t i = 0; i < q->problems.count; i++)
        problem_add(problems, q->problems.items[i].place, q->problems.items[i].hint, "%s",
                    q->problems.items[i].message);
    folders_question_free(q);
}

bool folders_ask_backup(struct config *config, const char *path, struct err *err)
{
    struct folders_question *q = folders_question_new(config);

    q->backup = xstrndup(str_of(path));
    if (!patient_call(folders_question_run, folders_question_free, q, ASK_PATIENCE_US))
        return err_set(err, ERR_TRANSIENT, 0, "the folder %.120s does not answer", path);
    bool ok = q->ok;

    if (!ok)
        *err = q->err;
    folders_question_free(q);
    return ok;
}

bool folders_ask_archive(const struct config *config, const char *path, struct err *err)
{
    struct folder_use *use = folder_rule_find(config->folders, "retention", "archive");
    struct folder_use now = {
        .purpose = FOLDER_ARCHIVE, .owner = "retention", .part = "archive", .path = path
    };

    return folder_may_use(config->folders, use != NULL && use->path != NULL ? use : &now, -1, err);
}

/* ---- probes ---- */

/* A look at a folder that may hang, with what it needs. */
struct folder_look {
    char *path;
    bool reached, mount;
    struct folder_id found;
    struct err err;
};

static void folder_look_run(void *arg)
{
    struct folder_look *l = arg;

    l->reached = known_folder_look(l->path, &l->found, &l->mount, &l->err);
}

static void folder_look_free(void *arg)
{
    struct folder_look *l = arg;

    free(l->path);
    free(l);
}

static void probe_one(const struct folder_row *row, struct folder_probe *ret)
{
    struct folder_look *l = NEW(struct folder_look);

    *ret = (struct folder_probe){ .known = *row };
    l->path = xstrndup(row->path);
    if (!patient_call(folder_look_run, folder_look_free, l, PROBE_PATIENCE_US)) {
        (void)snprintf(ret->error, sizeof ret->error,
                       "the folder does not answer: the share or the server behind it hangs");
        return;
    }
    ret->reached = l->reached;
    ret->mount = l->mount;
    ret->found = l->found;
    ret->same = l->reached && folder_same(&row->id, &l->found, true);
    (void)snprintf(ret->error, sizeof ret->error, "%s", l->err.text);
    folder_look_free(l);
}

bool folders_probe(struct store *s, int64_t owner, struct arena *a, struct folder_probe *ret,
                   size_t *ret_count, struct err *err)
{
    struct folder_row rows[FOLDERS_MOST];

    if (!folder_list(s, owner, a, rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++)
        probe_one(&rows[i], &ret[i]);
    return true;
}

bool folders_accept(struct store *s, int64_t owner, struct str by, struct folder_probe *probes,
                    size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct folder_row now = probes[i].known;
        bool was;

        if (!probes[i].reached)
            return err_set(err, ERR_PERMANENT, 0, "what cannot be reached cannot be accepted: %s",
                           probes[i].error);
        now.id = probes[i].found;
        now.mount = probes[i].mount;
        if (!folder_accept(s, owner, &now, by, &was, err))
            return false;
        probes[i].same = true;
    }
    return true;
}
