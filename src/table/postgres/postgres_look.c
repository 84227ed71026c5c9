/* postgres_look.c - whether capture is as it was installed, and which history this is. */
#include <stdio.h>

#include "base/require.h"
#include "table/postgres/postgres.h"

enum { ARGS_ARENA = 1 << 20, EPOCH_MOST = 200 };

/* ---- which server ---- */

struct look_rights {
    bool system, checkpoint;
};

static bool look_take_rights(void *arg, const PGresult *row, struct err *err)
{
    struct look_rights *r = arg;

    (void)err;
    *r = (struct look_rights){ .system = postgres_bool(row, 0),
                               .checkpoint = postgres_bool(row, 1) };
    return true;
}

/* A function that may not be called fails even where it is not reached, so what is asked depends on
 * the rights.  The timeline of a standby is that of its last checkpoint. */
static bool look_prepare(struct postgres *p, struct err *err)
{
    struct look_rights rights = { 0 };

    if (p->epoch_sql != NULL)
        return true;
    buf_clear(&p->sql);
    buf_puts(&p->sql,
             "SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', "
             "'execute'), "
             "pg_catalog.has_function_privilege('pg_catalog.pg_control_checkpoint()', 'execute')");
    if (!postgres_ask_once(p, NULL, look_take_rights, &rights, err))
        return false;
    p->epoch_sql = arena_printf(
        &p->memory,
        "(SELECT %s || '/' || CASE WHEN pg_catalog.pg_is_in_recovery() THEN %s ELSE "
        "pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) END)",
        rights.system ? "(SELECT system_identifier::text FROM pg_catalog.pg_control_system())"
                      : "'-'",
        rights.checkpoint ? "(SELECT pg_catalog.lpad(pg_catalog.upper(pg_catalog.to_hex("
                            "timeline_id)), 8, '0') FROM pg_catalog.pg_control_checkpoint())"
                          : "'-'");
    return true;
}

/* ---- what is installed ---- */

struct look_found {
    struct arena *arena;
    bool table, shared, journal, family;
    bool append, inserts; /* it is to be so; its trigger after INSERT is there */
    int64_t oid, triggers, on;
    struct str off; /* a trigger that is not as it was installed */
    bool row;       /* of waybill_capture */
    struct str id, life, keys, server, identity;
    bool earlier; /* the journal was made by an earlier build */
    int64_t pruned, now_us;
};

static bool look_take(void *arg, const PGresult *row, struct err *err)
{
    struct look_found *f = arg;

    (void)err;
    f->table = true;
    f->oid = postgres_int(row, 0) & UINT32_MAX;
    f->shared = postgres_bool(row, 1);
    f->journal = postgres_bool(row, 2);
    f->triggers = postgres_int(row, 3);
    f->on = postgres_int(row, 4);
    f->off = arena_copy(f->arena, postgres_text(row, 5));
    f->family = postgres_bool(row, 6);
    f->server = arena_copy(f->arena, postgres_text(row, 7));
    f->earlier = f->journal && f->shared && postgres_int(row, 8) < 3;
    f->now_us = postgres_int(row, 9);
    f->inserts = postgres_bool(row, 10);
    return true;
}

static bool look_take_row(void *arg, const PGresult *row, struct err *err)
{
    struct look_found *f = arg;

    (void)err;
    f->row = true;
    f->id = arena_copy(f->arena, postgres_text(row, 0));
    f->life = arena_copy(f->arena, postgres_text(row, 1));
    f->keys = arena_copy(f->arena, postgres_text(row, 2));
    f->identity = arena_copy(f->arena, postgres_text(row, 3));
    f->pruned = postgres_int(row, 4);
    return true;
}

static bool look_catalog(struct postgres *p, const struct fit *fit, struct look_found *f,
                         struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    struct buf shared = BUF_INIT(1024), journal = BUF_INIT(1024), function = BUF_INIT(1024);

    postgres_capture_table(&shared, fit->shape);
    postgres_part(&journal, fit->shape, PART_JOURNAL);
    postgres_part(&function, fit->shape, PART_FUNCTION);
    buf_puts(&function, "()");
    (void)postgres_arg_text(args, fit->shape->quoted);
    (void)postgres_arg_text(args, buf_view(&shared));
    (void)postgres_arg_text(args, buf_view(&journal));
    (void)postgres_arg_text(args, buf_view(&function));
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT t.oid, pg_catalog.to_regclass($2) IS NOT NULL, "
                      "pg_catalog.to_regclass($3) IS NOT NULL, "
                      "g.there, g.enabled, g.off, EXISTS (SELECT FROM pg_catalog.pg_inherits i "
                      "WHERE t.oid IN (i.inhrelid, i.inhparent)), ");
    buf_puts(&p->sql, p->epoch_sql);
    buf_puts(&p->sql, ", (SELECT count(*) FROM pg_catalog.pg_attribute WHERE NOT attisdropped AND "
                      "(attrelid = pg_catalog.to_regclass($3) AND attname IN ('at_us', 'gone_at') "
                      "OR attrelid = pg_catalog.to_regclass($2) AND attname = 'pruned')), "
                      "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint, "
                      "g.inserts FROM (SELECT pg_catalog.to_regclass($1)::oid AS oid) t "
                      "CROSS JOIN LATERAL (SELECT count(*) AS there, "
                      "count(*) FILTER (WHERE tgenabled = 'A') AS enabled, "
                      "min(tgname::text) FILTER (WHERE tgenabled <> 'A') AS off, "
                      "coalesce(bool_or(tgname = 'waybill_insert'), false) AS inserts "
                      "FROM pg_catalog.pg_trigger WHERE tgrelid = t.oid "
                      "AND tgfoid = pg_catalog.to_regprocedure($4) AND tgname::text IN (");
    for (size_t i = 0; i < EVENTS; i++) {
        buf_puts(&p->sql, i > 0 ? ", " : "");
        postgres_literal(&p->sql, str_of(postgres_triggers[i]));
    }
    buf_puts(&p->sql, ")) g WHERE t.oid IS NOT NULL");
    bool ok = postgres_ask(p, args, look_take, f, err);

    buf_done(&shared);
    buf_done(&journal);
    buf_done(&function);
    arena_done(&a);
    return ok;
}

