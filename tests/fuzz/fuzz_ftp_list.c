/* Listings of FTP servers, line by line: whatever a line says, a name stays in its folder. */
#include <stdint.h>

#include "base/require.h"
#include "core/ftp/ftp_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { THEN = 1794999542 };

static void check_entry(struct str line, enum ftp_list_line is, const struct ftp_list_entry *e)
{
    if (is != FTP_LIST_ENTRY)
        return;
    require(e->name.len > 0 && e->name.ptr >= line.ptr &&
            e->name.ptr + e->name.len <= line.ptr + line.len);
    require(!str_is(e->name, ".") && !str_is(e->name, "..") && str_find(e->name, '/') < 0 &&
            str_find(e->name, '\0') < 0 && str_find(e->name, '\n') < 0);
    require(e->size >= -1 && e->time_s >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_mem(data, size), line;
    struct ftp_list_entry e;

    while (rest.len > 0) {
        rest = str_cut(rest, '\n', &line);
        check_entry(line, ftp_list_facts(line, &e), &e);
        check_entry(line, ftp_list_text(line, THEN, &e), &e);
    }
    return 0;
}
