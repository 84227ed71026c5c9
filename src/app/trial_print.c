#include "app/trial_print.h"

#include <stdio.h>
#include <unistd.h>

#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/base64.h"
#include "core/state.h"
#include "engine/rehearse/trial.h"

static const char *const ends[] = {
    [TRIAL_DEAD] = "dead", [TRIAL_BYTES] = "bytes", [TRIAL_NONE] = "none", [TRIAL_PARTS] = "parts"
};

static size_t result_count(const struct trial *t)
{
    return t->end == TRIAL_PARTS ? t->caught.count : t->end == TRIAL_BYTES ? 1 : 0;
}

static struct str result_bytes(const struct trial *t, size_t at)
{
    return t->end == TRIAL_PARTS ? caught_bytes(&t->caught, at) : t->bytes;
}

/* ---- for people ---- */

static bool put_bytes(struct str bytes)
{
    return fwrite(bytes.ptr, 1, bytes.len, stdout) == bytes.len;
}

static void put_fact(const char *label, struct str value)
{
    if (value.ptr == NULL)
        return;
    (void)printf(", %s ", label);
    print_text(stdout, value.ptr); /* on an arena: terminated */
}

/* Above the bytes of a part, which may lack a line break at their end. */
static bool print_part(const struct trial *t, size_t at)
{
    const struct caught_part *p = &t->caught.list[at];
    struct str bytes = caught_bytes(&t->caught, at);
    char size[PRINT_SHORT];

    (void)printf("--- part %zu of %zu: %s", at + 1, t->caught.count,
                 print_size((int64_t)bytes.len, size));
    put_fact("sender", p->facts.sender);
    put_fact("receiver", p->facts.receiver);
    put_fact("type", p->facts.type);
    (void)puts("");
    return put_bytes(bytes) &&
           (bytes.len == 0 || bytes.ptr[bytes.len - 1] == '\n' || putchar('\n') == '\n');
}

static bool put_results(const struct trial *t, const struct trial_look *look)
{
    bool ok = true;

    if (look->part > 0)
        return put_bytes(result_bytes(t, (size_t)look->part - 1));
    if (t->end == TRIAL_BYTES) {
        ok = put_bytes(t->bytes);
        if (ok && isatty(STDOUT_FILENO) && t->bytes.len > 0 &&
            t->bytes.ptr[t->bytes.len - 1] != '\n')
            ok = putchar('\n') == '\n';
    }
    for (size_t i = 0; ok && t->end == TRIAL_PARTS && i < t->caught.count; i++)
        ok = print_part(t, i);
    return ok;
}

/* "3 parts, 1.2 KiB, 4.1 ms, 12.0 MiB of memory" */
static void tell_costs(const struct trial *t)
{
    char size[PRINT_SHORT], time[PRINT_SHORT], memory[PRINT_SHORT];
    size_t bytes = t->end == TRIAL_PARTS ? t->caught.bytes.len : t->bytes.len;

    if (t->end == TRIAL_PARTS)
        (void)fprintf(stderr, "%zu part%s, ", t->caught.count, t->caught.count == 1 ? "" : "s");
    if (t->end == TRIAL_NONE)
        (void)fputs("nothing came out: the document would be done, ", stderr);
    else if (t->end != TRIAL_DEAD)
        (void)fprintf(stderr, "%s, ", print_size((int64_t)bytes, size));
    (void)fprintf(stderr, "%s", print_duration(t->took_us, time));
    if (t->memory > 0)
        (void)fprintf(stderr, ", %s of memory", print_size(t->memory, memory));
    (void)fputc('\n', stderr);
}

static void tell_notes(const struct trial *t)
{
    for (size_t i = 0; i < t->note_count; i++)
        (void)fprintf(stderr, "log: %.*s\n", STR_ARG(t->notes[i]));
}

/* ---- as JSON ---- */

static json_t *text_json(struct str s)
{
    return s.ptr != NULL ? json_stringn(s.ptr, s.len) : json_null();
}

static void add_facts(json_t *to, const struct facts *f)
{
    json_t *attributes = json_object();

    (void)json_object_set_new(to, "sender", text_json(f->sender));
    (void)json_object_set_new(to, "receiver", text_json(f->receiver));
    (void)json_object_set_new(to, "type", text_json(f->type));
    for (size_t i = 0; i < f->attribute_count; i++)
        (void)json_object_setn_new(attributes, f->attributes[i].name.ptr, f->attributes[i].name.len,
                                   text_json(f->attributes[i].value));
    (void)json_object_set_new(to, "attributes", attributes);
}

/* Text as it is; other bytes as base64. */
static void trial_add_bytes(json_t *to, struct str bytes)
{
    json_t *text = json_stringn(bytes.ptr, bytes.len);

    (void)json_object_set_new(to, "size", json_integer((json_int_t)bytes.len));
    if (text != NULL) {
        (void)json_object_set_new(to, "text", text);
        return;
    }
    AUTO(buf_done) struct buf coded = BUF_INIT(bytes.len / 3 * 4 + 8);
    struct err err = { 0 };

    if (base64_encode(bytes, &coded, &err))
        (void)json_object_set_new(to, "base64", json_stringn(coded.ptr, coded.len));
}

static json_t *results_json(const struct trial *t, const struct trial_look *look)
{
    json_t *list = json_array();

    for (size_t i = 0; i < result_count(t); i++) {
        if (look->part > 0 && i + 1 != (size_t)look->part)
            continue;
        json_t *one = json_object();

        if (t->end == TRIAL_PARTS)
            add_facts(one, &t->caught.list[i].facts);
        trial_add_bytes(one, result_bytes(t, i));
        (void)json_array_append_new(list, one);
    }
    return list;
}

static void print_trial_json(const struct trial *t, const struct trial_look *look)
{
    json_auto_t *line = json_object();
    json_t *notes = json_array();

    for (size_t i = 0; i < t->note_count; i++)
        (void)json_array_append_new(notes, text_json(t->notes[i]));
    (void)json_object_set_new(line, "end", json_string(ends[t->end]));
    (void)json_object_set_new(line, "results", results_json(t, look));
    (void)json_object_set_new(line, "notes", notes);
    (void)json_object_set_new(line, "duration", json_integer(t->took_us));
    (void)json_object_set_new(line, "memory",
                              t->memory > 0 ? json_integer(t->memory) : json_null());
    (void)json_object_set_new(
        line, "error",
        t->end == TRIAL_DEAD
            ? json_pack("{s:s,s:o}", "code", dead_codes[t->code], "message", text_json(t->message))
            : json_null());
    print_json(line);
}

int trial_print(const struct trial *t, const struct trial_look *look)
{
    if (look->part > 0 && t->end != TRIAL_DEAD && (size_t)look->part > result_count(t))
        return print_fail(EXIT_NO, "there is no part %lld of %zu", (long long)look->part,
                          result_count(t));
    if (look->json) {
        print_trial_json(t, look);
        return t->end == TRIAL_DEAD ? EXIT_NO : EXIT_DONE;
    }
    bool ok = t->end == TRIAL_DEAD || put_results(t, look);

    ok = fflush(stdout) == 0 && ok;
    tell_notes(t);
    if (t->end == TRIAL_DEAD)
        (void)print_fail(EXIT_NO, "%s: %.*s", dead_codes[t->code], STR_ARG(t->message));
    tell_costs(t);
    if (!ok)
        return print_fail(EXIT_IO, "the result could not be written");
    return t->end == TRIAL_DEAD ? EXIT_NO : EXIT_DONE;
}
