/* settings_json.c - the options of a step as one text, and back: what a process of its own is made
 * from.
 *
 * The text is JSON that core/yaml.h reads as well.  A value that is no text there (bytes that are
 * not UTF-8, control characters, line separators, which YAML folds) is written as
 * { "base64": "..." }, which no option can be by itself. */
#include "base/auto.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/require.h"
#include "core/grammar.h"
#include "core/settings.h"

enum {
    NAME_MOST = 128,     /* bytes of a name that the user has chosen */
    OUT_MOST = 32 << 20, /* YAML_BYTES, and one value with its escapes */
};

/* An open map or list. */
struct frame {
    const struct yaml_node *child; /* the next one to write */
    const struct option *keys;     /* of a map whose keys are listed */
    const struct option *each;     /* of all children otherwise; NULL: anything */
    char close;
};

struct pen {
    const struct settings *s;
    struct json_out j;
    struct frame frames[YAML_DEPTH + 1];
    size_t depth;
};

/* One of the characters that YAML refuses or folds in quotes: U+0080 to U+009F, U+2028, U+2029,
 * U+FEFF, U+FFFE, U+FFFF. */
static bool is_odd_at(struct str s, size_t i)
{
    const unsigned char *c = (const unsigned char *)s.ptr + i;
    size_t left = s.len - i;

    return (left >= 2 && c[0] == 0xc2 && c[1] < 0xa0) ||
           (left >= 3 && c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9)) ||
           (left >= 3 && c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf) ||
           (left >= 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe);
}

static bool is_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f ||
            (c >= 0x80 && is_odd_at(s, i)))
            return false;
    }
    return str_is_utf8(s);
}

static bool put_base64(struct json_out *j, struct str bytes, struct err *err)
{
    json_open(j, '{');
    json_key(j, "base64");
    json_raw(j, STR("\""));
    if (!base64_encode(bytes, j->to, err))
        return false;
    buf_putc(j->to, '"');
    json_close(j, '}');
    return true;
}

static bool put_scalar(struct pen *p, const struct yaml_node *node, const struct option *o,
                       struct err *err)
{
    bool file = o != NULL && o->type == OPT_FILE;
    struct str value;

    if (file ? !settings_content(p->s, node, &value, err)
             : !settings_expand(p->s, node, &value, err))
        return false;
    if (p->j.to->len > YAML_BYTES)
        return err_set(err, ERR_CONFIG, 0, "the options of the step are larger than 4 MiB");
    if (!is_text(value))
        return put_base64(&p->j, value, err);
    json_str(&p->j, value);
    return true;
}

static void pen_open(struct pen *p, const struct yaml_node *node, const struct option *o)
{
    bool map = node->kind == YAML_MAP;
    struct frame f = { .child = node->first, .close = map ? '}' : ']' };

    if (o != NULL && map) {
        f.keys = o->type == OPT_MAP ? o->keys : NULL;
        f.each = o->type == OPT_NAMED ? o->each : NULL;
    } else if (o != NULL) {
        f.each = o->type == OPT_LIST || o->each != NULL ? o->each : o;
    }
    json_open(&p->j, map ? '{' : '[');
    require(p->depth < sizeof p->frames / sizeof p->frames[0]);
    p->frames[p->depth++] = f;
}

static bool pen_put(struct pen *p, const struct yaml_node *node, const struct option *o,
                    struct err *err)
{
    if (node->kind == YAML_SCALAR)
        return put_scalar(p, node, o, err);
    pen_open(p, node, o);
    return true;
}

static bool pen_name(struct pen *p, struct str name, struct err *err)
{
    if (name.len > NAME_MOST || !is_text(name))
        return err_set(err, ERR_CONFIG, 0,
                       "a name in it is longer than %d bytes, or has control characters",
                       NAME_MOST);
    json_key(&p->j, name.ptr);
    return true;
}

/* The child of a map: nothing is written for one that has no value. */
static bool pen_pair(struct pen *p, const struct frame *f, const struct yaml_node *child,
                     struct err *err)
{
    struct str name = child->key->text;
    const struct option *o = f->keys != NULL ? option_find(f->keys, name) : f->each;
    const struct settings *s = p->s;
    bool is_common =
        p->depth == 1 && o == NULL && s->common != NULL && option_find(s->common, name) != NULL;

    if (yaml_is_null(child) || is_common || o == grammar_limits || o == grammar_stream_limits)
        return true;
    return (pen_name(p, name, err) && pen_put(p, child, o, err)) ||
           err_context(err, "`%.*s`", (int)(name.len < 60 ? name.len : 60), name.ptr);
}

static bool pen_run(struct pen *p, struct err *err)
{
    while (p->depth > 0) {
        struct frame *f = &p->frames[p->depth - 1];
        const struct yaml_node *child = f->child;

        if (child == NULL) {
            json_close(&p->j, f->close);
            p->depth--;
            continue;
        }
        f->child = child->next;
        if (f->close == '}' ? !pen_pair(p, f, child, err) : !pen_put(p, child, f->each, err))
            return false;
    }
    return true;
}

/* A bare value is that of the first key. */
static bool put_bare(struct pen *p, struct err *err)
{
    const struct option *first = &p->s->own[0];

    json_open(&p->j, '{');
    json_key(&p->j, first->name);
    if ((!pen_put(p, p->s->node, first, err) || !pen_run(p, err)))
        return err_context(err, "`%s`", first->name);
    json_close(&p->j, '}');
    return true;
}

bool settings_json(const struct settings *s, struct buf *out, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(OUT_MOST);
    struct pen p = { .s = s, .j = { .to = &text } };
    bool none = s->node == NULL || yaml_is_null(s->node), ok = true;

    if (none) {
        json_open(&p.j, '{');
        json_close(&p.j, '}');
    } else if (s->node->kind == YAML_MAP) {
        const struct option all = { .type = OPT_MAP, .keys = s->own };

        pen_open(&p, s->node, &all);
        ok = pen_run(&p, err);
    } else if (s->own != NULL) {
        ok = put_bare(&p, err);
    } else {
        ok = err_set(err, ERR_CONFIG, 0, "it has no options");
    }
    if (ok && text.len > YAML_BYTES)
        ok = err_set(err, ERR_CONFIG, 0, "the options of the step are larger than 4 MiB");
    return ok && buf_append(out, buf_view(&text), err);
}

bool settings_of_json(struct str json, const struct option *own, struct arena *a,
                      struct settings *ret, struct err *err)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *root = yaml_load(json, a, &problems);
    bool ok = root != NULL && problems.count == 0 && root->kind == YAML_MAP;

    *ret = (struct settings){ .node = root, .own = own, .literal = true, .arena = a };
    if (!ok)
        (void)err_set(err, ERR_CONFIG, 0, "the options of a step cannot be read: %.150s",
                      problems.count > 0 ? problems.items[0].message : "it is no map");
    problem_list_done(&problems);
    return ok;
}
