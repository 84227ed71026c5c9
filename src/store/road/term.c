#include "store/road/term.h"

#include <stdlib.h>

#include "store/kernel/store_state.h"
#include "store/road/settle.h"

/* PostgreSQL leaves gaps between document numbers, so its slots are wider. */
enum { HASH_BITS = 40, SQLITE_BITS = 17, POSTGRES_BITS = 22, SLOTS_BITS = 63 - HASH_BITS };

static uint64_t add_bytes(uint64_t h, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* FNV-1a with a finalizer, because only the lower bits are used. */
int64_t term_hash(struct str name, struct str value)
{
    uint64_t h = add_bytes(UINT64_C(0xcbf29ce484222325), name);

    h = add_bytes(h * UINT64_C(0x100000001b3), value);
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (int64_t)((h ^ h >> 33) & ((UINT64_C(1) << HASH_BITS) - 1));
}

static int slot_bits(enum db_kind kind)
{
    return kind == DB_SQLITE ? SQLITE_BITS : POSTGRES_BITS;
}

int64_t term_slot(enum db_kind kind, int64_t num)
{
    return num >> slot_bits(kind);
}

int64_t term_slot_first(enum db_kind kind, int64_t slot)
{
    return slot << slot_bits(kind);
}

int64_t term_key(int64_t slot, int64_t hash)
{
    if (slot >= INT64_C(1) << SLOTS_BITS)
        return INT64_MAX;
    return slot << HASH_BITS | hash;
}

int64_t term_key_slot(int64_t key)
{
    return key >> HASH_BITS;
}

size_t term_hashes(struct str facts, struct arena *a, int64_t ret[static TERMS_MOST])
{
    struct facts f = { 0 };
    size_t n = 0;

    if (facts.len == 0 || !facts_read(facts, a, &f))
        return 0;
    if (f.sender_unknown)
        ret[n++] = term_hash(TERM_SENDER, f.sender);
    if (f.receiver_unknown)
        ret[n++] = term_hash(TERM_RECEIVER, f.receiver);
    if (f.type_unknown)
        ret[n++] = term_hash(TERM_TYPE, f.type);
    for (size_t i = 0; i < f.attribute_count; i++)
        ret[n++] = term_hash(f.attributes[i].name, f.attributes[i].value);
    return n;
}

static int term_by_place(const void *a, const void *b)
{
    const struct term *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->num < y->num ? -1 : x->num > y->num;
}

bool terms_add(struct writer *w, struct term *terms, size_t count, struct err *err)
{
    enum { COLUMNS = 2 };
    struct db_value *rows = ARENA_ARRAY(w->arena, struct db_value, count * COLUMNS);
    size_t n = 0;

    if (count == 0)
        return true;
    qsort(terms, count, sizeof *terms, term_by_place);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && term_by_place(&terms[i], &terms[i - 1]) == 0)
            continue;
        rows[n * COLUMNS] = db_int(terms[i].key);
        rows[n++ * COLUMNS + 1] = db_int(terms[i].num);
    }
    return db_batch(w->db, SQL_TERM_ADD, DB_NO_SLOT, rows, COLUMNS, n, err);
}

static bool term_is_wanted(const struct writer *w, const struct settle_op *o)
{
    return o->has_facts && o->facts.len > 0 &&
           (w->db->kind == DB_POSTGRESQL || o->doc <= w->store->indexed);
}

bool terms_found(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    struct term *terms;
    size_t wanted = 0, n = 0;

    for (size_t i = 0; i < count; i++)
        wanted += term_is_wanted(w, ops[i]);
    if (wanted == 0)
        return true;
    terms = ARENA_ARRAY(w->arena, struct term, wanted * TERMS_MOST);
    for (size_t i = 0; i < count; i++) {
        int64_t hashes[TERMS_MOST];
        size_t found = term_is_wanted(w, ops[i]) ? term_hashes(ops[i]->facts, w->arena, hashes) : 0;
        int64_t slot = term_slot(w->db->kind, ops[i]->doc);

        for (size_t k = 0; k < found; k++)
            terms[n++] = (struct term){ term_key(slot, hashes[k]), ops[i]->doc };
    }
    return terms_add(w, terms, n, err);
}

/* Counts characters as PostgreSQL's left() does. */
struct str term_name(struct str name)
{
    size_t characters = 0, i = 0;

    for (; i < name.len; i++)
        if (((unsigned char)name.ptr[i] & 0xc0) != 0x80 && characters++ == TERM_NAME_MOST)
            break;
    return str_mem(name.ptr, i);
}
