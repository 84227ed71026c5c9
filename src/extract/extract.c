#include "extract/extract.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/http_target.h"
#include "base/require.h"
#include "core/expr.h"
#include "core/format/edi_path.h"
#include "core/head.h"
#include "core/problem.h"
#include "extract/answer.h"
#include "extract/extract_csv.h"
#include "extract/extract_edi.h"
#include "extract/extract_json.h"
#include "extract/extract_regex.h"
#include "extract/extract_xml.h"

/* The sources that read the body with a plan. */
enum plan_kind { PLAN_JSON, PLAN_XML, PLAN_CSV, PLAN_HL7, PLAN_X12, PLAN_EDIFACT, PLANS };

static const struct {
    enum plan_kind kind;
    const char *name; /* of the format, in messages */
} extract_plans[] = {
    [EXPR_VALUE] = { PLANS, NULL },   [EXPR_HEADER] = { PLANS, NULL },
    [EXPR_QUERY] = { PLANS, NULL },   [EXPR_NAME] = { PLANS, NULL },
    [EXPR_REGEX] = { PLANS, NULL },   [EXPR_JSON] = { PLAN_JSON, "JSON" },
    [EXPR_XML] = { PLAN_XML, "XML" }, [EXPR_HL7] = { PLAN_HL7, "HL7" },
    [EXPR_X12] = { PLAN_X12, "X12" }, [EXPR_EDIFACT] = { PLAN_EDIFACT, "EDIFACT" },
    [EXPR_CSV] = { PLAN_CSV, "CSV" },
};

struct expression {
    struct str text; /* as written */
    enum expr_source source;
    struct str rest;
    struct regex *regex; /* NULL: none */
    size_t question;     /* its number in the plan */
};

struct field {
    struct str attribute; /* ptr NULL: sender, receiver or type */
    const char *label;    /* "sender" */
    size_t to;            /* offset in struct facts, if not an attribute */
    size_t first, count;  /* range of its expressions */
};

struct extractor {
    struct arena arena;
    struct expression expressions[EXTRACT_EXPRS_MOST];
    size_t expression_count;
    struct field fields[3 + FACTS_ATTRIBUTES_MOST];
    size_t field_count, attribute_count;
    struct str *questions[PLANS];
    size_t question_count[PLANS];
    struct extract_json *json;
    struct extract_xml *xml;
    struct extract_csv *csv;
    struct extract_edi *edi[3]; /* by enum edi_kind */
};

/* ---- compile ---- */

static enum plan_kind extract_plan_of(enum expr_source source)
{
    return extract_plans[source].kind;
}

/* The number of a question in its plan; equal questions share one. */
static size_t question_of(struct extractor *x, enum plan_kind kind, struct str rest)
{
    size_t i = 0;

    if (x->questions[kind] == NULL)
        x->questions[kind] = ARENA_ARRAY(&x->arena, struct str, EXTRACT_EXPRS_MOST);
    while (i < x->question_count[kind] && !str_eq(x->questions[kind][i], rest))
        i++;
    x->questions[kind][i] = rest;
    x->question_count[kind] += i == x->question_count[kind];
    return i;
}

static bool expressions_fit(const struct extractor *x, struct err *err)
{
    return x->expression_count < EXTRACT_EXPRS_MOST ||
           err_set(err, ERR_CONFIG, 0, "more than %d expressions", EXTRACT_EXPRS_MOST);
}

/* A bare word stands for the paths of the standard's own sender, receiver or type. */
static bool add_own(struct extractor *x, const struct field *field, struct expr expr,
                    struct err *err)
{
    enum plan_kind kind = extract_plan_of(expr.source);
    const char *const *paths;

    if (field->attribute.ptr != NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "%s alone finds sender, receiver and type; an attribute "
                       "needs a place, such as %s",
                       expr_sources[expr.source], expr_examples[expr.source]);
    paths = edi_own_paths((enum edi_kind)(kind - PLAN_HL7),
                          field->to == offsetof(struct facts, sender)     ? EDI_OWN_SENDER
                          : field->to == offsetof(struct facts, receiver) ? EDI_OWN_RECEIVER
                                                                          : EDI_OWN_TYPE);
    for (; *paths != NULL; paths++) {
        const char *text = arena_printf(&x->arena, "%s:%s", expr_sources[expr.source], *paths);

        if (!expressions_fit(x, err))
            return false;
        x->expressions[x->expression_count++] =
            (struct expression){ .text = str_of(text),
                                 .source = expr.source,
                                 .rest = str_of(*paths),
                                 .question = question_of(x, kind, str_of(*paths)) };
    }
    return true;
}

