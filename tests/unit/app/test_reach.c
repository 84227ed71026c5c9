/* test_reach.c - the rules of a node's configuration, on a kernel with or without Landlock. */
#include "app/reach.h"

#include <sys/stat.h>

#include "app/registry.h"
#include "base/auto.h"
#include "folder.h"
#include "test.h"

/* A sanitizer reads whatever it likes. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { INSPECTED = 1 };
#else
enum { INSPECTED = 0 };
#endif

static struct folder place;
static struct reach reach;

/* The rules for a configuration in the file `etc/waybill.yaml` of the place. */
static bool collect(const char *text)
{
    const struct config_options options = { .connectors = &registry, .expand_node = true };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    char file[300];

    (void)snprintf(file, sizeof file, "%s/etc/waybill.yaml", place.path);
    struct config *c = config_load(str_of(text), file, &options, &report);

    if (c == NULL) {
        printf("# %s\n", report.problems.items[0].message);
        return false;
    }
    reach_done(&reach);
    reach_collect(&reach, c, str_of(text));
    config_unref(c);
    return true;
}

/* Paths that begin with @ are in the place. */
static bool may(enum confine_access access, const char *path)
{
    char whole[400];

    (void)snprintf(whole, sizeof whole, "%s%s", path[0] == '@' ? place.path : "",
                   path[0] == '@' ? path + 1 : path);
    for (size_t i = 0; i < reach.count; i++)
        if (reach.rules[i].access == access && strcmp(reach.rules[i].path, whole) == 0)
            return true;
    return false;
}

static void begin(void)
{
    place = folder_make();
    (void)mkdirat(place.fd, "etc", 0700);
    (void)mkdirat(place.fd, "in", 0700);
    (void)mkdirat(place.fd, "keys", 0700);
    (void)mkdirat(place.fd, "keys/new", 0700);
    (void)close(openat(place.fd, "keys/new/cert.pem", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    (void)symlinkat("new/cert.pem", place.fd, "keys/cert.pem");
    (void)close(openat(place.fd, "keys/listen", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    AUTO_FD fd = openat(place.fd, "keys/listen", O_WRONLY | O_CLOEXEC);

    (void)!write(fd, "127.0.0.1:0", 11);
}

static void finish(void)
{
    reach_done(&reach);
    folder_done(&place);
}

TEST(without_folders_that_of_the_file_is_written)
{
    begin();
    CHECK(collect("node: { data: /somewhere/data }\n"));
    CHECK(may(CONFINE_WRITE, "@/etc") && may(CONFINE_READ, "@/etc"));
    CHECK(may(CONFINE_WRITE, "/somewhere/data"));
    CHECK(may(CONFINE_READ, "/etc") && !may(CONFINE_WRITE, "/etc"));
    CHECK(may(CONFINE_READ, "/usr") && !may(CONFINE_WRITE, "/usr"));
    CHECK(may(CONFINE_WRITE, "/dev/null") && may(CONFINE_WRITE, "/proc/self/task"));
    CHECK(!may(CONFINE_WRITE, "/") && !may(CONFINE_READ, "@"));
    CHECK(INSPECTED || !may(CONFINE_READ, "/"));
    finish();
}

TEST(folders_are_written_and_that_of_the_file_is_read)
{
    begin();
    CHECK(collect("node: { folders: [../in, /srv/drop] }\n"));
    CHECK(may(CONFINE_WRITE, "@/etc/../in") && may(CONFINE_WRITE, "/srv/drop"));
    CHECK(may(CONFINE_READ, "@/etc") && !may(CONFINE_WRITE, "@/etc"));
    finish();
}

TEST(a_folder_that_will_be_made_is_reached_by_its_parent)
{
    begin();
    CHECK(collect("node: { folders: [../in/later] }\n"));
    CHECK(may(CONFINE_WRITE, "@/in"));
    CHECK(collect("node: { folders: [/no-such-folder-of-a-test] }\n"));
    CHECK(!may(CONFINE_WRITE, "/"));
    finish();
}

TEST(files_are_read_where_they_are_and_where_they_are_linked_to)
{
    begin();
    CHECK(collect("node:\n"
                  "  listen: \"${file:../keys/listen}\"\n"
                  "  tls: { cert: ../keys/cert.pem, key: ../other/key.pem }\n"
                  "  expose: { files: [/run/secrets/one, /two] }\n"));
    CHECK(may(CONFINE_READ, "@/etc/../keys") && may(CONFINE_READ, "@/keys/new"));
    CHECK(may(CONFINE_READ, "@/etc/../other"));
    CHECK(may(CONFINE_READ, "/run/secrets") && may(CONFINE_READ, "/two"));
    CHECK(INSPECTED || !may(CONFINE_READ, "/"));
    finish();
}

TEST(the_files_of_postgresql_are_read_only_with_it)
{
    begin();
    (void)setenv("HOME", "/home/of-a-test", 1);
    CHECK(collect("node: { data: /d }\n"));
    CHECK(!may(CONFINE_READ, "/home/of-a-test/.pgpass"));
    CHECK(collect("node: { store: \"postgres://u@h/db?sslrootcert=/pki/ca/root.pem\" }\n"));
    CHECK(may(CONFINE_READ, "/home/of-a-test/.pgpass") && !may(CONFINE_READ, "/home/of-a-test"));
    CHECK(may(CONFINE_READ, "/home/of-a-test/.postgresql") && may(CONFINE_READ, "/pki/ca"));
    finish();
}

int main(void)
{
    return test_main();
}
