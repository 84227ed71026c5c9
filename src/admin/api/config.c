/* config.c - versions of the configuration: config, configHistory, configDiff, configCheck,
 * configApply, configRevert. */
#include <stdio.h>

#include "admin/api/parts.h"
#include "admin/view/diff.h"
#include "admin/view/file_diff.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/safe_path.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/upkeep/file_config.h"
#include "engine/upkeep/live.h"
#include "engine/upkeep/removal.h"
#include "store/govern/version.h"
#include "store/govern/version_file.h"
#include "store/store.h"

enum {
    HISTORY_MOST = 200,
    DIFF_MOST = 4 << 20,
    FILES_ARENA_MOST = 64 << 20,
    CALL_ROOM = 1 << 20 /* what the rest of a request needs of its arena */
};

struct shown {
    int64_t version, made_us;
    struct str by, note;
    struct sha256 sha256;
    bool live;
};

static struct shown *api_config_show(struct graphql_call *call, const struct version *v,
                                     int64_t newest)
{
    struct shown *s = ARENA_NEW(call->arena, struct shown);

    *s = (struct shown){ .version = v->number,
                         .made_us = v->made_us,
                         .by = v->by,
                         .sha256 = v->sha256,
                         .live = v->number == newest };
    s->note = v->note.len > 0 ? v->note : (struct str){ 0 };
    return s;
}

/* The text is loaded only when the field is selected. */
static bool version_text(struct graphql_call *call, struct err *err)
{
    const struct shown *s = call->parent;
    struct version v;

    if (!version_get(api_store(call), s->version, call->arena, &v, err))
        return false;
    return graphql_set_text(call, v.body);
}

static bool config_version_files(struct graphql_call *call, struct err *err)
{
    const struct shown *s = call->parent;
    struct str path = graphql_arg_text(call, "path");
    struct version_file *list;
    size_t n;

    if (!version_file_list(api_store(call), s->version, call->arena, &list, &n, err))
        return false;
    for (size_t i = 0; path.ptr != NULL && i < n; i++)
        if (str_eq(list[i].path, path))
            return graphql_set_structs(call, &list[i], 1, sizeof *list);
    return graphql_set_structs(call, list, path.ptr != NULL ? 0 : n, sizeof *list);
}

/* False with ERR_NONE: it is not there, or damaged. */
static bool content_of(struct graphql_call *call, struct arena *a, struct str *ret, struct err *err)
{
    const struct version_file *f = call->parent;

    return version_file_content(api_store(call), &f->sha256, a, ret, err);
}

static bool file_text(struct graphql_call *call, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(FILES_ARENA_MOST);
    struct str bytes;

    if (!content_of(call, &a, &bytes, err))
        return err->kind == ERR_NONE && graphql_set_null(call);
    return file_is_text(bytes) ? graphql_set_text(call, bytes) : graphql_set_null(call);
}

static bool file_base64(struct graphql_call *call, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(FILES_ARENA_MOST);
    AUTO(buf_done) struct buf coded = BUF_INIT(CONFIG_FILE_BYTES * 2);
    struct str bytes;

    if (!content_of(call, &a, &bytes, err))
        return err->kind == ERR_NONE && graphql_set_null(call);
    return base64_encode(bytes, &coded, err) && graphql_set_text(call, buf_view(&coded));
}

/* The version that the argument names, or the newest if it is missing.  False with ERR_NONE: no
 * such version. */
static bool named_version(struct graphql_call *call, const char *arg, struct version *ret,
                          int64_t *ret_newest, struct err *err)
{
    struct store *s = api_store(call);
    int64_t number;

    if (!version_newest(s, ret_newest, err))
        return false;
    if (!graphql_arg_int(call, arg, &number))
        number = *ret_newest;
    return version_get(s, number, call->arena, ret, err);
}

static bool config(struct graphql_call *call, struct err *err)
{
    struct version v;
    int64_t newest;

    if (named_version(call, "version", &v, &newest, err))
        return graphql_set_object(call, api_config_show(call, &v, newest));
    return err->kind == ERR_NONE && graphql_set_null(call);
}

