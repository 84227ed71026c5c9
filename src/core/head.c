#include "core/head.h"

#define SENDERS ":senders: "
#define CALLER  ":caller: "
#define FAILED  ":failed: "

struct str head_field(struct str head, struct str name)
{
    while (head.len > 0) {
        struct str line;

        head = str_cut(head, '\n', &line);
        if (line.len > name.len + 1 && line.ptr[name.len] == ':' &&
            str_eq_nocase(str_mem(line.ptr, name.len), name))
            return str_from(line, name.len + 1);
    }
    return (struct str){ 0 };
}

void head_put_senders(struct buf *to, struct str systems)
{
    buf_put(to, STR(SENDERS));
    buf_put(to, systems);
    buf_putc(to, '\n');
}

struct str head_senders(struct str head)
{
    struct str line;

    if (!str_starts(head, STR(SENDERS)))
        return (struct str){ 0 };
    (void)str_cut(head, '\n', &line);
    return str_from(line, sizeof SENDERS - 1);
}

bool head_lets_send(struct str head, struct str system)
{
    struct str rest = head_senders(head), one;

    if (rest.ptr == NULL)
        return true;
    while (rest.len > 0) {
        rest = str_cut(rest, ' ', &one);
        if (str_eq(one, system))
            return true;
    }
    return false;
}

/* The head behind a first line that begins so. */
static struct str without_line(struct str head, struct str begin)
{
    struct str line;

    return str_starts(head, begin) ? str_cut(head, '\n', &line) : head;
}

struct str head_unbound(struct str head)
{
    return without_line(without_line(without_line(head, STR(SENDERS)), STR(CALLER)), STR(FAILED));
}

void head_put_failure(struct buf *to, struct str why)
{
    why = str_first(why, HEAD_FAILURE_MOST - sizeof FAILED);
    bool is_text = str_is_utf8(why); /* else a database would refuse it */

    buf_put(to, STR(FAILED));
    for (size_t i = 0; i < why.len; i++) {
        unsigned char c = (unsigned char)why.ptr[i];

        buf_putc(to, c < ' ' ? ' ' : c >= 0x80 && !is_text ? '?' : why.ptr[i]);
    }
    buf_putc(to, '\n');
}

struct str head_failure(struct str head)
{
    struct str line;

    if (!str_starts(head, STR(FAILED)))
        return (struct str){ 0 };
    (void)str_cut(head, '\n', &line);
    return str_from(line, sizeof FAILED - 1);
}

void head_put_caller(struct buf *to, struct str head, int64_t node)
{
    struct str rest = without_line(head, STR(SENDERS));

    buf_put(to, str_mem(head.ptr, head.len - rest.len));
    buf_put(to, STR(CALLER));
    buf_put_int(to, node);
    buf_putc(to, '\n');
    buf_put(to, rest);
}

int64_t head_caller(struct str head)
{
    struct str rest = without_line(head, STR(SENDERS)), line;
    int64_t node = 0;

    if (!str_starts(rest, STR(CALLER)))
        return 0;
    (void)str_cut(rest, '\n', &line);
    return str_to_i64(str_from(line, sizeof CALLER - 1), &node) ? node : 0;
}
