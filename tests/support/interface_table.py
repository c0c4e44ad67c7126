"""The rows of the interface table: each with its desk operation, its command, and the tests that cover it.

docs/interface.md is generated from these; test_interface.py checks that operations, commands and tests exist.
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
            "tests/desk/drafts/test_filters.py::test_filter_combinations_match",
            "tests/desk/drafts/test_filters.py::test_pages_are_stable_under_concurrent_changes",
        ),
    ),
    Row(
        "POST /drafts, direct mode",
        "drafts.create",
        "draft new",
        (
            "tests/desk/drafts/test_create.py::test_response_as_json",
            "tests/desk/drafts/test_create.py::test_invalid_request_names_field_and_stores_nothing",
        ),
    ),
    Row(
        "POST /drafts, generate mode",
        "drafts.create",
        "draft new",
        (
            "tests/desk/generation/test_generation.py::test_generate_returns_pending_draft",
            "tests/desk/generation/test_generation.py::test_invalid_request_names_field_and_stores_nothing",
        ),
    ),
    Row(
        "GET /drafts/{id}",
        "drafts.get",
        "draft show",
        ("tests/desk/drafts/test_list.py::test_draft_and_item_as_json",),
    ),
    Row(
        "PATCH /drafts/{id}: any action, edit, both",
        "drafts.change",
        "draft edit",
        (
            "tests/desk/drafts/test_review.py::test_action_status_matrix",
            "tests/desk/drafts/test_review.py::test_edit_and_action_are_one_change",
        ),
    ),
    Row(
        "… approve",
        "drafts.approve",
        "draft approve",
        ("tests/desk/drafts/test_review.py::test_action_status_matrix",),
    ),
    Row(
        "… reject, with feedback",
        "drafts.reject",
        "draft reject",
        ("tests/desk/drafts/test_review.py::test_feedback_is_cleared_with_its_status",),
    ),
    Row(
        "… unapprove, with feedback or without",
        "drafts.unapprove",
        "draft unapprove",
        ("tests/desk/drafts/test_review.py::test_feedback_is_cleared_with_its_status",),
    ),
    Row(
        "… regenerate",
        "drafts.regenerate",
        "draft regenerate",
        ("tests/desk/generation/test_versions.py::test_new_version_replaces_old",),
    ),
    Row(
        "… archive",
        "drafts.archive",
        "draft archive",
        ("tests/desk/drafts/test_review.py::test_archived_draft_accepts_no_action",),
    ),
    Row(
        "… schedule: a time, smartSchedule, neither",
        "drafts.schedule",
        "draft schedule",
        (
            "tests/desk/drafts/test_review.py::test_time_is_stored_with_wall_time_and_zone",
            "tests/desk/drafts/test_review.py::test_smart_schedule_takes_next_slot_after_time",
        ),
    ),
    Row(
        "… reschedule",
        "drafts.reschedule",
        "draft reschedule",
        ("tests/desk/drafts/test_review.py::test_rescheduled_draft_frees_its_slot",),
    ),
    Row(
        "… cancel_schedule",
        "drafts.cancel_schedule",
        "draft unschedule",
        ("tests/desk/drafts/test_review.py::test_action_status_matrix",),
    ),
    Row(
        "… post, to some platforms or to all",
        "posting.post",
        "draft post",
        (
            "tests/desk/publishing/test_publish.py::test_draft_is_posted_to_all_accounts",
            "tests/desk/publishing/test_publish.py::test_change_with_action_post_posts",
            "tests/desk/publishing/test_publish.py::test_draft_is_posted_only_to_requested_accounts",
            "tests/desk/publishing/test_publish.py::test_refused_draft_stays_approved_with_reason",
            "tests/desk/drafts/test_review.py::test_post_without_platform_is_refused",
        ),
    ),
    Row(
        "POST /drafts/bulk",
        "drafts.bulk",
        "draft approve",
        (
            "tests/desk/drafts/test_bulk.py::test_results_keep_request_order",
            "tests/desk/drafts/test_bulk.py::test_invalid_request_names_field",
        ),
    ),
    Row(
        "POST /drafts/{id}/undo",
        "drafts.undo",
        "draft undo",
        (
            "tests/desk/drafts/test_undo.py::test_undo_and_redo_of_one_draft",
            "tests/desk/drafts/test_undo.py::test_bulk_is_undone_and_redone_at_once",
        ),
    ),
    Row(
        "GET /schedule/slots",
        "schedule.slots",
        "slot list",
        ("tests/desk/schedule/test_schedule.py::test_slots_are_replaced",),
    ),
    Row(
        "PUT /schedule/slots",
        "schedule.set_slots",
        "slot set",
        ("tests/desk/schedule/test_schedule.py::test_invalid_slot_is_refused",),
    ),
    Row(
        "POST /schedule/next",
        "schedule.schedule_next",
        "draft schedule",
        ("tests/desk/schedule/test_schedule.py::test_next_slot_is_in_users_zone",),
    ),
    Row(
        "GET /schedule/conflicts",
        "schedule.conflicts",
        "schedule conflicts",
        ("tests/desk/schedule/test_schedule.py::test_drafts_within_30_minutes_conflict",),
    ),
    Row(
        "POST /schedule/auto",
        "schedule.auto_schedule",
        "schedule auto",
        ("tests/desk/schedule/test_auto_scheduler.py::test_best_then_oldest_draft_first",),
    ),
    Row(
        "POST /pipeline",
        "pipeline.queue",
        "--run-pipeline",
        ("tests/desk/pipeline/test_run.py::test_run_is_queued_running_then_succeeded",),
    ),
    Row(
        "GET /pipeline/runs",
        "pipeline.list",
        "run list",
        ("tests/desk/pipeline/test_run.py::test_run_pages_are_stable",),
    ),
    Row(
        "GET /pipeline/stats",
        "pipeline.statistics",
        "run stats",
        ("tests/desk/pipeline/test_statistics.py::test_statistics_equal_full_scan",),
    ),
    Row(
        "GET /voice",
        "voice.get",
        "voice show",
        ("tests/desk/voice/test_voice.py::test_profile_as_json",),
    ),
    Row(
        "PUT /voice",
        "voice.update",
        "voice set",
        ("tests/desk/voice/test_voice.py::test_invalid_value_is_refused",),
    ),
    Row(
        "GET /engagement",
        "engagement.summary",
        "engagement show",
        (
            "tests/desk/engagement/test_engagement.py::test_summary_totals_live_posts",
            "tests/desk/engagement/test_engagement.py::test_top_is_1_to_50",
        ),
    ),
    Row(
        "POST /engagement",
        "engagement.record",
        "engagement record",
        ("tests/desk/engagement/test_engagement.py::test_record_as_json",),
    ),
    Row(
        "GET /experiments",
        "experiments.list",
        "experiment list",
        ("tests/desk/experiments/test_experiments.py::test_experiments_are_listed_newest_first_by_status",),
    ),
    Row(
        "POST /experiments",
        "experiments.create",
        "experiment new",
        ("tests/desk/experiments/test_experiments.py::test_invalid_experiment_is_not_created",),
    ),
    Row(
        "PATCH /experiments/{id}: conclude",
        "experiments.conclude",
        "experiment conclude",
        ("tests/desk/experiments/test_experiments.py::test_conclude_with_winner_then_archive",),
    ),
    Row(
        "PATCH /experiments/{id}: archive",
        "experiments.archive",
        "experiment archive",
        ("tests/desk/experiments/test_experiments.py::test_status_changes_only_forward",),
    ),
    Row(
        "GET /sources",
        "sources.list",
        "source list",
        ("tests/desk/sources/test_sources.py::test_source_as_json",),
    ),
    Row(
        "POST /sources, with its test fetch",
        "sources.create",
        "source add",
        ("tests/desk/sources/test_sources.py::test_unreadable_url_is_not_added",),
    ),
    Row(
        "PATCH /sources/{id}",
        "sources.update",
        "source edit",
        ("tests/desk/sources/test_sources.py::test_omitted_fields_keep_their_values",),
    ),
    Row(
        "DELETE /sources/{id}",
        "sources.delete",
        "source remove",
        ("tests/desk/sources/test_sources.py::test_deleting_removes_items_and_drafts_only",),
    ),
    Row(
        "POST /sources/{id}/test",
        "sources.test",
        "source test",
        ("tests/desk/sources/test_sources.py::test_test_fetch_stores_nothing",),
    ),
)
