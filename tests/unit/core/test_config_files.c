/* The files that a configuration names. */
#include "core/config_files.h"

#include <sys/stat.h>

#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "core/connector.h"
#include "folder.h"
#include "test.h"

enum { ARENA = 32 << 20 };

static const struct option keys[] = {
    OPTION("file", OPT_FILE, "a file", .flags = OPT_OR_LIST),
    { 0 },
};

static const struct service_type taker = {
    .kind = { .name = "taker", .help = "takes a file", .keys = keys },
};
static const struct service_type *const services[] = { &taker, NULL };

struct scene {
    struct folder folder;
    struct arena arena;
    struct config_report report;
    struct problem_list problems;
    struct config *config;
    struct config_files files;
};

static void scene_done(struct scene *s)
{
    config_unref(s->config);
    config_report_done(&s->report);
    problem_list_done(&s->problems);
    arena_done(&s->arena);
    folder_done(&s->folder);
}

static struct scene scene_of(void)
{
    return (struct scene){ .folder = folder_make(),
                           .arena = ARENA_INIT(ARENA),
                           .report = CONFIG_REPORT_INIT,
                           .problems = PROBLEM_LIST_INIT };
}

static bool put_file(struct scene *s, const char *name, struct str bytes)
{
    int fd = openat(s->folder.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool ok = fd >= 0 && write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len;

    return close(fd) == 0 && ok;
}

/* A configuration whose one route names these, as YAML. */
static bool load(struct scene *s, const char *named, const struct config_files *files)
{
    const struct connectors own = { registry.gateways, services, registry.endpoints };
    const struct config_options options = { .connectors = &own, .files = files };
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 20), file = BUF_INIT(400);

    config_unref(s->config);
    config_report_done(&s->report);
    s->report = (struct config_report)CONFIG_REPORT_INIT;
    buf_printf(&file, "%s/waybill.yaml", s->folder.path);
    buf_printf(&text, "node: { data: '%s/data' }\nroutes:\n  - { name: r, do: [ taker: %s ] }\n",
               s->folder.path, named);
    s->config = config_load(buf_view(&text), file.ptr, &options, &s->report);
    return s->config != NULL;
}

static bool reads(struct scene *s, const char *named)
{
    problem_list_done(&s->problems);
    s->problems = (struct problem_list)PROBLEM_LIST_INIT;
    if (!load(s, named, NULL))
        return false;
    config_read_files(s->config, &s->arena, &s->files, &s->problems);
    return s->problems.count == 0;
}

static bool says(const struct problem_list *p, const char *what)
{
    return p->count > 0 && strstr(p->items[0].message, what) != NULL;
}

TEST(config_files_are_listed_once_each)
{
    AUTO(scene_done) struct scene s = scene_of();

    CHECK(load(&s, "[ b, a/x, b, ./b ]", NULL));
    CHECK(s.config->file_use_count == 3);
    CHECK(str_is(s.config->file_uses[0].path, "./b"));
    CHECK(str_is(s.config->file_uses[2].path, "b") && s.config->file_uses[2].place.line == 3);
    CHECK(load(&s, "{}", NULL) && s.config->file_use_count == 0);
}

TEST(config_files_stay_below_their_folder_by_their_names)
{
    static const char *const bad[] = { "/etc/passwd", "../x",        "a/../x",  "..",
                                       "./../x",      "''",          "a//b",    "a/./b",
                                       "'a\x01b'",    ".",           "./",      "a/",
                                       "${env:HOME}", "'${file:x}'", "secret:x" };
    AUTO(scene_done) struct scene s = scene_of();

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!load(&s, bad[i], NULL) && s.report.problems.count > 0);
    CHECK(load(&s, "a/b.c/..d", NULL));
}

TEST(config_files_are_read)
{
    AUTO(scene_done) struct scene s = scene_of();

    CHECK(put_file(&s, "one", STR("first\0\xff")) && put_file(&s, "two", STR("")));
    CHECK(mkdirat(s.folder.fd, "sub", 0700) == 0 && put_file(&s, "sub/three", STR("3")));
    CHECK(symlinkat("sub/three", s.folder.fd, "link") == 0);
    CHECK(reads(&s, "[ one, two, ./sub/three, link ]"));
    CHECK(s.files.count == 4);
    CHECK(str_eq(config_files_find(&s.files, STR("one"))->bytes, STR("first\0\xff")));
    CHECK(config_files_find(&s.files, STR("two"))->bytes.len == 0);
    CHECK(str_is(config_files_find(&s.files, STR("./sub/three"))->bytes, "3"));
    CHECK(str_is(config_files_find(&s.files, STR("link"))->bytes, "3"));
    CHECK(config_files_find(&s.files, STR("sub/three")) == NULL);
}

