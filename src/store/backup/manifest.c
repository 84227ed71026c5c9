#include "store/backup/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/safe_path.h"

#define PART_NAME "manifest.part"
#define HEAD_LINE "waybill backup 1\n"

/* ---- writing ---- */

bool manifest_begin(struct manifest_out *m, int dirfd, struct err *err)
{
    *m = (struct manifest_out){ .dirfd = dirfd };
    m->fd = openat(dirfd, PART_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (m->fd < 0)
        return err_set(err, file_err_kind(errno), errno, "create %s: %s", PART_NAME,
                       strerror(errno));
    m->digest = digest_start();
    return true;
}

void manifest_done(struct manifest_out *m)
{
    if (m->fd > 0) {
        (void)close(m->fd);
        (void)unlinkat(m->dirfd, PART_NAME, 0);
    }
    m->fd = -1;
    digest_drop(&m->digest);
}

static bool manifest_add_line(struct manifest_out *m, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool manifest_add_line(struct manifest_out *m, struct err *err, const char *fmt, ...)
{
    char line[MANIFEST_LINE];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);

    va_end(ap);
    if (n < 0 || n >= (int)sizeof line)
        return err_set(err, ERR_LIMIT, 0, "a line of the manifest is too long");
    digest_add(&m->digest, str_mem(line, (size_t)n));
    return file_write_all(m->fd, str_mem(line, (size_t)n), err) || err_context(err, "the manifest");
}

bool manifest_head(struct manifest_out *m, const struct manifest *h, struct err *err)
{
    return manifest_add_line(m, err, HEAD_LINE) &&
           manifest_add_line(m, err, "program %s\n", h->program) &&
           manifest_add_line(m, err, "schema %lld\n", (long long)h->schema) &&
           manifest_add_line(m, err, "store %s\n", h->store) &&
           manifest_add_line(m, err, "taken %lld\n", (long long)h->taken_us) &&
           manifest_add_line(m, err, "num %lld\n", (long long)h->num) &&
           manifest_add_line(m, err, "store_id %lld\n", (long long)h->store_id) &&
           (h->key[0] == '\0' || manifest_add_line(m, err, "key %s\n", h->key)) &&
           (h->point[0] == '\0' || manifest_add_line(m, err, "point %s\n", h->point));
}

bool manifest_add(struct manifest_out *m, const struct manifest_file *f, struct err *err)
{
    char hex[SHA256_TEXT];

    m->files++;
    m->bytes += f->size;
    return manifest_add_line(m, err, "file %s %lld %s\n", digest_text(&f->sha256, hex),
                             (long long)f->size, f->name);
}

bool manifest_publish(struct manifest_out *m, struct err *err)
{
    struct sha256 all = digest_end(&m->digest);
    char line[SHA256_TEXT + 8], hex[SHA256_TEXT];
    int n = snprintf(line, sizeof line, "end %s\n", digest_text(&all, hex));

    if (!file_write_all(m->fd, str_mem(line, (size_t)n), err) ||
        !file_try_sync(m->fd, "the manifest", err) ||
        !file_rename_over(m->dirfd, PART_NAME, MANIFEST_NAME, err) ||
        !file_try_sync(m->dirfd, "the folder of the backup", err))
        return false;
    (void)close(m->fd);
    m->fd = -1;
    return true;
}

/* ---- reading ---- */

static bool manifest_damaged(struct err *err)
{
    return err_set(err, ERR_PERMANENT, 0, "the file %s is damaged: this backup cannot be used",
                   MANIFEST_NAME);
}

static void close_file(FILE **f)
{
    if (*f != NULL)
        (void)fclose(*f);
}

static FILE *open_file(int dirfd, struct err *err)
{
    int fd = openat(dirfd, MANIFEST_NAME, O_RDONLY | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

    if (f != NULL)
        return f;
    int sys = errno;

    if (fd >= 0)
        (void)close(fd);
    if (sys == ENOENT)
        (void)err_set(err, ERR_PERMANENT, ENOENT,
                      "it has no file %s: it is no backup, or one that was not finished",
                      MANIFEST_NAME);
    else
        (void)err_set(err, ERR_TRANSIENT, sys, "open %s: %s", MANIFEST_NAME, strerror(sys));
    return NULL;
}

/* A line without its newline; empty at the end of the file.  An empty or unfinished line is damage.
 */
static bool manifest_next_line(FILE *f, char room[static MANIFEST_LINE], struct str *ret,
                               struct err *err)
{
    *ret = STR("");
    if (fgets(room, MANIFEST_LINE, f) == NULL)
        return ferror(f) == 0 ||
               err_set(err, ERR_TRANSIENT, EIO, "read %s: it cannot be read", MANIFEST_NAME);
    struct str line = str_of(room);

    if (line.len < 2 || line.ptr[line.len - 1] != '\n')
        return manifest_damaged(err);
    *ret = str_mem(line.ptr, line.len - 1);
    return true;
}

static bool parse_file(struct str rest, struct manifest_file *ret)
{
    struct str hex, size;
    struct err why = { 0 };

    rest = str_cut(rest, ' ', &hex);
    rest = str_cut(rest, ' ', &size);
    if (!digest_parse(hex, &ret->sha256) || !str_to_i64(size, &ret->size) || ret->size < 0 ||
        rest.len >= sizeof ret->name || !safe_path(rest, &why))
        return false;
    memcpy(ret->name, rest.ptr, rest.len);
    ret->name[rest.len] = '\0';
    return true;
}

static bool parse_head(struct manifest *m, struct str key, struct str value)
{
    const struct {
        const char *name;
        char *text;
        int64_t *number;
    } known[] = { { "program", m->program, NULL },    { "schema", NULL, &m->schema },
                  { "store", m->store, NULL },        { "taken", NULL, &m->taken_us },
                  { "num", NULL, &m->num },           { "key", m->key, NULL },
                  { "store_id", NULL, &m->store_id }, { "point", m->point, NULL } };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!str_is(key, known[i].name))
            continue;
        if (known[i].number != NULL)
            return str_to_i64(value, known[i].number);
        if (value.len >= MANIFEST_TEXT)
            return false;
        memcpy(known[i].text, value.ptr, value.len);
        known[i].text[value.len] = '\0';
    }
    return true;
}

