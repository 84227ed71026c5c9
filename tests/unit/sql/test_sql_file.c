/* Which file may be a database. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "folder.h"
#include "sql/sql_file.h"
#include "test.h"

static struct sql_failure f;

/* Whether PLACE/FILE may be one. */
static bool may(const char *place, const char *file)
{
    static char path[500];
    struct sql_place p = { 0 };

    (void)snprintf(path, sizeof path, "%s%s", place, file);
    p.file = str_of(path);
    f = (struct sql_failure){ 0 };
    return sql_file_may_use(&p, &f);
}

static bool refuses(const char *place, const char *file, const char *words)
{
    if (may(place, file) || f.kind != SQL_FAULT_CONFIG || !f.ours ||
        strstr(f.text, words) == NULL) {
        printf("# %d %s\n", (int)f.kind, f.text);
        return false;
    }
    return true;
}

TEST(sql_file_is_in_a_folder_of_the_node)
{
    AUTO(folder_done) struct folder home = folder_make(), away = folder_make();
    const char *const roots[] = { home.path };
    struct folder_rule rule = { .roots = roots, .root_count = 1 };
    char data[300], link[300], said[SQL_TEXT_MOST];

    (void)snprintf(data, sizeof data, "%s/data", home.path);
    (void)snprintf(link, sizeof link, "%s/link", home.path);
    CHECK(mkdir(data, 0700) == 0 && symlink(away.path, link) == 0);
    sql_file_prepare(data, &rule);
    CHECK(may("", "")); /* a server is no file */
    CHECK(refuses(home.path, "/a.db", "above the data folder"));
    CHECK(refuses(data, "/a.db", "in or above the data folder"));
    CHECK(may(home.path, "/new/a.db"));
    CHECK(refuses(away.path, "/a.db", "outside of node.folders"));
    CHECK(refuses(link, "/a.db", "outside of node.folders"));
    CHECK(refuses("/etc", "/passwd", "outside of node.folders"));
    memcpy(said, f.text, sizeof said);
    CHECK(refuses("/etc", "/none", "outside of node.folders") && strcmp(said, f.text) == 0);

    sql_file_prepare(data, NULL); /* no node: any folder */
    CHECK(may(away.path, "/a.db"));
    CHECK(refuses(data, "/a.db", "in or above the data folder"));
    sql_file_prepare("/nonexistent", NULL);
}

TEST(sql_file_names_the_line_to_add)
{
    AUTO(folder_done) struct folder home = folder_make();
    const char *const roots[] = { home.path };
    struct folder_rule rule = { .roots = roots, .root_count = 1, .usual = true };

    sql_file_prepare("/nonexistent", &rule);
    CHECK(refuses("/srv", "/a.db", "add `folders: [., /srv]`"));
    sql_file_prepare("/nonexistent", NULL);
}

int main(void)
{
    return test_main();
}
