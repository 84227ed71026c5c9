#include "base/id.h"

#include "base/require.h"

struct id id_make(int64_t wall_us, int64_t row, uint64_t random)
{
    uint64_t ms = (uint64_t)(wall_us / 1000);
    uint64_t high = ms << 16 | 0x7000 | (random & 0xfff);
    uint64_t low = UINT64_C(2) << 62 | (uint64_t)row << 18 | (random >> 12 & 0x3ffff);
    struct id id;

    require(row >= 0 && row <= ID_ROW_MOST && wall_us >= 0 && ms >> 48 == 0);
    for (int i = 0; i < 8; i++) {
        id.bytes[i] = (uint8_t)(high >> (56 - 8 * i));
        id.bytes[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
    return id;
}

static uint64_t half(const struct id *id, int at)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | id->bytes[at + i];
    return v;
}

int64_t id_row(const struct id *id)
{
    return (int64_t)(half(id, 8) >> 18 & (uint64_t)ID_ROW_MOST);
}

bool id_eq(const struct id *a, const struct id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

const char *id_text(const struct id *id, char text[static ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    char *p = text;

    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        *p++ = digits[id->bytes[i] >> 4];
        *p++ = digits[id->bytes[i] & 15];
    }
    *p = '\0';
    return text;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool id_parse(struct str text, struct id *ret)
{
    struct id id;
    size_t at = 0;

    if (text.len != ID_TEXT - 1)
        return false;
    for (int i = 0; i < 16; i++) {
        if ((i == 4 || i == 6 || i == 8 || i == 10) && text.ptr[at++] != '-')
            return false;
        int high = hex_digit(text.ptr[at]), low = hex_digit(text.ptr[at + 1]);

        if (high < 0 || low < 0)
            return false;
        id.bytes[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    if (id.bytes[6] >> 4 != 7 || id.bytes[8] >> 6 != 2)
        return false;
    *ret = id;
    return true;
}
