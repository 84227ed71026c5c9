/* audit.c - the audit log: which requests are logged; resolvers of audit, auditVerify. */
#include "admin/api/audit.h"

#include <stdio.h>

#include "admin/api/parts.h"
#include "admin/graphql/type.h"
#include "admin/login/identify.h"
#include "admin/view/document_view.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "store/audit/audit_sign.h"

enum {
    ASKED_MOST = 1500, /* bytes of JSON after which no further value is begun */
    VALUE_MOST = 200,
    ITEMS_MOST = 50,
    DEPTH_MOST = 8,
};

/* The request that this thread answers; texts are in its arena. */
static _Thread_local struct {
    struct audit_entry begun;
    struct str seen_action, seen_object; /* the last logged read of a payload */
} now;

/* ---- what was asked ---- */

/* Writes a value that is neither a list nor an object. */
static void api_audit_write_leaf(struct json_out *j, const struct graphql_value *v,
                                 const struct graphql_type *type)
{
    char text[CLOCK_TEXT];

    if (v->kind == GRAPHQL_INT && type != NULL && str_is(type->name, "Time"))
        json_z(j, clock_utc_text(v->number, text));
    else if (v->kind == GRAPHQL_INT)
        json_int(j, v->number);
    else if (v->kind == GRAPHQL_BOOL)
        json_bool(j, v->truth);
    else if (v->kind == GRAPHQL_TEXT || v->kind == GRAPHQL_ENUM)
        json_str(j, str_first(v->text, VALUE_MOST));
    else
        json_none(j);
}

struct level {
    const struct graphql_value *v;
    const struct graphql_type *type; /* of the items of a list */
    size_t at;
};

/* Finds the next value of the level and writes its key; false at the end, or at a limit. */
static bool write_next(struct json_out *j, struct level *l, const struct graphql_value **ret,
                       const struct graphql_type **ret_type)
{
    bool object = l->v->kind == GRAPHQL_INPUT;

    while (l->at < l->v->count && (object || l->at < ITEMS_MOST) && j->to->len < ASKED_MOST) {
        const struct graphql_value *v = &l->v->items[l->at];
        const struct graphql_input *in = object ? &l->v->type->inputs[l->at] : NULL;

        l->at++;
        if (v->kind == GRAPHQL_ABSENT || (object && in->is_unlogged))
            continue;
        if (object) {
            char name[GRAPHQL_NAME_MAX + 1];

            (void)snprintf(name, sizeof name, "%.*s", STR_ARG(in->name));
            json_key(j, name);
        }
        *ret = v;
        *ret_type = object ? in->ref.type : l->type;
        return true;
    }
    return false;
}

static void write_value(struct json_out *j, const struct graphql_value *v,
                        const struct graphql_type *type)
{
    struct level levels[DEPTH_MOST];
    size_t depth = 0;

    for (;;) {
        if ((v->kind == GRAPHQL_LIST || v->kind == GRAPHQL_INPUT) && depth < DEPTH_MOST) {
            json_open(j, v->kind == GRAPHQL_LIST ? '[' : '{');
            levels[depth++] = (struct level){ .v = v, .type = type };
        } else {
            api_audit_write_leaf(j, v, type);
        }
        while (depth > 0 && !write_next(j, &levels[depth - 1], &v, &type)) {
            json_close(j, levels[depth - 1].v->kind == GRAPHQL_LIST ? ']' : '}');
            depth--;
        }
        if (depth == 0)
            return;
    }
}

static bool names_object(struct str name)
{
    return str_is(name, "id") || str_is(name, "ids");
}

/* The arguments as JSON, without those that name the object of the entry. */
static struct str api_audit_asked_of(const struct graphql_call *call)
{
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);
    const struct graphql_field *f = call->field;
    struct json_out j = { .to = &text };

    json_open(&j, '{');
    for (size_t i = 0; i < f->arg_count && text.len < ASKED_MOST; i++) {
        const struct graphql_value *v = &call->args[i];
        struct str name = f->args[i].name;
        char key[GRAPHQL_NAME_MAX + 1], size[40];

        if (v->kind == GRAPHQL_ABSENT || v->kind == GRAPHQL_NULL || names_object(name))
            continue;
        (void)snprintf(key, sizeof key, "%.*s", STR_ARG(name));
        json_key(&j, key);
        (void)snprintf(size, sizeof size, v->kind == GRAPHQL_LIST ? "(%zu items)" : "(%zu bytes)",
                       v->kind == GRAPHQL_LIST ? v->count : v->text.len);
        if (f->args[i].is_unlogged)
            json_z(&j, size);
        else
            write_value(&j, v, f->args[i].ref.type);
    }
    json_close(&j, '}');
    return arena_copy(call->arena, buf_view(&text));
}

static struct str text_arg(const struct graphql_call *call, const char *name)
{
    for (size_t i = 0; i < call->field->arg_count; i++)
        if (str_is(call->field->args[i].name, name) && call->args[i].kind == GRAPHQL_TEXT)
            return call->args[i].text;
    return (struct str){ 0 };
}

/* The object of the change, guessed from the arguments; an operation of the store may replace it.
 */
