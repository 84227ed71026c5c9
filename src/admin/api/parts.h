/* parts.h - the resolver tables of the admin API, one per subject, and what they share.
 * The principal of every call is a struct principal. */
#pragma once

#include <stddef.h>

#include "admin/graphql/graphql.h"
#include "admin/login/principal.h"
#include "core/facts.h"

/* One line per subject. */
#define API_PARTS(PART) \
    PART(documents)     \
    PART(operate)       \
    PART(config)        \
    PART(node)          \
    PART(secret)        \
    PART(road)          \
    PART(hold)          \
    PART(rehearse)      \
    PART(alert)         \
    PART(backup)        \
    PART(edit)          \
    PART(lineage)       \
    PART(bulk)          \
    PART(scan)          \
    PART(batch)         \
    PART(retention)     \
    PART(about)         \
    PART(system)        \
    PART(plan)          \
    PART(series)        \
    PART(payload)       \
    PART(connector)     \
    PART(flow)          \
    PART(audit)         \
    PART(right)         \
    PART(user)

#define PART(name)                                     \
    extern const struct graphql_resolver api_##name[]; \
    extern const size_t api_##name##_count;
API_PARTS(PART)
#undef PART

extern const struct graphql_once api_once;

struct operate_order;
struct store;

const struct principal *api_principal(const struct graphql_call *call);
struct engine *api_engine(const struct graphql_call *call);
struct store *api_store(const struct graphql_call *call);
struct str api_name(const struct graphql_call *call);

/* OperateResult: what came of a change to one document. */
struct api_result {
    struct str id;
    const char *result, *message;
};

/* Who did it, for timelines.  The holder of the token may say so; others have a name, and what they
 * say stands behind it: "alice for bob". */
struct str api_who(const struct principal *p, struct str by, struct arena *a);
/* The same from the argument `by`; ERR_LIMIT: it is too long, or has control characters. */
bool api_read_who(const struct graphql_call *call, struct str *ret, struct err *err);
bool api_is_who(struct str by);

/* The guard of the schema, and how it reads the words of @needs. */
bool api_find_right(struct str word, int *ret);
graphql_guard_fn api_may;
/* Whether a right counts for the parent of a field: a Document, a RehearsedDocument. */
bool api_covers_document(const struct graphql_call *call, enum right right);
bool api_covers_rehearsed(const struct graphql_call *call, enum right right);
/* Which document it is, when the parent is a RehearsedDocument. */
struct str api_rehearsed_id(const struct graphql_call *call);

/* What people do to documents: by whom, and with the newest version. */
bool api_order_of(struct graphql_call *call, struct operate_order *ret, struct err *err);
/* Arguments from and again. */
void api_read_retry(struct graphql_call *call, struct operate_order *io);
void api_log_change(const char *action, struct str who, size_t count, size_t done);

/* Bulk: a portion of a change. */
struct api_bulk_result {
    int64_t count, done, skipped;
    struct str begin, next;
};

/* Argument after, "NUM-TIME": how far it came, and when it began; what came later is not meant. */
bool api_read_place(struct graphql_call *call, int64_t *ret_above, int64_t *ret_until,
                    struct err *err);
/* The same, for the answer. */
struct str api_place(const struct graphql_call *call, int64_t above, int64_t until);
/* An argument that counts, from 1. */
bool api_read_count(const struct graphql_call *call, const char *arg, size_t most, size_t *ret,
                    struct err *err);

/* Arguments first and after; *ret_after is 0 when there is none. */
bool api_read_page(const struct graphql_call *call, int64_t most, int64_t *ret_first,
                   int64_t *ret_after, struct err *err);

/* A page of a list: objects, and the place behind which it goes on. */
enum { API_PAGE_MOST = 200 };

struct api_page {
    const void *items[API_PAGE_MOST];
    size_t count;
    struct str next; /* empty: this is the end */
};

graphql_fn api_page_items;
/* It goes on behind this number; 0: it does not. */
void api_page_goes_on(struct graphql_call *call, struct api_page *page, int64_t next);

/* Problem: a list of them, kept in the arena of the call, and as the answer to a field. */
struct problem_list;
const struct problem_list *api_keep_problems(struct arena *a, const struct problem_list *from);
bool api_set_problems(struct graphql_call *call, const struct problem_list *list);

/* Attributes that a document must have. */
enum { API_WHERE_MOST = 16 };

struct api_where {
    struct fact list[API_WHERE_MOST];
    size_t count;
};

/* Who means any leaves a text of a filter out: an empty one is more likely a variable that nobody
 * set, and must not mean all.  `names` ends with NULL. */
bool api_refuse_empty(const struct graphql_value *filter, const char *const *names,
                      struct err *err);
bool api_read_where(const struct graphql_value *list, struct api_where *ret, struct err *err);

/* Who may log in, and as what, is also said by `auth` of the configuration: with the right
 * `configure` alone it stays as it is in the newest version, whichever this node has in force.
 * *ret_over: the version that was compared, for live_apply(); 0: none had to be. */
bool api_may_apply(struct graphql_call *call, struct str text, int64_t *ret_over, struct err *err);

/* DocumentError. */
struct api_error {
    struct str code, message;
};

/* Answers with the attributes. */
bool api_set_attributes(struct graphql_call *call, const struct facts *f);

/* Answers with what this node does not do. */
bool api_set_pauses(struct graphql_call *call, int64_t node, struct err *err);

/* Answers with the words of the reasons (held_reason). */
bool api_set_held(struct graphql_call *call, unsigned reasons);

/* Fields that are a struct str or an int64_t of their parent, empty and 0 being null. */
graphql_fn api_text_at, api_number_at;

#define API_TEXT_AT(field_, struct_, member_)                                      \
    {                                                                              \
        .field = (field_), .fn = api_text_at, .offset = offsetof(struct_, member_) \
    }
#define API_NUMBER_AT(field_, struct_, member_)                                      \
    {                                                                                \
        .field = (field_), .fn = api_number_at, .offset = offsetof(struct_, member_) \
    }
