/* verify_scene.h - two tables in memory, as a driver sees them, and a store of passes: for tests of
 * verification.
 *
 * A table has a column `id` (int, the key) and a column `v` (text).  Its journal has the newest
 * change of each key.  `scene_follow` does what replication does.  `before_read` is called before
 * each transaction that reads, so that a test can change rows at any moment.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/call.h"
#include "link/verifying.h"
#include "store/replica/replica_order.h"
#include "table/key.h"

enum { FAKE_ROWS = 8000, FAKE_TEXT = 24, FAKE_FINDINGS = 20000, FAKE_PASSES = 8 };

struct fake_row {
    int64_t id, x; /* x 0: not in the journal */
    bool there, refused;
    char v[FAKE_TEXT];
};

/* Rows by id, 1 to FAKE_ROWS - 1. */
struct database {
    struct fake_row rows[FAKE_ROWS], kept[FAKE_ROWS], saved[FAKE_ROWS];
    int64_t x;
    bool has_mark;
    struct mark mark, mark_kept;
    char mark_key[64], mark_key_kept[64];
    bool is_source, fails, writes;
    int reads, written;
};

static struct database fake_source, fake_dest;
static struct str fake_epoch; /* of the source */
static void (*before_read)(struct database *d);

/* ---- what programs do ---- */

static void fake_set(struct database *d, int64_t id, const char *v)
{
    struct fake_row *r = &d->rows[id];

    r->there = v != NULL;
    (void)snprintf(r->v, sizeof r->v, "%s", v != NULL ? v : "");
    if (d->is_source)
        r->x = ++d->x;
}

/* Without anybody seeing it. */
static void fake_plant(struct database *d, int64_t id, const char *v)
{
    int64_t x = d->rows[id].x;

    fake_set(d, id, v);
    d->rows[id].x = x;
}

static struct str fake_key(int64_t id, char to[static 64])
{
    AUTO(buf_done) struct buf b = BUF_INIT(64);
    const struct cell cell = { .type = CELL_INT, .i = id };
    struct err err;

    if (!key_put(&b, &cell, 1, &err))
        abort();
    memcpy(to, b.ptr, b.len);
    return str_mem(to, b.len);
}

static void scene_follow(void)
{
    struct mark *m = &fake_dest.mark;
    int64_t from = m->place.x;

    for (int64_t id = 1; id < FAKE_ROWS; id++) {
        const struct fake_row *r = &fake_source.rows[id];

        if (r->x <= from)
            continue;
        fake_plant(&fake_dest, id, r->there ? r->v : NULL);
        if (r->x > m->place.x) {
            m->place.x = r->x;
            m->place.key = fake_key(id, fake_dest.mark_key);
        }
        m->batches++;
    }
}

/* ---- the driver ---- */

static bool fake_open(const struct database_address *address, struct database **ret,
                      struct err *err)
{
    (void)err;
    *ret = str_is(address->name, "source") ? &fake_source : &fake_dest;
    return true;
}

static void fake_close(struct database *d)
{
    (void)d;
}

static bool fake_broken(const struct database *d)
{
    (void)d;
    return false;
}

static bool fake_describe(struct database *d, struct str table, struct arena *a, struct shape **ret,
                          struct err *err)
{
    struct shape *s = ARENA_NEW(a, struct shape);

    (void)d, (void)err;
    *s = (struct shape){ .schema = STR(""), .name = table, .quoted = table, .count = 2 };
    s->key_count = 1;
    s->columns = ARENA_ARRAY(a, struct shape_column, 2);
    s->columns[0] = (struct shape_column){
        .name = STR("id"), .native = STR("int"), .natural = CELL_INT, .key_place = 1
    };
    s->columns[1] = (struct shape_column){ .name = STR("v"),
                                           .native = STR("text"),
                                           .natural = CELL_TEXT,
                                           .nullable = true,
                                           .bytewise = true };
    *ret = s;
    return true;
}

static bool fake_begin(struct database *d, enum database_mode mode, struct err *err)
{
    if (d->fails)
        return err_set(err, ERR_TRANSIENT, 0, "it does not answer");
    d->writes = mode == DATABASE_WRITE;
    if (!d->writes) {
        d->reads++;
        if (before_read != NULL)
            before_read(d);
        return true;
    }
    memcpy(d->kept, d->rows, sizeof d->rows);
    d->mark_kept = d->mark;
    memcpy(d->mark_key_kept, d->mark_key, sizeof d->mark_key);
    return true;
}

