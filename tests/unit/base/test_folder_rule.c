#include "test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/folder_rule.h"
#include "base/known_folder.h"
#include "folder.h"

enum { USES = 4 };

struct scene {
    struct folder folder;
    char paths[16][600];
    size_t used;
    const char *roots[2];
    struct folder_use uses[USES];
    struct folder_rule rule;
};

static const char *at(struct scene *s, const char *name)
{
    char *path = s->paths[s->used++ % 16];

    (void)snprintf(path, sizeof s->paths[0], "%s/%s", s->folder.path, name);
    return path;
}

/* conf/waybill.yaml, conf/data, and folders beside; conf and srv are the roots. */
static void scene_begin(struct scene *s)
{
    static const char *const folders[] = { "conf",    "conf/data", "conf/data/payload",
                                           "srv",     "srv/in",    "srv/done",
                                           "srv/out", "away",      "srv/keep" };

    *s = (struct scene){ .folder = folder_make() };
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        CHECK(mkdirat(s->folder.fd, folders[i], 0700) == 0);
    s->rule = (struct folder_rule){ .mutex = PTHREAD_MUTEX_INITIALIZER };
    s->rule.data = at(s, "conf/data");
    s->rule.home = at(s, "conf/");
    s->roots[0] = at(s, "conf");
    s->roots[1] = at(s, "srv");
    s->rule.roots = s->roots;
    s->rule.root_count = 2;
    s->uses[0] = (struct folder_use){ FOLDER_TAKE, "gateway a", "path", at(s, "srv/in"), NULL };
    s->uses[1] = (struct folder_use){ FOLDER_MOVE, "gateway a", "move", at(s, "srv/done"), NULL };
    s->uses[2] =
        (struct folder_use){ FOLDER_ARCHIVE, "retention", "archive", at(s, "srv/keep"), NULL };
    s->uses[3] = (struct folder_use){ FOLDER_WRITE, "endpoint b", "path", at(s, "srv/out"), NULL };
    s->rule.uses = s->uses;
    s->rule.use_count = USES;
}

static void scene_end(struct scene *s)
{
    folder_rule_done(&s->rule);
    folder_done(&s->folder);
}

static bool may(struct scene *s, enum folder_purpose purpose, const char *owner, const char *name,
                struct err *err)
{
    char path[600];
    struct folder_use use = { purpose, owner, "path", path, NULL };

    (void)snprintf(path, sizeof path, "%s/%s", s->folder.path, name);
    *err = (struct err){ 0 };
    return folder_may_use(&s->rule, &use, -1, err);
}

