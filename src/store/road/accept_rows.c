#include "store/road/accept_rows.h"

#include "base/arena.h"
#include "base/clock.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload.h"
#include "store/payload/payload_days.h"
#include "store/road/claims.h"
#include "store/road/lease_rows.h"
#include "store/road/order.h"
#include "store/segment/record.h"

/* What the document is taken in again by, if the database loses this commit (store/recover.h). */
static struct str record_of(struct writer *w, const struct accept_op *a)
{
    struct record r = { .store = w->store->identity,
                        .num = a->num,
                        .commit = w->token,
                        .caller = a->caller,
                        .config = a->config,
                        .received_us = a->received_us,
                        .seq = !order_is_numbered(w->store) ? 0
                               : a->keeps_seq != 0          ? a->keeps_seq
                                                            : a->num,
                        .key_until_us = a->has_key ? clock_wall_us() + a->key_period_us : 0,
                        .key = a->key,
                        .large = a->is_spooled ? a->spooled.pos : 0,
                        .gateway = name_text(w->store, a->gateway),
                        .name = a->name,
                        .ctype = a->ctype,
                        .head = a->head };
    size_t len = record_size(&r);
    char *to = ARENA_ARRAY(w->arena, char, len);

    record_write(&r, to);
    return str_mem(to, len);
}

bool accept_place(struct writer *w, struct accept_op *a, struct err *err)
{
    struct payload_ref noted;
    struct segment_payload p = { .id = a->id, .sha256 = a->sha256 };

    if (a->is_spooled)
        a->place = a->spooled;
    else
        a->place = (struct payload_ref){ .seg = PAYLOAD_IN_TABLE, .pos = payload_day(w->store) };
    if (w->segments == NULL)
        return true;
    if (a->is_child && a->is_spooled)
        return true;
    if (!a->is_child)
        p.record = record_of(w, a);
    if (a->is_spooled) {
        p.elsewhere = a->size;
        return segments_add(w->segments, &p, &noted, err);
    }
    p.bytes = a->body;
    return segments_add(w->segments, &p, &a->place, err);
}

void accept_doc_row(struct db_value *v, const struct accept_op *a)
{
    v[0] = db_int(a->num);
    v[1] = db_bytes(str_mem(a->id.bytes, sizeof a->id.bytes));
    v[2] = db_int(a->gateway);
    v[3] = db_int(a->caller);
    v[4] = db_int(a->config);
    v[5] = db_int(a->received_us);
    v[6] = db_int(a->size);
    v[7] = db_bytes(str_mem(a->sha256.bytes, SHA256_SIZE));
    v[8] = db_int(a->place.seg);
    v[9] = db_int(a->place.pos);
    v[10] = db_text_or_null(a->name);
    v[11] = db_text_or_null(a->ctype);
    v[12] = db_bytes_or_null(a->head);
}

bool accept_add_payloads(struct writer *w, struct accept_op **fresh, size_t count, struct err *err)
{
    enum { PAYLOAD = 2 };
    struct db_value *payloads = ARENA_ARRAY(w->arena, struct db_value, count * PAYLOAD);
    size_t n = 0;
    int64_t day = 0;

    for (size_t i = 0; i < count; i++) {
        if (fresh[i]->place.seg != PAYLOAD_IN_TABLE)
            continue;
        if (n > 0 && fresh[i]->place.pos != day) { /* midnight */
            if (!db_batch(w->db, SQL_PAYLOAD_ADD, day, payloads, PAYLOAD, n, err))
                return false;
            n = 0;
        }
        day = fresh[i]->place.pos;
        payloads[n * PAYLOAD] = db_int(fresh[i]->num);
        payloads[n++ * PAYLOAD + 1] = db_bytes(fresh[i]->body);
    }
    return n == 0 || db_batch(w->db, SQL_PAYLOAD_ADD, day, payloads, PAYLOAD, n, err);
}

bool accept_add_tasks(struct writer *w, struct accept_op **fresh, size_t count, struct err *err)
{
    enum { READY = 5 };
    struct db_value *ready = ARENA_ARRAY(w->arena, struct db_value, count * READY);
    struct lease_rows leases = lease_begin(w, count);
    size_t ready_count = 0;

    for (size_t i = 0; i < count; i++) {
        struct accept_op *a = fresh[i];
        struct task *t = &a->task;

        *t = (struct task){ .id = a->num,
                            .queue = QUEUE_INTAKE,
                            .prio = PRIO_NORMAL,
                            .rank = a->received_us,
                            .kind = TASK_RUN,
                            .attempts = 1 };
        if (a->claim_wanted && w->db->kind == DB_POSTGRESQL) {
            if (!lease_put(w, &leases, t, err))
                return false;
            a->claimed = true;
            continue;
        }
        struct db_value *v = ready + ready_count++ * READY;

        if (w->store->claims != NULL) /* received_us may lie before the cursor */
            claims_put_at(w->store->claims, QUEUE_INTAKE,
                          (struct claim_place){ PRIO_NORMAL, a->received_us, a->num });
        v[0] = db_int(QUEUE_INTAKE);
        v[1] = db_int(PRIO_NORMAL);
        v[2] = db_int(a->received_us);
        v[3] = db_int(a->num);
        v[4] = db_int(TASK_RUN);
    }
    return db_batch(w->db, SQL_TASK_READY_ADD, DB_NO_SLOT, ready, READY, ready_count, err) &&
           lease_write(w, &leases, err);
}

bool accept_claim(struct writer *w, struct task *t)
{
    bool ok = claims_take(w->store->claims, t, task_lease_us());

    t->until_us = clock_wall_us() + task_lease_us();
    return ok;
}

bool accept_count(struct writer *w, struct accept_op **fresh, size_t count, struct err *err)
{
    enum { COLUMNS = 5, KINDS = 32 };
    struct db_value rows[KINDS * COLUMNS];
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        while (at < n && rows[at * COLUMNS + 3].i != fresh[i]->gateway)
            at++;
        if (at == KINDS) { /* full: write what was counted so far */
            if (!db_batch(w->db, SQL_TALLY_ADD, DB_NO_SLOT, rows, COLUMNS, n, err))
                return false;
            at = n = 0;
        }
        struct db_value *v = rows + at * COLUMNS;

        if (at == n) {
            n++;
            v[0] = db_int(store_node(w->store));
            v[1] = db_int(w->number);
            v[2] = db_int(TALLY_ACCEPTED);
            v[3] = db_int(fresh[i]->gateway);
            v[4] = db_int(0);
        }
        v[4].i++;
    }
    return db_batch(w->db, SQL_TALLY_ADD, DB_NO_SLOT, rows, COLUMNS, n, err);
}

/* A large payload is on stable storage already; this commit makes it the document's. */
static bool accept_adopt(struct writer *w, const struct accept_op *a, struct err *err)
{
    if (a->place.seg == PAYLOAD_IN_FILE)
        return db_send(w->db, SQL_LARGE_ADD, DB_ARGS(db_int(a->place.pos), db_int(a->num)), err);
    if (a->place.seg == PAYLOAD_IN_PIECES)
        return db_send(w->db, SQL_UPLOAD_ADOPT, DB_ARGS(db_int(a->place.pos)), err);
    return true;
}

bool accept_adopt_all(struct writer *w, struct accept_op **fresh, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!accept_adopt(w, fresh[i], err))
            return false;
    return true;
}
