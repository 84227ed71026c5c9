/* extract_xml.c - answers all paths in one pass of expat (core/xml_match.h).
 *
 * expat runs without namespaces, because paths name prefixes as they are written.  Nothing outside
 * of the body is ever read: a document type declaration stops the parser. */
#include "extract/extract_xml.h"

#include <expat.h>
#include <stddef.h>
#include <stdint.h>

#include "base/require.h"
#include "core/facts.h"
#include "core/xml_match.h"

struct path {
    struct xml_step *steps;
    size_t count;
    enum xml_end end;
    struct str attribute;
    bool attribute_deep;
    size_t first_nth; /* the first of its counters in a row */
};

struct extract_xml {
    struct path *paths;
    size_t count;
    size_t counters; /* for steps with [n], of all paths */
};

struct extract_xml *extract_xml_new(const struct str *paths, size_t count, bool relative,
                                    struct arena *a)
{
    struct extract_xml *plan = ARENA_NEW(a, struct extract_xml);
    struct xml_path path;
    struct err err;

    plan->paths = ARENA_ARRAY(a, struct path, count);
    plan->count = count;
    for (size_t i = 0; i < count; i++) {
        bool ok = xml_path_parse(paths[i], relative, &path, &err);

        require(ok);
        struct xml_step *steps = ARENA_ARRAY(a, struct xml_step, path.count);

        memcpy(steps, path.steps, path.count * sizeof *steps);
        plan->paths[i] = (struct path){ .steps = steps,
                                        .count = path.count,
                                        .end = path.end,
                                        .attribute = path.attribute,
                                        .attribute_deep = path.attribute_deep,
                                        .first_nth = plan->counters };
        for (size_t k = 0; k < path.count; k++)
            plan->counters += steps[k].nth > 0;
    }
    return plan;
}

/* ---- a run ---- */

/* The text of a matched element while it is being read. */
struct capture {
    char *text;
    size_t len, size;
    size_t depth; /* of the element; 0: inactive */
    bool blanks;  /* full; only blanks followed so far */
    bool over;    /* too long */
    ptrdiff_t at;
};

/* State of one open element, or of the document (depth 0).  Bit i: a child may match step i; bit
 * `count`: a descendant may have the attribute. */
struct row {
    uint64_t *may;
    unsigned *seen; /* children that matched step i so far, for steps with [n] */
    bool any;
};

struct run {
    const struct extract_xml *plan;
    XML_Parser parser;
    struct arena *arena;
    struct answer *answers;
    size_t open;      /* unanswered questions */
    size_t capturing; /* active captures */
    struct capture *captures;
    size_t depth, made;
    size_t idle; /* open elements in which nothing can match */
    size_t steps;
    bool stopped, over;
    const char *why;                         /* why it was stopped; NULL: nothing more to find */
    ptrdiff_t at;                            /* the byte offset of the stop */
    struct row rows[EXTRACT_DEPTH_MOST + 1]; /* the first `made` are allocated */
};

/* In an empty body some versions of expat report -1; use 0. */
static ptrdiff_t extract_xml_place(const struct run *r)
{
    XML_Index at = XML_GetCurrentByteIndex(r->parser);

    return at > 0 ? (ptrdiff_t)at : 0;
}

