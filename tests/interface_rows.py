"""The rows of the interface table: each with its desk operation, its command, and the tests that cover it.

The README's table is generated from these; test_interface.py checks that operations, commands and tests exist.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """A row of the interface table."""

    description: str
    operation: str
    """Attribute path from the desk, like `drafts.list`."""
    command: str
    """Command line without global options; "" if there is none."""
    tests: tuple[str, ...]


ROWS: tuple[Row, ...] = (
    Row(
        "GET /drafts: filters, limit, cursor",
        "drafts.list",
        "draft list",
        (
            "tests/desk/test_lists.py::test_filters_alone_and_together_hold_what_has_all_of_it",
            "tests/desk/test_lists.py::test_pages_visit_every_draft_once_while_others_come_and_change",
        ),
    ),
    Row(
        "POST /drafts, direct mode",
        "drafts.create",
        "draft new",
        (
            "tests/desk/test_creating.py::test_the_answer_has_the_shape_of_the_interface",
            "tests/desk/test_creating.py::test_what_breaks_a_rule_is_refused_by_its_field_and_nothing_is_kept",
        ),
    ),
    Row(
        "POST /drafts, generate mode",
        "drafts.create",
        "draft new",
        (
            "tests/desk/test_generating.py::test_what_is_asked_for_is_answered_at_once_and_written_later",
            "tests/desk/test_generating.py::test_what_breaks_a_rule_is_named_and_nothing_is_kept",
        ),
    ),
    Row(
        "GET /drafts/{id}",
        "drafts.get",
        "draft show",
        ("tests/desk/test_drafts.py::test_one_draft_is_shown_with_its_item_in_the_shape_of_the_interface",),
    ),
    Row(
        "PATCH /drafts/{id}: any action, edit, both",
        "drafts.change",
        "draft edit",
        (
            "tests/desk/test_review.py::test_every_action_in_every_state_does_what_the_table_says_or_nothing",
            "tests/desk/test_review.py::test_text_and_action_are_one_change_the_edit_first",
        ),
    ),
    Row(
        "… approve",
        "drafts.approve",
        "draft approve",
        ("tests/desk/test_review.py::test_every_action_in_every_state_does_what_the_table_says_or_nothing",),
    ),
    Row(
        "… reject, with feedback",
        "drafts.reject",
        "draft reject",
        ("tests/desk/test_review.py::test_what_is_said_about_a_state_goes_with_it",),
    ),
    Row(
        "… unapprove, with feedback or without",
        "drafts.unapprove",
        "draft unapprove",
        ("tests/desk/test_review.py::test_what_is_said_about_a_state_goes_with_it",),
    ),
    Row(
        "… regenerate",
        "drafts.regenerate",
        "draft regenerate",
        ("tests/desk/test_versions.py::test_a_new_version_takes_the_old_ones_place",),
    ),
    Row(
        "… archive",
        "drafts.archive",
        "draft archive",
        ("tests/desk/test_review.py::test_an_archived_draft_takes_nothing_until_it_is_restored",),
    ),
    Row(
        "… schedule: a time, smartSchedule, neither",
        "drafts.schedule",
        "draft schedule",
        (
            "tests/desk/test_review.py::test_a_time_is_kept_as_the_instant_and_as_what_was_meant",
            "tests/desk/test_review.py::test_smart_schedule_takes_the_next_free_slot_at_or_after_a_time",
        ),
    ),
    Row(
        "… reschedule",
        "drafts.reschedule",
        "draft reschedule",
        ("tests/desk/test_review.py::test_a_slot_is_free_again_when_its_draft_is_given_another_time",),
    ),
    Row(
        "… cancel_schedule",
        "drafts.cancel_schedule",
        "draft cancel",
        ("tests/desk/test_review.py::test_every_action_in_every_state_does_what_the_table_says_or_nothing",),
    ),
    Row(
        "… post",
        "posting.post",
        "draft post",
        ("tests/desk/test_review.py::test_a_post_is_refused_while_no_platform_is_connected",),
    ),
    Row(
        "POST /drafts/bulk",
        "drafts.bulk",
        "draft approve",
        (
            "tests/desk/test_bulk.py::test_each_draft_has_an_outcome_in_the_order_asked",
            "tests/desk/test_bulk.py::test_what_breaks_a_rule_is_refused_by_its_field",
        ),
    ),
    Row(
        "POST /drafts/{id}/undo",
        "drafts.undo",
        "draft undo",
        (
            "tests/desk/test_undoing.py::test_the_last_change_of_a_draft_is_taken_back_and_done_again",
            "tests/desk/test_undoing.py::test_a_bulk_is_taken_back_and_done_again_as_one",
        ),
    ),
    Row(
        "GET /schedule/slots",
        "schedule.slots",
        "slot list",
        ("tests/desk/test_schedule.py::test_slots_are_replaced_as_a_whole",),
    ),
    Row(
        "PUT /schedule/slots",
        "schedule.set_slots",
        "slot set",
        ("tests/desk/test_schedule.py::test_a_wrong_slot_is_named_and_the_old_ones_stay",),
    ),
    Row(
        "POST /schedule/next",
        "schedule.next_for",
        "draft schedule",
        ("tests/desk/test_schedule.py::test_the_next_slot_is_on_the_clock_of_the_users_zone",),
    ),
    Row(
        "GET /schedule/conflicts",
        "schedule.conflicts",
        "schedule conflicts",
        ("tests/desk/test_schedule.py::test_drafts_within_half_an_hour_are_conflicts",),
    ),
    Row(
        "POST /schedule/auto",
        "schedule.auto",
        "schedule auto",
        ("tests/desk/test_schedule_auto.py::test_the_best_draft_goes_first_and_then_the_oldest",),
    ),
    Row(
        "POST /pipeline",
        "pipeline.queue",
        "--run-pipeline",
        ("tests/desk/test_runs.py::test_a_run_is_queued_then_running_then_succeeded",),
    ),
    Row(
        "GET /pipeline/runs",
        "pipeline.runs",
        "run list",
        ("tests/desk/test_runs.py::test_the_pages_of_runs_visit_each_once_while_new_ones_are_added",),
    ),
    Row(
        "GET /pipeline/stats",
        "pipeline.statistics",
        "run stats",
        ("tests/desk/test_statistics.py::test_the_statistics_are_those_of_a_full_scan_after_every_write",),
    ),
    Row(
        "GET /voice",
        "voice.read",
        "voice show",
        ("tests/desk/test_voice.py::test_a_profile_is_created_and_read_in_the_shape_of_the_interface",),
    ),
    Row(
        "PUT /voice",
        "voice.update",
        "voice set",
        ("tests/desk/test_voice.py::test_what_breaks_a_rule_is_refused_with_its_path_and_changes_nothing",),
    ),
    Row(
        "GET /engagement",
        "engagement.summary",
        "engagement show",
        (
            "tests/desk/test_engagement.py::test_a_summary_adds_up_what_is_known_of_posts_that_are_live",
            "tests/desk/test_engagement.py::test_top_takes_1_to_50",
        ),
    ),
    Row(
        "PATCH /drafts/{id}: action post, to some platforms or to all",
        "posting.post",
        "draft post",
        (
            "tests/desk/test_posting.py::test_a_draft_is_posted_to_every_account_at_once",
            "tests/desk/test_posting.py::test_it_goes_only_where_it_is_wanted",
            "tests/desk/test_posting.py::test_what_is_refused_leaves_the_draft_approved_and_says_why",
        ),
    ),
    Row(
        "POST /engagement",
        "engagement.record",
        "engagement record",
        ("tests/desk/test_engagement.py::test_a_record_is_shown_in_the_shape_of_the_interface",),
    ),
    Row(
        "GET /experiments",
        "experiments.list",
        "experiment list",
        ("tests/desk/test_experiments.py::test_experiments_are_listed_newest_first_and_by_their_state",),
    ),
    Row(
        "POST /experiments",
        "experiments.create",
        "experiment new",
        ("tests/desk/test_experiments.py::test_what_breaks_a_rule_is_refused_with_its_field_and_nothing_is_made",),
    ),
    Row(
        "PATCH /experiments/{id}: conclude",
        "experiments.conclude",
        "experiment conclude",
        ("tests/desk/test_experiments.py::test_an_experiment_is_concluded_with_a_winner_and_then_archived",),
    ),
    Row(
        "PATCH /experiments/{id}: archive",
        "experiments.archive",
        "experiment archive",
        ("tests/desk/test_experiments.py::test_the_course_goes_one_way",),
    ),
    Row(
        "GET /sources",
        "sources.list",
        "source list",
        ("tests/desk/test_sources.py::test_a_source_is_shown_in_the_shape_of_the_interface",),
    ),
    Row(
        "POST /sources, with its test fetch",
        "sources.create",
        "source add",
        ("tests/desk/test_sources.py::test_what_cannot_be_read_does_not_become_a_source",),
    ),
    Row(
        "PATCH /sources/{id}",
        "sources.update",
        "source edit",
        ("tests/desk/test_sources.py::test_what_is_not_named_in_a_change_stays",),
    ),
    Row(
        "DELETE /sources/{id}",
        "sources.delete",
        "source remove",
        ("tests/desk/test_sources.py::test_a_source_goes_with_its_items_and_drafts_and_with_nothing_else",),
    ),
    Row(
        "POST /sources/{id}/test",
        "sources.test",
        "source test",
        ("tests/desk/test_sources.py::test_a_test_fetch_shows_what_is_there_and_stores_nothing",),
    ),
)
