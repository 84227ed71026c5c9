#include "base/clock.h"
#include "core/grammar.h"

static const struct option limits[] = {
    { .name = "rate", .type = OPT_RATE, .help = "documents that are accepted; left out: no limit" },
    { .name = "burst",
      .type = OPT_INT,
      .least = 1,
      .most = 1000000000,
      .help = "how many may come at once; left out: one second's worth" },
    { .name = "size",
      .type = OPT_SIZE,
      .least = 1,
      .fallback = "64 MiB",
      .help = "the largest document" },
    { 0 },
};

static const struct option common[] = {
    { .name = "kind", .type = OPT_WORD, .flags = OPT_REQUIRED, .help = "how documents come in" },
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "area",
      .type = OPT_WORD,
      .words = grammar_areas,
      .help = "only nodes of this area run it" },
    { .name = "extract",
      .type = OPT_MAP,
      .keys = grammar_extract,
      .words = OPTION_WORDS("hl7", "x12", "edifact"),
      .help = "where sender, receiver and type are found; the bare word uses that standard's own" },
    { .name = "limits", .type = OPT_MAP, .keys = limits, .help = "what it takes on" },
    { 0 },
};

static const struct option user_each = { .type = OPT_HASH };

#define REPLIES                                                                                \
    { .name = "reply",                                                                         \
      .type = OPT_WORD,                                                                        \
      .words = OPTION_WORDS("ack", "soap", "receiver"),                                        \
      .fallback = "ack",                                                                       \
      .help = "what the sender is answered; `receiver` waits for the receiver's own answer" }, \
    {                                                                                          \
        .name = "wait", .type = OPT_DURATION, .least = 1, .fallback = "30s",                   \
        .help = "how long `reply: receiver` waits before it answers 504"                       \
    }

static const struct option http_keys[] = {
    { .name = "auth",
      .type = OPT_WORD,
      .words = OPTION_WORDS("key", "basic", "none"),
      .fallback = "key",
      .help = "how senders prove who they are; `none` only on a loopback address" },
    { .name = "users",
      .type = OPT_NAMED,
      .each = &user_each,
      .noun = "user",
      .help = "for `auth: basic`: user names and argon2id hashes of their passwords" },
    { .name = "idempotency",
      .type = OPT_DURATION,
      .fallback = "24h",
      .most = INT64_C(60) * 86400 * 1000000,
      .help = "how long an Idempotency-Key is remembered, 60d at most" },
    REPLIES,
    { 0 },
};

static const struct option tls_keys[] = {
    { .name = "cert", .type = OPT_PATH, .flags = OPT_REQUIRED, .help = "the certificate chain" },
    { .name = "key", .type = OPT_SECRET, .flags = OPT_REQUIRED, .help = "its private key" },
    { .name = "ca", .type = OPT_PATH, .help = "senders need a certificate from this authority" },
    { 0 },
};

static const struct option mllp_keys[] = {
    { .name = "listen",
      .type = OPT_ADDRESS,
      .flags = OPT_REQUIRED,
      .help = "where senders connect" },
    { .name = "tls", .type = OPT_MAP, .keys = tls_keys, .help = "answer with TLS" },
    REPLIES,
    { 0 },
};

static const struct option after_keys[] = {
    { .name = "move", .type = OPT_PATH, .flags = OPT_REQUIRED, .help = "the folder that takes it" },
    { 0 },
};

#define EVERY                                                                        \
    {                                                                                \
        .name = "every", .type = OPT_DURATION, .least = CLOCK_MS, .fallback = "10s", \
        .help = "how long from one look to the next"                                 \
    }

