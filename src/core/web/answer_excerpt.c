#include "core/web/answer_excerpt.h"

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A character that does not fit ends the excerpt: false. */
static bool put_text(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool blank = is_blank(text.ptr[i]);

        if (to->len == to->cap)
            return false;
        if (!blank)
            buf_putc(to, text.ptr[i]);
        else if (to->len > 0 && to->ptr[to->len - 1] != ' ')
            buf_putc(to, ' ');
    }
    return true;
}

static ptrdiff_t find_end(struct str s, const char *end)
{
    const char *at = s.len > 0 ? memmem(s.ptr, s.len, end, strlen(end)) : NULL;

    return at != NULL ? at - s.ptr + (ptrdiff_t)strlen(end) : (ptrdiff_t)s.len;
}

static bool opens(struct str s, const char *tag)
{
    size_t n = strlen(tag);

    return s.len > n && str_eq_nocase(str_mem(s.ptr, n), str_of(tag)) &&
           (s.ptr[n] == '>' || is_blank(s.ptr[n]));
}

/* The length of the markup at the start of `s`: a tag, or all that is not for people. */
static size_t markup(struct str s)
{
    static const struct {
        const char *tag, *end;
    } silent[] = { { "<script", "</script>" }, { "<style", "</style>" }, { "<head", "</head>" } };

    if (str_starts(s, STR("<!--")))
        return (size_t)find_end(s, "-->");
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
        if (opens(s, silent[i].tag))
            return (size_t)find_end(s, silent[i].end);
    return (size_t)find_end(s, ">");
}

static bool put_entity(struct buf *to, struct str *s)
{
    static const struct {
        struct str name;
        char is;
    } known[] = { { STR("&lt;"), '<' },   { STR("&gt;"), '>' },    { STR("&amp;"), '&' },
                  { STR("&quot;"), '"' }, { STR("&apos;"), '\'' }, { STR("&#39;"), '\'' } };
    char is = '&';
    size_t n = 1;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_starts(*s, known[i].name)) {
            is = known[i].is;
            n = known[i].name.len;
        }
    *s = str_from(*s, n);
    return put_text(to, str_mem(&is, 1));
}

static void put_without_tags(struct str s, struct buf *to)
{
    bool room = true;

    while (room && s.len > 0) {
        size_t n = 0;

        if (s.ptr[0] == '<') {
            s = str_from(s, markup(s));
            room = put_text(to, STR(" "));
            continue;
        }
        if (s.ptr[0] == '&') {
            room = put_entity(to, &s);
            continue;
        }
        while (n < s.len && s.ptr[n] != '<' && s.ptr[n] != '&')
            n++;
        room = put_text(to, str_mem(s.ptr, n));
        s = str_from(s, n);
    }
}

/* Without a character that was cut at the end. */
static struct str whole_characters(struct str s)
{
    for (size_t back = 1; back <= 3 && back <= s.len; back++) {
        unsigned char c = (unsigned char)s.ptr[s.len - back];
        size_t needs = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

        if (c >= 0xc0 && needs > back)
            s.len -= back;
        if (c >= 0xc0 || c < 0x80)
            break;
    }
    return s;
}

void answer_excerpt(struct str body, struct buf *to)
{
    size_t start = to->len;

    while (body.len > 0 && is_blank(body.ptr[0]))
        body = str_from(body, 1);
    if (str_starts(body, STR("<")))
        put_without_tags(body, to);
    struct str said = str_trim(str_mem(to->ptr + start, to->len - start));

    if (said.len == 0) { /* no text between its tags: the tags are all there is */
        to->len = start;
        (void)put_text(to, body);
        said = str_mem(to->ptr + start, to->len - start);
    }
    said = str_trim(whole_characters(said));
    memmove(to->ptr + start, said.ptr, said.len);
    to->len = start + said.len;
    if (to->len > 0)
        to->ptr[to->len] = '\0';
}
