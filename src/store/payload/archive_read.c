#include "store/payload/archive_read.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

/* ---- files ---- */

const char *archive_file(const char *name, const char *suffix, char to[static ARCHIVE_FILE])
{
    (void)snprintf(to, ARCHIVE_FILE, "%s%s", name, suffix);
    return to;
}

bool archive_folder(struct str folder, bool make, int *ret, struct err *err)
{
    AUTO_TEXT path = xcalloc(1, folder.len + 1);

    memcpy(path, folder.ptr, folder.len);
    if (make && mkdir(path, 0750) < 0 && errno != EEXIST)
        return err_set(err, ERR_TRANSIENT, errno, "make archive folder %s: %s", path,
                       strerror(errno));
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret >= 0 ||
           err_set(err, ERR_TRANSIENT, errno, "open archive folder %s: %s", path, strerror(errno));
}

int64_t archive_u64(const char *at)
{
    uint64_t n;

    memcpy(&n, at, sizeof n);
    return (int64_t)le64toh(n);
}

/* ---- walking an index ---- */

struct archive_walk *archive_walk(struct arena *a, struct str folder, struct str name,
                                  struct archive_walk *next)
{
    struct archive_walk *w = ARENA_NEW(a, struct archive_walk);

    w->folder = arena_copy(a, folder);
    (void)snprintf(w->name, sizeof w->name, "%.*s", STR_ARG(name));
    w->at = w->filled = w->next_in = 0;
    w->ended = false;
    w->next = next;
    return w;
}

