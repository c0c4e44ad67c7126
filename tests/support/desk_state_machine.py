"""A state machine of two desks on one file and the reference model, compared after each step."""

import asyncio
import shutil
import tempfile
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from copydesk.desk import open_desk
from copydesk.errors import ConflictError
from copydesk.model.draft import Action
from copydesk.model.requests import BulkChange
from copydesk.posting.fake import FakePlatform, FakeServer
from desk_fixtures import Watch, settings_at
from draft_consistency import assert_consistent, load_drafts
from posting_fixtures import connect_account
from reference_model import ModelDesk, ModelDraft, Refusal, UndoResult
from reference_tables import UNKNOWN, Values
from state_machine_fixtures import (
    assert_matches,
    build_change,
    draw_action,
    draw_arguments,
    model_values,
    result_or_error,
    template_home,
    undo_redo_versions,
)

STATE_TEXTS = {
    "pending_generation": "generating",
    "generation_failed": "generation failed",
    "pending_review": "new",
    "awaiting_review": "needs review",
    "changes_requested": "changes requested",
    "pending_regeneration": "regenerating",
    "approved": "approved",
    "rejected": "rejected",
    "scheduled": "scheduled",
    "posting": "posting",
    "missed": "missed",
    "posted": "posted",
}
"""How refusals name each status."""


class TwoDeskMachine(RuleBasedStateMachine):
    """Runs operations on both desks and the model, on one clock."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp()) / "home"
        self.clock = Watch()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()

    @initialize()
    def begin(self) -> None:
        shutil.copytree(template_home(), self.home)
        self.first = load_drafts(self.home)
        self.ids = list(self.first)
        self.desks = [self.runner.run(self._open()) for _ in range(2)]
        self.runner.run(connect_account(self.desks[0], platform="somewhere"))
        drafts = {}
        for position, (draft_id, row) in enumerate(self.first.items()):
            values = Values(row["status"], row["text"], rejection_feedback=row["rejection_feedback"])
            drafts[draft_id] = ModelDraft(values, row["format"], row["confidence"], position)
        self.model = ModelDesk(drafts)

    async def _open(self):
        platforms = {"somewhere": FakePlatform(FakeServer())}
        context = open_desk(settings_at(self.home), clock=self.clock, platforms=platforms)
        return await self.stack.enter_async_context(context)

    def teardown(self) -> None:
        try:
            if hasattr(self, "first"):
                assert_consistent(self.home, self.first)
        finally:
            self.runner.run(self.stack.aclose())
            self.runner.close()
            shutil.rmtree(self.home.parent)

    # Invariants and queries of the model.

    @invariant()
    def desks_match_model(self) -> None:
        predicted = {draft_id: (draft.values, draft.version) for draft_id, draft in self.model.drafts.items()}
        for desk in self.desks:
            listed = self.runner.run(desk.drafts.list(limit=100)).items
            assert {draft.id: (model_values(draft), draft.version) for draft in listed} == predicted
            counts = self.runner.run(desk.drafts.counts())
            assert {**counts.by_status, "archived": counts.archived} == self.model.counts()
        assert undo_redo_versions(self.home) == {
            draft_id: tuple(stack[-1].version if stack else None for stack in (draft.undo, draft.redo))
            for draft_id, draft in self.model.drafts.items()
        }

    def drafts_accepting(self, action):
        return [draft_id for draft_id, draft in self.model.drafts.items() if action in draft.allowed]

    def scheduled_times(self):
        stacks = [stack for draft in self.model.drafts.values() for stack in (draft.undo, draft.redo)]
        restorable = [stack[-1].before for stack in stacks if stack]
        values = [draft.values for draft in self.model.drafts.values()]
        return sorted({state.scheduled_at for state in [*restorable, *values] if state.scheduled_at})

    def drafts_in(self, *statuses):
        return [draft_id for draft_id, draft in self.model.drafts.items() if draft.values.status in statuses]

    def draw_action(self, draft_id, data):
        return draw_action(self.model.drafts[draft_id].allowed, data)

    def draw_arguments(self, action, feedback, later, data):
        return draw_arguments(action, feedback, self.clock() + timedelta(hours=later), data)

    def _state_text(self, draft_id, refusal):
        """Return the text by which a refusal names the draft's state."""
        if refusal.status == UNKNOWN:
            return f"No draft {draft_id!r}"
        return "archived" if self.model.drafts[draft_id].values.archived else STATE_TEXTS[refusal.status]

    def change_and_check(self, desk, draft_id, predicted, request, **options) -> None:
        result = self.run(self.desks[desk].drafts.change(draft_id, request, **options))
        assert_matches(result, predicted)
        if predicted is None:
            draft = self.model.drafts[draft_id]
            assert (model_values(result), result.version) == (draft.values, draft.version)

    def run(self, call):
        return self.runner.run(result_or_error(call))

    def bulk_and_check(self, desk, ids, action, arguments) -> None:
        predicted = self.model.bulk(ids, self.clock(), action=action, **arguments)
        request = build_change(action, None, arguments)
        options = {
            "feedback": request.feedback,
            "scheduled_at": request.scheduled_at,
            "smart_schedule": request.smart_schedule,
        }
        change = BulkChange(action=Action(action), ids=tuple(ids), **options)
        outcome = self.runner.run(self.desks[desk].drafts.bulk(change))
        unique_ids = list(dict.fromkeys(ids))
        assert list(outcome.results.succeeded) == [draft_id for draft_id in unique_ids if draft_id not in predicted]
        assert [failure.id for failure in outcome.results.failed] == [
            options for options in unique_ids if options in predicted
        ]
        for failure in outcome.results.failed:
            assert self._state_text(failure.id, predicted[failure.id]) in failure.text

    def revert_and_check(self, desk, kind, position) -> None:
        draft_id = None if position is None else self.ids[position]
        predicted = self.model.revert(kind, self.clock(), draft_id)
        result = self.run(getattr(self.desks[desk].drafts, kind)(draft_id))
        if isinstance(predicted, Refusal):
            assert isinstance(result, ConflictError), result
            if predicted.status != UNKNOWN:
                assert_matches(result, predicted)
        else:
            assert not isinstance(result, Exception), result
            failed = frozenset(failure.id for failure in result.failed)
            assert UndoResult(frozenset(result.succeeded), failed) == predicted
