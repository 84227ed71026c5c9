#include "admin/graphql/run.h"

#include <errno.h>

#include "admin/graphql/once.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/require.h"

enum {
    FRAMES_MAX = (GRAPHQL_DEPTH_MAX + GRAPHQL_DEPTH_INTROSPECTION) * (GRAPHQL_LISTS_MAX + 1) + 1,
    PIECE = 4096, /* bytes of a text that are written between two checks of the limit */
};
_Static_assert((int)FRAMES_MAX <= (int)GRAPHQL_PATH_MAX, "a path has a step for each frame");

/* An object or a list that is being written. */
struct frame {
    const struct graphql_plan *field; /* of an object: the one being written; of a list: its own */
    const struct graphql_plan *next;  /* of an object: the field after it */
    struct graphql_ref ref;           /* its own type                                         */
    const void *parent;               /* the object; of a list: the object whose field it is */
    struct graphql_answer list;
    size_t index; /* of the next item, or of the next written field */
    size_t start; /* offset of its text in `out` */
    bool is_list;
};

/* A field of Mutation with a client id, while it runs (struct graphql_once). */
struct doing {
    const struct graphql_plan *field; /* NULL: no such field is running */
    struct str client;
    size_t start; /* offset of its text in `out` */
    bool done;
    struct err why; /* when !done: the error of the resolver */
};

struct run {
    const struct graphql_limits *limits;
    struct graphql_report *report;
    struct buf *out;
    struct graphql_call call;
    size_t response_max; /* limit of out->len */
    bool stopped;        /* out of time or memory            */
    struct doing doing;
    size_t depth;
    struct frame frames[FRAMES_MAX];
};

/* ---- errors ---- */

static void add_path(struct run *r, struct graphql_problem *p)
{
    struct graphql_step *path = ARENA_ARRAY(r->report->arena, struct graphql_step, r->depth);

    for (size_t i = 0; i < r->depth; i++) {
        const struct frame *f = &r->frames[i];

        if (f->is_list)
            path[i].index = f->index - 1;
        else
            path[i].key = f->field->key;
    }
    p->path = path;
    p->path_len = r->depth;
}

static void field_error(struct run *r, const struct graphql_plan *f, const char *code,
                        const char *text)
{
    struct graphql_problem *p = graphql_report_add(r->report, code, f->at, "%s", text);

    if (p != NULL)
        add_path(r, p);
}

/* Writes null.  Where the type does not allow null, first removes the enclosing values from the
 * output, up to the nearest one that may be null. */
static void write_null(struct run *r, struct graphql_ref ref)
{
    while (graphql_ref_required(ref) && r->depth > 0) {
        const struct frame *f = &r->frames[--r->depth];

        r->out->len = f->start;
        ref = f->ref;
    }
    buf_puts(r->out, "null");
}

/* ---- leaves ---- */

static bool is_full(struct run *r)
{
    return r->out->len > r->response_max;
}

