#include "engine/plan/areas.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "core/grammar.h"
#include "store/kernel/node.h"

bool areas_served(struct store *s, unsigned *ret, struct err *err)
{
    struct node_row *rows = xcalloc(NODES_MOST, sizeof *rows);
    size_t count = 0;
    bool ok = node_list(s, rows, NODES_MOST, &count, err);

    *ret = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; rows[i].state == 0 && grammar_areas[k] != NULL; k++)
            if (str_is(str_of(rows[i].area), grammar_areas[k]))
                *ret |= 1u << k;
    free(rows);
    return ok;
}

const char *areas_why(unsigned served, enum config_area area, char text[static AREAS_TEXT])
{
    if (area == CONFIG_ANYWHERE || (served >> area & 1) != 0)
        return NULL;
    (void)snprintf(text, AREAS_TEXT, "only nodes of area %s run it, and there is none",
                   grammar_areas[area]);
    return text;
}
