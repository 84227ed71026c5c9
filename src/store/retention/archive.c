#include "store/retention/archive.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/require.h"
#include "core/call.h"
#include "core/civil.h"
#include "core/facts.h"
#include "core/retain_rule.h"
#include "core/stages.h"
#include "core/state.h"
#include "core/timeline.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/payload/archive_read.h"
#include "store/search/document.h"

enum {
    PAGE = 50,
    PAGE_MOST = 64 << 20,
    WALKS_MOST = 256 << 20,
    MANIFEST_MOST = 4096,
    PIECE = 1 << 20,
};

/* ---- files ---- */

/* The folder has answered: the wait for it begins anew.  False: the copy must end.  Called between
 * every use of the folder, which may hang, and the next use of the store, which may be closed by
 * then. */
static bool archive_goes_on(struct call *c, struct err *err)
{
    call_alive(c);
    return !call_is_over(c) || err_set(err, ERR_TRANSIENT, 0, "the node stops");
}

/* A file being written, with the digest so far. */
struct out {
    int fd;
    struct call *call;
    int64_t size;
    struct digest digest;
    struct sha256 sha256; /* valid once the file is closed */
};

struct making {
    struct store *store;
    struct call *call;
    int dirfd;
    int64_t day, part;
    int64_t until_us; /* documents that ended later are left for the next archive */
    char name[ARCHIVE_NAME];
    struct out docs, index;
    int64_t first, last, documents, bytes;
    int64_t ended_us; /* the latest end of a copied document */
};

