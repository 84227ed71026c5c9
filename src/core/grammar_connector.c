/* grammar_connector.c - keys that connectors have in common.
 *
 * The keys of every gateway and every endpoint, the groups of keys that several connectors include,
 * and the steps of the engine itself. */
#include "base/clock.h"
#include "core/grammar.h"
#include "core/lease_time.h"
#include "core/problem.h"
#include "core/yaml.h"

/* ---- keys of every gateway ---- */

static const struct option limits[] = {
    OPTION("rate", OPT_RATE, "documents that one caller may send; left out: no limit"),
    OPTION("burst", OPT_INT, "how many of them may come at once; left out: one second's worth",
           .least = 1, .most = 1000000000),
    OPTION("total", OPT_RATE, "documents of all callers together; left out: no limit"),
    OPTION("size", OPT_SIZE, "the largest document", .least = 1, .fallback = "64 MiB"),
    { 0 },
};

const struct option grammar_gateway[] = {
    OPTION("kind", OPT_WORD, "how documents come in", .flags = OPT_REQUIRED),
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("area", OPT_WORD, "only nodes of this area run it", .words = grammar_areas),
    OPTION("extract", OPT_MAP,
           "where sender, receiver and type are found; the bare word uses that standard's own",
           .keys = grammar_extract, .words = grammar_standards),
    OPTION(
        "answers", OPT_EXPR,
        "where a document says what it answers: the id of a document or delivery that its sender "
        "was sent, or the value of a search attribute of one",
        .flags = OPT_OR_LIST),
    OPTION("limits", OPT_MAP, "what it takes on", .keys = limits),
    { 0 },
};

/* ---- keys of every endpoint ---- */

static const struct option retry_keys[] = {
    OPTION("first", OPT_DURATION, "the wait before the first repetition; it doubles from there",
           .least = 1, .fallback = "1s"),
    OPTION("most", OPT_DURATION, "the longest wait", .least = 1, .fallback = "10m"),
    OPTION("for", OPT_DURATION, "after this long it is a dead letter", .fallback = "3d"),
    { 0 },
};

static const struct option outcome_each = {
    .type = OPT_WORD,
    .words = OPTION_WORDS("delivered", "retry", "in_doubt", "rejected"),
};

static const struct option breaker_keys[] = {
    OPTION("failures", OPT_INT, "sends in a row without a clear answer that open it",
           .fallback = "5", .least = 1, .most = 1000000),
    OPTION("rejections", OPT_INT,
           "rejections in a row that open it, and raise the alert `receiver_rejecting`; 0: never",
           .fallback = "20", .most = 1000000),
    OPTION("wait", OPT_DURATION, "how long it stays open before one delivery probes", .least = 1,
           .fallback = "30s"),
    { 0 },
};

static const struct option keep_keys[] = {
    OPTION("answers", OPT_WORD,
           "which answers of the receiver are kept with the document, up to 64 KiB each",
           .words = OPTION_WORDS("failures", "all", "none"), .fallback = "failures"),
    { 0 },
};

const struct option grammar_endpoint[] = {
    OPTION("kind", OPT_WORD, "how documents are sent", .flags = OPT_REQUIRED),
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("system", OPT_SYSTEM, "the system it belongs to; left out: the document's receiver"),
    OPTION("area", OPT_WORD, "only nodes of this area run it", .words = grammar_areas),
    OPTION("timeout", OPT_DURATION,
           "how long one attempt may take; above 1 MiB, how long the receiver may be silent",
           .least = 1, .fallback = SEND_TIMEOUT),
    OPTION("connect_timeout", OPT_DURATION, "how long connecting may take", .least = 1,
           .fallback = "10s"),
    OPTION("retry", OPT_MAP, "how a delivery is repeated", .keys = retry_keys),
    OPTION("outcome", OPT_NAMED, "what an answer means, by its status", .flags = OPT_FREE,
           .each = &outcome_each, .noun = "outcome of"),
    OPTION("breaker", OPT_MAP, "when it stops trying for a while", .keys = breaker_keys),
    OPTION("keep", OPT_MAP, "what is stored besides the documents", .keys = keep_keys),
    OPTION("answer", OPT_MAP, "make the receiver's answer a document", .keys = grammar_answer),
    { 0 },
};

/* ---- groups: gateways ---- */

static const struct option user_each = { .type = OPT_HASH };

const struct option grammar_senders[] = {
    OPTION("auth", OPT_WORD, "how senders prove who they are; `none` only on a loopback address",
           .words = OPTION_WORDS("key", "basic", "none", "hmac"), .fallback = "key"),
    OPTION("users", OPT_NAMED,
           "for `auth: basic`: user names and argon2id hashes of their passwords",
           .each = &user_each, .noun = "user"),
    OPTION("idempotency", OPT_DURATION, "how long an Idempotency-Key is remembered, 60d at most",
           .fallback = "24h", .most = INT64_C(60) * 86400 * 1000000),
    { 0 },
};

