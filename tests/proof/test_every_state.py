"""Tests of every action and edit in every status, archived or not, against the model."""

from datetime import timedelta
from itertools import product

from desk_fixtures import NOW, change, open_at
from proof_desk import HOURLY, furnish
from small_desk import Small, SmallDesk
from small_tables import FROM, STATES, WITH_TIME
from steps_fixtures import answered, change_of, check, values_of

TIME = NOW + timedelta(hours=300, minutes=30)
TEXTS = (None, "Other words.")
ASKED = {"schedule": {"at": TIME}, "reschedule": {"at": TIME}, "reject": {"feedback": "No."}}
EACH = [each for each in product(STATES, (None, *FROM), TEXTS, (False, True)) if each[1:3] != (None, None)]


async def test_actions_and_edits_in_all_statuses(tmp_path):
    async with open_at(tmp_path) as desk:
        ids = await furnish(desk, [status for status, *_ in EACH])
        await desk.schedule.set_slots(HOURLY)
        microseconds = round(TIME.timestamp() * 1_000_000)
        condition = f"status IN ({', '.join(repr(status) for status in sorted(WITH_TIME))})"
        change(tmp_path, f"UPDATE draft SET scheduled_at = ? WHERE {condition}", microseconds)
        for draft_id, (*_, archived) in zip(ids, EACH, strict=True):
            if archived:
                change(tmp_path, "UPDATE draft SET archived_at = 1 WHERE id = ?", draft_id)
        model = SmallDesk({})
        for draft_id, (_, action, text, _) in zip(ids, EACH, strict=True):
            before = await desk.drafts.get(draft_id)
            model.drafts[draft_id] = Small(values_of(before), "SHORT", 0.5, 0)
            fields = ASKED.get(action, {})
            predicted = model.change(draft_id, NOW, action=action, text=text, **fields)
            check(await answered(desk.drafts.change(draft_id, change_of(action, text, fields))), predicted)
            after = await desk.drafts.get(draft_id)
            assert values_of(after) == model.drafts[draft_id].values
            assert after == before or predicted is None
