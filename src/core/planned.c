#include "core/planned.h"

#include "base/clock.h"
#include "core/grammar.h"

/* --- gateways ----------------------------------------------------------------------- */

static const struct option ftp_in[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("ftp", "ftps"),
      .help = "the folder to look in" },
    OPTIONS(grammar_login),
    OPTIONS(grammar_every),
    OPTIONS(grammar_files),
    OPTIONS(grammar_silence),
    { 0 },
};

static const struct option sftp_in[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("sftp"),
      .help = "the folder to look in" },
    OPTIONS(grammar_login),
    OPTIONS(grammar_ssh),
    OPTIONS(grammar_every),
    OPTIONS(grammar_files),
    OPTIONS(grammar_silence),
    { 0 },
};

static const struct option mllp_in_tls[] = {
    { .name = "cert", .type = OPT_PATH, .flags = OPT_REQUIRED, .help = "the certificate chain" },
    { .name = "key", .type = OPT_SECRET, .flags = OPT_REQUIRED, .help = "its private key" },
    { .name = "ca", .type = OPT_PATH, .help = "senders need a certificate from this authority" },
    { 0 },
};

static const struct option mllp_in[] = {
    { .name = "listen",
      .type = OPT_ADDRESS,
      .flags = OPT_REQUIRED,
      .help = "where senders connect" },
    { .name = "tls", .type = OPT_MAP, .keys = mllp_in_tls, .help = "answer with TLS" },
    OPTIONS(grammar_reply),
    { 0 },
};

static const struct option sql_in[] = {
    OPTIONS(grammar_sql),
    { .name = "query",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED,
      .help = "the statement; :NAME stands for the last value of a cursor column" },
    { .name = "cursor",
      .type = OPT_NAME,
      .flags = OPT_OR_LIST,
      .help = "the columns that say how far the last look came" },
    OPTIONS(grammar_every),
    OPTIONS(grammar_silence),
    { 0 },
};

static const struct option s3_in[] = {
    OPTIONS(grammar_s3),
    { .name = "bucket", .type = OPT_TEXT, .flags = OPT_REQUIRED, .help = "the bucket" },
    { .name = "prefix", .type = OPT_TEXT, .help = "only objects whose name starts like this" },
    OPTIONS(grammar_every),
    OPTIONS(grammar_files),
    OPTIONS(grammar_silence),
    { 0 },
};

/* --- endpoints ----------------------------------------------------------------------- */

static const struct option ftp_out[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("ftp", "ftps"),
      .help = "the folder" },
    OPTIONS(grammar_login),
    OPTIONS(grammar_file_name),
    OPTIONS(grammar_tls),
    { 0 },
};

static const struct option sftp_out[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("sftp"),
      .help = "the folder" },
    OPTIONS(grammar_login),
    OPTIONS(grammar_ssh),
    OPTIONS(grammar_file_name),
    { 0 },
};

static const struct option smtp_out[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("smtp", "smtps"),
      .help = "the mail server" },
    OPTIONS(grammar_login),
    { .name = "from", .type = OPT_TEMPLATE, .flags = OPT_REQUIRED, .help = "the mail's sender" },
    { .name = "to",
      .type = OPT_TEMPLATE,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "its recipients" },
    { .name = "subject", .type = OPT_TEMPLATE, .fallback = "${type} ${id}", .help = "its subject" },
    { .name = "body", .type = OPT_TEMPLATE, .help = "its text; the document is attached" },
    OPTIONS(grammar_file_name),
    OPTIONS(grammar_tls),
    { 0 },
};

static const struct option mllp_out[] = {
    { .name = "address",
      .type = OPT_ADDRESS,
      .flags = OPT_REQUIRED | OPT_OUTGOING,
      .help = "where the receiver listens" },
    { .name = "tls", .type = OPT_MAP, .keys = grammar_tls_keys, .help = "use TLS" },
    { 0 },
};

static const struct option sql_out[] = {
    OPTIONS(grammar_sql),
    { .name = "statement",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED,
      .help = "the statement; :id :sender :receiver :type :payload and attributes are bound" },
    { 0 },
};

static const struct option s3_out[] = {
    OPTIONS(grammar_s3),
    { .name = "bucket", .type = OPT_TEMPLATE, .flags = OPT_REQUIRED, .help = "the bucket" },
    OPTIONS(grammar_file_name),
    { 0 },
};

static const struct option content_out[] = {
    { .name = "store", .type = OPT_NAME, .flags = OPT_REQUIRED, .help = "one of `stores`" },
    { .name = "space", .type = OPT_TEMPLATE, .flags = OPT_REQUIRED, .help = "the space in it" },
    OPTIONS(grammar_file_name),
    { 0 },
};