static bool fake_commit(struct database *d, struct err *err)
{
    (void)err;
    d->writes = false;
    return true;
}

static void fake_rollback(struct database *d)
{
    if (!d->writes)
        return;
    memcpy(d->rows, d->kept, sizeof d->rows);
    d->mark = d->mark_kept;
    memcpy(d->mark_key, d->mark_key_kept, sizeof d->mark_key);
    d->writes = false;
}

static bool fake_save(struct database *d, struct err *err)
{
    (void)err;
    memcpy(d->saved, d->rows, sizeof d->rows);
    return true;
}

static bool fake_back(struct database *d, struct err *err)
{
    (void)err;
    memcpy(d->rows, d->saved, sizeof d->rows);
    return true;
}

static bool fake_look(struct database *d, const struct fit *fit, const struct capture *capture,
                      struct arena *a, struct capture_look *ret, struct err *err)
{
    (void)d, (void)fit, (void)capture, (void)a, (void)err;
    *ret = (struct capture_look){ .state = CAPTURE_IS_FINE, .epoch = fake_epoch, .life = STR("l") };
    return true;
}

static bool fake_ceiling(struct database *d, const struct fit *fit, const struct capture *capture,
                         struct ceiling *ret, struct err *err)
{
    (void)fit, (void)capture;
    if (d->fails)
        return err_set(err, ERR_TRANSIENT, 0, "it does not answer");
    *ret = (struct ceiling){ .below = d->x + 1, .now_x = d->x + 1 };
    return true;
}

static bool fake_changes_of(struct database *d, const struct fit *fit, const struct cell *keys,
                            size_t count, change_fn *fn, void *arg, struct err *err)
{
    (void)fit;
    for (size_t i = 0; i < count; i++) {
        const struct change c = { .x = d->rows[keys[i].i].x, .origin = STR(""), .cells = &keys[i] };

        if (c.x != 0 && !fn(arg, &c, err))
            return err->kind == ERR_NONE;
    }
    return true;
}

/* The row with the next change; NULL: there is none. */
static const struct fake_row *fake_next(const struct database *d, int64_t from, int64_t below)
{
    const struct fake_row *next = NULL;

    for (int64_t id = 1; id < FAKE_ROWS; id++) {
        const struct fake_row *r = &d->rows[id];

        if (r->x != 0 && r->x >= from && r->x < below && (next == NULL || r->x < next->x))
            next = r;
    }
    return next;
}

/* Each change has an x of its own. */
static bool fake_changes(struct database *d, const struct fit *fit, const struct capture *capture,
                         const struct change_place *after, int64_t below, size_t most,
                         change_fn *fn, void *arg, struct err *err)
{
    int64_t from = after->key.len > 0 ? after->x + 1 : after->x;
    const struct fake_row *r;

    (void)fit, (void)capture;
    for (; most > 0 && (r = fake_next(d, from, below)) != NULL; most--, from = r->x + 1) {
        const struct cell cells[] = { { .type = CELL_INT, .i = r->id },
                                      { .type = CELL_TEXT, .s = str_of(r->v) } };
        const struct change c = { .x = r->x, .gone = !r->there, .origin = STR(""), .cells = cells };

        if (!fn(arg, &c, err))
            return err->kind == ERR_NONE;
    }
    return true;
}

static bool fake_row(const struct fake_row *r, row_fn *fn, void *arg, struct err *err)
{
    const struct cell cells[] = { { .type = CELL_INT, .i = r->id },
                                  { .type = CELL_TEXT, .s = str_of(r->v) } };

    return fn(arg, cells, err);
}

static bool fake_rows(struct database *d, const struct fit *fit, const struct cell *after,
                      const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err)
{
    int64_t id = after != NULL ? after->i + 1 : 1, last = upto != NULL ? upto->i : FAKE_ROWS - 1;

    (void)fit;
    for (; id <= last && most > 0; id++)
        if (d->rows[id].there) {
            most--;
            if (!fake_row(&d->rows[id], fn, arg, err))
                return err->kind == ERR_NONE;
        }
    return true;
}

static bool fake_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                         size_t count, row_fn *fn, void *arg, struct err *err)
{
    (void)fit;
    for (size_t i = count; i-- > 0;)
        if (d->rows[keys[i].i].there && !fake_row(&d->rows[keys[i].i], fn, arg, err))
            return err->kind == ERR_NONE;
    return true;
}

