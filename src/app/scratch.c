#include "app/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "app/check_steps.h"
#include "app/config_file.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/registry.h"
#include "base/auto.h"
#include "base/file.h"
#include "core/config.h"
#include "engine/plan/plan.h"
#include "engine/rehearse/workbench.h"
#include "store/people/secret.h"

/* What problems of a step on the command line are said to be in. */
#define STEP_FILE "STEP"

/* ---- a store and a road ---- */

int scratch_open(struct scratch *s)
{
    struct err err = { 0 };

    if (!temp_folder_make_guarded("try", s->folder, &s->guard, &err) ||
        !workbench_open(s->folder, &s->bench, &err))
        return print_fail(EXIT_IO, "%s", err.text);
    return EXIT_DONE;
}

void scratch_close(struct scratch *s)
{
    plan_unref(s->plan);
    workbench_close(s->bench);
    temp_folder_remove(s->folder);
    temp_guard_end(&s->guard);
    *s = (struct scratch){ 0 };
}

/* ---- secrets ---- */

static bool scratch_put_secret(struct scratch *s, int dirfd, const char *name, struct err *err)
{
    AUTO(buf_done) struct buf value = BUF_INIT(SECRET_MOST + 2);

    if (!file_read_whole(dirfd, name, &value, err))
        return false;
    if (value.len > 0 && value.ptr[value.len - 1] == '\n')
        buf_cut(&value, value.len - 1);
    return secret_put(workbench_store(s->bench), str_of(name), buf_view(&value), STR("scratch"),
                      err);
}

int scratch_secrets(struct scratch *s, const char *folder, bool must)
{
    DIR *dir = opendir(folder);
    struct err err = { 0 };
    bool ok = true;

    if (dir == NULL && errno == ENOENT && !must)
        return EXIT_DONE;
    if (dir == NULL)
        return print_fail(EXIT_IO, "%s: %s", folder, strerror(errno));
    for (struct dirent *e; ok && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.')
            ok = scratch_put_secret(s, dirfd(dir), e->d_name, &err);
    (void)closedir(dir);
    return ok ? EXIT_DONE : print_fail(EXIT_IO, "secrets of %s: %s", folder, err.text);
}

/* ---- the configuration ---- */

static bool print_problems(const char *file, const struct problem_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        print_problem(file, list->items[i].place.line, list->items[i].place.column, "error",
                      list->items[i].message, list->items[i].hint);
    return list->count > 0;
}

struct loading {
    struct str text;
    const char *file;
    struct str step;
    const struct config_files *files;
};

/* NULL: the problems are printed. */
static struct config *load_config(const struct loading *l)
{
    const struct config_options options = {
        .connectors = &registry, .ask_zones = true, .files = l->files, .step = l->step
    };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(l->text, l->file, &options, &report);

    if (c != NULL && l->files != NULL && c->has_node)
        config_ask_exposed(c, &report.problems);
    if (c != NULL && l->files != NULL && report.problems.count == 0)
        check_steps(c, l->files, &report.problems);
    if (!print_problems(l->step.ptr != NULL ? STEP_FILE : l->file, &report.problems))
        return c;
    config_unref(c);
    return NULL;
}

/* First without the files that it names, to know which these are. */
static struct config *load_with_files(struct loading l, struct arena *a)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct config_files files = { 0 };
    struct config *c = load_config(&l);

    if (c == NULL)
        return NULL;
    config_read_files(c, a, &files, &problems);
    config_unref(c);
    bool bad = print_problems(l.step.ptr != NULL ? STEP_FILE : l.file, &problems);

    problem_list_done(&problems);
    if (bad)
        return NULL;
    l.files = &files;
    return load_config(&l);
}

int scratch_plan(struct scratch *s, const char *file, struct str step)
{
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES + 1);
    AUTO(arena_done) struct arena arena = ARENA_INIT(2 * CONFIG_FILES_BYTES);
    struct loading l = { .file = file != NULL ? file : STEP_FILE, .step = step };
    struct err err = { 0 };
    struct config *c = NULL;

    if (file != NULL && !config_file_text(file, &text, &err))
        return print_fail(EXIT_IO, "%s", err.text);
    l.text = buf_view(&text);
    if (file != NULL && step.ptr != NULL) { /* what is wrong with the file is told by its name */
        const struct loading alone = { .file = file, .text = l.text };

        c = load_config(&alone);
        if (c == NULL)
            return EXIT_NO;
        config_unref(c);
    }
    c = load_with_files(l, &arena);
    if (c == NULL)
        return EXIT_NO;
    bool ok = workbench_plan(s->bench, c, &registry, &s->plan, &err);

    config_unref(c);
    return ok ? EXIT_DONE : print_fail(EXIT_IO, "%s", err.text);
}