const struct option grammar_wait[] = {
    OPTION("wait", OPT_DURATION,
           "how long `reply: receiver` waits before it answers 504, or AE, 1h at most",
           .least = CLOCK_MS, .fallback = "30s", .most = INT64_C(3600) * CLOCK_S),
    { 0 },
};

void grammar_check_wait(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *wait = yaml_get(map, "wait");

    if (wait != NULL && !str_is(yaml_text(yaml_get(map, "reply")), "receiver"))
        problem_add(problems, wait->place, "add `reply: receiver`, or leave `wait` out",
                    "`wait` is only used with `reply: receiver`");
}

const struct option grammar_every[] = {
    OPTION("every", OPT_DURATION, "how long from one look to the next", .least = CLOCK_MS,
           .fallback = "10s"),
    { 0 },
};

static const struct option after_keys[] = {
    OPTION("move", OPT_PATH, "the folder that takes it", .flags = OPT_REQUIRED),
    { 0 },
};

const struct option grammar_files[] = {
    OPTION("match", OPT_TEXT, "file names that are taken: `*` and `?` stand for anything",
           .flags = OPT_OR_LIST, .fallback = "*"),
    OPTION("min_age", OPT_DURATION, "younger files are left alone: they may still be written",
           .fallback = "2s"),
    OPTION("after", OPT_MAP,
           "what happens to a file that was taken; `keep` remembers it in a ledger",
           .keys = after_keys, .words = OPTION_WORDS("delete", "keep"), .fallback = "keep"),
    OPTION("depth", OPT_INT,
           "how far down sub folders are looked into: 0 is none, 1 those of the folder; hidden "
           "ones never",
           .fallback = "0", .most = GRAMMAR_DEPTH_MOST),
    OPTION("marker", OPT_TEXT,
           "take a file NAME when a file NAME and this ending is there, such as `.ok`, instead of "
           "waiting for `min_age`"),
    { 0 },
};

const struct option grammar_mounted[] = {
    OPTION("mounted", OPT_TEXT,
           "a file on the share: while it is missing in the folder, the share counts as not "
           "mounted"),
    { 0 },
};

const struct option grammar_silence[] = {
    OPTION("timeout", OPT_DURATION, "how long the other side may stay silent", .least = 1,
           .fallback = "30s"),
    { 0 },
};

/* ---- groups: connections to other systems ---- */

const struct option grammar_login[] = {
    OPTION("user", OPT_TEXT, "the user name, if it is not in the URL"),
    OPTION("password", OPT_SECRET, "the password"),
    { 0 },
};

const struct option grammar_ssh[] = {
    OPTION("private_key", OPT_SECRET, "the private key, as text"),
    OPTION("passphrase", OPT_SECRET, "the passphrase of the private key"),
    OPTION("host_key", OPT_TEXT,
           "the fingerprint of the server's key, as SHA256:TEXT, or several; `any` trusts whoever "
           "answers",
           .flags = OPT_REQUIRED | OPT_OR_LIST),
    { 0 },
};

const struct option grammar_ftp[] = {
    OPTION("url", OPT_URL,
           "the folder; ftp:// is not encrypted unless `tls` says so, ftps:// is from its start",
           .flags = OPT_REQUIRED, .words = OPTION_WORDS("ftp", "ftps")),
    OPTION("tls", OPT_MAP, "TLS, for the commands and for the files; `explicit`: as usual",
           .keys = grammar_tls_keys, .words = OPTION_WORDS("explicit")),
    { 0 },
};

const struct option grammar_s3[] = {
    OPTION("url", OPT_URL, "the S3 service", .flags = OPT_REQUIRED,
           .words = OPTION_WORDS("http", "https")),
    OPTION("region", OPT_TEXT, "the region", .fallback = "us-east-1"),
    OPTION("style", OPT_WORD, "where the bucket stands: in the path, or before the host's name",
           .words = OPTION_WORDS("path", "host"), .fallback = "path"),
    OPTION("access_key", OPT_SECRET, "the id of the access key; left out: requests are not signed"),
    OPTION("secret_key", OPT_SECRET, "the secret of the access key"),
    OPTION("session_token", OPT_SECRET, "the token of temporary keys"),
    { 0 },
};

const struct option grammar_sql[] = {
    OPTION("dsn", OPT_SECRET, "the ODBC connection", .flags = OPT_REQUIRED),
    { 0 },
};

static const struct option header_each = { .type = OPT_TEMPLATE,
                                           .help = "the value of the header" };

const struct option grammar_headers[] = {
    OPTION("headers", OPT_NAMED, "headers of the request", .flags = OPT_FREE, .each = &header_each,
           .noun = "header"),
    { 0 },
};

static const struct option memory_of_step[] = {
    OPTION("memory", OPT_SIZE, "the memory of its process", .least = 16 << 20,
           .most = INT64_C(64) << 30, .fallback = "256 MiB"),
    { 0 },
};

static const struct option concurrency_of_step[] = {
    OPTION("concurrency", OPT_INT, "documents at once; left out: one for each core", .least = 1,
           .most = 1024),
    { 0 },
};

