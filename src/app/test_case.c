#include "app/test_case.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "core/service.h"

enum { NAMES_MOST = 20000, FILES_MOST = 10000, FACTS_MOST = 64 << 10 };

#define CASE_BYTES_MOST ((size_t)256 << 20)

/* What stands behind NAME. */
#define OUT_MARK    ".out."
#define ANSWER_MARK ".answer."

/* Of `NAME.facts.yaml`, and of an entry of `deliveries`. */
static const char *const case_keys[] = { "gateway", "name",       "headers",  "received",
                                         "answers", "sender",     "receiver", "type",
                                         "route",   "attributes", "state",    "code",
                                         "message", "parts",      "dead",     "deliveries",
                                         NULL };
static const char *const delivery_keys[] = { "endpoint", "system", "sender",     "receiver",
                                             "type",     "route",  "attributes", NULL };

/* ---- the files of a folder ---- */

static int is_file(const struct dirent *e)
{
    return e->d_name[0] != '.' &&
           (e->d_type == DT_REG || e->d_type == DT_LNK || e->d_type == DT_UNKNOWN);
}

bool test_names_read(const char *folder, struct test_names *ret, struct err *err)
{
    struct dirent **list = NULL;
    int count = scandir(folder, &list, is_file, alphasort);

    *ret = (struct test_names){ 0 };
    if (count < 0)
        return err_set(err, ERR_PERMANENT, errno, "%s: %s", folder, strerror(errno));
    ret->list = xcalloc((size_t)count + 1, sizeof *ret->list);
    for (int i = 0; i < count; i++) {
        if (ret->count < NAMES_MOST)
            ret->list[ret->count++] = xstrndup(str_of(list[i]->d_name));
        free(list[i]);
    }
    free(list);
    return count <= NAMES_MOST ||
           err_set(err, ERR_LIMIT, 0, "%s has more than %d files", folder, NAMES_MOST);
}

void test_names_done(struct test_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    *n = (struct test_names){ 0 };
}

/* ---- names ---- */

static struct str before(const char *file, const char *mark)
{
    const char *at = strstr(file, mark);

    return at != NULL ? str_mem(file, (size_t)(at - file)) : (struct str){ 0 };
}

bool test_case_is(const char *file, struct str *ret_name)
{
    *ret_name = before(file, ".in.");
    return ret_name->len > 0 && before(file, OUT_MARK).ptr == NULL &&
           before(file, ANSWER_MARK).ptr == NULL;
}

/* What follows the mark: EXT, or N.EXT.  ret_number 0: without a number. */
static struct str file_tail(const char *file, const char *mark, uint64_t *ret_number)
{
    struct str tail = str_from(str_of(file), before(file, mark).len + strlen(mark)), digits;
    struct str rest = str_cut(tail, '.', &digits);

    *ret_number = 0;
    return rest.len > 0 && str_to_u64(digits, ret_number) ? rest : tail;
}

const char *test_case_out_file(struct test_case *c, size_t at, size_t count)
{
    uint64_t number;
    struct str end = c->outs.count > 0 ? file_tail(c->outs.list[0].file, OUT_MARK, &number)
                                       : str_from(str_of(c->file), c->name.len + strlen(".in."));

    if (count == 1)
        return arena_printf(&c->arena, "%.*s.out.%.*s", STR_ARG(c->name), STR_ARG(end));
    return arena_printf(&c->arena, "%.*s.out.%zu.%.*s", STR_ARG(c->name), at + 1, STR_ARG(end));
}

/* ---- the case ---- */

static bool read_case_file(struct test_case *c, int dirfd, const char *file, struct str *ret,
                           struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(SERVICE_BYTES_MOST);

    if (!file_read_whole(dirfd, file, &bytes, err))
        return false;
    if (c->arena.used + bytes.len + (1 << 20) > CASE_BYTES_MOST)
        return err_set(err, ERR_LIMIT, 0, "the files of the case have more than %zu MiB",
                       CASE_BYTES_MOST >> 20);
    *ret = arena_copy(&c->arena, buf_view(&bytes));
    return true;
}

static uint64_t number_of_file(const char *file)
{
    const char *mark = before(file, OUT_MARK).ptr != NULL ? OUT_MARK : ANSWER_MARK;
    uint64_t number;

    (void)file_tail(file, mark, &number);
    return number;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = number_of_file(((const struct test_file *)a)->file);
    uint64_t y = number_of_file(((const struct test_file *)b)->file);

    return x < y ? -1 : x > y;
}