static bool fake_count(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    (void)fit, (void)err;
    *ret = 0;
    for (size_t i = 0; i < FAKE_ROWS; i++)
        *ret += d->rows[i].there;
    return true;
}

static bool fake_mark_get(struct database *d, struct str link, struct str table, struct arena *a,
                          bool *ret_has, struct mark *ret, struct err *err)
{
    (void)link, (void)table, (void)err;
    *ret_has = d->has_mark;
    *ret = d->mark;
    ret->place.key = arena_copy(a, ret->place.key);
    return true;
}

static bool fake_mark_put(struct database *d, struct str link, struct str table,
                          const struct mark *mark, struct err *err)
{
    (void)link, (void)table, (void)err;
    d->mark = *mark;
    memmove(d->mark_key, mark->place.key.ptr, mark->place.key.len);
    d->mark.place.key = str_mem(d->mark_key, mark->place.key.len);
    d->mark.epoch = STR("e");
    d->mark.life = STR("l");
    d->mark.load_key = STR("");
    return true;
}

static bool fake_origin(struct database *d, struct str origin, int64_t at_us, struct err *err)
{
    (void)d, (void)origin, (void)at_us, (void)err;
    return true;
}

static bool fake_upsert(struct database *d, const struct fit *fit, const struct cell *rows,
                        size_t count, struct err *err)
{
    (void)fit;
    for (size_t i = 0; i < count; i++) {
        const struct cell *c = &rows[2 * i];
        struct fake_row *r = &d->rows[c[0].i];

        if (r->refused)
            return err_set(err, ERR_PERMANENT, 0, "a check refuses it");
        r->there = true;
        (void)snprintf(r->v, sizeof r->v, "%.*s", STR_ARG(c[1].s));
        d->written++;
    }
    return true;
}

static bool fake_remove(struct database *d, const struct fit *fit, const struct cell *keys,
                        size_t count, int64_t *ret_removed, struct err *err)
{
    (void)fit, (void)err;
    *ret_removed = 0;
    for (size_t i = 0; i < count; i++) {
        *ret_removed += d->rows[keys[i].i].there;
        d->rows[keys[i].i].there = false;
        d->written++;
    }
    return true;
}

static bool fake_pruned(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    (void)d, (void)fit, (void)err;
    *ret = 0;
    return true;
}

static void fake_lend(struct database *d, struct call *call)
{
    (void)d;
    (void)call;
}

static const struct database_type fake_type = {
    .kind = { .name = "fake", .help = "rows in memory" },
    .open = fake_open,
    .close = fake_close,
    .broken = fake_broken,
    .lend = fake_lend,
    .describe = fake_describe,
    .begin = fake_begin,
    .commit = fake_commit,
    .rollback = fake_rollback,
    .save = fake_save,
    .back = fake_back,
    .look = fake_look,
    .ceiling = fake_ceiling,
    .changes = fake_changes,
    .changes_of = fake_changes_of,
    .pruned = fake_pruned,
    .rows = fake_rows,
    .rows_of = fake_rows_of,
    .count = fake_count,
    .mark_get = fake_mark_get,
    .mark_put = fake_mark_put,
    .origin = fake_origin,
    .upsert = fake_upsert,
    .remove = fake_remove,
};

/* ---- the store ---- */

struct fake_finding {
    struct finding f;
    char key[64], source[32], dest[32];
};

struct store {
    struct pass passes[FAKE_PASSES];
    char next[FAKE_PASSES][64], message[FAKE_PASSES][VERIFY_MESSAGE_MOST + 1];
    size_t pass_count;
    struct fake_finding findings[FAKE_FINDINGS]; /* in order of keys; of all passes */
    size_t finding_count;
    bool has_order;
    struct replica_order order;
};

static struct store fake_store;

static struct str fake_hold(char *to, struct str s)
{
    memcpy(to, s.ptr, s.len);
    return str_mem(to, s.len);
}

