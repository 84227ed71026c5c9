/* http_in_form.c - a document in multipart/form-data: the one file is the document, the other
 * fields are values of its query.
 *
 * The form is taken apart while it comes; only its fields, at most FIELDS_MOST bytes, are kept
 * until its end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/head.h"
#include "gateway/http_in.h"

enum {
    FIELDS_MOST = 16 << 10,
    HEADERS_MOST = 33 << 10,
    HEAD_MOST = 42 << 10,
    NAME_MOST = 1024,
    TYPE_MOST = 1024,
    PIECE_MOST = 16 << 20, /* the server reads far less at a time */
};

struct http_in_form {
    struct multipart reader;
    struct buf fields;      /* as a query */
    struct buf headers;     /* those of the request that are kept */
    struct buf name, ctype; /* of the file */
    struct buf piece;       /* bytes of the file in the piece that is being read */
    enum { IN_NONE, IN_FIELD, IN_FILE } part;
    bool has_file, is_named; /* is_named: by the request itself */
    int64_t size;
};

void http_in_form_free(struct http_in_form *f)
{
    if (f == NULL)
        return;
    buf_done(&f->fields);
    buf_done(&f->headers);
    buf_done(&f->name);
    buf_done(&f->ctype);
    buf_done(&f->piece);
    free(f);
}

const char *http_in_form_begin(struct post *p, struct str headers, struct str name)
{
    struct http_in_form *f = NEW(struct http_in_form);
    struct err err;

    *f = (struct http_in_form){ .fields = BUF_INIT(FIELDS_MOST),
                                .headers = BUF_INIT(HEADERS_MOST),
                                .name = BUF_INIT(NAME_MOST),
                                .ctype = BUF_INIT(TYPE_MOST),
                                .piece = BUF_INIT(PIECE_MOST),
                                .is_named = name.len > 0 };
    p->form = f;
    if (!buf_append(&f->fields, p->request->query, &err) ||
        !buf_append(&f->headers, headers, &err) || !buf_append(&f->name, name, &err))
        return "The head of the request is too large for a form.";
    return multipart_begin(&f->reader, p->request->content_type);
}

/* As in a query. */
static bool form_put(struct buf *to, struct str s)
{
    static const char digits[] = "0123456789ABCDEF";
    struct err err;

    if (!buf_reserve(to, 3 * s.len + 2, &err))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '.' || c == '_' || c == '~') {
            buf_putc(to, (char)c);
        } else {
            buf_putc(to, '%');
            buf_putc(to, digits[c >> 4]);
            buf_putc(to, digits[c & 15]);
        }
    }
    return true;
}

/* The name without the folders that some browsers put before it. */
static struct str file_name(struct str s)
{
    for (size_t i = s.len; i > 0; i--)
        if (s.ptr[i - 1] == '/' || s.ptr[i - 1] == '\\')
            return str_from(s, i);
    return s;
}

static const char *begin_file(struct http_in_form *f)
{
    const struct multipart *m = &f->reader;
    struct str name = file_name(m->file);
    struct err err;

    if (f->has_file)
        return "The form has more than one file: send each in a request of its own.";
    f->has_file = true;
    f->part = IN_FILE;
    if (!str_is_utf8(name) || str_has_control(name) || name.len > NAME_MOST ||
        !str_is_utf8(m->ctype) || !buf_append(&f->ctype, m->ctype, &err))
        return "The name or the type of the file is not readable, or longer than 1024 bytes.";
    return f->is_named || buf_append(&f->name, name, &err) ? NULL : "The file has no usable name.";
}

static const char *begin_field(struct http_in_form *f)
{
    static const char too_large[] = "The fields of the form are larger than 16 KiB.";

    f->part = IN_FIELD;
    if (!buf_reserve(&f->fields, 2, &(struct err){ 0 }))
        return too_large;
    if (f->fields.len > 0)
        buf_putc(&f->fields, '&');
    if (!form_put(&f->fields, f->reader.name))
        return too_large;
    buf_putc(&f->fields, '=');
    return NULL;
}

/* A browser sends a file without a name and without bytes where none was chosen. */
static const char *form_begin_part(struct http_in_form *f)
{
    f->part = IN_NONE;
    if (f->reader.file.ptr == NULL)
        return begin_field(f);
    return f->reader.file.len > 0 ? begin_file(f) : NULL;
}

static const char *form_take_bytes(struct http_in_form *f)
{
    struct str bytes = f->reader.bytes;
    struct err err;

    if (f->part == IN_FIELD && !form_put(&f->fields, bytes))
        return "The fields of the form are larger than 16 KiB.";
    if (f->part == IN_FILE && !buf_append(&f->piece, bytes, &err))
        return "The form comes in pieces that are too large.";
    return NULL;
}

const char *http_in_form_take(struct http_in_form *f, struct str bytes, struct str *ret)
{
    const char *wrong = NULL;
    enum multipart_event e;

    buf_clear(&f->piece);
    multipart_give(&f->reader, bytes);
    while (wrong == NULL && (e = multipart_next(&f->reader)) != MULTIPART_MORE)
        wrong = e == MULTIPART_WRONG   ? f->reader.why
                : e == MULTIPART_PART  ? form_begin_part(f)
                : e == MULTIPART_BYTES ? form_take_bytes(f)
                                       : NULL;
    f->size += (int64_t)f->piece.len;
    *ret = buf_view(&f->piece);
    return wrong;
}

const char *http_in_form_wrong(const struct http_in_form *f)
{
    return !multipart_is_whole(&f->reader) ? "The form ends before its last boundary."
           : !f->has_file                  ? "The form has no file, which would be the document."
           : f->size == 0                  ? "The file of the form is empty."
                                           : NULL;
}

void http_in_form_describe(struct post *p)
{
    struct http_in_form *f = p->form;
    struct buf head = BUF_INIT(HEAD_MOST);
    struct err err;

    if (p->systems.len > 0)
        head_put_senders(&head, p->systems);
    if (f->fields.len > 0) {
        buf_put(&head, STR(":query: "));
        buf_put(&head, buf_view(&f->fields));
        buf_putc(&head, '\n');
    }
    /* As for other requests: the headers that have no room are left out. */
    for (struct str left = buf_view(&f->headers), line; left.len > 0;) {
        left = str_cut(left, '\n', &line);
        if (buf_reserve(&head, line.len + 1, &err)) {
            buf_put(&head, line);
            buf_putc(&head, '\n');
        }
    }
    p->self->port->describe(
        p->arrival, f->ctype.len > 0 ? buf_view(&f->ctype) : STR("application/octet-stream"),
        buf_view(&f->name), buf_view(&head));
    buf_done(&head);
}
