/* graphql.h - a GraphQL server: a schema, a table of resolvers, and requests.
 *
 * Knows nothing of HTTP, the store or rights: a guard and the resolvers get the caller's
 * principal and decide.  The type system is that of the specification without interfaces, unions
 * and subscriptions; a schema that has them is refused.
 *
 *     struct graphql_schema *s = graphql_schema_new(text, &err);
 *     graphql_schema_bind(s, table, n, &err);      once or more
 *     graphql_schema_guard(s, find, may, &err);    every field has a rule
 *     graphql_schema_check(s, &err);               every field is answered
 *     graphql_execute(s, &request, &limits, &out);
 *
 * Invariants
 *   (1) whatever the request, the answer is one JSON object and holds at most
 *       the bytes of its limit; each limit is an ordinary error in `errors`.
 *   (2) nothing recurses over input; stacks are arrays with a cap.
 *   (3) no resolver runs unless the whole request is valid.
 *
 * Ownership      the schema owns everything below it; an execution has an arena
 *                of its own that ends with it
 * Threads        the schema is read-only after graphql_schema_check(): any
 *                thread executes, resolvers run on the caller's thread
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

struct json_t; /* jansson.h */
struct graphql_field;
struct graphql_schema;
struct graphql_type;

/* ---- limits ---- */

struct graphql_limits {
    size_t document;   /* bytes of the query text                               */
    size_t tokens;     /* of the query text */
    size_t depth;      /* nesting of fields; introspection has a limit of its own */
    size_t aliases;    /* in the document                                       */
    size_t directives; /* on one field, fragment or definition */
    size_t fragments;  /* in the document, at most 64                           */
    size_t variables;  /* bytes of their JSON                                   */
    size_t response;   /* bytes of `data`                                       */
    size_t memory;     /* bytes of the arena, checked before each resolver      */
    int64_t page;      /* the largest `first`                                   */
    int64_t cost;      /* fields, each times the page sizes above it            */
    int64_t time_us;   /* wall clock, checked before each resolver              */
    bool introspection;
};

extern const struct graphql_limits graphql_limits_default; /* without introspection */

/* ---- values that come in ---- */

enum graphql_kind {
    GRAPHQL_ABSENT = 0, /* not given, and no default             */
    GRAPHQL_NULL,       /* given as null                         */
    GRAPHQL_INT,        /* Int, Long, and Time as microseconds   */
    GRAPHQL_FLOAT,
    GRAPHQL_BOOL,
    GRAPHQL_TEXT, /* String, ID                            */
    GRAPHQL_ENUM, /* `text` is its name, `number` its index in the enum */
    GRAPHQL_LIST, /* items[count]                          */
    GRAPHQL_INPUT /* use graphql_value_field()             */
};

struct graphql_value {
    enum graphql_kind kind;
    bool truth;
    int64_t number;
    double real;
    struct str text;
    const struct graphql_value *items; /* of a list; of an input object one per field */
    size_t count;
    const struct graphql_type *type; /* of an input object */
};

/* A field of an input object, which must be in the schema.  If `v` is absent or null, every
 * field of it is absent.  Never NULL. */
const struct graphql_value *graphql_value_field(const struct graphql_value *v, const char *name);

/* ---- resolvers ---- */

struct graphql_call;

/* Answers one field by calling one of graphql_set_*(); without such a call it is null.
 * False makes the field an error: err->text goes to the caller of the API, and kind and
 * sys decide its code (report.h). */
typedef bool graphql_fn(struct graphql_call *call, struct err *err);

/* Answers item `index` of a list, in the same way. */
typedef bool graphql_item_fn(struct graphql_call *call, const void *list, size_t index,
                             struct err *err);

/* For graphql_read_list(): an array in the parent struct, or one that it points to. */
struct graphql_array {
    enum { GRAPHQL_ARRAY_OF_STRUCTS, GRAPHQL_ARRAY_OF_OBJECTS, GRAPHQL_ARRAY_OF_TEXTS } of;
    bool is_inside;
    size_t size;     /* of an item */
    size_t count_at; /* of a size_t in the parent */
};

struct graphql_resolver {
    const char *field; /* "Document.timeline" */
    graphql_fn *fn;
    size_t offset; /* for the graphql_read_* family */
    struct graphql_array array;
};

/* A field that is answered with a member of the parent struct; the member's type is struct str,
 * const char *, char *, int64_t, bool, struct id or struct sha256.  A NULL pointer is null. */