static void extract_xml_stop(struct run *r, bool over, const char *why)
{
    r->stopped = true;
    r->over = over;
    r->why = why;
    r->at = extract_xml_place(r);
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static void extract_xml_give(struct run *r, size_t i, struct answer answer)
{
    r->answers[i] = answer;
    if (--r->open == 0)
        extract_xml_stop(r, false, NULL);
}

/* The row of this depth, cleared. */
static struct row *row_at(struct run *r, size_t depth)
{
    struct row *row = &r->rows[depth];

    if (depth == r->made) {
        row->may = ARENA_ARRAY(r->arena, uint64_t, r->plan->count);
        row->seen = ARENA_ARRAY(r->arena, unsigned, r->plan->counters);
        r->made++;
    } else {
        memset(row->may, 0, r->plan->count * sizeof *row->may);
        memset(row->seen, 0, r->plan->counters * sizeof *row->seen);
    }
    row->any = false;
    return row;
}

static bool extract_xml_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skips leading blanks, so that indentation does not count towards the length. */
static void extract_xml_keep_text(struct run *r, struct capture *c, const char *text, size_t len)
{
    for (; c->len == 0 && len > 0 && extract_xml_is_blank(*text); len--)
        text++;
    size_t room = FACTS_VALUE_MOST - c->len, n = len < room && !c->blanks ? len : room;

    if (c->blanks || len > room) {
        n = c->blanks ? 0 : room;
        c->blanks = true;
        for (size_t i = n; i < len && !c->over; i++)
            c->over = !extract_xml_is_blank(text[i]);
    }
    if (n == 0 || c->over)
        return;
    if (c->len + n > c->size) {
        size_t size = c->len + n > 64 ? FACTS_VALUE_MOST : 64;
        char *more = arena_alloc(r->arena, size);

        if (c->len > 0)
            memcpy(more, c->text, c->len);
        c->text = more;
        c->size = size;
    }
    memcpy(c->text + c->len, text, n);
    c->len += n;
}

static void on_text(void *user, const char *text, int len)
{
    struct run *r = user;

    if (r->stopped)
        return;
    for (size_t i = 0; i < r->plan->count; i++) {
        struct capture *c = &r->captures[i];

        if (c->depth > 0 && (r->plan->paths[i].end == XML_END_ELEMENT || c->depth == r->depth))
            extract_xml_keep_text(r, c, text, (size_t)len);
    }
}

static void take_attribute(struct run *r, size_t i, const char **attributes)
{
    const char *value = xml_match_attribute(attributes, r->plan->paths[i].attribute);

    if (value != NULL)
        extract_xml_give(r, i, answer_make(str_of(value), extract_xml_place(r), r->arena));
}

/* The element matches the last step of path i. */
static void arrive(struct run *r, size_t i, const char **attributes)
{
    if (r->plan->paths[i].end == XML_END_ATTRIBUTE) {
        take_attribute(r, i, attributes);
        return;
    }
    struct capture *c = &r->captures[i];

    if (c->depth > 0)
        return; /* `//a` inside of an `a`: the outer one is first */
    *c = (struct capture){ .depth = r->depth, .at = extract_xml_place(r) };
    if (r->capturing++ == 0)
        XML_SetCharacterDataHandler(r->parser, on_text);
}

/* Matches an element against path i; returns which steps its children may match. */
static uint64_t extract_xml_look(struct run *r, size_t i, const struct row *parent, struct str name,
                                 const char **attributes)
{
    const struct path *path = &r->plan->paths[i];
    uint64_t may = parent->may[i];
    uint64_t next =
        xml_match(path->steps, path->count, may, parent->seen + path->first_nth, name, attributes);
    bool arrived = (next >> path->count & 1) != 0;

    if ((may >> path->count & 1) != 0) {
        next |= (uint64_t)1 << path->count;
        arrived = true;
    }
    if (arrived)
        arrive(r, i, attributes);
    if (path->end != XML_END_ATTRIBUTE || !path->attribute_deep)
        next &= ~((uint64_t)1 << path->count);
    return next;
}

static void extract_xml_on_start(void *user, const char *z, const char **attributes)
{
    struct run *r = user;

    if (r->stopped)
        return; /* expat may call once more after the stop */
    if (r->depth == EXTRACT_DEPTH_MOST) {
        extract_xml_stop(r, true, "elements stand too deep in each other");
        return;
    }
    r->depth++;
    if (++r->steps > EXTRACT_STEPS_MOST) {
        extract_xml_stop(r, true, "there are too many elements");
        return;
    }
    if (r->idle > 0) {
        r->idle++;
        return;
    }
    const struct row *parent = &r->rows[r->depth - 1];
    struct row *row = row_at(r, r->depth);
    struct str name = str_of(z);

    size_t cost = 1 + (size_t)XML_GetSpecifiedAttributeCount(r->parser) / 2;

    for (size_t i = 0; i < r->plan->count && !r->stopped; i++) {
        if (parent->may[i] == 0 || r->answers[i].kind != ANSWER_ASKED)
            continue;
        r->steps += cost;
        row->may[i] = extract_xml_look(r, i, parent, name, attributes);
        row->any = row->any || row->may[i] != 0;
    }
    if (row->any || r->stopped)
        return;
    r->idle = 1;
    if (r->depth == 1 && r->capturing == 0)
        extract_xml_stop(r, false, NULL); /* another root: nothing can match */
}

static void extract_xml_on_end(void *user, const char *z)
{
    struct run *r = user;

    (void)z;
    if (r->stopped)
        return;
    for (size_t i = 0; r->capturing > 0 && i < r->plan->count; i++) {
        struct capture *c = &r->captures[i];

        if (c->depth != r->depth)
            continue;
        c->depth = 0;
        if (--r->capturing == 0)
            XML_SetCharacterDataHandler(r->parser, NULL);
        extract_xml_give(
            r, i,
            c->over ? (struct answer){ .kind = ANSWER_UNFIT, .why = "is too long", .at = c->at }
                    : answer_make(str_mem(c->text, c->len), c->at, r->arena));
        if (r->stopped)
            return;
    }
    if (r->idle > 0)
        r->idle--;
    r->depth--;
}

static void extract_xml_on_doctype(void *user, const char *name, const char *sysid,
                                   const char *pubid, int internal)
{
    (void)name;
    (void)sysid;
    (void)pubid;
    (void)internal;
    extract_xml_stop(user, false, "a document type declaration (DOCTYPE) is refused");
}

static void extract_xml_start(struct run *r)
{
    struct row *row = row_at(r, 0);

    for (size_t i = 0; i < r->plan->count; i++)
        if (r->answers[i].kind == ANSWER_ASKED) {
            row->may[i] = 1;
            r->open++;
        }
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, extract_xml_on_start, extract_xml_on_end);
    XML_SetStartDoctypeDeclHandler(r->parser, extract_xml_on_doctype);
    XML_SetParamEntityParsing(r->parser, XML_PARAM_ENTITY_PARSING_NEVER);
}