/* Checks the whole file, with the digest in its last line, before it accepts the head. */
bool manifest_read(int dirfd, struct manifest *ret, struct err *err)
{
    AUTO(close_file) FILE *f = open_file(dirfd, err);
    AUTO(digest_drop) struct digest digest = digest_start();
    char room[MANIFEST_LINE];
    struct manifest_file file;
    struct sha256 want;
    struct str line, key, value;
    bool end = false;

    *ret = (struct manifest){ 0 };
    if (f == NULL)
        return false;
    for (size_t n = 0;; n++) {
        if (!manifest_next_line(f, room, &line, err))
            return false;
        if (line.len == 0)
            break;
        value = str_cut(line, ' ', &key);
        if (end || (n == 0 && !str_is(line, "waybill backup 1")))
            return n == 0 && str_starts(line, STR("waybill backup "))
                       ? err_set(err, ERR_PERMANENT, 0,
                                 "its file manifest has another form (%.40s): use the waybill that "
                                 "took it",
                                 room)
                       : manifest_damaged(err);
        if (str_is(key, "end")) {
            end = true;
            if (!digest_parse(value, &want))
                return manifest_damaged(err);
            continue;
        }
        digest_add(&digest, str_mem(room, line.len + 1));
        if (str_is(key, "file")) {
            if (!parse_file(value, &file))
                return manifest_damaged(err);
            ret->files++;
            ret->bytes += file.size;
        } else if (n > 0 && !parse_head(ret, key, value)) {
            return manifest_damaged(err);
        }
    }
    struct sha256 got = digest_end(&digest);

    return (end && digest_same(&got, &want)) || manifest_damaged(err);
}

bool manifest_each(int dirfd, manifest_visit *visit, void *arg, struct err *err)
{
    AUTO(close_file) FILE *f = open_file(dirfd, err);
    char room[MANIFEST_LINE];
    struct manifest_file file;
    struct str line, key;

    if (f == NULL)
        return false;
    for (;;) {
        if (!manifest_next_line(f, room, &line, err))
            return false;
        if (line.len == 0)
            return true;
        struct str value = str_cut(line, ' ', &key);

        if (!str_is(key, "file"))
            continue;
        if (!parse_file(value, &file))
            return manifest_damaged(err);
        if (!visit(arg, &file, err))
            return false;
    }
}
