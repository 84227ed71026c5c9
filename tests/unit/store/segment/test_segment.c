#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "again.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "folder.h"
#include "store/segment/segment.h"

enum { HEADER = 104, KIB = 1 << 10, MIB = 1 << 20, SMALL = 256 << 10 };

/* A payload that is made again from its number, and where it went. */
struct entry {
    uint64_t number;
    size_t len;
    struct id id;
    struct payload_ref place;
};

static char bytes_a[MIB], bytes_b[MIB];

static struct str content(char *room, uint64_t number, size_t len)
{
    uint64_t x = number * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (size_t i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        room[i] = (char)(x >> 32);
    }
    return str_mem(room, len);
}

static bool add(struct segments *s, struct entry *e, uint64_t number, size_t len, struct err *err)
{
    struct str bytes = content(bytes_a, number, len);
    struct sha256 sha = digest_of(bytes);

    *e = (struct entry){ .number = number, .len = len };
    e->id = id_make(INT64_C(1800000000000000), (int64_t)number, number);
    return segments_add(s, &(struct segment_payload){ .id = e->id, .sha256 = sha, .bytes = bytes },
                        &e->place, err);
}

static bool is_there(int dirfd, const struct entry *e)
{
    AUTO(buf_done) struct buf got = BUF_INIT(MIB + 1);
    struct err err = { 0 };

    if (!segment_read(dirfd, e->place, &e->id, &got, &err)) {
        printf("# entry %d at %lld/%lld: %s\n", (int)e->number, (long long)e->place.seg,
               (long long)e->place.pos, err.text);
        return false;
    }
    return str_eq(buf_view(&got), content(bytes_b, e->number, e->len));
}

static int open_segment(int dirfd, int64_t seg, int flags)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%lld.seg", (long long)seg);
    return openat(dirfd, name, flags | O_CLOEXEC);
}

static size_t count_segments(int dirfd)
{
    DIR *dir = fdopendir(openat(dirfd, ".", O_RDONLY | O_DIRECTORY));
    size_t n = 0;

    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strstr(e->d_name, ".seg") != NULL;
    (void)closedir(dir);
    return n;
}

/* The maker syncs a spare when it is filled: wait until it did so once more. */
static bool wait_for_sync(uint64_t before)
{
    for (int i = 0; i < 5000 && file_syncs() <= before; i++)
        clock_sleep_us(1000);
    return file_syncs() > before;
}

static int64_t aligned(size_t len)
{
    return (int64_t)((HEADER + len + 7) / 8 * 8);
}