/* The answer for all questions that are still open. */
static struct answer extract_xml_judge(const struct run *r, enum XML_Status status, bool whole)
{
    struct answer rest = { .at = ANSWER_NOWHERE };

    if (r->stopped && r->why == NULL)
        return rest;
    if (r->why != NULL) {
        rest.kind = r->over ? ANSWER_OVER : ANSWER_BROKEN;
        rest.why = r->why;
        rest.at = r->at;
    } else if (status == XML_STATUS_ERROR) {
        rest.kind = ANSWER_BROKEN;
        rest.why = XML_ErrorString(XML_GetErrorCode(r->parser));
        rest.at = extract_xml_place(r);
    } else if (!whole)
        rest.kind = ANSWER_CUT;
    return rest;
}

void extract_xml_run(const struct extract_xml *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers)
{
    struct run r;

    memset(&r, 0, offsetof(struct run, rows));
    r.plan = plan;
    r.arena = a;
    r.answers = answers;
    r.captures = ARENA_ARRAY(a, struct capture, plan->count);
    r.parser = XML_ParserCreate(NULL);
    require(r.parser != NULL);
    extract_xml_start(&r);
    if (r.open > 0) {
        enum XML_Status status =
            XML_Parse(r.parser, body.len > 0 ? body.ptr : "", (int)body.len, whole);

        if (r.open > 0)
            answer_rest(answers, plan->count, extract_xml_judge(&r, status, whole));
    }
    XML_ParserFree(r.parser);
}
