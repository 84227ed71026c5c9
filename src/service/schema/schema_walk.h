/* schema_walk.h - the state of schema_check(), for its subschemas: schema_assert.c, schema_apply.c,
 * schema_say.c. */
#pragma once

#include "core/service.h"
#include "service/schema/schema.h"

/* A rule that a value breaks. */
struct schema_break {
    const struct schema_rule *rule; /* NULL: the schema `false` */
    uint32_t sub, node;
    uint32_t detail; /* WORD_REQUIRED: the node of the missing name; WORD_ONE_OF: how many fit */
};

/* A subschema that is being checked on a value. */
struct schema_frame {
    uint32_t sub, node;
    uint32_t rule;  /* the one at work, from the first rule of the subschema */
    uint32_t same;  /* how many frames below it check the same value */
    uint32_t marks; /* where its marks begin */
    uint32_t scope; /* how many resources were entered up to here */
    bool tracks;    /* it has marks */
    bool is_same;   /* it checks the value of the frame below */

    /* Of the rule at work. */
    uint32_t cursor;  /* the value or subschema it is at */
    uint32_t ordinal; /* the place of that value among its siblings */
    uint32_t stage;
    uint32_t hits;
    bool is_matched;
    struct schema_break furthest; /* of anyOf and oneOf: what was broken deepest in the value */
    uint32_t furthest_depth;
};

struct schema_walk {
    const struct schema *s;
    struct json_tree doc;
    struct schema_frame *frames;
    size_t depth, frame_room;
    uint64_t *marks;
    size_t mark_count, mark_room;
    uint32_t *scopes; /* the resources that were entered, the outermost first */
    size_t scope_count, scope_room;
    int64_t work, work_most;

    struct schema_break broken; /* last */

    struct service_failure *failure; /* set: the walk ends, whatever the rules say */
    bool is_over;
};

/* What follows for the frame on top. */
enum schema_turn {
    TURN_BEGIN,  /* to a rule: it has just become the one at work */
    TURN_PASSED, /* to a rule: the subschema that it began fits; from one: it is kept */
    TURN_BROKEN,
    TURN_WAITS, /* from a rule: it began a subschema */
};

/* ---- schema_assert.c: rules that are checked at once ---- */

bool schema_assert(struct schema_walk *w, const struct schema_rule *r, uint32_t node);
/* The text matches.  When a limit is reached, the walk ends. */
bool schema_matches(struct schema_walk *w, const struct regex *regex, struct str text);

/* ---- schema_apply.c: rules that begin subschemas ---- */

enum schema_turn schema_apply(struct schema_walk *w, enum schema_turn turn);

/* ---- schema_check.c ---- */

/* Begins a subschema on a value, as the frame on top; frames move in memory. */
enum schema_turn schema_begin(struct schema_walk *w, uint32_t sub, uint32_t node, bool same);
struct schema_frame *schema_top(struct schema_walk *w);
const struct schema_rule *schema_rule_at_work(struct schema_walk *w);
/* Notes what the rule at work has found out about its value. */
enum schema_turn schema_broken(struct schema_walk *w);
/* Ends the walk with a failure that is not a broken rule. */
void schema_end(struct schema_walk *w, enum dead_code code, const char *why);
/* Counts work; false: it was too much, and the walk ends. */
bool schema_work(struct schema_walk *w, int64_t units);

/* ---- schema_say.c ---- */

bool schema_say(const struct schema_walk *w, struct service_failure *ret_failure);