static struct str object_of(const struct graphql_call *call)
{
    static const char *const names[] = { "id",   "name",   "user", "role", "gateway",
                                         "node", "folder", "set",  "link" };
    struct str found = { 0 };

    for (size_t i = 0; found.len == 0 && i < sizeof names / sizeof names[0]; i++)
        found = text_arg(call, names[i]);
    return found;
}

/* ---- writing ---- */

struct audit_entry api_audit_entry(const struct principal *p, struct str action, struct str object)
{
    return (struct audit_entry){ .actor = p->name,
                                 .kind = identify_kind(p),
                                 .address = p->address,
                                 .action = action,
                                 .object = object };
}

static void api_audit_begin(struct graphql_call *call)
{
    struct str note = text_arg(call, "note"), reason = text_arg(call, "reason");

    now.begun = api_audit_entry(api_principal(call), call->field->name, object_of(call));
    now.begun.became = api_audit_asked_of(call);
    now.begun.reason = reason.len > 0 ? reason : note;
    audit_begin(&now.begun);
}

/* The id of the document whose payload is read; empty: a query that reads many payloads. */
static struct str looked_at(const struct graphql_call *call)
{
    if (!str_is(call->type->name, "Document"))
        return (struct str){ 0 };
    char *id = ARENA_ARRAY(call->arena, char, ID_TEXT);

    return str_of(id_text(&((const struct document_view *)call->parent)->doc.source.id, id));
}

static bool write_look(struct graphql_call *call, struct err *err)
{
    struct str action = STR("payloadView"), object = looked_at(call);

    if (call->type == call->schema->query)
        action = call->field->name;
    if (object.len > 0 && str_eq(action, now.seen_action) && str_eq(object, now.seen_object))
        return true; /* logged already in this request */
    struct audit_entry e = api_audit_entry(api_principal(call), action, object);

    e.became = api_audit_asked_of(call);
    if (!audit_append(api_store(call), &e, err))
        return err_context(err, "the audit log");
    now.seen_action = action;
    now.seen_object = object;
    return true;
}

bool api_audit_ask(struct graphql_call *call, enum right right, struct err *err)
{
    bool looks = right == RIGHT_PAYLOAD || right == RIGHT_DOWNLOAD;

    if (call->type == call->schema->mutation)
        api_audit_begin(call);
    else if (call->field->is_audited && right == (enum right)call->field->right)
        return write_look(call, err);
    else if (looks && str_is(call->type->name, "RehearsedDocument"))
        return api_log_rehearsed(call, right, err);
    else if (looks && call->field->needs.ptr != NULL)
        return write_look(call, err);
    return true;
}

bool api_audit_now(struct graphql_call *call, struct err *err)
{
    return audit_append(api_store(call), &now.begun, err);
}

void api_audit_done(void)
{
    audit_end();
    memset(&now, 0, sizeof now);
}

/* ---- looking ---- */

struct shown_line {
    struct audit_line line;
    char hash[SHA256_TEXT];
    const char *hash_text;
};

static const void *show_line(struct graphql_call *call, const struct audit_line *l)
{
    struct shown_line *v = ARENA_NEW(call->arena, struct shown_line);

    v->line = *l;
    v->hash_text = digest_text(&l->hash, v->hash);
    return v;
}

_Static_assert((int)AUDIT_PAGE_MOST <= (int)API_PAGE_MOST, "a page holds them");

/* Reads the cursor, "TIME-SEQ". */
static bool api_audit_read_place(struct graphql_call *call, struct audit_place *ret,
                                 struct err *err)
{
    struct str after = graphql_arg_text(call, "after");
    struct str time, seq = str_cut(after, '-', &time);

    *ret = (struct audit_place){ 0 };
    if (after.len == 0 ||
        (str_to_i64(time, &ret->time_us) && str_to_i64(seq, &ret->seq) && ret->seq > 0))
        return true;
    return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
}

static struct audit_filter api_audit_filter_of(const struct graphql_call *call)
{
    const struct graphql_value *f = graphql_arg(call, "filter");

    return (struct audit_filter){ .actor = graphql_value_field(f, "actor")->text,
                                  .action = graphql_value_field(f, "action")->text,
                                  .object = graphql_value_field(f, "object")->text,
                                  .since_us = graphql_value_field(f, "since")->number,
                                  .until_us = graphql_value_field(f, "until")->number };
}

static bool audit(struct graphql_call *call, struct err *err)
{
    struct api_page *page = ARENA_NEW(call->arena, struct api_page);
    struct audit_line *lines = ARENA_ARRAY(call->arena, struct audit_line, AUDIT_PAGE_MOST);
    struct audit_filter f = api_audit_filter_of(call);
    struct audit_place place;
    int64_t first = 50;

    *page = (struct api_page){ 0 };
    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > AUDIT_PAGE_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", AUDIT_PAGE_MOST);
    if (!api_audit_read_place(call, &place, err) ||
        !audit_list(api_store(call), &f, (size_t)first, call->arena, lines, &page->count, &place,
                    err))
        return false;
    for (size_t i = 0; i < page->count; i++)
        page->items[i] = show_line(call, &lines[i]);
    if (place.seq != 0)
        page->next = str_of(
            arena_printf(call->arena, "%lld-%lld", (long long)place.time_us, (long long)place.seq));
    return graphql_set_object(call, page);
}