static bool archive_read_walk_on(struct archive_walk *w, struct err *err)
{
    char file[ARCHIVE_FILE];
    struct stat st;
    int dirfd;

    if (!archive_folder(w->folder, false, &dirfd, err))
        return false;
    AUTO_FD fd = openat(dirfd, archive_file(w->name, ".index", file), O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0;

    if (!ok)
        (void)err_set(err, ERR_TRANSIENT, errno, "archive %s: %s", file, strerror(errno));
    (void)close(dirfd);
    if (!ok)
        return false;
    int64_t left = st.st_size / ARCHIVE_ENTRY - (w->at + w->filled);

    w->at += w->filled;
    w->next_in = 0;
    w->filled = left > ARCHIVE_WALK_PAGE ? ARCHIVE_WALK_PAGE : left;
    w->ended = left <= 0;
    return w->ended || file_read_at(fd, w->page, (size_t)(w->filled * ARCHIVE_ENTRY),
                                    w->at * ARCHIVE_ENTRY, err);
}

bool archive_walk_has(struct archive_walk *w, const struct id *id, bool *ret, struct err *err)
{
    int64_t num = id_row(id);

    *ret = false;
    while (!w->ended) {
        for (; w->next_in < w->filled; w->next_in++) {
            struct id at;

            memcpy(at.bytes, w->page + w->next_in * ARCHIVE_ENTRY, sizeof at.bytes);
            if (id_row(&at) < num)
                continue;
            *ret = id_eq(&at, id);
            return true;
        }
        if (!archive_read_walk_on(w, err))
            return false;
    }
    return true;
}

/* ---- a document ---- */

/* Binary search for the entry of an id; the index is sorted by document number. */
static bool search_index(int fd, const struct id *id, char entry[static ARCHIVE_ENTRY],
                         bool *ret_found, struct err *err)
{
    struct stat st;
    int64_t num = id_row(id), low = 0, high;

    *ret_found = false;
    if (fstat(fd, &st) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "archive index: %s", strerror(errno));
    for (high = st.st_size / ARCHIVE_ENTRY; low < high;) {
        int64_t mid = low + (high - low) / 2;
        struct id at;

        if (!file_read_at(fd, entry, ARCHIVE_ENTRY, mid * ARCHIVE_ENTRY, err))
            return false;
        memcpy(at.bytes, entry, sizeof at.bytes);
        if (id_row(&at) == num) {
            *ret_found = id_eq(&at, id);
            return true;
        }
        if (id_row(&at) < num)
            low = mid + 1;
        else
            high = mid;
    }
    return true;
}

static bool archive_read_read_line(int fd, int64_t at, int64_t size, struct buf *line,
                                   struct err *err)
{
    if (size < 0 || size > ARCHIVE_LINE_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the archive is damaged");
    if (!buf_reserve(line, (size_t)size, err) ||
        !file_read_at(fd, line->ptr, (size_t)size, at, err))
        return false;
    line->len = (size_t)size;
    line->ptr[line->len] = '\0';
    return true;
}

static bool look_in(struct str folder, struct str name, const struct id *id,
                    struct archive_place *ret, struct buf *line, bool *ret_found, struct err *err)
{
    char base[ARCHIVE_NAME], file[ARCHIVE_FILE], entry[ARCHIVE_ENTRY];
    int dirfd;

    *ret_found = false;
    (void)snprintf(base, sizeof base, "%.*s", STR_ARG(name));
    if (!archive_folder(folder, false, &dirfd, err))
        return false;
    AUTO_FD folder_fd = dirfd;
    AUTO_FD index = openat(dirfd, archive_file(base, ".index", file), O_RDONLY | O_CLOEXEC);

    if (index < 0)
        return err_set(err, ERR_TRANSIENT, errno, "archive %s: %s", file, strerror(errno));
    if (!search_index(index, id, entry, ret_found, err) || !*ret_found)
        return err->kind == ERR_NONE;
    int fd = openat(folder_fd, archive_file(base, ".docs", file), O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_TRANSIENT, errno, "archive %s: %s", file, strerror(errno));
    *ret = (struct archive_place){ .fd = fd,
                                   .offset = archive_u64(entry + 16),
                                   .size = archive_u64(entry + 24) };
    memcpy(ret->sha256.bytes, entry + 32, SHA256_SIZE);
    if (line == NULL ||
        archive_read_read_line(fd, archive_u64(entry + 64), archive_u64(entry + 72), line, err))
        return true;
    (void)close(fd);
    return false;
}

enum { CANDIDATES = 64 }; /* archives in a page */

struct candidate {
    struct str folder, name;
    int64_t day, part;
};

static void read_candidate(struct db_rows *row, struct arena *a, void *to)
{
    *(struct candidate *)to = (struct candidate){ .folder = row_text(row, ARCHIVE_FIND_FOLDER, a),
                                                  .name = row_text(row, ARCHIVE_FIND_NAME, a),
                                                  .day = db_get_int(row, ARCHIVE_FIND_DAY),
                                                  .part = db_get_int(row, ARCHIVE_FIND_PART) };
}

/* The next page of archives, after `behind`, whose range of numbers includes `num`. */
static bool candidates(struct store *s, int64_t num, const struct candidate *behind,
                       struct arena *a, struct candidate *ret, size_t *ret_count, struct err *err)
{
    return store_collect(
        s, SQL_ARCHIVE_FIND,
        DB_ARGS(db_int(num), db_int(behind->day), db_int(behind->part), db_int(CANDIDATES)),
        ROWS_INTO(ret, CANDIDATES, a, read_candidate), ret_count, err);
}

/* An archive that cannot be read does not end the search: another one may have the document.  The
 * first such error is returned only if none has. */
bool archive_find(struct store *s, const struct id *id, struct archive_place *ret, struct buf *line,
                  bool *ret_found, struct err *err)
{
    struct candidate all[CANDIDATES], last = { .day = INT64_MAX };
    struct err first = { 0 };
    size_t n;

    *ret_found = false;
    do {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

        if (!candidates(s, id_row(id), &last, &a, all, &n, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            struct err here = { 0 };

            last = (struct candidate){ .day = all[i].day, .part = all[i].part };
            if (look_in(all[i].folder, all[i].name, id, ret, line, ret_found, &here)) {
                if (*ret_found)
                    return true;
                continue;
            }
            *ret_found = false;
            if (first.kind == ERR_NONE)
                first = here;
        }
    } while (n == CANDIDATES);
    if (first.kind != ERR_NONE)
        *err = first;
    return first.kind == ERR_NONE;
}

/* The line before a stage or an answer: "stage N LENGTH SHA256" or "answer ENDPOINT LENGTH SHA256".
 * False: it is none, so the next document begins here, or the file is over. */
struct piece_head {
    int64_t stage; /* 0: an answer */
    int64_t bytes; /* of the line */
    int64_t size;
    struct sha256 sha256;
};

static bool archive_parse_head(struct str text, struct piece_head *ret)
{
    ptrdiff_t end = str_find(text, '\n');
    struct str line = end >= 0 ? str_mem(text.ptr, (size_t)end) : STR(""), kind, name, size;
    struct str sha = str_cut(str_cut(str_cut(line, ' ', &kind), ' ', &name), ' ', &size);

    *ret = (struct piece_head){ .bytes = end + 1 };
    if (!str_is(kind, "stage") && !str_is(kind, "answer"))
        return false;
    return (str_is(kind, "answer") || (str_to_i64(name, &ret->stage) && ret->stage > 0)) &&
           str_to_i64(size, &ret->size) && ret->size >= 0 && digest_parse(sha, &ret->sha256);
}

/* Reads up to ARCHIVE_HEAD_MOST bytes at an offset; fewer at the end of the file. */
static bool archive_read_head(int fd, int64_t at, struct piece_head *ret, bool *ret_is,
                              struct err *err)
{
    char text[ARCHIVE_HEAD_MOST];
    ssize_t n = pread(fd, text, sizeof text, at);

    if (n < 0)
        return err_set(err, ERR_TRANSIENT, errno, "archive: %s", strerror(errno));
    *ret_is = archive_parse_head(str_mem(text, (size_t)n), ret);
    return true;
}

/* Looks behind the payload; *ret_at: the offset from its start. */
static bool archive_find_stage(const struct archive_place *place, int64_t stage,
                               struct piece_head *ret, int64_t *ret_at, bool *ret_found,
                               struct err *err)
{
    int64_t at = place->size + 1;
    bool is;

    for (*ret_found = false;; at += ret->bytes + ret->size + 1) {
        if (!archive_read_head(place->fd, place->offset + at, ret, &is, err))
            return false;
        if (!is)
            return true;
        if (ret->stage != stage)
            continue;
        *ret_at = at + ret->bytes;
        *ret_found = true;
        return true;
    }
}

bool archive_source(struct store *s, const struct id *id, int64_t stage, struct payload_source *ret,
                    bool *ret_found, struct err *err)
{
    struct piece_head head = { 0 };
    struct archive_place place;
    int64_t at = 0;

    if (!archive_find(s, id, &place, NULL, ret_found, err))
        return false;
    if (!*ret_found)
        return true;
    bool ok = stage == 0 || archive_find_stage(&place, stage, &head, &at, ret_found, err);

    (void)close(place.fd);
    *ret = (struct payload_source){ .id = *id,
                                    .num = id_row(id),
                                    .size = stage == 0 ? place.size : head.size,
                                    .sha256 = stage == 0 ? place.sha256 : head.sha256,
                                    .place = { .seg = PAYLOAD_IN_ARCHIVE, .pos = at } };
    return ok;
}
