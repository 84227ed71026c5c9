#include "store/payload/payload_fetch.h"

#include "base/auto.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum { FETCHES_MOST = 256 };

/* The payloads of one trip: rows of one table. */
struct trip {
    struct payload_fetch *of[FETCHES_MOST];
    struct db_value nums[FETCHES_MOST];
    size_t count;
    int64_t bytes;
};

static bool payload_fetch_found(void *arg, int64_t slot, size_t at, struct db_rows *row,
                                struct err *err)
{
    struct payload_fetch *f = ((struct trip *)arg)->of[at];
    struct str bytes = db_get_str(row, PAYLOAD_FIND_BYTES);
    struct sha256 got = digest_of(bytes);

    (void)slot;
    if ((int64_t)bytes.len != f->source.size || !digest_same(&got, &f->source.sha256))
        return true;
    return buf_append(f->to, bytes, err);
}

static bool go(struct db *db, int64_t slot, struct trip *t, struct err *err)
{
    bool ok =
        db_find(db, SQL_PAYLOAD_FIND, slot, 1, t->nums, 1, t->count, payload_fetch_found, t, err);

    t->count = 0;
    t->bytes = 0;
    return ok;
}

static bool is_small_row(const struct payload_fetch *f)
{
    return f->source.place.seg == PAYLOAD_IN_TABLE && f->source.size > 0 &&
           f->source.size <= PAYLOAD_FETCH_SIZE;
}

/* The rows of one table.  False: the rest is left to payload_open(). */
static bool fetch_table(struct db *db, int64_t slot, struct payload_fetch *fetches, size_t count)
{
    struct trip t = { 0 };
    struct err err = { 0 };

    for (size_t i = 0; i < count; i++) {
        struct payload_fetch *f = &fetches[i];

        if (!is_small_row(f) || f->source.place.pos != slot)
            continue;
        if ((t.count == FETCHES_MOST || t.bytes + f->source.size > PAYLOAD_FETCH_BYTES) &&
            !go(db, slot, &t, &err))
            return false;
        t.of[t.count] = f;
        t.nums[t.count++] = db_int(f->source.num);
        t.bytes += f->source.size;
    }
    return go(db, slot, &t, &err);
}

static bool is_first_of_table(const struct payload_fetch *fetches, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_small_row(&fetches[i]) &&
            fetches[i].source.place.pos == fetches[at].source.place.pos)
            return false;
    return is_small_row(&fetches[at]);
}

void payload_fetch(struct store *s, struct payload_fetch *fetches, size_t count)
{
    struct err err = { 0 };

    if (s->kind != DB_POSTGRESQL)
        return;
    AUTO(reader_back) struct reader r = reader_take(s, &err);
    bool ok = r.db != NULL;

    for (size_t i = 0; ok && i < count; i++)
        if (is_first_of_table(fetches, i))
            ok = fetch_table(r.db, fetches[i].source.place.pos, fetches + i, count - i);
}