static bool out_open(struct making *m, const char *suffix, struct out *o, struct err *err)
{
    char name[ARCHIVE_FILE];

    o->call = m->call;
    o->digest = digest_start();
    o->fd = openat(m->dirfd, archive_file(m->name, suffix, name),
                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (o->fd < 0)
        return err_set(err, file_err_kind(errno), errno, "create %s: %s", name, strerror(errno));
    return archive_goes_on(m->call, err);
}

static bool out_add(struct out *o, struct str bytes, struct err *err)
{
    if (!file_write_all(o->fd, bytes, err))
        return false;
    digest_add(&o->digest, bytes);
    o->size += (int64_t)bytes.len;
    return archive_goes_on(o->call, err);
}

static bool out_end(struct out *o, struct err *err)
{
    bool ok = file_try_sync(o->fd, "archive", err);

    (void)close(o->fd);
    o->fd = -1;
    o->sha256 = digest_end(&o->digest);
    return ok;
}

static void out_drop(struct out *o)
{
    if (o->fd >= 0)
        (void)close(o->fd);
    digest_drop(&o->digest);
}

/* ---- existing archives of the day ---- */

struct noted {
    int64_t part;    /* the last part; 0: there is none */
    int64_t upto_us; /* the latest end of an archived document */
    struct archive_walk *walks;
};

/* ---- one document ---- */

static void archive_put_text(struct json_out *j, const char *key, struct str text)
{
    if (text.len == 0)
        return;
    json_key(j, key);
    json_str(j, text);
}

static void archive_put_time(struct json_out *j, const char *key, int64_t us)
{
    char text[CLOCK_TEXT];

    json_key(j, key);
    json_z(j, clock_utc_text(us, text));
}

static void put_timeline(struct json_out *j, struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged;

    json_key(j, "timeline");
    json_open(j, '[');
    while (timeline_next(&r, &line, &damaged)) {
        json_open(j, '{');
        archive_put_time(j, "at", line.at_us);
        archive_put_text(j, "stage", str_of(timeline_stages[line.stage]));
        archive_put_text(j, "outcome", str_of(timeline_outcomes[line.outcome]));
        archive_put_text(j, "what", line.what);
        archive_put_text(j, "message", line.message);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_attributes(struct json_out *j, struct str bytes)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct facts f = { 0 };

    if (bytes.len == 0 || !facts_read(bytes, &a, &f) || f.attribute_count == 0)
        return;
    json_key(j, "attributes");
    json_open(j, '{');
    for (size_t i = 0; i < f.attribute_count; i++) {
        json_key(j, arena_text(&a, f.attributes[i].name));
        json_str(j, f.attributes[i].value);
    }
    json_close(j, '}');
}

static void archive_put_line(struct store *s, const struct document *d, struct buf *to)
{
    struct json_out j = { .to = to };
    char id[ID_TEXT], sha[SHA256_TEXT];

    json_open(&j, '{');
    archive_put_text(&j, "id", str_of(id_text(&d->source.id, id)));
    archive_put_text(&j, "gateway", name_text(s, d->gateway));
    archive_put_text(&j, "sender", name_text(s, d->sender));
    archive_put_text(&j, "receiver", name_text(s, d->receiver));
    archive_put_text(&j, "type", name_text(s, d->type));
    archive_put_text(&j, "route", name_text(s, d->route));
    archive_put_text(&j, "state", d->state);
    archive_put_time(&j, "received", d->received_us);
    archive_put_time(&j, "ended", d->updated_us);
    archive_put_text(&j, "name", d->name);
    archive_put_text(&j, "contentType", d->ctype);
    put_attributes(&j, d->facts);
    put_timeline(&j, d->timeline);
    archive_put_text(&j, "sha256", str_of(digest_text(&d->source.sha256, sha)));
    json_key(&j, "size");
    json_int(&j, d->source.size);
    json_close(&j, '}');
    buf_puts(to, "\n");
}

static void archive_put_u64(char *at, int64_t v)
{
    uint64_t n = htole64((uint64_t)v);

    memcpy(at, &n, sizeof n);
}

/* The digest is checked as it is read. */
static bool copy_payload(struct making *m, const struct payload_source *source, struct err *err)
{
    struct payload_reader *r;
    struct str piece;
    bool ok = payload_open(m->store, source, &r, err);

    if (!ok)
        return false;
    do
        ok = payload_next(r, &piece, err) && out_add(&m->docs, piece, err);
    while (ok && piece.len > 0);
    payload_close(r);
    return ok;
}

/* Copies what a line of the timeline has stored: the bytes after a step, which were sent, or an
 * answer. */
static bool copy_piece(struct making *m, const struct document *d, const struct timeline_line *line,
                       int64_t stage, struct err *err)
{
    struct payload_source source = { .id = d->source.id,
                                     .num = line->num,
                                     .size = line->size,
                                     .sha256 = line->sha256,
                                     .place = { .seg = line->seg, .pos = line->pos } };
    AUTO(buf_done) struct buf head = BUF_INIT(ARCHIVE_HEAD_MOST);
    char sha[SHA256_TEXT];

    if (line->is_answer)
        buf_printf(&head, "answer %.*s", STR_ARG(line->what));
    else
        buf_printf(&head, "stage %lld", (long long)stage);
    buf_printf(&head, " %lld %s\n", (long long)line->size, digest_text(&line->sha256, sha));
    return out_add(&m->docs, buf_view(&head), err) && copy_payload(m, &source, err) &&
           out_add(&m->docs, STR("\n"), err);
}

static bool copy_pieces(struct making *m, const struct document *d, struct err *err)
{
    struct timeline_reader r = timeline_read(d->timeline);
    AUTO(arena_done) struct arena a = ARENA_INIT(STAGES_ARENA_MOST);
    struct timeline_line line;
    size_t count;
    const struct stage *stages = stages_read(d->timeline, &a, &count);
    bool damaged;

    for (int64_t at = 0; timeline_next(&r, &line, &damaged); at++) {
        const struct stage *s = stages_of_line(stages, count, at);

        if (line.has_bytes && !copy_piece(m, d, &line, s != NULL ? s->number : 0, err))
            return false;
    }
    return true;
}

static bool copy_doc(struct making *m, const struct document *d, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(ARCHIVE_LINE_MOST);
    char entry[ARCHIVE_ENTRY], id[ID_TEXT];
    int64_t at = m->docs.size;

    archive_put_line(m->store, d, &line);
    memcpy(entry, d->source.id.bytes, 16);
    archive_put_u64(entry + 16, at + (int64_t)line.len);
    archive_put_u64(entry + 24, d->source.size);
    memcpy(entry + 32, d->source.sha256.bytes, SHA256_SIZE);
    archive_put_u64(entry + 64, at);
    archive_put_u64(entry + 72, (int64_t)line.len);
    if (!out_add(&m->docs, buf_view(&line), err) || !copy_payload(m, &d->source, err) ||
        !out_add(&m->docs, STR("\n"), err) || !copy_pieces(m, d, err) ||
        !out_add(&m->index, str_mem(entry, ARCHIVE_ENTRY), err))
        return err_context(err, "document %s", id_text(&d->source.id, id));
    m->first = m->first == 0 ? d->source.num : m->first;
    m->last = d->source.num;
    m->ended_us = d->updated_us > m->ended_us ? d->updated_us : m->ended_us;
    m->documents++;
    m->bytes += d->source.size;
    return true;
}

static bool archive_read_page(struct making *m, int64_t above, struct arena *a,
                              struct document *docs, size_t *ret_count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(m->store, err);

    return r.db != NULL &&
           rows_collect(r.db, SQL_ARCHIVE_DOCS, m->day, DB_ARGS(db_int(above), db_int(PAGE)),
                        ROWS_INTO(docs, PAGE, a, document_read_done), ret_count, err);
}

/* A document that ended after all archived ones is new.  One that ended earlier may be new, too: a
 * clock that ran ahead was corrected, or a kept document was released.  The indices decide. */
static bool archive_is_wanted(const struct document *d, struct noted *noted, bool *ret,
                              struct err *err)
{
    bool has = false;

    if (noted->part > 0 && d->updated_us <= noted->upto_us)
        for (struct archive_walk *w = noted->walks; w != NULL && !has; w = w->next)
            if (!archive_walk_has(w, &d->source.id, &has, err))
                return false;
    *ret = !has;
    return true;
}

static bool copy_all(struct making *m, struct noted *noted, struct err *err)
{
    int64_t above = 0;
    size_t n;

    do {
        AUTO(arena_done) struct arena a = ARENA_INIT(PAGE_MOST);
        struct document *docs = ARENA_ARRAY(&a, struct document, PAGE);

        if (!archive_read_page(m, above, &a, docs, &n, err) || !archive_goes_on(m->call, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            bool wanted;

            above = docs[i].source.num;
            if (docs[i].updated_us > m->until_us)
                continue;
            if (!archive_is_wanted(&docs[i], noted, &wanted, err) ||
                !archive_goes_on(m->call, err) || (wanted && !copy_doc(m, &docs[i], err)))
                return false;
        }
    } while (n > 0);
    return true;
}

/* ---- comparing ---- */

static bool archive_digest_range(struct call *call, int fd, int64_t at, int64_t size,
                                 struct sha256 *ret, struct err *err)
{
    AUTO_TEXT block = xmalloc(PIECE);
    struct digest d = digest_start();

    for (int64_t done = 0; done < size;) {
        size_t n = size - done < PIECE ? (size_t)(size - done) : PIECE;

        if (!file_read_at(fd, block, n, at + done, err) || !archive_goes_on(call, err)) {
            digest_drop(&d);
            return false;
        }
        digest_add(&d, str_mem(block, n));
        done += (int64_t)n;
    }
    *ret = digest_end(&d);
    return true;
}

static bool same_file(const struct making *m, const char *suffix, const struct out *o,
                      struct err *err)
{
    char name[ARCHIVE_FILE];
    struct sha256 got;
    struct stat st;
    AUTO_FD fd = openat(m->dirfd, archive_file(m->name, suffix, name), O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "read back %s: %s", name, strerror(errno));
    if (st.st_size != o->size)
        return err_set(err, ERR_TRANSIENT, 0, "%s has %lld bytes, %lld were written", name,
                       (long long)st.st_size, (long long)o->size);
    (void)posix_fadvise(fd, 0, 0,
                        POSIX_FADV_DONTNEED); /* so that the disk is read, not the page cache */
    if (!archive_digest_range(m->call, fd, 0, o->size, &got, err))
        return err_context(err, "read back %s", name);
    return digest_same(&got, &o->sha256) ||
           err_set(err, ERR_TRANSIENT, 0, "%s differs from what was written", name);
}

/* Compares each payload with its digest in the store. */
static bool same_payloads(const struct making *m, struct err *err)
{
    char docs_name[ARCHIVE_FILE], index_name[ARCHIVE_FILE], entry[ARCHIVE_ENTRY];
    AUTO_FD docs =
        openat(m->dirfd, archive_file(m->name, ".docs.part", docs_name), O_RDONLY | O_CLOEXEC);
    AUTO_FD index =
        openat(m->dirfd, archive_file(m->name, ".index.part", index_name), O_RDONLY | O_CLOEXEC);

    if (docs < 0 || index < 0)
        return err_set(err, ERR_TRANSIENT, errno, "read back %s: %s", m->name, strerror(errno));
    for (int64_t i = 0; i < m->documents; i++) {
        struct sha256 got;

        if (!file_read_at(index, entry, ARCHIVE_ENTRY, i * ARCHIVE_ENTRY, err) ||
            !archive_digest_range(m->call, docs, archive_u64(entry + 16), archive_u64(entry + 24),
                                  &got, err))
            return err_context(err, "read back %s", m->name);
        if (memcmp(got.bytes, entry + 32, SHA256_SIZE) != 0)
            return err_set(err, ERR_TRANSIENT, 0, "a payload in %s differs from its digest",
                           m->name);
    }
    return true;
}

/* ---- the manifest ---- */

static void put_file(struct json_out *j, const char *key, const char *name, const struct out *o)
{
    char sha[SHA256_TEXT];

    json_key(j, key);
    json_open(j, '{');
    archive_put_text(j, "name", str_of(name));
    json_key(j, "bytes");
    json_int(j, o->size);
    archive_put_text(j, "sha256", str_of(digest_text(&o->sha256, sha)));
    json_close(j, '}');
}

static void make_manifest(const struct making *m, struct buf *to)
{
    struct json_out j = { .to = to };
    char name[ARCHIVE_FILE];

    json_open(&j, '{');
    archive_put_text(&j, "waybill", STR("archive 1"));
    json_key(&j, "day");
    json_int(&j, m->day);
    json_key(&j, "documents");
    json_int(&j, m->documents);
    json_key(&j, "payloadBytes");
    json_int(&j, m->bytes);
    archive_put_time(&j, "endedUntil", m->ended_us);
    put_file(&j, "docs", archive_file(m->name, ".docs", name), &m->docs);
    put_file(&j, "index", archive_file(m->name, ".index", name), &m->index);
    json_close(&j, '}');
    buf_puts(to, "\n");
}

static bool give_name(const struct making *m, const char *part, const char *suffix, struct err *err)
{
    char from[ARCHIVE_FILE], to[ARCHIVE_FILE];

    return file_rename_over(m->dirfd, archive_file(m->name, part, from),
                            archive_file(m->name, suffix, to), err);
}

static bool write_manifest(struct making *m, struct sha256 *ret, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(MANIFEST_MOST);
    struct out o = { .fd = -1 };

    make_manifest(m, &text);
    bool ok = out_open(m, ".manifest.part", &o, err) && out_add(&o, buf_view(&text), err);

    if (ok)
        ok = out_end(&o, err);
    else
        out_drop(&o);
    *ret = o.sha256;
    return ok && same_file(m, ".manifest.part", &o, err) &&
           give_name(m, ".docs.part", ".docs", err) && give_name(m, ".index.part", ".index", err) &&
           give_name(m, ".manifest.part", ".manifest", err) &&
           file_try_sync(m->dirfd, "archive folder", err);
}

struct add_op {
    struct store_op op;
    const struct making *making;
    struct str folder;
    struct sha256 sha256;
    int64_t ours; /* 0: another node recorded this part before */
};

static bool archive_add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct add_op *o = container_of(ops[i], struct add_op, op);
        const struct making *m = o->making;

        if (!db_run(w->db, SQL_ARCHIVE_ADD,
                    DB_ARGS(db_int(m->day), db_int(m->part), db_text(o->folder),
                            db_text(str_of(m->name)),
                            db_bytes(str_mem(o->sha256.bytes, SHA256_SIZE)), db_int(m->first),
                            db_int(m->last), db_int(m->documents), db_int(m->bytes),
                            db_int(m->ended_us)),
                    NULL, err) ||
            !db_one_int(w->db, SQL_ARCHIVE_IS,
                        DB_ARGS(db_int(m->day), db_int(m->part), db_text(str_of(m->name))), 0,
                        &o->ours, err))
            return false;
    }
    return true;
}

static const struct store_verb add_verb = { .name = "note an archive", .run = archive_add_run };

/* ---- a day ---- */

static void drop_files(const struct making *m)
{
    static const char *const suffixes[] = { ".docs.part", ".index.part", ".manifest.part",
                                            ".docs",      ".index",      ".manifest" };
    char name[ARCHIVE_FILE];

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        (void)unlinkat(m->dirfd, archive_file(m->name, suffixes[i], name), 0);
}

/* Writes and verifies the files; without a document the caller removes them. */
static bool write_files(struct making *m, struct noted *noted, struct sha256 *ret, struct err *err)
{
    if (!out_open(m, ".docs.part", &m->docs, err) || !out_open(m, ".index.part", &m->index, err) ||
        !copy_all(m, noted, err))
        return false;
    if (m->documents == 0)
        return true;
    if (!out_end(&m->docs, err) || !out_end(&m->index, err))
        return false;
    fault_point(ARCHIVE_WRITTEN);
    if (fault_error(ARCHIVE_WRITTEN))
        return err_set(err, ERR_TRANSIENT, EIO, "write archive (injected)");
    return same_file(m, ".docs.part", &m->docs, err) &&
           same_file(m, ".index.part", &m->index, err) && same_payloads(m, err) &&
           write_manifest(m, ret, err);
}

/* *ret_ours false: another node was quicker, and the files are removed.  When it is uncertain
 * whether the database has recorded the archive, the files stay. */
static bool make_one(struct making *m, struct str folder, struct noted *noted, bool *ret_ours,
                     struct err *err)
{
    struct add_op o = { .making = m, .folder = folder, .ours = 1 };
    bool ok = write_files(m, noted, &o.sha256, err);

    *ret_ours = true;
    if (!ok || m->documents == 0) {
        drop_files(m);
        return ok;
    }
    fault_point(ARCHIVE_VERIFIED);
    if (!archive_goes_on(m->call, err) || !writers_call(m->store->writers, &add_verb, &o.op, err)) {
        if (err->kind != ERR_UNCERTAIN) /* else the record may be committed */
            drop_files(m);
        return false;
    }
    *ret_ours = o.ours != 0;
    if (!*ret_ours)
        drop_files(m);
    return true;
}

/* The manifest of a recorded archive is unchanged. */
static bool manifest_fits(struct str folder, struct str name, const struct sha256 *want,
                          struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(MANIFEST_MOST);
    char base[ARCHIVE_NAME], file[ARCHIVE_FILE];
    int dirfd;

    (void)snprintf(base, sizeof base, "%.*s", STR_ARG(name));
    if (!archive_folder(folder, false, &dirfd, err))
        return false;
    bool ok = file_read_whole(dirfd, archive_file(base, ".manifest", file), &text, err);

    (void)close(dirfd);
    if (!ok)
        return false;
    struct sha256 got = digest_of(buf_view(&text));

    return digest_same(&got, want) ||
           err_set(err, ERR_PERMANENT, 0, "%s is not the one that was verified", file);
}

enum { NOTED_PAGE = 50 };

static void read_noted(struct db_rows *row, struct arena *a, void *to)
{
    *(struct archive_look *)to =
        (struct archive_look){ .part = db_get_int(row, ARCHIVE_PARTS_PART),
                               .folder = row_text(row, ARCHIVE_PARTS_FOLDER, a),
                               .name = row_text(row, ARCHIVE_PARTS_NAME, a),
                               .sha256 = row_sha256(row, ARCHIVE_PARTS_SHA256) };
}

static bool check_noted(struct store *s, int64_t day, struct call *call, struct arena *arena,
                        struct noted *ret, struct err *err)
{
    size_t n;

    do {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
        struct archive_look *some = ARENA_ARRAY(&a, struct archive_look, NOTED_PAGE);

        if (!store_collect(s, SQL_ARCHIVE_PARTS,
                           DB_ARGS(db_int(day), db_int(ret->part), db_int(NOTED_PAGE)),
                           ROWS_INTO(some, NOTED_PAGE, &a, read_noted), &n, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (!manifest_fits(some[i].folder, some[i].name, &some[i].sha256, err) ||
                !archive_goes_on(call, err))
                return false;
            ret->part = some[i].part;
            ret->walks = archive_walk(arena, some[i].folder, some[i].name, ret->walks);
        }
    } while (n == NOTED_PAGE);
    return true;
}

static bool read_times(struct store *s, int64_t day, int64_t *ret_now_us, int64_t *ret_upto_us,
                       struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);

    return r.db != NULL && db_one_int(r.db, SQL_RATE_NOW, DB_NO_ARGS, 0, ret_now_us, err) &&
           db_one_int(r.db, SQL_ARCHIVE_UPTO, DB_ARGS(db_int(day)), 0, ret_upto_us, err);
}

/* A random name: files that others write now or left behind are never overwritten. */
static void name_it(struct making *m)
{
    struct civil_date date = civil_date(m->day);

    (void)snprintf(m->name, sizeof m->name, "waybill-%04d-%02d-%02d-%lld-%016llx", (int)date.year,
                   date.month, date.day, (long long)m->part, (unsigned long long)chance_u64());
}

static bool archive_in_turn(struct store *s, struct str folder, int64_t day, struct call *call,
                            struct archive_made *ret, struct err *err)
{
    int64_t settle = fault_switch("WAYBILL_TEST_ARCHIVE_AT_ONCE") != NULL ? 0 : ARCHIVE_SETTLE_US;
    struct making m = { .store = s,
                        .call = call,
                        .dirfd = -1,
                        .day = day,
                        .docs = { .fd = -1 },
                        .index = { .fd = -1 } };
    AUTO(arena_done) struct arena arena = ARENA_INIT(WALKS_MOST);
    struct noted noted = { 0 };
    bool ours;

    if (!read_times(s, day, &m.until_us, &noted.upto_us, err) ||
        !check_noted(s, day, call, &arena, &noted, err) ||
        !archive_folder(folder, true, &m.dirfd, err))
        return false;
    m.until_us -= settle;
    m.part = noted.part + 1;
    name_it(&m);
    bool ok = make_one(&m, folder, &noted, &ours, err);

    out_drop(&m.docs);
    out_drop(&m.index);
    (void)close(m.dirfd);
    ret->busy = ok && !ours;
    if (ok && ours) {
        ret->until_us = m.until_us;
        ret->documents = m.documents;
        ret->bytes = m.bytes;
        memcpy(ret->name, m.name, sizeof ret->name);
    }
    return ok;
}

/* The lock belongs to a connection and ends with it.  A node that loses its lock meanwhile does no
 * harm: names differ, and only one node can record a part. */
static bool archive_take_turn(struct store *s, struct db **ret, int64_t *ret_turn, struct err *err)
{
    *ret = NULL;
    *ret_turn = 1;
    return s->kind == DB_SQLITE ||
           (store_connect(s, true, ret, err) &&
            db_one_int(*ret, SQL_ARCHIVE_TURN, DB_NO_ARGS, 0, ret_turn, err));
}

bool archive_day(struct store *s, struct str folder, int64_t day, struct call *call,
                 struct archive_made *ret, struct err *err)
{
    struct db *db;
    int64_t turn;

    *ret = (struct archive_made){ 0 };
    bool ok = archive_take_turn(s, &db, &turn, err);

    if (ok && turn != 0)
        ok = archive_in_turn(s, folder, day, call, ret, err);
    else
        ret->busy = ok;
    db_close(db);
    return ok;
}

/* ---- reading ---- */

static void read_look(struct db_rows *row, struct arena *a, void *to)
{
    *(struct archive_look *)to =
        (struct archive_look){ .day = db_get_int(row, ARCHIVE_PAGE_DAY),
                               .part = db_get_int(row, ARCHIVE_PAGE_PART),
                               .folder = row_text(row, ARCHIVE_PAGE_FOLDER, a),
                               .name = row_text(row, ARCHIVE_PAGE_NAME, a),
                               .documents = db_get_int(row, ARCHIVE_PAGE_DOCUMENTS),
                               .bytes = db_get_int(row, ARCHIVE_PAGE_BYTES),
                               .made_us = db_get_int(row, ARCHIVE_PAGE_MADE_US),
                               .sha256 = row_sha256(row, ARCHIVE_PAGE_SHA256) };
}

bool archive_list(struct store *s, size_t limit, struct arena *a, struct archive_look *ret,
                  size_t *ret_count, struct err *err)
{
    require(limit <= ARCHIVES_MOST);
    return store_collect(s, SQL_ARCHIVE_PAGE, DB_ARGS(db_int(limit)),
                         ROWS_INTO(ret, limit, a, read_look), ret_count, err);
}
