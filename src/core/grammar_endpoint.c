#include "core/grammar.h"
#include "core/lease.h"

static const struct option retry_keys[] = {
    { .name = "first",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "1s",
      .help = "the wait before the first repetition; it doubles from there" },
    { .name = "most",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "10m",
      .help = "the longest wait" },
    { .name = "for",
      .type = OPT_DURATION,
      .fallback = "3d",
      .help = "after this long the delivery is a dead letter" },
    { 0 },
};

static const struct option outcome_each = {
    .type = OPT_WORD,
    .words = OPTION_WORDS("delivered", "retry", "in_doubt", "rejected"),
};

static const struct option breaker_keys[] = {
    { .name = "failures",
      .type = OPT_INT,
      .fallback = "5",
      .least = 1,
      .most = 1000000,
      .help = "failures in a row that open it" },
    { .name = "wait",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "30s",
      .help = "how long it stays open before one delivery probes" },
    { 0 },
};

static const struct option common[] = {
    { .name = "kind", .type = OPT_WORD, .flags = OPT_REQUIRED, .help = "how documents are sent" },
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "system",
      .type = OPT_SYSTEM,
      .help = "the system it belongs to; left out: the document's receiver" },
    { .name = "area",
      .type = OPT_WORD,
      .words = grammar_areas,
      .help = "only nodes of this area run it" },
    { .name = "timeout",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = SEND_TIMEOUT,
      .help = "how long one attempt may take" },
    { .name = "connect_timeout",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "10s",
      .help = "how long connecting may take" },
    { .name = "retry", .type = OPT_MAP, .keys = retry_keys, .help = "how a delivery is repeated" },
    { .name = "outcome",
      .type = OPT_NAMED,
      .flags = OPT_FREE,
      .each = &outcome_each,
      .noun = "outcome of",
      .help = "what an answer means, by its status" },
    { .name = "breaker",
      .type = OPT_MAP,
      .keys = breaker_keys,
      .help = "when it stops trying for a while" },
    { .name = "answer",
      .type = OPT_MAP,
      .keys = grammar_answer,
      .help = "make the receiver's answer a document" },
    { 0 },
};

static const struct option tls_keys[] = {
    { .name = "ca",
      .type = OPT_PATH,
      .help = "the authority that signed the receiver's certificate" },
    { .name = "cert", .type = OPT_PATH, .help = "our certificate" },
    { .name = "key", .type = OPT_SECRET, .help = "its private key" },
    { .name = "verify",
      .type = OPT_BOOL,
      .fallback = "true",
      .help = "refuse a receiver whose certificate is not right" },
    { 0 },
};

#define LOGIN                                                                               \
    { .name = "user", .type = OPT_TEXT, .help = "the user name, if it is not in the URL" }, \
    {                                                                                       \
        .name = "password", .type = OPT_SECRET, .help = "the password"                      \
    }

#define FILE_NAME                                                                             \
    {                                                                                         \
        .name = "name", .type = OPT_TEMPLATE, .fallback = "${id}", .help = "the name it gets" \
    }

static const struct option probe_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED | OPT_FILLED,
      .words = OPTION_WORDS("http", "https"),
      .help = "what is asked, with the words of templates; ${delivery} is the key that was sent" },
    { .name = "method",
      .type = OPT_WORD,
      .words = OPTION_WORDS("GET", "HEAD", "POST"),
      .fallback = "GET",
      .help = "the HTTP method" },
    { .name = "delivered",
      .type = OPT_INT,
      .flags = OPT_OR_LIST,
      .least = 100,
      .most = 599,
      .help = "statuses that mean it has arrived; left out: any 2xx" },
    { .name = "missing",
      .type = OPT_INT,
      .flags = OPT_OR_LIST,
      .least = 100,
      .most = 599,
      .help = "statuses that mean it has not; left out: 404 and 410" },
    { 0 },
};

static const struct option http_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "where requests go" },
    { .name = "method",
      .type = OPT_WORD,
      .words = OPTION_WORDS("POST", "PUT", "PATCH"),
      .fallback = "POST",
      .help = "the HTTP method" },
    { .name = "headers",
      .type = OPT_NAMED,
      .flags = OPT_FREE,
      .each = &grammar_headers,
      .noun = "header",
      .help = "headers of each request" },
    LOGIN,
    { .name = "tls", .type = OPT_MAP, .keys = tls_keys, .help = "TLS beyond the usual" },
    { .name = "probe",
      .type = OPT_MAP,
      .keys = probe_keys,
      .help = "how `in_doubt: probe` asks whether a document has arrived" },
    { 0 },
};

