#include "core/xml_match.h"

const char *xml_match_attribute(const char **attributes, struct str name)
{
    for (const char **p = attributes; *p != NULL; p += 2)
        if (str_is(name, p[0]))
            return p[1];
    for (const char **p = attributes; *p != NULL; p += 2)
        if (xml_name_is(str_of(p[0]), name) && strncmp(p[0], "xmlns:", 6) != 0)
            return p[1];
    return NULL;
}

static bool passes(const struct xml_test *test, const char **attributes)
{
    const char *value = xml_match_attribute(attributes, test->name);

    return value != NULL && (test->any || str_is(test->value, value));
}

/* Whether the element matches the step; `seen` counts its siblings. */
static bool xml_match_step(const struct xml_step *step, struct str name, const char **attributes,
                           unsigned *seen)
{
    size_t i = 0;

    if (!xml_name_is(name, step->name))
        return false;
    if (step->nth > 0) {
        for (; i < step->before; i++)
            if (!passes(&step->tests[i], attributes))
                return false;
        if (*seen > step->nth || ++*seen != step->nth)
            return false;
    }
    for (; i < step->test_count; i++)
        if (!passes(&step->tests[i], attributes))
            return false;
    return true;
}

uint64_t xml_match(const struct xml_step *steps, size_t count, uint64_t may, unsigned *seen,
                   struct str name, const char **attributes)
{
    uint64_t next = 0;

    for (size_t k = 0; k < count; k++) {
        if ((may >> k & 1) != 0) {
            if (steps[k].deep)
                next |= (uint64_t)1 << k;
            if (xml_match_step(&steps[k], name, attributes, seen))
                next |= (uint64_t)1 << (k + 1);
        }
        seen += steps[k].nth > 0;
    }
    return next;
}
