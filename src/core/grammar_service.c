#include "core/grammar.h"

static const struct option split_keys[] = {
    { .name = "xml",
      .type = OPT_XML_PATH,
      .flags = OPT_ONE_OF,
      .help = "one part per element at this path" },
    { .name = "json",
      .type = OPT_POINTER,
      .flags = OPT_ONE_OF,
      .help = "one part per item of the array at this JSON Pointer" },
    { .name = "hl7", .type = OPT_TEXT, .flags = OPT_ONE_OF, .help = "one part per message" },
    { .name = "x12",
      .type = OPT_TEXT,
      .flags = OPT_ONE_OF,
      .help = "one part per interchange, group or transaction" },
    { .name = "lines",
      .type = OPT_INT,
      .flags = OPT_ONE_OF,
      .least = 1,
      .help = "one part per so many lines" },
    { .name = "csv",
      .type = OPT_INT,
      .flags = OPT_ONE_OF,
      .least = 1,
      .help = "one part per so many rows, each with the header row" },
    { .name = "sender",
      .type = OPT_EXPR,
      .flags = OPT_OR_LIST | OPT_RELATIVE,
      .help = "who sent the part; left out: as before" },
    { .name = "receiver",
      .type = OPT_EXPR,
      .flags = OPT_OR_LIST | OPT_RELATIVE,
      .help = "who the part is for; left out: as before" },
    { .name = "type",
      .type = OPT_EXPR,
      .flags = OPT_OR_LIST | OPT_RELATIVE,
      .help = "what the part is; left out: as before" },
    { .name = "attributes",
      .type = OPT_NAMED,
      .flags = OPT_ATTRS,
      .each = &(const struct option){ .type = OPT_EXPR, .flags = OPT_OR_LIST | OPT_RELATIVE },
      .noun = "attribute",
      .help = "attributes of the part" },
    { 0 },
};

static const struct option replace_keys[] = {
    { .name = "find", .type = OPT_TEXT, .flags = OPT_ONE_OF, .help = "the text that is replaced" },
    { .name = "regex",
      .type = OPT_REGEX,
      .flags = OPT_ONE_OF,
      .help = "a regular expression for it" },
    { .name = "with",
      .type = OPT_TEXT,
      .fallback = "",
      .help =
          "what stands there afterwards; of `regex`, $1 to $9 and ${name} are the groups, $0 is "
          "all of it, $$ a dollar" },
    { 0 },
};

static const struct option jq_keys[] = {
    { .name = "filter", .type = OPT_TEXT, .flags = OPT_ONE_OF, .help = "the jq program" },
    { .name = "file", .type = OPT_PATH, .flags = OPT_ONE_OF, .help = "a file with it" },
    { 0 },
};

static const struct option xslt_keys[] = {
    { .name = "file",
      .type = OPT_PATH,
      .flags = OPT_ONE_OF,
      .help = "a file with the style sheet" },
    { .name = "text", .type = OPT_TEXT, .flags = OPT_ONE_OF, .help = "the style sheet itself" },
    { .name = "params",
      .type = OPT_NAMED,
      .each = &grammar_headers,
      .noun = "parameter",
      .help = "parameters of the style sheet" },
    { 0 },
};

static const struct option lua_keys[] = {
    { .name = "script", .type = OPT_TEXT, .flags = OPT_ONE_OF, .help = "the program" },
    { .name = "file", .type = OPT_PATH, .flags = OPT_ONE_OF, .help = "a file with it" },
    { 0 },
};

static const struct option charset_keys[] = {
    { .name = "from",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED,
      .help = "the character set it comes in, such as ISO-8859-1" },
    { .name = "to", .type = OPT_TEXT, .fallback = "UTF-8", .help = "the one it gets" },
    { 0 },
};

static const struct option compress_keys[] = {
    { .name = "format",
      .type = OPT_WORD,
      .words = OPTION_WORDS("gzip", "zstd", "deflate"),
      .fallback = "gzip",
      .help = "how it is compressed" },
    { 0 },
};

static const struct option decompress_keys[] = {
    { .name = "format",
      .type = OPT_WORD,
      .words = OPTION_WORDS("auto", "gzip", "zstd", "deflate"),
      .fallback = "auto",
      .help = "how it was compressed" },
    { .name = "most",
      .type = OPT_SIZE,
      .least = 1,
      .fallback = "64 MiB",
      .help = "the largest result" },
    { 0 },
};

static const struct option encrypt_keys[] = {
    { .name = "to",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "the OpenPGP public keys of the recipients" },
    { .name = "armor", .type = OPT_BOOL, .fallback = "false", .help = "as text" },
    { 0 },
};

static const struct option decrypt_keys[] = {
    { .name = "key",
      .type = OPT_SECRET,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "our OpenPGP private key" },
    { .name = "passphrase", .type = OPT_SECRET, .help = "its passphrase" },
    { 0 },
};

static const struct option sign_keys[] = {
    { .name = "key", .type = OPT_SECRET, .flags = OPT_REQUIRED, .help = "our OpenPGP private key" },
    { .name = "passphrase", .type = OPT_SECRET, .help = "its passphrase" },
    { .name = "armor", .type = OPT_BOOL, .fallback = "false", .help = "as text" },
    { 0 },
};