/* One without a number, or 1, 2, 3 ... */
static bool check_numbers(const struct test_files *f, struct err *err)
{
    for (size_t i = 0; i < f->count; i++) {
        uint64_t number = number_of_file(f->list[i].file);

        if (number != i + 1 && (number != 0 || f->count > 1))
            return err_set(err, ERR_CONFIG, 0,
                           "%s does not fit: there is one file without a number, or files with 1, "
                           "2, 3 ...",
                           f->list[i].file);
    }
    return true;
}

/* The files with this mark behind the name of the case. */
static bool read_numbered(struct test_case *c, int dirfd, const struct test_names *names,
                          const char *mark, struct test_files *ret, struct err *err)
{
    size_t most = 0;

    for (size_t i = 0; i < names->count; i++)
        most += str_eq(before(names->list[i], mark), c->name);
    if (most > FILES_MOST)
        return err_set(err, ERR_LIMIT, 0, "there are more than %d files %.*s%s*", FILES_MOST,
                       STR_ARG(c->name), mark);
    ret->list = ARENA_ARRAY(&c->arena, struct test_file, most + 1);
    for (size_t i = 0; i < names->count; i++) {
        if (!str_eq(before(names->list[i], mark), c->name))
            continue;
        struct test_file *f = &ret->list[ret->count++];

        f->file = names->list[i];
        if (!read_case_file(c, dirfd, f->file, &f->bytes, err))
            return false;
    }
    qsort(ret->list, ret->count, sizeof *ret->list, by_number);
    return check_numbers(ret, err);
}

/* ---- its facts ---- */

static bool is_one_of(struct str word, const char *const *words)
{
    while (*words != NULL && !str_is(word, *words))
        words++;
    return *words != NULL;
}

static void check_keys(struct test_case *c, const struct yaml_node *map, const char *const *keys)
{
    char quoted[PROBLEM_QUOTE], allowed[256] = "allowed:";
    size_t used = strlen(allowed);

    for (size_t i = 0; keys[i] != NULL && used < sizeof allowed; i++)
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s %s", i > 0 ? "," : "",
                                 keys[i]);
    if (map->kind != YAML_MAP) {
        problem_add(&c->problems, map->place, allowed, "a map is expected here");
        return;
    }
    for (const struct yaml_node *n = map->first; n != NULL; n = n->next)
        if (!is_one_of(n->key->text, keys))
            problem_add(&c->problems, n->key->place, allowed, "unknown key `%s`",
                        problem_quote(quoted, n->key->text));
}

static bool read_expected_facts(struct test_case *c, int dirfd, const struct test_names *names,
                                struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(FACTS_MOST);
    bool there = false;

    c->facts_file = arena_printf(&c->arena, "%.*s.facts.yaml", STR_ARG(c->name));
    for (size_t i = 0; i < names->count; i++)
        there = there || strcmp(names->list[i], c->facts_file) == 0;
    if (!there)
        return true;
    if (!file_read_whole(dirfd, c->facts_file, &text, err))
        return false;
    c->facts = yaml_load(buf_view(&text), &c->arena, &c->problems);
    if (c->facts == NULL)
        return true;
    check_keys(c, c->facts, case_keys);
    const struct yaml_node *list = yaml_get(c->facts, "deliveries");

    if (list != NULL && list->kind != YAML_LIST)
        problem_add(&c->problems, list->place, NULL, "`deliveries` is a list of maps");
    for (const struct yaml_node *n = list != NULL ? list->first : NULL; n != NULL; n = n->next)
        check_keys(c, n, delivery_keys);
    return true;
}

bool test_case_read(struct test_case *c, int dirfd, const struct test_names *names,
                    const char *file, struct err *err)
{
    *c = (struct test_case){ .arena = ARENA_INIT(CASE_BYTES_MOST + YAML_ARENA),
                             .file = file,
                             .problems = PROBLEM_LIST_INIT };
    (void)test_case_is(file, &c->name);
    return read_case_file(c, dirfd, file, &c->bytes, err) &&
           read_numbered(c, dirfd, names, OUT_MARK, &c->outs, err) &&
           read_numbered(c, dirfd, names, ANSWER_MARK, &c->answers, err) &&
           read_expected_facts(c, dirfd, names, err);
}

void test_case_done(struct test_case *c)
{
    problem_list_done(&c->problems);
    arena_done(&c->arena);
}
