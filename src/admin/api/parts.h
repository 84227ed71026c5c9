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
    PART(job)           \
    PART(job_runs)      \
    PART(job_orders)    \
    PART(duty)          \
    PART(link_look)     \
    PART(link_plan)     \
    PART(link_order)    \
    PART(link_pass)     \
    PART(link_aside)    \
    PART(link_diff)     \
    PART(link_digest)   \
    PART(user)

#define PART(name)                                     \
    extern const struct graphql_resolver api_##name[]; \
    extern const size_t api_##name##_count;
API_PARTS(PART)
#undef PART

extern const struct graphql_once api_once;

enum { API_REASON_MOST = 500 }; /* of what a person gives as a reason, in bytes */

struct operate_order;
struct resolve_order;
struct store;

const struct principal *api_principal(const struct graphql_call *call);
struct engine *api_engine(const struct graphql_call *call);
struct store *api_store(const struct graphql_call *call);
struct str api_name(const struct graphql_call *call);

/* OperateResult: the result of a change to one document. */
struct api_result {
    struct str id;
    const char *result, *message;
};

/* The name of the person, for timelines.  A caller with the admin token may give any name in `by`;
 * for others `by` is added to their own name: "alice for bob". */
struct str api_who(const struct principal *p, struct str by, struct arena *a);
/* The same with the argument `by`; ERR_LIMIT: it is too long, or has control characters. */
bool api_read_who(const struct graphql_call *call, struct str *ret, struct err *err);
bool api_is_who(struct str by);

/* For graphql_schema_guard(): the number of a right by its word in @needs, and the check. */
bool api_find_right(struct str word, int *ret);
graphql_guard_fn api_may;
/* Whether the scope of a right covers the parent of the field: a Document; a RehearsedDocument
 * or RehearsedLeft. */
bool api_covers_document(const struct graphql_call *call, enum right right);
bool api_covers_rehearsed(const struct graphql_call *call, enum right right);
/* Logs that the caller sees the payloads of a RehearsedDocument, the parent: at the first call
 * those of its whole portion that are in scope, in one commit. */
bool api_log_rehearsed(struct graphql_call *call, enum right right, struct err *err);

/* An order for operate(): who acts, and the newest version of the configuration. */
bool api_order_of(struct graphql_call *call, struct operate_order *ret, struct err *err);
/* An order for resolve(): the arguments `as`, `endpoint`, `reason` and `by`. */
bool api_read_resolution(struct graphql_call *call, struct resolve_order *ret, struct err *err);
/* Reads the arguments `from` and `again`. */
void api_read_retry(struct graphql_call *call, struct operate_order *io);
void api_log_change(const char *action, struct str who, size_t count, size_t done);

/* Bulk: one portion of a bulk change. */
struct api_bulk_result {
    int64_t count, done, skipped;
    struct str begin, next;
};

/* Reads the argument `after`, "NUM-TIME": the last document that was handled, and the time at which
 * the bulk change began; documents that arrived later are not part of it. */
bool api_read_place(struct graphql_call *call, int64_t *ret_above, int64_t *ret_until,
                    struct err *err);
/* Makes such a cursor for the answer. */
struct str api_place(const struct graphql_call *call, int64_t above, int64_t until);
/* Reads an argument between 1 and `most`, which is also its default. */
bool api_read_count(const struct graphql_call *call, const char *arg, size_t most, size_t *ret,
                    struct err *err);

/* Reads the arguments `first` and `after`; *ret_after is 0 when it is missing. */
bool api_read_page(const struct graphql_call *call, int64_t most, int64_t *ret_first,
                   int64_t *ret_after, struct err *err);

/* A page of a list: objects, and the cursor of the next page. */
enum { API_PAGE_MOST = 200 };

struct api_page {
    const void *items[API_PAGE_MOST];
    size_t count;
    struct str next; /* empty: this is the last page */
};

graphql_fn api_page_items;
/* Sets the cursor of the next page; 0: this is the last one. */
void api_page_goes_on(struct graphql_call *call, struct api_page *page, int64_t next);

/* The argument `files`: the files that were sent along with a configuration. */
struct config_files;
bool api_config_files(struct graphql_call *call, struct config_files *ret, struct err *err);

/* The bytes of a stage, at most the cap of `to`: a longer one is ERR_LIMIT.  *ret_found false:
 * there is no such stage. */
struct buf;
struct document_view;
bool api_read_stage(struct graphql_call *call, struct document_view *v, int64_t stage,
                    struct buf *to, bool *ret_found, struct err *err);

/* A list of Problem: copied into an arena, and as the answer to a field. */
struct problem_list;
const struct problem_list *api_keep_problems(struct arena *a, const struct problem_list *from);
bool api_set_problems(struct graphql_call *call, const struct problem_list *list);

/* Conditions on attributes: a document must meet all of them. */
enum { API_WHERE_MOST = 16 };

struct api_where {
    struct fact list[API_WHERE_MOST];
    size_t count;
};

/* Refuses empty texts in a filter.  An empty text is most likely an unset variable of a script, and
 * must not match everything; a caller who wants any value leaves the field out.  `names` ends with
 * NULL. */
bool api_refuse_empty(const struct graphql_value *filter, const char *const *names,
                      struct err *err);
bool api_read_where(const struct graphql_value *list, struct api_where *ret, struct err *err);

/* The section `auth` of the configuration decides who may log in with which roles, so changing it
 * takes the right `users`, too.  Without it `auth` must be as in the newest version, whichever
 * version this node has in force.  *ret_over: the version that was compared, for live_apply(); 0:
 * the caller has the right, and nothing was compared. */
bool api_may_apply(struct graphql_call *call, struct str text, int64_t *ret_over, struct err *err);

/* DocumentError. */
struct api_error {
    struct str code, message;
};

/* Answers the field with the attributes. */
bool api_set_attributes(struct graphql_call *call, const struct facts *f);

/* Answers the field with the pauses of the node. */
bool api_set_pauses(struct graphql_call *call, int64_t node, struct err *err);

/* Answers the field with the names of the reasons (bits of held_reason). */
bool api_set_held(struct graphql_call *call, unsigned reasons);

/* Fields that are a struct str or an int64_t in the parent; empty and 0 are answered as null. */
graphql_fn api_text_at, api_number_at;

#define API_TEXT_AT(field_, struct_, member_)                                      \
    {                                                                              \
        .field = (field_), .fn = api_text_at, .offset = offsetof(struct_, member_) \
    }
#define API_NUMBER_AT(field_, struct_, member_)                                      \
    {                                                                                \
        .field = (field_), .fn = api_number_at, .offset = offsetof(struct_, member_) \
    }
