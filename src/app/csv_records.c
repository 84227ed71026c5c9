#include "app/csv_records.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/container_of.h"
#include "core/format/csv.h"
#include "core/format/cut.h"
#include "core/format/outlet.h"

enum {
    PIECE = 64 << 10,
    ROWS_OF_A_PART = 100, /* that are read at once */
    ROWS_MOST = 100000000,
    COLUMNS_MOST = 256,
    NAME_MOST = 200,
    CELL_MOST = SERVICE_RECORD_MOST
};

/* One pass over the file: what the cutter calls, and the rows it has cut. */
struct row_reading {
    struct csv_records *of;
    bool gives;
    struct service_io io;
    int fd;
    char piece[PIECE];
    struct buf part; /* the header and some rows */
    struct arena arena;
    struct str names[COLUMNS_MOST];
    size_t columns, key;
    int64_t rows;
    struct buf cell, value, key_text;
    struct err *err;
};

/* ---- cells ---- */

static bool row_wrong(struct row_reading *p, const char *why)
{
    return err_set(p->err, ERR_PERMANENT, 0, "%s: row %lld: %s", p->of->path,
                   (long long)p->rows + 1, why);
}

/* The text of a cell, in p->cell. */
static bool read_cell(struct row_reading *p, const struct csv_cell *c)
{
    buf_clear(&p->cell);
    for (size_t i = 0; i < c->raw.len;)
        if (p->cell.len == CELL_MOST)
            return row_wrong(p, "a cell is too long");
        else
            buf_putc(&p->cell, csv_char(c, &i));
    return str_is_utf8(buf_view(&p->cell)) ||
           row_wrong(p, "a cell is not text in UTF-8; convert the file first");
}

static bool csv_add_column(struct row_reading *p)
{
    struct str name = buf_view(&p->cell);

    if (p->columns == COLUMNS_MOST || name.len == 0 || name.len > NAME_MOST)
        return err_set(p->err, ERR_PERMANENT, 0,
                       "%s: the first row names up to %d columns, each with 1 to %d bytes",
                       p->of->path, COLUMNS_MOST, NAME_MOST);
    for (size_t i = 0; i < p->columns; i++)
        if (str_eq(p->names[i], name))
            return err_set(p->err, ERR_PERMANENT, 0, "%s: two columns are named `%.*s`",
                           p->of->path, STR_ARG(name));
    p->names[p->columns++] = arena_copy(&p->arena, name);
    return true;
}

static bool find_key_column(struct row_reading *p)
{
    p->key = 0;
    if (p->of->key == NULL)
        return true;
    for (size_t i = 0; i < p->columns; i++)
        if (str_is(p->names[i], p->of->key)) {
            p->key = i;
            return true;
        }
    return err_set(p->err, ERR_PERMANENT, 0, "%s: no column is named `%.100s`", p->of->path,
                   p->of->key);
}

/* Every part begins with the header; the first one is remembered. */
static bool csv_read_columns(struct row_reading *p, struct csv_reader *r)
{
    bool known = p->columns > 0;
    struct csv_cell c;

    do {
        if (!csv_next(r, &c))
            return row_wrong(p, r->why);
        if (!known && (!read_cell(p, &c) || !csv_add_column(p)))
            return false;
    } while (!c.last);
    return known || find_key_column(p);
}

/* ---- rows ---- */

static bool csv_add_cell(struct row_reading *p, size_t column, struct outlet *o)
{
    struct str text = buf_view(&p->cell);

    if (column == p->columns)
        return row_wrong(p, "it has more cells than the first row");
    if (column == p->key) {
        buf_clear(&p->key_text);
        if (text.len == 0 || text.len > SERVICE_KEY_MOST)
            return row_wrong(p, "its key is empty, or longer than 1024 bytes");
        buf_put(&p->key_text, text);
    }
    outlet_putc(o, column == 0 ? '{' : ',');
    outlet_json(o, p->names[column]);
    outlet_putc(o, ':');
    outlet_json(o, text);
    return true;
}

static bool row_done(struct row_reading *p, struct outlet *o)
{
    struct err err = { 0 };

    outlet_putc(o, '}');
    if (!outlet_end(o, true, &err))
        return row_wrong(p, "it is larger than a record may be, 1 MiB");
    if (p->gives && !p->of->give(p->of->arg, buf_view(&p->key_text), buf_view(&p->value), p->err))
        return false;
    p->rows++;
    return true;
}

static bool read_csv_row(struct row_reading *p, struct csv_reader *r)
{
    struct csv_cell c;
    struct outlet o;
    size_t column = 0;

    buf_clear(&p->value);
    outlet_init(&o, &p->value, SERVICE_RECORD_MOST);
    do {
        if (!csv_next(r, &c))
            return row_wrong(p, r->why);
        if (column == 0 && c.last && c.raw.len == 0 && !c.quoted)
            return true; /* an empty line */
        if (!read_cell(p, &c) || !csv_add_cell(p, column++, &o))
            return false;
    } while (!c.last);
    return column == p->columns ? row_done(p, &o)
                                : row_wrong(p, "it has fewer cells than the first row");
}

