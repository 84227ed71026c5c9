/* charset.c - changes the character set of a text, piece by piece.
 *
 *     - charset: ISO-8859-1
 *     - charset: { from: UTF-8, to: windows-1252, bad: replace }
 *
 * iconv converts in two stages, by way of UTF-8: what fails in the first stage is no text of
 * `from`, what fails in the second is a character that `to` does not have.  A single conversion
 * could not tell the two apart, and could not say how many bytes the character has, least of all in
 * an encoding with states (ISO-2022-JP).  When `to` is UTF-8 there is no second stage.
 *
 * A byte order mark at the start belongs to the encoding, not to the text, and is left out; UTF-16
 * and UTF-32 as `to` write one of their own.
 */
#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "core/connector.h"

enum {
    BLOCK = 16 << 10, /* bytes converted at a time */
    CARRY = 64,       /* the longest sequence that a piece may cut */
    NAME_MOST = 64,   /* of a character set */
    SHOWN = 8         /* bytes that a message shows */
};

struct charset {
    const char *from, *to;
    size_t unit; /* bytes that are skipped behind a mistake in `from` */
    bool replace;
};

/* ---- options ---- */

static const struct option options[] = {
    OPTION("from", OPT_TEXT, "the character set it comes in, such as ISO-8859-1",
           .flags = OPT_REQUIRED),
    OPTION("to", OPT_TEXT, "the one it gets", .fallback = "UTF-8"),
    OPTION("bad", OPT_WORD,
           "what becomes of bytes that are no character of `from` and of characters that `to` does "
           "not have: the step fails, or a replacement character stands there",
           .words = OPTION_WORDS("fail", "replace"), .fallback = "fail"),
    { 0 },
};

static bool is_none(iconv_t c)
{
    return c == (iconv_t)-1; /* NOLINT: this is how iconv says it */
}

static void iconv_done(iconv_t *c)
{
    if (!is_none(*c))
        (void)iconv_close(*c);
}

/* A name with a slash is an order to iconv (//TRANSLIT, //IGNORE), for which `bad` is here. */
static bool name_is_plain(struct str name)
{
    return name.len > 0 && name.len <= NAME_MOST && str_find(name, '/') < 0 &&
           str_find(name, ',') < 0 && !str_has_control(name);
}

static bool read_set(const struct settings *s, const char *key, const char **ret, struct err *err)
{
    struct str name;

    if (!settings_text(s, key, &name, err))
        return false;
    if (name.ptr == NULL)
        return err_set(err, ERR_CONFIG, 0, "`%s` is needed", key);
    *ret = arena_text(s->arena, name);
    AUTO(iconv_done)
    iconv_t c = name_is_plain(name) ? iconv_open("UTF-8", *ret) : (iconv_t)-1;
    AUTO(iconv_done) iconv_t back = is_none(c) ? c : iconv_open(*ret, "UTF-8");

    if (is_none(back))
        return err_set(err, ERR_CONFIG, 0,
                       "`%s`: this machine has no character set `%.*s`; `iconv -l` lists them", key,
                       (int)(name.len < NAME_MOST ? name.len : NAME_MOST), name.ptr);
    return true;
}

static size_t unit_of(const char *set)
{
    static const struct {
        const char *start;
        size_t unit;
    } sets[] = { { "UTF-16", 2 }, { "UTF16", 2 }, { "UCS-2", 2 }, { "UCS2", 2 },
                 { "UTF-32", 4 }, { "UTF32", 4 }, { "UCS-4", 4 }, { "UCS4", 4 } };

    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (str_eq_nocase(str_first(str_of(set), strlen(sets[i].start)), str_of(sets[i].start)))
            return sets[i].unit;
    return 1;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct charset *c = ARENA_NEW(s->arena, struct charset);
    struct str bad;

    if (!read_set(s, "from", &c->from, err) || !read_set(s, "to", &c->to, err) ||
        !settings_text(s, "bad", &bad, err))
        return false;
    c->unit = unit_of(c->from);
    c->replace = str_is(bad, "replace");
    *ret_self = c;
    return true;
}

static void unmake(void *self)
{
    (void)self;
}

/* ---- running ---- */

struct conversion {
    const struct charset *set;
    struct service_io *io;
    struct service_failure *failure;
    iconv_t read, write;
    bool direct;         /* the result is UTF-8: there is no second stage */
    bool began;          /* a byte order mark was looked for */
    int64_t at;          /* offset of in[0], or of what is converted */
    int64_t middle_size; /* bytes of UTF-8 that the first stage gave */
    struct str rest;     /* of the piece: what is not in `in` yet */
    size_t in_len;
    char in[CARRY + BLOCK], middle[BLOCK], out[BLOCK];
};

static void conversion_free(struct conversion **v)
{
    iconv_done(&(*v)->read);
    iconv_done(&(*v)->write);
    free(*v);
}

static struct conversion *conversion_new(const struct charset *set, struct service_io *io,
                                         struct service_failure *ret_failure)
{
    struct conversion *v = xmalloc(sizeof *v);

