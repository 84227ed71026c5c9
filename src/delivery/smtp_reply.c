#include "delivery/smtp_reply.h"

#include "core/problem.h"

enum smtp_outcome {
    OUTCOME_USUAL,
    OUTCOME_DELIVERED,
    OUTCOME_RETRY,
    OUTCOME_DOUBT,
    OUTCOME_REJECTED
};

static bool is_about_login(int64_t code)
{
    return code == 530 || code == 534 || code == 535 || code == 538;
}

enum verdict_kind smtp_reply_kind(const struct smtp_replies *r, int64_t code)
{
    static const enum verdict_kind kinds[] = { [OUTCOME_DELIVERED] = VERDICT_DELIVERED,
                                               [OUTCOME_RETRY] = VERDICT_RETRY,
                                               [OUTCOME_DOUBT] = VERDICT_DOUBT,
                                               [OUTCOME_REJECTED] = VERDICT_REJECTED };

    if (code < SMTP_REPLY_LEAST)
        return VERDICT_DELIVERED;
    if (r->outcomes[code - SMTP_REPLY_LEAST] != OUTCOME_USUAL)
        return kinds[r->outcomes[code - SMTP_REPLY_LEAST]];
    if (is_about_login(code))
        return VERDICT_CREDENTIAL;
    return code < 500 ? VERDICT_RETRY : VERDICT_REJECTED;
}

/* ---- settings ---- */

static bool is_failure_code(struct str text, uint64_t *ret)
{
    return str_to_u64(text, ret) && *ret >= SMTP_REPLY_LEAST && *ret <= SMTP_REPLY_MOST;
}

bool smtp_reply_read(const struct settings *s, struct smtp_replies *ret, struct err *err)
{
    static const char *const words[] = { [OUTCOME_DELIVERED] = "delivered",
                                         [OUTCOME_RETRY] = "retry",
                                         [OUTCOME_DOUBT] = "in_doubt",
                                         [OUTCOME_REJECTED] = "rejected" };
    const struct yaml_node *map = yaml_get(s->node, "outcome");

    if (map == NULL || map->kind != YAML_MAP)
        return true;
    for (const struct yaml_node *n = map->first; n != NULL; n = n->next) {
        unsigned char i = OUTCOME_DELIVERED;
        uint64_t code;
        struct str word;

        if (!settings_expand(s, n, &word, err))
            return err_context(err, "`outcome`");
        while (i <= OUTCOME_REJECTED && !str_is(word, words[i]))
            i++;
        if (!is_failure_code(n->key->text, &code) || i > OUTCOME_REJECTED)
            return err_set(err, ERR_CONFIG, 0, "`outcome`: `%.*s` cannot be used",
                           STR_ARG(str_first(n->key->text, 40)));
        ret->outcomes[code - SMTP_REPLY_LEAST] = i;
    }
    return true;
}

void smtp_reply_check(const struct yaml_node *map, struct problem_list *problems)
{
    if (map == NULL || map->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = map->first; n != NULL; n = n->next) {
        char quoted[PROBLEM_QUOTE];
        uint64_t code;

        if (!is_failure_code(n->key->text, &code))
            problem_add(problems, n->key->place, "a status is a number from 400 to 599",
                        "`%s` is no failure of a mail server", problem_quote(quoted, n->key->text));
    }
}
