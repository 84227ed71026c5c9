#include "core/s3/s3_answer.h"

#include <expat.h>
#include <stddef.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/require.h"
#include "core/s3/s3_text.h"

struct reading {
    XML_Parser parser;
    struct arena *arena;
    struct s3_answer *answer;
    struct err *err;
    bool failed;
    bool encoded;    /* keys and markers are percent-encoded */
    size_t depth;    /* open elements */
    size_t item_at;  /* depth of the item that is open; 0: none */
    size_t leaf_at;  /* depth of the element whose text is gathered; 0: none */
    struct buf text; /* of that element */
};

static void s3_answer_fail(struct reading *r, enum err_kind kind, const char *why)
{
    if (r->failed)
        return;
    r->failed = true;
    (void)err_set(r->err, kind, 0, "%s", why);
    (void)XML_StopParser(r->parser, XML_FALSE);
}

/* ---- what a name means ---- */

struct leaf {
    const char *name;
    size_t at; /* in the struct */
};

#define ANSWER_LEAF(word, member)                                \
    {                                                            \
        .name = (word), .at = offsetof(struct s3_answer, member) \
    }
#define ITEM_LEAF(word, member)                                \
    {                                                          \
        .name = (word), .at = offsetof(struct s3_item, member) \
    }

static const struct leaf answer_leaves[] = {
    ANSWER_LEAF("Code", code),
    ANSWER_LEAF("Message", message),
    ANSWER_LEAF("Region", region),
    ANSWER_LEAF("Endpoint", endpoint),
    ANSWER_LEAF("UploadId", upload),
    ANSWER_LEAF("ETag", etag),
    ANSWER_LEAF("NextContinuationToken", next),
    ANSWER_LEAF("NextKeyMarker", next),
    ANSWER_LEAF("NextUploadIdMarker", next_upload),
};

static const struct leaf item_leaves[] = {
    ITEM_LEAF("Key", key),           ITEM_LEAF("ETag", etag),      ITEM_LEAF("UploadId", upload),
    ITEM_LEAF("LastModified", time), ITEM_LEAF("Initiated", time),
};

static const struct leaf *s3_find_leaf(const struct leaf *leaves, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, leaves[i].name))
            return &leaves[i];
    return NULL;
}

static enum s3_answer_kind kind_of(struct str root)
{
    static const struct {
        const char *name;
        enum s3_answer_kind kind;
    } roots[] = {
        { "Error", S3_ANSWER_ERROR },
        { "ListBucketResult", S3_ANSWER_OBJECTS },
        { "ListMultipartUploadsResult", S3_ANSWER_UPLOADS },
        { "InitiateMultipartUploadResult", S3_ANSWER_BEGUN },
        { "CompleteMultipartUploadResult", S3_ANSWER_COMPLETED },
        { "CopyObjectResult", S3_ANSWER_COPIED },
    };

    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
        if (str_is(root, roots[i].name))
            return roots[i].kind;
    return S3_ANSWER_OTHER;
}

/* ---- elements ---- */

/* Services may use a prefix for their name space. */
static struct str without_prefix(const char *name)
{
    struct str head, rest = str_cut(str_of(name), ':', &head);

    return rest.len > 0 ? rest : head;
}

static bool s3_begins_item(const struct reading *r, struct str name)
{
    return r->depth == 2 && ((r->answer->kind == S3_ANSWER_OBJECTS && str_is(name, "Contents")) ||
                             (r->answer->kind == S3_ANSWER_UPLOADS && str_is(name, "Upload")));
}

static void s3_begin_item(struct reading *r)
{
    struct s3_answer *answer = r->answer;

    if (answer->count == S3_ITEMS_MOST) {
        s3_answer_fail(r, ERR_LIMIT, "the service lists more at once than it was asked for");
        return;
    }
    if (answer->items == NULL)
        answer->items = ARENA_ARRAY(r->arena, struct s3_item, S3_ITEMS_MOST);
    answer->count++;
    r->item_at = r->depth;
}

static void on_start(void *user, const char *name, const char **attributes)
{
    struct reading *r = user;
    struct str local = without_prefix(name);

    (void)attributes;
    if (r->failed)
        return; /* expat may call once more after the stop */
    if (r->depth == S3_DEPTH) {
        s3_answer_fail(r, ERR_LIMIT, "elements of the answer stand too deep in each other");
        return;
    }
    r->depth++;
    r->leaf_at = 0;
    if (r->depth == 1)
        r->answer->kind = kind_of(local);
    else if (s3_begins_item(r, local))
        s3_begin_item(r);
    else if (r->depth == (r->item_at > 0 ? r->item_at + 1 : 2)) {
        r->leaf_at = r->depth;
        buf_clear(&r->text);
    }
}