static uint64_t number_at(const unsigned char *p, int len)
{
    uint64_t v = 0;

    for (int i = len - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

TEST(segment_has_the_format_of_the_header)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[2];
    unsigned char raw[256];
    time_t now = (time_t)(clock_wall_us() / CLOCK_S);
    struct tm tm;

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    segments_begin(s, 77);
    CHECK(add(s, &e[0], 1, 5, &err) && add(s, &e[1], 2, 16, &err));
    CHECK(segments_flush(s, &err));
    segments_close(s);
    (void)gmtime_r(&now, &tm);
    CHECK(e[0].place.seg / 100000 ==
              (tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday ||
          tm.tm_hour == 0); /* midnight passed */
    CHECK(e[0].place.seg % 100000 == 1 && e[0].place.pos == 0);
    CHECK(e[1].place.seg == e[0].place.seg && e[1].place.pos == 112);

    AUTO_FD fd = open_segment(f.fd, e[0].place.seg, O_RDONLY);
    struct stat st;

    CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == SMALL && (st.st_mode & 0777) == 0600);
    CHECK(file_read_at(fd, raw, sizeof raw, 0, &err));
    CHECK(memcmp(raw, "WBP2", 4) == 0);
    CHECK(number_at(raw + 4, 2) == HEADER && number_at(raw + 6, 2) == 0);
    CHECK(number_at(raw + 8, 8) == (uint64_t)e[0].place.seg);
    CHECK(number_at(raw + 16, 8) == 5 && number_at(raw + 24, 8) == 5);
    CHECK(memcmp(raw + 32, e[0].id.bytes, 16) == 0);
    struct sha256 sha = digest_of(content(bytes_a, 1, 5));

    CHECK(memcmp(raw + 48, sha.bytes, 32) == 0);
    CHECK(number_at(raw + 80, 8) == 0 && number_at(raw + 88, 8) == 77);
    CHECK(number_at(raw + 96, 8) != 0);
    CHECK(memcmp(raw + 104, bytes_a, 5) == 0 && memcmp(raw + 109, "\0\0\0", 3) == 0);
    CHECK(memcmp(raw + 112, "WBP2", 4) == 0);
}

TEST(segment_reads_back_every_size)
{
    static const size_t sizes[] = {
        0,         1,       7,   8, 9, 4096, 511 * KIB, 512 * KIB - HEADER, 512 * KIB - 103,
        512 * KIB, MIB - 1, MIB, 0, 3
    };
    enum { N = sizeof sizes / sizeof sizes[0] };
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[N];
    int64_t end = 0;

    CHECK(segments_open(f.fd, 8 * MIB, 0, &s, &err));
    for (size_t i = 0; i < N; i++) {
        CHECK(add(s, &e[i], i, sizes[i], &err));
        CHECK(e[i].place.pos == end && e[i].place.pos % 8 == 0);
        end += aligned(sizes[i]);
    }
    CHECK(segments_flush(s, &err));
    for (size_t i = 0; i < N; i++)
        CHECK(is_there(f.fd, &e[i]));
    segments_close(s);
    for (size_t i = 0; i < N; i++)
        CHECK(is_there(f.fd, &e[i]));
    CHECK(count_segments(f.fd) == 1);
}

TEST(segment_takes_a_payload_larger_than_itself)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[3];

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &e[0], 0, 10, &err) && add(s, &e[1], 1, MIB, &err) && add(s, &e[2], 2, 10, &err));
    CHECK(segments_flush(s, &err));
    CHECK(is_there(f.fd, &e[0]) && is_there(f.fd, &e[1]) && is_there(f.fd, &e[2]));
    CHECK(count_segments(f.fd) == 3);
    segments_close(s);
}

TEST(segment_group_larger_than_the_stage)
{
    enum { N = 100 };
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[N];

    CHECK(segments_open(f.fd, 16 * MIB, 0, &s, &err));
    uint64_t before = file_syncs();

    for (size_t i = 0; i < N; i++) /* 4.8 MiB with two large ones between */
        CHECK(add(s, &e[i], i, i % 40 == 20 ? 900 * KIB : 30 * KIB + i, &err));
    CHECK(segments_flush(s, &err));
    CHECK(file_syncs() - before <= 2 * 16 + 2); /* two spares by the MiB, the folder, the group */
    before = file_syncs();
    CHECK(segments_flush(s, &err));
    CHECK(file_syncs() - before <= 2); /* nothing is dirty: at most the maker syncs */
    for (size_t i = 0; i < N; i++)
        CHECK(is_there(f.fd, &e[i]));
    segments_close(s);
}

/* The spare is ready each time, as in a quiet hour; nothing may touch it once it
 * has its name. */
TEST(segment_rolls_over_and_keeps_all)
{
    enum { N = 60 };
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[N];
    uint64_t before = file_syncs();
    size_t rolls = 0;

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    for (size_t i = 0; i < N; i++) {
        bool rolled = i == 0 || e[i - 1].place.pos + 2 * aligned(50 * KIB) > SMALL;

        if (rolled)
            CHECK(wait_for_sync(before)); /* its spare is there */
        before = file_syncs();
        CHECK(add(s, &e[i], i, 50 * KIB, &err));
        CHECK(segments_flush(s, &err));
        CHECK(rolled == (e[i].place.pos == 0));
        CHECK(i == 0 || e[i].place.seg == e[i - 1].place.seg + rolled);
        rolls += rolled;
        before = rolled ? before + 2 : before; /* the folder and the group */
    }
    CHECK(wait_for_sync(before));
    segments_close(s);
    for (size_t i = 0; i < N; i++)
        CHECK(is_there(f.fd, &e[i]));
    CHECK(count_segments(f.fd) == rolls && rolls == N / 5);
}

TEST(segment_rolls_over_as_fast_as_it_can)
{
    enum { N = 400 };
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    static struct entry e[N];

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    for (size_t i = 0; i < N; i++) {
        CHECK(add(s, &e[i], i, 10 * KIB + i * 97 % (90 * KIB), &err));
        CHECK(i % 7 != 0 || segments_flush(s, &err));
    }
    CHECK(segments_flush(s, &err));
    segments_close(s);
    for (size_t i = 0; i < N; i++)
        CHECK(is_there(f.fd, &e[i]));
}