static bool history(struct graphql_call *call, struct err *err)
{
    struct store *s = api_store(call);
    struct version *all = ARENA_ARRAY(call->arena, struct version, HISTORY_MOST);
    const void **shown = ARENA_ARRAY(call->arena, const void *, HISTORY_MOST);
    int64_t first = 50;
    size_t n;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > HISTORY_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", HISTORY_MOST);
    if (!version_list(s, (size_t)first, call->arena, all, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        shown[i] = api_config_show(call, &all[i], all[0].number);
    return graphql_set_objects(call, shown, n);
}

/* Of a ConfigFileInput. */
static bool api_config_read_content(struct graphql_call *call, const struct graphql_value *v,
                                    struct str *ret, struct err *err)
{
    const struct graphql_value *text = graphql_value_field(v, "text");
    const struct graphql_value *coded = graphql_value_field(v, "base64");
    AUTO(buf_done) struct buf bytes = BUF_INIT(CONFIG_FILES_BYTES + 3);

    if ((text->kind == GRAPHQL_TEXT) == (coded->kind == GRAPHQL_TEXT))
        return err_set(err, ERR_PERMANENT, 0, "a file has either `text` or `base64`");
    if (text->kind == GRAPHQL_TEXT) {
        *ret = text->text;
        return true;
    }
    if (!base64_decode(coded->text, &bytes, err))
        return err->kind == ERR_LIMIT
                   ? err_set(err, ERR_LIMIT, 0, "the files of a version have at most %d MiB",
                             CONFIG_FILES_BYTES >> 20)
                   : false;
    if (call->arena->cap - call->arena->used < 2 * bytes.len + CALL_ROOM)
        return err_set(err, ERR_LIMIT, 0, "this request has too many files");
    *ret = arena_copy(call->arena, buf_view(&bytes));
    return true;
}

bool api_config_files(struct graphql_call *call, struct config_files *ret, struct err *err)
{
    const struct graphql_value *list = graphql_arg(call, "files");
    size_t count = list->kind == GRAPHQL_LIST ? list->count : 0;

    if (count > CONFIG_FILES_MOST)
        return err_set(err, ERR_LIMIT, 0, "a version has at most %d files", CONFIG_FILES_MOST);
    struct config_file *items = ARENA_ARRAY(call->arena, struct config_file, count + 1);
    size_t all = 0; /* one value of the request may stand for many files */

    *ret = (struct config_files){ .items = items };
    for (size_t i = 0; i < count; i++) {
        struct config_file *f = &items[ret->count];

        f->path = graphql_value_field(&list->items[i], "path")->text;
        if (!safe_path(str_from(f->path, str_starts(f->path, STR("./")) ? 2 : 0), err))
            return err_context(err, "`path` of file %zu", i + 1);
        if (config_files_find(ret, f->path) != NULL)
            return err_set(err, ERR_PERMANENT, 0, "the file %.*s is sent twice",
                           (int)(f->path.len < 150 ? f->path.len : 150), f->path.ptr);
        if (!api_config_read_content(call, &list->items[i], &f->bytes, err))
            return err_context(err, "file %.*s", (int)(f->path.len < 150 ? f->path.len : 150),
                               f->path.ptr);
        all += f->bytes.len;
        if (all > CONFIG_FILES_BYTES)
            return err_set(err, ERR_LIMIT, 0, "the files of a version have at most %d MiB",
                           CONFIG_FILES_BYTES >> 20);
        ret->count++;
    }
    return true;
}

/* What would be stored with a text that replaces the version: what was sent, else what it has. */
static bool files_after(struct graphql_call *call, const struct config_files *had, struct arena *a,
                        struct config_files *ret, struct err *err)
{
    struct config_files sent;

    if (!api_config_files(call, &sent, err))
        return false;
    struct config_file *items = ARENA_ARRAY(a, struct config_file, sent.count + had->count + 1);
    size_t n = 0;

    for (size_t i = 0; i < sent.count; i++)
        items[n++] = sent.items[i];
    for (size_t i = 0; i < had->count; i++)
        if (config_files_find(&sent, had->items[i].path) == NULL)
            items[n++] = had->items[i];
    *ret = (struct config_files){ items, n };
    return true;
}

/* Of two versions, or (to 0) of a version and a text with what was sent along. */
static bool diff_files(struct graphql_call *call, int64_t from, int64_t to, const char *old_name,
                       const char *new_name, struct buf *out, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(FILES_ARENA_MOST);
    struct file_side old = { .name = old_name }, new = { .name = new_name };

    return version_files(api_store(call), from, &a, &old.files, err) &&
           (to == 0 ? files_after(call, &old.files, &a, &new.files, err)
                    : version_files(api_store(call), to, &a, &new.files, err)) &&
           file_diff(&old, &new, out, err);
}

static bool diff(struct graphql_call *call, struct err *err)
{
    AUTO(buf_done) struct buf out = BUF_INIT(DIFF_MOST);
    AUTO(buf_done) struct buf body = BUF_INIT(DIFF_MOST);
    struct str text = graphql_arg_text(call, "text");
    struct version a, b = { 0 };
    int64_t newest;
    char old_name[40], new_name[40] = "the text";

    if (!named_version(call, "from", &a, &newest, err) ||
        (text.ptr == NULL && !named_version(call, "to", &b, &newest, err)))
        return err->kind == ERR_NONE ? err_set(err, ERR_PERMANENT, 0, "there is no such version")
                                     : false;
    (void)snprintf(old_name, sizeof old_name, "version %lld", (long long)a.number);
    if (text.ptr == NULL)
        (void)snprintf(new_name, sizeof new_name, "version %lld", (long long)b.number);
    else if (!config_without_node(text, &body, err))
        return false;
    if (!diff_text(a.body, text.ptr != NULL ? buf_view(&body) : b.body, old_name, new_name, &out,
                   err) ||
        !diff_files(call, a.number, text.ptr != NULL ? 0 : b.number, old_name, new_name, &out, err))
        return false;
    return graphql_set_text(call, buf_view(&out));
}

/* ---- changes ---- */

struct result {
    const struct shown *version;
    const struct problem_list *problems, *warnings;
    struct losses losses;
};

struct shown_problem {
    int64_t line, column;
    const char *message, *hint;
};

const struct problem_list *api_keep_problems(struct arena *a, const struct problem_list *from)
{
    struct problem_list *to = ARENA_NEW(a, struct problem_list);

    to->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        const struct problem *p = &from->items[i];

        to->items[i] =
            (struct problem){ .place = p->place, .message = arena_text(a, str_of(p->message)) };
        if (p->hint != NULL)
            to->items[i].hint = arena_text(a, str_of(p->hint));
    }
    return to;
}

static bool is_set(const struct graphql_call *call, const char *flag)
{
    bool set = false;

    (void)graphql_arg_bool(call, flag, &set);
    return set;
}

static struct live_change change_of(const struct graphql_call *call, struct str text,
                                    const struct config_files *files)
{
    return (struct live_change){
        .text = text, .by = api_name(call), .force = is_set(call, "force"), .files = files
    };
}

static bool refuse_beside_file(const struct graphql_call *call, struct err *err)
{
    struct file_config *f = engine_file_config(api_engine(call));

    return f == NULL ||
           err_set(
               err, ERR_CONFIG, 0,
               "the configuration of this node is its file %.150s (`node.config: file`): change "
               "it there, then send SIGHUP to the node or restart it",
               file_config_name(f));
}

static bool api_config_apply(struct graphql_call *call, struct live_change *change, struct err *err)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct result *r = ARENA_NEW(call->arena, struct result);
    struct engine *e = api_engine(call);
    int64_t number, over;
    struct version v;

    if (!refuse_beside_file(call, err) || !api_may_apply(call, change->text, &over, err))
        return false;
    change->confirm = graphql_arg_text(call, "confirm");
    change->over = over;
    bool ok = live_apply(engine_live(e), change, &report, call->arena, &r->losses, &number, err);

    if (!ok && report.problems.count == 0)
        return false;
    r->problems = api_keep_problems(call->arena, &report.problems);
    r->warnings = api_keep_problems(call->arena, &report.warnings);
    if (ok) {
        if (!version_get(engine_store(e), number, call->arena, &v, err))
            return err_behind(err,
                              "version %lld is applied, but cannot be shown: see `waybill config "
                              "history`",
                              (long long)number);
        r->version = api_config_show(call, &v, number);
    }
    return graphql_set_object(call, r);
}

