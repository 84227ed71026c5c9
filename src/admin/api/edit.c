/* edit.c - documents that people make: edits, and sends straight to the router. */
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/buf.h"
#include "engine/engine.h"
#include "engine/manual.h"

enum { BODY_MOST = 8 << 20 };

struct made {
    struct manual_result r;
    struct str id; /* ptr NULL: no document was made */
    const char *result, *message;
};

/* Reads the argument `metadata`; texts with ptr NULL were not given. */
static bool read_metadata(struct graphql_call *call, struct facts *ret, struct err *err)
{
    const struct graphql_value *v = graphql_arg(call, "metadata");
    const struct graphql_value *list = graphql_value_field(v, "attributes");

    *ret = (struct facts){ .sender = graphql_value_field(v, "sender")->text,
                           .receiver = graphql_value_field(v, "receiver")->text,
                           .type = graphql_value_field(v, "type")->text };
    if (list->kind != GRAPHQL_LIST)
        return true;
    if (list->count > FACTS_ATTRIBUTES_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d attributes", FACTS_ATTRIBUTES_MOST);
    ret->attributes = ARENA_ARRAY(call->arena, struct fact, list->count);
    for (size_t i = 0; i < list->count; i++)
        ret->attributes[ret->attribute_count++] =
            (struct fact){ .name = graphql_value_field(&list->items[i], "name")->text,
                           .value = graphql_value_field(&list->items[i], "value")->text };
    return true;
}

static bool api_edit_read_texts(struct graphql_call *call, struct manual_request *q,
                                struct err *err)
{
    if (!api_sees_all(call, RIGHT_EDIT)) {
        q->sees = principal_edits;
        q->sends = principal_sends;
        q->sees_arg = api_principal(call);
    }
    q->name = graphql_arg_text(call, "name");
    q->ctype = graphql_arg_text(call, "contentType");
    q->key = graphql_arg_text(call, "key");
    if (q->name.len > MANUAL_NAME_MOST || q->ctype.len > MANUAL_NAME_MOST ||
        q->key.len > MANUAL_KEY_MOST)
        return err_set(err, ERR_LIMIT, 0, "name, contentType or key is too long");
    q->owner = api_name(call);
    return api_read_who(call, &q->who, err) && read_metadata(call, &q->given, err);
}

static bool api_edit_make(struct graphql_call *call, const struct manual_request *q,
                          struct err *err)
{
    AUTO(buf_done) struct buf body = BUF_INIT(BODY_MOST);
    struct made *m = ARENA_NEW(call->arena, struct made);
    char *id = ARENA_ARRAY(call->arena, char, ID_TEXT);
    struct manual_bytes bytes;

    if (!base64_decode(graphql_arg_text(call, "payload"), &body, err))
        return err_context(err, "payload");
    bytes = (struct manual_bytes){ .body = buf_view(&body),
                                   .size = (int64_t)body.len,
                                   .sha256 = digest_of(buf_view(&body)) };
    if (body.len > SEGMENT_PAYLOAD_MOST &&
        !manual_store(engine_manual(api_engine(call)), &bytes, err))
        return false;
    if (!manual_make(engine_manual(api_engine(call)), q, &bytes, &m->r, err))
        return false;
    m->result = operate_results[m->r.result];
    m->message = m->r.text;
    if (m->r.result == OPERATE_DONE)
        m->id = str_of(id_text(&m->r.id, id));
    return graphql_set_object(call, m);
}

static bool api_edit_has_facts(const struct facts *f)
{
    return f->sender.ptr != NULL || f->receiver.ptr != NULL || f->type.ptr != NULL ||
           f->attribute_count > 0;
}

static bool document_edit(struct graphql_call *call, struct err *err)
{
    const struct graphql_value *as = graphql_arg(call, "as"), *from = graphql_arg(call, "from");
    struct manual_request q = { .is_edit = true,
                                .beside = as->kind == GRAPHQL_ENUM && as->number == 1,
                                .to_router = from->kind == GRAPHQL_ENUM && from->number == 1 };
    struct made *none = ARENA_NEW(call->arena, struct made);

    if (!api_edit_read_texts(call, &q, err))
        return false;
    if (!q.to_router && api_edit_has_facts(&q.given))
        return err_set(err, ERR_PERMANENT, 0, "metadata is for `from: router`");
    if (!id_parse(graphql_arg_text(call, "id"), &q.original)) {
        none->result = operate_results[OPERATE_NONE];
        none->message = "there is no such document";
        return graphql_set_object(call, none);
    }
    return api_edit_make(call, &q, err);
}

static bool document_send(struct graphql_call *call, struct err *err)
{
    struct manual_request q = { .gateway = graphql_arg_text(call, "gateway"), .to_router = true };

    return api_edit_read_texts(call, &q, err) && api_edit_make(call, &q, err);
}

const struct graphql_resolver api_edit[] = {
    { .field = "Mutation.documentEdit", .fn = document_edit },
    { .field = "Mutation.documentSend", .fn = document_send },
    GRAPHQL_MEMBER("MadeDocument.result", struct made, result),
    GRAPHQL_MEMBER("MadeDocument.message", struct made, message),
    API_TEXT_AT("MadeDocument.id", struct made, id),
    GRAPHQL_MEMBER("MadeDocument.repeated", struct made, r.repeated),
};
const size_t api_edit_count = sizeof api_edit / sizeof api_edit[0];
