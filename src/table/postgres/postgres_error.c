/* postgres_error.c - what the server says went wrong, as kinds of errors.
 *
 * Only the primary message is shown, and the names of the constraint and column: detail and context
 * have values of rows.  So has the message of a bad value, behind a colon; there it is cut.
 */
#include <stdio.h>

#include "table/postgres/postgres.h"

static bool postgres_state_is(const char *state, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strncmp(state, *list, strlen(*list)) == 0)
            return true;
    return false;
}

/* SQLSTATEs, or their classes. */
static const char *const postgres_not_now[] = { "08",    "40",    "53",    "57",    "58",
                                                "55P03", "55006", "25006", "25P03", NULL };
static const char *const postgres_session_over[] = { "08", "57P0", "25P03", "26000", NULL };
/* A privilege, a name that is not there, a feature that is not there: nothing that a row did. */
static const char *const postgres_settings[] = {
    "28", "3D", "3F", "42", "0A", "0L", "55000", NULL
};
static const char *const postgres_too_large[] = { "54", NULL };

static enum err_kind postgres_kind(const char *state)
{
    if (postgres_state_is(state, postgres_not_now) || strncmp(state, "26000", 5) == 0)
        return ERR_TRANSIENT;
    if (postgres_state_is(state, postgres_settings))
        return ERR_CONFIG;
    if (postgres_state_is(state, postgres_too_large))
        return ERR_LIMIT;
    return ERR_PERMANENT;
}

/* Without what stands behind `: "`, where it is a value. */
static void postgres_words(const PGresult *result, const char *state, char *to, size_t size)
{
    const char *why = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    const char *column = PQresultErrorField(result, PG_DIAG_COLUMN_NAME);
    size_t len;

    (void)snprintf(to, size, "%s", why != NULL ? why : "no reason is given");
    char *value = strncmp(state, "22", 2) == 0 ? strchr(to, '"') : NULL;

    if (value != NULL) {
        while (value > to && (value[-1] == ' ' || value[-1] == ':'))
            value--;
        *value = '\0';
    }
    len = strlen(to);
    if (constraint != NULL && strstr(to, constraint) == NULL)
        (void)snprintf(to + len, size - len, ", constraint %s", constraint);
    else if (column != NULL && strstr(to, column) == NULL)
        (void)snprintf(to + len, size - len, ", column %s", column);
    for (; *to != '\0'; to++)
        if ((unsigned char)*to < ' ')
            *to = ' ';
}

bool postgres_lost(struct postgres *p, struct err *err)
{
    const char *why = PQerrorMessage(p->conn); /* several lines; the first has the reason */

    p->broken = true;
    return err_set(err, ERR_TRANSIENT, 0, "the connection was lost: %.*s",
                   (int)strcspn(why, "\r\n"), why);
}

bool postgres_failed(struct postgres *p, const PGresult *result, bool kept_used, struct err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    char words[160];

    if (state == NULL)
        return postgres_lost(p, err);
    if (PQstatus(p->conn) != CONNECTION_OK || postgres_state_is(state, postgres_session_over))
        p->broken = true;
    postgres_words(result, state, words, sizeof words);
    /* A statement that ran before, for a table that has changed since: a new connection sees it. */
    if (kept_used && strcmp(state, "0A000") == 0) {
        p->broken = true;
        return err_set(err, ERR_TRANSIENT, 0, "%s (%s)", words, state);
    }
    bool contended = strcmp(state, "40P01") == 0 || strcmp(state, "55P03") == 0;

    return err_set(err, postgres_kind(state), contended ? DATABASE_CONTENDED : 0, "%s (%s)", words,
                   state);
}