/* proves: S8 */
TEST(folder_rule_keeps_the_node_and_the_others)
{
    static const struct {
        enum folder_purpose purpose;
        const char *name, *want; /* NULL: it may be used */
    } cases[] = {
        { FOLDER_TAKE, "conf/in", NULL },
        { FOLDER_TAKE, "srv/new/er", NULL },
        { FOLDER_TAKE, "conf/data", "is the data folder" },
        { FOLDER_TAKE, "conf/data/payload", "lies in the data folder" },
        { FOLDER_WRITE, "conf/data/new", "lies in the data folder" },
        { FOLDER_WRITE, "conf", "contains the data folder" },
        { FOLDER_BACKUP, "conf/data/b", "lies in the data folder" },
        { FOLDER_WRITE, "away", "outside of node.folders" },
        { FOLDER_WRITE, "away/new", "outside of node.folders" },
        { FOLDER_BACKUP, "away/new", "outside of node.folders" },
        { FOLDER_TAKE, "srv/in", "contains the work folder of gateway a" },
        { FOLDER_WRITE, "srv/in", "contains the work folder of gateway a" },
        { FOLDER_WRITE, "srv/in/.waybill", "is the work folder of gateway a" },
        { FOLDER_READ, "srv/in/.waybill/x", "lies in the work folder of gateway a" },
        { FOLDER_WRITE, "srv/in/sub", NULL },
        { FOLDER_READ, "srv/done", "is the move target of gateway a" },
        { FOLDER_TAKE, "srv/done/sub", "lies in the move target of gateway a" },
        { FOLDER_WRITE, "srv", "contains" },
        { FOLDER_MOVE, "srv/done", NULL }, /* several gateways may share one */
        { FOLDER_WRITE, "srv/keep", "is the archive of retention" },
        { FOLDER_BACKUP, "srv/keep/b", "lies in the archive of retention" },
        { FOLDER_WRITE, "srv/out", NULL }, /* so may endpoints */
        { FOLDER_ARCHIVE, "srv", "contains" },
        { FOLDER_ARCHIVE, "srv/out", "a folder of endpoint b touches the archive of gateway x" },
    };
    struct scene s;
    struct err err;

    scene_begin(&s);
    for (size_t i = 0; i < USES; i++)
        folder_rule_look(&s.rule, &s.uses[i]);
    for (size_t i = 0; i < USES; i++) {
        err = (struct err){ 0 };
        CHECK(folder_may_use(&s.rule, &s.uses[i], -1, &err));
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool ok = may(&s, cases[i].purpose, "gateway x", cases[i].name, &err);

        if (ok != (cases[i].want == NULL) || (!ok && strstr(err.text, cases[i].want) == NULL))
            (void)printf("# %s: %s\n", cases[i].name, err.text);
        CHECK(ok == (cases[i].want == NULL));
        CHECK(ok || strstr(err.text, cases[i].want) != NULL);
        CHECK(ok || (err.kind == ERR_CONFIG && err.sys == KNOWN_FOLDER_STRANGE));
    }
    scene_end(&s);
}

TEST(folder_rule_names_the_line_to_add)
{
    struct scene s;
    struct err err;

    scene_begin(&s);
    CHECK(!may(&s, FOLDER_WRITE, "endpoint x", "away/new", &err));
    CHECK(strstr(err.text, "to `folders: [...]` under `node:`") != NULL);
    CHECK(strstr(err.text, "away/new") != NULL);
    s.rule.usual = true;
    s.rule.root_count = 1;
    CHECK(!may(&s, FOLDER_WRITE, "endpoint x", "away/new", &err));
    CHECK(strstr(err.text, "under `node:` add `folders: [., ") != NULL);
    s.rule.roots = NULL; /* who has the machine may use any */
    CHECK(may(&s, FOLDER_BACKUP, "", "away/new", &err));
    CHECK(!may(&s, FOLDER_BACKUP, "", "conf/data", &err));
    scene_end(&s);
}

TEST(folder_rule_keeps_the_configuration_file)
{
    struct scene s;
    struct err err;

    scene_begin(&s);
    s.rule.data = at(&s, "away");
    CHECK(!may(&s, FOLDER_WRITE, "endpoint x", "conf", &err));
    CHECK(strstr(err.text, "contains the configuration file") != NULL);
    CHECK(may(&s, FOLDER_WRITE, "endpoint x", "conf/data", &err));
    scene_end(&s);
}

/* What was a folder of its own when it was checked may be a link to the store later. */
TEST(folder_rule_is_asked_of_what_is_open)
{
    struct scene s;
    struct err err = { 0 };

    scene_begin(&s);
    CHECK(folder_may_use(&s.rule, &s.uses[3], -1, &err));
    CHECK(unlinkat(s.folder.fd, "srv/out", AT_REMOVEDIR) == 0);
    CHECK(symlinkat("../conf/data/payload", s.folder.fd, "srv/out") == 0);
    AUTO_FD fd = openat(s.folder.fd, "srv/out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    CHECK(fd >= 0 && !folder_may_use(&s.rule, &s.uses[3], fd, &err));
    CHECK(strstr(err.text, "lies in the data folder") != NULL);
    CHECK(unlinkat(s.folder.fd, "srv/out", 0) == 0);
    CHECK(symlinkat("/", s.folder.fd, "srv/out") == 0);
    err = (struct err){ 0 };
    CHECK(!folder_may_use(&s.rule, &s.uses[3], -1, &err));
    scene_end(&s);
}

int main(void)
{
    return test_main();
}