static bool add_expression(struct extractor *x, const struct field *field,
                           const struct yaml_node *node, bool relative, struct err *err)
{
    struct expression *e = &x->expressions[x->expression_count];
    struct str text = arena_copy(&x->arena, yaml_text(node));
    struct expr expr;

    if (!expressions_fit(x, err) || !expr_parse(text, relative, &expr, err))
        return false;
    if (expr.bare)
        return add_own(x, field, expr, err);
    *e = (struct expression){ .text = text, .source = expr.source, .rest = expr.rest };
    switch (expr.source) {
    case EXPR_NAME:
    case EXPR_REGEX:
        if (!regex_compile(expr.rest, &e->regex, err))
            return false;
        break;
    case EXPR_JSON:
    case EXPR_XML:
    case EXPR_HL7:
    case EXPR_X12:
    case EXPR_EDIFACT:
    case EXPR_CSV:
        e->question = question_of(x, extract_plan_of(expr.source), expr.rest);
        break;
    case EXPR_VALUE:
    case EXPR_HEADER:
    case EXPR_QUERY:
        break;
    }
    x->expression_count++;
    return true;
}

static bool extract_add_field(struct extractor *x, struct field field, const struct yaml_node *node,
                              bool relative, struct err *err)
{
    const struct yaml_node *list = node->kind == YAML_LIST ? node->first : node;

    field.first = x->expression_count;

    for (const struct yaml_node *n = list; n != NULL; n = n == node ? NULL : n->next)
        if (!add_expression(x, &field, n, relative, err)) {
            char text[PROBLEM_QUOTE];

            return err_context(err, "%s `%s`", field.label, problem_quote(text, yaml_text(n)));
        }
    field.count = x->expression_count - field.first;
    x->fields[x->field_count++] = field;
    return true;
}

static bool extract_add_attributes(struct extractor *x, const struct yaml_node *map, bool relative,
                                   struct err *err)
{
    for (const struct yaml_node *n = map != NULL ? map->first : NULL; n != NULL; n = n->next) {
        if (n->key == NULL || x->attribute_count == FACTS_ATTRIBUTES_MOST)
            return err_set(err, ERR_CONFIG, 0, "attributes: at most %d names and their expressions",
                           FACTS_ATTRIBUTES_MOST);
        struct str name = arena_copy(&x->arena, n->key->text);

        struct field field = { .attribute = name,
                               .label = arena_printf(&x->arena, "attribute %s", name.ptr) };

        if (!extract_add_field(x, field, n, relative, err))
            return false;
        x->attribute_count++;
    }
    return true;
}

static bool extract_compile(struct extractor *x, const struct yaml_node *node, bool relative,
                            struct err *err)
{
    static const struct field fields[] = {
        { .label = "sender", .to = offsetof(struct facts, sender) },
        { .label = "receiver", .to = offsetof(struct facts, receiver) },
        { .label = "type", .to = offsetof(struct facts, type) },
    };

    bool bare = node->kind != YAML_MAP && !yaml_is_null(node); /* extract: hl7 */

    for (size_t i = 0; i < 3; i++) {
        const struct yaml_node *n = bare ? node : yaml_get(node, fields[i].label);

        if (n != NULL && !extract_add_field(x, fields[i], n, relative, err))
            return false;
    }
    if (!bare && !extract_add_attributes(x, yaml_get(node, "attributes"), relative, err))
        return false;
    x->json = extract_json_new(x->questions[PLAN_JSON], x->question_count[PLAN_JSON], &x->arena);
    x->xml =
        extract_xml_new(x->questions[PLAN_XML], x->question_count[PLAN_XML], relative, &x->arena);
    x->csv = extract_csv_new(x->questions[PLAN_CSV], x->question_count[PLAN_CSV], &x->arena);
    for (size_t i = 0; i < 3; i++)
        x->edi[i] = extract_edi_new((enum edi_kind)i, x->questions[PLAN_HL7 + i],
                                    x->question_count[PLAN_HL7 + i], &x->arena);
    return true;
}

bool extractor_compile(const struct yaml_node *node, bool relative, struct extractor **ret,
                       struct err *err)
{
    struct extractor *x = NEW(struct extractor);

    x->arena = (struct arena)ARENA_INIT((size_t)64 << 20);
    if (!extract_compile(x, node, relative, err)) {
        extractor_free(x);
        return false;
    }
    *ret = x;
    return true;
}

void extractor_free(struct extractor *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < EXTRACT_EXPRS_MOST; i++)
        regex_free(x->expressions[i].regex);
    arena_done(&x->arena);
    free(x);
}

bool extractor_asks_sender(const struct extractor *x)
{
    for (size_t i = 0; i < x->field_count; i++) {
        const struct field *f = &x->fields[i];

        if (f->attribute.ptr != NULL || f->to != offsetof(struct facts, sender))
            continue;
        for (size_t k = f->first; k < f->first + f->count; k++)
            if (x->expressions[k].source != EXPR_VALUE)
                return true;
    }
    return false;
}