    v->set = set;
    v->io = io;
    v->failure = ret_failure;
    v->read = iconv_open("UTF-8", set->from);
    v->write = iconv_open(set->to, "UTF-8");
    v->direct =
        str_eq_nocase(str_of(set->to), STR("UTF-8")) || str_eq_nocase(str_of(set->to), STR("UTF8"));
    v->began = false;
    v->at = v->middle_size = 0;
    v->rest = (struct str){ 0 };
    v->in_len = 0;
    return v;
}

/* The character at the start of a valid UTF-8 text. */
static uint32_t first_character(struct str text, size_t *ret_len)
{
    unsigned char lead = (unsigned char)text.ptr[0];
    size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t c = len == 1 ? lead : lead & (0x7fu >> len);

    for (size_t i = 1; i < len && i < text.len; i++)
        c = c << 6 | ((unsigned char)text.ptr[i] & 0x3f);
    *ret_len = len;
    return c;
}

/* The offset in the input at which the first stage has given `size` bytes: found by converting
 * again, because iconv does not tell which bytes became which.  The room for the result is what is
 * missing, so that no conversion goes too far. */
static bool find_offset(struct conversion *v, int64_t size, int64_t *ret)
{
    int64_t at = 0, given = 0;
    struct str piece = { 0 };
    size_t kept = 0;

    (void)iconv(v->read, NULL, NULL, NULL, NULL);
    if (!v->io->rewind(v->io, v->failure))
        return false;
    while (given < size) {
        if (piece.len == 0 && !v->io->next(v->io, &piece, v->failure))
            return false;
        size_t more = piece.len < sizeof v->in - kept ? piece.len : sizeof v->in - kept;

        if (more == 0)
            break;
        memcpy(v->in + kept, piece.ptr, more);
        piece = str_from(piece, more);
        char *from = v->in;
        size_t left = kept + more;

        for (bool stuck = false; given < size && left > 0 && !stuck;) {
            char *to = v->middle;
            size_t room = size - given < BLOCK ? (size_t)(size - given) : BLOCK, before = room;
            size_t had = left;

            (void)iconv(v->read, &from, &left, &to, &room);
            given += (int64_t)(before - room);
            at += (int64_t)(had - left);
            stuck = had == left;
        }
        kept = left;
        memmove(v->in, from, kept);
    }
    *ret = at;
    return true;
}

static bool fail_unwritten(struct conversion *v, struct str text, int64_t given)
{
    int64_t at = 0;
    size_t len;
    uint32_t c = first_character(text, &len);

    if (!find_offset(v, given, &at))
        return false;
    return service_fail(v->failure, DEAD_SERVICE_FAILED,
                        "charset: at byte %lld stands U+%04X, which %s does not have; `bad: "
                        "replace` writes `?` instead",
                        (long long)at + 1, (unsigned)c, v->set->to);
}

/* Writes text of our own in the target's encoding. */
static bool put_mark(struct conversion *v, const char *mark)
{
    char copy[4], *from = copy, *to = v->out;
    size_t left = strlen(mark), room = BLOCK;

    memcpy(copy, mark, left);
    if (iconv(v->write, &from, &left, &to, &room) == (size_t)-1)
        return service_fail(v->failure, DEAD_SERVICE_FAILED,
                            "charset: %s has no `?` to write for what it does not have",
                            v->set->to);
    return v->io->put(v->io, str_mem(v->out, BLOCK - room), v->failure);
}

/* The second stage; `given`: bytes of UTF-8 before this text. */
static bool write_out(struct conversion *v, char *text, size_t left, int64_t given)
{
    const char *start = text;

    while (left > 0) {
        char *to = v->out;
        size_t room = BLOCK, len;
        bool ok = iconv(v->write, &text, &left, &to, &room) != (size_t)-1 || errno == E2BIG;

        if (room < BLOCK && !v->io->put(v->io, str_mem(v->out, BLOCK - room), v->failure))
            return false;
        if (ok)
            continue;
        if (!v->set->replace)
            return fail_unwritten(v, str_mem(text, left), given + (text - start));
        (void)first_character(str_mem(text, left), &len);
        text += len;
        left -= len;
        if (!put_mark(v, "?"))
            return false;
    }
    return true;
}

static bool put_utf8(struct conversion *v, char *text, size_t len, int64_t given)
{
    if (len == 0)
        return true;
    return v->direct ? v->io->put(v->io, str_mem(text, len), v->failure)
                     : write_out(v, text, len, given);
}

static bool take_replacement(struct conversion *v)
{
    char mark[] = "\xef\xbf\xbd";

    v->began = true;
    return put_utf8(v, mark, 3, 0);
}

/* iconv takes sequences of five and six bytes for UTF-8, and numbers beyond U+10FFFF of UCS-4 for
 * characters.  Returns the length of the text before the first of them. */
static size_t count_real(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c > 0xf4 || (c == 0xf4 && i + 1 < len && (unsigned char)text[i + 1] > 0x8f))
            return i;
    }
    return len;
}