TEST(segment_goes_on_behind_the_last_entry)
{
    enum { N = 30 };
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[N];

    for (size_t i = 0; i < N; i++) {
        /* another size each time: the open segment keeps its own */
        CHECK(segments_open(f.fd, SMALL * (1 + (int64_t)i % 2), 0, &s, &err));
        CHECK(add(s, &e[i], i, 20 * KIB + i, &err));
        CHECK(segments_flush(s, &err));
        CHECK(i == 0 || e[i].place.seg != e[i - 1].place.seg ||
              e[i].place.pos == e[i - 1].place.pos + aligned(e[i - 1].len));
        segments_close(s);
    }
    for (size_t i = 0; i < N; i++) {
        struct stat st;
        AUTO_FD fd = open_segment(f.fd, e[i].place.seg, O_RDONLY);

        CHECK(is_there(f.fd, &e[i]));
        CHECK(fd >= 0 && fstat(fd, &st) == 0 &&
              (st.st_size == SMALL || st.st_size == 2 * SMALL)); /* none grew */
    }
}

static bool damage(int dirfd, int64_t seg, int64_t at, struct str bytes)
{
    AUTO_FD fd = open_segment(dirfd, seg, O_WRONLY);
    struct err err = { 0 };

    return fd >= 0 && file_write_at(fd, bytes, at, &err);
}

/* It may be a damaged header with committed payloads behind it. */
TEST(segment_begins_a_new_one_behind_a_torn_tail)
{
    enum { HALF_HEADER, HEADER_ONLY, ALL_BUT_MAGIC, NOISE, OTHER_SEGMENT, CASES };

    for (int i = 0; i < CASES; i++) {
        AUTO(folder_done) struct folder f = folder_make();
        struct segments *s;
        struct err err = { 0 };
        struct entry first, torn, next;
        char raw[HEADER + 1000];

        CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
        CHECK(add(s, &first, 1, 777, &err) && add(s, &torn, 2, 1000, &err));
        CHECK(segments_flush(s, &err));
        segments_close(s);
        AUTO_FD fd = open_segment(f.fd, first.place.seg, O_RDWR);
        int64_t at = torn.place.pos;

        CHECK(fd >= 0 && file_read_at(fd, raw, sizeof raw, at, &err));
        if (i == HALF_HEADER)
            memset(raw + 50, 0, sizeof raw - 50);
        if (i == HEADER_ONLY)
            memset(raw + 96, 0, 8);
        if (i == ALL_BUT_MAGIC)
            memset(raw, 0, 4);
        if (i == NOISE)
            (void)content(raw, 99, sizeof raw);
        if (i == OTHER_SEGMENT)
            raw[8] ^= 1;
        CHECK(file_write_at(fd, str_mem(raw, sizeof raw), at, &err));

        CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
        CHECK(add(s, &next, 3, 100, &err) && segments_flush(s, &err));
        segments_close(s);
        CHECK(next.place.seg == first.place.seg + 1 && next.place.pos == 0);
        CHECK(is_there(f.fd, &first) && is_there(f.fd, &next));
    }
}

/* A header that rots must not cost the committed payloads behind it. */
TEST(segment_never_overwrites_entries_behind_a_damaged_one)
{
    enum { N = 40 };
    static const size_t hurt[] = { 0, 1, 17, N - 2 };

    for (size_t k = 0; k < sizeof hurt / sizeof hurt[0]; k++) {
        AUTO(folder_done) struct folder f = folder_make();
        struct segments *s;
        struct err err = { 0 };
        struct entry e[N], next;

        CHECK(segments_open(f.fd, 2 * MIB, 0, &s, &err));
        for (size_t i = 0; i < N; i++)
            CHECK(add(s, &e[i], i, 40 * KIB + i, &err));
        CHECK(segments_flush(s, &err));
        segments_close(s);
        CHECK(damage(f.fd, e[0].place.seg, e[hurt[k]].place.pos + 20, STR("x")));

        CHECK(segments_open(f.fd, 2 * MIB, 0, &s, &err));
        CHECK(add(s, &next, N, 5 * KIB, &err) && segments_flush(s, &err));
        segments_close(s);
        CHECK(next.place.seg == e[0].place.seg + 1 && next.place.pos == 0);
        for (size_t i = 0; i < N; i++)
            CHECK(i == hurt[k] || is_there(f.fd, &e[i]));
        CHECK(is_there(f.fd, &next));
    }
}