bool extractor_seeks(const struct extractor *x, struct str attribute)
{
    for (size_t i = 0; i < x->field_count; i++)
        if (x->fields[i].attribute.ptr != NULL && str_eq(x->fields[i].attribute, attribute))
            return true;
    return false;
}

/* ---- run ---- */

struct asking {
    const struct extractor *x;
    const struct extract_source *source;
    struct arena *arena;
    struct answer *answers[PLANS]; /* NULL: this plan has not run */
    bool failed;                   /* some field did; only the first failure is described */
    bool spent;                    /* a budget is exhausted: no further pass over the body */
};

/* Runs a plan once for all questions of the fields from this one on. */
static void run_plan(struct asking *q, enum plan_kind kind, size_t from_field)
{
    const struct extractor *x = q->x;
    struct answer *answers = ARENA_ARRAY(q->arena, struct answer, x->question_count[kind]);
    struct str body = q->source->body;

    for (size_t f = from_field; f < x->field_count; f++)
        for (size_t i = 0; i < x->fields[f].count; i++) {
            const struct expression *e = &x->expressions[x->fields[f].first + i];

            if (e->source == EXPR_VALUE)
                break; /* a constant always answers: later ones are not reached */
            if (extract_plan_of(e->source) == kind)
                answers[e->question].kind = ANSWER_ASKED;
        }
    q->answers[kind] = answers;
    if (kind == PLAN_JSON)
        extract_json_run(x->json, body, q->source->whole, q->arena, answers);
    else if (kind == PLAN_XML)
        extract_xml_run(x->xml, body, q->source->whole, q->arena, answers);
    else if (kind == PLAN_CSV)
        extract_csv_run(x->csv, body, q->source->whole, q->arena, answers);
    else
        extract_edi_run(x->edi[kind - PLAN_HL7], body, q->source->whole, q->arena, answers);
}

static struct answer ask_query(const struct asking *q, struct str name)
{
    char room[4 * FACTS_VALUE_MOST + 1] = "";
    struct buf text = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };
    struct str query = str_trim(head_field(q->source->head, STR(":query")));
    struct err err;
    bool found = false;

    if (!http_decode_query(query, name, &text, &found, &err))
        return (struct answer){ .kind = ANSWER_UNFIT,
                                .why = err.kind == ERR_LIMIT ? "is too long"
                                                             : "is not a text in percent encoding",
                                .at = ANSWER_NOWHERE };
    return found ? answer_make(buf_view(&text), ANSWER_NOWHERE, q->arena)
                 : (struct answer){ .at = ANSWER_NOWHERE };
}

static struct answer extract_ask(struct asking *q, const struct expression *e, size_t field)
{
    const struct extract_source *source = q->source;
    enum plan_kind kind = extract_plan_of(e->source);
    struct answer answer = { .at = ANSWER_NOWHERE };
    struct str line;

    switch (e->source) {
    case EXPR_VALUE:
        return answer_make(e->rest, ANSWER_NOWHERE, q->arena);
    case EXPR_HEADER:
        line = head_field(source->head, e->rest);
        return line.ptr != NULL ? answer_make(line, ANSWER_NOWHERE, q->arena) : answer;
    case EXPR_QUERY:
        return ask_query(q, e->rest);
    case EXPR_NAME:
        if (source->name.len == 0) {
            answer.why = "the document has no name";
            return answer;
        }
        answer = extract_regex_run(e->regex, source->name, true, q->arena);
        answer.at = ANSWER_NOWHERE;
        return answer;
    case EXPR_REGEX:
        if (q->spent)
            return answer;
        return extract_regex_run(e->regex, source->body, source->whole, q->arena);
    default:
        require(kind != PLANS);
        if (q->answers[kind] == NULL && q->spent)
            return answer;
        if (q->answers[kind] == NULL)
            run_plan(q, kind, field);
        return q->answers[kind][e->question];
    }
}

/* ---- failures ---- */

