/* replace.c - replaces text.
 *
 *     - replace: { find: " ", with: "," }
 *     - replace: { regex: "(\d+)\.(\d+)", with: "$1,$2" }
 *
 * With `find` both are literal.  With `regex`, $0 is the match, $1 to $9 and ${name} are its groups
 * (${12} too), and $$ is a dollar; a group that did not participate is empty, a group that does not
 * exist is an error in the configuration.
 */
#include "core/connector.h"
#include "core/regex.h"

/* A piece of `with`: a literal, or a group of the match. */
struct piece {
    struct str text; /* ptr NULL: use `group` */
    unsigned group;
};

struct replace {
    struct str find; /* empty: use `regex` */
    struct regex *regex;
    struct piece *with;
    size_t with_count;
};

/* ---- options ---- */

static const struct option options[] = {
    OPTION("find", OPT_TEXT, "the text that is replaced", .flags = OPT_ONE_OF),
    OPTION("regex", OPT_REGEX, "a regular expression for it", .flags = OPT_ONE_OF),
    OPTION("with", OPT_TEXT,
           "what stands there afterwards; of `regex`, $1 to $9 and ${name} are the groups, $0 is "
           "all of it, $$ a dollar",
           .fallback = ""),
    { 0 },
};

static bool replace_group_of(const struct regex *regex, struct str name, unsigned *ret,
                             struct err *err)
{
    uint64_t n;

    if (str_to_u64(name, &n)) {
        if (n > regex_groups(regex))
            return err_set(err, ERR_CONFIG, 0, "`with`: `regex` has no group %.*s", STR_ARG(name));
        *ret = (unsigned)n;
        return true;
    }
    if (!regex_group_named(regex, name, ret))
        return err_set(err, ERR_CONFIG, 0, "`with`: `regex` has no group `%.*s`", STR_ARG(name));
    return true;
}

/* Takes one piece off the front of *rest, which is not empty. */
static bool replace_take_piece(const struct regex *regex, struct str *rest, struct piece *ret,
                               struct err *err)
{
    ptrdiff_t dollar = str_find(*rest, '$');
    size_t literal = dollar < 0 ? rest->len : (size_t)dollar;
    char next = literal + 1 < rest->len ? rest->ptr[literal + 1] : '\0';

    if (literal > 0) {
        *ret = (struct piece){ .text = str_mem(rest->ptr, literal) };
        *rest = str_from(*rest, literal);
        return true;
    }
    *ret = (struct piece){ 0 };
    if (next >= '0' && next <= '9') {
        struct str name = str_mem(rest->ptr + 1, 1);

        *rest = str_from(*rest, 2);
        return replace_group_of(regex, name, &ret->group, err);
    }
    if (next == '{') {
        ptrdiff_t close = str_find(*rest, '}');

        if (close < 0)
            return err_set(err, ERR_CONFIG, 0, "`with`: a `${` is not closed");
        struct str name = str_mem(rest->ptr + 2, (size_t)close - 2);

        *rest = str_from(*rest, (size_t)close + 1);
        return replace_group_of(regex, name, &ret->group, err);
    }
    ret->text = str_mem(rest->ptr, 1);
    *rest = str_from(*rest, next == '$' ? 2 : 1);
    return true;
}

static bool read_with(struct replace *r, struct str with, struct arena *a, struct err *err)
{
    struct piece piece;
    size_t count = 0;

    for (struct str rest = with; rest.len > 0; count++)
        if (!replace_take_piece(r->regex, &rest, &piece, err))
            return false;
    r->with = ARENA_ARRAY(a, struct piece, count);
    for (struct str rest = with; rest.len > 0; r->with_count++)
        if (!replace_take_piece(r->regex, &rest, &r->with[r->with_count], err))
            return false;
    return true;
}

static void unmake(void *self)
{
    struct replace *r = self;

    regex_free(r->regex);
}

static bool make_regex(struct replace *r, struct str regex, struct str with, struct arena *a,
                       struct err *err)
{
    if (!regex_compile(regex, &r->regex, err))
        return err_context(err, "`regex`");
    if (read_with(r, with, a, err))
        return true;
    unmake(r);
    return false;
}

