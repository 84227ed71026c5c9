/* mariadb_look.c - whether the journal of a table is there, whole and of this table.
 *
 * epoch: made when it was installed, and the server_id, which servers of a cluster have different
 * ones of.  life: the number that InnoDB has given the table, which changes with TRUNCATE, and with
 * an ALTER or OPTIMIZE that makes it anew.  Both need the right PROCESS, as the ceiling does.
 */
#include <mysqld_error.h>
#include <stdio.h>

#include "table/mariadb/mariadb.h"

struct looking {
    const struct fit *fit;
    struct arena *arena;
    struct capture_look *look;
    bool has_row, is_same, earlier; /* it was installed by an earlier build */
    bool cascades, append;
    struct str names[MARIADB_TRIGGERS];
    bool there[MARIADB_TRIGGERS], whole[MARIADB_TRIGGERS];
};

static bool look_say(struct looking *l, enum capture_state state, const char *why)
{
    l->look->state = state;
    (void)snprintf(l->look->why, sizeof l->look->why, "%s", why);
    return true;
}

/* ---- the row ---- */

static bool look_row_take(void *arg, const struct cell *cells, struct err *err)
{
    struct looking *l = arg;
    struct buf text = BUF_INIT(MARIADB_SQL_MOST);

    (void)err;
    mariadb_put_key_text(&text, l->fit);
    l->has_row = true;
    l->is_same = str_eq(cells[0].s, buf_view(&text));
    l->look->epoch = str_of(arena_printf(l->arena, "%.*s/%lld", STR_ARG(str_first(cells[1].s, 64)),
                                         (long long)cells[2].i));
    l->look->identity = arena_copy(l->arena, str_first(cells[3].s, 64));
    l->look->pruned = cells[4].i;
    l->look->now_us = cells[5].i;
    buf_done(&text);
    return true;
}

/* A table of ours that is not there is no failure: *ret false. */
static bool look_exists(struct looking *l, bool ok, bool *ret, struct err *why, struct err *err)
{
    *ret = ok;
    l->earlier = l->earlier || (!ok && why->sys == ER_BAD_FIELD_ERROR);
    if (ok || why->sys == ER_NO_SUCH_TABLE || why->sys == ER_BAD_FIELD_ERROR)
        return true;
    *err = *why;
    return false;
}

static bool look_at_row(struct database *d, struct looking *l, struct err *err)
{
    static const enum mariadb_kind kinds[] = { MARIADB_BYTES, MARIADB_BYTES, MARIADB_INT,
                                               MARIADB_BYTES, MARIADB_INT,   MARIADB_INT };
    const struct cell name = mariadb_bytes(l->fit->shape->name);
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    struct err why = { 0 };
    bool there;

    buf_puts(&sql,
             "SELECT key_columns, epoch, @@server_id, identity, pruned, " MARIADB_NOW " FROM ");
    mariadb_put_ours(&sql, l->fit->shape->schema, "waybill_capture");
    buf_puts(&sql, " WHERE name = ?");
    const struct mariadb_ask ask = { .sql = buf_view(&sql),
                                     .params = &name,
                                     .param_count = 1,
                                     .kinds = kinds,
                                     .column_count = 6,
                                     .fn = look_row_take,
                                     .arg = l };
    bool ok = look_exists(l, mariadb_ask(d, &ask, &why), &there, &why, err);

    buf_done(&sql);
    return ok;
}

static bool look_nothing(void *arg, const struct cell *cells, struct err *err)
{
    (void)arg;
    (void)cells;
    (void)err;
    return true;
}