static void fake_put_finding(struct store *s, const struct finding *f)
{
    size_t at = 0;

    while (at < s->finding_count &&
           (s->findings[at].f.pass < f->pass ||
            (s->findings[at].f.pass == f->pass && str_cmp(s->findings[at].f.key, f->key) < 0)))
        at++;
    bool same = at < s->finding_count && s->findings[at].f.pass == f->pass &&
                str_eq(s->findings[at].f.key, f->key);

    if (f->state == FINDING_GONE) { /* such a row is not kept */
        if (same)
            memmove(&s->findings[at], &s->findings[at + 1],
                    (--s->finding_count - at) * sizeof s->findings[0]);
    } else if (!same) {
        if (s->finding_count == FAKE_FINDINGS)
            abort();
        memmove(&s->findings[at + 1], &s->findings[at],
                (s->finding_count++ - at) * sizeof s->findings[0]);
    }
    if (f->state != FINDING_GONE) {
        s->findings[at].f = *f;
        (void)fake_hold(s->findings[at].key, f->key);
        (void)fake_hold(s->findings[at].source, f->hash_source);
        (void)fake_hold(s->findings[at].dest, f->hash_dest);
    }
    for (size_t i = 0; i < s->finding_count; i++) { /* they may have moved */
        struct fake_finding *n = &s->findings[i];

        n->f.key.ptr = n->key;
        n->f.hash_source.ptr = n->source;
        n->f.hash_dest.ptr = n->dest;
    }
}

bool pass_save(struct store *s, struct pass *p, const struct finding *findings, size_t count,
               bool *ret_lost, struct err *err)
{
    (void)err;
    *ret_lost = false;
    if (p->id == 0)
        p->id = (int64_t)++s->pass_count;
    struct pass *to = &s->passes[p->id - 1];

    *ret_lost = to->id != 0 && to->result != PASS_RUNNING;
    if (*ret_lost)
        return true;
    *to = *p;
    to->next = fake_hold(s->next[p->id - 1], p->next);
    to->message = fake_hold(s->message[p->id - 1], p->message);
    for (size_t i = 0; i < count; i++) {
        struct finding f = findings[i];

        f.pass = p->id;
        fake_put_finding(s, &f);
    }
    return true;
}

bool pass_find(struct store *s, int64_t id, struct arena *a, bool *ret_has, struct pass *ret,
               struct err *err)
{
    (void)a, (void)err;
    *ret_has = id > 0 && id <= (int64_t)s->pass_count;
    if (*ret_has)
        *ret = s->passes[id - 1];
    return true;
}

bool pass_list(struct store *s, struct str link, struct str table, struct str rule, int64_t before,
               size_t most, struct arena *a, struct pass *ret, size_t *ret_count, struct err *err)
{
    (void)link, (void)table, (void)rule, (void)before, (void)most, (void)a, (void)err;
    *ret_count = s->pass_count > 0;
    if (*ret_count > 0)
        *ret = s->passes[s->pass_count - 1];
    return true;
}

bool pass_findings(struct store *s, int64_t pass, enum finding_state state, struct str after,
                   size_t most, struct arena *a, struct finding *ret, size_t *ret_count,
                   struct err *err)
{
    (void)err;
    *ret_count = 0;
    for (size_t i = 0; i < s->finding_count && *ret_count < most; i++) {
        const struct finding *f = &s->findings[i].f;

        if (f->pass != pass || (state != FINDING_STATES && f->state != state) ||
            str_cmp(f->key, after) <= 0)
            continue;
        ret[*ret_count] = *f;
        ret[*ret_count].key = arena_copy(a, f->key);
        ret[*ret_count].hash_source = arena_copy(a, f->hash_source);
        ret[(*ret_count)++].hash_dest = arena_copy(a, f->hash_dest);
    }
    return true;
}

bool replica_order_get(struct store *s, enum replica_wish wish, struct str link, struct str table,
                       struct arena *a, bool *ret_has, struct replica_order *ret, struct err *err)
{
    (void)wish, (void)link, (void)table, (void)a, (void)err;
    *ret_has = s->has_order;
    *ret = s->order;
    return true;
}

bool replica_order_drop(struct store *s, int64_t id, struct err *err)
{
    (void)err;
    if (s->order.id == id)
        s->has_order = false;
    return true;
}

/* ---- a scene ---- */

struct scene {
    struct link_spec spec;
    struct link_kept kept;
    struct link_verify rule;
    struct link_state follower;
    int64_t now_us, segment_rows;
    char state[4096];
    struct verified done; /* of the last run, without its texts */
    char message[VERIFY_MESSAGE_MOST + 1];
    int runs;
};