#define GRAPHQL_MEMBER(field_, struct_, member_)               \
    {                                                          \
        .field = (field_),                                   \
        .fn = _Generic(&((struct_ *)0)->member_,             \
                       struct str *: graphql_read_str,       \
                       const char **: graphql_read_z,        \
                       char **: graphql_read_z,              \
                       int64_t *: graphql_read_i64,          \
                       struct id *: graphql_read_id,         \
                       struct sha256 *: graphql_read_sha256, \
                       bool *: graphql_read_bool),           \
        .offset = offsetof(struct_, member_) \
    }

/* A field of an object type; the parent struct has a pointer to the object. */
#define GRAPHQL_POINTER(field_, struct_, member_)                                   \
    {                                                                               \
        .field = (field_), .fn = graphql_read_object,                               \
        .offset = offsetof(struct_, member_) + 0 * sizeof(*((struct_ *)0)->member_) \
    }

/* A field of an object type; the object is a member of the parent struct. */
#define GRAPHQL_INSIDE(field_, struct_, member_)                                           \
    {                                                                                      \
        .field = (field_), .fn = graphql_read_inside, .offset = offsetof(struct_, member_) \
    }

/* A list; the parent struct has an array, or a pointer to one, and a size_t with the count.  Items
 * are of type struct str, const void * (pointers to objects), or the structs themselves. */
#define GRAPHQL_LIST_OF(field_, struct_, member_, count_)                                         \
    {                                                                                             \
        .field = (field_), .fn = graphql_read_list, .offset = offsetof(struct_, member_),       \
        .array = {                                                                              \
            .of = _Generic(&((struct_ *)0)->member_[0],                                         \
                           struct str *: GRAPHQL_ARRAY_OF_TEXTS,                                \
                           const struct str *: GRAPHQL_ARRAY_OF_TEXTS,                          \
                           const void **: GRAPHQL_ARRAY_OF_OBJECTS,                             \
                           default: GRAPHQL_ARRAY_OF_STRUCTS),                                  \
            .is_inside = !__builtin_types_compatible_p(typeof(((struct_ *)0)->member_),         \
                                                       typeof(&((struct_ *)0)->member_[0])),    \
            .size = sizeof((struct_ *)0)->member_[0],                                           \
            .count_at = offsetof(struct_, count_) + 0 * sizeof((size_t *)0 == &((struct_ *)0)->count_) \
        } \
    }

graphql_fn graphql_read_str, graphql_read_z, graphql_read_i64, graphql_read_bool, graphql_read_id,
    graphql_read_sha256, graphql_read_object, graphql_read_inside, graphql_read_list;

struct graphql_answer {
    enum {
        GRAPHQL_ANSWER_NULL = 0,
        GRAPHQL_ANSWER_INT,
        GRAPHQL_ANSWER_FLOAT,
        GRAPHQL_ANSWER_BOOL,
        GRAPHQL_ANSWER_TEXT,
        GRAPHQL_ANSWER_OBJECT,
        GRAPHQL_ANSWER_LIST
    } kind;
    bool truth;
    int64_t number;
    double real;
    struct str text;
    const void *object; /* or the list, passed to `item` */
    size_t count;
    graphql_item_fn *item;
};

struct graphql_call {
    const void *parent;    /* object of the parent field; NULL in Query and Mutation */
    const void *principal; /* as in the request                                    */
    struct arena *arena;   /* for results; freed at the end of the request */
    int64_t deadline_us;   /* monotonic; checked before each resolver */
    int64_t lent_us;       /* used of what graphql_lend() gives after its first call */
    bool has_lent;

    /* The rest belongs to the engine and to the functions below. */
    size_t offset;
    const struct graphql_array *array;
    const struct graphql_schema *schema;
    const struct graphql_type *type; /* that declares the field */
    const struct graphql_field *field;
    const struct graphql_value *args;
    struct graphql_answer answer;
};

/* Extends the deadline by `us`, the time that a legitimately slow resolver took.  The first call
 * of a request extends it in full, so that one such field is answered however large the store is;
 * all further calls share 20 s, so that a request with many such fields ends. */
void graphql_lend(struct graphql_call *call, int64_t us);

/* An argument by its name, which must be in the schema.  Never NULL. */
const struct graphql_value *graphql_arg(const struct graphql_call *call, const char *name);

/* The same for common types: false, or an empty view with a NULL pointer, when the
 * argument is absent or null. */