static bool look_at_journal(struct database *d, struct looking *l, bool *ret, struct err *err)
{
    enum mariadb_kind kinds[SHAPE_KEY_MOST + 5];
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    size_t n = l->fit->key_count;
    struct err why = { 0 };

    buf_puts(&sql, "SELECT ");
    for (size_t i = 0; i < n; i++) {
        buf_printf(&sql, "k%zu, ", i + 1);
        kinds[i] = mariadb_kind_of(l->fit, i);
    }
    kinds[n] = kinds[n + 1] = kinds[n + 3] = kinds[n + 4] = MARIADB_INT;
    kinds[n + 2] = MARIADB_BYTES;
    buf_puts(&sql, "x, gone, origin, at_us, gone_at FROM ");
    mariadb_put_journal(&sql, l->fit->shape);
    buf_puts(&sql, " LIMIT 0");
    const struct mariadb_ask ask = {
        .sql = buf_view(&sql), .kinds = kinds, .column_count = n + 5, .fn = look_nothing
    };
    bool ok = look_exists(l, mariadb_ask(d, &ask, &why), ret, &why, err);

    buf_done(&sql);
    return ok;
}

/* ---- the triggers ---- */

static bool look_trigger_take(void *arg, const struct cell *cells, struct err *err)
{
    struct looking *l = arg;

    (void)err;
    l->cascades = cells[4].i != 0;
    for (size_t i = 0; i < MARIADB_TRIGGERS; i++) {
        struct buf body = BUF_INIT(MARIADB_SQL_MOST);

        if (!str_eq(cells[0].s, l->names[i]))
            continue;
        mariadb_put_trigger_body(&body, l->fit, i, l->append);
        l->there[i] = true;
        l->whole[i] = str_is(cells[1].s, mariadb_events[i]) && str_is(cells[2].s, "AFTER") &&
                      str_eq(str_trim(cells[3].s), buf_view(&body));
        buf_done(&body);
    }
    return true;
}

static bool look_at_triggers(struct database *d, struct looking *l, struct err *err)
{
    static const enum mariadb_kind kinds[] = { MARIADB_TEXT, MARIADB_TEXT, MARIADB_TEXT,
                                               MARIADB_TEXT, MARIADB_INT };
    const struct cell schema = mariadb_text(l->fit->shape->schema),
                      name = mariadb_text(l->fit->shape->name);
    const struct cell params[] = { schema, name, schema, name, name };
    const struct mariadb_ask ask = {
        .sql = STR("SELECT TRIGGER_NAME, EVENT_MANIPULATION, ACTION_TIMING, ACTION_STATEMENT,"
                   " EXISTS (SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS"
                   " WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?"
                   " AND (UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION')"
                   " OR DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION')))"
                   " FROM information_schema.TRIGGERS"
                   " WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ?"
                   " AND BINARY EVENT_OBJECT_TABLE = ?"),
        .params = params,
        .param_count = 5,
        .kinds = kinds,
        .column_count = 5,
        .fn = look_trigger_take,
        .arg = l
    };

    for (size_t i = 0; i < MARIADB_TRIGGERS; i++)
        l->names[i] = mariadb_trigger_name(l->fit, i, l->arena);
    return mariadb_ask(d, &ask, err);
}

static void look_judge(struct looking *l, bool journal)
{
    char why[200];

    if (l->has_row && !l->is_same) {
        (void)look_say(l, CAPTURE_IS_OTHER, "the journal was installed for another key");
        return;
    }
    if (l->earlier) {
        (void)look_say(
            l, CAPTURE_IS_OTHER,
            "the journal was installed by an earlier build, without the time of changes");
        return;
    }
    if (!l->has_row || !journal) {
        (void)look_say(l, CAPTURE_IS_MISSING,
                       !l->has_row ? "the journal is not installed" : "the journal is gone");
        return;
    }
    if (l->cascades) {
        (void)look_say(l, CAPTURE_IS_OTHER,
                       "a foreign key of the table has CASCADE or SET NULL since, which runs no "
                       "triggers");
        return;
    }
    if (l->there[0] && (l->append ? l->there[1] || l->there[2] : !l->there[1] && !l->there[2])) {
        (void)snprintf(why, sizeof why, "the journal was installed for `capture: %s`",
                       l->append ? "journal" : "append");
        (void)look_say(l, CAPTURE_IS_OTHER, why);
        return;
    }
    for (size_t i = 0; i < (l->append ? 1 : MARIADB_TRIGGERS); i++)
        if (!l->there[i] || !l->whole[i]) {
            (void)snprintf(why, sizeof why, "the trigger %.*s %s",
                           STR_ARG(str_first(l->names[i], 100)),
                           l->there[i] ? "is not the one that was installed" : "is missing");
            (void)look_say(l, CAPTURE_IS_MISSING, why);
            return;
        }
}

