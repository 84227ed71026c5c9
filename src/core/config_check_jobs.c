/* config_check_jobs.c - jobs that check databases get the databases that they name into their map,
 * beside what somebody has written: so whoever makes such a job finds all that it needs, and the
 * digest of its settings covers what it depends on, and nothing else. */
#include <stdlib.h>
#include <string.h>

#include "core/config_check.h"

/* The databases of the configuration, by name. */
struct check_jobs_bases {
    struct check_name *items;
    size_t count;
};

static int check_jobs_compare(const void *a, const void *b)
{
    return str_cmp(((const struct check_name *)a)->text, ((const struct check_name *)b)->text);
}

static struct check_jobs_bases check_jobs_bases_of(struct config *c)
{
    const struct yaml_node *all = yaml_get(c->root, "databases");
    struct check_jobs_bases b = { 0 };

    if (all == NULL || all->kind != YAML_MAP)
        return b;
    b.items = ARENA_ARRAY(&c->arena, struct check_name, all->count + 1);
    for (const struct yaml_node *n = all->first; n != NULL; n = n->next)
        b.items[b.count++] = (struct check_name){ n->key->text, n };
    if (b.count > 1)
        qsort(b.items, b.count, sizeof *b.items, check_jobs_compare);
    return b;
}

static void check_jobs_add_database(struct arena *a, const struct check_jobs_bases *all,
                                    struct yaml_node *databases, const struct yaml_node *named)
{
    const struct check_name key = { .text = yaml_text(named) };
    const struct check_name *found =
        all->count == 0
            ? NULL
            : bsearch(&key, all->items, all->count, sizeof *all->items, check_jobs_compare);

    if (found != NULL && yaml_get(databases, key.text.ptr) == NULL)
        yaml_put(databases, key.text, found->node, a);
}

static const struct yaml_node *check_jobs_map(struct arena *a, const struct check_jobs_bases *all,
                                              const struct yaml_node *job)
{
    const struct yaml_node *checks = yaml_get(job, "checks");
    struct yaml_node *map = ARENA_NEW(a, struct yaml_node);
    struct yaml_node *databases = ARENA_NEW(a, struct yaml_node);

    *map = *job;
    map->first = map->last = NULL;
    map->count = 0;
    for (const struct yaml_node *n = job->first; n != NULL; n = n->next)
        yaml_put(map, n->key->text, n, a);
    *databases = (struct yaml_node){ .kind = YAML_MAP, .place = job->place, .text = STR("") };
    check_jobs_add_database(a, all, databases, yaml_get(job, "database"));
    for (const struct yaml_node *n = checks != NULL ? checks->first : NULL; n != NULL; n = n->next)
        check_jobs_add_database(a, all, databases, yaml_get(n, "with"));
    yaml_put(map, STR("databases"), databases, a);
    return map;
}

static bool check_jobs_is(const struct config_entry *job)
{
    return job->kind != NULL && str_is(str_of(job->kind), CONFIG_KIND_CHECK);
}

void config_build_check_jobs(struct config *c)
{
    struct config_entry *list = NULL;
    struct check_jobs_bases all = { 0 };

    for (size_t i = 0; i < c->job_count; i++) {
        if (!check_jobs_is(&c->jobs[i]))
            continue;
        if (list == NULL) {
            all = check_jobs_bases_of(c);
            list = ARENA_ARRAY(&c->arena, struct config_entry, c->job_count);
            memcpy(list, c->jobs, c->job_count * sizeof *list);
            c->jobs = list;
        }
        list[i].node = check_jobs_map(&c->arena, &all, list[i].node);
    }
}