bool graphql_arg_int(const struct graphql_call *call, const char *name, int64_t *ret);
bool graphql_arg_bool(const struct graphql_call *call, const char *name, bool *ret);
struct str graphql_arg_text(const struct graphql_call *call, const char *name);

/* Each returns true, so that a resolver can return its call.  Texts are copied at once;
 * objects and lists are lent until graphql_execute() returns.  A Time is an int:
 * microseconds UTC.  A text, object or list with a NULL pointer is null, and a NULL pointer
 * in `objects` is a null item. */
bool graphql_set_null(struct graphql_call *call);
bool graphql_set_int(struct graphql_call *call, int64_t v);
bool graphql_set_float(struct graphql_call *call, double v);
bool graphql_set_bool(struct graphql_call *call, bool v);
bool graphql_set_text(struct graphql_call *call, struct str v);
bool graphql_set_z(struct graphql_call *call, const char *z);
bool graphql_set_object(struct graphql_call *call, const void *object);
bool graphql_set_objects(struct graphql_call *call, const void *const *objects, size_t count);
/* An array of structs; `size` is that of one struct. */
bool graphql_set_structs(struct graphql_call *call, const void *first, size_t count, size_t size);
bool graphql_set_texts(struct graphql_call *call, const struct str *texts, size_t count);
bool graphql_set_list(struct graphql_call *call, const void *list, size_t count,
                      graphql_item_fn *item);

/* ---- the schema ---- */

/* Parses the schema definition language; the text is copied.  ERR_CONFIG, with the line: it is
 * invalid. */
struct graphql_schema *graphql_schema_new(struct str sdl, struct err *err);
void graphql_schema_free(struct graphql_schema *s);

/* The table is copied.  ERR_CONFIG when a field is not in the schema or has a
 * resolver already. */
bool graphql_schema_bind(struct graphql_schema *s, const struct graphql_resolver *table,
                         size_t count, struct err *err);

/* Called before the resolver of a field, with the right that @needs(right: WORD) names at the
 * field or else at its type.  False refuses the field, as a failing resolver does.  Introspection
 * needs no right.  Of a field with @shows(right: WORD) it is called once more with that right; if
 * that is refused (EPERM, EACCES), the field is null without an error. */
typedef bool graphql_guard_fn(struct graphql_call *call, int right, struct err *err);
/* `find` gives the number of the right that a word of @needs or @shows names.  ERR_CONFIG: a field
 * has no @needs, `find` does not know a word, or a field with @shows cannot be null. */
bool graphql_schema_guard(struct graphql_schema *s, bool (*find)(struct str word, int *ret),
                          graphql_guard_fn *guard, struct err *err);

/* Idempotent mutations: called, after the guard, for fields of Mutation whose argument `client` is
 * given. */
struct graphql_once {
    /* `question` is a digest of the request (once.h).  *ret_answer: the JSON of an earlier answer,
     * which is repeated; a NULL pointer: the resolver runs. */
    bool (*begin)(struct graphql_call *call, struct str client, const struct sha256 *question,
                  struct str *ret_answer, struct err *err);
    /* Called after the resolver ran.  done: it succeeded; otherwise *why is its error.  `answer` is
     * the JSON of the field; a NULL pointer: it could not be written. */
    void (*end)(struct graphql_call *call, struct str client, struct str field, bool done,
                struct str answer, const struct err *why);
};
void graphql_schema_once(struct graphql_schema *s, const struct graphql_once *once); /* lent */

/* ERR_CONFIG: fields have no resolver; the error names as many as fit. */
bool graphql_schema_check(const struct graphql_schema *s, struct err *err);

/* ---- a request ---- */

struct graphql_request {
    struct str query;
    struct json_t *variables; /* an object, or NULL; only read    */
    struct str operation;     /* may be empty when the document has only one */
    const void *principal;
};

/* Bytes that the errors of an answer may take in addition to its data. */
enum { GRAPHQL_ERRORS_ROOM = 512 << 10 };

/* A buf of this cap holds any answer under the default limits. */
enum { GRAPHQL_OUT_CAP = (4 << 20) + GRAPHQL_ERRORS_ROOM };

/* Appends {"data":..,"errors":[..]} to `out`, which must have room for GRAPHQL_ERRORS_ROOM
 * bytes at least; `data` is missing when nothing was run, `errors` when there are none.  The
 * fields of a mutation run one after the other, in order.  True: no errors. */
bool graphql_execute(const struct graphql_schema *s, const struct graphql_request *request,
                     const struct graphql_limits *limits, struct buf *out);
