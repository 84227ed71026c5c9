/* Files and folders of an SFTP server that answers in any order and as little as it likes.  The
 * connection is a script: this program has its own ssh_link. */
#include "base/sftp_fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"
#include "test.h"

enum { OPEN = 3, CLOSE = 4, READ = 5, FSTAT = 8, OPENDIR = 11, READDIR = 12, REALPATH = 16 };
enum { PAGE = 3, QUEUE = 64 };

/* The server, and what it is to do wrong. */
static struct {
    uint64_t size;
    uint64_t piece_most;   /* of an answer; 0: what is asked */
    bool backwards;        /* answers to what came together, the last one first */
    uint64_t grows_after;  /* bytes that are read; 0: never */
    uint64_t cut_after;    /* answers; 0: never */
    bool wrong_id;         /* one of them */
    uint32_t refuses_read; /* a status; 0: none */
    unsigned names;        /* in the folder */

    struct buf answers[QUEUE];
    unsigned count;
    struct buf stream;
    size_t at;
    uint64_t read, answered;
    unsigned handles, listed, most_at_once;
} server;

static char byte_at(uint64_t offset)
{
    return (char)(offset * 7 + (offset >> 13));
}

static void put_u32(struct buf *b, uint64_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_putc(b, (char)(v >> shift));
}

static void put_u64(struct buf *b, uint64_t v)
{
    put_u32(b, v >> 32);
    put_u32(b, v & 0xffffffff);
}

static void put_attrs(struct buf *b)
{
    put_u32(b, 1 | 4 | 8);
    put_u64(b, server.size);
    put_u32(b, S_IFREG | 0644);
    put_u32(b, 5);
    put_u32(b, 6 + server.size % 2);
}

static uint64_t get(const char *at, size_t bytes)
{
    uint64_t v = 0;

    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | (uint8_t)at[i];
    return v;
}

static void put_status(struct buf *b, uint64_t id, uint32_t status)
{
    buf_putc(b, SFTP_A_STATUS);
    put_u32(b, id);
    put_u32(b, status);
}

static void answer_read(struct buf *b, uint64_t id, uint64_t offset, uint64_t len)
{
    if (server.refuses_read != 0 || offset >= server.size) {
        put_status(b, id, server.refuses_read != 0 ? server.refuses_read : SFTP_EOF);
        return;
    }
    len = len < server.size - offset ? len : server.size - offset;
    if (server.piece_most > 0 && len > server.piece_most)
        len = server.piece_most;
    buf_putc(b, SFTP_A_DATA);
    put_u32(b, id);
    put_u32(b, len);
    for (uint64_t i = 0; i < len; i++)
        buf_putc(b, byte_at(offset + i));
    server.read += len;
    if (server.grows_after > 0 && server.read >= server.grows_after) {
        server.size++;
        server.grows_after = 0;
    }
}

static void answer_names(struct buf *b, uint64_t id)
{
    unsigned left = server.names - server.listed, page = left < PAGE ? left : PAGE;

    if (page == 0) {
        put_status(b, id, SFTP_EOF);
        return;
    }
    buf_putc(b, SFTP_A_NAME);
    put_u32(b, id);
    put_u32(b, page);
    for (unsigned i = 0; i < page; i++) {
        put_u32(b, 1);
        buf_putc(b, (char)('a' + server.listed++));
        put_u32(b, 0);
        put_attrs(b);
    }
}

/* One request, without its length. */
static void answer(const char *request)
{
    struct buf *b = &server.answers[server.count++];
    uint64_t id = get(request + 1, 4), len = get(request + 5, 4);

    require(server.count < QUEUE);
    switch (request[0]) {
    case OPEN:
    case OPENDIR:
        buf_putc(b, SFTP_A_HANDLE);
        put_u32(b, id);
        put_u32(b, 1);
        buf_putc(b, 'h');
        server.handles++;
        break;
    case READ:
        answer_read(b, id, get(request + 9 + len, 8), get(request + 17 + len, 4));
        break;
    case FSTAT:
        buf_putc(b, (char)SFTP_ATTRS);
        put_u32(b, id + server.wrong_id);
        put_attrs(b);
        break;
    case READDIR:
        answer_names(b, id);
        break;
    case REALPATH:
        buf_putc(b, SFTP_A_NAME);
        put_u32(b, id);
        put_u32(b, 1);
        put_u32(b, 5);
        buf_puts(b, "/real");
        put_u32(b, 0);
        put_u32(b, 0);
        break;
    case CLOSE:
        server.handles--;
        put_status(b, id, SFTP_OK);
        break;
    default:
        put_status(b, id, SFTP_UNSUPPORTED);
    }
}