/* ---- life ---- */

static bool look_life_take(void *arg, const struct cell *cells, struct err *err)
{
    struct looking *l = arg;

    (void)err;
    l->look->life = str_of(arena_printf(l->arena, "%lld", (long long)cells[0].i));
    return true;
}

static bool look_at_life(struct database *d, struct looking *l, struct err *err)
{
    static const enum mariadb_kind kind = MARIADB_INT;
    const struct cell params[] = { mariadb_text(l->fit->shape->schema),
                                   mariadb_text(l->fit->shape->name) };
    const struct mariadb_ask ask = {
        .sql = STR("SELECT COALESCE(MAX(TABLE_ID), 0) FROM information_schema.INNODB_SYS_TABLES"
                   " WHERE BINARY SUBSTRING_INDEX(NAME, '#P#', 1) = CONCAT("
                   "CAST(CONVERT(? USING filename) AS BINARY), '/',"
                   " CAST(CONVERT(? USING filename) AS BINARY))"),
        .params = params,
        .param_count = 2,
        .kinds = &kind,
        .column_count = 1,
        .fn = look_life_take,
        .arg = l
    };

    if (mariadb_ask(d, &ask, err))
        return true;
    if (err->sys == ER_SPECIFIC_ACCESS_DENIED_ERROR)
        return err_set(err, ERR_CONFIG, ER_SPECIFIC_ACCESS_DENIED_ERROR,
                       "which transactions are open is shown to those with a right that this "
                       "account has not: GRANT PROCESS ON *.* TO it");
    return false;
}

static bool look_epoch_take(void *arg, const struct cell *cells, struct err *err)
{
    struct looking *l = arg;

    (void)err;
    l->look->epoch = str_of(arena_printf(l->arena, "%lld", (long long)cells[0].i));
    return true;
}

static bool look_at_column(struct database *d, struct looking *l, struct err *err)
{
    static const enum mariadb_kind kind = MARIADB_INT;
    const struct mariadb_ask ask = { .sql = STR("SELECT @@server_id"),
                                     .kinds = &kind,
                                     .column_count = 1,
                                     .fn = look_epoch_take,
                                     .arg = l };
    struct err why = { 0 };

    if (!mariadb_ask(d, &ask, err))
        return false;
    if (!look_at_life(d, l, &why) && why.kind != ERR_CONFIG) {
        *err = why;
        return false;
    }
    return true;
}

bool mariadb_look(struct database *d, const struct fit *fit, const struct capture *capture,
                  struct arena *a, struct capture_look *ret, struct err *err)
{
    struct looking l = { .fit = fit, .arena = a, .append = capture->append, .look = ret };
    bool journal;

    *ret = (struct capture_look){
        .state = CAPTURE_IS_FINE, .epoch = STR(""), .life = STR(""), .identity = STR("")
    };
    if (capture->kind == CAPTURE_COLUMN)
        return look_at_column(d, &l, err);
    if (!look_at_life(d, &l, err) || !look_at_row(d, &l, err) ||
        !look_at_journal(d, &l, &journal, err) || !look_at_triggers(d, &l, err))
        return false;
    look_judge(&l, journal);
    if (l.append) /* what was emptied stays as it is */
        ret->life = STR("");
    return true;
}
