/* cmd_send.c - `waybill send`: one document into a gateway. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/require.h"

struct headers {
    struct arena arena;
    const char *line[CLIENT_HEADERS + 1]; /* NULL ends them */
    size_t count;
};

static void headers_done(struct headers *h)
{
    arena_done(&h->arena);
}

/* A header's name: a token of RFC 9110. */
static bool is_header_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!word && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return s.len > 0 && s.len <= 255;
}

static bool is_header_value(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 ? s.ptr[i] != '\t' : s.ptr[i] == 0x7f)
            return false;
    return s.len <= 8192;
}

static bool add_header(struct headers *h, const struct args *a, struct str name, struct str value)
{
    if (!is_header_name(name)) {
        (void)args_wrong(a, "\"%.*s\" is not the name of a header; write --header K:V",
                         STR_ARG(name));
        return false;
    }
    if (!is_header_value(value)) {
        (void)args_wrong(a,
                         "the value for %.*s has line breaks or other control characters, "
                         "or is over 8 KiB",
                         STR_ARG(name));
        return false;
    }
    require(h->count < CLIENT_HEADERS);
    /* libcurl drops a header "K:" without a value and sends "K;" as an empty one. */
    h->line[h->count++] =
        value.len == 0 ? arena_printf(&h->arena, "%.*s;", STR_ARG(name))
                       : arena_printf(&h->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value));
    return true;
}

/* Headers that say how long the body is are libcurl's to write. */
static bool is_reserved(struct str name)
{
    return str_eq_nocase(name, STR("Content-Length")) ||
           str_eq_nocase(name, STR("Transfer-Encoding"));
}

static const char *type_of(const char *path)
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
        if (!add_header(h, a, head, value))
            return false;
    }
    return (typed || add_header(h, a, STR("Content-Type"), str_of(type_of(path)))) &&
           (name == NULL || add_header(h, a, STR("Waybill-Name"), str_of(name))) &&
           (key == NULL || add_header(h, a, STR("Idempotency-Key"), str_of(key)));
}

static int post(struct client *c, const struct args *a, const struct headers *h, int fd,
                const char *title)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(64 << 10);
    AUTO_TEXT gateway = client_escape(c, a->operand[0]);
    json_auto_t *answer = NULL;
    struct client_upload up = {
        .path = arena_printf(&arena, "/in/%s", gateway),
        .title = title,
        .fd = fd,
        .headers = h->line,
    };

    if (!client_post(c, &up, &answer))
        return c->exit_code;
    const char *id = member_text(answer, "document");

    if (id == NULL)
        return client_odd(c, "no document's id in it");
    if (args_flag(a, "json")) {
        json_auto_t *line = json_pack("{s:s}", "id", id);

        print_json(line);
    } else {
        print_text(stdout, id);
        (void)fputc('\n', stdout);
    }
    return EXIT_DONE;
}

static int run_send(const struct args *a)
{
    const char *path = a->operand[1];
    AUTO(headers_done) struct headers h = { .arena = ARENA_INIT(2 << 20) };
    AUTO(client_close) struct client c = { 0 };

    if (path != NULL && str_is(str_of(path), "-"))
        path = NULL;
    if (!args_name(a, 0) || !collect_headers(&h, a, path))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    if (path == NULL) {
        if (isatty(STDIN_FILENO))
            (void)fputs("the document is read from the terminal; Ctrl-D ends it\n", stderr);
        return post(&c, a, &h, STDIN_FILENO, "stdin");
    }
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return print_fail(EXIT_IO, "cannot read %s: %s", path, strerror(errno));
    return post(&c, a, &h, fd, path);
}

static const struct arg_option send_options[] = {
    { .name = "header", .kind = ARG_LIST, .value = "K:V", .help = "a header for the gateway" },
    { .name = "name", .kind = ARG_TEXT, .value = "NAME", .help = "the document's file name" },
    { .name = "key",
      .kind = ARG_TEXT,
      .value = "KEY",
      .help = "Idempotency-Key: sent twice, accepted once" },
    { 0 },
};

const struct verb cmd_send = {
    .name = "send",
    .summary = "hand one document to a gateway",
    .about = "The document comes from FILE, or from stdin.  Its id is printed once it is on\n"
             "stable storage.  The token may be a key of the gateway (see `waybill help key`).\n"
             "Content-Type follows the extension (xml json csv txt) unless a --header says it.\n"
             "When the answer is lost, send again with the same --key: it is accepted once.\n",
    .example = "waybill send orders order.xml --header X-Sender:acme --key 4711\n",
    .forms = (const struct arg_form[]){ { .usage = "GATEWAY [FILE|-] [--header K:V]... "
                                                   "[--name NAME] [--key KEY]",
                                          .summary = "hand FILE, or stdin, to GATEWAY",
                                          .least = 1,
                                          .most = 2,
                                          .options = send_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_send },
                                        { 0 } },
};