static bool take_unreal(struct conversion *v, int64_t given)
{
    int64_t at = 0;

    if (v->set->replace)
        return take_replacement(v);
    if (!find_offset(v, given, &at))
        return false;
    return service_fail(v->failure, DEAD_SERVICE_FAILED,
                        "charset: this is not %s, at byte %lld: there is no such character; `bad: "
                        "replace` goes on",
                        v->set->from, (long long)at + 1);
}

/* What the first stage gave. */
static bool take_text(struct conversion *v, char *text, size_t len)
{
    int64_t given = v->middle_size;
    size_t at = 0;

    v->middle_size += (int64_t)len;
    if (len > 0 && !v->began) {
        v->began = true;
        at = str_starts(str_mem(text, len), STR("\xef\xbb\xbf")) ? 3 : 0;
    }
    while (at < len) {
        size_t real = count_real(text + at, len - at);

        if (!put_utf8(v, text + at, real, given + (int64_t)at))
            return false;
        at += real;
        if (at == len)
            break;
        if (!take_unreal(v, given + (int64_t)at))
            return false;
        unsigned char lead = (unsigned char)text[at];

        at += lead < 0xf8 ? 4 : lead < 0xfc ? 5 : 6;
    }
    return true;
}

/* The bytes of a mistake and those that follow it, also from pieces to come, as "e4 20 61". */
static bool show_bytes(struct conversion *v, struct str bytes, char to[static 3 * SHOWN])
{
    size_t shown = 0;

    for (;;) {
        for (; bytes.len > 0 && shown < SHOWN; shown++, bytes = str_from(bytes, 1))
            (void)snprintf(to + 3 * shown - (shown > 0), 4, "%s%02x", shown > 0 ? " " : "",
                           (unsigned)(unsigned char)bytes.ptr[0]);
        bytes = v->rest;
        v->rest = (struct str){ 0 };
        if (shown == SHOWN)
            return true;
        if (bytes.len == 0 && !v->io->next(v->io, &bytes, v->failure))
            return false;
        if (bytes.len == 0)
            return true;
    }
}

static bool take_bad(struct conversion *v, struct str bytes, bool cut)
{
    char hex[3 * SHOWN] = "";

    if (v->set->replace)
        return take_replacement(v);
    if (!show_bytes(v, bytes, hex))
        return false;
    if (cut)
        return service_fail(v->failure, DEAD_SERVICE_FAILED,
                            "charset: it ends within a character of %s, at byte %lld: %s",
                            v->set->from, (long long)v->at + 1, hex);
    return service_fail(v->failure, DEAD_SERVICE_FAILED,
                        "charset: this is not %s, at byte %lld: %s; `bad: replace` goes on",
                        v->set->from, (long long)v->at + 1, hex);
}

/* The first stage, over in[0..in_len); what is cut off at the end stays there. */
static bool read_block(struct conversion *v)
{
    char *from = v->in;
    size_t left = v->in_len;

    while (left > 0) {
        char *to = v->middle;
        size_t room = BLOCK, had = left;
        bool ok = iconv(v->read, &from, &left, &to, &room) != (size_t)-1;
        int why = ok ? 0 : errno;

        v->at += (int64_t)(had - left);
        if (!take_text(v, v->middle, BLOCK - room))
            return false;
        if (ok || why == E2BIG)
            continue;
        if (why == EINVAL && left <= CARRY)
            break;
        if (!take_bad(v, str_mem(from, left), false))
            return false;
        size_t skipped = v->set->unit < left ? v->set->unit : left;

        from += skipped;
        left -= skipped;
        v->at += (int64_t)skipped;
    }
    memmove(v->in, from, left);
    v->in_len = left;
    return true;
}

static bool end_conversion(struct conversion *v)
{
    char *to = v->middle;
    size_t room = BLOCK;

    if (v->in_len > 0 && !take_bad(v, str_mem(v->in, v->in_len), true))
        return false;
    (void)iconv(v->read, NULL, NULL, &to, &room);
    if (!take_text(v, v->middle, BLOCK - room))
        return false;
    if (v->direct)
        return true;
    to = v->out;
    room = BLOCK;
    (void)iconv(v->write, NULL, NULL, &to, &room);
    return room == BLOCK || v->io->put(v->io, str_mem(v->out, BLOCK - room), v->failure);
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    AUTO(conversion_free) struct conversion *v = conversion_new(self, io, ret_failure);
    struct str piece;

    if (is_none(v->read) || is_none(v->write)) /* make() could: the machine has changed since */
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "charset: this machine cannot convert from %s to %s", v->set->from,
                            v->set->to);
    do {
        if (!io->next(io, &piece, ret_failure))
            return false;
        for (v->rest = piece; v->rest.len > 0;) {
            size_t n = v->rest.len < BLOCK ? v->rest.len : BLOCK;

            memcpy(v->in + v->in_len, v->rest.ptr, n);
            v->in_len += n;
            v->rest = str_from(v->rest, n);
            if (!read_block(v))
                return false;
        }
    } while (piece.len > 0);
    return end_conversion(v);
}

const struct service_type service_charset = {
    .kind = { .name = "charset",
              .help = "change the character set",
              .keys = options,
              .example = "- charset: { from: ISO-8859-15, to: UTF-8, bad: replace }" },
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
