#include "base/key.h"

#include <stdio.h>
#include <string.h>

#include "base/chance.h"

enum { NAME_LETTERS = 10 };

_Static_assert((int)KEY_NAME > (int)NAME_LETTERS, "a name fits");
_Static_assert(KEY_TEXT > sizeof "wbk__" + NAME_LETTERS + KEY_SECRET, "a key fits");

static void random_letters(char *to, size_t len)
{
    /* 64 characters, so that six random bits select one; a and b are there twice. */
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789ab";

    chance_bytes(to, len);
    for (size_t i = 0; i < len; i++)
        to[i] = letters[to[i] & 63];
    to[len] = '\0';
}

void key_secret(char ret[static KEY_SECRET])
{
    random_letters(ret, KEY_SECRET - 1);
}

struct sha256 key_make(char ret_name[static KEY_NAME], char ret_text[static KEY_TEXT])
{
    char secret[KEY_SECRET];

    random_letters(ret_name, NAME_LETTERS);
    key_secret(secret);
    (void)snprintf(ret_text, KEY_TEXT, "wbk_%s_%s", ret_name, secret);
    explicit_bzero(secret, sizeof secret);
    return digest_of(str_of(ret_text));
}

struct str key_name(struct str text)
{
    struct str prefix, name, rest = str_cut(text, '_', &prefix);

    (void)str_cut(rest, '_', &name);
    return str_is(prefix, "wbk") ? name : STR("");
}
