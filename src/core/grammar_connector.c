/* What connectors have in common: the keys of every gateway and every endpoint, and the groups
 * of keys that several connectors take in.  The steps of the engine itself stand here too. */
#include "base/clock.h"
#include "core/grammar.h"

/* --- keys of every gateway --------------------------------------------------------- */

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

const struct option grammar_gateway[] = {
    { .name = "kind", .type = OPT_WORD, .flags = OPT_REQUIRED, .help = "how documents come in" },
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "area",
      .type = OPT_WORD,
      .words = grammar_areas,
      .help = "only nodes of this area run it" },
    { .name = "extract",
      .type = OPT_MAP,
      .keys = grammar_extract,
      .words = grammar_standards,
      .help = "where sender, receiver and type are found; the bare word uses that standard's own" },
    { .name = "limits", .type = OPT_MAP, .keys = limits, .help = "what it takes on" },
    { 0 },
};

/* --- keys of every endpoint -------------------------------------------------------- */

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

const struct option grammar_endpoint[] = {
    { .name = "kind", .type = OPT_WORD, .flags = OPT_REQUIRED, .help = "how documents are sent" },
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "system",
      .type = OPT_SYSTEM,
      .help = "the system it belongs to; left out: the document's receiver" },
    { .name = "area",
      .type = OPT_WORD,
      .flags = OPT_PLANNED,
      .words = grammar_areas,
      .help = "only nodes of this area run it" },
    { .name = "timeout",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "30s",
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
      .flags = OPT_PLANNED,
      .keys = grammar_answer,
      .help = "make the receiver's answer a document" },
    { 0 },
};

/* --- groups: coming in -------------------------------------------------------------- */

static const struct option user_each = { .type = OPT_HASH };

const struct option grammar_senders[] = {
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
    { 0 },
};

const struct option grammar_reply[] = {
    { .name = "reply",
      .type = OPT_WORD,
      .words = OPTION_WORDS("ack", "soap", "receiver"),
      .planned = OPTION_WORDS("soap", "receiver"),
      .fallback = "ack",
      .help = "what the sender is answered; `receiver` waits for the receiver's own answer" },
    { .name = "wait",
      .type = OPT_DURATION,
      .flags = OPT_PLANNED,
      .least = 1,
      .fallback = "30s",
      .help = "how long `reply: receiver` waits before it answers 504" },
    { 0 },
};

const struct option grammar_every[] = {
    { .name = "every",
      .type = OPT_DURATION,
      .least = CLOCK_MS,
      .fallback = "10s",
      .help = "how long from one look to the next" },
    { 0 },
};

static const struct option after_keys[] = {
    { .name = "move", .type = OPT_PATH, .flags = OPT_REQUIRED, .help = "the folder that takes it" },
    { 0 },
};

const struct option grammar_files[] = {
    { .name = "match",
      .type = OPT_TEXT,
      .flags = OPT_OR_LIST,
      .fallback = "*",
      .help = "file names that are taken: `*` and `?` stand for anything" },
    { .name = "min_age",
      .type = OPT_DURATION,
      .fallback = "2s",
      .help = "younger files are left alone: they may still be written" },
    { .name = "after",
      .type = OPT_MAP,
      .keys = after_keys,
      .words = OPTION_WORDS("delete", "keep"),
      .fallback = "keep",
      .help = "what happens to a file that was taken; `keep` remembers it in a ledger" },
    { 0 },
};

const struct option grammar_silence[] = {
    { .name = "timeout",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "30s",
      .help = "how long the other side may stay silent" },
    { 0 },
};

/* --- groups: reaching the other side ------------------------------------------------- */

const struct option grammar_login[] = {
    { .name = "user", .type = OPT_TEXT, .help = "the user name, if it is not in the URL" },
    { .name = "password", .type = OPT_SECRET, .help = "the password" },
    { 0 },
};

const struct option grammar_ssh[] = {
    { .name = "private_key", .type = OPT_SECRET, .help = "the private key, as text" },
    { .name = "passphrase", .type = OPT_SECRET, .help = "the passphrase of the private key" },
    { .name = "host_key",
      .type = OPT_TEXT,
      .help = "the fingerprint of the server, as SHA256:TEXT" },
    { 0 },
};

const struct option grammar_tls_keys[] = {
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

const struct option grammar_tls[] = {
    { .name = "tls", .type = OPT_MAP, .keys = grammar_tls_keys, .help = "TLS beyond the usual" },
    { 0 },
};

const struct option grammar_s3[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "the S3 service" },
    { .name = "region", .type = OPT_TEXT, .fallback = "us-east-1", .help = "the region" },
    { .name = "access_key", .type = OPT_SECRET, .help = "the id of the access key" },
    { .name = "secret_key", .type = OPT_SECRET, .help = "the secret of the access key" },
    { 0 },
};

const struct option grammar_sql[] = {
    { .name = "dsn", .type = OPT_SECRET, .flags = OPT_REQUIRED, .help = "the ODBC connection" },
    { 0 },
};

static const struct option header_each = { .type = OPT_TEMPLATE,
                                           .help = "the value of the header" };

const struct option grammar_headers[] = {
    { .name = "headers",
      .type = OPT_NAMED,
      .flags = OPT_FREE,
      .each = &header_each,
      .noun = "header",
      .help = "headers of the request" },
    { 0 },
};

const struct option grammar_file_name[] = {
    { .name = "name", .type = OPT_TEMPLATE, .fallback = "${id}", .help = "the name it gets" },
    { 0 },
};

/* --- the steps of the engine itself --------------------------------------------------- */

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

const struct option_kind grammar_steps[] = {
    { .name = "deliver", .help = "send it to endpoints", .keys = deliver_keys },
    { .name = "batch", .help = "gather documents into one", .keys = batch_keys, .ends = true },
    { .name = "route",
      .help = "new sender, receiver or type, back to the router",
      .keys = route_keys,
      .ends = true },
    { .name = "drop", .help = "end here, on purpose", .keys = drop_keys, .ends = true },
    { 0 },
};
