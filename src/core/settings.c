#include "core/settings.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/safe_path.h"
#include "core/config.h"
#include "core/config_files.h"

/* The most bytes of an expanded value: several files of config_expand(); and the room for one that
 * was written in base64, which is decoded in groups of three. */
enum { VALUE_MOST = 1 << 20, VALUE_ROOM = VALUE_MOST + 3 };
_Static_assert((int)VALUE_MOST >= (int)CONFIG_FILE_BYTES, "a file is a value");

/* ---- finding a key ---- */

static const struct option *option_of(const struct settings *s, const char *key)
{
    struct str name = str_of(key);
    const struct option *o = s->own != NULL ? option_find(s->own, name) : NULL;

    return o == NULL && s->common != NULL ? option_find(s->common, name) : o;
}

/* The value in the configuration, or NULL. */
static const struct yaml_node *settings_value_of(const struct settings *s, const char *key)
{
    const struct yaml_node *value = s->node;

    if (value == NULL || yaml_is_null(value))
        return NULL;
    if (value->kind != YAML_MAP)
        return s->own != NULL && strcmp(s->own[0].name, key) == 0 ? value : NULL;
    value = yaml_get(value, key);
    return value != NULL && !yaml_is_null(value) ? value : NULL;
}

struct settings settings_below(const struct settings *s, const char *key)
{
    const struct option *o = option_of(s, key);
    struct settings below = *s;

    below.node = settings_value_of(s, key);
    below.common = NULL;
    below.own = o != NULL ? o->keys : NULL;
    return below;
}

bool settings_has(const struct settings *s, const char *key)
{
    return settings_value_of(s, key) != NULL;
}

/* ---- replacing references ---- */

static bool put_secret(const struct settings *s, struct str name, struct buf *out, struct err *err)
{
    struct str value;

    if (s->secret == NULL)
        return err_set(err, ERR_CONFIG, 0, "no secret can be used here");
    return s->secret(s->secret_arg, name, s->arena, &value, err) && buf_append(out, value, err);
}

/* ${env:NAME} or ${file:PATH}, if the node exposes it. */
static bool put_exposed(const struct settings *s, struct str piece, struct buf *out,
                        struct err *err)
{
    bool env = str_starts(piece, STR("${env:"));
    struct str name = str_mem(piece.ptr + (env ? 6 : 7), piece.len - (env ? 7 : 8));

    if (s->reach == NULL || !config_exposes(s->reach, env ? CONFIG_ENV : CONFIG_FILE, name))
        return err_set(err, ERR_CONFIG, 0,
                       "this node does not expose it: under `node:` add `expose: { %s: [%.*s] }`",
                       env ? "env" : "files", (int)(name.len < 80 ? name.len : 80), name.ptr);
    return config_expand(piece, s->reach->file, out, err);
}

/* Replaces each reference once; replaced text is not searched again. */
static bool expand(const struct settings *s, struct str rest, struct buf *out, struct err *err)
{
    struct str whole = config_secret_name(rest);

    if (whole.len > 0)
        return put_secret(s, whole, out, err);
    while (rest.len > 0) {
        bool secret = str_starts(rest, STR("${secret:"));
        bool other = str_starts(rest, STR("${env:")) || str_starts(rest, STR("${file:"));
        ptrdiff_t close = secret || other ? str_find(rest, '}') : -1;
        ptrdiff_t next = str_find(str_from(rest, 1), '$');
        size_t n = close >= 0 ? (size_t)close + 1 : next >= 0 ? (size_t)next + 1 : rest.len;
        struct str piece = str_mem(rest.ptr, n);
        bool put = close < 0 ? buf_append(out, piece, err)
                   : secret  ? put_secret(s, str_mem(rest.ptr + 9, n - 10), out, err)
                             : put_exposed(s, piece, out, err);

        if (!put)
            return false;
        rest = str_from(rest, n);
    }
    return true;
}