#define POLLING                                                                          \
    EVERY,                                                                               \
        { .name = "match",                                                               \
          .type = OPT_TEXT,                                                              \
          .flags = OPT_OR_LIST,                                                          \
          .fallback = "*",                                                               \
          .help = "file names that are taken: `*` and `?` stand for anything" },         \
        { .name = "min_age",                                                             \
          .type = OPT_DURATION,                                                          \
          .fallback = "2s",                                                              \
          .help = "younger files are left alone: they may still be written" },           \
    {                                                                                    \
        .name = "after", .type = OPT_MAP, .keys = after_keys,                            \
        .words = OPTION_WORDS("delete", "keep"), .fallback = "keep",                     \
        .help = "what happens to a file that was taken; `keep` remembers it in a ledger" \
    }

#define TIMEOUT                                                                 \
    {                                                                           \
        .name = "timeout", .type = OPT_DURATION, .least = 1, .fallback = "30s", \
        .help = "how long the other side may stay silent"                       \
    }

static const struct option file_keys[] = {
    { .name = "path",
      .type = OPT_PATH,
      .flags = OPT_REQUIRED,
      .help = "the folder to look in; names that begin with a dot or end in .part or .tmp are "
              "never taken, so that senders can write and then rename" },
    POLLING,
    { .name = "marker",
      .type = OPT_TEXT,
      .help = "take a file NAME when a file NAME and this ending is there, such as `.ok`, instead "
              "of waiting for `min_age`" },
    { 0 },
};

static const struct option ftp_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("ftp", "ftps"),
      .help = "the folder to look in" },
    { .name = "user", .type = OPT_TEXT, .help = "the user name, if it is not in the URL" },
    { .name = "password", .type = OPT_SECRET, .help = "the password" },
    POLLING,
    TIMEOUT,
    { 0 },
};

static const struct option sftp_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("sftp"),
      .help = "the folder to look in" },
    { .name = "user", .type = OPT_TEXT, .help = "the user name, if it is not in the URL" },
    { .name = "password", .type = OPT_SECRET, .help = "the password" },
    { .name = "private_key", .type = OPT_SECRET, .help = "the private key, as text" },
    { .name = "passphrase", .type = OPT_SECRET, .help = "the passphrase of the private key" },
    { .name = "host_key",
      .type = OPT_TEXT,
      .help = "the fingerprint of the server, as SHA256:TEXT" },
    POLLING,
    TIMEOUT,
    { 0 },
};

static const struct option sql_keys[] = {
    { .name = "dsn", .type = OPT_SECRET, .flags = OPT_REQUIRED, .help = "the ODBC connection" },
    { .name = "query",
      .type = OPT_TEXT,
      .flags = OPT_REQUIRED,
      .help = "the statement; :NAME stands for the last value of a cursor column" },
    { .name = "cursor",
      .type = OPT_NAME,
      .flags = OPT_OR_LIST,
      .help = "the columns that say how far the last look came" },
    EVERY,
    TIMEOUT,
    { 0 },
};

static const struct option s3_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "the S3 service" },
    { .name = "bucket", .type = OPT_TEXT, .flags = OPT_REQUIRED, .help = "the bucket" },
    { .name = "prefix", .type = OPT_TEXT, .help = "only objects whose name starts like this" },
    { .name = "region", .type = OPT_TEXT, .fallback = "us-east-1", .help = "the region" },
    { .name = "access_key", .type = OPT_SECRET, .help = "the id of the access key" },
    { .name = "secret_key", .type = OPT_SECRET, .help = "the secret of the access key" },
    POLLING,
    TIMEOUT,
    { 0 },
};

static const struct option_kind kinds[] = {
    { "http", "`POST /in/NAME`", http_keys, false },
    { "file", "files in a folder", file_keys, false },
    { "ftp", "files on an FTP server", ftp_keys, false },
    { "sftp", "files on an SFTP server", sftp_keys, false },
    { "mllp", "HL7 messages over MLLP", mllp_keys, false },
    { "sql", "rows of a database", sql_keys, false },
    { "s3", "objects in a bucket", s3_keys, false },
    { 0 },
};

const struct option_kinds grammar_gateways = { common, kinds };