static bool read_rows_of_part(struct row_reading *p)
{
    struct csv_reader r;

    if (p->part.len == 0)
        return true;
    csv_init(&r, buf_view(&p->part), '\0');
    if (!csv_read_columns(p, &r))
        return false;
    while (r.at < r.end)
        if (!read_csv_row(p, &r))
            return false;
    buf_clear(&p->part);
    return true;
}

/* ---- what the cutter calls ---- */

static bool csv_failed(const struct row_reading *p, struct service_failure *ret_failure)
{
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s", p->err->text);
}

static bool csv_io_next(struct service_io *io, struct str *ret, struct service_failure *ret_failure)
{
    struct row_reading *p = container_of(io, struct row_reading, io);
    ssize_t n;

    do
        n = read(p->fd, p->piece, sizeof p->piece);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        (void)err_set(p->err, ERR_PERMANENT, errno, "read %s: %s", p->of->path, strerror(errno));
        return csv_failed(p, ret_failure);
    }
    *ret = str_mem(p->piece, (size_t)n);
    return true;
}

static bool csv_io_rewind(struct service_io *io, struct service_failure *ret_failure)
{
    struct row_reading *p = container_of(io, struct row_reading, io);

    if (lseek(p->fd, 0, SEEK_SET) == 0)
        return true;
    (void)err_set(p->err, ERR_PERMANENT, errno, "%s is read twice, so it must be a file",
                  p->of->path);
    return csv_failed(p, ret_failure);
}

static bool csv_io_part(struct service_io *io, const struct service_part *head,
                        struct service_failure *ret_failure)
{
    struct row_reading *p = container_of(io, struct row_reading, io);

    (void)head;
    return read_rows_of_part(p) || csv_failed(p, ret_failure);
}

static bool csv_io_put(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    struct row_reading *p = container_of(io, struct row_reading, io);

    return buf_append(&p->part, piece, p->err) || csv_failed(p, ret_failure);
}

static bool csv_io_none(struct service_io *io, struct service_failure *ret_failure)
{
    struct row_reading *p = container_of(io, struct row_reading, io);

    (void)err_set(p->err, ERR_PERMANENT, 0,
                  "%s has no rows: the first one names the columns, the others are records",
                  p->of->path);
    return csv_failed(p, ret_failure);
}

/* ---- the passes ---- */

static bool cut_file(struct row_reading *p)
{
    struct cut_rule rule = { .cutter = &cut_csv, .count = ROWS_OF_A_PART, .most = ROWS_MOST };
    struct service_failure failure = { .code = DEAD_SERVICE_FAILED };

    if (cut_run(&rule, &p->io, &failure))
        return read_rows_of_part(p);
    if (p->err->kind == ERR_NONE) /* it is the cutter's */
        (void)err_set(p->err, ERR_PERMANENT, 0, "%s: %s", p->of->path, failure.message);
    return false;
}

static bool run_pass(struct row_reading *p)
{
    struct stat st;

    p->fd = open(p->of->path, O_RDONLY | O_CLOEXEC);
    if (p->fd < 0 || fstat(p->fd, &st) < 0)
        return err_set(p->err, ERR_PERMANENT, errno, "open %s: %s", p->of->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(p->err, ERR_PERMANENT, 0, "%s is read twice, so it must be a file",
                       p->of->path);
    p->io.size = st.st_size;
    return cut_file(p);
}

static bool read_rows(struct csv_records *c, bool gives, struct err *err)
{
    static struct row_reading p; /* large, and used by one thread */

    p = (struct row_reading){ .of = c,
                              .gives = gives,
                              .io = { .next = csv_io_next,
                                      .rewind = csv_io_rewind,
                                      .put = csv_io_put,
                                      .part = csv_io_part,
                                      .none = csv_io_none },
                              .fd = -1,
                              .part = BUF_INIT(CUT_PART_MOST + PIECE),
                              .arena = ARENA_INIT(1 << 20),
                              .cell = BUF_INIT(CELL_MOST),
                              .value = BUF_INIT(SERVICE_RECORD_MOST),
                              .key_text = BUF_INIT(SERVICE_KEY_MOST),
                              .err = err };
    bool ok = run_pass(&p);

    c->count = p.rows;
    if (p.fd >= 0)
        (void)close(p.fd);
    buf_done(&p.part);
    arena_done(&p.arena);
    buf_done(&p.cell);
    buf_done(&p.value);
    buf_done(&p.key_text);
    return ok;
}

bool csv_records_check(struct csv_records *c, struct err *err)
{
    return read_rows(c, false, err);
}

bool csv_records_give(struct csv_records *c, struct err *err)
{
    return read_rows(c, true, err);
}