static const struct option verify_keys[] = {
    { .name = "key",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "the OpenPGP public keys that are trusted" },
    { 0 },
};

static const struct option validate_keys[] = {
    { .name = "xml", .type = OPT_PATH, .flags = OPT_ONE_OF, .help = "an XML Schema" },
    { .name = "json", .type = OPT_PATH, .flags = OPT_ONE_OF, .help = "a JSON Schema" },
    { 0 },
};

static const struct option batch_keys[] = {
    { .name = "name",
      .type = OPT_NAME,
      .flags = OPT_REQUIRED,
      .help = "one of `batches`, which says when it closes and what becomes of it" },
    { .name = "by",
      .type = OPT_TEMPLATE,
      .help =
          "one batch per value, beside one per route and receiver; left out: as the batch says" },
    { 0 },
};

static const struct option store_keys[] = {
    { .name = "key",
      .type = OPT_EXPR,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "the key of the record" },
    { .name = "set",
      .type = OPT_NAME,
      .help = "the set of records; left out: the document's type" },
    { 0 },
};

static const struct option subscribe_keys[] = {
    { .name = "to",
      .type = OPT_NAME,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "one or more of `subscriptions`" },
    { 0 },
};

#define HTTP_KEYS                                                               \
    { .name = "method",                                                         \
      .type = OPT_WORD,                                                         \
      .words = OPTION_WORDS("GET", "POST", "PUT"),                              \
      .fallback = "POST",                                                       \
      .help = "the HTTP method" },                                              \
        { .name = "headers",                                                    \
          .type = OPT_NAMED,                                                    \
          .flags = OPT_FREE,                                                    \
          .each = &grammar_headers,                                             \
          .noun = "header",                                                     \
          .help = "headers of the request" },                                   \
    {                                                                           \
        .name = "timeout", .type = OPT_DURATION, .least = 1, .fallback = "30s", \
        .help = "how long it may take"                                          \
    }

static const struct option enrich_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_ONE_OF,
      .words = OPTION_WORDS("http", "https"),
      .help = "an HTTP service that is asked" },
    { .name = "dsn",
      .type = OPT_SECRET,
      .flags = OPT_ONE_OF,
      .help = "an ODBC connection that is asked" },
    { .name = "set",
      .type = OPT_NAME,
      .flags = OPT_ONE_OF,
      .help = "a set of records that `store` keeps" },
    { .name = "query", .type = OPT_TEXT, .help = "the statement for `dsn`" },
    { .name = "key", .type = OPT_EXPR, .flags = OPT_OR_LIST, .help = "the key for `set`" },
    { .name = "into", .type = OPT_TEXT, .help = "where the answer goes in the document" },
    HTTP_KEYS,
    { 0 },
};

static const struct option call_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "the service that gets the document and answers with the new one" },
    HTTP_KEYS,
    { .name = "answer",
      .type = OPT_MAP,
      .keys = grammar_answer,
      .help = "make the answer a document of its own" },
    { 0 },
};

static const struct option route_keys[] = {
    { .name = "receiver", .type = OPT_EXPR, .flags = OPT_OR_LIST, .help = "the new receiver" },
    { .name = "sender", .type = OPT_EXPR, .flags = OPT_OR_LIST, .help = "the new sender" },
    { .name = "type", .type = OPT_EXPR, .flags = OPT_OR_LIST, .help = "the new type" },
    { 0 },
};

static const struct option drop_keys[] = {
    { .name = "reason", .type = OPT_TEXT, .help = "why; it stands in the timeline" },
    { 0 },
};

static const struct option deliver_keys[] = {
    { .name = "to",
      .type = OPT_ENDPOINT,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "one or more of `endpoints`" },
    { 0 },
};

static const struct option_kind kinds[] = {
    { "split", "cut a document into parts, which go back to the router", split_keys, true },
    { "replace", "replace text", replace_keys, false },
    { "jq", "change JSON with jq", jq_keys, false },
    { "xslt", "change XML with a style sheet", xslt_keys, false },
    { "lua", "change it with a program", lua_keys, false },
    { "charset", "change the character set", charset_keys, false },
    { "compress", "compress it", compress_keys, false },
    { "decompress", "decompress it", decompress_keys, false },
    { "encrypt", "encrypt it (OpenPGP)", encrypt_keys, false },
    { "decrypt", "decrypt it (OpenPGP)", decrypt_keys, false },
    { "sign", "sign it (OpenPGP)", sign_keys, false },
    { "verify", "check its signature (OpenPGP)", verify_keys, false },
    { "validate", "check it against a schema", validate_keys, false },
    { "batch", "gather documents into one", batch_keys, true },
    { "store", "keep the record, go on with old and new value", store_keys, false },
    { "subscribe", "give copies to subscribers", subscribe_keys, true },
    { "enrich", "add what another source knows", enrich_keys, false },
    { "call", "let an external HTTP service change it", call_keys, false },
    { "route", "new sender, receiver or type, back to the router", route_keys, true },
    { "drop", "end here, on purpose", drop_keys, true },
    { "deliver", "send it to endpoints", deliver_keys, false },
    { 0 },
};

const struct option_kinds grammar_services = { NULL, kinds };
