/* cut_zip.c - one part per file of a zip archive, with the file's name.
 *
 * Folders are no parts.  A name is never a path (zip_read.h).
 */
#include "base/auto.h"
#include "core/format/cut.h"
#include "core/format/zip_read.h"

static bool zip_read_file(struct zip *z, struct buf *to)
{
    struct str bytes;
    struct err err;

    buf_clear(to);
    do {
        if (!zip_bytes(z, &bytes))
            return false;
        if (!buf_append(to, bytes, &err))
            return service_fail(z->in.failure, DEAD_LIMIT,
                                "split: file %lld of the archive is larger than %d bytes",
                                (long long)z->count, CUT_PART_MOST);
    } while (bytes.len > 0);
    return true;
}

static bool zip_run(const struct cut_rule *s, struct cut *c)
{
    AUTO(zip_done)
    struct zip z = { .in = { .io = c->io, .failure = c->failure, .who = "split" },
                     .most = INT64_MAX };
    AUTO(buf_done) struct buf file = BUF_INIT(CUT_PART_MOST);
    struct zip_entry entry;
    bool is;

    (void)s;
    for (;;) {
        if (!zip_next(&z, &entry, &is))
            return false;
        if (!is)
            return true;
        if (entry.folder)
            continue;
        if (!zip_read_file(&z, &file))
            return false;
        struct str bytes = buf_view(&file);

        if (!cut_part(c, entry.name, &bytes, 1, z.place))
            return false;
    }
}

const struct cutter cut_zip = { .key = "zip", .run = zip_run };
