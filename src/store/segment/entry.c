#include "store/segment/entry.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC = 0x32504257, MAGIC_FIRST = 0x31504257 };

#define FLAG_COPY (UINT64_C(1) << 48)

void entry_put_u64(char *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof v);
}

uint64_t entry_get_u64(const char *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

uint64_t entry_check(uint64_t h, const char *bytes, size_t len)
{
    char rest[8] = { 0 };
    size_t i;

    for (i = 0; i + 8 <= len; i += 8) {
        h = (h ^ entry_get_u64(bytes + i)) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    if (i == len)
        return h;
    memcpy(rest, bytes + i, len - i);
    h = (h ^ entry_get_u64(rest)) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

static uint64_t header_check(const char *h, size_t len)
{
    return entry_check(UINT64_C(0x9e3779b97f4a7c15), h, len);
}

void entry_make(char h[static ENTRY_HEADER], int64_t seg, int64_t commit,
                const struct segment_payload *p, size_t record_len)
{
    memset(h, 0, ENTRY_HEADER);
    entry_put_u64(h, (uint64_t)MAGIC | (uint64_t)ENTRY_HEADER << 32 |
                         (p->origin.seg != 0 ? FLAG_COPY : 0));
    entry_put_u64(h + 8, (uint64_t)seg);
    entry_put_u64(h + 16, p->bytes.len);
    entry_put_u64(h + 24, p->elsewhere > 0 ? (uint64_t)p->elsewhere : p->bytes.len);
    memcpy(h + 32, p->id.bytes, sizeof p->id.bytes);
    memcpy(h + 48, p->sha256.bytes, sizeof p->sha256.bytes);
    entry_put_u64(h + 80, (uint64_t)record_len << 32);
    entry_put_u64(h + 88, (uint64_t)commit);
    entry_put_u64(h + 96, header_check(h, ENTRY_HEADER - 8));
}

bool entry_parse(const char *h, size_t room, int64_t seg, struct entry_header *ret)
{
    uint64_t first = room >= ENTRY_HEADER_FIRST ? entry_get_u64(h) : 0;
    bool is_first = first == ((uint64_t)MAGIC_FIRST | (uint64_t)ENTRY_HEADER_FIRST << 32);

    if (!is_first && ((first & ~FLAG_COPY) != ((uint64_t)MAGIC | (uint64_t)ENTRY_HEADER << 32) ||
                      room < ENTRY_HEADER))
        return false;
    *ret = (struct entry_header){ .bytes = is_first ? ENTRY_HEADER_FIRST : ENTRY_HEADER };
    ret->check = entry_get_u64(h + ret->bytes - 8);
    if (entry_get_u64(h + 8) != (uint64_t)seg || ret->check != header_check(h, ret->bytes - 8) ||
        entry_get_u64(h + 16) > SEGMENT_PAYLOAD_MOST || entry_get_u64(h + 24) > INT64_MAX)
        return false;
    ret->len = entry_get_u64(h + 16);
    ret->plain = (int64_t)entry_get_u64(h + 24);
    if (!is_first) {
        ret->record = entry_get_u64(h + 80) >> 32;
        ret->commit = (int64_t)entry_get_u64(h + 88);
        ret->is_copy = (first & FLAG_COPY) != 0;
    }
    ret->size = (int64_t)((ret->bytes + ret->len + ret->record + 7) & ~UINT64_C(7));
    return ret->record <= SEGMENT_RECORD_MOST + ENTRY_ORIGIN + ENTRY_CHECK &&
           (!ret->is_copy || ret->record >= ENTRY_ORIGIN + ENTRY_CHECK);
}

void entry_file(int64_t seg, char name[static 32])
{
    (void)snprintf(name, 32, "%lld.seg", (long long)seg);
}