/* Compiles the text to a plan and discards it; nothing is stored. */
static bool config_check(struct graphql_call *call, struct err *err)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct result *r = ARENA_NEW(call->arena, struct result);
    struct live *live = engine_live(api_engine(call));
    struct config_files files;
    struct plan *plan = NULL;

    if (!api_config_files(call, &files, err))
        return false;
    struct live_change change = change_of(call, graphql_arg_text(call, "text"), &files);

    int64_t from = clock_mono_us();

    (void)graphql_arg_int(call, "filesOf", &change.files_of);
    bool ok = live_propose(live, &change, &report, &plan, err)
                  ? live_losses(live, plan, call->arena, &r->losses, err)
                  : report.problems.count > 0;

    plan_unref(plan);
    graphql_lend(call, clock_mono_us() - from); /* steps in cages are made, one after the other */
    if (!ok)
        return false;
    r->problems = api_keep_problems(call->arena, &report.problems);
    r->warnings = api_keep_problems(call->arena, &report.warnings);
    return graphql_set_object(call, r);
}

static bool config_apply(struct graphql_call *call, struct err *err)
{
    struct config_files files;

    if (!api_config_files(call, &files, err))
        return false;
    struct live_change change = change_of(call, graphql_arg_text(call, "text"), &files);

    change.note = graphql_arg_text(call, "note");
    return api_config_apply(call, &change, err);
}