static bool make_text(struct replace *r, struct str with, struct arena *a, struct err *err)
{
    if (r->find.len == 0)
        return err_set(err, ERR_CONFIG, 0, "`find` is empty: there is nothing to look for");
    r->with = ARENA_NEW(a, struct piece);
    r->with[0].text = with;
    r->with_count = 1;
    return true;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct replace *r = ARENA_NEW(s->arena, struct replace);
    struct str regex, with;

    if (!settings_text(s, "find", &r->find, err) || !settings_text(s, "regex", &regex, err) ||
        !settings_text(s, "with", &with, err))
        return false;
    if ((r->find.ptr == NULL) == (regex.ptr == NULL))
        return err_set(err, ERR_CONFIG, 0, "exactly one of `find` and `regex` is needed");
    if (regex.ptr != NULL ? !make_regex(r, regex, with, s->arena, err)
                          : !make_text(r, with, s->arena, err))
        return false;
    *ret_self = r;
    return true;
}

/* ---- running ---- */

struct output {
    struct buf *to;
    size_t most, room;
};

static bool replace_put(struct output *o, struct str bytes)
{
    if (bytes.len > o->room)
        return false;
    o->room -= bytes.len;
    buf_put(o->to, bytes);
    return true;
}

static bool say_limit(const struct output *o, struct service_failure *ret)
{
    return service_fail(ret, DEAD_LIMIT, "replace: what comes out is larger than %zu bytes",
                        o->most);
}

static bool replace_text(const struct replace *r, struct str rest, struct output *o,
                         struct service_failure *ret_failure)
{
    const char *found;

    while (rest.len > 0 && (found = memmem(rest.ptr, rest.len, r->find.ptr, r->find.len)) != NULL) {
        size_t before = (size_t)(found - rest.ptr);

        if (!replace_put(o, str_mem(rest.ptr, before)) || !replace_put(o, r->with[0].text))
            return say_limit(o, ret_failure);
        rest = str_from(rest, before + r->find.len);
    }
    return replace_put(o, rest) || say_limit(o, ret_failure);
}

static bool put_with(const struct replace *r, const struct regex_search *s, struct output *o)
{
    for (size_t i = 0; i < r->with_count; i++) {
        const struct piece *p = &r->with[i];

        if (!replace_put(o, p->text.ptr != NULL ? p->text : regex_group(s, p->group)))
            return false;
    }
    return true;
}

static bool replace_matches(const struct replace *r, struct regex_search *s, struct output *o,
                            struct service_failure *ret_failure)
{
    size_t done = 0; /* bytes of the text handled */
    enum regex_found found;

    while ((found = regex_next(s)) == REGEX_FOUND) {
        struct str match = regex_group(s, 0);
        size_t start = (size_t)(match.ptr - s->text.ptr);

        if (start < done) /* \K can move the start of a match back */
            continue;
        if (!replace_put(o, str_mem(s->text.ptr + done, start - done)) || !put_with(r, s, o))
            return say_limit(o, ret_failure);
        done = start + match.len;
    }
    if (found == REGEX_OVER)
        return service_fail(ret_failure, DEAD_BUDGET,
                            "replace: the regular expression takes too long on this document, "
                            "after byte %zu",
                            done);
    return replace_put(o, str_from(s->text, done)) || say_limit(o, ret_failure);
}

static bool replace_regex(const struct replace *r, struct str in, struct output *o,
                          struct service_failure *ret_failure)
{
    struct regex_search s;

    regex_search_init(&s, r->regex, in);
    bool ok = replace_matches(r, &s, o, ret_failure);

    regex_search_done(&s);
    return ok;
}

static bool run(void *self, struct str in, const struct service_document *d, struct buf *out,
                struct service_failure *ret_failure)
{
    const struct replace *r = self;
    size_t before = out->len, room = out->cap - before;
    size_t most = room < SERVICE_BYTES_MOST ? room : SERVICE_BYTES_MOST;
    struct output o = { .to = out, .most = most, .room = most };

    (void)d;
    if (r->regex != NULL ? replace_regex(r, in, &o, ret_failure)
                         : replace_text(r, in, &o, ret_failure))
        return true;
    if (out->len > before) {
        out->len = before;
        out->ptr[before] = '\0';
    }
    return false;
}

const struct service_type service_replace = {
    .kind = { .name = "replace",
              .help = "replace text",
              .keys = options,
              .example = "- replace: { regex: \"(\\\\d+)\\\\.(\\\\d+)\", with: \"$1,$2\" }" },
    .make = make,
    .unmake = unmake,
    .run = run,
};