/* ---- the link ---- */

struct ssh_link {
    int nothing;
};

static struct ssh_link the_link;

bool ssh_link_open(const struct ssh_login *login, const char *subsystem,
                   const struct egress *egress, const struct dial_wait *wait, struct ssh_link **ret,
                   struct err *err)
{
    (void)login;
    (void)subsystem;
    (void)egress;
    (void)wait;
    (void)err;
    *ret = &the_link;
    buf_clear(&server.stream);
    server.at = 0;
    buf_put(&server.stream, STR("\0\0\0\x05\x02\0\0\0\x03")); /* version 3, no extensions */
    return true;
}

void ssh_link_close(struct ssh_link *l)
{
    (void)l;
}

const char *ssh_link_print(const struct ssh_link *l)
{
    (void)l;
    return "";
}

bool ssh_link_is_open(struct ssh_link *l)
{
    (void)l;
    return true;
}

static void send_answers(void)
{
    server.most_at_once = server.count > server.most_at_once ? server.count : server.most_at_once;
    for (unsigned i = 0; i < server.count; i++) {
        struct buf *b = &server.answers[server.backwards ? server.count - 1 - i : i];

        put_u32(&server.stream, b->len);
        buf_put(&server.stream, buf_view(b));
        buf_clear(b);
    }
    server.count = 0;
}

bool ssh_link_write(struct ssh_link *l, struct str bytes, const struct dial_wait *wait,
                    struct err *err)
{
    (void)l;
    (void)wait;
    (void)err;
    while (bytes.len >= 4) {
        size_t len = get(bytes.ptr, 4);

        if (bytes.ptr[4] != 1) /* INIT is answered already */
            answer(bytes.ptr + 4);
        bytes = str_from(bytes, 4 + len);
    }
    send_answers();
    return true;
}

bool ssh_link_read(struct ssh_link *l, void *to, size_t len, const struct dial_wait *wait,
                   struct err *err)
{
    (void)l;
    (void)wait;
    if (server.at + len > server.stream.len ||
        (server.cut_after > 0 && ++server.answered > server.cut_after))
        return err_set(err, ERR_TRANSIENT, ECONNRESET, "cut");
    memcpy(to, server.stream.ptr + server.at, len);
    server.at += len;
    if (server.at == server.stream.len) {
        buf_clear(&server.stream);
        server.at = 0;
    }
    return true;
}

/* ---- the tests ---- */

static struct sftp_client *begin(uint64_t size)
{
    const struct ssh_login login = { .host = "h" };
    const struct sftp_client_pace pace = { .silence_us = 1000000 };
    struct sftp_client *s = NULL;
    struct err err = { 0 };

    for (unsigned i = 0; i < QUEUE; i++)
        buf_done(&server.answers[i]);
    buf_done(&server.stream);
    memset(&server, 0, sizeof server);
    server.stream = (struct buf)BUF_INIT(8 << 20);
    for (unsigned i = 0; i < QUEUE; i++)
        server.answers[i] = (struct buf)BUF_INIT(1 << 20);
    server.size = size;
    require(sftp_client_open(&login, NULL, &pace, &s, &err));
    return s;
}

/* Reads all of it; *ret_size UINT64_MAX: a byte was wrong. */
static bool read_all(struct sftp_client *s, size_t room, uint64_t *ret_size, bool *ret_whole,
                     struct err *err)
{
    struct sftp_fetch f;
    char *piece = xcalloc(1, room);
    uint64_t at = 0;
    size_t len = 0;

    *ret_whole = false;
    bool ok = sftp_fetch_open(s, STR("x"), &f, err), right = true;

