/* jq.c - changes JSON with a jq program.
 *
 *     - jq: .order | { id, total }
 *     - jq: { filter: ".items[]", many: true }
 *
 * The program sees the document and nothing else: no environment, no files or modules, no other
 * input, no clock but the time of accept.  What the language has for these is shadowed by the
 * definitions of `prelude`.  What `debug` shows is a line of the timeline.
 *
 * libjq keeps numbers as doubles.  A number of the document that a double would change fails the
 * document, unless `numbers: approximate` accepts that.
 *
 * Threads: a jq state serves one document at a time, as a process of a caged step does.
 */
#include <jq.h>

#include <stdio.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/json_scan.h"
#include "service/script/jq_number.h"
#include "service/script/jq_program.h"
#include "service/script/results.h"

struct jq_step {
    jq_state *state;
    bool many, approximate;
};

static const struct option options[] = {
    OPTION("filter", OPT_TEXT, "the jq program", .flags = OPT_ONE_OF),
    OPTION("file", OPT_FILE, "a file with it", .flags = OPT_ONE_OF),
    OPTION("many", OPT_BOOL, "each result becomes a document of its own, and the chain ends",
           .fallback = "false"),
    OPTION("numbers", OPT_WORD,
           "what happens to a document with a number that has more digits than jq keeps: it fails, "
           "or goes on with the nearest number",
           .words = OPTION_WORDS("exact", "approximate"), .fallback = "exact"),
    OPTIONS(grammar_limits),
    { 0 },
};

/* ---- making ---- */

static void unmake(void *self)
{
    struct jq_step *j = self;

    jq_teardown(&j->state);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct jq_step *j = ARENA_NEW(s->arena, struct jq_step);
    struct str filter, numbers;

    if (!script_text(s, "filter", &filter, err) || !settings_bool(s, "many", &j->many, err) ||
        !settings_text(s, "numbers", &numbers, err))
        return false;
    j->approximate = str_is(numbers, "approximate");
    tzset(); /* gmtime() reads the zone at its first call, and a cage has no files */
    if (!jq_program_compile(filter, &j->state, err))
        return err_context(err, settings_has(s, "file") ? "`file`" : "`filter`");
    *ret_self = j;
    return true;
}

/* ---- reading the document ---- */

static bool jq_is_number(struct str scalar)
{
    return scalar.len > 0 &&
           (scalar.ptr[0] == '-' || (scalar.ptr[0] >= '0' && scalar.ptr[0] <= '9'));
}

static bool jq_say_number(struct str in, struct str number, struct service_failure *ret_failure)
{
    size_t line = 1;

    for (const char *p = in.ptr; p < number.ptr; p++)
        line += *p == '\n';
    number = str_first(number, 60);
    return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                        "jq: it would change the number %.*s at byte %td, line %zu; "
                        "`numbers: approximate` accepts that",
                        STR_ARG(number), number.ptr - in.ptr, line);
}

/* One JSON value, whose numbers libjq does not change. */
static bool jq_check_document(const struct jq_step *j, struct str in,
                              struct service_failure *ret_failure)
{
    struct json_scan s = { 0 };
    enum json_event e;

    json_scan_give(&s, in, true);
    while ((e = json_scan_next(&s)) > JSON_END)
        if (e == JSON_SCALAR && !j->approximate && jq_is_number(s.text) &&
            !jq_number_is_kept(s.text))
            return jq_say_number(in, s.text, ret_failure);
    if (e != JSON_WRONG)
        return true;
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "jq: not JSON: %s, at byte %lld", s.why,
                        (long long)json_scan_at(&s));
}

/* Fails with a value of jq; takes it. */
static bool jq_say(jv message, struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf line = BUF_INIT(VERDICT_MESSAGE_MOST);
    jv text = jv_get_kind(message) == JV_KIND_STRING ? message : jv_dump_string(message, 0);

    script_line(&line, str_of(jv_string_value(text)));
    jv_free(text);
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "jq: %s", line.ptr);
}

/* ---- what the program is told of the document ---- */

static void jq_set_text(jv *object, const char *key, struct str value)
{
    jv text = value.ptr != NULL ? jv_string_sized(value.ptr, (int)value.len) : jv_null();

    *object = jv_object_set(*object, jv_string(key), text);
}

