/* backup.c - backups, and the decision after a restore: backup, backupStart, restore,
 * nodeRelease. */
#include <errno.h>

#include "admin/api/audit.h"
#include "admin/api/parts.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "engine/upkeep/backups.h"
#include "engine/upkeep/controls.h"
#include "store/road/retain_days.h"

enum { PATIENCE_US = 5 * CLOCK_S };

/* ---- backups ---- */

struct shown_backup {
    struct backups_look look;
    const char *state, *stage;
    struct str damage, point;
};

static const char *api_backup_state_of(const struct backups_look *l)
{
    return l->running ? "running" : l->ok ? "done" : "failed";
}

static bool show_backup(struct graphql_call *call)
{
    struct shown_backup *v = ARENA_NEW(call->arena, struct shown_backup);

    *v = (struct shown_backup){ 0 };
    backups_look(engine_backups(api_engine(call)), call->arena, &v->look);
    if (v->look.number == 0)
        return graphql_set_null(call);
    v->state = api_backup_state_of(&v->look);
    v->stage = backup_stages[v->look.stage];
    v->damage = str_of(v->look.result.damage);
    v->point = str_of(v->look.result.point);
    return graphql_set_object(call, v);
}

static bool backup(struct graphql_call *call, struct err *err)
{
    (void)err;
    return show_backup(call);
}

/* A backup with its key holds every document and every secret in the clear: whoever has it needs no
 * right of this node any more. */
static bool may_take_key(struct graphql_call *call, struct err *err)
{
    const struct principal *p = api_principal(call);

    for (int right = RIGHT_SEE; right < RIGHTS; right++)
        if (!rights_everywhere(&p->rights, (enum right)right))
            return err_set(err, ERR_PERMANENT, EPERM,
                           "a backup with the key opens everything and takes every right, for all "
                           "systems: %.*s lacks `%s`",
                           STR_ARG(p->name), right_word((enum right)right));
    return true;
}

static bool backup_start(struct graphql_call *call, struct err *err)
{
    bool with_key = false;
    int64_t number;

    (void)graphql_arg_bool(call, "withKey", &with_key);
    return (!with_key || may_take_key(call, err)) && api_audit_now(call, err) &&
           backups_start(engine_backups(api_engine(call)), graphql_arg_text(call, "folder"),
                         with_key, &number, err) &&
           show_backup(call);
}

/* ---- after a restore ---- */

struct shown_restore {
    struct restore r;
    const char *rule; /* NULL: not decided yet */
    struct restore_progress progress;
    bool waits;
};

static bool show_restore(struct graphql_call *call, const struct restore *r,
                         const struct restore_progress *p)
{
    struct shown_restore *v = ARENA_NEW(call->arena, struct shown_restore);

    *v = (struct shown_restore){ .r = *r, .progress = *p, .waits = r->done_us == 0 };
    v->rule = r->rule != RESTORE_NONE ? restore_rules[r->rule] : NULL;
    return graphql_set_object(call, v);
}

static bool restore(struct graphql_call *call, struct err *err)
{
    struct restore r;

    if (!restore_newest(api_store(call), call->arena, &r, err))
        return false;
    return r.made_us == 0 ? graphql_set_null(call)
                          : show_restore(call, &r, &(struct restore_progress){ 0 });
}

/* The enum of the schema has the order of enum restore_rule, without its first value. */
static bool node_release(struct graphql_call *call, struct err *err)
{
    struct restore_order order = { .arena = call->arena,
                                   .who = api_name(call),
                                   .keep_days = RETAIN_BY_RULE,
                                   .patience_us = PATIENCE_US };
    enum restore_rule rule =
        (enum restore_rule)(graphql_arg(call, "inFlight")->number + RESTORE_RESEND);
    struct restore_progress p;
    struct restore r;

    return controls_release(engine_controls(api_engine(call)), rule, &order, &r, &p, err) &&
           show_restore(call, &r, &p);
}

const struct graphql_resolver api_backup[] = {
    { .field = "Query.backup", .fn = backup },
    { .field = "Mutation.backupStart", .fn = backup_start },
    GRAPHQL_MEMBER("Backup.number", struct shown_backup, look.number),
    GRAPHQL_MEMBER("Backup.folder", struct shown_backup, look.folder),
    GRAPHQL_MEMBER("Backup.state", struct shown_backup, state),
    GRAPHQL_MEMBER("Backup.stage", struct shown_backup, stage),
    GRAPHQL_MEMBER("Backup.done", struct shown_backup, look.done),
    GRAPHQL_MEMBER("Backup.total", struct shown_backup, look.total),
    GRAPHQL_MEMBER("Backup.started", struct shown_backup, look.started_us),
    API_NUMBER_AT("Backup.ended", struct shown_backup, look.ended_us),
    API_NUMBER_AT("Backup.taken", struct shown_backup, look.result.taken_us),
    GRAPHQL_MEMBER("Backup.files", struct shown_backup, look.result.files),
    GRAPHQL_MEMBER("Backup.bytes", struct shown_backup, look.result.bytes),
    GRAPHQL_MEMBER("Backup.documents", struct shown_backup, look.result.documents),
    GRAPHQL_MEMBER("Backup.damaged", struct shown_backup, look.result.damaged),
    API_TEXT_AT("Backup.damage", struct shown_backup, damage),
    GRAPHQL_MEMBER("Backup.keyLeft", struct shown_backup, look.result.key_left),
    API_TEXT_AT("Backup.point", struct shown_backup, point),
    API_TEXT_AT("Backup.error", struct shown_backup, look.error),
    { .field = "Query.restore", .fn = restore },
    { .field = "Mutation.nodeRelease", .fn = node_release },
    GRAPHQL_MEMBER("Restore.made", struct shown_restore, r.made_us),
    API_NUMBER_AT("Restore.taken", struct shown_restore, r.taken_us),
    GRAPHQL_MEMBER("Restore.source", struct shown_restore, r.source),
    GRAPHQL_MEMBER("Restore.waits", struct shown_restore, waits),
    GRAPHQL_MEMBER("Restore.inFlight", struct shown_restore, rule),
    API_NUMBER_AT("Restore.chosen", struct shown_restore, r.chosen_us),
    API_TEXT_AT("Restore.by", struct shown_restore, r.chosen_by),
    API_NUMBER_AT("Restore.released", struct shown_restore, r.done_us),
    GRAPHQL_MEMBER("Restore.changed", struct shown_restore, progress.changed),
    GRAPHQL_MEMBER("Restore.left", struct shown_restore, progress.left),
};
const size_t api_backup_count = sizeof api_backup / sizeof api_backup[0];