/* --- services ------------------------------------------------------------------------- */

static const struct option part_expr = { .type = OPT_EXPR, .flags = OPT_OR_LIST | OPT_RELATIVE };

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
      .each = &part_expr,
      .noun = "attribute",
      .help = "attributes of the part" },
    { 0 },
};

static const struct option jq_keys[] = {
    { .name = "filter", .type = OPT_TEXT, .flags = OPT_ONE_OF, .help = "the jq program" },
    { .name = "file", .type = OPT_PATH, .flags = OPT_ONE_OF, .help = "a file with it" },
    { 0 },
};

static const struct option param_each = { .type = OPT_TEMPLATE, .help = "its value" };

static const struct option xslt_keys[] = {
    { .name = "file",
      .type = OPT_PATH,
      .flags = OPT_ONE_OF,
      .help = "a file with the style sheet" },
    { .name = "text", .type = OPT_TEXT, .flags = OPT_ONE_OF, .help = "the style sheet itself" },
    { .name = "params",
      .type = OPT_NAMED,
      .each = &param_each,
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

static const struct option passphrase[] = {
    { .name = "passphrase", .type = OPT_SECRET, .help = "its passphrase" },
    { 0 },
};

static const struct option armor[] = {
    { .name = "armor", .type = OPT_BOOL, .fallback = "false", .help = "as text" },
    { 0 },
};

static const struct option encrypt_keys[] = {
    { .name = "to",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "the OpenPGP public keys of the recipients" },
    OPTIONS(armor),
    { 0 },
};

static const struct option decrypt_keys[] = {
    { .name = "key",
      .type = OPT_SECRET,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "our OpenPGP private key" },
    OPTIONS(passphrase),
    { 0 },
};

static const struct option sign_keys[] = {
    { .name = "key", .type = OPT_SECRET, .flags = OPT_REQUIRED, .help = "our OpenPGP private key" },
    OPTIONS(passphrase),
    OPTIONS(armor),
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

static const struct option call_time[] = {
    { .name = "timeout",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "30s",
      .help = "how long it may take" },
    { 0 },
};

static const struct option call_method[] = {
    { .name = "method",
      .type = OPT_WORD,
      .words = OPTION_WORDS("GET", "POST", "PUT"),
      .fallback = "POST",
      .help = "the HTTP method" },
    { 0 },
};

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
    OPTIONS(call_method),
    OPTIONS(grammar_headers),
    OPTIONS(call_time),
    { 0 },
};

static const struct option call_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "the service that gets the document and answers with the new one" },
    OPTIONS(call_method),
    OPTIONS(grammar_headers),
    OPTIONS(call_time),
    { .name = "answer",
      .type = OPT_MAP,
      .keys = grammar_answer,
      .help = "make the answer a document of its own" },
    { 0 },
};

/* --- jobs ------------------------------------------------------------------------------ */

const struct option planned_job_common[] = {
    { .name = "kind", .type = OPT_WORD, .flags = OPT_REQUIRED, .help = "what it does" },
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "at", .type = OPT_CRON, .flags = OPT_ONE_OF, .help = "when it runs" },
    { .name = "every",
      .type = OPT_DURATION,
      .flags = OPT_ONE_OF,
      .least = CLOCK_MS,
      .help = "how long from one run to the next" },
    { .name = "zone", .type = OPT_ZONE, .fallback = "UTC", .help = "the time zone of `at`" },
    { .name = "area",
      .type = OPT_WORD,
      .words = grammar_areas,
      .help = "only nodes of this area run it" },
    { 0 },
};

static const struct option job_call[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "what is called" },
    { .name = "method",
      .type = OPT_WORD,
      .words = OPTION_WORDS("GET", "POST", "PUT", "PATCH", "DELETE"),
      .fallback = "POST",
      .help = "the HTTP method" },
    OPTIONS(grammar_headers),
    { .name = "body", .type = OPT_TEXT, .help = "the body of the request" },
    OPTIONS(call_time),
    { .name = "answer",
      .type = OPT_MAP,
      .keys = grammar_answer,
      .help = "make the answer a document" },
    { 0 },
};

static const struct option job_link[] = {
    { .name = "link", .type = OPT_NAME, .flags = OPT_REQUIRED, .help = "one of `links`" },
    { 0 },
};

static const struct option no_keys[] = { { 0 } };

/* --- the tables ------------------------------------------------------------------------ */