/* A value of settings_json(): a text, or its bytes in base64 where JSON has no text for them. */
static bool put_literal(const struct yaml_node *value, struct buf *out, struct err *err)
{
    const struct yaml_node *coded = yaml_get(value, "base64");

    if (value->kind == YAML_SCALAR)
        return buf_append(out, value->text, err);
    if (coded == NULL || coded->kind != YAML_SCALAR || value->count != 1)
        return err_set(err, ERR_CONFIG, 0, "a single value is expected");
    if (base64_decode(coded->text, out, err))
        return true;
    if (err->kind != ERR_LIMIT)
        err->kind = ERR_CONFIG;
    return false;
}

static bool settings_put(const struct settings *s, const struct yaml_node *value, struct buf *out,
                         struct err *err)
{
    if (!s->literal && value->kind != YAML_SCALAR)
        return err_set(err, ERR_CONFIG, 0, "a single value is expected");
    if (s->literal ? put_literal(value, out, err) : expand(s, value->text, out, err))
        return true;
    return err->kind == ERR_LIMIT ? err_set(err, ERR_CONFIG, 0, "the value is too long") : false;
}

bool settings_expand(const struct settings *s, const struct yaml_node *value, struct str *ret,
                     struct err *err)
{
    AUTO(buf_done) struct buf out = BUF_INIT(VALUE_ROOM);

    if (!settings_put(s, value, &out, err))
        return false;
    if (memchr(out.ptr, '\0', out.len) != NULL)
        return err_set(err, ERR_CONFIG, 0, "the value is not a text");
    *ret = arena_copy(s->arena, buf_view(&out));
    return true;
}

/* ---- files of the version ---- */

bool settings_content(const struct settings *s, const struct yaml_node *value, struct str *ret,
                      struct err *err)
{
    AUTO(buf_done) struct buf out = BUF_INIT(VALUE_ROOM);

    if (s->literal) {
        if (!settings_put(s, value, &out, err))
            return false;
        *ret = arena_copy(s->arena, buf_view(&out));
        return true;
    }
    if (value->kind != YAML_SCALAR)
        return err_set(err, ERR_CONFIG, 0, "a single value is expected");
    const struct config_file *file = config_files_find(s->files, value->text);

    if (file == NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "the file %.150s is not stored with this version: apply it again, with the "
                       "file",
                       value->text.ptr);
    *ret = arena_copy(s->arena, file->bytes);
    return true;
}

bool settings_file(const struct settings *s, const char *key, struct str *ret, struct err *err)
{
    const struct yaml_node *value = settings_value_of(s, key);

    *ret = (struct str){ 0 };
    return value == NULL || settings_content(s, value, ret, err) || err_context(err, "`%s`", key);
}

/* The file that a message is about, which goes on at *rest: of a list it says the number. */
static const struct yaml_node *file_meant(const struct yaml_node *value, const char **rest)
{
    char *end;

    if (value == NULL || value->kind == YAML_SCALAR)
        return value;
    if (value->kind != YAML_LIST || strncmp(*rest, ": number ", 9) != 0)
        return NULL;
    unsigned long n = strtoul(*rest + 9, &end, 10);
    const struct yaml_node *each = value->first;

    for (; each != NULL && n > 1; n--)
        each = each->next;
    *rest = end;
    return each != NULL && each->kind == YAML_SCALAR ? each : NULL;
}

void settings_name_file(const struct settings *s, struct err *err)
{
    const struct option *o;

    for (struct option_walk w = { s->own }; (o = option_next(&w)) != NULL;) {
        size_t n = strlen(o->name) + 2;

        if (o->type != OPT_FILE || err->text[0] != '`' ||
            strncmp(err->text + 1, o->name, n - 2) != 0 || err->text[n - 1] != '`')
            continue;
        const struct err was = *err;
        const char *rest = was.text + n;
        const struct yaml_node *value = file_meant(settings_value_of(s, o->name), &rest);

        if (value != NULL)
            (void)err_set(err, was.kind, was.sys, "`%s` %.150s%s", o->name, value->text.ptr, rest);
        return;
    }
}

/* ---- values ---- */