    if (ok) {
        do {
            ok = sftp_fetch_read(s, &f, piece, room, &len, err);
            for (size_t i = 0; ok && i < len; i++)
                right = right && piece[i] == byte_at(at + i);
            at += ok ? len : 0;
        } while (ok && len > 0);
        *ret_whole = ok && f.whole;
        sftp_fetch_close(s, &f);
    }
    free(piece);
    *ret_size = right ? at : UINT64_MAX;
    return ok;
}

TEST(a_file_is_read_whatever_the_order_and_the_size_of_answers)
{
    static const uint64_t sizes[] = { 0, 1, 4096, 32768, 32769, 700000, 3000001 };
    static const uint64_t pieces[] = { 0, 1000, 32767 };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < 2 * sizeof pieces / sizeof pieces[0]; k++) {
            struct sftp_client *s = begin(sizes[i]);
            struct err err = { 0 };
            uint64_t got = 0;
            bool whole;

            server.piece_most = pieces[k / 2];
            server.backwards = k % 2 == 1;
            CHECK(read_all(s, k % 2 == 1 ? 10000 : 65536, &got, &whole, &err));
            CHECK(got == sizes[i] && whole && server.handles == 0 && !sftp_client_is_lost(s));
            CHECK(sizes[i] < 1000000 || server.most_at_once > 4);
            sftp_client_close(s);
        }
}

TEST(a_file_that_grows_is_not_whole)
{
    for (uint64_t after = 1; after <= 200001; after += 20000) {
        struct sftp_client *s = begin(200001);
        struct err err = { 0 };
        uint64_t got = 0;
        bool whole = true;

        server.grows_after = after;
        CHECK(read_all(s, 65536, &got, &whole, &err) && !whole && server.handles == 0);
        CHECK(got <= 200002);
        sftp_client_close(s);
    }
}

TEST(a_connection_that_is_cut_anywhere_ends_the_reading)
{
    for (uint64_t after = 1; after < 40; after++) {
        struct sftp_client *s = begin(300000);
        struct err err = { 0 };
        uint64_t got = 0;
        bool whole = true;

        server.cut_after = after;
        if (read_all(s, 65536, &got, &whole, &err))
            CHECK(got == 300000 && whole);
        else
            CHECK(!whole && sftp_client_is_lost(s) && err.kind == ERR_TRANSIENT);
        sftp_client_close(s);
    }
}

TEST(a_refusal_leaves_the_connection)
{
    struct sftp_client *s = begin(300000);
    struct err err = { 0 };
    uint64_t got = 0;
    bool whole = true;

    server.refuses_read = SFTP_PERMISSION_DENIED;
    CHECK(!read_all(s, 65536, &got, &whole, &err) && err.sys == EACCES && !whole);
    CHECK(!sftp_client_is_lost(s) && server.handles == 0);
    server.refuses_read = 0;
    CHECK(read_all(s, 65536, &got, &whole, &err) && got == 300000 && whole);
    sftp_client_close(s);
}

TEST(an_answer_that_was_not_asked_for_ends_the_connection)
{
    struct sftp_client *s = begin(10);
    struct err err = { 0 };
    uint64_t got = 0;
    bool whole = true;

    server.wrong_id = true;
    CHECK(!read_all(s, 65536, &got, &whole, &err) && sftp_client_is_lost(s) && err.sys == EPROTO);
    sftp_client_close(s);
}

TEST(a_folder_is_listed_page_by_page_with_other_requests_between)
{
    struct sftp_client *s = begin(10);
    AUTO(buf_done) struct buf all = BUF_INIT(100), real = BUF_INIT(100);
    struct sftp_folder f;
    struct sftp_attrs a;
    struct err err = { 0 };
    bool end = false;

    server.names = 8;
    CHECK(sftp_folder_open(s, STR("."), &f, &err));
    while (!end) {
        struct str name;

        CHECK(sftp_folder_next(s, &f, &name, &a, &end, &err));
        if (end)
            break;
        CHECK(sftp_fetch_real(s, STR("."), &real, &err) && str_is(buf_view(&real), "/real"));
        CHECK(name.len == 1 && a.size == 10 && S_ISREG(a.mode));
        buf_put(&all, name);
    }
    CHECK(str_is(buf_view(&all), "abcdefgh"));
    sftp_folder_close(s, &f);
    CHECK(server.handles == 0 && !sftp_client_is_lost(s));
    sftp_client_close(s);
}

int main(void)
{
    return test_main();
}