static bool look_row(struct postgres *p, const struct fit *fit, struct look_found *f,
                     struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    (void)postgres_arg_text(args, fit->shape->name);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT id::text, life::text, key_columns, identity::text, ");
    buf_puts(&p->sql, f->earlier ? "0::bigint FROM " : POSTGRES_PRUNED " FROM ");
    postgres_capture_table(&p->sql, fit->shape);
    buf_puts(&p->sql, " WHERE table_name = $1");
    bool ok = postgres_ask(p, args, look_take_row, f, err);

    arena_done(&a);
    return ok;
}

/* ---- judging ---- */

static void look_tell(const struct fit *fit, const struct look_found *f, struct capture_look *ret)
{
    struct str name = str_first(fit->shape->name, 60);
    int64_t wanted = f->append ? 1 : EVENTS;
    bool other = f->inserts && (f->append ? f->triggers > 1 : f->triggers == 1);

    if (!f->table || !f->shared || !f->journal || !f->row) {
        ret->state = CAPTURE_IS_MISSING;
        (void)snprintf(ret->why, sizeof ret->why, "changes of %.*s are not captured: %s is missing",
                       STR_ARG(name), !f->table ? "the table" : "the journal");
    } else if (other) {
        ret->state = CAPTURE_IS_OTHER;
        (void)snprintf(ret->why, sizeof ret->why,
                       "the journal of %.*s was installed for `capture: %s`", STR_ARG(name),
                       f->append ? "journal" : "append");
    } else if (f->triggers < wanted || !f->inserts) {
        ret->state = CAPTURE_IS_MISSING;
        (void)snprintf(ret->why, sizeof ret->why,
                       "changes of %.*s are not captured: %lld of its %lld triggers are missing",
                       STR_ARG(name),
                       (long long)(wanted - f->triggers > 0 ? wanted - f->triggers : 1),
                       (long long)wanted);
    } else if (f->on < wanted) {
        ret->state = CAPTURE_IS_DISABLED;
        (void)snprintf(ret->why, sizeof ret->why,
                       "changes of %.*s may be missing: its trigger %.*s is, or was, switched off",
                       STR_ARG(name), STR_ARG(str_first(f->off, 60)));
    } else if (f->family) {
        ret->state = CAPTURE_IS_OTHER;
        (void)snprintf(ret->why, sizeof ret->why,
                       "%.*s is a part of a partitioned or inherited table by now, whose triggers "
                       "do not see all changes",
                       STR_ARG(name));
    }
}

static bool look_journal(struct postgres *p, const struct fit *fit, bool append, struct arena *a,
                         struct capture_look *ret, struct err *err)
{
    struct look_found f = { .arena = a, .append = append };

    if (!look_catalog(p, fit, &f, err) || (f.shared && !look_row(p, fit, &f, err)))
        return false;
    look_tell(fit, &f, ret);
    if (ret->state == CAPTURE_IS_FINE && f.earlier) {
        ret->state = CAPTURE_IS_OTHER;
        (void)snprintf(ret->why, sizeof ret->why,
                       "the journal of %.*s was installed by an earlier build, without the time "
                       "of changes",
                       STR_ARG(str_first(fit->shape->name, 60)));
    }
    if (ret->state == CAPTURE_IS_FINE && !str_eq(f.keys, postgres_key_columns(fit, a))) {
        ret->state = CAPTURE_IS_OTHER;
        (void)snprintf(ret->why, sizeof ret->why,
                       "the journal of %.*s is made for another key: %.*s",
                       STR_ARG(str_first(fit->shape->name, 60)), STR_ARG(str_first(f.keys, 80)));
    }
    ret->epoch = str_of(
        arena_printf(a, "%.*s/%.*s", STR_ARG(str_first(f.server, EPOCH_MOST - 40)), STR_ARG(f.id)));
    ret->life = str_of(arena_printf(a, "%lld.%.*s", (long long)f.oid, STR_ARG(f.life)));
    ret->identity = f.identity;
    ret->pruned = f.pruned;
    ret->now_us = f.now_us;
    return true;
}

static bool look_take_server(void *arg, const PGresult *row, struct err *err)
{
    struct look_found *f = arg;

    (void)err;
    f->server = arena_copy(f->arena, postgres_text(row, 0));
    return true;
}

bool postgres_look(struct database *d, const struct fit *fit, const struct capture *capture,
                   struct arena *a, struct capture_look *ret, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct look_found f = { .arena = a };

    *ret = (struct capture_look){ .state = CAPTURE_IS_FINE, .life = STR(""), .identity = STR("") };
    if (!look_prepare(p, err))
        return false;
    if (capture->kind == CAPTURE_JOURNAL)
        return look_journal(p, fit, capture->append, a, ret, err);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT ");
    buf_puts(&p->sql, p->epoch_sql);
    if (!postgres_ask(p, NULL, look_take_server, &f, err))
        return false;
    ret->epoch = str_first(f.server, EPOCH_MOST);
    return true;
}