/* A payload holds a header of its own segment, and the header before it rots: appending must not
 * begin within an entry. */
TEST(segment_is_not_deceived_by_a_header_in_a_payload)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[2], next;
    char forged[4 * HEADER] = { 0 };
    struct payload_ref place;

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &e[0], 1, 0, &err) && segments_flush(s, &err));
    AUTO_FD fd = open_segment(f.fd, e[0].place.seg, O_RDWR);

    CHECK(fd >= 0 && file_read_at(fd, forged + HEADER, HEADER, 0, &err)); /* of an empty entry */
    struct str body = str_mem(forged, sizeof forged);
    struct segment_payload p = { .id = e[0].id, .sha256 = digest_of(body), .bytes = body };

    CHECK(segments_add(s, &p, &place, &err) && segments_flush(s, &err));
    segments_close(s);
    CHECK(damage(f.fd, place.seg, place.pos + 20, STR("x")));
    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &next, 3, 100, &err) && segments_flush(s, &err));
    segments_close(s);
    CHECK(next.place.seg == place.seg + 1 && next.place.pos == 0);
}

TEST(segment_name_of_a_lost_one_is_not_used_again)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e, next;
    char name[32];

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &e, 1, 100, &err) && segments_flush(s, &err));
    segments_close(s);
    (void)snprintf(name, sizeof name, "%lld.seg", (long long)e.place.seg);
    CHECK(unlinkat(f.fd, name, 0) == 0);
    CHECK(segments_open(f.fd, SMALL, e.place.seg, &s, &err));
    CHECK(add(s, &next, 2, 100, &err) && segments_flush(s, &err));
    segments_close(s);
    CHECK(next.place.seg == e.place.seg + 1);
}

struct seen {
    struct segment_entry entries[8];
    size_t count;
};

static void see_entry(void *arg, const struct segment_entry *e)
{
    struct seen *l = arg;

    l->entries[l->count++] = *e;
}

TEST(segment_record_is_covered_by_one_check)
{
    AUTO(folder_done) struct folder f = folder_make();
    AUTO(buf_done) struct buf bytes = BUF_INIT(MIB + 1), record = BUF_INIT(MIB);
    struct segment_about about = { .record = &record };
    struct segments *s;
    struct err err = { 0 };
    struct id id = id_make(INT64_C(1800000000000000), 5, 5);
    struct segment_payload p = { .id = id,
                                 .sha256 = digest_of(STR("body")),
                                 .bytes = STR("body"),
                                 .record = STR("what is said of it") };
    struct payload_ref at, large;
    struct seen seen = { 0 };
    int64_t size;
    bool whole;

    CHECK(segments_open(f.fd, 4 * MIB, 0, &s, &err));
    segments_begin(s, 41);
    CHECK(segments_add(s, &p, &at, &err));
    p.bytes = content(bytes_a, 3, 700 * KIB); /* past the stage */
    p.sha256 = digest_of(p.bytes);
    segments_begin(s, 42);
    CHECK(segments_add(s, &p, &large, &err) && segments_flush(s, &err));
    segments_close(s);
    CHECK(segments_open(f.fd, 4 * MIB, 0, &s, &err));
    CHECK(segments_last_commit(s) == 42);
    segments_close(s);
    CHECK(segment_scan(f.fd, at.seg, see_entry, &seen, &size, &whole, &err) && whole);
    CHECK(seen.count == 2 && seen.entries[0].commit == 41 && seen.entries[1].has_record);
    CHECK(segment_read_entry(f.fd, large, &id, &bytes, &about, &err));
    CHECK(str_is(buf_view(&record), "what is said of it") && bytes.len == 700 * KIB);
    CHECK(segment_read_entry(f.fd, at, &id, &bytes, &about, &err));
    CHECK(str_is(buf_view(&record), "what is said of it") && about.elsewhere == 0);
    for (int64_t i = 0; i < 26; i++) { /* the record and its check */
        char was, wrong;
        AUTO_FD fd = open_segment(f.fd, at.seg, O_RDWR);

        CHECK(fd >= 0 && file_read_at(fd, &was, 1, at.pos + HEADER + 4 + i, &err));
        wrong = (char)(was ^ 1);
        CHECK(file_write_at(fd, str_mem(&wrong, 1), at.pos + HEADER + 4 + i, &err));
        CHECK(segment_read_entry(f.fd, at, &id, &bytes, &about, &err) && record.len == 0);
        CHECK(file_write_at(fd, str_mem(&was, 1), at.pos + HEADER + 4 + i, &err));
    }
}

