/* mariadb_names.c - names in statements: the one place that quotes them. */
#include <string.h>

#include "base/digest.h"
#include "table/mariadb/mariadb.h"

void mariadb_put_name(struct buf *sql, struct str name)
{
    buf_putc(sql, '`');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '`')
            buf_putc(sql, '`');
        buf_putc(sql, name.ptr[i]);
    }
    buf_putc(sql, '`');
}

/* What a server could read in two ways, depending on its sql_mode, goes as hex. */
void mariadb_put_literal(struct buf *sql, struct str text)
{
    bool plain = str_is_utf8(text);

    for (size_t i = 0; i < text.len; i++)
        plain = plain && (unsigned char)text.ptr[i] >= ' ' && text.ptr[i] != '\'' &&
                text.ptr[i] != '\\' && text.ptr[i] != 0x7f;
    buf_puts(sql, plain ? "'" : "X'");
    if (plain)
        buf_put(sql, text);
    for (size_t i = 0; !plain && i < text.len; i++)
        buf_printf(sql, "%02x", (unsigned char)text.ptr[i]);
    buf_putc(sql, '\'');
}

void mariadb_put_ours(struct buf *sql, struct str schema, const char *name)
{
    mariadb_put_name(sql, schema);
    buf_putc(sql, '.');
    mariadb_put_name(sql, str_of(name));
}

struct str mariadb_own_name(const char *prefix, struct str table, struct arena *a)
{
    enum { HASH_BYTES = 4 };

    if (strlen(prefix) + table.len <= MARIADB_NAME)
        return str_of(arena_printf(a, "%s%.*s", prefix, STR_ARG(table)));
    struct digest d = digest_start();

    digest_add(&d, table);
    struct sha256 hash = digest_end(&d);
    struct str head = str_first(table, MARIADB_NAME - strlen(prefix) - 2 * HASH_BYTES - 1);

    return str_of(arena_printf(a, "%s%.*s_%02x%02x%02x%02x", prefix, STR_ARG(head), hash.bytes[0],
                               hash.bytes[1], hash.bytes[2], hash.bytes[3]));
}

void mariadb_put_journal(struct buf *sql, const struct shape *shape)
{
    struct arena a = ARENA_INIT(4096);

    mariadb_put_name(sql, shape->schema);
    buf_putc(sql, '.');
    mariadb_put_name(sql, mariadb_own_name("waybill_journal_", shape->name, &a));
    arena_done(&a);
}