TEST(config_files_are_not_read_from_elsewhere)
{
    AUTO(scene_done) struct scene s = scene_of();

    CHECK(mkdirat(s.folder.fd, "data", 0700) == 0 && put_file(&s, "data/token", STR("hush")));
    CHECK(symlinkat("/etc/hostname", s.folder.fd, "out") == 0);
    CHECK(symlinkat("data/token", s.folder.fd, "in") == 0);
    CHECK(mkfifoat(s.folder.fd, "pipe", 0600) == 0);
    CHECK(!reads(&s, "absent") && says(&s.problems, "No such file") && s.files.count == 0);
    CHECK(s.problems.items[0].place.line == 3 && s.problems.items[0].hint != NULL);
    CHECK(!reads(&s, "out") && says(&s.problems, "leads out of the folder"));
    CHECK(!reads(&s, "data/token") && says(&s.problems, "lies in the data folder"));
    CHECK(!reads(&s, "in") && says(&s.problems, "lies in the data folder"));
    CHECK(!reads(&s, "pipe") && says(&s.problems, "it is not a file"));
    CHECK(!reads(&s, "data") && says(&s.problems, "it is not a file"));
}

TEST(config_files_have_limits)
{
    AUTO(scene_done) struct scene s = scene_of();
    AUTO(buf_done) struct buf big = BUF_INIT(2 << 20), many = BUF_INIT(1 << 20);
    struct err err;

    CHECK(buf_reserve(&big, CONFIG_FILE_BYTES + 1, &err));
    memset(big.ptr, 'x', CONFIG_FILE_BYTES + 1);
    CHECK(put_file(&s, "most", str_mem(big.ptr, CONFIG_FILE_BYTES)));
    CHECK(put_file(&s, "more", str_mem(big.ptr, CONFIG_FILE_BYTES + 1)));
    CHECK(reads(&s, "most") && s.files.items[0].bytes.len == CONFIG_FILE_BYTES);
    CHECK(!reads(&s, "more") && says(&s.problems, "`more` is too large"));
    for (char name[] = "a"; name[0] <= 'i'; name[0]++)
        CHECK(linkat(s.folder.fd, "most", s.folder.fd, name, 0) == 0);
    CHECK(reads(&s, "[ a, b, c, d, e, f, g, h ]") && s.files.count == 8);
    CHECK(!reads(&s, "[ a, b, c, d, e, f, g, h, i ]") && says(&s.problems, "more than 8 MiB"));
    buf_puts(&many, "[ f0");
    for (int i = 1; i < CONFIG_FILES_MOST; i++)
        buf_printf(&many, ", f%d", i);
    buf_puts(&many, " ]");
    CHECK(load(&s, many.ptr, NULL));
    many.ptr[many.len - 1] = ',';
    buf_puts(&many, " one_more ]");
    CHECK(!load(&s, many.ptr, NULL) && says(&s.report.problems, "more than 1000 files"));
}

/* What was sent is asked for in the same way. */
TEST(config_files_that_are_given_are_checked)
{
    AUTO(scene_done) struct scene s = scene_of();
    AUTO(buf_done) struct buf big = BUF_INIT(2 << 20);
    struct config_file list[10] = { { STR("a"), STR("1") }, { STR("unused"), STR("2") } };
    const struct config_files files = { list, 10 };
    struct err err;

    CHECK(load(&s, "[ a, b ]", &files) && s.config->files.count == 1);
    config_ask_files(s.config, &s.problems);
    CHECK(s.problems.count == 1 && says(&s.problems, "the file `b` is missing"));
    CHECK(buf_reserve(&big, CONFIG_FILE_BYTES + 1, &err));
    memset(big.ptr, 'x', CONFIG_FILE_BYTES + 1);
    list[0].bytes = str_mem(big.ptr, CONFIG_FILE_BYTES + 1);
    problem_list_done(&s.problems);
    s.problems = (struct problem_list)PROBLEM_LIST_INIT;
    CHECK(load(&s, "a", &files));
    config_ask_files(s.config, &s.problems);
    CHECK(s.problems.count == 1 && says(&s.problems, "is too large"));
    for (size_t i = 0; i < 9; i++)
        list[i] = (struct config_file){ str_mem(&"abcdefghi"[i], 1),
                                        str_mem(big.ptr, CONFIG_FILE_BYTES) };
    problem_list_done(&s.problems);
    s.problems = (struct problem_list)PROBLEM_LIST_INIT;
    CHECK(load(&s, "[ a, b, c, d, e, f, g, h, i ]", &files));
    config_ask_files(s.config, &s.problems);
    CHECK(s.problems.count == 1 && says(&s.problems, "more than 8 MiB"));
}

int main(void)
{
    return test_main();
}
