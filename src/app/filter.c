#include "app/filter.h"

#include "base/clock.h"
#include "base/str.h"
#include "core/units.h"

/* Fields of DocumentFilter, DeadFilter and AuditFilter by the names of their options. */
static const char *const text_filters[] = { "state",  "gateway", "sender", "receiver", "type",
                                            "name",   "error",   "key",    "parent",   "actor",
                                            "action", "object",  NULL };
static const char *const time_filters[] = { "since", "until", NULL };

static bool takes(const struct args *a, const char *name)
{
    for (const struct arg_option *o = a->form->options; o != NULL && o->name != NULL; o++)
        if (str_is(str_of(name), o->name))
            return true;
    return false;
}

static bool add_texts(const struct args *a, json_t *filter)
{
    for (const char *const *f = text_filters; *f != NULL; f++) {
        const char *value = takes(a, *f) ? args_text(a, *f) : NULL;

        if (value != NULL && value[0] == '\0') { /* probably an unset variable of a script */
            (void)args_wrong(a, "--%s is empty; leave it out for any", *f);
            return false;
        }
        if (value != NULL && json_object_set_new(filter, *f, json_string(value)) != 0) {
            (void)args_wrong(a, "--%s is not text in UTF-8", *f);
            return false;
        }
    }
    return true;
}

static void add_times(const struct args *a, json_t *filter)
{
    char text[CLOCK_TEXT];

    for (const char *const *f = time_filters; *f != NULL; f++)
        if (takes(a, *f) && args_text(a, *f) != NULL)
            (void)json_object_set_new(filter, *f,
                                      json_string(clock_utc_text(args_number(a, *f, 0), text)));
}

static bool add_size(const struct args *a, const char *option, const char *field, json_t *filter)
{
    const char *text = takes(a, option) ? args_text(a, option) : NULL;
    struct err err = { 0 };
    uint64_t bytes;

    if (text == NULL)
        return true;
    if (!units_size(str_of(text), &bytes, &err) || bytes > INT64_MAX) {
        (void)args_wrong(a, "--%s takes a size such as 500 KiB or 2MiB, not \"%s\"", option, text);
        return false;
    }
    (void)json_object_set_new(filter, field, json_integer((json_int_t)bytes));
    return true;
}

/* Adds the conditions on attributes ("po=4711"); a document must meet all of them. */
static bool filter_add_attributes(const struct args *a, json_t *filter)
{
    json_t *list = json_array();
    const char *pair;

    for (size_t i = 0; (pair = args_list_at(a, "where", i)) != NULL; i++) {
        struct str name, value = str_cut(str_of(pair), '=', &name);
        json_t *one = json_pack("{s:s%,s:s%}", "name", name.ptr, name.len, "value",
                                value.len > 0 ? value.ptr : "", value.len);

        if (name.len == 0 || str_find(str_of(pair), '=') < 0 || one == NULL) {
            (void)args_wrong(a, "--where takes K=V in UTF-8, not \"%s\"", pair);
            json_decref(one);
            json_decref(list);
            return false;
        }
        (void)json_array_append_new(list, one);
    }
    if (json_array_size(list) > 0)
        (void)json_object_set(filter, "where", list);
    json_decref(list);
    return true;
}

json_t *filter_of(const struct args *a, bool *ret_any)
{
    json_t *filter = json_object();

    if (!add_texts(a, filter) || !add_size(a, "min-size", "minSize", filter) ||
        !add_size(a, "max-size", "maxSize", filter) ||
        (takes(a, "where") && !filter_add_attributes(a, filter))) {
        json_decref(filter);
        return NULL;
    }
    add_times(a, filter);
    *ret_any = json_object_size(filter) > 0;
    return filter;
}
