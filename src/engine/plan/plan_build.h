/* plan_build.h - the builder of plan.c, for the files that build parts of a plan, and what they
 * share. */
#pragma once

#include "core/settings.h"
#include "engine/plan/plan.h"
#include "store/store.h"

struct builder {
    struct plan *plan;
    const struct connectors *connectors;
    struct store *store;
    const struct config *in_force; /* for plan_build_apart(); NULL: none */
    struct problem_list *problems; /* NULL: parts that cannot be used become broken */
    bool apart;                    /* plan_build_apart(): nothing is stored */
    bool bad;                      /* a problem was added */
    bool lacks_secret;             /* a secret of the step that is built cannot be read */
    struct str step;               /* the one that is built: CHAIN:N */
};

struct settings plan_settings(struct builder *b, const struct yaml_node *node,
                              const struct option *common, const struct option *own);
/* The settings of a step or a batch, whose results are bytes of documents. */
struct settings plan_step_settings(struct builder *b, const struct yaml_node *node,
                                   const struct option *own);
/* Reports a part that cannot be used: as a problem when a configuration is being checked.  Returns
 * the text for `broken`, on the arena. */
const char *plan_broken(struct builder *b, struct place place, const struct err *err);

/* Finds or stores the name ids of `count` names in structs of `size` bytes at `first`. */
bool plan_words(struct builder *b, enum name_kind kind, const void *first, size_t size,
                size_t count, size_t name_at, size_t word_at, struct err *err);

#define WORDS_OF(b, kind, list, count, err)                                                   \
    plan_words((b), (kind), (list), sizeof *(list), (count), offsetof(typeof(*(list)), name), \
               offsetof(typeof(*(list)), word), (err))

/* Makes an index of the name ids in structs of `size` bytes at `first`. */
void plan_index_words(struct arena *a, struct plan_index *x, const void *first, size_t size,
                      size_t count, size_t word_at);

#define INDEX_WORDS(p, index, list, count)                                      \
    plan_index_words(&(p)->arena, &(p)->index, (list), sizeof *(list), (count), \
                     offsetof(typeof(*(list)), word))

const struct plan_endpoint *plan_endpoint_named(const struct plan *p, struct str name);

/* An extractor that finds the value of this expression, or list of them, as PLAN_KEY. */
bool plan_compile_key(const struct yaml_node *by, struct extractor **ret, struct err *err);

/* `id`: of the chain, in the names of its steps. */
void plan_steps(struct builder *b, const struct yaml_node *list, struct str id,
                struct plan_route *r);