bool settings_text(const struct settings *s, const char *key, struct str *ret, struct err *err)
{
    const struct yaml_node *value = settings_value_of(s, key);
    const struct option *o = option_of(s, key);

    if (value != NULL)
        return settings_expand(s, value, ret, err) || err_context(err, "`%s`", key);
    *ret = o != NULL && o->fallback != NULL ? str_of(o->fallback) : (struct str){ 0 };
    return true;
}

static bool to_int(enum option_type type, struct str text, int64_t *ret, struct err *err)
{
    uint64_t n;

    if (type == OPT_SIZE) {
        if (!units_size(text, &n, err))
            return false;
    } else if (!str_to_u64(text, &n)) {
        return err_set(err, ERR_CONFIG, 0, "this is not a whole number");
    }
    if (n > INT64_MAX)
        return err_set(err, ERR_CONFIG, 0, "it is too large");
    *ret = (int64_t)n;
    return true;
}

bool settings_int(const struct settings *s, const char *key, int64_t *ret, struct err *err)
{
    const struct option *o = option_of(s, key);
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    return text.ptr == NULL || to_int(o != NULL ? o->type : OPT_INT, text, ret, err) ||
           err_context(err, "`%s`", key);
}

bool settings_bool(const struct settings *s, const char *key, bool *ret, struct err *err)
{
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    if (text.ptr == NULL)
        return true;
    if (!str_is(text, "true") && !str_is(text, "false"))
        return err_set(err, ERR_CONFIG, 0, "`%s`: it is true or false", key);
    *ret = str_is(text, "true");
    return true;
}

bool settings_duration(const struct settings *s, const char *key, int64_t *ret_us, struct err *err)
{
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    return text.ptr == NULL || units_duration(text, ret_us, err) || err_context(err, "`%s`", key);
}

bool settings_rate(const struct settings *s, struct units_rate *ret, uint64_t *ret_burst,
                   struct err *err)
{
    struct str text;
    int64_t burst = 0;

    if (!settings_has(s, "rate"))
        return true;
    if (!settings_text(s, "rate", &text, err) || !units_rate(text, ret, err) ||
        !settings_int(s, "burst", &burst, err))
        return false;
    *ret_burst = burst > 0 ? (uint64_t)burst : units_rate_burst(*ret);
    return true;
}

bool settings_path(const struct settings *s, const char *key, struct str *ret, struct err *err)
{
    AUTO(buf_done) struct buf path = BUF_INIT(VALUE_MOST);
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    if (text.len == 0 || s->file == NULL || config_is_pem(text.ptr)) {
        *ret = text;
        return true;
    }
    if (!config_path(text.ptr, s->file, &path, err))
        return err_set(err, ERR_CONFIG, 0, "`%s`: the path is too long", key);
    *ret = arena_copy(s->arena, buf_view(&path));
    return true;
}

bool settings_folder(const struct settings *s, const char *key, struct known_folder *ret,
                     struct err *err)
{
    struct str path, proof;

    if (!settings_path(s, key, &path, err) || !settings_text(s, "mounted", &proof, err))
        return false;
    if (proof.ptr != NULL && !safe_name(proof, err)) {
        err->kind = ERR_CONFIG;
        return err_context(err, "`mounted`");
    }
    known_folder_init(ret, arena_text(s->arena, path), key,
                      proof.ptr != NULL ? arena_text(s->arena, proof) : NULL, s->folders);
    return true;
}

bool settings_texts(const struct settings *s, const char *key, const struct str **ret,
                    size_t *ret_count, struct err *err)
{
    const struct yaml_node *node = settings_value_of(s, key);
    bool is_list = node != NULL && node->kind == YAML_LIST;
    struct str *all = ARENA_ARRAY(s->arena, struct str, is_list ? node->count : 1);
    size_t n = 0;

    *ret = all;
    if (!is_list) {
        if (!settings_text(s, key, &all[0], err))
            return false;
        *ret_count = all[0].ptr != NULL;
        return true;
    }
    for (const struct yaml_node *each = node->first; each != NULL; each = each->next)
        if (!settings_expand(s, each, &all[n++], err))
            return false;
    *ret_count = n;
    return true;
}
