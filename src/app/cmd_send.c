/* cmd_send.c - `waybill send`: sends one document to a gateway. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/dry_print.h"
#include "app/exit_code.h"
#include "app/headers.h"
#include "app/make.h"
#include "app/print.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/require.h"

enum { DRY_MOST = 6 << 20, READ_PIECE = 256 << 10 };

/* Header fields about the length of the body, which libcurl writes. */
static bool is_reserved(struct str name)
{
    return str_eq_nocase(name, STR("Content-Length")) ||
           str_eq_nocase(name, STR("Transfer-Encoding"));
}

static const char *cmd_send_type_of(const char *path)
{
    static const struct {
        const char *extension, *type;
    } known[] = {
        { ".xml", "application/xml" },
        { ".json", "application/json" },
        { ".csv", "text/csv" },
        { ".txt", "text/plain" },
    };
    const char *dot = path == NULL ? NULL : strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof known / sizeof known[0]; i++)
        if (str_eq_nocase(str_of(dot), str_of(known[i].extension)))
            return known[i].type;
    return "application/octet-stream";
}

static bool collect_headers(struct headers *h, const struct args *a, const char *path)
{
    const char *name = args_text(a, "name"), *key = args_text(a, "key"), *line;
    bool typed = false;

    for (size_t i = 0; (line = args_list_at(a, "header", i)) != NULL; i++) {
        struct str head, value = str_trim(str_cut(str_of(line), ':', &head));

        if (str_find(str_of(line), ':') < 0 || is_reserved(head)) {
            (void)args_wrong(a, "--header takes K:V and no length of its own, not \"%s\"", line);
            return false;
        }
        typed = typed || str_eq_nocase(head, STR("Content-Type"));
        if (!headers_add(h, a, head, value))
            return false;
    }
    return (typed || headers_add(h, a, STR("Content-Type"), str_of(cmd_send_type_of(path)))) &&
           (name == NULL || headers_add(h, a, STR("Waybill-Name"), str_of(name))) &&
           (key == NULL || headers_add(h, a, STR("Idempotency-Key"), str_of(key)));
}

/* Reads the whole body into memory, for --dry. */
static bool read_body(struct client *c, int fd, const char *title, struct buf *to)
{
    struct err err;
    ssize_t n;

    do {
        if (!buf_reserve(to, READ_PIECE, &err)) {
            c->exit_code = print_fail(EXIT_NO, "--dry takes documents up to %d MiB, %s is larger",
                                      DRY_MOST >> 20, title);
            return false;
        }
        n = read(fd, to->ptr + to->len, READ_PIECE);
        if (n > 0)
            buf_added(to, (size_t)n);
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0)
        c->exit_code = print_fail(EXIT_IO, "cannot read %s: %s", title, strerror(errno));
    return n == 0;
}

static json_t *headers_json(const struct headers *h)
{
    json_t *list = json_array();

    for (size_t i = 0; i < h->count; i++) {
        struct str line = str_of(h->line[i]);
        bool empty = line.ptr[line.len - 1] == ';'; /* see headers_add() */

        (void)json_array_append_new(list, empty ? json_sprintf("%.*s:", (int)line.len - 1, line.ptr)
                                                : json_string(line.ptr));
    }
    return list;
}

static int ask_dry(struct client *c, const struct args *a, const struct headers *h, int fd,
                   const char *title)
{
    AUTO(buf_done) struct buf body = BUF_INIT(DRY_MOST + READ_PIECE);
    AUTO(buf_done) struct buf text = BUF_INIT(DRY_MOST * 2);
    json_auto_t *data = NULL;
    json_t *variables;
    struct err err;

    if (!read_body(c, fd, title, &body))
        return c->exit_code;
    if (body.len > DRY_MOST || !base64_encode(buf_view(&body), &text, &err))
        return print_fail(EXIT_NO, "--dry takes documents up to %d MiB, %s is larger",
                          DRY_MOST >> 20, title);
    variables = json_pack("{s:s,s:s%,s:o,s:s?}", "gateway", a->operand[0], "payload", text.ptr,
                          text.len, "headers", headers_json(h), "name", args_text(a, "name"));
    if (variables == NULL)
        return args_wrong(a, "names and headers of --dry are text in UTF-8");
    if (!client_graphql(c,
                        "query($gateway: String!, $payload: String!, $headers: [String!],"
                        " $name: String) { rehearse(gateway: $gateway, payload: $payload,"
                        " headers: $headers, name: $name) { " DRY_FIELDS " } }",
                        variables, &data))
        return c->exit_code;
    const json_t *found = json_object_get(data, "rehearse");

    if (!json_is_object(found))
        return client_odd(c, "no result in it");
    if (args_flag(a, "json"))
        print_json(found);
    else
        dry_print(found);
    return json_is_object(json_object_get(found, "error")) ? EXIT_NO : EXIT_DONE;
}

