#include "sql/sql_line.h"

#include "base/clock.h"
#include "core/call.h"

enum {
    FAULT_BASE = 1000, /* enum sql_fault as err.sys, */
    FAULT_HUNG = 100,  /* ... and that it hung */
    LINE_MARGIN_US = 500 * CLOCK_MS
};

static const struct sha256 *sql_line_key(const void *self)
{
    return &((const struct sql_line *)self)->place.key;
}

int64_t sql_line_until(const struct sql_line *self, const struct call *c)
{
    int64_t part = self->timeout_us / 8, margin = part < LINE_MARGIN_US ? part : LINE_MARGIN_US;

    if (c == NULL || c->until_us == 0)
        return clock_mono_us() + self->timeout_us - margin;
    return c->until_us - (self->spare_us > 0 ? self->spare_us : margin);
}

static bool sql_line_open(void *arg, struct call *c, void **ret_line, struct err *err)
{
    struct sql_line *self = arg;
    struct sql_failure f = { 0 };
    struct sql_link *l = NULL;

    if (!sql_link_open(&self->place, c, sql_line_until(self, c), &l, &f)) {
        (void)sql_failure_err(&f, err);
        err->sys = FAULT_BASE + (int)f.kind + (f.hung ? FAULT_HUNG : 0);
        return false;
    }
    *ret_line = l;
    return true;
}

static bool sql_line_is_open(void *line)
{
    return sql_link_is_open(line);
}

static void sql_line_close(void *line)
{
    sql_link_close(line);
}

const struct line_type sql_line_type = {
    .key = sql_line_key, .open = sql_line_open, .is_open = sql_line_is_open, .close = sql_line_close
};

bool sql_line_take(struct sql_line *self, struct call *c, struct sql_link **ret, bool *ret_kept,
                   struct sql_failure *f)
{
    struct err err = { 0 };
    void *line;

    if (!line_take(c, &sql_line_type, self, &line, ret_kept, &err)) {
        int fault = err.sys - FAULT_BASE;
        bool hung = fault > FAULT_HUNG;

        fault -= hung ? FAULT_HUNG : 0;
        (void)sql_fail(f, fault > 0 ? (enum sql_fault)fault : SQL_FAULT_LOST, "%s", err.text);
        f->hung = hung;
        return false;
    }
    *ret = line;
    sql_link_set_pace(*ret, c, sql_line_until(self, c));
    return true;
}

void sql_line_give(struct sql_line *self, struct call *c, struct sql_link *l, bool clean)
{
    if (l != NULL)
        line_give(c, &sql_line_type, self, l, clean && !sql_link_is_lost(l));
}
