#include "table/away/wire.h"

#include <string.h>

#include "base/varint.h"

struct wire wire_put(struct buf *to)
{
    return (struct wire){ .to = to };
}

struct wire wire_take(struct str bytes, struct arena *a)
{
    return (struct wire){ .rest = bytes, .a = a };
}

bool wire_end(struct wire *w, struct err *err)
{
    if (w->full)
        return err_set(err, ERR_LIMIT, 0, "a message has at most %zu bytes", w->to->cap);
    return (!w->bad && w->rest.len == 0) ||
           err_set(err, ERR_PERMANENT, 0, "a message is damaged, or of another version");
}

/* ---- bytes ---- */

static void wire_add(struct wire *w, struct str bytes)
{
    struct err err;

    if (bytes.len > 0 && !w->full && !buf_append(w->to, bytes, &err))
        w->full = true;
}

static struct str wire_cut(struct wire *w, size_t len)
{
    struct str got = str_mem(w->rest.ptr, len);

    if (w->bad || len > w->rest.len) {
        w->bad = true;
        w->rest = STR("");
        return STR("");
    }
    w->rest = str_from(w->rest, len);
    return got;
}

static void wire_number(struct wire *w, uint64_t *v)
{
    char bytes[VARINT_MOST];

    if (w->to != NULL) {
        wire_add(w, str_mem(bytes, (size_t)(varint_put(bytes, *v) - bytes)));
        return;
    }
    if (!w->bad && varint_take_least(&w->rest, v))
        return;
    w->bad = true;
    w->rest = STR("");
    *v = 0;
}

/* ---- values ---- */

void wire_int(struct wire *w, int64_t *v)
{
    uint64_t zigzag = ((uint64_t)*v << 1) ^ (*v < 0 ? UINT64_MAX : 0);

    wire_number(w, &zigzag);
    *v = (int64_t)(zigzag >> 1 ^ ((zigzag & 1) != 0 ? UINT64_MAX : 0));
}

void wire_size(struct wire *w, size_t *v, size_t most)
{
    uint64_t n = *v;

    wire_number(w, &n);
    if (w->to == NULL && n > most) {
        w->bad = true;
        n = 0;
    }
    *v = (size_t)n;
}

void wire_word(struct wire *w, int *v, int count)
{
    size_t n = (size_t)*v;

    wire_size(w, &n, (size_t)count - 1);
    *v = (int)n;
}

void wire_bool(struct wire *w, bool *v)
{
    int word = *v;

    wire_word(w, &word, 2);
    *v = word != 0;
}

void wire_text(struct wire *w, struct str *v)
{
    size_t len = v->len;

    wire_size(w, &len, SIZE_MAX);
    if (w->to != NULL)
        wire_add(w, *v);
    else
        *v = wire_cut(w, len);
}

void wire_chars(struct wire *w, char *v, size_t room)
{
    struct str text = w->to != NULL ? str_of(v) : STR("");

    wire_text(w, &text);
    if (w->to != NULL)
        return;
    text = str_first(text, room - 1);
    memcpy(v, text.ptr, text.len);
    v[text.len] = '\0';
}

void wire_bytes(struct wire *w, void *v, size_t len)
{
    if (w->to != NULL) {
        wire_add(w, str_mem(v, len));
        return;
    }
    struct str got = wire_cut(w, len);

    if (got.len == len)
        memcpy(v, got.ptr, len);
    else
        memset(v, 0, len);
}

void wire_digest(struct wire *w, struct sha256 *v)
{
    wire_bytes(w, v->bytes, sizeof v->bytes);
}

void wire_list(struct wire *w, void **v, size_t *count, size_t size, size_t most)
{
    wire_size(w, count, most);
    if (w->to != NULL)
        return;
    if (*count > w->rest.len) { /* each item has a byte at least */
        w->bad = true;
        *count = 0;
    }
    *v = arena_array(w->a, *count + 1, size);
}