struct shown_check {
    struct audit_check check;
    bool ok;
    char text[SHA256_TEXT];
    const char *hash;
    struct str message, key;
    char key_text[CHECKPOINT_KEY];
};

static bool audit_is_whole(struct graphql_call *call, struct err *err)
{
    struct shown_check *v = ARENA_NEW(call->arena, struct shown_check);
    struct str hash = graphql_arg_text(call, "hash");
    struct sha256 noted;
    int64_t seq = 0, from = clock_mono_us();

    (void)graphql_arg_int(call, "seq", &seq);
    if ((seq != 0 || hash.len > 0) && (seq < 1 || !digest_parse(hash, &noted)))
        return err_set(err, ERR_PERMANENT, 0,
                       "a head that was noted is a number and 64 hex digits, both of them");
    if (!audit_verify(api_store(call), seq, seq > 0 ? &noted : NULL, &v->check, err))
        return false;
    graphql_lend(call, clock_mono_us() - from); /* verifying a long log may exceed the time limit */
    v->ok = v->check.bad == 0;
    v->hash = v->check.seq > 0 ? digest_text(&v->check.hash, v->text) : NULL;
    v->message = str_of(v->check.message);
    if (!audit_sign_key(api_store(call), v->key_text, err))
        return false;
    v->key = str_of(v->key_text);
    return graphql_set_object(call, v);
}

struct shown_checkpoint {
    struct checkpoint point;
    char hash_text[SHA256_TEXT], whole[CHECKPOINT_TEXT];
    const char *hash, *key, *text;
};

static bool api_audit_checkpoint(struct graphql_call *call, struct err *err)
{
    struct shown_checkpoint *v = ARENA_NEW(call->arena, struct shown_checkpoint);
    int64_t from = clock_mono_us();

    if (!audit_sign(api_store(call), &v->point, v->whole, err))
        return false;
    graphql_lend(call, clock_mono_us() - from);
    v->hash = digest_text(&v->point.hash, v->hash_text);
    v->key = v->point.key;
    v->text = v->whole;
    now.begun.object =
        str_of(arena_printf(call->arena, "%lld:%s", (long long)v->point.seq, v->hash));
    now.begun.became = str_of(arena_printf(call->arena, "signed with %s", v->key));
    return api_audit_now(call, err) && graphql_set_object(call, v);
}

const struct graphql_resolver api_audit[] = {
    { .field = "Query.audit", .fn = audit },
    { .field = "AuditPage.items", .fn = api_page_items },
    API_TEXT_AT("AuditPage.next", struct api_page, next),
    GRAPHQL_MEMBER("AuditLine.seq", struct shown_line, line.seq),
    GRAPHQL_MEMBER("AuditLine.time", struct shown_line, line.time_us),
    GRAPHQL_MEMBER("AuditLine.actor", struct shown_line, line.entry.actor),
    GRAPHQL_MEMBER("AuditLine.kind", struct shown_line, line.entry.kind),
    API_TEXT_AT("AuditLine.address", struct shown_line, line.entry.address),
    GRAPHQL_MEMBER("AuditLine.action", struct shown_line, line.entry.action),
    API_TEXT_AT("AuditLine.object", struct shown_line, line.entry.object),
    API_TEXT_AT("AuditLine.before", struct shown_line, line.entry.was),
    API_TEXT_AT("AuditLine.after", struct shown_line, line.entry.became),
    API_TEXT_AT("AuditLine.reason", struct shown_line, line.entry.reason),
    GRAPHQL_MEMBER("AuditLine.hash", struct shown_line, hash_text),
    { .field = "Query.auditVerify", .fn = audit_is_whole },
    GRAPHQL_MEMBER("AuditCheck.ok", struct shown_check, ok),
    GRAPHQL_MEMBER("AuditCheck.lines", struct shown_check, check.lines),
    GRAPHQL_MEMBER("AuditCheck.seq", struct shown_check, check.seq),
    GRAPHQL_MEMBER("AuditCheck.hash", struct shown_check, hash),
    API_NUMBER_AT("AuditCheck.broken", struct shown_check, check.bad),
    API_TEXT_AT("AuditCheck.message", struct shown_check, message),
    API_TEXT_AT("AuditCheck.key", struct shown_check, key),
    { .field = "Mutation.auditCheckpoint", .fn = api_audit_checkpoint },
    GRAPHQL_MEMBER("AuditCheckpoint.seq", struct shown_checkpoint, point.seq),
    GRAPHQL_MEMBER("AuditCheckpoint.hash", struct shown_checkpoint, hash),
    GRAPHQL_MEMBER("AuditCheckpoint.key", struct shown_checkpoint, key),
    GRAPHQL_MEMBER("AuditCheckpoint.text", struct shown_checkpoint, text),
};
const size_t api_audit_count = sizeof api_audit / sizeof api_audit[0];
