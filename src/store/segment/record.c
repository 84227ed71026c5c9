#include "store/segment/record.h"

#include <endian.h>
#include <string.h>

enum { MAGIC = 0x31524257, NUMBERS = 8, LENGTHS = 112, TEXTS = 4 };

static void put_i64(char *to, int64_t v)
{
    uint64_t u = htole64((uint64_t)v);

    memcpy(to, &u, sizeof u);
}

static int64_t get_i64(const char *from)
{
    uint64_t u;

    memcpy(&u, from, sizeof u);
    return (int64_t)le64toh(u);
}

size_t record_size(const struct record *r)
{
    return RECORD_HEAD + r->gateway.len + r->name.len + r->ctype.len + r->head.len;
}

void record_write(const struct record *r, char *to)
{
    const int64_t numbers[NUMBERS] = { r->store,  r->num,         r->commit, r->caller,
                                       r->config, r->received_us, r->seq,    r->key_until_us };
    const struct str texts[TEXTS] = { r->gateway, r->name, r->ctype, r->head };
    char *at = to + RECORD_HEAD;

    put_i64(to, MAGIC);
    for (size_t i = 0; i < NUMBERS; i++)
        put_i64(to + 8 + i * 8, numbers[i]);
    memcpy(to + 72, r->key.bytes, SHA256_SIZE);
    put_i64(to + 104, r->large);
    for (size_t i = 0; i < TEXTS; i++) {
        uint32_t len = htole32((uint32_t)texts[i].len);

        memcpy(to + LENGTHS + i * sizeof len, &len, sizeof len);
        if (texts[i].len > 0)
            memcpy(at, texts[i].ptr, texts[i].len);
        at += texts[i].len;
    }
}

bool record_read(struct str bytes, struct record *ret)
{
    if (bytes.len < RECORD_HEAD || get_i64(bytes.ptr) != MAGIC)
        return false;
    struct record r = { .large = get_i64(bytes.ptr + 104) };
    int64_t *const numbers[NUMBERS] = { &r.store,  &r.num,         &r.commit, &r.caller,
                                        &r.config, &r.received_us, &r.seq,    &r.key_until_us };
    struct str *const texts[TEXTS] = { &r.gateway, &r.name, &r.ctype, &r.head };
    struct str rest = str_from(bytes, RECORD_HEAD);

    for (size_t i = 0; i < NUMBERS; i++)
        *numbers[i] = get_i64(bytes.ptr + 8 + i * 8);
    memcpy(r.key.bytes, bytes.ptr + 72, SHA256_SIZE);
    for (size_t i = 0; i < TEXTS; i++) {
        uint32_t len;

        memcpy(&len, bytes.ptr + LENGTHS + i * sizeof len, sizeof len);
        len = le32toh(len);
        if (len > rest.len)
            return false;
        *texts[i] = str_mem(rest.ptr, len);
        rest = str_from(rest, len);
    }
    *ret = r;
    return rest.len == 0;
}
