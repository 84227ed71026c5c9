#include "store/govern/version_file.h"

#include "base/auto.h"
#include "store/kernel/reader.h"

static struct db_value digest_value(const struct sha256 *sha)
{
    return db_bytes(str_mem(sha->bytes, SHA256_SIZE));
}

/* ---- adding ---- */

bool version_files_add(struct db *db, int64_t number, const struct config_files *files,
                       struct err *err)
{
    for (size_t i = 0; files != NULL && i < files->count; i++) {
        const struct config_file *f = &files->items[i];
        struct sha256 sha = digest_of(f->bytes);

        if (!db_run(db, SQL_CONFIG_BLOB_ADD, DB_ARGS(digest_value(&sha), db_bytes(f->bytes)), NULL,
                    err) ||
            !db_run(db, SQL_CONFIG_FILE_ADD,
                    DB_ARGS(db_int(number), db_text(f->path), digest_value(&sha),
                            db_int((int64_t)f->bytes.len)),
                    NULL, err))
            return false;
    }
    return true;
}

struct sha256 version_files_digest(const struct config_files *files)
{
    struct digest d = digest_start();

    for (size_t i = 0; i < files->count; i++) {
        struct sha256 sha = digest_of(files->items[i].bytes);

        digest_add(&d, files->items[i].path);
        digest_add(&d, STR("\0"));
        digest_add(&d, str_mem(sha.bytes, SHA256_SIZE));
    }
    return digest_end(&d);
}

/* ---- reading ---- */

static void version_file_read(struct db_rows *row, struct arena *a, void *to)
{
    *(struct version_file *)to =
        (struct version_file){ .path = row_text(row, CONFIG_FILE_LIST_PATH, a),
                               .sha256 = row_sha256(row, CONFIG_FILE_LIST_SHA256),
                               .size = db_get_int(row, CONFIG_FILE_LIST_SIZE) };
}

bool version_file_list(struct store *s, int64_t number, struct arena *a, struct version_file **ret,
                       size_t *ret_count, struct err *err)
{
    struct version_file *list = ARENA_ARRAY(a, struct version_file, CONFIG_FILES_MOST);

    *ret = list;
    return store_collect(s, SQL_CONFIG_FILE_LIST, DB_ARGS(db_int(number)),
                         ROWS_INTO(list, CONFIG_FILES_MOST, a, version_file_read), ret_count, err);
}

struct version_content {
    struct config_file file;
    bool is_whole;
};

static void version_file_read_content(struct db_rows *row, struct arena *a, void *to)
{
    struct str bytes = db_get_str(row, CONFIG_FILE_PAGE_BYTES);
    struct sha256 want = row_sha256(row, CONFIG_FILE_PAGE_SHA256), got = digest_of(bytes);
    struct version_content *c = to;

    c->file = (struct config_file){ .path = row_text(row, CONFIG_FILE_PAGE_PATH, a),
                                    .bytes = arena_copy(a, bytes) };
    c->is_whole = digest_same(&want, &got) && !db_is_null(row, CONFIG_FILE_PAGE_BYTES);
}

/* One by one: a connection holds one content at a time. */
bool version_files(struct store *s, int64_t number, struct arena *a, struct config_files *ret,
                   struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    struct config_file *items = ARENA_ARRAY(a, struct config_file, CONFIG_FILES_MOST);
    struct version_content c = { .file = { .path = STR("") } };
    bool found = r.db != NULL;

    *ret = (struct config_files){ .items = items };
    if (r.db == NULL)
        return false;
    for (size_t i = 0; found && i < CONFIG_FILES_MOST; i++) {
        if (!rows_one(r.db, SQL_CONFIG_FILE_PAGE, DB_NO_SLOT,
                      DB_ARGS(db_int(number), db_text(c.file.path)), version_file_read_content, a,
                      &c, &found, err))
            return false;
        if (found && c.is_whole)
            items[ret->count++] = c.file;
    }
    return true;
}

static void version_file_read_bytes(struct db_rows *row, struct arena *a, void *to)
{
    *(struct str *)to = arena_copy(a, db_get_str(row, 0));
}

bool version_file_content(struct store *s, const struct sha256 *sha256, struct arena *a,
                          struct str *ret, struct err *err)
{
    struct sha256 got;
    bool found;

    if (!store_one(s, SQL_CONFIG_BLOB_GET, DB_ARGS(digest_value(sha256)), version_file_read_bytes,
                   a, ret, &found, err) ||
        !found)
        return false;
    got = digest_of(*ret);
    return digest_same(&got, sha256);
}

static bool is_among(const struct config_files *files, const struct version_file *f)
{
    const struct config_file *given = config_files_find(files, f->path);
    struct sha256 sha = given != NULL ? digest_of(given->bytes) : (struct sha256){ 0 };

    return given != NULL && digest_same(&sha, &f->sha256);
}

bool version_has_files(struct store *s, int64_t number, const struct config_files *files, bool *ret,
                       struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct version_file *list;
    size_t n;

    if (!version_file_list(s, number, &a, &list, &n, err))
        return false;
    *ret = n == files->count;
    for (size_t i = 0; *ret && i < n; i++)
        *ret = is_among(files, &list[i]);
    return true;
}
