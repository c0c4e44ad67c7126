"""Tests of every action and edit in every status, archived or not, against the model."""

from datetime import timedelta
from itertools import product

from desk_fixtures import NOW, execute_sql, open_desk_at
from draft_consistency import HOURLY_SLOTS, insert_drafts
from reference_model import ModelDesk, ModelDraft
from reference_tables import ALLOWED_FROM, STATES, TIMED_STATES
from state_machine_fixtures import assert_matches, build_change, model_values, result_or_error

SCHEDULED_AT = NOW + timedelta(hours=300, minutes=30)
TEXTS = (None, "Other words.")
ACTION_FIELDS = {"schedule": {"at": SCHEDULED_AT}, "reschedule": {"at": SCHEDULED_AT}, "reject": {"feedback": "No."}}
CASES = [each for each in product(STATES, (None, *ALLOWED_FROM), TEXTS, (False, True)) if each[1:3] != (None, None)]


async def test_actions_and_edits_in_all_statuses(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        ids = await insert_drafts(desk, [status for status, *_ in CASES])
        await desk.schedule.set_slots(HOURLY_SLOTS)
        microseconds = round(SCHEDULED_AT.timestamp() * 1_000_000)
        condition = f"status IN ({', '.join(repr(status) for status in sorted(TIMED_STATES))})"
        execute_sql(tmp_path, f"UPDATE draft SET scheduled_at = ? WHERE {condition}", microseconds)
        for draft_id, (*_, archived) in zip(ids, CASES, strict=True):
            if archived:
                execute_sql(tmp_path, "UPDATE draft SET archived_at = 1 WHERE id = ?", draft_id)
        model = ModelDesk({})
        for draft_id, (_, action, text, _) in zip(ids, CASES, strict=True):
            before = await desk.drafts.get(draft_id)
            model.drafts[draft_id] = ModelDraft(model_values(before), "SHORT", 0.5, 0)
            fields = ACTION_FIELDS.get(action, {})
            predicted = model.change(draft_id, NOW, action=action, text=text, **fields)
            assert_matches(
                await result_or_error(desk.drafts.change(draft_id, build_change(action, text, fields))), predicted
            )
            after = await desk.drafts.get(draft_id)
            assert model_values(after) == model.drafts[draft_id].values
            assert after == before or predicted is None