static void extract_say(struct extract_failure *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void extract_say(struct extract_failure *f, const char *fmt, ...)
{
    size_t used = strlen(f->message);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(f->message + used, sizeof f->message - used, fmt, ap);
    va_end(ap);
}

static void say_place(struct extract_failure *f, struct str body, ptrdiff_t at)
{
    size_t line = 1;

    if (at < 0)
        return;
    for (size_t i = 0; i < (size_t)at && i < body.len; i++)
        line += body.ptr[i] == '\n';
    extract_say(f, ", at byte %td, line %zu", at + 1, line);
}

/* "`json:/a` is an object, not a value, at byte 17, line 2" */
static void say_answer(struct extract_failure *f, const struct expression *e,
                       const struct answer *answer, struct str body)
{
    char text[PROBLEM_QUOTE];

    extract_say(f, "`%s`", problem_quote(text, e->text));
    if (answer->kind == ANSWER_CUT) {
        extract_say(f, " is not in the first %d bytes of the body", EXTRACT_BYTES_MOST);
        return;
    }
    if (answer->kind == ANSWER_BROKEN)
        extract_say(f, ": the body is not %s: %s", extract_plans[e->source].name, answer->why);
    else if (answer->kind == ANSWER_OVER)
        extract_say(f, ": %s", answer->why);
    else
        extract_say(f, " %s", answer->why != NULL ? answer->why : "is not there");
    say_place(f, body, answer->at);
}

static bool fail_at_once(struct asking *q, const struct field *field, const struct expression *e,
                         const struct answer *answer, struct extract_failure *ret)
{
    ret->code = answer->kind == ANSWER_OVER ? DEAD_BUDGET : DEAD_EXTRACT_FAILED;
    ret->message[0] = '\0';
    extract_say(ret, "%s: ", field->label);
    say_answer(ret, e, answer, q->source->body);
    return false;
}

/* Nothing was found: lists the reason of each expression. */
static bool fail_missing(struct asking *q, size_t f, struct extract_failure *ret)
{
    const struct field *field = &q->x->fields[f];

    ret->code = DEAD_EXTRACT_FAILED;
    ret->message[0] = '\0';
    extract_say(ret, "no %s: ", field->label);
    for (size_t i = 0; i < field->count; i++) {
        const struct expression *e = &q->x->expressions[field->first + i];
        struct answer answer = extract_ask(q, e, f);

        if (answer.kind == ANSWER_CUT)
            ret->code = DEAD_BUDGET;
        extract_say(ret, "%s", i > 0 ? "; " : "");
        say_answer(ret, e, &answer, q->source->body);
    }
    return false;
}

/* ret->ptr stays NULL when nothing was found. */
static bool ask_field(struct asking *q, size_t f, struct str *ret,
                      struct extract_failure *ret_failure)
{
    const struct field *field = &q->x->fields[f];

    for (size_t i = 0; i < field->count; i++) {
        const struct expression *e = &q->x->expressions[field->first + i];
        struct answer answer = extract_ask(q, e, f);

        if (answer.kind == ANSWER_UNFIT || answer.kind == ANSWER_OVER)
            return fail_at_once(q, field, e, &answer, ret_failure);
        if (answer.kind == ANSWER_FOUND) {
            *ret = answer.value;
            return true;
        }
    }
    return true;
}

/* Keeps the value of field `f`; false: it does not fit beside the others, and is left out. */
static bool extract_keep(struct asking *q, size_t f, struct str value, struct facts *io,
                         struct extract_failure *ret)
{
    const struct field *field = &q->x->fields[f];
    struct facts before = *io;

    if (field->attribute.ptr != NULL)
        io->attributes[io->attribute_count++] =
            (struct fact){ .name = arena_copy(q->arena, field->attribute), .value = value };
    else
        memcpy((char *)io + field->to, &value, sizeof value);
    if (facts_fit(io))
        return true;
    *io = before;
    ret->code = DEAD_BUDGET;
    (void)snprintf(ret->message, sizeof ret->message,
                   "%s: all values together have more than %d bytes", field->label,
                   FACTS_ATTRIBUTES_BYTES);
    return false;
}

static bool extract_field(struct asking *q, size_t f, struct facts *io, struct extract_failure *ret)
{
    struct str value = { 0 };

    if (!ask_field(q, f, &value, ret))
        return false;
    if (value.ptr == NULL)
        return q->x->fields[f].attribute.ptr != NULL || (!q->failed && fail_missing(q, f, ret));
    return extract_keep(q, f, value, io, ret);
}

bool extract_run(const struct extractor *x, const struct extract_source *source, struct arena *a,
                 struct facts *ret, struct extract_failure *ret_failure)
{
    struct extract_source looked_at = *source;
    struct asking q = { .x = x, .source = &looked_at, .arena = a };
    struct facts facts = { 0 };
    struct extract_failure later = { 0 }, *failure = ret_failure;

    if (looked_at.body.len > EXTRACT_BYTES_MOST) { /* the caller passed more */
        looked_at.body.len = EXTRACT_BYTES_MOST;
        looked_at.whole = false;
    }
    if (x->attribute_count > 0)
        facts.attributes = ARENA_ARRAY(a, struct fact, x->attribute_count);
    for (size_t f = 0; f < x->field_count; f++)
        if (!extract_field(&q, f, &facts, failure)) {
            q.failed = facts.partial = true;
            q.spent = q.spent || failure->code == DEAD_BUDGET;
            failure = &later;
        }
    *ret = facts;
    return !facts.partial;
}
