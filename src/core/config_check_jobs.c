/* config_check_jobs.c - jobs that check databases get the databases that they name into their map,
 * beside what somebody has written: so whoever makes such a job finds all that it needs, and the
 * digest of its settings covers what it depends on, and nothing else. */
#include "core/config_check.h"

static void check_jobs_add(struct arena *a, struct yaml_node *map, struct str key,
                           const struct yaml_node *value)
{
    struct yaml_node *k = ARENA_NEW(a, struct yaml_node), *n = ARENA_NEW(a, struct yaml_node);

    *k = (struct yaml_node){ .kind = YAML_SCALAR, .place = value->place, .text = key };
    *n = *value; /* its children are shared */
    n->key = k;
    n->next = NULL;
    if (map->last != NULL)
        map->last->next = n;
    else
        map->first = n;
    map->last = n;
    map->count++;
}

static void check_jobs_add_database(struct config *c, struct yaml_node *databases,
                                    const struct yaml_node *named)
{
    struct str name = yaml_text(named);
    const struct yaml_node *all = yaml_get(c->root, "databases");

    if (name.len > 0 && yaml_get(databases, name.ptr) == NULL && yaml_get(all, name.ptr) != NULL)
        check_jobs_add(&c->arena, databases, name, yaml_get(all, name.ptr));
}

static const struct yaml_node *check_jobs_map(struct config *c, const struct yaml_node *job)
{
    const struct yaml_node *checks = yaml_get(job, "checks");
    struct yaml_node *map = ARENA_NEW(&c->arena, struct yaml_node);
    struct yaml_node *databases = ARENA_NEW(&c->arena, struct yaml_node);

    *map = *job;
    map->first = map->last = NULL;
    map->count = 0;
    for (const struct yaml_node *n = job->first; n != NULL; n = n->next)
        check_jobs_add(&c->arena, map, n->key->text, n);
    *databases = (struct yaml_node){ .kind = YAML_MAP, .place = job->place, .text = STR("") };
    check_jobs_add_database(c, databases, yaml_get(job, "database"));
    for (const struct yaml_node *n = checks->first; n != NULL; n = n->next)
        check_jobs_add_database(c, databases, yaml_get(n, "with"));
    check_jobs_add(&c->arena, map, STR("databases"), databases);
    return map;
}

void config_build_check_jobs(struct config *c)
{
    struct config_entry *list = ARENA_ARRAY(&c->arena, struct config_entry, c->job_count + 1);

    for (size_t i = 0; i < c->job_count; i++) {
        list[i] = c->jobs[i];
        if (list[i].kind != NULL && str_is(str_of(list[i].kind), CONFIG_KIND_CHECK))
            list[i].node = check_jobs_map(c, list[i].node);
    }
    c->jobs = list;
}
