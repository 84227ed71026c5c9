#include "app/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/change.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"

static const struct {
    const char *option, *field;
} texts[] = {
    { "sender", "Waybill-Sender" },
    { "receiver", "Waybill-Receiver" },
    { "type", "Waybill-Type" },
};

bool make_is_straight(const struct args *a)
{
    bool any = args_list_at(a, "attribute", 0) != NULL;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        any = any || args_text(a, texts[i].option) != NULL;
    return any;
}

bool make_headers(struct headers *h, const struct args *a)
{
    const char *value;
    char name[CHANGE_BY];

    if (!make_is_straight(a))
        return true;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if ((value = args_text(a, texts[i].option)) != NULL &&
            !headers_add(h, a, str_of(texts[i].field), str_of(value)))
            return false;
    for (size_t i = 0; (value = args_list_at(a, "attribute", i)) != NULL; i++) {
        if (str_find(str_of(value), '=') < 1) {
            (void)args_wrong(a, "--attribute takes K=V, not \"%s\"", value);
            return false;
        }
        if (!headers_add(h, a, STR("Waybill-Attribute"), str_of(value)))
            return false;
    }
    return headers_add(h, a, STR("Waybill-By"), str_of(change_by(a, name)));
}

int make_with_body(struct client *c, const struct args *a, const struct headers *h,
                   const char *path, make_fn *fn)
{
    if (path == NULL) {
        if (isatty(STDIN_FILENO))
            (void)fputs("the document is read from the terminal; Ctrl-D ends it\n", stderr);
        return fn(c, a, h, STDIN_FILENO, "stdin");
    }
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return print_fail(EXIT_IO, "cannot read %s: %s", path, strerror(errno));
    return fn(c, a, h, fd, path);
}

/* Prints the id on stdout, for scripts, and the message on stderr, for people. */
static void print_made(const struct args *a, const char *id, const char *message)
{
    if (args_flag(a, "json")) {
        json_auto_t *line = message != NULL ? json_pack("{s:s,s:s}", "id", id, "message", message)
                                            : json_pack("{s:s}", "id", id);

        print_json(line);
        return;
    }
    print_text(stdout, id);
    (void)fputc('\n', stdout);
    (void)fflush(stdout);
    if (message != NULL && *message != '\0') {
        print_text(stderr, message);
        (void)fputc('\n', stderr);
    }
}

int make_post(struct client *c, const struct args *a, const struct headers *h, const char *path,
              int fd, const char *title)
{
    json_auto_t *answer = NULL;
    struct client_upload up = { .path = path, .title = title, .fd = fd, .headers = h->line };

    if (!client_post(c, &up, &answer))
        return c->exit_code;
    const char *id = member_text(answer, "document");

    if (id == NULL)
        return client_odd(c, "no document's id in it");
    print_made(a, id, member_text(answer, "message"));
    return EXIT_DONE;
}

/* ---- docs edit ---- */

static int post_edit(struct client *c, const struct args *a, const struct headers *h, int fd,
                     const char *title)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(64 << 10);
    AUTO_TEXT id = client_escape(c, a->operand[0]);
    bool straight = args_flag(a, "route") || make_is_straight(a);

    return make_post(c, a, h,
                     arena_printf(&arena, "/documents/%s/edit?as=%s&from=%s", id,
                                  args_flag(a, "beside") ? "beside" : "supersede",
                                  straight ? "router" : "gateway"),
                     fd, title);
}

static bool edit_headers(struct headers *h, const struct args *a)
{
    const char *file = args_text(a, "name"), *key = args_text(a, "key");
    char name[CHANGE_BY];

    h->line[h->count++] = "Content-Type:"; /* libcurl sends none, so the original's is kept */
    return (make_is_straight(a)
                ? make_headers(h, a)
                : headers_add(h, a, STR("Waybill-By"), str_of(change_by(a, name)))) &&
           (file == NULL || headers_add(h, a, STR("Waybill-Name"), str_of(file))) &&
           (key == NULL || headers_add(h, a, STR("Idempotency-Key"), str_of(key)));
}

int make_edit(const struct args *a)
{
    const char *path = a->operand[1];
    AUTO(headers_done) struct headers h = { .arena = ARENA_INIT(2 << 20) };
    AUTO(client_close) struct client c = { 0 };

    if (path != NULL && str_is(str_of(path), "-"))
        path = NULL;
    if (!args_name(a, 0) || !edit_headers(&h, a))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    return make_with_body(&c, a, &h, path, post_edit);
}

const struct arg_option make_edit_options[] = {
    { .name = "beside",
      .kind = ARG_FLAG,
      .help = "leave the original as it is; else the edit takes its place" },
    { .name = "route",
      .kind = ARG_FLAG,
      .help = "straight to the router, with what is known of the original" },
    MAKE_OPTIONS,
    { .name = "name", .kind = ARG_TEXT, .value = "NAME", .help = "its file name" },
    { .name = "key",
      .kind = ARG_TEXT,
      .value = "KEY",
      .help = "Idempotency-Key: sent twice, made once" },
    { 0 },
};
