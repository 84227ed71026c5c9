#include "core/xml_path.h"

struct reader {
    struct str text;
    size_t at;
};

static bool xml_path_bad(struct err *err, const char *why)
{
    return err_set(err, ERR_CONFIG, 0, "%s", why);
}

static char xml_path_peek(const struct reader *r)
{
    return r->at < r->text.len ? r->text.ptr[r->at] : '\0';
}

static bool xml_path_take(struct reader *r, const char *z)
{
    if (!str_starts(str_from(r->text, r->at), str_of(z)))
        return false;
    r->at += strlen(z);
    return true;
}

static bool xml_path_is_name(char c)
{
    return (unsigned char)c > ' ' && strchr("/[]@'\"=<>&()*|,;!$#%^{}\\`~?+\x7f", c) == NULL;
}

/* A name with at most one prefix. */
static bool xml_path_take_name(struct reader *r, struct str *ret, struct err *err)
{
    size_t from = r->at, colons = 0;

    while (r->at < r->text.len && xml_path_is_name(xml_path_peek(r)))
        colons += r->text.ptr[r->at++] == ':';
    struct str name = str_mem(r->text.ptr + from, r->at - from);
    char c = xml_path_peek(r);

    if (r->at < r->text.len && (c == ' ' || c == '\t'))
        return xml_path_bad(err, "a path has no blanks, but for those in quotes");
    if (name.len == 0)
        return xml_path_bad(err, "a step of the path is empty");
    if (colons > 1 || name.ptr[0] == ':' || name.ptr[name.len - 1] == ':')
        return xml_path_bad(err, "a prefix and a name are written prefix:name");
    if (name.ptr[0] == '.')
        return xml_path_bad(err, "a path goes down only: there is no `.` and no `..`");
    if (strchr("0123456789-", name.ptr[0]) != NULL)
        return xml_path_bad(err, "the name of an element starts with a letter or `_`");
    *ret = name;
    return true;
}

/* @name, @name='value' or @name="value". */
static bool take_test(struct reader *r, struct xml_step *step, struct err *err)
{
    struct xml_test test = { .any = true };

    if (step->test_count == XML_PATH_TESTS)
        return err_set(err, ERR_CONFIG, 0, "a step has at most %d tests", XML_PATH_TESTS);
    if (!xml_path_take_name(r, &test.name, err))
        return false;
    if (xml_path_take(r, "=")) {
        char quote = xml_path_peek(r);
        struct str rest = str_from(r->text, r->at + 1);
        ptrdiff_t end = quote == '\'' || quote == '"' ? str_find(rest, quote) : -1;

        if (end < 0)
            return xml_path_bad(err, "a value stands in quotes, such as [@type='po']");
        test.value = str_mem(rest.ptr, (size_t)end);
        test.any = false;
        r->at += (size_t)end + 2;
    }
    step->tests[step->test_count++] = test;
    return true;
}

static bool take_nth(struct reader *r, struct xml_step *step, struct err *err)
{
    size_t from = r->at;
    unsigned n = 0;

    for (; xml_path_peek(r) >= '0' && xml_path_peek(r) <= '9' && r->at - from < 7; r->at++)
        n = n * 10 + (unsigned)(xml_path_peek(r) - '0');
    if (n == 0)
        return xml_path_bad(
            err, "in brackets stands a number from 1 on, or an attribute: [2], [@type='po']");
    if (step->nth != 0)
        return xml_path_bad(err, "a step has one number at most");
    step->nth = n;
    step->before = step->test_count;
    return true;
}

static bool take_brackets(struct reader *r, struct xml_step *step, struct err *err)
{
    while (xml_path_take(r, "[")) {
        bool ok = xml_path_take(r, "@") ? take_test(r, step, err) : take_nth(r, step, err);

        if (!ok)
            return false;
        if (!xml_path_take(r, "]"))
            return xml_path_bad(err, "a `]` is expected");
    }
    return true;
}

/* Takes an attribute or text(); *ret_end: this step is one of them and ends the path. */
static bool take_end(struct reader *r, bool deep, struct xml_path *path, bool *ret_end,
                     struct err *err)
{
    *ret_end = true;
    if (xml_path_take(r, "@")) {
        path->end = XML_END_ATTRIBUTE;
        path->attribute_deep = deep;
        if (!xml_path_take_name(r, &path->attribute, err))
            return false;
        if (r->at < r->text.len)
            return xml_path_bad(err, "an attribute is the last step of a path");
        return path->count > 0 || deep || xml_path_bad(err, "an attribute stands after an element");
    }
    if (xml_path_take(r, "text()")) {
        path->end = XML_END_TEXT;
        if (r->at < r->text.len)
            return xml_path_bad(err, "text() is the last step of a path");
        return (path->count > 0 && !deep) || xml_path_bad(err, "text() stands after an element");
    }
    *ret_end = false;
    return true;
}

static bool take_step(struct reader *r, bool deep, struct xml_path *path, struct err *err)
{
    struct xml_step *step = &path->steps[path->count];

    if (path->count == XML_PATH_STEPS)
        return err_set(err, ERR_CONFIG, 0, "a path has at most %d steps", XML_PATH_STEPS);
    *step = (struct xml_step){ .deep = deep };
    if (!xml_path_take(r, "*") && !xml_path_take_name(r, &step->name, err))
        return false;
    path->count++;
    if (!take_brackets(r, step, err))
        return false;
    if (r->at < r->text.len && xml_path_peek(r) != '/')
        return xml_path_bad(err, "a `/` is expected after a step");
    return true;
}

bool xml_path_parse(struct str text, bool relative, struct xml_path *ret, struct err *err)
{
    struct reader r = { .text = text };
    bool end = false, deep = false;

    ret->count = 0;
    ret->end = XML_END_ELEMENT;
    ret->attribute = (struct str){ 0 };
    ret->attribute_deep = false;
    if (text.len == 0)
        return xml_path_bad(err, "something is expected after the colon");
    if (!xml_path_take(&r, "/")) {
        if (!relative)
            return xml_path_bad(err, "a path starts with `/`, such as xml:/Order/@number");
        ret->steps[ret->count++] = (struct xml_step){ .deep = false };
    } else
        deep = xml_path_take(&r, "/");
    for (;;) {
        if (!take_end(&r, deep, ret, &end, err))
            return false;
        if (end)
            return true;
        if (!take_step(&r, deep, ret, err))
            return false;
        if (!xml_path_take(&r, "/"))
            return true;
        deep = xml_path_take(&r, "/");
    }
}

bool xml_name_is(struct str in_document, struct str in_path)
{
    if (in_path.len == 0 || str_eq(in_document, in_path))
        return true;
    if (in_document.len <= in_path.len || str_find(in_path, ':') >= 0)
        return false;
    size_t prefix = in_document.len - in_path.len;

    return in_document.ptr[prefix - 1] == ':' &&
           memcmp(in_document.ptr + prefix, in_path.ptr, in_path.len) == 0;
}
