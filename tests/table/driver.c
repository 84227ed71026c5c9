/* driver.c - what every driver of src/table has to do, as one program for all of them.
 *
 *     table_driver KIND ADDRESS
 *
 * ADDRESS is a connection string, or the path of a file that is there.  The database is empty and
 * may be thrown away: tables are made in it, and its other connections are cut.  Prints one line
 * per check, below it what was not as expected, and "N passed, N failed" at the end; ends with 1 if
 * one has failed.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "scene.h"

#define GATEWAY(name)
#define SERVICE(name)
#define ENDPOINT(name)
#define JOB(name)
#define DATABASE(name) extern const struct database_type database_##name;
#include "connectors.def"
#undef DATABASE
#define DATABASE(name) &database_##name,
static const struct database_type *const types[] = {
#include "connectors.def"
    NULL
};

enum { TIMEOUT_S = 5 };

static bool scene_find(struct scene *s, const char *kind)
{
    for (size_t i = 0; types[i] != NULL; i++)
        if (strcmp(types[i]->kind.name, kind) == 0)
            s->type = types[i];
    for (const struct dialect *d = dialects; d->kind != NULL; d++)
        if (strcmp(d->kind, kind) == 0)
            s->dialect = d;
    return s->type != NULL && s->dialect != NULL;
}

static bool scene_open(struct scene *s)
{
    struct err err = { 0 };

    if (s->type->open(&s->address, &s->one, &err) && s->type->open(&s->address, &s->two, &err))
        return true;
    (void)printf("%s: %s\n", s->type->kind.name, err.text);
    return false;
}

static void scene_check(struct scene *s, const struct check *check, size_t *passed, size_t *failed)
{
    s->failed = false;
    check->run(s);
    s->type->rollback(s->one);
    s->type->rollback(s->two);
    arena_reset(&s->a);
    *passed += !s->failed;
    *failed += s->failed;
    (void)printf("%s %s\n", s->failed ? "FAILED" : "ok", check->name);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct check *const all[] = { checks_of_finding, checks_of_rows, checks_of_writing,
                                               checks_of_changes, checks_of_names };
    struct scene s = { .a = ARENA_INIT(SCENE_ARENA) };
    size_t passed = 0, failed = 0;

    if (argc != 3 || !scene_find(&s, argv[1])) {
        (void)fprintf(stderr, "usage: table_driver KIND ADDRESS\n");
        return 2;
    }
    s.address = (struct database_address){ .name = STR("driver"),
                                           .dsn = str_of(argv[2]),
                                           .path = str_of(argv[2]),
                                           .timeout_us = TIMEOUT_S * CLOCK_S };
    if (!scene_open(&s))
        return 1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const struct check *c = all[i]; c->name != NULL; c++)
            scene_check(&s, c, &passed, &failed);
    s.type->close(s.one);
    s.type->close(s.two);
    arena_done(&s.a);
    (void)printf("%zu passed, %zu failed\n", passed, failed);
    return failed > 0;
}
