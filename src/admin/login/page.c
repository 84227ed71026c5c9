#include "admin/login/page.h"

#include "base/auto.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/require.h"

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:12vh auto;max-width:22rem;padding:0 1rem;"
    "color:#1c2430;background:#f6f7f9}"
    "h1{font-size:1.2rem}label{display:block;margin:.8rem 0 .2rem}"
    "input{font:inherit;width:100%;box-sizing:border-box;padding:.4rem;border:1px solid #98a2b3;"
    "border-radius:4px}"
    "button{font:inherit;margin-top:1rem;padding:.4rem 1rem;border:0;border-radius:4px;"
    "background:#1f5fbf;color:#fff}"
    ".bad{color:#a61b1b}"
    "@media(prefers-color-scheme:dark){body{color:#e4e7ec;background:#14181f}"
    "input{background:#1c222c;color:inherit}.bad{color:#ff9a8f}a{color:#8ab4f8}}";

void login_page_fields(struct buf *fields)
{
    struct sha256 sum = digest_of(STR(style));
    AUTO(buf_done) struct buf text = BUF_INIT(64);
    struct err err = { 0 };

    require(base64_encode(str_mem(sum.bytes, SHA256_SIZE), &text, &err));
    buf_printf(fields,
               "Content-Security-Policy: default-src 'none'; style-src 'sha256-%s'; form-action "
               "'self'; base-uri 'none'; frame-ancestors 'none'\r\n"
               "X-Content-Type-Options: nosniff\r\n"
               "Referrer-Policy: same-origin\r\n"
               "Cross-Origin-Opener-Policy: same-origin\r\n"
               "Cache-Control: no-store\r\n",
               text.ptr);
}

static void escape(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        switch (text.ptr[i]) {
        case '&':
            buf_puts(to, "&amp;");
            break;
        case '<':
            buf_puts(to, "&lt;");
            break;
        case '>':
            buf_puts(to, "&gt;");
            break;
        case '"':
            buf_puts(to, "&quot;");
            break;
        default:
            buf_putc(to, text.ptr[i]);
        }
}

static void login_page_begin(struct buf *to, const char *title)
{
    buf_printf(to,
               "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
               "content=\"width=device-width\"><title>%s - Waybill</title><style>%s</style>"
               "<h1>%s</h1>",
               title, style, title);
}

void login_page_choose(struct buf *to, struct str user, struct str problem)
{
    login_page_begin(to, user.len > 0 ? "Choose a password" : "The first user of this node");
    if (problem.len > 0) {
        buf_puts(to, "<p class=\"bad\" role=\"alert\">");
        escape(to, problem);
        buf_puts(to, "</p>");
    }
    buf_puts(to, "<form method=\"post\">");
    buf_puts(to, "<label for=\"user\">User</label><input id=\"user\" name=\"user\" "
                 "autocomplete=\"username\" required");
    if (user.len > 0) {
        buf_puts(to, " readonly value=\"");
        escape(to, user);
        buf_putc(to, '"');
    }
    buf_puts(to, "><label for=\"password\">Password, at least 12 characters</label>"
                 "<input id=\"password\" name=\"password\" type=\"password\" minlength=\"12\" "
                 "autocomplete=\"new-password\" required>"
                 "<button>Set password and log in</button></form></html>\n");
}

void login_page_say(struct buf *to, const char *title, struct str text)
{
    login_page_begin(to, title);
    buf_puts(to, "<p>");
    escape(to, text);
    buf_puts(to, "</p><p><a href=\"/\">To the console</a></p></html>\n");
}
