/* send_job.c - a document through a gateway: one for each iteration.
 *
 *     order-list: { kind: send, gateway: requests, at: "06:00", text: '{"day": "${nominal}"}' }
 *
 * It goes the way of a document that the gateway has taken in: the gateway's `extract` reads whose
 * it is, a route takes it.  It has no header fields.  `text` and `name` may have ${job}, ${run} and
 * ${nominal} in them; a file is sent as it is.
 *
 * One document for each time: a run that is repeated is done when an earlier one has sent it, also
 * where its bytes would be others now, by ${run} or by a new version.
 */
#include "base/id.h"
#include "core/job_type.h"
#include "core/problem.h"
#include "core/yaml.h"
#include "job/depositing.h"
#include "job/words.h"

struct send_job {
    struct str gateway, text, file, name, ctype; /* text or file has ptr NULL */
};

static const struct option options[] = {
    OPTION("gateway", OPT_GATEWAY, "the gateway that it counts for, which says how it is extracted",
           .flags = OPT_REQUIRED),
    OPTION("text", OPT_TEXT,
           "the document; ${job}, ${run} and ${nominal} are filled in; or `file`"),
    OPTION("file", OPT_FILE, "a file with the document, which is sent as it is; or `text`"),
    OPTION("name", OPT_TEXT, "its file name, filled in like `text`",
           .fallback = "${job}-${nominal}"),
    OPTION("content_type", OPT_TEXT, "its media type"),
    { 0 },
};

static void send_job_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *text = yaml_get(map, "text"), *file = yaml_get(map, "file");

    if ((text != NULL) == (file != NULL))
        problem_add(problems, yaml_position(text != NULL ? file : map),
                    "`text` is the document, or `file` names one",
                    "a document comes from `text` or from `file`: give one of them");
    if (text != NULL)
        words_check(text, WORDS_PLAIN, problems);
    if (yaml_get(map, "name") != NULL)
        words_check(yaml_get(map, "name"), WORDS_PLAIN, problems);
}

static bool send_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct send_job *j = ARENA_NEW(s->arena, struct send_job);

    *ret_self = j;
    return settings_text(s, "gateway", &j->gateway, err) &&
           settings_text(s, "text", &j->text, err) && settings_file(s, "file", &j->file, err) &&
           settings_text(s, "name", &j->name, err) &&
           settings_text(s, "content_type", &j->ctype, err);
}

static void send_job_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- running ---- */

static bool send_job_send(const struct send_job *j, const struct job_io *io, struct id *ret_id,
                          enum job_deposited *ret, struct err *err)
{
    struct job_document d = { .gateway = j->gateway, .name = j->name, .bytes = j->file };

    d.ctype = j->ctype;
    if (j->text.ptr != NULL && !words_fill(io, j->text, io->arena, &d.bytes))
        return err_set(err, ERR_PERMANENT, 0, "the text is larger than %d bytes", WORDS_MOST);
    return job_deposit(io, &d, ret_id, ret, err);
}

static void send_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    const struct send_job *j = self;
    struct err err = { 0 };
    enum job_deposited how;
    struct id id;

    if (!send_job_send(j, io, &id, &how, &err)) {
        job_fail(ret, "gateway %.*s: %s", STR_ARG(j->gateway), err.text);
        ret->final = err.kind == ERR_PERMANENT;
        return;
    }
    ret->moved = true;
    job_done(ret);
    job_say_deposited(ret, &id, how);
}

const struct job_type job_send = {
    .kind = { .name = "send",
              .help = "send a document through a gateway, as if it had come in there",
              .keys = options,
              .check = send_job_check,
              .example =
                  "ask: { kind: send, gateway: orders, at: \"06:00\", text: \"${nominal}\" }" },
    .repeatable = true,
    .deposits = true,
    .make = send_job_make,
    .unmake = send_job_unmake,
    .run = send_job_run,
};
