#include "base/pq_address.h"

#include <errno.h>
#include <string.h>

const char *pq_address_given(const PQconninfoOption *options, const char *name)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, name) == 0)
            return options->val != NULL ? options->val : "";
    return "";
}

/* An unescaped / or @ in a password moves a part of it into one of these fields, which libpq
 * shows in its messages. */
static bool pq_address_is_plausible(const PQconninfoOption *options)
{
    const char *port = pq_address_given(options, "port");

    return strchr(pq_address_given(options, "host"), '@') == NULL &&
           strchr(pq_address_given(options, "dbname"), '@') == NULL &&
           strspn(port, "0123456789,") == strlen(port);
}

bool pq_address_parse(const char *address, PQconninfoOption **ret, struct err *err)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(address, &why);

    PQfreemem(why); /* may quote the password */
    if (options != NULL && pq_address_is_plausible(options)) {
        *ret = options;
        return true;
    }
    PQconninfoFree(options);
    return err_set(err, ERR_CONFIG, EINVAL,
                   "the address of the database is not of the form "
                   "postgres://user:password@host:port/database (in the password write %%40 for "
                   "@ and %%2F for /)");
}

static void pq_address_hide_secret(char *text, const char *secret)
{
    size_t n = strlen(secret);

    for (char *at = text; n > 0 && (at = strstr(at, secret)) != NULL;) {
        memset(at, '*', n);
        at += n;
    }
}

void pq_address_hide(const PQconninfoOption *options, char *text)
{
    pq_address_hide_secret(text, pq_address_given(options, "password"));
    pq_address_hide_secret(text, pq_address_given(options, "sslpassword"));
}