TEST(segment_copy_names_its_origin)
{
    AUTO(folder_done) struct folder f = folder_make();
    AUTO(buf_done) struct buf bytes = BUF_INIT(MIB + 1), record = BUF_INIT(MIB);
    struct segment_about about = { .record = &record };
    struct segments *s;
    struct err err = { 0 };
    struct id id = id_make(INT64_C(1800000000000000), 5, 5);
    struct segment_payload p = { .id = id, .origin = { .seg = 7, .pos = 1234 } };
    struct payload_ref at[4];
    struct seen seen = { 0 };
    int64_t size;
    bool whole;

    CHECK(segments_open(f.fd, 4 * MIB, 0, &s, &err));
    for (size_t i = 0; i < 4; i++) { /* without and with a record, small and past the stage */
        p.record = i % 2 == 0 ? (struct str){ 0 } : STR("a record");
        p.bytes = content(bytes_a, 3, i < 2 ? 5 : 700 * KIB);
        p.sha256 = digest_of(p.bytes);
        CHECK(segments_add(s, &p, &at[i], &err));
    }
    CHECK(segments_flush(s, &err));
    segments_close(s);
    CHECK(segment_scan(f.fd, at[0].seg, see_entry, &seen, &size, &whole, &err) && whole);
    CHECK(seen.count == 4);
    for (size_t i = 0; i < 4; i++) {
        CHECK(seen.entries[i].is_copy && seen.entries[i].has_record == (i % 2 == 1));
        CHECK(segment_read_entry(f.fd, at[i], &id, &bytes, &about, &err));
        CHECK(about.origin.seg == 7 && about.origin.pos == 1234);
        CHECK(str_is(buf_view(&record), i % 2 == 1 ? "a record" : ""));
    }
}

/* An entry as programs before this one wrote it. */
TEST(segment_reads_entries_without_a_record)
{
    static const char sha_of[] = "old payload";
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e = { .id = id_make(INT64_C(1800000000000000), 9, 9), .place = { .pos = 0 } },
                 next;
    struct sha256 sha = digest_of(STR("old payload"));
    char raw[96 + 16] = { 0 };
    uint64_t check = UINT64_C(0x9e3779b97f4a7c15), v;
    AUTO(buf_done) struct buf got = BUF_INIT(MIB);

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &next, 1, 0, &err) && segments_flush(s, &err));
    segments_close(s);
    e.place = next.place;
    v = UINT64_C(0x31504257) | UINT64_C(96) << 32;
    memcpy(raw, &v, 8);
    memcpy(raw + 8, &e.place.seg, 8);
    v = sizeof sha_of - 1;
    memcpy(raw + 16, &v, 8);
    memcpy(raw + 24, &v, 8);
    memcpy(raw + 32, e.id.bytes, 16);
    memcpy(raw + 48, sha.bytes, 32);
    for (size_t i = 0; i < 88; i += 8) {
        memcpy(&v, raw + i, 8);
        check = (check ^ v) * UINT64_C(0xff51afd7ed558ccd);
        check ^= check >> 32;
    }
    memcpy(raw + 88, &check, 8);
    memcpy(raw + 96, sha_of, sizeof sha_of - 1);
    CHECK(damage(f.fd, e.place.seg, 0, str_mem(raw, sizeof raw)));
    CHECK(segment_read(f.fd, e.place, &e.id, &got, &err) && str_is(buf_view(&got), sha_of));
    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &next, 2, 100, &err) && segments_flush(s, &err));
    segments_close(s);
    CHECK(next.place.seg == e.place.seg && next.place.pos == 112 && is_there(f.fd, &next));
}