static const struct option file_keys[] = {
    { .name = "path",
      .type = OPT_PATH,
      .flags = OPT_REQUIRED,
      .help = "the folder; made when it is missing and its parent is there" },
    { .name = "name",
      .type = OPT_TEMPLATE,
      .fallback = "${id}",
      .help = "the name it gets, with sub folders; a file that has it is not replaced: the "
              "delivery waits until the name is free" },
    { .name = "append",
      .type = OPT_BOOL,
      .fallback = "false",
      .help = "add to the file instead of making a new one; `.NAME.waybill` beside it notes what "
              "was added" },
    { 0 },
};

static const struct option ftp_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("ftp", "ftps"),
      .help = "the folder" },
    LOGIN,
    FILE_NAME,
    { .name = "tls", .type = OPT_MAP, .keys = tls_keys, .help = "TLS beyond the usual" },
    { 0 },
};

static const struct option sftp_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("sftp"),
      .help = "the folder" },
    LOGIN,
    { .name = "private_key", .type = OPT_SECRET, .help = "the private key, as text" },
    { .name = "passphrase", .type = OPT_SECRET, .help = "the passphrase of the private key" },
    { .name = "host_key",
      .type = OPT_TEXT,
      .help = "the fingerprint of the server, as SHA256:TEXT" },
    FILE_NAME,
    { 0 },
};

static const struct option smtp_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("smtp", "smtps"),
      .help = "the mail server" },
    LOGIN,
    { .name = "from", .type = OPT_TEMPLATE, .flags = OPT_REQUIRED, .help = "the mail's sender" },
    { .name = "to",
      .type = OPT_TEMPLATE,
      .flags = OPT_REQUIRED | OPT_OR_LIST,
      .help = "its recipients" },
    { .name = "subject", .type = OPT_TEMPLATE, .fallback = "${type} ${id}", .help = "its subject" },
    { .name = "body", .type = OPT_TEMPLATE, .help = "its text; the document is attached" },
    FILE_NAME,
    { .name = "tls", .type = OPT_MAP, .keys = tls_keys, .help = "TLS beyond the usual" },
    { 0 },
};

static const struct option mllp_keys[] = {
    { .name = "address",
      .type = OPT_ADDRESS,
      .flags = OPT_REQUIRED | OPT_OUTGOING,
      .help = "where the receiver listens" },
    { .name = "tls", .type = OPT_MAP, .keys = tls_keys, .help = "use TLS" },
    { 0 },
};

static const struct option sql_keys[] = {
    { .name = "dsn", .type = OPT_SECRET, .flags = OPT_REQUIRED, .help = "the ODBC connection" },
    { .name = "statement",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED,
      .help = "the statement; :id :sender :receiver :type :payload and attributes are bound" },
    { 0 },
};

static const struct option s3_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "the S3 service" },
    { .name = "bucket", .type = OPT_TEMPLATE, .flags = OPT_REQUIRED, .help = "the bucket" },
    FILE_NAME,
    { .name = "region", .type = OPT_TEXT, .fallback = "us-east-1", .help = "the region" },
    { .name = "access_key", .type = OPT_SECRET, .help = "the id of the access key" },
    { .name = "secret_key", .type = OPT_SECRET, .help = "the secret of the access key" },
    { 0 },
};

static const struct option content_keys[] = {
    { .name = "store", .type = OPT_NAME, .flags = OPT_REQUIRED, .help = "one of `stores`" },
    { .name = "space", .type = OPT_TEMPLATE, .flags = OPT_REQUIRED, .help = "the space in it" },
    FILE_NAME,
    { 0 },
};

static const struct option_kind kinds[] = {
    { "http", "each document as one HTTP request", http_keys, false },
    { "file", "each document as a file in a folder", file_keys, false },
    { "ftp", "files on an FTP server", ftp_keys, false },
    { "sftp", "files on an SFTP server", sftp_keys, false },
    { "smtp", "mails", smtp_keys, false },
    { "mllp", "HL7 messages over MLLP", mllp_keys, false },
    { "sql", "a statement on a database", sql_keys, false },
    { "s3", "objects in a bucket", s3_keys, false },
    { "content", "items in a content store", content_keys, false },
    { 0 },
};

const struct option_kinds grammar_endpoints = { common, kinds };