static int cmd_send_post(struct client *c, const struct args *a, const struct headers *h, int fd,
                         const char *title)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(64 << 10);
    AUTO_TEXT gateway = client_escape(c, a->operand[0]);
    const char *path = make_is_straight(a) ? arena_printf(&arena, "/documents?gateway=%s", gateway)
                                           : arena_printf(&arena, "/in/%s", gateway);

    return make_post(c, a, h, path, fd, title);
}

static int run_send(const struct args *a)
{
    const char *path = a->operand[1];
    AUTO(headers_done) struct headers h = { .arena = ARENA_INIT(2 << 20) };
    AUTO(client_close) struct client c = { 0 };

    if (path != NULL && str_is(str_of(path), "-"))
        path = NULL;
    if (make_is_straight(a) && (args_flag(a, "dry") || args_list_at(a, "header", 0) != NULL))
        return args_wrong(a, "--header and --dry are for documents that a gateway reads");
    if (!make_is_straight(a) && args_text(a, "by") != NULL)
        return args_wrong(a, "--by is for documents that go straight to the router");
    if (!args_name(a, 0) || !collect_headers(&h, a, path) || !make_headers(&h, a))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    return make_with_body(&c, a, &h, path, args_flag(a, "dry") ? ask_dry : cmd_send_post);
}

static const struct arg_option send_options[] = {
    { .name = "header", .kind = ARG_LIST, .value = "K:V", .help = "a header for the gateway" },
    { .name = "name", .kind = ARG_TEXT, .value = "NAME", .help = "the document's file name" },
    { .name = "key",
      .kind = ARG_TEXT,
      .value = "KEY",
      .help = "Idempotency-Key: sent twice, accepted once" },
    { .name = "dry",
      .kind = ARG_FLAG,
      .help = "only say where it would go; nothing is stored or sent" },
    MAKE_OPTIONS,
    { 0 },
};

const struct verb cmd_send = {
    .name = "send",
    .summary = "hand one document to a gateway",
    .about = "The document comes from FILE, or from stdin.  Its id is printed once it is on\n"
             "stable storage.  The token may be a key of the gateway (see `waybill help key`).\n"
             "Content-Type follows the extension (xml json csv txt) unless a --header says it.\n"
             "When the answer is lost, send again with the same --key: it is accepted once.\n"
             "\n"
             "With --dry the node extracts and routes it with the live configuration and says\n"
             "what it found; the exit status is 1 when it would be a dead letter.  That needs\n"
             "the admin token.\n"
             "\n"
             "With --sender, --receiver, --type or --attribute it goes straight to the router\n"
             "with these, and nothing is extracted; GATEWAY is where it counts as come in.\n"
             "That needs the admin token, and is noted in its timeline.\n",
    .example = "waybill send orders order.xml --header X-Sender:acme --key 4711\n"
               "waybill send orders order.xml --dry\n"
               "waybill send orders order.xml --sender acme --receiver hub --type order\n",
    .forms = (const struct arg_form[]){ { .usage = "GATEWAY [FILE|-] [--header K:V]... "
                                                   "[--key KEY] [--dry] [--type T ...]",
                                          .summary = "hand FILE, or stdin, to GATEWAY",
                                          .least = 1,
                                          .most = 2,
                                          .options = send_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_send },
                                        { 0 } },
};