static bool read_fails(int dirfd, const struct entry *e, int sys)
{
    AUTO(buf_done) struct buf got = BUF_INIT(MIB + 1);
    struct err err = { 0 };

    return !segment_read(dirfd, e->place, &e->id, &got, &err) && err.kind == ERR_PERMANENT &&
           err.sys == sys;
}

TEST(segment_read_sees_damage_of_every_byte)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e;
    char raw[HEADER + 50];

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &e, 1, 50, &err) && segments_flush(s, &err));
    segments_close(s);
    AUTO_FD fd = open_segment(f.fd, e.place.seg, O_RDWR);

    CHECK(fd >= 0 && file_read_at(fd, raw, sizeof raw, 0, &err));
    for (size_t i = 0; i < sizeof raw; i++) {
        char wrong = (char)(raw[i] ^ (1 << i % 8));

        CHECK(file_write_at(fd, str_mem(&wrong, 1), (int64_t)i, &err));
        CHECK(read_fails(f.fd, &e, 0));
        CHECK(file_write_at(fd, str_mem(raw + i, 1), (int64_t)i, &err));
    }
    CHECK(is_there(f.fd, &e));
}

TEST(segment_read_refuses_what_is_not_there)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e[2], no;

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
    CHECK(add(s, &e[0], 1, 50, &err) && add(s, &e[1], 2, 50, &err) && segments_flush(s, &err));
    segments_close(s);
    no = e[0];
    no.place.seg++;
    CHECK(read_fails(f.fd, &no, ENOENT));
    no = e[0];
    no.place.pos += 8;
    CHECK(read_fails(f.fd, &no, 0));
    no.place.pos = 100 * MIB;
    CHECK(read_fails(f.fd, &no, 0));
    no = e[0];
    no.id = e[1].id; /* another document's */
    CHECK(read_fails(f.fd, &no, 0));

    AUTO(buf_done) struct buf little = BUF_INIT(49);

    CHECK(!segment_read(f.fd, e[0].place, &e[0].id, &little, &err) && err.kind == ERR_LIMIT);
    AUTO_FD fd = open_segment(f.fd, e[0].place.seg, O_RDWR);

    CHECK(fd >= 0 && ftruncate(fd, e[1].place.pos + HEADER + 49) == 0);
    CHECK(is_there(f.fd, &e[0]) && read_fails(f.fd, &e[1], 0));
    CHECK(ftruncate(fd, HEADER - 1) == 0 && read_fails(f.fd, &e[0], 0));
}

TEST(segment_cancel_forgets_what_was_not_written)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry kept, gone[3], next, after;

    CHECK(segments_open(f.fd, 4 * MIB, 0, &s, &err));
    segments_cancel(s); /* nothing to forget */
    CHECK(add(s, &kept, 1, 100, &err) && segments_flush(s, &err));
    CHECK(add(s, &gone[0], 2, 200, &err) && add(s, &gone[1], 3, 300, &err));
    segments_cancel(s);
    CHECK(add(s, &next, 4, 50, &err) && segments_flush(s, &err));
    CHECK(next.place.pos == gone[0].place.pos);
    CHECK(is_there(f.fd, &kept) && is_there(f.fd, &next) && read_fails(f.fd, &gone[0], 0));

    CHECK(add(s, &gone[0], 5, 300 * KIB, &err)); /* staged, written by the next */
    CHECK(add(s, &gone[1], 6, 300 * KIB, &err)); /* staged */
    CHECK(add(s, &gone[2], 7, 600 * KIB, &err)); /* written */
    segments_cancel(s);
    CHECK(add(s, &after, 8, 50, &err) && segments_flush(s, &err));
    segments_close(s);
    CHECK(after.place.pos >= gone[0].place.pos + aligned(300 * KIB));
    CHECK(is_there(f.fd, &kept) && is_there(f.fd, &next) && is_there(f.fd, &after));
}

/* Limits of the process play the full disk and the exhausted descriptors. */
static struct rlimit limit_to(int which, rlim_t n)
{
    struct rlimit was, now;

    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit((__rlimit_resource_t)which, &was);
    now = was;
    now.rlim_cur = n;
    (void)setrlimit((__rlimit_resource_t)which, &now);
    return was;
}