static const struct option limits_of_step[] = {
    OPTION("time", OPT_DURATION, "how long one document may take", .least = CLOCK_MS,
           .most = INT64_C(60) * CLOCK_S, .fallback = "2s"),
    OPTIONS(memory_of_step),
    OPTION("output", OPT_SIZE, "what may come out of one document", .least = 1,
           .most = INT64_C(64) << 30, .fallback = "64 MiB"),
    OPTIONS(concurrency_of_step),
    { 0 },
};

static const struct option limits_of_stream[] = {
    OPTION("time", OPT_DURATION,
           "how long one document may take; a large one as long again for each 16 MiB",
           .least = CLOCK_MS, .most = INT64_C(60) * CLOCK_S, .fallback = "2s"),
    OPTIONS(memory_of_step),
    OPTION("output", OPT_SIZE,
           "what may come out of one document; left out: the `size` of its gateway, and at least "
           "64 MiB",
           .least = 1, .most = INT64_C(64) << 30),
    OPTIONS(concurrency_of_step),
    { 0 },
};

const struct option grammar_limits[] = {
    OPTION("limits", OPT_MAP, "what it may use; more is a dead letter `budget` or `limit`",
           .keys = limits_of_step),
    { 0 },
};

const struct option grammar_stream_limits[] = {
    OPTION("limits", OPT_MAP, "what it may use; more is a dead letter `budget` or `limit`",
           .keys = limits_of_stream),
    { 0 },
};

static const struct option limits_of_asking[] = {
    OPTION("concurrency", OPT_INT, "requests at once, on each node", .fallback = "16", .least = 1,
           .most = 512),
    OPTION("rate", OPT_RATE, "requests of each node; left out: no limit"),
    OPTION("burst", OPT_INT, "how many of them may go at once; left out: one second's worth",
           .least = 1, .most = 1000000000),
    { 0 },
};

const struct option grammar_asking[] = {
    OPTION("timeout", OPT_DURATION,
           "how long one attempt may take; of a document above 1 MiB, how long the service may be "
           "silent and how long its answer may take",
           .least = 1, .fallback = SEND_TIMEOUT),
    OPTION("connect_timeout", OPT_DURATION, "how long connecting may take", .least = 1,
           .fallback = "10s"),
    OPTION("retry", OPT_MAP, "how a request is repeated", .keys = retry_keys),
    OPTION("breaker", OPT_MAP, "when the service is left alone for a while", .keys = breaker_keys),
    OPTION("limits", OPT_MAP, "how much the service is asked", .keys = limits_of_asking),
    { 0 },
};

const struct option grammar_file_name[] = {
    OPTION("name", OPT_TEMPLATE, "the name it gets", .fallback = "${id}"),
    { 0 },
};

const struct option grammar_exists[] = {
    OPTION("exists", OPT_WORD,
           "what to do when a file has the name: `wait` until it is gone, or `replace` it at once; "
           "a folder or anything else that is not a plain file is never replaced",
           .words = OPTION_WORDS("wait", "replace"), .fallback = "wait"),
    { 0 },
};

/* ---- the steps of the engine itself ---- */

static const struct option batch_keys[] = {
    OPTION("name", OPT_NAME, "one of `batches`, which says when it closes and what becomes of it",
           .flags = OPT_REQUIRED),
    OPTION("by", OPT_TEMPLATE,
           "one batch per value, beside one per route and receiver; left out: as the batch says"),
    { 0 },
};

static const struct option route_keys[] = {
    OPTION("receiver", OPT_EXPR, "the new receiver", .flags = OPT_OR_LIST),
    OPTION("sender", OPT_EXPR, "the new sender", .flags = OPT_OR_LIST),
    OPTION("type", OPT_EXPR, "the new type", .flags = OPT_OR_LIST),
    { 0 },
};

static const struct option drop_keys[] = {
    OPTION("reason", OPT_TEXT, "why; it stands in the timeline"),
    { 0 },
};

static const struct option deliver_keys[] = {
    OPTION("to", OPT_ENDPOINT, "one or more of `endpoints`", .flags = OPT_REQUIRED | OPT_OR_LIST),
    { 0 },
};

static const struct option subscribe_keys[] = {
    OPTION("to", OPT_SUBSCRIPTION,
           "one or more of `subscriptions`; a system that is in several gets one copy",
           .flags = OPT_REQUIRED | OPT_OR_LIST),
    { 0 },
};

const struct option_kind grammar_steps[] = {
    { .name = "deliver", .help = "send it to endpoints", .keys = deliver_keys },
    { .name = "batch", .help = "gather documents into one", .keys = batch_keys, .ends = true },
    { .name = "route",
      .help = "new sender, receiver or type, back to the router",
      .keys = route_keys,
      .ends = true },
    { .name = "subscribe",
      .help = "a copy for each subscriber, which goes back to the router",
      .keys = subscribe_keys,
      .example = "- subscribe: [ articles, prices ]",
      .ends = true },
    { .name = "drop", .help = "end here, on purpose", .keys = drop_keys, .ends = true },
    { 0 },
};