static bool config_revert(struct graphql_call *call, struct err *err)
{
    struct version v;
    int64_t newest;
    char note[64];

    if (!named_version(call, "version", &v, &newest, err))
        return err->kind == ERR_NONE ? err_set(err, ERR_PERMANENT, 0, "there is no such version")
                                     : false;
    (void)snprintf(note, sizeof note, "back to version %lld", (long long)v.number);
    struct live_change change = change_of(call, v.body, NULL);

    change.note = str_of(note);
    change.files_of = v.number;
    return api_config_apply(call, &change, err);
}

static bool problem_at(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    const struct problem *p = &((const struct problem_list *)list)->items[index];
    struct shown_problem *s = ARENA_NEW(call->arena, struct shown_problem);

    (void)err;
    *s = (struct shown_problem){
        .line = p->place.line, .column = p->place.column, .message = p->message, .hint = p->hint
    };
    return graphql_set_object(call, s);
}

bool api_set_problems(struct graphql_call *call, const struct problem_list *list)
{
    return graphql_set_list(call, list, list->count, problem_at);
}

static bool result_problems(struct graphql_call *call, struct err *err)
{
    (void)err;
    return api_set_problems(call, ((const struct result *)call->parent)->problems);
}

static bool result_warnings(struct graphql_call *call, struct err *err)
{
    (void)err;
    return api_set_problems(call, ((const struct result *)call->parent)->warnings);
}

static bool result_losses(struct graphql_call *call, struct err *err)
{
    const struct losses *l = &((const struct result *)call->parent)->losses;

    (void)err;
    return graphql_set_structs(call, l->list, l->count, sizeof *l->list);
}

static bool result_confirm(struct graphql_call *call, struct err *err)
{
    const struct losses *l = &((const struct result *)call->parent)->losses;

    (void)err;
    return l->grave > 0 ? graphql_set_text(call, str_of(l->confirm)) : graphql_set_null(call);
}

const struct graphql_resolver api_config[] = {
    { .field = "Query.config", .fn = config },
    { .field = "Query.configHistory", .fn = history },
    { .field = "Query.configDiff", .fn = diff },
    { .field = "Query.configCheck", .fn = config_check },
    { .field = "ConfigCheck.problems", .fn = result_problems },
    { .field = "ConfigCheck.warnings", .fn = result_warnings },
    { .field = "ConfigCheck.losses", .fn = result_losses },
    { .field = "ConfigCheck.confirm", .fn = result_confirm },
    { .field = "Mutation.configApply", .fn = config_apply },
    { .field = "Mutation.configRevert", .fn = config_revert },
    GRAPHQL_MEMBER("ConfigVersion.version", struct shown, version),
    GRAPHQL_MEMBER("ConfigVersion.made", struct shown, made_us),
    GRAPHQL_MEMBER("ConfigVersion.by", struct shown, by),
    GRAPHQL_MEMBER("ConfigVersion.note", struct shown, note),
    GRAPHQL_MEMBER("ConfigVersion.sha256", struct shown, sha256),
    GRAPHQL_MEMBER("ConfigVersion.live", struct shown, live),
    { .field = "ConfigVersion.text", .fn = version_text },
    { .field = "ConfigVersion.files", .fn = config_version_files },
    GRAPHQL_MEMBER("ConfigFile.path", struct version_file, path),
    GRAPHQL_MEMBER("ConfigFile.size", struct version_file, size),
    GRAPHQL_MEMBER("ConfigFile.sha256", struct version_file, sha256),
    { .field = "ConfigFile.text", .fn = file_text },
    { .field = "ConfigFile.base64", .fn = file_base64 },
    GRAPHQL_POINTER("ConfigResult.version", struct result, version),
    { .field = "ConfigResult.problems", .fn = result_problems },
    { .field = "ConfigResult.warnings", .fn = result_warnings },
    { .field = "ConfigResult.losses", .fn = result_losses },
    { .field = "ConfigResult.confirm", .fn = result_confirm },
    GRAPHQL_MEMBER("ConfigLoss.kind", struct loss, kind),
    GRAPHQL_MEMBER("ConfigLoss.name", struct loss, name),
    GRAPHQL_MEMBER("ConfigLoss.left", struct loss, left),
    GRAPHQL_MEMBER("Problem.line", struct shown_problem, line),
    GRAPHQL_MEMBER("Problem.column", struct shown_problem, column),
    GRAPHQL_MEMBER("Problem.message", struct shown_problem, message),
    GRAPHQL_MEMBER("Problem.hint", struct shown_problem, hint),
};
const size_t api_config_count = sizeof api_config / sizeof api_config[0];
