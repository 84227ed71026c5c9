#include "core/line/line.h"

#include "core/call.h"

bool line_take(struct call *c, const struct line_type *type, void *self, void **ret_line,
               bool *ret_kept, struct err *err)
{
    struct line_port *p = c != NULL ? c->lines : NULL;
    void *line;

    while (p != NULL && (line = p->take(p, type, type->key(self))) != NULL) {
        if (type->is_open(line)) {
            *ret_line = line;
            *ret_kept = true;
            return true;
        }
        type->close(line);
    }
    *ret_kept = false;
    return type->open(self, c, ret_line, err);
}

void line_give(struct call *c, const struct line_type *type, const void *self, void *line,
               bool usable)
{
    if (usable && c != NULL && c->lines != NULL && !call_is_given_up(c))
        c->lines->give(c->lines, type, type->key(self), line);
    else
        type->close(line);
}
