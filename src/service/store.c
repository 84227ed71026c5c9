/* store.c - keeps the record of a set and key, and goes on with its previous and its new value.
 *
 *     - store: { key: "json:/id", set: products }
 *     - store: { key: "xml:/Product/@id", unchanged: pass }
 *
 * What goes on is `{"previous":..,"new":..}`, or the same as XML.  Both values are slices of the
 * documents they came with (core/format/record_text.h), so that every digit stays.  A value that is
 * the same, byte for byte, ends the document, unless `unchanged: pass`.
 *
 * The record is written in the commit that settles the document, never here.  A document that runs
 * again after that finds itself in the record and goes on with the pair that it went on with
 * before; one that an ordered gateway received before the document of the record ends, because the
 * receiver has what is newer (docs/records.md).
 */
#include <stdio.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/format/record_text.h"

enum {
    DOCUMENT_MOST = 2 * SERVICE_RECORD_MOST, /* with blanks and comments around the value */
    PAIR_MOST = DOCUMENT_MOST + 200
};

struct storing {
    bool drops; /* what has not changed */
};

/* ---- options ---- */

static const struct option options[] = {
    OPTION("key", OPT_EXPR, "the key of the record", .flags = OPT_REQUIRED | OPT_OR_LIST),
    OPTION("set", OPT_NAME, "the set of records; left out: the document's type"),
    OPTION("unchanged", OPT_WORD,
           "a document with the value that the record has already ends, or goes on",
           .words = OPTION_WORDS("drop", "pass"), .fallback = "drop"),
    { 0 },
};

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct storing *p = ARENA_NEW(s->arena, struct storing);
    struct str unchanged;

    if (!settings_text(s, "unchanged", &unchanged, err))
        return false;
    p->drops = str_is(unchanged, "drop");
    *ret_self = p;
    return true;
}

static void unmake(void *self)
{
    (void)self;
}

/* ---- running ---- */

static bool store_gather(struct service_io *io, struct buf *to, struct service_failure *ret_failure)
{
    if (io->size > DOCUMENT_MOST)
        return service_fail(ret_failure, DEAD_LIMIT,
                            "store: the document has %lld bytes; one whose value is kept may have "
                            "%d, and the value %d",
                            (long long)io->size, DOCUMENT_MOST, SERVICE_RECORD_MOST);
    return service_gather(io, to, ret_failure);
}

static bool store_read(struct str document, struct record_text *ret,
                       struct service_failure *ret_failure)
{
    struct err err = { 0 };

    if (!record_text_read(document, ret, &err))
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "store: %s", err.text);
    if (ret->text.len > SERVICE_RECORD_MOST)
        return service_fail(ret_failure, DEAD_LIMIT,
                            "store: the value of the record would have %zu bytes, more than %d",
                            ret->text.len, SERVICE_RECORD_MOST);
    return true;
}

static void store_tell(struct service_io *io, const struct service_record *r, const char *what)
{
    char line[SERVICE_NOTE_BYTES];
    struct str key = str_first(r->key, 60), set = str_first(r->set, 60);

    (void)snprintf(line, sizeof line, "record %.*s of %.*s: %s", STR_ARG(key), STR_ARG(set), what);
    io->note(io, str_of(line));
}

/* `value`: the previous one; ptr NULL: none. */
static bool store_put_pair(struct service_io *io, struct str value, const struct record_text *now,
                           struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf out = BUF_INIT(PAIR_MOST);
    struct record_text previous;
    struct err err = { 0 };

    if (value.ptr != NULL && !record_text_read(value, &previous, &err))
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "store: the record as it is: %s",
                            err.text);
    if (value.ptr != NULL && previous.form != now->form)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "store: the record is %s and the document %s; a set has records of one "
                            "kind",
                            previous.form == RECORD_XML ? "XML" : "JSON",
                            now->form == RECORD_XML ? "XML" : "JSON");
    if (!record_text_pair(value.ptr != NULL ? &previous : NULL, now, &out, &err))
        return service_fail(ret_failure, DEAD_LIMIT, "store: %s", err.text);
    return io->put(io, buf_view(&out), ret_failure);
}

static bool store_unchanged(const struct storing *p, struct service_io *io,
                            const struct service_record *r, const struct record_text *now,
                            struct service_failure *ret_failure)
{
    store_tell(io, r, "unchanged");
    if (!io->stays(io, ret_failure))
        return false;
    return p->drops ? io->none(io, ret_failure) : store_put_pair(io, r->value, now, ret_failure);
}

static bool store_value(const struct storing *p, struct service_io *io,
                        const struct record_text *now, struct service_failure *ret_failure)
{
    struct service_record r;

    if (!io->record(io, &r, ret_failure))
        return false;
    bool same = r.is_there && str_eq(r.value, now->text);

    if (same && r.is_own) {
        store_tell(io, &r, "it is from this document; it goes on as before");
        return store_put_pair(io, r.before, now, ret_failure);
    }
    if (r.is_later) {
        store_tell(io, &r, "a later document has set it; this one is left out");
        return io->none(io, ret_failure);
    }
    if (same)
        return store_unchanged(p, io, &r, now, ret_failure);
    store_tell(io, &r, r.is_there ? "changed" : "new");
    return io->keep(io, now->text, ret_failure) &&
           store_put_pair(io, r.is_there ? r.value : (struct str){ 0 }, now, ret_failure);
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf in = BUF_INIT(DOCUMENT_MOST);
    struct record_text now;

    return store_gather(io, &in, ret_failure) && store_read(buf_view(&in), &now, ret_failure) &&
           store_value(self, io, &now, ret_failure);
}

const struct service_type service_store = {
    .kind = { .name = "store",
              .help = "keep the record, go on with old and new value",
              .keys = options,
              .example = "- store: { key: \"json:/id\", set: products }" },
    .keyed = true,
    .keeps = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
