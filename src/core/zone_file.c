/* zone_file.c - reads TZif files (RFC 9636).
 *
 * A file is a header and a block with times of 32 bits, then both again with times of 64 bits, then
 * a rule for the time after the last change.  Numbers are big-endian. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/zone_data.h"

enum { HEADER = 44, TYPE = 6 };

struct counts {
    size_t ut, standard, leaps, times, types, chars;
};

static bool zone_file_damaged(struct err *err)
{
    return err_set(err, ERR_CONFIG, 0, "its file is damaged");
}

static uint32_t number(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t zone_file_time_at(const char *p, bool wide)
{
    if (!wide)
        return (int32_t)number(p);
    return (int64_t)((uint64_t)number(p) << 32 | number(p + 4));
}

/* Cuts off a header and reads its counts. */
static bool take_header(struct str *rest, char *ret_version, struct counts *ret)
{
    if (rest->len < HEADER || !str_starts(*rest, STR("TZif")))
        return false;
    const char *p = rest->ptr + 20;

    *ret_version = rest->ptr[4];
    *ret = (struct counts){ number(p),      number(p + 4),  number(p + 8),
                            number(p + 12), number(p + 16), number(p + 20) };
    *rest = str_from(*rest, HEADER);
    return ret->times <= ZONE_BYTES_MOST && ret->types <= 256 && ret->chars <= ZONE_BYTES_MOST &&
           ret->leaps <= ZONE_BYTES_MOST && ret->standard <= 256 && ret->ut <= 256;
}

static size_t block_size(const struct counts *n, bool wide)
{
    size_t time = wide ? 8 : 4;

    return n->times * (time + 1) + n->types * TYPE + n->chars + n->leaps * (time + 4) +
           n->standard + n->ut;
}

static bool read_changes(const char *block, const struct counts *n, bool wide, struct zone_draft *d,
                         struct err *err)
{
    size_t time = wide ? 8 : 4;
    const char *kinds = block + n->times * time, *types = kinds + n->times;

    for (size_t i = 0; i < n->types; i++) {
        int64_t offset = (int32_t)number(types + i * TYPE);

        if (offset < -ZONE_OFFSET_MOST || offset > ZONE_OFFSET_MOST)
            return zone_file_damaged(err);
    }
    d->first_offset_s = (int32_t)number(types);
    for (size_t i = 0; i < n->times; i++) {
        size_t kind = (unsigned char)kinds[i];

        if (kind >= n->types)
            return zone_file_damaged(err);
        if (!zone_draft_add(d, zone_file_time_at(block + i * time, wide),
                            (int32_t)number(types + kind * TYPE), err))
            return false;
    }
    return true;
}

bool zone_draft_add(struct zone_draft *d, int64_t at_s, int64_t offset_s, struct err *err)
{
    if (at_s < d->last_s || offset_s < -ZONE_OFFSET_MOST || offset_s > ZONE_OFFSET_MOST)
        return zone_file_damaged(err);
    d->last_s = at_s;
    if (d->count > 0 && d->changes[d->count - 1].at_s == at_s)
        d->count--;
    if (offset_s == (d->count > 0 ? d->changes[d->count - 1].offset_s : d->first_offset_s))
        return true;
    if (d->count == d->room)
        return zone_file_damaged(err);
    d->changes[d->count++] = (struct zone_change){ at_s, (int32_t)offset_s };
    return true;
}

/* The rule: the line between two newlines at the end of the file. */
static bool take_rule(struct str rest, struct str *ret)
{
    if (rest.len < 2 || rest.ptr[0] != '\n')
        return false;
    struct str after = str_cut(str_from(rest, 1), '\n', ret);

    return after.len == 0 && rest.ptr[rest.len - 1] == '\n';
}

static const struct zone *zone_file_keep(const struct zone_draft *d, struct arena *a)
{
    struct zone_change *changes = ARENA_ARRAY(a, struct zone_change, d->count);
    struct zone *z = ARENA_NEW(a, struct zone);

    if (d->count > 0)
        memcpy(changes, d->changes, d->count * sizeof changes[0]);
    *z = (struct zone){ d->first_offset_s, d->count, changes };
    return z;
}

bool zone_read(struct str bytes, struct arena *a, const struct zone **ret, struct err *err)
{
    struct str rest = bytes, rule = STR("");
    struct counts n;
    char version;

    if (!take_header(&rest, &version, &n) || rest.len < block_size(&n, false))
        return zone_file_damaged(err);
    bool wide = version >= '2';

    if (wide) {
        rest = str_from(rest, block_size(&n, false));
        if (!take_header(&rest, &version, &n) || rest.len < block_size(&n, true) ||
            !take_rule(str_from(rest, block_size(&n, true)), &rule))
            return zone_file_damaged(err);
    }
    if (n.types == 0)
        return zone_file_damaged(err);
    if (n.leaps > 0)
        return err_set(err, ERR_CONFIG, 0, "its clock counts leap seconds");
    struct zone_draft d = { .room = n.times + ZONE_RULE_CHANGES, .last_s = INT64_MIN };

    d.changes = xcalloc(d.room, sizeof d.changes[0]);
    bool ok = read_changes(rest.ptr, &n, wide, &d, err) && zone_rule_apply(rule, &d, err);

    if (ok)
        *ret = zone_file_keep(&d, a);
    free(d.changes);
    return ok;
}