static void s3_on_text(void *user, const char *bytes, int len)
{
    struct reading *r = user;
    struct err err = { 0 };

    if (!r->failed && r->leaf_at > 0 && r->leaf_at == r->depth &&
        !buf_append(&r->text, str_mem(bytes, (size_t)len), &err))
        s3_answer_fail(r, ERR_LIMIT, "a text of the answer is too long");
}

static void s3_keep_text(struct reading *r, const struct leaf *leaf, void *at)
{
    struct str *to = (struct str *)((char *)at + leaf->at);

    if (to->ptr == NULL) /* the first counts: an answer cannot fill the arena by repetition */
        *to = arena_copy(r->arena, buf_view(&r->text));
}

static void s3_end_leaf(struct reading *r, struct str name)
{
    struct s3_answer *answer = r->answer;
    const struct leaf *leaf;

    if (r->item_at > 0) {
        struct s3_item *item = &answer->items[answer->count - 1];

        if (str_is(name, "Size") &&
            (!str_to_i64(str_trim(buf_view(&r->text)), &item->size) || item->size < 0))
            s3_answer_fail(r, ERR_PERMANENT, "the service says a size that is no number");
        leaf = s3_find_leaf(item_leaves, sizeof item_leaves / sizeof item_leaves[0], name);
        if (leaf != NULL)
            s3_keep_text(r, leaf, item);
        return;
    }
    if (str_is(name, "IsTruncated"))
        answer->more = str_is(str_trim(buf_view(&r->text)), "true");
    if (str_is(name, "EncodingType"))
        r->encoded = str_is(str_trim(buf_view(&r->text)), "url");
    leaf = s3_find_leaf(answer_leaves, sizeof answer_leaves / sizeof answer_leaves[0], name);
    if (leaf != NULL)
        s3_keep_text(r, leaf, answer);
}

static void on_end(void *user, const char *name)
{
    struct reading *r = user;

    if (r->failed)
        return;
    if (r->leaf_at > 0 && r->leaf_at == r->depth)
        s3_end_leaf(r, without_prefix(name));
    r->leaf_at = 0;
    if (r->item_at == r->depth)
        r->item_at = 0;
    r->depth--;
}

static void on_doctype(void *user, const char *name, const char *sysid, const char *pubid,
                       int internal)
{
    (void)name, (void)sysid, (void)pubid, (void)internal;
    s3_answer_fail(user, ERR_PERMANENT,
                   "the answer is a page or has a DOCTYPE, and is not of an S3 service");
}

/* ---- the whole ---- */

static bool s3_answer_decode(struct reading *r, struct str *text, struct err *err)
{
    AUTO(buf_done) struct buf out = BUF_INIT(S3_TEXT_MOST);

    if (text->len == 0)
        return true;
    if (!s3_decode(*text, &out, err))
        return false;
    *text = arena_copy(r->arena, buf_view(&out));
    return true;
}

/* Only now is it known whether they are encoded: the word may stand behind them. */
static bool s3_decode_names(struct reading *r, struct err *err)
{
    struct s3_answer *answer = r->answer;

    if (!r->encoded)
        return true;
    for (size_t i = 0; i < answer->count; i++)
        if (!s3_answer_decode(r, &answer->items[i].key, err))
            return false;
    return answer->kind != S3_ANSWER_UPLOADS || s3_answer_decode(r, &answer->next, err);
}

static bool s3_parse(struct reading *r, struct str xml)
{
    if (XML_Parse(r->parser, xml.ptr, (int)xml.len, 1) == XML_STATUS_OK && !r->failed)
        return true;
    if (!r->failed)
        (void)err_set(r->err, ERR_PERMANENT, 0,
                      "the answer is not XML, and so not of an S3 service (%s)",
                      XML_ErrorString(XML_GetErrorCode(r->parser)));
    return false;
}

bool s3_answer_read(struct str xml, struct arena *a, struct s3_answer *ret, struct err *err)
{
    struct s3_answer answer = { 0 };
    struct reading r = {
        .arena = a, .answer = &answer, .err = err, .text = BUF_INIT(S3_TEXT_MOST)
    };

    /* A service that takes its time begins with blanks, so that nobody thinks it is gone. */
    while (xml.len > 0 && strchr(" \t\r\n", xml.ptr[0]) != NULL && xml.ptr[0] != '\0')
        xml = str_from(xml, 1);
    if (xml.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "the answer is empty");
    if (xml.len > S3_ANSWER_MOST)
        return err_set(err, ERR_LIMIT, 0, "the answer is longer than %d bytes", S3_ANSWER_MOST);
    r.parser = XML_ParserCreate(NULL);
    require(r.parser != NULL);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, s3_on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    (void)XML_SetParamEntityParsing(r.parser, XML_PARAM_ENTITY_PARSING_NEVER);
    bool ok = s3_parse(&r, xml) && s3_decode_names(&r, err);

    XML_ParserFree(r.parser);
    buf_done(&r.text);
    if (ok)
        *ret = answer;
    return ok;
}
