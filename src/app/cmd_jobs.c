/* cmd_jobs.c - `waybill jobs`: recurring work. */
#include "app/cmd.h"
#include "app/jobs_next.h"

const struct verb cmd_jobs = {
    .name = "jobs",
    .summary = "when recurring work runs",
    .about =
        "`jobs next` computes the times of a schedule from the command line, or of the jobs of\n"
        "a configuration file, and asks no node.  Each is shown on the clock of the\n"
        "schedule's time zone and in UTC, with what changes of the clock do to it.  Times\n"
        "that are left out stand between them, with the reason.  Iterations count as if they\n"
        "took no time and had something to do.\n"
        "\n"
        "With --last, the last time that was served, it tells what happens to those that were\n"
        "missed since then, if nodes start again at --from.\n",
    .example = "waybill jobs next --at \"0 2 * * *\" --zone Europe/Berlin -n 5\n"
               "waybill jobs next --at 08:00 --at 20:00 --holidays 12-25 --window mon-fri\n"
               "waybill jobs next --at @hourly --last 7h --catch-up all\n"
               "waybill jobs next --config waybill.yaml nightly-call\n",
    .forms = (const struct arg_form[]){ { .word = "next",
                                          .usage = "--at TIME|--every D|--once T|--config FILE "
                                                   "[NAME...] [-n N] ...",
                                          .summary = "the next times of a schedule",
                                          .most = 1000,
                                          .options = jobs_next_options,
                                          .common = FORM_JSON,
                                          .run = jobs_next_run },
                                        { 0 } },
};