static jv jq_attributes(const struct facts *f)
{
    jv all = jv_object();

    for (size_t i = 0; i < f->attribute_count; i++) {
        const struct fact *a = &f->attributes[i];

        all = jv_object_set(all, jv_string_sized(a->name.ptr, (int)a->name.len),
                            jv_string_sized(a->value.ptr, (int)a->value.len));
    }
    return all;
}

/* What the builtin `input` gives, which the prelude knows as `document`. */
static jv jq_document(jq_state *state, void *arg)
{
    const struct service_io *io = arg;
    const struct service_document *d = io->document;
    char id[ID_TEXT];
    jv o = jv_object();

    (void)state;
    jq_set_text(&o, "id", str_of(id_text(&d->id, id)));
    jq_set_text(&o, "name", d->name);
    jq_set_text(&o, "content_type", d->ctype);
    jq_set_text(&o, "gateway", d->gateway);
    o = jv_object_set(o, jv_string("received"), jv_number((double)d->received_us / CLOCK_S));
    if (d->facts == NULL)
        return o;
    jq_set_text(&o, "sender", d->facts->sender);
    jq_set_text(&o, "receiver", d->facts->receiver);
    jq_set_text(&o, "type", d->facts->type);
    return jv_object_set(o, jv_string("attributes"), jq_attributes(d->facts));
}

static void jq_note(void *arg, jv value)
{
    struct service_io *io = arg;
    AUTO(buf_done) struct buf line = BUF_INIT(SERVICE_NOTE_BYTES);
    jv text = jv_dump_string(value, 0);

    script_line(&line, str_first(str_of(jv_string_value(text)), SERVICE_NOTE_BYTES));
    jv_free(text);
    io->note(io, buf_view(&line));
}

/* ---- running ---- */

/* After the last result: `last` is invalid, and has a message when the program failed. */
static bool jq_has_ended(struct jq_step *j, jv last, struct service_failure *ret_failure)
{
    if (!jq_halted(j->state)) {
        if (jv_invalid_has_msg(jv_copy(last)))
            return jq_say(jv_invalid_get_msg(last), ret_failure);
        jv_free(last);
        return true;
    }
    jv code = jq_get_exit_code(j->state); /* of halt_error; halt has none */
    bool failed = jv_is_valid(code);

    jv_free(code);
    jv_free(last);
    return !failed || jq_say(jq_get_error_message(j->state), ret_failure);
}

/* Takes the document. */
static bool jq_collect(struct jq_step *j, jv document, struct script_results *results,
                       struct service_failure *ret_failure)
{
    jv value;

    jq_start(j->state, document, 0);
    while (jv_is_valid(value = jq_next(j->state))) {
        jv text = jv_dump_string(value, 0);
        struct str bytes =
            str_mem(jv_string_value(text), (size_t)jv_string_length_bytes(jv_copy(text)));
        bool ok = script_results_add(results, bytes, ret_failure);

        jv_free(text);
        if (!ok)
            return false;
    }
    return jq_has_ended(j, value, ret_failure);
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    struct jq_step *j = self;
    AUTO(buf_done) struct buf in = BUF_INIT(SERVICE_BYTES_MOST);
    AUTO(script_results_done) struct script_results results = SCRIPT_RESULTS_INIT("jq", j->many);

    if (!service_gather(io, &in, ret_failure) || !jq_check_document(j, buf_view(&in), ret_failure))
        return false;
    jv document = jv_parse_sized(in.ptr, (int)in.len);

    if (!jv_is_valid(document))
        return jq_say(jv_invalid_get_msg(document), ret_failure);
    jq_set_input_cb(j->state, jq_document, io);
    jq_set_debug_cb(j->state, jq_note, io);
    return jq_collect(j, document, &results, ret_failure) &&
           script_results_give(&results, io, ret_failure);
}

const struct service_type service_jq = {
    .kind = { .name = "jq",
              .help = "change JSON with jq",
              .keys = options,
              .example = "- jq: \"{ id, total, lines: (.lines | length) }\"" },
    .caged = true,
    .copied = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