/* Writes in pieces, so that a long text exceeds the limit by at most one piece. */
static void write_text(struct run *r, struct str s)
{
    buf_putc(r->out, '"');
    while (s.len > 0 && !is_full(r)) {
        size_t n = s.len < PIECE ? s.len : PIECE;

        while (n < s.len && n > PIECE - 4 && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
            n--; /* do not split a UTF-8 character */
        json_escape(r->out, str_mem(s.ptr, n));
        s = str_from(s, n);
    }
    buf_putc(r->out, '"');
}

static bool is_enum_value(const struct graphql_type *t, struct str name)
{
    for (size_t i = 0; i < t->value_count; i++)
        if (str_eq(t->values[i].name, name))
            return true;
    return false;
}

static bool graphql_run_write_leaf(struct run *r, const struct graphql_type *t,
                                   const struct graphql_answer *a, struct err *err)
{
    bool text = a->kind == GRAPHQL_ANSWER_TEXT;

    if (t->kind == GRAPHQL_KIND_ENUM ? text && is_enum_value(t, a->text)
                                     : text && t->scalar->texts) {
        write_text(r, a->text);
        return true;
    }
    if (text || t->kind == GRAPHQL_KIND_ENUM || t->scalar->write == NULL)
        return err_set(err, ERR_PERMANENT, 0, "the server answered with what is no %.*s",
                       STR_ARG(t->name));
    return t->scalar->write(a, r->out, err);
}

/* ---- values ---- */

static struct frame *graphql_run_push(struct run *r, const struct graphql_plan *f,
                                      struct graphql_ref ref)
{
    require(r->depth < FRAMES_MAX);
    struct frame *top = &r->frames[r->depth++];

    *top = (struct frame){ .field = f, .ref = ref, .start = r->out->len };
    return top;
}

static void push_object(struct run *r, const struct graphql_plan *f, struct graphql_ref ref,
                        const void *object)
{
    struct frame *top = graphql_run_push(r, f, ref);

    top->parent = object;
    top->next = f->first;
    buf_putc(r->out, '{');
}

static void push_list(struct run *r, const struct graphql_plan *f, struct graphql_ref ref,
                      const void *parent, const struct graphql_answer *list)
{
    struct frame *top = graphql_run_push(r, f, ref);

    top->is_list = true;
    top->parent = parent;
    top->list = *list;
    buf_putc(r->out, '[');
}

/* Writes the answer in r->call, which has type `ref`.  Of an object or a list only the opening
 * bracket is written, and a frame is pushed. */
static void complete(struct run *r, const struct graphql_plan *f, struct graphql_ref ref)
{
    const struct graphql_answer *a = &r->call.answer;
    struct err err = { 0 };

    if (a->kind == GRAPHQL_ANSWER_NULL) {
        if (graphql_ref_required(ref))
            field_error(r, f, "internal", "the server has no value where one is promised");
        write_null(r, ref);
        return;
    }
    if (ref.lists > 0 && a->kind == GRAPHQL_ANSWER_LIST) {
        push_list(r, f, ref, r->call.parent, a);
    } else if (ref.lists == 0 && ref.type->kind == GRAPHQL_KIND_OBJECT &&
               a->kind == GRAPHQL_ANSWER_OBJECT) {
        push_object(r, f, ref, a->object);
    } else if (ref.lists > 0 || ref.type->kind == GRAPHQL_KIND_OBJECT) {
        field_error(r, f, "internal", "the server answered with a value of another kind");
        write_null(r, ref);
    } else if (!graphql_run_write_leaf(r, ref.type, a, &err)) {
        field_error(r, f, "internal", err.text);
        write_null(r, ref);
    }
}

/* ---- resolvers ---- */

/* Checks the limits of time and memory.  Once one is exceeded, all further fields are null, and
 * the error is reported once (run_call). */
static bool graphql_run_may_go_on(struct run *r, struct err *err)
{
    if (r->report->arena->used > r->limits->memory)
        return err_set(err, ERR_LIMIT, 0, "the answer takes over %zu bytes of memory",
                       r->limits->memory);
    if (clock_mono_us() >= r->call.deadline_us)
        return err_set(err, ERR_LIMIT, 0, "the request takes over %lld ms",
                       (long long)(r->limits->time_us / CLOCK_MS));
    return true;
}

static void graphql_run_fail(struct run *r, const struct graphql_plan *f, struct graphql_ref ref,
                             const struct err *err)
{
    field_error(r, f, graphql_report_code(err), err->text);
    write_null(r, ref);
}

static bool graphql_run_is_allowed(struct run *r, const struct graphql_plan *f, struct err *err)
{
    return !f->field->is_guarded || r->call.schema->guard(&r->call, f->field->right, err);
}

/* *ret: the caller has the right of @shows.  False: the guard failed for another reason. */
static bool graphql_run_is_shown(struct run *r, const struct graphql_plan *f, bool *ret,
                                 struct err *err)
{
    struct err why = { 0 };

    *ret = !f->field->is_guarded || f->field->shows.ptr == NULL ||
           r->call.schema->guard(&r->call, f->field->shown_right, &why);
    if (*ret || (why.kind == ERR_PERMANENT && (why.sys == EPERM || why.sys == EACCES)))
        return true;
    *err = why;
    return false;
}

/* ---- changes that are done once ---- */

static struct str client_of(const struct run *r, const struct graphql_plan *f)
{
    if (r->call.schema->once != NULL && f->type == r->call.schema->mutation)
        for (size_t i = 0; i < f->field->arg_count; i++)
            if (str_is(f->field->args[i].name, "client"))
                return f->args[i].text;
    return (struct str){ 0 };
}

/* What a change has done is told, however long it took: its time does not count. */
static bool call_resolver(struct run *r, const struct graphql_plan *f, struct err *err)
{
    if (f->type != r->call.schema->mutation)
        return f->field->fn(&r->call, err);
    int64_t from = clock_mono_us();
    bool ok = f->field->fn(&r->call, err);

    graphql_lend(&r->call, clock_mono_us() - from);
    return ok;
}

/* *ret_answer: the JSON of an earlier run under the same client id; the resolver was not called.
 * A NULL pointer: the resolver was called. */
static bool run_resolver(struct run *r, const struct graphql_plan *f, struct str *ret_answer,
                         struct err *err)
{
    struct str client = client_of(r, f);
    struct sha256 question;
    bool shown;

    *ret_answer = (struct str){ 0 };
    if (!graphql_run_is_allowed(r, f, err) || !graphql_run_is_shown(r, f, &shown, err))
        return false;
    if (!shown)
        return graphql_set_null(&r->call);
    if (client.len == 0)
        return call_resolver(r, f, err);
    if (!graphql_once_question(&r->call, r->report->source, &question, err) ||
        !r->call.schema->once->begin(&r->call, client, &question, ret_answer, err))
        return false;
    if (ret_answer->ptr != NULL)
        return true;
    r->doing = (struct doing){ .field = f, .client = client, .start = r->out->len };
    r->doing.done = call_resolver(r, f, err);
    r->doing.why = *err;
    return r->doing.done;
}

/* Called when the value of the running mutation field is complete, or was removed because of a
 * null below it; then it has no answer to keep. */
static void end_doing(struct run *r)
{
    const struct doing *d = &r->doing;
    struct str answer = { 0 };

    if (r->depth == 1 && !is_full(r))
        answer = str_mem(r->out->ptr + d->start, r->out->len - d->start);
    r->call.schema->once->end(&r->call, d->client, d->field->field->name, d->done, answer, &d->why);
    r->doing = (struct doing){ 0 };
}

static void run_call(struct run *r, const struct graphql_plan *f, struct graphql_ref ref,
                     const void *parent, const struct frame *list)
{
    struct err err = { 0 };

    if (!r->stopped && !graphql_run_may_go_on(r, &err)) {
        r->stopped = true;
        graphql_run_fail(r, f, ref, &err);
        return;
    }
    if (r->stopped) {
        write_null(r, ref);
        return;
    }
    r->call.parent = parent;
    r->call.offset = f->field->offset;
    r->call.array = &f->field->array;
    r->call.type = f->type;
    r->call.field = f->field;
    r->call.args = f->args;
    r->call.answer = (struct graphql_answer){ 0 };
    struct str again = { 0 };

    if (list != NULL ? !list->list.item(&r->call, list->list.object, list->index - 1, &err)
                     : !run_resolver(r, f, &again, &err))
        graphql_run_fail(r, f, ref, &err);
    else if (again.ptr != NULL)
        buf_put(r->out, again);
    else
        complete(r, f, ref);
}

static void run_field(struct run *r, struct frame *top)
{
    const struct graphql_plan *f = top->next;

    top->next = f->next;
    if (!f->active)
        return;
    top->field = f;
    if (top->index++ > 0)
        buf_putc(r->out, ',');
    buf_putc(r->out, '"');
    buf_put(r->out, f->key); /* a GraphQL name needs no escapes */
    buf_puts(r->out, "\":");
    if (f->fault == NULL) {
        run_call(r, f, f->field->ref, top->parent, NULL);
        return;
    }
    field_error(r, f, "invalid", f->fault);
    write_null(r, f->field->ref);
}

static void run_item(struct run *r, struct frame *top)
{
    if (top->index++ > 0)
        buf_putc(r->out, ',');
    run_call(r, top->field, graphql_ref_item(top->ref), top->parent, top);
}

static void graphql_run_step(struct run *r)
{
    struct frame *top = &r->frames[r->depth - 1];

    if (top->is_list && top->index < top->list.count) {
        run_item(r, top);
    } else if (!top->is_list && top->next != NULL) {
        run_field(r, top);
    } else {
        buf_putc(r->out, top->is_list ? ']' : '}');
        r->depth--;
    }
}

bool graphql_run(const struct graphql_schema *s, const struct graphql_plan *root,
                 const struct graphql_limits *limits, const void *principal,
                 struct graphql_report *report, struct buf *out)
{
    struct run r = { .limits = limits, .report = report, .out = out };

    require(out->cap - out->len >= GRAPHQL_ERRORS_ROOM);
    size_t room = out->cap - out->len - GRAPHQL_ERRORS_ROOM;

    r.response_max = out->len + (room < limits->response ? room : limits->response);
    r.call = (struct graphql_call){ .principal = principal,
                                    .arena = report->arena,
                                    .deadline_us = clock_mono_us() + limits->time_us,
                                    .schema = s };
    push_object(&r, root, (struct graphql_ref){ .type = NULL }, NULL);
    while (r.depth > 0 && !is_full(&r)) {
        graphql_run_step(&r);
        if (r.doing.field != NULL && (r.depth <= 1 || is_full(&r)))
            end_doing(&r);
    }
    return !is_full(&r);
}
