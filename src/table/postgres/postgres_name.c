/* postgres_name.c - names, texts and lists of columns in statements. */
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "table/postgres/postgres.h"

enum { NAME_BYTES = 63 /* longer ones are cut by the server */ };

static void postgres_quoted(struct buf *to, struct str text, char quote)
{
    buf_putc(to, quote);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == quote)
            buf_putc(to, quote);
        buf_putc(to, text.ptr[i]);
    }
    buf_putc(to, quote);
}

void postgres_name(struct buf *to, struct str name)
{
    postgres_quoted(to, name, '"');
}

/* With standard_conforming_strings, which every session of ours has. */
void postgres_literal(struct buf *to, struct str text)
{
    postgres_quoted(to, text, '\'');
}

void postgres_body(struct buf *to, struct str body)
{
    char tag[32] = "$waybill$";

    for (int i = 1; memmem(body.ptr, body.len, tag, strlen(tag)) != NULL; i++)
        (void)snprintf(tag, sizeof tag, "$waybill%d$", i);
    buf_puts(to, tag);
    buf_put(to, body);
    buf_puts(to, tag);
}

/* ---- what a journal consists of ---- */

void postgres_part_bare(struct buf *to, const struct shape *s, enum postgres_part part)
{
    static const char *const prefixes[] = { [PART_JOURNAL] = "waybill_journal_",
                                            [PART_INDEX] = "waybill_changes_",
                                            [PART_GONE] = "waybill_gone_",
                                            [PART_FUNCTION] = "waybill_capture_" };
    struct str prefix = str_of(prefixes[part]);
    char text[SHA256_TEXT];

    buf_put(to, prefix);
    if (prefix.len + s->name.len <= NAME_BYTES) {
        buf_put(to, s->name);
        return;
    }
    struct sha256 hash = digest_of(s->name);

    buf_put(to, str_first(s->name, NAME_BYTES - prefix.len - 9));
    buf_printf(to, "_%.8s", digest_text(&hash, text));
}

void postgres_part(struct buf *to, const struct shape *s, enum postgres_part part)
{
    struct buf bare = BUF_INIT(2 * NAME_BYTES);

    postgres_part_bare(&bare, s, part);
    postgres_name(to, s->schema);
    buf_putc(to, '.');
    postgres_name(to, buf_view(&bare));
    buf_done(&bare);
}

void postgres_capture_table(struct buf *to, const struct shape *s)
{
    postgres_name(to, s->schema);
    buf_puts(to, ".waybill_capture");
}

/* ---- columns ---- */

const struct shape_column *postgres_column(const struct fit *fit, size_t i)
{
    return &fit->shape->columns[fit->columns[i].at];
}

const char *postgres_collate(const struct shape_column *c)
{
    switch (postgres_detail_flags(c) & 7) {
    case DETAIL_OWN_C:
    case DETAIL_INDEX_C:
        return " COLLATE pg_catalog.\"C\"";
    case DETAIL_OWN_POSIX:
        return " COLLATE pg_catalog.\"POSIX\"";
    case DETAIL_OWN_DEFAULT:
        return " COLLATE pg_catalog.\"default\"";
    default:
        return "";
    }
}

void postgres_columns(struct buf *to, const struct fit *fit, size_t first, size_t last,
                      const char *prefix, bool collated)
{
    for (size_t i = first; i < last; i++) {
        if (i > first)
            buf_puts(to, ", ");
        buf_puts(to, prefix);
        postgres_name(to, postgres_column(fit, i)->name);
        if (collated)
            buf_puts(to, postgres_collate(postgres_column(fit, i)));
    }
}

void postgres_keys(struct buf *to, const struct fit *fit, const char *prefix)
{
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(to, "%s%sk%zu", i > 0 ? ", " : "", prefix, i + 1);
}

bool postgres_put_key(struct buf *to, struct postgres_args *args, const struct fit *fit,
                      const struct cell *key, struct arena *a, struct err *err)
{
    bool ok = true;

    for (size_t i = 0; ok && i < fit->key_count; i++) {
        struct buf bytes = BUF_INIT(4 * SHAPE_KEY_BYTES);
        Oid type = postgres_detail_type(postgres_column(fit, i));

        ok = postgres_put(&bytes, type, &key[i], err);
        if (ok)
            buf_printf(to, "%s$%zu", i > 0 ? ", " : "",
                       postgres_arg(args, type, arena_copy(a, buf_view(&bytes))));
        buf_done(&bytes);
    }
    return ok;
}