TEST(segment_full_disk_is_a_refusal_and_passes)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e, next;
    struct rlimit was = limit_to(RLIMIT_FSIZE, 64 * KIB);
    bool opened = segments_open(f.fd, SMALL, 0, &s, &err);
    bool added = opened && add(s, &e, 1, 100, &err), again = opened && add(s, &e, 1, 100, &err);

    (void)setrlimit(RLIMIT_FSIZE, &was);
    CHECK(opened && !added && !again && err.kind == ERR_LIMIT && err.sys == EFBIG);
    CHECK(count_segments(f.fd) == 0);
    CHECK(add(s, &e, 1, 100, &err) && segments_flush(s, &err));

    was = limit_to(RLIMIT_FSIZE, 64 * KIB);
    added = add(s, &next, 2, 100 * KIB, &err);
    bool flushed = segments_flush(s, &err);

    segments_cancel(s);
    (void)setrlimit(RLIMIT_FSIZE, &was);
    CHECK(added && !flushed && err.kind == ERR_LIMIT);
    CHECK(add(s, &next, 2, 100 * KIB, &err) && segments_flush(s, &err));
    segments_close(s);
    CHECK(is_there(f.fd, &e) && is_there(f.fd, &next));
    CHECK(next.place.pos == e.place.pos + aligned(100));
}

TEST(segment_goes_on_after_descriptors_ran_out)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct segments *s;
    struct err err = { 0 };
    struct entry e;
    uint64_t before = file_syncs();

    CHECK(segments_open(f.fd, SMALL, 0, &s, &err) && wait_for_sync(before));
    struct rlimit was = limit_to(RLIMIT_NOFILE, 3);
    bool added = add(s, &e, 1, 100, &err);

    (void)setrlimit(RLIMIT_NOFILE, &was);
    CHECK(!added && err.kind == ERR_TRANSIENT && err.sys == EMFILE);
    err = (struct err){ 0 };
    CHECK(add(s, &e, 1, 100, &err) && segments_flush(s, &err) && is_there(f.fd, &e));
    segments_close(s);
}

#ifdef WAYBILL_FAULTS

/* What the child does with a fault in its way. */
static int scene(const char *path)
{
    int dirfd = open(path, O_RDONLY | O_DIRECTORY);
    struct segments *s;
    struct err err = { 0 };
    struct entry e;

    if (!segments_open(dirfd, SMALL, 0, &s, &err) || !add(s, &e, 7, 3000, &err))
        return 1;
    if (!segments_flush(s, &err))
        return err.kind == ERR_LIMIT && err.sys == ENOSPC ? 2 : 1;
    segments_close(s);
    return 0;
}

TEST(segment_survives_its_fault_points)
{
    static const struct {
        const char *fault;
        int signal, status;
    } cases[] = {
        { "segment.roll:kill:1", SIGKILL, 0 }, { "segment.write:kill:1", SIGKILL, 0 },
        { "segment.sync:kill:1", SIGKILL, 0 }, { "segment.synced:kill:1", SIGKILL, 0 },
        { "segment.write:error:1", 0, 2 },     { "segment.sync:error:1", 0, 74 },
        { "segment.write:kill:2", 0, 0 },      { "segment.sync:kill:2", 0, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(folder_done) struct folder f = folder_make();
        struct segments *s;
        struct err err = { 0 };
        struct entry before, after;

        CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
        if (strcmp(cases[i].fault, "segment.roll:kill:1") != 0)
            CHECK(add(s, &before, 1, 100, &err) && segments_flush(s, &err));
        segments_close(s);
        struct again_end end = again("scene", cases[i].fault, f.path);

        CHECK(end.signal == cases[i].signal && end.status == cases[i].status);
        CHECK(segments_open(f.fd, SMALL, 0, &s, &err));
        CHECK(add(s, &after, 2, 100, &err) && segments_flush(s, &err));
        segments_close(s);
        CHECK(is_there(f.fd, &after));
        if (strcmp(cases[i].fault, "segment.roll:kill:1") != 0)
            CHECK(is_there(f.fd, &before) && after.place.pos >= aligned(100));
    }
}

#endif

int main(int argc, char **argv)
{
#ifdef WAYBILL_FAULTS
    if (again_scene(argc, argv) != NULL)
        _exit(scene(argv[2]));
#endif
    (void)argc;
    (void)argv;
    return test_main();
}
