/* fuzz_segment.c - any bytes as a segment of payloads: entries begin in the file and do not
 * overlap; one that can be read has the length that it names, and one whose bytes are torn cannot.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/require.h"
#include "store/segment/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { ENTRIES_MOST = 64 };

#define SEGMENT INT64_C(2026111700001) /* names are made of a day and a number */

struct seen {
    int64_t last, end;
    size_t count;
    struct segment_entry first[ENTRIES_MOST];
};

static int folder(void)
{
    static int fd = -1;
    char path[300];
    const char *under = getenv("TMPDIR");

    if (fd >= 0)
        return fd;
    (void)snprintf(path, sizeof path, "%s/fuzz-segment.XXXXXX", under != NULL ? under : "/tmp");
    require(mkdtemp(path) != NULL);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(fd >= 0);
    return fd;
}

static void on_entry(void *arg, const struct segment_entry *e)
{
    struct seen *s = arg;

    require(e->pos >= s->end && e->bytes > 0);
    s->last = e->pos;
    s->end = e->pos + e->bytes;
    if (s->count < ENTRIES_MOST)
        s->first[s->count] = *e;
    s->count++;
}

static void read_entry(const struct segment_entry *e)
{
    AUTO(buf_done) struct buf payload = BUF_INIT(2u << 20u), record = BUF_INIT(1u << 20u);
    struct segment_about about = { .record = &record };
    struct err err = { 0 };

    if (segment_read_entry(folder(), (struct payload_ref){ SEGMENT, e->pos }, &e->id, &payload,
                           &about, &err))
        require((int64_t)payload.len <= e->bytes && (int64_t)record.len <= e->bytes);
    else
        require(err.kind != ERR_NONE && err.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct seen seen = { 0 };
    struct err err;
    int64_t length;
    bool whole;
    char name[40];

    (void)snprintf(name, sizeof name, "%lld.seg", (long long)SEGMENT);
    AUTO_FD fd = openat(folder(), name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

    require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    require(segment_of_name(str_of(name)) == SEGMENT);
    if (!segment_scan(folder(), SEGMENT, on_entry, &seen, &length, &whole, &err))
        return 0;
    require(length == (int64_t)size && (seen.count == 0 || seen.last < length));
    for (size_t i = 0; i < seen.count && i < ENTRIES_MOST; i++)
        read_entry(&seen.first[i]);
    return 0;
}
