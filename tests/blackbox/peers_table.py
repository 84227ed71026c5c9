"""What every kind of endpoint does when its server does what servers do, and which test proves it.

Rows are behaviours, columns are kinds.  A cell is the test that proves it, `FILE::FUNCTION` below tests/blackbox (or a C
test, `tests/...c::NAME`), or a Reason: why there is nothing to prove, in words that stand in the docs.
test_48_peers.py checks that all of them exist.  The column of a kind that this build does not have is left out.

A kind also has a row for each of its fault points: the node is killed there.  Points that every delivery passes are named
where the kind has few of its own.
"""
import collections

Reason = collections.namedtuple("Reason", "page words")

BEHAVIOURS = {
    "empty": "a document without bytes",
    "small": "many small ones",
    "large": "one of 64 MiB",
    "killed": "the server is killed",
    "stopped": "the server stands still",
    "swallowed": "the answer does not come back",
    "login": "a wrong password, key or certificate",
    "space": "no space there",
    "right": "no right to write",
    "taken": "the name is taken",
    "hostile": "names and values that would leave their place",
}

SFTP, FTP, S3, SQL, MLLP, SMTP, SOAP, RECEIVERS, IN_DOUBT, HERE = (f"test_{name}.py::" for name in (
    "42_sftp", "43_ftp", "42_s3", "45_sql_out", "43_mllp_out", "42_smtp", "19_soap", "21_receivers", "51_in_doubt", "48_peers"))

