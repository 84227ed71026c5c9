#include "core/mail/mail_address.h"

static bool mail_is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool mail_is_atext(char c)
{
    return mail_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

/* Atoms with single dots between them. */
static bool is_local_part(struct str s)
{
    if (s.len == 0 || s.len > MAIL_LOCAL_MOST)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '.' ? i == 0 || i + 1 == s.len || s.ptr[i + 1] == '.'
                            : !mail_is_atext(s.ptr[i]))
            return false;
    return true;
}

/* "[192.0.2.1]", "[IPv6:2001:db8::1]": only its characters are looked at, the server knows the
 * rest. */
static bool is_literal(struct str s)
{
    if (s.len < 3 || s.ptr[0] != '[' || s.ptr[s.len - 1] != ']')
        return false;
    for (size_t i = 1; i + 1 < s.len; i++)
        if (!mail_is_alnum(s.ptr[i]) && s.ptr[i] != '.' && s.ptr[i] != ':')
            return false;
    return true;
}

static bool is_mail_domain(struct str s)
{
    if (is_literal(s))
        return true;
    for (size_t i = 0; i < s.len; i++) {
        bool first = i == 0 || s.ptr[i - 1] == '.', last = i + 1 == s.len || s.ptr[i + 1] == '.';

        if (s.ptr[i] == '.' || s.ptr[i] == '-' ? first || last : !mail_is_alnum(s.ptr[i]))
            return false;
    }
    return s.len > 0;
}

static bool check_mail_address(struct str s, struct err *err)
{
    ptrdiff_t at = str_find(s, '@');

    if (s.len > MAIL_ADDRESS_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the mail address is longer than %d characters",
                       MAIL_ADDRESS_MOST);
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] >= 0x80)
            return err_set(err, ERR_PERMANENT, 0,
                           "a mail address has only ASCII letters; write its domain as xn--...");
    if (at < 0 || !is_local_part(str_mem(s.ptr, (size_t)at)) ||
        !is_mail_domain(str_from(s, (size_t)at + 1)))
        return err_set(err, ERR_PERMANENT, 0,
                       "it is no mail address: write NAME@DOMAIN, or TEXT <NAME@DOMAIN>");
    return true;
}

/* The text before the address, without the quotes around it. */
static bool check_mail_name(struct str *name, struct err *err)
{
    struct str s = str_trim(*name);

    if (s.len >= 2 && s.ptr[0] == '"' && s.ptr[s.len - 1] == '"')
        s = str_mem(s.ptr + 1, s.len - 2);
    if (s.len > MAIL_NAME_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the name of a mailbox is longer than %d bytes",
                       MAIL_NAME_MOST);
    if (str_has_control(s) || !str_is_utf8(s))
        return err_set(err, ERR_PERMANENT, 0,
                       "the name of a mailbox holds a control character, or is not UTF-8");
    *name = s;
    return true;
}

bool mail_address_parse(struct str text, struct mail_address *ret, struct err *err)
{
    struct str s = str_trim(text);
    ptrdiff_t open = str_find(s, '<');

    *ret = (struct mail_address){ .address = s };
    if (open >= 0 && s.ptr[s.len - 1] == '>') {
        ret->name = str_mem(s.ptr, (size_t)open);
        ret->address = str_mem(s.ptr + open + 1, s.len - (size_t)open - 2);
    }
    return check_mail_address(ret->address, err) && check_mail_name(&ret->name, err);
}

struct str mail_address_domain(const struct mail_address *a)
{
    return str_from(a->address, (size_t)(str_find(a->address, '@') + 1));
}
