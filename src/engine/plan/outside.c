#include "engine/plan/outside.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/auto.h"
#include "store/people/secret.h"

enum { ARENA_MOST = 4 << 20, VALUE_MOST = 1 << 20 };

struct secrets {
    struct arena arena;
    struct secret *items;
    size_t count;
    bool read;
};

static void secrets_done(struct secrets *all)
{
    arena_done(&all->arena);
}

/* The list of secrets is read once, for the first reference to a secret. */
static bool outside_is_kept(struct store *s, struct secrets *all, struct str name, bool *ret,
                            struct err *err)
{
    if (!all->read) {
        all->items = ARENA_ARRAY(&all->arena, struct secret, SECRETS_MOST);
        if (!secret_list(s, &all->arena, all->items, &all->count, err))
            return false;
        all->read = true;
    }
    *ret = false;
    for (size_t i = 0; i < all->count && !*ret; i++)
        *ret = str_eq(name, all->items[i].name);
    return true;
}

/* The secret must exist and be sealed under the key of this node. */
static bool check_secret(struct store *s, struct secrets *all, const struct config_reference *r,
                         struct problem_list *problems, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(2 * SECRET_MOST);
    char name[PROBLEM_QUOTE], hint[PROBLEM_QUOTE + 80];
    struct str value;
    bool kept;

    if (!outside_is_kept(s, all, r->name, &kept, err))
        return false;
    (void)snprintf(hint, sizeof hint, "waybill secret add %s", problem_quote(name, r->name));
    if (!kept) {
        problem_add(problems, r->place, hint, "there is no secret `%s`", name);
        return true;
    }
    if (secret_get(s, r->name, &arena, &value, err)) {
        secret_clear(value);
        return true;
    }
    if (err->kind != ERR_CONFIG)
        return false;
    problem_add(problems, r->place, hint, "%s", err->text);
    *err = (struct err){ 0 };
    return true;
}

/* A variable or a file: read as it would be read in use. */
static void check_here(const char *file, const struct config_reference *r,
                       struct problem_list *problems)
{
    bool env = r->kind == CONFIG_ENV;
    AUTO(buf_done) struct buf text = BUF_INIT(8192);
    AUTO(buf_done) struct buf value = BUF_INIT(VALUE_MOST);
    struct err err = { 0 };

    if (buf_append(&text, env ? STR("${env:") : STR("${file:"), &err) &&
        buf_append(&text, r->name, &err) && buf_append(&text, STR("}"), &err) &&
        config_expand(buf_view(&text), file, &value, &err)) {
        explicit_bzero(value.ptr, value.len);
        return;
    }
    problem_add(problems, r->place,
                env ? "set it where the node is started, and start the node again"
                    : "put the file there, so that the node's user may read it",
                "%s", err.text);
}

bool outside_check(struct store *s, const struct yaml_node *root, const struct config_node *node,
                   struct problem_list *problems, struct err *err)
{
    AUTO(secrets_done) struct secrets all = { .arena = ARENA_INIT(ARENA_MOST) };
    struct config_outside_walk walk = { 0 };
    struct config_reference r;

    while (problems->count < PROBLEM_MOST && config_outside_next(root, &walk, &r))
        if (!config_exposes(node, r.kind, r.name))
            config_say_hidden(&r, problems);
        else if (r.kind != CONFIG_SECRET)
            check_here(node->file, &r, problems);
        else if (!check_secret(s, &all, &r, problems, err))
            return false;
    return true;
}
