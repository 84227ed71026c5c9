/* The manifest of a backup: written last, believed only whole. */
#include "store/backup/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "folder.h"
#include "test.h"

static bool write_one(int dirfd, struct err *err)
{
    struct manifest head = { .program = "0.1.0",
                             .schema = 11,
                             .store = "sqlite",
                             .taken_us = 1700000000000000,
                             .num = 256,
                             .store_id = 77,
                             .key = "0123456789abcdef" };
    struct manifest_file f = { .size = 12, .sha256 = digest_of(STR("hello, world")) };
    struct manifest_out m;
    bool ok = manifest_begin(&m, dirfd, err) && manifest_head(&m, &head, err);

    (void)snprintf(f.name, sizeof f.name, "payload/1 with blanks.seg");
    ok = ok && manifest_add(&m, &f, err);
    (void)snprintf(f.name, sizeof f.name, "waybill.db");
    ok = ok && manifest_add(&m, &f, err) && manifest_publish(&m, err);
    manifest_done(&m);
    return ok;
}

struct seen {
    int count;
    bool good;
};

static bool see(void *arg, const struct manifest_file *f, struct err *err)
{
    struct seen *s = arg;
    struct sha256 want = digest_of(STR("hello, world"));

    (void)err;
    s->good = s->good && f->size == 12 && digest_same(&f->sha256, &want) &&
              strcmp(f->name, s->count == 0 ? "payload/1 with blanks.seg" : "waybill.db") == 0;
    s->count++;
    return true;
}

TEST(manifest_is_read_as_it_was_written)
{
    AUTO(folder_done) struct folder folder = folder_make();
    struct seen s = { .good = true };
    struct manifest m;
    struct err err = { 0 };

    CHECK(!manifest_read(folder.fd, &m, &err) && err.sys == ENOENT);
    err = (struct err){ 0 };
    CHECK(write_one(folder.fd, &err));
    CHECK(manifest_read(folder.fd, &m, &err));
    CHECK(strcmp(m.program, "0.1.0") == 0 && m.schema == 11 && strcmp(m.store, "sqlite") == 0);
    CHECK(m.taken_us == 1700000000000000 && m.num == 256 && m.store_id == 77);
    CHECK(strcmp(m.key, "0123456789abcdef") == 0 && m.point[0] == '\0');
    CHECK(m.files == 2 && m.bytes == 24);
    CHECK(manifest_each(folder.fd, see, &s, &err) && s.count == 2 && s.good);
}

TEST(manifest_with_any_bit_flipped_is_refused)
{
    AUTO(folder_done) struct folder folder = folder_make();
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    struct manifest m;
    struct err err = { 0 };

    CHECK(write_one(folder.fd, &err) && file_read_whole(folder.fd, MANIFEST_NAME, &text, &err));
    for (size_t i = 0; i < text.len * 8; i++) {
        text.ptr[i / 8] = (char)(text.ptr[i / 8] ^ (1 << i % 8));
        err = (struct err){ 0 };
        CHECK(publish_bytes(folder.fd, MANIFEST_NAME, buf_view(&text), 0600, &err));
        CHECK(!manifest_read(folder.fd, &m, &err) && strstr(err.text, "manifest") != NULL);
        text.ptr[i / 8] = (char)(text.ptr[i / 8] ^ (1 << i % 8));
    }
    for (size_t n = 0; n < text.len; n += 7) {
        CHECK(publish_bytes(folder.fd, MANIFEST_NAME, str_mem(text.ptr, n), 0600, &err));
        CHECK(!manifest_read(folder.fd, &m, &err));
    }
}

TEST(manifest_names_that_lead_out_are_damage)
{
    static const char *const names[] = { "../x", "/etc/passwd", "payload/../../x", "" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        AUTO(folder_done) struct folder folder = folder_make();
        struct manifest_file f = { .size = 1 };
        struct manifest head = { .program = "x", .store = "sqlite" };
        struct manifest_out out;
        struct manifest m;
        struct err err = { 0 };

        (void)snprintf(f.name, sizeof f.name, "%s", names[i]);
        CHECK(manifest_begin(&out, folder.fd, &err) && manifest_head(&out, &head, &err) &&
              manifest_add(&out, &f, &err) && manifest_publish(&out, &err));
        CHECK(!manifest_read(folder.fd, &m, &err) && err.kind == ERR_PERMANENT);
    }
}

int main(void)
{
    return test_main();
}
