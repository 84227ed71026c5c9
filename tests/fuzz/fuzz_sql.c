/* fuzz_sql.c - statements with names, connection strings, items of documents, and what the process
 * of a connection says: whatever comes, nothing but its own part of it is used.
 *
 * Input: one byte, which of them; then the text. */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "delivery/sql_items.h"
#include "sql/sql_names.h"
#include "sql/sql_place.h"
#include "sql/sql_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* As many parameters as names, and nothing of the text is lost. */
static void try_names(struct str text)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    struct sql_names n;
    struct err err = { 0 };
    size_t size = 0;

    if (!sql_names_parse(text, &a, &n, &err)) {
        require(err.kind == ERR_CONFIG && err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < n.count; i++)
        size += n.names[i].len; /* `?` stands for `:` */
    require(n.text.len + size == text.len);
}

/* What is written anew is read as the same, and names no path of a driver. */
static void try_place(struct str text)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    struct sql_place p;
    struct err err = { 0 };

    if (!sql_place_parse(text, &a, &p, &err)) {
        require(err.kind == ERR_CONFIG && err.text[0] != '\0');
        return;
    }
    require(p.driver.len > 0 && memchr(p.driver.ptr, '/', p.driver.len) == NULL);
    require(memchr(p.connect.ptr, '\0', p.connect.len) == NULL);
}

static void try_items(struct str text)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 20);
    struct sql_items_at at;
    struct err err = { 0 };
    struct str *items, head, rest = str_cut(text, '\n', &head);
    struct datum d;
    size_t count;

    if (!sql_items_at_read(head, &a, &at, &err) ||
        !sql_items_find(&at, rest, &a, &items, &count, &err))
        return;
    for (size_t i = 0; i < count && i < 100; i++) {
        require(items[i].ptr >= rest.ptr && items[i].ptr + items[i].len <= rest.ptr + rest.len);
        if (sql_items_field(items[i], STR("a"), &a, &d))
            require(d.kind != DATUM_FAILED);
    }
}

static void try_wire(struct str text)
{
    struct sql_wire_open o;
    struct sql_failure f;
    struct datum d;
    bool gone;

    if (sql_wire_take_failure(text, &f, &gone))
        require(f.kind != SQL_FAULT_NONE && str_is_utf8(str_of(f.text)));
    (void)sql_wire_take_open(text, &o);
    while (sql_wire_take_datum(&text, &d))
        require(d.kind <= DATUM_FAILED);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct str text = str_mem(bytes, size);

    if (size == 0 || size > 1 << 20)
        return 0;
    static void (*const tries[])(struct str) = { try_names, try_place, try_items, try_wire };

    tries[bytes[0] % 4](str_from(text, 1));
    return 0;
}
