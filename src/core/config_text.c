/* config_text.c - ${env:} and ${file:} in a value, paths, and a text without its node section. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/config.h"

/* ---- paths ---- */

bool config_path(const char *path, const char *file, struct buf *out, struct err *err)
{
    const char *slash = strrchr(file, '/');

    if (path[0] != '/' && slash != NULL &&
        !buf_append(out, str_mem(file, (size_t)(slash - file) + 1), err))
        return false;
    return buf_append(out, str_of(path), err);
}

bool config_is_pem(const char *value)
{
    return strstr(value, "-----BEGIN ") != NULL;
}

struct str config_secret_name(struct str value)
{
    return str_starts(value, STR("secret:")) ? str_from(value, 7) : STR("");
}

/* ---- ${env:NAME} and ${file:PATH} ---- */

enum { FILE_MOST = 256 * 1024 };

static bool expand_env(struct str name, struct buf *out, struct err *err)
{
    AUTO(buf_done) struct buf terminated = BUF_INIT(256);

    if (!buf_append(&terminated, name, err))
        return err_set(err, ERR_CONFIG, 0, "the name of an environment variable is too long");
    const char *value = getenv(terminated.ptr);

    if (value == NULL)
        return err_set(err, ERR_CONFIG, 0, "the environment variable %s is not set",
                       terminated.ptr);
    return buf_append(out, str_of(value), err);
}

static bool read_whole(int fd, struct buf *into, struct err *err)
{
    for (;;) {
        if (!buf_reserve(into, 4096, err))
            return err_set(err, ERR_CONFIG, 0, "the file is too large");
        ssize_t n = read(fd, into->ptr + into->len, 4096);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_CONFIG, errno, "%s", strerror(errno));
        if (n == 0)
            return true;
        into->len += (size_t)n;
        into->ptr[into->len] = '\0';
    }
}

static bool expand_file(struct str name, const char *file, struct buf *out, struct err *err)
{
    AUTO(buf_done) struct buf plain = BUF_INIT(4096);
    AUTO(buf_done) struct buf path = BUF_INIT(8192);
    AUTO(buf_done) struct buf content = BUF_INIT(FILE_MOST + 4096);

    if (!buf_append(&plain, name, err) || !config_path(plain.ptr, file, &path, err))
        return err_set(err, ERR_CONFIG, 0, "the path of a file is too long");
    AUTO_FD fd = open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return err_set(err, ERR_CONFIG, errno, "cannot open %s: %s", path.ptr, strerror(errno));
    if (!read_whole(fd, &content, err))
        return err_context(err, "cannot read %s", path.ptr);
    if (memchr(content.ptr, '\0', content.len) != NULL)
        return err_set(err, ERR_CONFIG, 0, "%s is not a text", path.ptr);
    struct str text = buf_view(&content);

    if (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    if (text.len > 0 && text.ptr[text.len - 1] == '\r')
        text.len--;
    return buf_append(out, text, err);
}

bool config_expand(struct str value, const char *file, struct buf *out, struct err *err)
{
    while (value.len > 0) {
        bool env = str_starts(value, STR("${env:")), from_file = str_starts(value, STR("${file:"));
        ptrdiff_t close = str_find(value, '}');
        size_t skip = env ? 6 : 7;

        if ((env || from_file) && close >= 0) {
            struct str name = str_mem(value.ptr + skip, (size_t)close - skip);

            if (env ? !expand_env(name, out, err) : !expand_file(name, file, out, err))
                return false;
            value = str_from(value, (size_t)close + 1);
            continue;
        }
        /* Copy up to the next `$`, where a reference may start. */
        ptrdiff_t next = str_find(str_from(value, 1), '$');
        size_t n = next < 0 ? value.len : (size_t)next + 1;

        if (!buf_append(out, str_mem(value.ptr, n), err))
            return false;
        value = str_from(value, n);
    }
    return true;
}

/* ---- the text without its node section ---- */

static const struct yaml_node *config_text_before(const struct yaml_node *map,
                                                  const struct yaml_node *child)
{
    const struct yaml_node *last = NULL;

    for (const struct yaml_node *n = map->first; n != child; n = n->next)
        last = n;
    return last;
}

static size_t line_start(struct str text, size_t at)
{
    while (at > 0 && text.ptr[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_after(struct str text, size_t at)
{
    while (at < text.len && text.ptr[at] != '\n')
        at++;
    return at < text.len ? at + 1 : at;
}

/* The line at `at` belongs to a block whose key is indented by `indent`: it is blank, or indented
 * further (a comment below the last value). */
static bool belongs(struct str text, size_t at, size_t indent)
{
    size_t n = 0;

    while (at + n < text.len && text.ptr[at + n] == ' ')
        n++;
    return at + n == text.len || text.ptr[at + n] == '\n' || text.ptr[at + n] == '\r' || n > indent;
}

struct range {
    size_t from, to; /* bytes */
};

/* The section in block style: whole lines, and the blank lines that follow. */
static struct range range_in_block(struct str text, const struct yaml_node *node)
{
    size_t from = line_start(text, yaml_byte_of(text, node->key->at));
    size_t end = yaml_byte_of(text, node->end);
    /* The end mark of a block scalar is the start of the next line. */
    size_t to = end > from && line_start(text, end) == end ? end : line_after(text, end);

    while (to < text.len && belongs(text, to, node->key->place.column - 1))
        to = line_after(text, to);
    return (struct range){ from, to };
}

/* The section in flow style: with the comma that follows, or else the one before. */
static struct range range_in_brackets(struct str text, const struct yaml_node *root,
                                      const struct yaml_node *node)
{
    const struct yaml_node *previous = config_text_before(root, node);
    size_t from = node->key->at, to = node->end;

    if (node->next != NULL)
        to = node->next->key->at;
    else if (previous != NULL)
        from = previous->end;
    return (struct range){ yaml_byte_of(text, from), yaml_byte_of(text, to) };
}

static struct yaml_node *load_quietly(struct str text, struct arena *arena, struct err *err)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct yaml_node *root = yaml_load(text, arena, &problems);

    if (problems.count > 0) {
        (void)err_set(err, ERR_CONFIG, 0, "line %u: %s", problems.items[0].place.line,
                      problems.items[0].message);
        root = NULL;
    }
    problem_list_done(&problems);
    return root;
}

bool config_without_node(struct str text, struct buf *out, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA * 2);
    AUTO(buf_done) struct buf rest = BUF_INIT(YAML_BYTES);
    const struct yaml_node *root = load_quietly(text, &arena, err), *node;

    if (root == NULL)
        return false;
    node = yaml_get(root, "node");
    if (node == NULL)
        return buf_append(out, text, err);
    struct range cut =
        root->flow ? range_in_brackets(text, root, node) : range_in_block(text, node);

    require(cut.from <= cut.to && cut.to <= text.len);
    buf_put(&rest, str_mem(text.ptr, cut.from));
    buf_put(&rest, str_from(text, cut.to));
    /* Verify the cut, whatever the layout was: only the node section may be missing. */
    const struct yaml_node *again = load_quietly(buf_view(&rest), &arena, err);

    if (again == NULL || again->count != root->count - 1 || yaml_get(again, "node") != NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "line %u: the section `node` cannot be taken out; put `node:` and its keys "
                       "on lines of their own",
                       node->key->place.line);
    return buf_append(out, buf_view(&rest), err);
}