#define PLANNED(of, word, sentence, table, ...) \
    {                                           \
        .role = (of), .kind = {                 \
            .name = (word),                     \
            .help = (sentence),                 \
            .keys = (table),                    \
            .planned = true,                    \
            __VA_ARGS__                         \
        }                                       \
    }

/* clang-format off */
const struct planned_kind planned_kinds[] = {
    PLANNED(ROLE_GATEWAY, "ftp", "files on an FTP server", ftp_in),
    PLANNED(ROLE_GATEWAY, "sftp", "files on an SFTP server", sftp_in),
    PLANNED(ROLE_GATEWAY, "mllp", "HL7 messages over MLLP", mllp_in),
    PLANNED(ROLE_GATEWAY, "sql", "rows of a database", sql_in),
    PLANNED(ROLE_GATEWAY, "s3", "objects in a bucket", s3_in),

    PLANNED(ROLE_ENDPOINT, "ftp", "files on an FTP server", ftp_out),
    PLANNED(ROLE_ENDPOINT, "sftp", "files on an SFTP server", sftp_out),
    PLANNED(ROLE_ENDPOINT, "smtp", "mails", smtp_out),
    PLANNED(ROLE_ENDPOINT, "mllp", "HL7 messages over MLLP", mllp_out),
    PLANNED(ROLE_ENDPOINT, "sql", "a statement on a database", sql_out),
    PLANNED(ROLE_ENDPOINT, "s3", "objects in a bucket", s3_out),
    PLANNED(ROLE_ENDPOINT, "content", "items in a content store", content_out),

    PLANNED(ROLE_SERVICE, "split", "cut a document into parts, which go back to the router", split_keys, .ends = true),
    PLANNED(ROLE_SERVICE, "jq", "change JSON with jq", jq_keys),
    PLANNED(ROLE_SERVICE, "xslt", "change XML with a style sheet", xslt_keys),
    PLANNED(ROLE_SERVICE, "lua", "change it with a program", lua_keys),
    PLANNED(ROLE_SERVICE, "charset", "change the character set", charset_keys),
    PLANNED(ROLE_SERVICE, "compress", "compress it", compress_keys),
    PLANNED(ROLE_SERVICE, "decompress", "decompress it", decompress_keys),
    PLANNED(ROLE_SERVICE, "encrypt", "encrypt it (OpenPGP)", encrypt_keys),
    PLANNED(ROLE_SERVICE, "decrypt", "decrypt it (OpenPGP)", decrypt_keys),
    PLANNED(ROLE_SERVICE, "sign", "sign it (OpenPGP)", sign_keys),
    PLANNED(ROLE_SERVICE, "verify", "check its signature (OpenPGP)", verify_keys),
    PLANNED(ROLE_SERVICE, "validate", "check it against a schema", validate_keys),
    PLANNED(ROLE_SERVICE, "store", "keep the record, go on with old and new value", store_keys),
    PLANNED(ROLE_SERVICE, "subscribe", "give copies to subscribers", subscribe_keys, .ends = true),
    PLANNED(ROLE_SERVICE, "enrich", "add what another source knows", enrich_keys),
    PLANNED(ROLE_SERVICE, "call", "let an external HTTP service change it", call_keys),

    PLANNED(ROLE_JOB, "call", "call an HTTP service", job_call),
    PLANNED(ROLE_JOB, "replicate", "copy the changes of tables to another database", job_link),
    PLANNED(ROLE_JOB, "verify", "compare replicated tables and repair them", job_link),
    PLANNED(ROLE_JOB, "retain", "let go of what has been kept long enough", no_keys),
    { 0 },
};
/* clang-format on */

static const struct option job_each = { .type = OPT_KIND, .role = ROLE_JOB, .noun = "job" };
static const struct option any_each = { .type = OPT_ANY };

#define SECTION(word, of, sentence)                                                                \
    {                                                                                              \
        .name = (word), .type = OPT_NAMED, .flags = OPT_PLANNED, .each = (of), .help = (sentence), \
    }

const struct option planned_sections[] = {
    SECTION("jobs", &job_each, "recurring work"),
    SECTION("services", &any_each, "named steps"),
    SECTION("subscriptions", &any_each, "who gets copies of which documents"),
    SECTION("stores", &any_each, "where content lives"),
    { .name = "content",
      .type = OPT_NAMED,
      .flags = OPT_PLANNED | OPT_FREE,
      .each = &any_each,
      .help = "how content is copied and checked" },
    { .name = "links",
      .type = OPT_ANY,
      .flags = OPT_PLANNED,
      .help = "tables that are replicated" },
    { 0 },
};

const char *const planned_sources[] = { "hl7", "x12", "edifact", NULL };