TABLE = {
    "sftp": {
        "empty": HERE + "test_an_empty_document",
        "small": SFTP + "test_many_small_ones_share_four_connections",
        "large": SFTP + "test_a_large_one",
        "killed": SFTP + "test_a_server_that_dies_in_the_middle",
        "stopped": SFTP + "test_a_server_that_stands_still_costs_an_attempt",
        "swallowed": SFTP + "test_the_answer_to_the_rename_is_lost",
        "login": SFTP + "test_a_wrong_password_opens_the_breaker",
        "space": HERE + "test_an_sftp_server_without_space",
        "right": SFTP + "test_a_folder_without_the_right_to_write",
        "taken": SFTP + "test_a_name_that_is_taken_is_waited_for",
        "hostile": SFTP + "test_hostile_names_stay_in_the_folder",
        "sftp.writing": SFTP + "test_our_own_crash_loses_and_doubles_no_file",
        "sftp.staged": SFTP + "test_our_own_crash_loses_and_doubles_no_file",
        "sftp.named": SFTP + "test_our_own_crash_loses_and_doubles_no_file",
        "send.answered": SFTP + "test_our_own_crash_loses_and_doubles_no_file",
    },
    "ftp": {
        "empty": HERE + "test_an_empty_document",
        "small": HERE + "test_200_small_ones",
        "large": HERE + "test_a_document_of_64_mib",
        "killed": FTP + "test_a_server_that_dies_or_stands_still_is_waited_for",
        "stopped": FTP + "test_a_server_that_dies_or_stands_still_is_waited_for",
        "swallowed": FTP + "test_a_lost_answer_doubles_nothing",
        "login": FTP + "test_a_wrong_login_opens_the_breaker",
        "space": FTP + "test_what_the_server_refuses_is_tried_again",
        "right": FTP + "test_what_the_server_refuses_is_tried_again",
        "taken": FTP + "test_a_foreign_file_is_not_replaced",
        "hostile": FTP + "test_names_are_what_they_are",
        "ftp.staged": FTP + "test_a_crash_loses_and_doubles_nothing",
        "ftp.named": FTP + "test_a_crash_loses_and_doubles_nothing",
        "settle.submit": FTP + "test_a_crash_loses_and_doubles_nothing",
    },
    "s3": {
        "empty": S3 + "test_an_empty_document",
        "small": S3 + "test_500_small_ones",
        "large": S3 + "test_a_large_one_in_parts",
        "killed": S3 + "test_a_service_that_is_killed_gets_everything_later",
        "stopped": S3 + "test_a_service_that_hangs_gets_everything_later",
        "swallowed": S3 + "test_an_answer_that_is_swallowed_is_found_out",
        "login": S3 + "test_wrong_secret_clock_and_region_are_told_apart",
        "space": "tests/unit/core/s3/test_s3_judge.c::s3_judge_tells_mistakes_apart",
        "right": S3 + "test_a_key_without_the_right",
        "taken": S3 + "test_a_name_that_is_taken_is_waited_for",
        "hostile": S3 + "test_hostile_names_are_refused",
        "send.begin": S3 + "test_our_own_kill_around_a_send",
        "send.answered": S3 + "test_our_own_kill_around_a_send",
        "s3.copied": "tests/blackbox/test_44_s3_in.py::test_a_kill_between_stored_and_removed_doubles_nothing",
    },
    "sql": {
        "empty": HERE + "test_an_empty_document_in_a_database",
        "small": SQL + "test_many_small_ones_share_four_connections",
        "large": SQL + "test_a_large_one",
        "killed": SQL + "test_a_server_that_is_killed_is_waited_for",
        "stopped": SQL + "test_a_server_that_stands_still_costs_an_attempt",
        "swallowed": SQL + "test_the_answer_to_the_commit_is_lost",
        "login": SQL + "test_a_wrong_password_opens_the_breaker",
        "space": "tests/unit/sql/test_sql_failure.c::sql_failure_of_the_moment",
        "right": SQL + "test_a_missing_right_is_waited_for",
        "taken": SQL + "test_what_can_never_be_executed_is_rejected",
        "hostile": SQL + "test_a_document_becomes_a_row",
        "sql.entered": SQL + "test_our_own_crash_loses_and_doubles_nothing",
        "sql.executed": SQL + "test_our_own_crash_loses_and_doubles_nothing",
        "sql.committed": SQL + "test_our_own_crash_loses_and_doubles_nothing",
        "sql.taken": "tests/blackbox/test_45_sql_in.py::test_the_cursor_survives_restarts_and_kills",
        "sql.stored": "tests/blackbox/test_45_sql_in.py::test_the_cursor_survives_restarts_and_kills",
    },
    "mllp": {
        "empty": HERE + "test_an_empty_document",
        "small": MLLP + "test_python_hl7_takes_a_thousand_messages",
        "large": HERE + "test_a_document_of_64_mib",
        "killed": MLLP + "test_a_server_that_is_killed_gets_everything_later",
        "stopped": MLLP + "test_anything_else_is_in_doubt_and_credits_nothing",
        "swallowed": MLLP + "test_anything_else_is_in_doubt_and_credits_nothing",
        "login": MLLP + "test_tls_and_our_own_certificate",
        "space": MLLP + "test_an_error_is_tried_again_with_the_same_bytes",
        "right": MLLP + "test_what_a_code_means",
        "taken": Reason("mllp.md", "A message has no name that could be taken"),
        "hostile": MLLP + "test_what_cannot_be_acknowledged_is_not_sent",
        "mllp.commit": MLLP + "test_a_crash_while_it_is_sent",
        "mllp.sent": MLLP + "test_a_crash_while_it_is_sent",
    },
    "smtp": {
        "empty": HERE + "test_an_empty_document",
        "small": HERE + "test_200_small_ones",
        "large": Reason("smtp.md", "servers usually take mails of 10 to 50 MiB"),
        "killed": SMTP + "test_a_server_that_was_killed_is_waited_for",
        "stopped": SMTP + "test_a_server_that_stands_still_is_given_up",
        "swallowed": SMTP + "test_no_answer_after_the_dot_is_in_doubt",
        "login": SMTP + "test_a_wrong_login_opens_the_breaker",
        "space": SMTP + "test_a_temporary_failure_is_tried_again",
        "right": SMTP + "test_one_of_two_recipients_is_refused",
        "taken": Reason("smtp.md", "A mail has no name that could be taken"),
        "hostile": SMTP + "test_hostile_values_stay_where_they_belong",
        "mail.ending": SMTP + "test_a_crash_loses_no_mail",
        "mail.answered": SMTP + "test_a_crash_loses_no_mail",
    },
    "soap": {   # where it is sent as any document over HTTP, the tests of HTTP
        "empty": HERE + "test_an_empty_document",
        "small": HERE + "test_200_small_ones",
        "large": HERE + "test_a_document_of_64_mib",
        "killed": "test_20_road.py::test_deliveries_wait_while_a_receiver_is_gone_and_go_when_it_is_back",
        "stopped": RECEIVERS + "test_an_answer_after_our_time_out_comes_too_late_and_the_key_says_so",
        "swallowed": IN_DOUBT + "test_each_policy_with_each_unclear_answer",
        "login": RECEIVERS + "test_a_credential_that_expired_is_told_and_waited_for",
        "space": SOAP + "test_the_receivers_fault_is_tried_again",
        "right": SOAP + "test_the_senders_fault_is_a_rejection",
        "taken": Reason("http.md", "An envelope has no name that could be taken"),
        "hostile": SOAP + "test_documents_that_cannot_be_sent",
        "send.begin": IN_DOUBT + "test_killed_on_the_way",
        "send.answered": IN_DOUBT + "test_killed_behind_the_answer",
    },
}
# Endpoints of the first hour, with tests of their own; `soap` is a form of http.
WITHOUT_COLUMN = {"file", "http"}