/* Even ids up to 2 * rows, the same on both sides. */
static void scene_begin(struct scene *s, int64_t rows)
{
    struct database *both[] = { &fake_source, &fake_dest };

    memset(&fake_source, 0, sizeof fake_source);
    memset(&fake_dest, 0, sizeof fake_dest);
    memset(&fake_store, 0, sizeof fake_store);
    before_read = NULL;
    fake_epoch = STR("e");
    fake_source.is_source = true;
    for (int64_t id = 1; id < FAKE_ROWS; id++)
        for (size_t i = 0; i < 2; i++) {
            char v[FAKE_TEXT];

            both[i]->rows[id].id = id;
            (void)snprintf(v, sizeof v, "row %d", (int)(id % FAKE_ROWS));
            if (id % 2 == 0 && id <= 2 * rows)
                fake_plant(both[i], id, v);
        }
    fake_source.x = 1000;
    fake_dest.has_mark = true;
    fake_dest.mark = (struct mark){ .phase = MARK_FOLLOW,
                                    .epoch = STR("e"),
                                    .life = STR("l"),
                                    .place = { .x = 1000, .key = STR("") },
                                    .load_key = STR("") };
    *s = (struct scene){
        .spec = { .link = STR("l"),
                  .table = STR("t"),
                  .source = { .type = &fake_type, .table = STR("t") },
                  .dest = { .type = &fake_type, .table = STR("t") },
                  .deletes_most = 100,
                  .batch_bytes = 4096 },
        .rule = { .mode = LINK_VERIFY_FULL, .most = 500, .every_us = CLOCK_S, .share = 500 },
        .follower = { .stands = LINK_CURRENT },
        .now_us = 1000 * (int64_t)CLOCK_S,
        .segment_rows = 1000
    };
    s->spec.source.address.name = STR("source");
    s->spec.dest.address.name = STR("dest");
    link_kept_init(&s->kept);
}

static void scene_end(struct scene *s)
{
    link_kept_done(&s->kept);
}

/* One step: the node is told to stop at once.  The state goes through its text. */
static bool scene_step(struct scene *s, struct err *err)
{
    static const _Atomic bool stop = true;
    struct call call = { .stop = &stop };
    AUTO(arena_done) struct arena arena = ARENA_INIT(64 << 20);
    AUTO(buf_done) struct buf text = BUF_INIT(sizeof s->state);
    struct verify_state state;

    if (!verify_state_read(str_of(s->state), &state, err))
        return false;
    const struct verifying v = { .spec = &s->spec,
                                 .kept = &s->kept,
                                 .store = &fake_store,
                                 .call = &call,
                                 .arena = &arena,
                                 .rule_name = STR("l/t/verify"),
                                 .rule = &s->rule,
                                 .follower = &s->follower,
                                 .segment_rows = s->segment_rows,
                                 .now_us = s->now_us };

    s->runs++;
    s->now_us += CLOCK_S;
    if (!verifying_run(&v, &state, &s->done, err))
        return false;
    (void)snprintf(s->message, sizeof s->message, "%s", s->done.message);
    verify_state_write(&state, &text);
    (void)snprintf(s->state, sizeof s->state, "%.*s", STR_ARG(buf_view(&text)));
    return true;
}

/* To the end of a pass. */
static bool scene_pass(struct scene *s)
{
    struct err err = { 0 };

    s->runs = 0;
    do
        if (!scene_step(s, &err)) {
            printf("# %s\n", err.text);
            return false;
        }
    while (s->done.more && s->runs < 3000);
    return s->done.ended;
}

/* Whether the row with this id was found so. */
static bool scene_found(int64_t id, enum finding_kind kind, enum finding_state state)
{
    char bytes[64];
    struct str key = fake_key(id, bytes);

    for (size_t i = 0; i < fake_store.finding_count; i++) {
        const struct finding *f = &fake_store.findings[i].f;

        if (f->pass == (int64_t)fake_store.pass_count && str_eq(f->key, key))
            return f->kind == kind && f->state == state;
    }
    return false;
}

static bool scene_sides_same(void)
{
    for (size_t i = 0; i < FAKE_ROWS; i++)
        if (fake_source.rows[i].there != fake_dest.rows[i].there ||
            (fake_source.rows[i].there && strcmp(fake_source.rows[i].v, fake_dest.rows[i].v) != 0))
            return false;
    return true;
}
