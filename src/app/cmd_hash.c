/* cmd_hash.c - `waybill hash`: the hash of a password, for `users` of a gateway. */
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/quiet_input.h"
#include "base/auto.h"
#include "engine/intake/password.h"

static int run_hash(const struct args *a)
{
    AUTO(quiet_input_done) struct quiet_input v = { 0 };
    int got = quiet_input_read(a->operand[0], "password", "", &v);
    char hash[PASSWORD_TEXT];
    struct err err = { 0 };

    if (got != EXIT_DONE)
        return got;
    if (!password_hash(str_mem(v.bytes, v.len), hash, &err))
        return print_fail(EXIT_IO, "%s", err.text);
    if (args_flag(a, "json")) {
        json_auto_t *line = json_pack("{s:s}", "hash", hash);

        print_json(line);
        return EXIT_DONE;
    }
    (void)printf("%s\n", hash);
    return EXIT_DONE;
}

const struct verb cmd_hash = {
    .name = "hash",
    .summary = "the hash of a password, for `users` of a gateway",
    .about = "A gateway with `auth: basic` has the names of its users and an argon2id hash of\n"
             "each password.  The password is typed without echo, or read from FILE or stdin;\n"
             "one line end behind it is left out.  The same password has another hash each\n"
             "time.  No node is needed.\n",
    .example = "waybill hash\n"
               "waybill hash password.txt\n",
    .forms = (const struct arg_form[]){ { .usage = "[FILE|-]",
                                          .summary = "print the hash",
                                          .most = 1,
                                          .common = FORM_JSON,
                                          .run = run_hash },
                                        { 0 } },
};
